#!/bin/sh
# Checks a key with Tidegate, using only curl: for cron jobs and deploy scripts.
#
#   ./check.sh nightly-report && ./nightly-report
#   ./check.sh "deploy:$USER" login
#
# Exit codes: 0 allowed; 1 denied, with the wait; 2 invalid request; 3 service unavailable.
set -eu

url=${TIDEGATE_URL:-http://127.0.0.1:8080}
key=${1:?usage: check.sh KEY [POLICY]}

set -- --data-urlencode "key=$key" ${2:+--data-urlencode "policy=$2"}
if [ -n "${TIDEGATE_TOKEN:-}" ]; then
  set -- "$@" --header "Authorization: Bearer $TIDEGATE_TOKEN"
fi
response=$(curl --silent --show-error --max-time 2 --get "$@" \
  --write-out '\n%{http_code} %header{retry-after}' "$url/api/v1/rate-limit/check") || exit 3

body=$(printf '%s\n' "$response" | sed '$d')
set -- $(printf '%s\n' "$response" | tail -n 1)
case $1 in
  200) echo "allowed" ;;
  429) echo "denied, try again in ${2:-a few} seconds"; exit 1 ;;
  503) echo "store unavailable, try again in ${2:-a few} seconds" >&2; exit 3 ;;
  5*) echo "service unavailable: HTTP $1 from a proxy in front of it" >&2; exit 3 ;;
  *) echo "$body" >&2; exit 2 ;;
esac
