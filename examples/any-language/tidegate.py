"""A client of Tidegate that uses only Python's standard library.

    python3 tidegate.py user:123                   one check
    python3 tidegate.py user:123 --times 7         several, one after another
    python3 tidegate.py user:123 --wait 30         waits for up to 30 seconds to be allowed

As a module: Tidegate("http://127.0.0.1:8080").check("user:123").allowed
"""

import argparse
import http.client
import json
import random
import sys
import time
from typing import NamedTuple, Optional
from urllib.parse import urlsplit

PATH = "/api/v1/rate-limit/check"


class Decision(NamedTuple):
    allowed: bool
    retry_after: int
    """Seconds; 0 if allowed."""
    remaining: Optional[int]
    """None if unknown."""
    degraded: Optional[str]
    """The mode of a decision without the store; "unreachable" if the service did not respond."""


class Tidegate:
    """One connection to the service, kept open. Not safe for use by several threads at once."""

    def __init__(self, url, token=None, timeout=0.5, fail_open=True):
        parts = urlsplit(url)
        connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = connect(parts.hostname, parts.port, timeout=timeout)
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._fail_open = fail_open

    def check(self, key, policy=None, permits=1):
        """Checks a key and counts the request. A denial is a decision; only an invalid request raises."""
        fields = {"key": key, "permits": permits}
        if policy is not None:
            fields["policy"] = policy
        try:
            self._connection.request("POST", PATH, json.dumps(fields), self._headers)
            response = self._connection.getresponse()
            body = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError):
            # The check may have been counted, so it is not sent again. The next one opens a new connection.
            self._connection.close()
            return Decision(self._fail_open, 0 if self._fail_open else 1, None, "unreachable")
        if response.status in (200, 429):
            return Decision(body["allowed"], body["retryAfterSeconds"] or 0, body["remaining"], body.get("degraded"))
        if response.status == 503:
            return Decision(False, int(response.headers.get("Retry-After", 1)), None, "closed")
        raise ValueError(body.get("message", response.status))

    def wait(self, key, patience, policy=None, permits=1):
        """Checks until the request is allowed, or until the next wait would exceed `patience` seconds."""
        deadline = time.monotonic() + patience
        while True:
            decision = self.check(key, policy, permits)
            # A random extra wait, so that clients do not all retry at the same moment.
            pause = decision.retry_after * (1 + random.random() / 10)
            if decision.allowed or time.monotonic() + pause > deadline:
                return decision
            time.sleep(pause)


def whole(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text}")
    return number


def main():
    parser = argparse.ArgumentParser(description="Checks a key with Tidegate.")
    parser.add_argument("key")
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--policy")
    parser.add_argument("--permits", type=whole, default=1)
    parser.add_argument("--times", type=whole, default=1)
    parser.add_argument("--timeout", type=float, default=0.5, metavar="SECONDS")
    parser.add_argument("--wait", type=float, default=0, metavar="SECONDS")
    options = parser.parse_args()
    tidegate = Tidegate(options.url, timeout=options.timeout)
    for _ in range(options.times):
        try:
            decision = tidegate.wait(options.key, options.wait, options.policy, options.permits)
        except ValueError as wrong:
            parser.exit(2, f"{wrong}\n")
        if decision.allowed:
            print(f"allowed, {decision.remaining} left" if decision.degraded is None else "allowed, uncounted")
        else:
            print(f"denied, try again in {decision.retry_after} s")
    return 0 if decision.allowed else 1


if __name__ == "__main__":
    sys.exit(main())
