#!/bin/sh
# May this run? Asks Tidegate with nothing but curl, for cron jobs and deploy scripts.
#
#   ./check.sh nightly-report && ./nightly-report
#   ./check.sh "deploy:$USER" login
#
# Exit codes: 0 yes; 1 no, and when to come back; 2 the question is wrong; 3 no answer.
set -eu

url=${TIDEGATE_URL:-http://127.0.0.1:8080}
key=${1:?usage: check.sh KEY [POLICY]}

set -- --data-urlencode "key=$key" ${2:+--data-urlencode "policy=$2"}
if [ -n "${TIDEGATE_TOKEN:-}" ]; then
  set -- "$@" --header "Authorization: Bearer $TIDEGATE_TOKEN"
fi
answer=$(curl --silent --show-error --max-time 2 --get "$@" \
  --write-out '\n%{http_code} %header{retry-after}' "$url/api/v1/rate-limit/check") || exit 3

body=$(printf '%s\n' "$answer" | sed '$d')
set -- $(printf '%s\n' "$answer" | tail -n 1)
case $1 in
  200) echo "allowed" ;;
  429) echo "refused, try again in ${2:-a few} seconds"; exit 1 ;;
  503) echo "the limiter has lost its store, try again in ${2:-a few} seconds" >&2; exit 3 ;;
  5*) echo "no answer, only $1 from what stands before the limiter" >&2; exit 3 ;;
  *) echo "$body" >&2; exit 2 ;;
esac
