# SPDX-License-Identifier: Apache-2.0
"""The same with TensorFlow, whose import takes seconds: few processes."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import tiers
from hook_support import HookTestCase

TENSORFLOW = """
import os, sys
import tensorflow as tf

@tf.function(jit_compile=True)
def double(x):
    return tf.reduce_sum(tf.sin(x) * 2)

"""


class TensorFlow(HookTestCase):
    framework = "tensorflow"

    def profiles(self, name: str) -> int:
        return len(list((self.place / name).rglob("*.xplane.pb")))

    @tiers.long_tier
    def test_import_only(self):
        self.assertEqual(self.run_script(TENSORFLOW).returncode, 0)
        status = self.status()
        self.assertEqual((status["framework"], status["started"]), ("tensorflow", False))
        self.assertIsNone(status["start_error"])

    def test_exit_writes_the_profile(self):
        script = TENSORFLOW + "print(float(double(tf.ones(8))))\nraise SystemExit(3)\n"
        result = self.run_script(script)
        self.assertEqual(result.returncode, 3)
        self.assertNotIn("rofiler", result.stderr)
        status = self.status()
        self.assert_recorded(status, "exit")
        profile = (status["folder"] / status["sessions"][0]["xplane"]).read_bytes()
        self.assertTrue(b"hlo_op" in profile)
        self.assertTrue(b"a_inference_double" in profile)
        self.assertEqual(status["framework"], "tensorflow")
        names = sorted(path.name for path in status["folder"].iterdir())
        own = {"compile.jsonl", "host.samples"}  # Depend on the framework and on the library that samples.
        self.assertEqual([name for name in names if name not in own], ["session-1.xplane.pb", "status.json"])

    def test_calls_that_compile_are_distinguished_from_others(self):
        """A call that traced, and no other, opens the window; it is one while it runs."""
        script = TENSORFLOW + (
            "from xlatrace_hook import hook\n"
            "double(tf.ones(8))  # brings the profiler up\n"
            "recorder, profiler = hook._hook.recorder, hook._hook.recorder._profiler\n"
            "heard = []\n"
            "recorder.compiled = heard.append\n"
            "def state(): heard.append(profiler.compiling())\n"
            "@tf.function(jit_compile=True)\n"
            "def step(x):\n"
            "    state()  # while it is traced\n"
            "    return x + 1\n"
            "@tf.function\n"
            "def outer(x):\n"
            "    tf.py_function(state, [], [])  # at run time\n"
            "    return step(x)\n"
            "for size in (8, 8, 9): outer(tf.ones(size))\n"
            "state()\n"
            "print([type(word).__name__ if isinstance(word, float) else word for word in heard])\n"
        )
        result = self.run_script(script)
        self.assertEqual(result.returncode, 0, result.stderr)
        # Each: step is traced inside outer, then outer is compiled and runs. That a function with
        # traces gets another one is seen when it has it.
        first = "True, 'float', True, 'float', "
        again = "False, 'float', True, 'float', "
        self.assertEqual(result.stdout.strip(), f"[{first}False, {again}False]", result.stderr)

    def test_profiles_of_the_script(self):
        script = TENSORFLOW + (
            "try:\n"
            "    tf.profiler.experimental.stop()\n"
            "except tf.errors.UnavailableError as error:\n"
            "    print(error.message, flush=True)\n"
            "double(tf.ones(8))\n"
            "with tf.profiler.experimental.Profile('context'):\n"
            "    double(tf.ones(8))\n"
            "tf.profiler.experimental.start('start')\n"
            "double(tf.ones(8))\n"
            "tf.profiler.experimental.stop()\n"
            "os._exit(4)\n"
        )
        result = self.run_script(script)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("No profiler is running", result.stdout)
        self.assertEqual(self.profiles("context"), 1)
        self.assertEqual(self.profiles("start"), 1)
        reasons = ["script_profiler", "script_profiler", "os._exit"]
        self.assert_recorded(self.status(), *reasons)

    @tiers.long_tier
    def test_keras_tensorboard_callback(self):
        script = TENSORFLOW + (
            "try:\n"
            "    import tensorboard\n"
            "except ImportError:\n"
            "    sys.exit(77)\n"
            "import keras\n"
            "model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])\n"
            "model.compile(loss='mse', jit_compile=True)\n"
            "board = keras.callbacks.TensorBoard('board', profile_batch=(1, 2))\n"
            "model.fit(tf.ones((16, 4)), tf.ones((16, 2)), batch_size=4, verbose=0,\n"
            "          callbacks=[board])\n"
        )
        result = self.run_script(script)
        if result.returncode == 77:
            self.skipTest("tensorboard is not installed")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.profiles("board"), 1)
        reasons = [session["stop_reason"] for session in self.status()["sessions"]]
        self.assertEqual(set(reasons), {"script_profiler", "exit"})
        self.assert_recorded(self.status(), *reasons)


if __name__ == "__main__":
    unittest.main()
