# SPDX-License-Identifier: Apache-2.0
"""A client of `xlatrace mcp` in a few lines: JSON lines over pipes, no package."""

import json
import subprocess

import support

MAX_RESULT_BYTES = 2048


class Server:
    """A running server. `call` returns the text of an answer, `request` the whole response."""

    def __init__(self, *arguments, cwd=None):
        self.process = subprocess.Popen(
            [support.PROGRAM, "mcp", *map(str, arguments)], cwd=cwd, env=support.environment(),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.number = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(timeout=support.HANG_S)
        self.process.stdout.close()
        self.process.stderr.close()

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self):
        return json.loads(self.process.stdout.readline())

    def request(self, method, params=None, **more):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, **more}
        self.send(message if params is None else {**message, "params": params})
        response = self.receive()
        assert response["id"] == self.number, response
        return response

    def call(self, tool, **arguments):
        response = self.request("tools/call", {"name": tool, "arguments": arguments})
        result = response["result"]
        size = len(json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode())
        assert size <= MAX_RESULT_BYTES, (size, result)
        assert result["isError"] is False, result
        (content,) = result["content"]
        assert content["type"] == "text", content
        return content["text"]


def exchange(data, cwd=None):
    """Exit code, responses and standard error of a server that reads these bytes."""
    done = support.run("mcp", stdin=data, cwd=cwd)
    return done.code, [json.loads(line) for line in done.stdout_bytes.splitlines()], done.stderr


def handle_of_next_page(text):
    """The handle at the end of an answer, or None."""
    last = text.splitlines()[-1]
    return json.loads(last[last.index("{"):])["continue"] if '{"continue"' in last else None


def untrusted(text):
    """The lines between the marks of an answer."""
    lines = text.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("<untrusted "))
    end = lines.index("</" + lines[begin][1:])
    return lines[begin + 1:end]
