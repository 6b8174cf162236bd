# SPDX-License-Identifier: Apache-2.0
"""The pieces of the hook that can be tested without a process."""

from __future__ import annotations

import sys
import unittest
from unittest import mock

from hook_support import HOOK

sys.path.insert(0, str(HOOK))

from xlatrace_hook import limits  # noqa: E402
from xlatrace_hook.masking import mask_secrets  # noqa: E402
from xlatrace_hook.settings import Settings  # noqa: E402


class Masking(unittest.TestCase):
    def test_masked(self):
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

    def test_not_masked(self):
        arguments = ["--tokenizer", "spm", "--max-tokens=5", "--author", "b", "--key"]
        self.assertEqual(mask_secrets(arguments), arguments)


class TheSettings(unittest.TestCase):
    def test_defaults_and_nonsense(self):
        for extra in ({}, {"XLATRACE_HOOK_DURATION_S": "soon", "XLATRACE_HOOK_MEMORY_MB": "-1"}):
            settings = Settings({"XLATRACE_HOOK_DIR": "/x", **extra})
            self.assertEqual(settings.duration_s, 60)
            self.assertEqual(settings.memory_bytes, 256e6)
            self.assertEqual(settings.delay_s, 0)

    def test_zero_is_no_limit(self):
        environment = {"XLATRACE_HOOK_DURATION_S": "0", "XLATRACE_HOOK_MEMORY_MB": "0"}
        settings = Settings({"XLATRACE_HOOK_DIR": "/x", **environment})
        self.assertEqual(settings.duration_s, float("inf"))
        self.assertEqual(settings.memory_bytes, float("inf"))


class TheLimits(unittest.TestCase):
    """With a clock and a process size that the test sets."""

    def setUp(self) -> None:
        self.now, self.size = 100.0, int(1e9)
        for where, name, replacement in (
            (limits.time, "monotonic", lambda: self.now),
            (limits, "resident_bytes", lambda: self.size),
        ):
            patch = mock.patch.object(where, name, replacement)
            patch.start()
            self.addCleanup(patch.stop)
        self.limits = limits.Limits(Settings({"XLATRACE_HOOK_DIR": "/x"}))

    def later(self, seconds: float, grown_mb: float = 0) -> None:
        self.now += seconds
        self.size += int(grown_mb * 1e6)

    def test_duration(self):
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
        self.limits.compiled(100)
        self.assertEqual(self.limits.growth(), int(10e6))
        self.later(58)
        self.assertIsNone(self.limits.reached())
        self.later(1)
        self.assertEqual(self.limits.reached(), "duration")

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


if __name__ == "__main__":
    unittest.main()
