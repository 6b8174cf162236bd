# SPDX-License-Identifier: Apache-2.0
"""Jobs of several processes: one folder each, and no process changes another's profile."""

from __future__ import annotations

import unittest

from hook_support import JAX, HookTestCase


class Processes(HookTestCase):
    framework = "jax"

    def test_fork_of_a_recording_process(self):
        script = JAX + (
            "import warnings\n"
            "warnings.simplefilter('ignore')\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    os._exit(6)\n"
            "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
            "print(float(double(jnp.ones(8)).sum()))\n"
        )
        result = self.run_script(script)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("\n6\n", result.stdout)
        self.assert_recorded(self.status(), "exit")

    def test_forks_before_the_first_computation(self):
        script = """
        import os, jax
        children = []
        for status in (0, 7):
            child = os.fork()
            if child == 0:
                if status:
                    float(jax.numpy.ones(3).sum())
                os._exit(status)
            children.append(child)
        for child in children:
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
        result = self.run_script(script)
        self.assertEqual(result.stdout, "0\n7\n", result.stderr)
        parent, child = self.statuses()
        self.assertFalse(parent["started"])
        self.assert_recorded(child, "os._exit")
        self.assertEqual(child["ppid"], parent["pid"])
        self.assertEqual(child["framework"], "jax")

    def test_each_subprocess_has_its_own_recording(self):
        script = JAX + (
            "import subprocess\n"
            "if len(sys.argv) == 1:\n"
            "    subprocess.run([sys.executable, '-c', 'pass'], check=True)\n"
            "    subprocess.run([sys.executable, __file__, 'child'], check=True)\n"
        )
        result = self.run_script(script)
        self.assertEqual(result.returncode, 0, result.stderr)
        parent, child = self.statuses()
        self.assert_recorded(parent, "exit")
        self.assert_recorded(child, "exit")
        self.assertEqual(child["argv"][1:], ["child"])
        self.assertEqual(child["ppid"], parent["pid"])


class Limits(HookTestCase):
    framework = "jax"
    until_there_is_a_profile = JAX + (
        "import glob, time\n"
        "deadline = time.monotonic() + 300\n"
        "x = jnp.ones(8)\n"
        "while not glob.glob(sys.argv[1] + '/*/*.xplane.pb'):\n"
        "    for _ in range(1000):\n"
        "        x = double(x)\n"
        "    assert time.monotonic() < deadline\n"
    )

    def test_duration_limit_ends_the_recording(self):
        result = self.run_script(
            self.until_there_is_a_profile, str(self.recording), XLATRACE_HOOK_DURATION_S="0.3"
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        status = self.status()
        # A later compilation (`double`, on a slow machine) may open another window.
        reasons = [session["stop_reason"] for session in status["sessions"]]
        self.assertEqual(reasons[0], "duration")
        self.assert_recorded(status, *reasons)
        self.assertEqual(status["exit"], {"kind": "exit"})
        first = status["sessions"][0]
        self.assertGreater(first["stop_unix_ns"] - first["start_unix_ns"], 0.3e9)

    def test_a_limit_waits_for_a_compilation(self):
        script = JAX + (
            "import time\n"
            "from jax._src import compiler\n"
            "from xlatrace_hook import hook\n"
            "recorder, asked = hook._hook.recorder, []\n"
            "compiling = recorder._profiler.compiling\n"
            "recorder._profiler.compiling = lambda: asked.append(compiling()) or asked[-1]\n"
            "def slow():\n"
            "    recorder.limits._deadline = 0  # the window is over\n"
            "    while len(asked) < 3:\n"
            "        time.sleep(0.01)\n"
            "    print(asked[:3], recorder.state)\n"
            "# A function that claims to be of JAX's compiler.\n"
            "slow.__code__ = slow.__code__.replace(co_filename=compiler.__file__)\n"
            "slow()\n"
        )
        result = self.run_script(script)
        self.assertEqual(result.stdout.splitlines()[-1:], ["[True, True, True] running"], result)
        self.assertIn(self.status()["stop_reason"], ("duration", "exit"))

    def test_memory_limit_ends_the_recording(self):
        result = self.run_script(
            self.until_there_is_a_profile,
            str(self.recording),
            XLATRACE_HOOK_MEMORY_MB="40",
            XLATRACE_HOOK_DURATION_S="0",
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_recorded(self.status(), "memory")

    def test_delay_starts_the_recording_later(self):
        script = JAX + (
            "import glob, json, time\n"
            "deadline = time.monotonic() + 300\n"
            "while not json.load(open(glob.glob(sys.argv[1] + '/*/status.json')[0]))['started']:\n"
            "    assert time.monotonic() < deadline\n"
            "float(double(jnp.ones(8)).sum())\n"
        )
        result = self.run_script(script, str(self.recording), XLATRACE_HOOK_DELAY_S="0.3")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_recorded(self.status(), "exit")


if __name__ == "__main__":
    unittest.main()
