#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Uploads that never exceed a tenant's storage, from Python over HTTP.

    upload_quota.py http://127.0.0.1:4654 files.db

Each upload is reserved with a hold before it begins, committed with its real size when its row is
written, and cancelled if it fails. The row comes before the commit: a quota sync that reads the
table in between loses nothing. A hold that nobody commits comes back by itself.
"""

import json
import sqlite3
import sys
import urllib.error
import urllib.request


class QuotaExceeded(Exception):
    pass


class Quota:
    """A tenant's quota on a server."""

    def __init__(self, url, tenant):
        self.url, self.tenant = url, tenant

    def request(self, method, path="", body=None):
        request = urllib.request.Request(
            f"{self.url}/v1/quotas/{self.tenant}{path}", method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.load(response)
        except urllib.error.HTTPError as refused:
            with refused:
                error = json.load(refused).get("error", {})
            if refused.code == 429:
                raise QuotaExceeded(error.get("message")) from None
            raise

    def set_limit(self, limit):
        return self.request("PUT", body={"limit": limit})

    def reserve(self, hold, size):
        return self.request("POST", "/reserve", {
            "amount": size, "hold_id": hold, "ttl_seconds": 3600})

    def commit(self, hold, size):
        return self.request("POST", "/commit", {"hold_id": hold, "amount": size})

    def cancel(self, hold):
        return self.request("POST", "/cancel", {"hold_id": hold})


def upload(quota, files, name, announced, content):
    """`content` is what arrives at the upload's URL, None if the client never comes."""
    hold = f"upload-{name}"  # the same again for a retry
    quota.reserve(hold, announced)
    try:
        print(f"{name}: {announced} reserved, PUT https://store.example/{quota.tenant}/{name}")
        if content is None:
            raise ConnectionError("the client went away")
        with files:
            files.execute("INSERT INTO files (name, tenant_id, size, status) "
                          "VALUES (?, ?, ?, 'AVAILABLE')", (name, quota.tenant, len(content)))
    except Exception:
        quota.cancel(hold)
        raise
    answer = quota.commit(hold, len(content))
    print(f"{name}: {len(content)} stored, {answer['used']} of {answer['limit']} used")


def main(url, database):
    files = sqlite3.connect(database)
    files.execute("CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY, tenant_id TEXT, "
                  "size INTEGER, status TEXT)")
    quota = Quota(url, "acme")
    quota.set_limit(1000)
    upload(quota, files, "photo", 400, b"x" * 350)
    try:
        upload(quota, files, "film", 700, b"x" * 700)
    except QuotaExceeded as refused:
        print(f"film: refused, {refused}")
    try:
        upload(quota, files, "song", 500, None)
    except ConnectionError as problem:
        print(f"song: cancelled, {problem}")
    upload(quota, files, "book", 600, b"x" * 600)
    total = files.execute("SELECT SUM(size) FROM files").fetchone()[0]
    print(f"the table has {total}, the quota {quota.request('GET')['used']}")
    files.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
