# SPDX-License-Identifier: Apache-2.0
"""Runs small scripts as child processes, with the hook or without it."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
HOOK = REPOSITORY / "python" / "xlatrace_hook"
TIMEOUT_S = 400  # for a machine that has other things to do

# A framework's process needs a moment, but none of these runs for seconds.
JAX = textwrap.dedent(
    """
    import os, signal, sys
    import jax, jax.numpy as jnp
    double = jax.jit(lambda x: jnp.sin(x) * 2)
    print("loss", float(double(jnp.ones(8)).sum()), flush=True)
    """
)


@functools.cache
def python_with(framework: str) -> str:
    """The interpreter that has the framework; skips the test where there is none."""
    variable = "XLATRACE_TEST_PYTHON_" + {"jax": "JAX", "tensorflow": "TF"}[framework]
    python = os.environ.get(variable)
    if not python:
        raise unittest.SkipTest(variable + " is not set")
    found = "import importlib.util, sys; sys.exit(importlib.util.find_spec(%r) is None)"
    if subprocess.run([python, "-c", found % framework]).returncode != 0:
        raise unittest.SkipTest(f"{python}: no module {framework}")
    return python


@dataclasses.dataclass
class Result:
    returncode: int
    stdout: str
    stderr: str


class HookTestCase(unittest.TestCase):
    framework = ""  # the interpreter running the tests, and no framework

    def setUp(self) -> None:
        self.python = python_with(self.framework) if self.framework else sys.executable
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-hook-"))
        self.addCleanup(shutil.rmtree, self.place)
        self.recording = self.place / "recording"

    def environment(self, hook: bool = True, path: tuple = (), **variables: str) -> dict[str, str]:
        unwanted = ("XLATRACE_", "PYTHON", "JAX_", "XLA_FLAGS")
        result = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
        result["PYTHONDONTWRITEBYTECODE"] = "1"
        folders = [str(HOOK)] * hook + [str(folder) for folder in path]
        if folders:
            result["PYTHONPATH"] = os.pathsep.join(folders)
        if hook:
            result["XLATRACE_HOOK_DIR"] = str(self.recording)
        return {**result, **variables}

    def start(self, script: str, *arguments: str, **environment) -> subprocess.Popen:
        """A script that runs in `self.place` and has a file name, so that tracebacks are equal."""
        path = self.place / "script.py"
        path.write_text(textwrap.dedent(script))
        return subprocess.Popen(
            [self.python, str(path), *arguments],
            cwd=self.place,
            env=self.environment(**environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait(self, child: subprocess.Popen) -> Result:
        try:
            stdout, stderr = child.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            stdout, stderr = child.communicate()
            self.fail(f"the script hung, after\n{stdout}{stderr}")
        return Result(child.returncode, stdout, stderr)

    def run_script(self, script: str, *arguments: str, **environment) -> Result:
        return self.wait(self.start(script, *arguments, **environment))

    def run_and_signal(self, script: str, number: signal.Signals, **environment) -> Result:
        """Sends the signal once the script has printed `ready` and waits for something."""
        child = self.start(script, **environment)
        assert child.stdout is not None
        before = ""
        while not before.endswith("ready\n"):
            line = child.stdout.readline()
            if not line:
                self.fail("the script ended early: " + self.wait(child).stderr)
            before += line
        while main_thread_state(child.pid) == "R":
            pass
        child.send_signal(number)
        result = self.wait(child)
        return dataclasses.replace(result, stdout=before + result.stdout)

    def statuses(self) -> list[dict]:
        """The status.json of every process, and where it was, in order of their start."""
        found = []
        for path in self.recording.glob("*/status.json"):
            found.append({**json.loads(path.read_text()), "folder": path.parent})
        return sorted(found, key=lambda status: status["start_unix_ns"])

    def status(self) -> dict:
        statuses = self.statuses()
        self.assertEqual(len(statuses), 1, [status["folder"].name for status in statuses])
        return statuses[0]

    def assert_recorded(self, status: dict, *reasons: str) -> None:
        """There is a whole profile for each of these reasons to stop one."""
        self.assertIsNone(status["start_error"])
        self.assertIsNone(status["stop_error"])
        self.assertTrue(status["started"])
        self.assertTrue(status["stopped"])
        self.assertEqual([session["stop_reason"] for session in status["sessions"]], list(reasons))
        for session in status["sessions"]:
            profile = (status["folder"] / session["xplane"]).read_bytes()
            self.assertEqual(len(profile), session["bytes"])
            self.assertTrue(b"Task Environment" in profile)
            self.assertLessEqual(session["start_unix_ns"], session["stop_unix_ns"])
        self.assertFalse(list(status["folder"].glob("*.partial")))

    def assert_same(self, with_hook: Result, without: Result) -> None:
        self.assertEqual(with_hook.stdout, without.stdout)
        self.assertEqual(with_hook.stderr, without.stderr)
        self.assertEqual(with_hook.returncode, without.returncode)


def main_thread_state(pid: int) -> str:
    """R running, S sleeping, Z ended."""
    stat = pathlib.Path(f"/proc/{pid}/task/{pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0]
