# SPDX-License-Identifier: Apache-2.0
"""However a process ends: its profile is written, and it ends as it would have without the hook."""

from __future__ import annotations

import signal
import unittest

from hook_support import JAX, HookTestCase


class Exits(HookTestCase):
    framework = "jax"

    def test_normal_exit(self):
        result = self.run_script(JAX, "--api-key", "k1", "--token=t1", "--steps", "3")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        status = self.status()
        self.assert_recorded(status, "exit")
        profile = (status["folder"] / status["sessions"][0]["xplane"]).read_bytes()
        if not status["jaxlib_version"].startswith("0.4."):  # had no events of single operations
            self.assertTrue(b"hlo_op" in profile)
        self.assertTrue(b"jit__lambda" in profile)
        self.assertEqual(status["schema_version"], 1)
        self.assertEqual(status["framework"], "jax")
        self.assertEqual(status["frameworks_imported"], ["jax"])
        self.assertRegex(status["framework_version"], r"^\d+\.\d+\.\d+")
        self.assertRegex(status["jaxlib_version"], r"^\d+\.\d+\.\d+")
        self.assertRegex(status["python_version"], r"^3\.\d+\.\d+")
        self.assertEqual(status["argv"][1:], ["--api-key", "***", "--token=***", "--steps", "3"])
        self.assertRegex(status["folder"].name, rf"^{status['pid']}-\d+$")
        self.assertEqual(status["folder"].stat().st_mode & 0o777, 0o700)
        self.assertEqual(status["exit"], {"kind": "exit"})
        self.assertEqual(status["stop_reason"], "exit")
        self.assertEqual(status["notes"], [])
        self.assertGreater(status["own_cost_ns"], 0)
        self.assertLess(status["start_unix_ns"], status["profile_start_unix_ns"])
        self.assertLess(status["profile_start_unix_ns"], status["profile_stop_unix_ns"])
        # No trace viewer's JSON, no folders of the framework's.
        names = sorted(path.name for path in status["folder"].iterdir())
        own = {"compile.jsonl", "host.samples"}  # Depend on the framework and on the library that samples.
        self.assertEqual([name for name in names if name not in own], ["session-1.xplane.pb", "status.json"])

    def test_sys_exit(self):
        self.assertEqual(self.run_script(JAX + "sys.exit(3)").returncode, 3)
        self.assert_recorded(self.status(), "exit")

    def test_uncaught_exception(self):
        script = JAX + "def train():\n    raise ValueError('diverged')\ntrain()\n"
        result = self.run_script(script)
        self.assertEqual(result.returncode, 1)
        self.assert_same(result, self.run_script(script, hook=False))
        status = self.status()
        self.assert_recorded(status, "exception")
        self.assertEqual(status["exit"], {"kind": "exception", "exception": "ValueError"})

    def test_os_exit(self):
        self.assertEqual(self.run_script(JAX + "os._exit(4)").returncode, 4)
        status = self.status()
        self.assert_recorded(status, "os._exit")
        self.assertEqual(status["exit"], {"kind": "os._exit", "status": 4})

    def test_exec_ends_the_recording(self):
        script = """
        try:
            os.execvp("no-such-program", ["x"])
        except FileNotFoundError:
            print("still here", float(double(jnp.ones(4)).sum()), flush=True)
        os.execl(sys.executable, sys.executable, "-c", "print('after'); raise SystemExit(5)")
        """
        result = self.run_script(JAX + "\n".join(line[8:] for line in script.splitlines()))
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertRegex(result.stdout, "still here.*\nafter\n")
        status = self.status()
        self.assertEqual(status["exit"], {"kind": "exec"})
        self.assertEqual(status["stop_reason"], "exec")
        self.assertIsNotNone(status["sessions"][-1]["xplane"])


class Signals(HookTestCase):
    framework = "jax"

    def test_sigterm_keeps_the_recording(self):
        script = JAX + "print('ready', flush=True)\nsignal.pause()"
        result = self.run_and_signal(script, signal.SIGTERM)
        self.assertEqual((result.returncode, result.stderr), (-signal.SIGTERM, ""))
        status = self.status()
        self.assert_recorded(status, "SIGTERM")
        self.assertEqual(status["exit"], {"kind": "signal", "signal": "SIGTERM"})

    def test_sigterm_while_the_main_thread_is_not_in_python(self):
        # Locking a mutex twice blocks for ever, and no signal interrupts it.
        script = JAX + (
            "import ctypes\n"
            "libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(128)\n"
            "libc.pthread_mutex_lock(mutex)\n"
            "print('ready', flush=True)\n"
            "libc.pthread_mutex_lock(mutex)\n"
        )
        result = self.run_and_signal(script, signal.SIGTERM)
        self.assertEqual((result.returncode, result.stderr), (-signal.SIGTERM, ""))
        self.assert_recorded(self.status(), "SIGTERM")

    def test_sigterm_with_a_handler_of_the_script(self):
        script = JAX + (
            "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
            "print('ready', flush=True)\n"
            "signal.pause()\n"
        )
        self.assertEqual(self.run_and_signal(script, signal.SIGTERM).returncode, 7)
        self.assert_recorded(self.status(), "exit")

    def test_sigterm_of_a_child_is_not_ours(self):
        script = JAX + (
            "import multiprocessing, warnings\n"
            "warnings.simplefilter('ignore')\n"
            "child = multiprocessing.get_context('fork').Process(target=signal.pause)\n"
            "child.start()\n"
            "child.terminate()\n"
            "child.join()\n"
            "print('child', child.exitcode, flush=True)\n"
        )
        result = self.run_script(script)
        self.assertIn("child -15\n", result.stdout)
        self.assertEqual(result.returncode, 0)
        self.assert_recorded(self.status(), "exit")

    def test_ctrl_c_ends_the_program(self):
        # All on one line, so that the traceback is the same wherever the signal comes.
        script = JAX + (
            "import itertools, time\n"
            "for word in itertools.chain(['ready\\n'], itertools.repeat('')): "
            "sys.stdout.write(word); sys.stdout.flush(); time.sleep(0.05)\n"
        )
        plain = {"PYTHONNODEBUGRANGES": "1"}
        result = self.run_and_signal(script, signal.SIGINT, **plain)
        self.assert_same(result, self.run_and_signal(script, signal.SIGINT, hook=False, **plain))
        self.assertIn("KeyboardInterrupt", result.stderr)
        self.assert_recorded(self.status(), "SIGINT")


if __name__ == "__main__":
    unittest.main()
