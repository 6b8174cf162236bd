# SPDX-License-Identifier: Apache-2.0
"""The pieces of the hook that can be tested without a process."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

from hook_support import HOOK

sys.path.insert(0, str(HOOK))

from xlatrace_hook import limits, tensorflow_profiler  # noqa: E402
from xlatrace_hook.masking import mask_secrets  # noqa: E402
from xlatrace_hook.recorder import Recorder  # noqa: E402
from xlatrace_hook.settings import Settings  # noqa: E402
from xlatrace_hook.status import Status  # noqa: E402


class Masking(unittest.TestCase):
    def test_secrets_are_masked(self):
        for arguments, masked in (
            (["--token", "x"], ["--token", "***"]),
            (["--hf-token=x", "--lr=1"], ["--hf-token=***", "--lr=1"]),
            (["--wandbApiKey", "x", "y"], ["--wandbApiKey", "***", "y"]),
            (["wandb.api_key=x"], ["wandb.api_key=***"]),
            (["--db_password", "x"], ["--db_password", "***"]),
            (["--token", "--verbose", "x"], ["--token", "--verbose", "x"]),
            (["gs://u:p@host/x", "http://h/a@b"], ["gs://u:***@host/x", "http://h/a@b"]),
        ):
            self.assertEqual(mask_secrets(arguments), masked)

    def test_ordinary_values_are_not_masked(self):
        arguments = ["--tokenizer", "spm", "--max-tokens=5", "--author", "b", "--key"]
        self.assertEqual(mask_secrets(arguments), arguments)


class TheSettings(unittest.TestCase):
    def test_defaults_and_nonsense(self):
        for extra in ({}, {"XLATRACE_HOOK_DURATION_S": "soon", "XLATRACE_HOOK_MEMORY_MB": "-1"}):
            settings = Settings({"XLATRACE_HOOK_DIR": "/x", **extra})
            self.assertEqual(settings.duration_s, 60)
            self.assertEqual(settings.delay_s, 0)
        self.assertEqual(settings.memory_bytes, 256e6)

    def test_memory_limit_has_a_default(self):
        """A sixteenth of what the machine has to spare, from 256 to 1,024 MB."""
        for spare_kb, wanted in ((0, 256e6), (8_000_000, 500e6), (64_000_000, 1024e6)):
            text = f"MemTotal: 99 kB\nMemAvailable: {spare_kb} kB\n".encode()
            with mock.patch("builtins.open", mock.mock_open(read_data=text)):
                settings = Settings({"XLATRACE_HOOK_DIR": "/x"})
            self.assertEqual(settings.memory_bytes, wanted)

    def test_zero_is_no_limit(self):
        environment = {"XLATRACE_HOOK_DURATION_S": "0", "XLATRACE_HOOK_MEMORY_MB": "0"}
        settings = Settings({"XLATRACE_HOOK_DIR": "/x", **environment})
        self.assertEqual(settings.duration_s, float("inf"))
        self.assertEqual(settings.memory_bytes, float("inf"))


class Patched(unittest.TestCase):
    """A clock and a process size that the test sets."""

    def setUp(self) -> None:
        self.now, self.size = 100.0, int(1e9)

    def patch(self, *replacements) -> None:
        """One (module, name, replacement during the test) each."""
        for where, name, replacement in replacements:
            patch = mock.patch.object(where, name, replacement)
            patch.start()
            self.addCleanup(patch.stop)

    def patch_limits(self) -> None:
        self.patch(
            (limits.time, "monotonic", lambda: self.now),
            (limits, "resident_bytes", lambda: self.size),
        )


class TheLimits(Patched):
    def setUp(self) -> None:
        super().setUp()
        self.patch_limits()
        environment = {"XLATRACE_HOOK_DIR": "/x", "XLATRACE_HOOK_MEMORY_MB": "256"}
        self.limits = limits.Limits(Settings(environment))

    def later(self, seconds: float, grown_mb: float = 0) -> None:
        self.now += seconds
        self.size += int(grown_mb * 1e6)

    def test_duration_is_reached_after_its_seconds(self):
        self.limits.session_started()
        self.later(59)
        self.assertIsNone(self.limits.reached())
        self.later(1)
        self.assertEqual(self.limits.reached(), "duration")

    def test_compilation_does_not_count(self):
        self.limits.session_started()
        self.later(1, grown_mb=10)
        self.assertIsNone(self.limits.reached())
        for _ in range(100):
            self.later(1, grown_mb=5)
            self.limits.reached()
        self.assertTrue(self.limits.compiled(100))
        self.assertEqual(self.limits.growth(), int(10e6))
        # The longest so far: 60 s begin. A shorter one takes nothing from them.
        self.later(20)
        for _ in range(50):
            self.later(1)
            self.assertIsNone(self.limits.reached(begun=False))
        self.assertFalse(self.limits.compiled(50))
        self.later(39)
        self.assertIsNone(self.limits.reached())
        self.later(1)
        self.assertEqual(self.limits.reached(), "duration")

    def test_limits_start_with_the_first_compilation(self):
        self.limits.session_started()
        self.later(60)
        self.assertFalse(self.limits.has_compiled)
        self.assertEqual(self.limits.reached(), "duration")
        self.assertFalse(self.limits.had_begun())
        self.later(50)
        self.limits.compiled(1)
        self.later(59)
        self.assertIsNone(self.limits.reached())
        self.later(1)
        self.assertEqual(self.limits.reached(), "duration")
        self.assertTrue(self.limits.had_begun())

    def test_a_window_where_nothing_is_compiled(self):
        self.limits.session_started()
        self.later(60)
        self.assertEqual(self.limits.reached(), "duration")
        self.assertFalse(self.limits.had_begun())
        self.later(59)
        self.assertIsNone(self.limits.reached())
        self.later(1)
        self.assertEqual(self.limits.reached(), "duration")
        self.assertTrue(self.limits.had_begun())

    def test_windows_are_opened_again_so_many_times(self):
        self.limits.session_started()
        opened = [self.limits.compiled(seconds) for seconds in range(1, 20)]
        self.assertEqual(opened, [True] * limits.MAX_WINDOWS + [False] * (19 - limits.MAX_WINDOWS))

    def test_growth_that_is_the_profile(self):
        self.limits.session_started()
        self.later(1, grown_mb=250)
        self.assertIsNone(self.limits.reached())
        self.later(1, grown_mb=7)
        self.assertEqual(self.limits.reached(), "memory")
        self.assertFalse(self.limits.may_go_on(self.limits.growth(), written=int(32e6)))

    def test_growth_that_is_not(self):
        self.limits.session_started()
        for alarm in range(1, 7):
            while self.limits.reached() is None:
                self.later(0.01, grown_mb=100)
            self.assertEqual(self.limits.reached(), "memory")
            goes_on = self.limits.may_go_on(self.limits.growth(), written=int(1e6))
            self.assertEqual(goes_on, alarm <= limits.MAX_FALSE_ALARMS)
            self.limits.session_started()


class FakeProfiler:
    """Writes a file per session; `busy` states whether compilations are in progress."""

    name = "fake"
    busy = False
    computes = False

    def versions(self):
        return {}

    def start(self, directory):
        pass

    def stop(self, path):
        pathlib.Path(path).write_text("profile")

    def compiling(self):
        return self.busy

    def computing_while_compiling(self):
        return self.computes

    def abandon(self):
        pass


class TheWindow(Patched):
    """Which part of a run is recorded."""

    def setUp(self) -> None:
        super().setUp()
        self.patch_limits()
        folder = tempfile.mkdtemp(prefix="xlatrace-hook-")
        self.addCleanup(shutil.rmtree, folder)
        settings = Settings({"XLATRACE_HOOK_DIR": folder, "XLATRACE_HOOK_MEMORY_MB": "256"})
        self.profiler = FakeProfiler()
        self.recorder = Recorder(settings, Status(folder), limits.Limits(settings))
        self.recorder.runtime_ready(self.profiler)

    def after(self, seconds: float, grown_mb: float = 0) -> str:
        """The state after a tick that much later."""
        self.now += seconds
        self.size += int(grown_mb * 1e6)
        self.recorder.tick()
        return self.recorder.state

    def reasons(self) -> list:
        return [session["stop_reason"] for session in self.recorder.status.data["sessions"]]

    def test_a_minute_of_loading_before_the_first_program(self):
        self.assertEqual(self.after(100), "running")
        self.recorder.compiled(20)
        self.assertEqual(self.after(59), "running")
        self.assertEqual(self.after(1), "resting")
        self.assertEqual(self.reasons(), ["duration"])

    def test_minutes_of_loading_before_the_first_program(self):
        self.after(100)
        self.assertEqual(self.after(200), "resting")
        self.recorder.compiled(20)
        self.assertEqual(self.after(59), "running")
        self.assertEqual(self.after(1), "resting")
        self.assertEqual(self.reasons(), ["duration", "duration"])

    def test_eager_loops_and_deserialised_programs(self):
        """Nothing is ever compiled: twice the duration at most."""
        states = [self.after(1) for _ in range(300)]
        self.assertEqual(states, ["running"] * 119 + ["resting"] * 181)
        self.recorder.finish("exit", {"kind": "exit"})
        self.assertEqual(self.reasons(), ["duration"])
        self.assertEqual(self.recorder.status.data["stop_reason"], "duration")

    def test_memory_is_bounded_where_nothing_is_compiled(self):
        self.after(60, grown_mb=300)
        self.after(1)
        self.assertEqual(self.reasons()[0], "memory")

    def test_the_first_program_takes_longer_than_the_window_to_compile(self):
        for computes in (False, True):
            for before in (10, 70):  # in the window, and in the one that then begins
                with self.subTest(computes=computes, before=before):
                    self.setUp()
                    self.after(before)
                    self.profiler.busy, self.profiler.computes = True, computes
                    states = {self.after(1) for _ in range(125)}
                    self.assertEqual(states, {"running"})
                    self.profiler.busy = False
                    self.recorder.compiled(125)
                    self.assertEqual(self.after(59), "running")
                    self.assertEqual(self.after(1), "resting")
                    self.assertEqual(self.reasons(), ["duration"])

    def test_the_first_compilation_fails(self):
        self.profiler.busy = True
        self.assertEqual(self.after(125), "running")
        self.profiler.busy = False
        self.assertEqual(self.after(1), "running")
        self.assertEqual(self.after(59), "running")
        self.assertEqual(self.after(1), "resting")

    def test_minutes_of_loading_between_small_programs_and_the_step(self):
        for _ in range(5):
            self.recorder.compiled(0.1)
        self.assertEqual(self.after(61), "resting")
        self.recorder.compiled(0.05)
        self.assertEqual(self.after(200), "resting")
        self.recorder.compiled(20)  # the training step
        self.assertEqual(self.after(59), "running")
        self.recorder.finish("exit", {"kind": "exit"})
        self.assertEqual(self.reasons(), ["duration", "exit"])
        self.assertEqual(self.recorder.status.data["stop_reason"], "exit")

    def test_a_first_epoch_of_minutes(self):
        """TensorFlow: the call that compiles lasts longer than the window."""
        self.recorder.compiled(0.01)
        self.profiler.busy = self.profiler.computes = True
        for _ in range(10):
            self.assertEqual(self.after(50), "running")
        self.profiler.busy = False
        self.recorder.compiled(500)
        self.assertEqual(self.after(59), "running")
        self.assertEqual(self.after(1), "resting")

    def test_memory_is_bounded_where_that_call_computes(self):
        self.recorder.compiled(0.01)
        self.profiler.busy = True
        self.assertEqual(self.after(70, grown_mb=300), "running")
        self.assertEqual(self.reasons(), [None])
        self.profiler.computes = True
        self.after(1)
        self.assertEqual(self.reasons()[0], "memory")

    def test_compilation_waits_until_the_earlier_window_is_written(self):
        """While the window before it is still being written, by another thread."""
        self.recorder.compiled(1)
        written, stop = threading.Event(), self.profiler.stop

        def slow_stop(path):
            written.wait(30)
            stop(path)

        self.profiler.stop = slow_stop
        watcher = threading.Thread(target=self.after, args=(60,))
        watcher.start()
        while self.recorder.state == "running":
            time.sleep(0.001)
        compiled = threading.Thread(target=self.recorder.compiled, args=(20,))
        compiled.start()
        written.set()
        for thread in (compiled, watcher):
            thread.join(30)
        self.assertEqual(self.recorder.state, "running")

    def test_the_script_s_own_profile_is_not_disturbed(self):
        self.recorder.compiled(1)
        self.assertEqual(self.after(60), "resting")
        self.recorder.give_way("script_profiler")
        self.recorder.compiled(2)
        self.assertEqual(self.recorder.state, "paused")
        self.recorder.go_on()
        self.assertEqual(self.recorder.state, "running")

    def test_ends_while_resting(self):
        self.recorder.compiled(1)
        self.after(60)
        self.recorder.finish("exit", {"kind": "exit"})
        data = self.recorder.status.data
        self.assertEqual((data["stop_reason"], data["exit"]), ("duration", {"kind": "exit"}))


SCRIPT = """
class Function:
    traces = 0

    def count(self):
        return self.traces

    def trace(self):
        self.traces += 1

    def __call__(self, body):
        tracing_count = self.count()
        body()
        new_tracing_count = self.count()
        return new_tracing_count - tracing_count
