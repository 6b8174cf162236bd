# SPDX-License-Identifier: Apache-2.0
"""Actions of the script itself: its own profiles, settings after the import, other hooks."""

from __future__ import annotations

import dataclasses
import re
import unittest

from hook_support import JAX, HookTestCase, Result


def timeless(result: Result) -> Result:
    """Without the times in the lines that the profiler of an older JAX logs."""
    return dataclasses.replace(result, stderr=re.sub(r"\d+", "0", result.stderr))


class OwnProfiles(HookTestCase):
    framework = "jax"

    def profiles(self, name: str) -> int:
        return len(list((self.place / name).glob("plugins/profile/*/*.xplane.pb")))

    def test_profiles_of_the_script(self):
        script = """
        import inspect, jax, jax.numpy as jnp
        from jax.profiler import start_trace, stop_trace
        print(inspect.signature(start_trace), start_trace.__module__)

        def attempt(function, *arguments):
            try:
                print(function(*arguments))
            except RuntimeError as error:
                print(error)

        attempt(stop_trace)
        start_trace("before-the-backends")
        float(jnp.ones(3).sum())
        attempt(start_trace, "second")
        stop_trace()
        attempt(stop_trace)
        float(jnp.ones(4).sum())
        with jax.profiler.trace("context"):
            float(jnp.ones(5).sum())
        float(jnp.ones(6).sum())
        """
        result = self.run_script(script)
        self.assertEqual(self.profiles("before-the-backends"), 1)
        self.assertEqual(self.profiles("context"), 1)
        self.assert_same(timeless(result), timeless(self.run_script(script, hook=False)))
        self.assertEqual(result.returncode, 0, result.stderr)
        # One after each profile of the script's; the failed stop splits one, too.
        reasons = ["script_profiler", "script_profiler", "exit"]
        self.assert_recorded(self.status(), *reasons)

    def test_profiler_server(self):
        script = JAX + "server = jax.profiler.start_server(0)\nprint(type(server).__name__)\n"
        self.assertIn("ProfilerServer", self.run_script(script).stdout)
        status = self.status()
        self.assert_recorded(status, "exit")
        (note,) = status["notes"]
        self.assertIn("server", note)

    def test_jax_keeps_the_profiler_for_pgle(self):
        self.run_script(JAX, JAX_ENABLE_PGLE="true")
        status = self.status()
        self.assertFalse(status["started"])
        self.assertIn("jax_enable_pgle", status["start_error"])


class SameAsWithout(HookTestCase):
    framework = "jax"

    def test_backends_are_not_brought_up(self):
        script = """
        import importlib.util, os, sys, threading
        print(importlib.util.find_spec("jax").name)
        import jax
        from jax._src import xla_bridge
        print(xla_bridge.backends_are_initialized())
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
        print(len(jax.devices()), float(jax.numpy.ones(3).sum()))
        print([thread.name for thread in threading.enumerate()], "tensorflow" in sys.modules)
        print(type(jax.__spec__.loader), "exec_module" in vars(jax.__spec__.loader))
        """
        result = self.run_script(script)
        self.assert_same(result, self.run_script(script, hook=False))
        self.assertIn("False\n2 3.0\n", result.stdout)
        self.assert_recorded(self.status(), "exit")

    def test_import_only(self):
        self.assertEqual(self.run_script("import jax").returncode, 0)
        status = self.status()
        self.assertEqual((status["framework"], status["started"]), ("jax", False))
        self.assertEqual(status["exit"], {"kind": "exit"})

    def test_error_of_jax(self):
        script = JAX + "double(jnp.ones(3) @ jnp.ones(4))"
        self.assert_same(self.run_script(script), self.run_script(script, hook=False))


class WithoutFramework(HookTestCase):
    """These need no framework, and so run everywhere."""

    def test_script_without_framework_leaves_no_folder(self):
        self.assertEqual(self.run_script("print(1)").stdout, "1\n")
        self.assertFalse(self.recording.exists())

    def test_import_of_built_in_modules(self):
        script = """
        import sys
        failed = []
        for name in sorted(set(sys.builtin_module_names) - set(sys.modules)):
            try:
                __import__(name)
            except Exception as error:
                failed.append((name, error))
        print(failed)
        """
        result = self.run_script(script)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "[]\n", ""))

    def test_hook_without_directory_does_nothing(self):
        script = "import sys; print(sys.meta_path, 'xlatrace_hook.post_import' in sys.modules)"
        self.assertIn("False", self.run_script(script, XLATRACE_HOOK_DIR="").stdout)

    def test_module_named_like_a_framework_is_not_recorded(self):
        folder = self.place / "modules"
        (folder / "jax").mkdir(parents=True)
        (folder / "jax" / "__init__.py").write_text("print('imported')\n")
        (folder / "tensorflow.py").write_text("import no_such_module\n")
        script = "import jax\nimport tensorflow\n"
        result = self.run_script(script, path=(folder,))
        self.assert_same(result, self.run_script(script, path=(folder,), hook=False))
        self.assertIn("ModuleNotFoundError", result.stderr)
        status = self.status()
        self.assertIn("ModuleNotFoundError", status["start_error"])
        self.assertEqual(status["exit"]["exception"], "ModuleNotFoundError")

    def test_recording_folder_that_cannot_be_made(self):
        folder = self.place / "modules"
        folder.mkdir()
        (folder / "jax.py").write_text("")
        result = self.run_script("import jax", path=(folder,), XLATRACE_HOOK_DIR="/proc/nowhere")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))


class OtherSitecustomize(HookTestCase):
    def folder_with(self, text: str):
        folder = self.place / "theirs"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(text)
        return folder

    def test_other_sitecustomize_runs(self):
        folder = self.folder_with("value = 42\nprint('theirs', __name__, __file__)\n")
        script = "import sitecustomize\nprint(sitecustomize.value, sitecustomize.__spec__.origin)\n"
        result = self.run_script(script, path=(folder,))
        self.assert_same(result, self.run_script(script, path=(folder,), hook=False))
        self.assertIn("42", result.stdout)

    def test_error_of_another_sitecustomize_is_unchanged(self):
        folder = self.folder_with("raise RuntimeError('theirs')\n")
        result = self.run_script("print(1)", path=(folder,))
        self.assert_same(result, self.run_script("print(1)", path=(folder,), hook=False))
        self.assertIn("RuntimeError: theirs", result.stderr)

    def test_chained_sitecustomize_does_not_loop(self):
        # Earlier on the path, and chains as ours does: must not go round in circles.
        folder = self.folder_with(
            "import importlib.machinery, importlib.util, os, sys\n"
            "print('theirs')\n"
            "path = [p for p in sys.path if p != os.path.dirname(__file__)]\n"
            "spec = importlib.machinery.PathFinder.find_spec('sitecustomize', path)\n"
            "spec.loader.exec_module(importlib.util.module_from_spec(spec))\n"
        )
        environment = self.environment(path=(folder,))["PYTHONPATH"].split(":")
        result = self.run_script(
            "import sys; print('xlatrace_hook.install' in sys.modules)",
            PYTHONPATH=":".join(reversed(environment)),
        )
        self.assertEqual((result.stdout, result.stderr), ("theirs\nTrue\n", ""))


if __name__ == "__main__":
    unittest.main()
