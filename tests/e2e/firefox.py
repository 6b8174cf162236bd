# SPDX-License-Identifier: Apache-2.0
"""Firefox without a driver: Marionette, the protocol that it speaks itself (a length, a colon, JSON).

Source: https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html
"""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

PROGRAM = shutil.which("firefox-esr") or shutil.which("firefox")
PREFERENCES = """
user_pref("marionette.port", 0);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.page", 0);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.reportingpolicy.firstRun", false);
user_pref("app.update.disabledForTesting", true);
user_pref("extensions.autoDisableScopes", 0);
"""


class Firefox:
    """One headless Firefox with a profile of its own; `close` ends it and removes the profile."""

    def __init__(self, width=1440, height=900, patience=240):
        self.profile = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-firefox-"))
        (self.profile / "user.js").write_text(PREFERENCES)
        self.process = subprocess.Popen(
            [PROGRAM, "--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile", self.profile,
             f"--width={width}", f"--height={height}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Its own home: nothing of the user's is read or written.
            env={**os.environ, "HOME": str(self.profile), "MOZ_CRASHREPORTER_DISABLE": "1"},
        )
        self.socket, self.number = None, 0
        try:
            self.socket = socket.create_connection(("127.0.0.1", self._port(patience)), patience)
            self.socket.settimeout(patience)
            self._receive()  # Its greeting.
            self.call("WebDriver:NewSession", {"capabilities": {}})
        except BaseException:
            self.close()
            raise

    def _port(self, patience):
        """The port it chose, which it writes into its profile."""
        chosen, until = self.profile / "MarionetteActivePort", time.monotonic() + patience
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise RuntimeError(f"Firefox ended with {self.process.returncode}")
            if chosen.exists() and (text := chosen.read_text().strip()):
                return int(text)
            time.sleep(0.1)
        raise RuntimeError("Firefox did not open its port")

    def _receive(self):
        length = b""
        while not length.endswith(b":"):
            byte = self.socket.recv(1)
            if not byte:
                raise RuntimeError("Firefox closed the connection")
            length += byte
        data, wanted = b"", int(length[:-1])
        while len(data) < wanted:
            part = self.socket.recv(wanted - len(data))
            if not part:
                raise RuntimeError("Firefox closed the connection")
            data += part
        return json.loads(data)

    def call(self, name, parameters=None):
        self.number += 1
        data = json.dumps([0, self.number, name, parameters or {}]).encode()
        self.socket.sendall(b"%d:%s" % (len(data), data))
        _, number, error, result = self._receive()
        assert number == self.number, (number, self.number)
        if error:
            raise RuntimeError(f"{name}: {error['error']}: {error['message']}")
        return result.get("value") if isinstance(result, dict) and set(result) == {"value"} else result

    def open(self, url):
        self.call("WebDriver:Navigate", {"url": url})

    def run(self, script, *arguments):
        """The result of a function body in the page."""
        return self.call("WebDriver:ExecuteScript", {"script": script, "args": list(arguments)})

    def wait_for(self, selector, patience=180_000):
        """Until an element is there; the page itself looks, on every frame."""
        found = self.call(
            "WebDriver:ExecuteAsyncScript",
            {
                "script": "const [selector, patience, done] = arguments; const begin = Date.now();"
                " const look = () => document.querySelector(selector) ? done(true)"
                " : Date.now() - begin > patience ? done(false) : setTimeout(look, 20); look();",
                "args": [selector, patience],
                "scriptTimeout": patience + 30_000,
            },
        )
        if not found:
            raise AssertionError(f"no {selector} after {patience} ms")

    def wait_for_text(self, selector, characters):
        """Waits until an element has more than this number of characters; its text is short while the page
        reads its data."""
        length = self.call(
            "WebDriver:ExecuteAsyncScript",
            {
                "script": "const [selector, least, patience, done] = arguments; const begin = Date.now();"
                " const look = () => { const length = document.querySelector(selector)?.innerText.length ?? 0;"
                " length > least || Date.now() - begin > patience ? done(length) : setTimeout(look, 20); };"
                " look();",
                "args": [selector, characters, 180_000],
                "scriptTimeout": 210_000,
            },
        )
        if length <= characters:
            raise AssertionError(f"{selector} holds {length} characters")

    def console(self, part_of_source):
        """Errors and warnings about scripts, styles and policies of a document since the last call."""
        self.call("Marionette:SetContext", {"value": "chrome"})
        try:
            return self.run(
                "const all = Services.console.getMessageArray(); Services.console.reset();"
                " return all.filter((m) => m instanceof Ci.nsIScriptError &&"
                " (m.sourceName || '').includes(arguments[0]))"
                ".map((m) => `${m.category}: ${m.errorMessage}`)",
                part_of_source,
            )
        finally:
            self.call("Marionette:SetContext", {"value": "content"})

    def screenshot(self):
        """PNG as base64."""
        return self.call("WebDriver:TakeScreenshot", {"full": False})

    def close(self):
        if self.socket:
            self.socket.close()
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
