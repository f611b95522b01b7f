# SPDX-License-Identifier: Apache-2.0
"""The services of tests/redis/callers: programs that answer each line of requests with one of JSON."""

import json
import os
import subprocess
import threading

from harness import ROOT, TIMEOUT_S, Build

FOLDER = ROOT / "tests/redis/callers"
LUA = Build().path / "lua"


class CallerError(Exception):
    """The service could not make sense of what Redis answered."""


class Caller:
    """caller.reserve("gala", "floor", …): one request, and its answer as a dict."""

    def __init__(self, command, layout, addresses, lua=LUA):
        # Sanitizers are for our own program.
        env = {name: text for name, text in os.environ.items()
               if name not in ("ASAN_OPTIONS", "UBSAN_OPTIONS")}
        self.process = subprocess.Popen(
            [*map(str, command), str(lua), layout, *addresses], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=env, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.stdin.close()
        try:
            self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def __getattr__(self, operation):
        return lambda *words: self.request(operation, *words)

    def request(self, *words):
        watch = threading.Timer(TIMEOUT_S, self.process.kill)  # a service that hangs ends the test
        watch.start()
        try:
            self.process.stdin.write(json.dumps([str(word) for word in words]) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        finally:
            watch.cancel()
        assert line, f"the service ended at {words}"
        answer = json.loads(line)
        if "error" in answer:
            raise CallerError(f"{words}: {answer['error']}")
        return answer