"""


class TheCallsThatTrace(Patched):
    """Functions that count their traces as those of TensorFlow do."""

    def setUp(self) -> None:
        super().setUp()
        self.patch(
            (tensorflow_profiler.time, "monotonic", lambda: self.now),
            (tensorflow_profiler, "COUNT", "count"),
            (tensorflow_profiler, "MAX_CALLS", 4),
        )
        module = types.ModuleType("functions_of_a_test")
        patch = mock.patch.dict(sys.modules, {module.__name__: module})
        patch.start()
        self.addCleanup(patch.stop)
        exec(SCRIPT, vars(module))
        self.heard: list = []
        profiler = object.__new__(tensorflow_profiler.TensorFlowProfiler)
        profiler._recorder = types.SimpleNamespace(pid=os.getpid(), compiled=self.heard.append)
        profiler._watch_calls(module.Function)
        self.function, self.other = module.Function(), module.Function()

    def work(self, seconds: float, *functions) -> None:
        """The body of a call, or the script: so many seconds, and traces of these functions."""
        self.now += seconds
        for function in functions:
            function.trace()

    def test_calls_that_trace_are_reported(self):
        for seconds in (7, 3):
            self.function(lambda seconds=seconds: self.work(seconds, self.function))
            self.function(lambda: self.work(60))
        self.assertEqual(self.heard, [7, 3])

    def test_nested_calls_are_reported_once(self):
        self.function(lambda: self.other(lambda: self.work(2, self.function, self.other)))
        self.assertEqual(self.heard, [2, 2])
        self.other(lambda: self.function(lambda: self.work(2, self.other)))
        self.assertEqual(self.heard, [2, 2, 2])

    def test_traces_between_calls(self):
        """Those of get_concrete_function, and of calls by other threads."""
        for _ in range(3):
            self.function(lambda: self.work(1))
            self.work(300, self.function)
        self.assertEqual(self.heard, [])
        thread = threading.Thread(target=self.function, args=[lambda: self.work(5, self.function)])
        thread.start()
        thread.join()
        self.function(lambda: self.work(1))
        self.assertEqual(self.heard, [5])

    def test_counts_requested_by_the_script_are_unchanged(self):
        before = self.function.count()
        self.work(300, self.function)
        self.assertEqual(self.function.count(), before + 1)

        class Model:
            def __call__(model):
                return self.function.count(), self.work(300, self.function), self.function.count()

        self.assertEqual(Model()(), (1, None, 2))
        self.assertEqual(self.heard, [])

    def test_calls_that_raise(self):
        def fail():
            self.work(60, self.function)
            raise ZeroDivisionError

        for _ in range(20):
            with self.assertRaises(ZeroDivisionError):
                self.function(fail)
            self.function(lambda: self.work(1))
        self.assertEqual(self.heard, [])
        errors = []  # whose frames stay
        for _ in range(20):
            try:
                self.function(fail)
            except ZeroDivisionError as error:
                errors.append(error)
        self.function(lambda: self.work(4, self.function))
        self.assertEqual(self.heard, [4])

    def test_errors_of_the_hook_do_not_reach_the_script(self):
        with mock.patch.object(tensorflow_profiler.os, "getpid", side_effect=OSError):
            self.assertEqual(self.function(lambda: self.work(4, self.function)), 1)
        self.assertEqual(self.heard, [])


if __name__ == "__main__":
    unittest.main()
