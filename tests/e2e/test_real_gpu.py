# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu_check on this machine's GPU; skips with the reason where there is none (label `gpu`)."""

import os
import pathlib
import subprocess
import sys
import unittest

import support


class RealGpu(unittest.TestCase):
    def test_all_checks_pass_on_a_real_gpu(self):
        support.require_program()
        prefix = pathlib.Path(support.PROGRAM).resolve().parents[1]
        python = os.environ.get("XLATRACE_TEST_PYTHON_JAX_GPU", sys.executable)
        done = subprocess.run(
            [support.REPOSITORY / "scripts" / "gpu_check", "--prefix", prefix, "--jax", python],
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        if done.stdout.startswith("skip  everything"):
            self.skipTest(done.stdout.strip().partition(": ")[2])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
