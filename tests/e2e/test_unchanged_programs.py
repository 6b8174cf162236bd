# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin does not fail for a program that is as before, and names another release of JAX.

Environment beside test_pytest_plugin.py's:
  XLATRACE_TEST_PYTHONS_JAX_OTHER  interpreters with other releases of JAX and with pytest, separated by ":"
  XLATRACE_TEST_STRUCTURE_SEED     first seed of the random models
"""

import os
import shutil
import unittest

import support
from test_pytest_plugin import PluginCase

import random_models  # noqa: E402 - in tests/structure, which test_pytest_plugin puts on the path

FIRST_SEED = int(os.environ.get("XLATRACE_TEST_STRUCTURE_SEED", "67"))
MODELS, REWRITES = (60, 5) if support.LONG else (3, 1)
GROUP = 12  # Models in one pytest.
OTHERS = [path for path in os.environ.get("XLATRACE_TEST_PYTHONS_JAX_OTHER", "").split(":") if path]


class RandomModels(PluginCase):
    """Random small models, each with a baseline."""

    def groups(self):
        """The models group by group, each with its baselines: one pytest for all of them would take an hour."""
        for first in range(FIRST_SEED, FIRST_SEED + MODELS, GROUP):
            seeds = range(first, min(first + GROUP, FIRST_SEED + MODELS))
            self.models = {f"model_{seed}": random_models.RandomModel(seed) for seed in seeds}
            self.start_folder()
            (self.folder / "test_models.py").write_text(random_models.file_of_tests(list(self.models)))
            self.write_models(self.folder, 0)
            outcomes, _ = self.pytest("--xlatrace-update", PYTHONHASHSEED="1")
            self.assertEqual((len(outcomes), set(outcomes.values())), (len(seeds), {"passed"}), self.output)
            yield first

    def start_folder(self):
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def write_models(self, folder, rewrite):
        for name, model in self.models.items():
            (folder / f"{name}.py").write_text(model.source(rewrite))

    def failures(self, **options):
        outcomes, texts = self.pytest(**options)
        self.assertEqual(len(outcomes), len(self.models), self.output)
        return {test: texts[test] for test, outcome in outcomes.items() if outcome != "passed"}

    def test_rewritten_programs_pass(self):
        """Other names, order of functions, comments, folder and hash seed: 300 pairs in the long tier."""
        wrong, pairs = {}, 0
        for _ in self.groups():
            for rewrite in range(1, REWRITES + 1):
                folder = self.folder / f"copy {rewrite}" / "tests"
                shutil.copytree(self.folder, folder, ignore=shutil.ignore_patterns("copy *", "__pycache__"))
                self.write_models(folder, rewrite)
                for test, text in self.failures(folder=folder, PYTHONHASHSEED=str(rewrite + 1)).items():
                    wrong[rewrite, test] = text
                pairs += len(self.models)
        self.assertEqual((wrong, pairs), ({}, MODELS * REWRITES))

    @unittest.skipUnless(OTHERS, "XLATRACE_TEST_PYTHONS_JAX_OTHER is not set")
    def test_other_release_of_jax_is_named_and_can_be_accepted(self):
        baselines = self.folder / "__xlatrace__"
        for first in self.groups():
            shutil.copytree(baselines, self.folder / "kept")
            for python in OTHERS:
                with self.subTest(python=python, first=first):
                    shutil.rmtree(baselines)
                    shutil.copytree(self.folder / "kept", baselines)
                    for test, text in self.failures(python=python).items():
                        self.assertRegex(text, "(?m)^Cause: .*compiler")
                        self.assertRegex(text, r"(?m)^  jaxlib [\d.]+ -> [\d.]+")
                        self.assertIn("--xlatrace-accept-compiler", text)
                    outcomes, _ = self.pytest("--xlatrace-accept-compiler", python=python)
                    self.assertEqual(set(outcomes.values()), {"passed"}, self.output)
                    self.assertEqual(self.failures(python=python), {})


del PluginCase  # Its subclasses run where they are defined.

if __name__ == "__main__":
    unittest.main()
