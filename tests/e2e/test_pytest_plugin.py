# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: structural regressions fail the right test with the right line.

Environment beside support.py's:
  XLATRACE_TEST_PYTHON_PEOPLE  an interpreter with jax and pytest
"""

import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import textwrap
import unittest
import xml.etree.ElementTree

import support

sys.path.append(str(support.REPOSITORY / "tests" / "structure"))
import generator  # noqa: E402
import models  # noqa: E402
from test_python_api import package_folder  # noqa: E402

PYTHON = os.environ.get("XLATRACE_TEST_PYTHON_PEOPLE")
# Code generation takes most of the time. It has no effect on the HLO that the plugin compares.
FLAGS = "--xla_force_host_platform_device_count=2 --xla_backend_optimization_level=0"


class PluginCase(support.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not PYTHON:
            raise unittest.SkipTest("XLATRACE_TEST_PYTHON_PEOPLE is not set")
        cls.install = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-plugin-"))
        cls.addClassCleanup(shutil.rmtree, cls.install)
        cls.package = install(cls.install)

    def pytest(self, *arguments, folder=None, python=PYTHON, **environment):
        """(outcome per test, text of the failures)"""
        folder = folder or self.folder
        report = self.folder / "report.xml"
        report.unlink(missing_ok=True)
        done = support.run_command(
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={report}", *arguments],
            cwd=folder,
            timeout=4 * support.HANG_S,  # Up to 20 tests, each of which compiles.
            env=support.environment(
                PYTHONPATH=f"{self.package}:{folder}",
                XLATRACE_BIN=support.PROGRAM,
                JAX_PLATFORMS="cpu",
                **{"XLA_FLAGS": FLAGS, **environment},
            ),
        )
        self.output = done.stdout + done.stderr
        outcomes, texts = {}, {}
        if report.exists():
            for case in xml.etree.ElementTree.parse(report).iter("testcase"):
                name = f"{case.get('classname')}::{case.get('name')}"
                bad = [child for child in case if child.tag in ("failure", "error")]
                outcomes[name] = bad[0].tag if bad else "passed"
                texts[name] = bad[0].get("message") if bad else ""
        return outcomes, texts

    def write(self, name, text):
        """Tests in the text are named case_...: they are no tests of this module."""
        path = self.folder / name
        path.write_text(re.sub(r"\bcase_", "test_", textwrap.dedent(text)))
        return path


def install(folder):
    """The package of this build with its entry point, as pip would lay it out."""
    package = folder / "site"
    shutil.copytree(package_folder() / "xlatrace", package / "xlatrace")
    metadata = package / "xlatrace-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: xlatrace\nVersion: 0\n")
    (metadata / "entry_points.txt").write_text("[pytest11]\nxlatrace = xlatrace.pytest_plugin\n")
    return package


class Regressions(PluginCase):
    """Ten models with random names and sizes."""

    # Seeds of names and sizes.
    FIRST_SEED = int(os.environ.get("XLATRACE_TEST_STRUCTURE_SEED", "67"))
    SEEDS = range(FIRST_SEED, FIRST_SEED + (3 if support.LONG else 1))

    def write_models(self, seed):
        """Baselines of all models."""
        self.written = {model.name: generator.Written(model, seed) for model in models.MODELS}
        for name, written in self.written.items():
            file, text = generator.file_of_tests(name)
            self.write(file, text)
            (self.folder / f"{name}.py").write_text(written.source())
        outcomes, _ = self.pytest("--xlatrace-update")
        self.assertEqual(set(outcomes.values()), {"passed"}, self.output)
        self.assertEqual(len(outcomes), 2 * len(models.MODELS))

    def test_each_regression_fails_the_right_test_with_the_right_line(self):
        wrong = []
        for seed in self.SEEDS:
            self.write_models(seed)
            for round in range(3 if support.LONG else 1):
                wrong += self.wrong_of(round)
        self.assertEqual(wrong, [])

    def wrong_of(self, round):
        """One regression in each model: what did not fail as it must, or failed and must not."""
        wrong, wanted = [], {}
        for name, written in self.written.items():
            regression = written.model.regressions[round]
            (self.folder / f"{name}.py").write_text(written.source(regression))
            wanted[f"test_{name}::{generator.TEST_NAMES[regression.test]}"] = (regression, written)
        outcomes, texts = self.pytest()
        for test, outcome in outcomes.items():
            if test not in wanted:
                if outcome != "passed":
                    wrong.append((test, "must pass", texts[test]))
                continue
            regression, written = wanted[test]
            lines = re.findall(rf"{written.model.name}\.py:(\d+)", texts[test])
            if outcome != "failure" or lines[:1] != [str(written.line_of(regression))]:
                wrong.append((test, regression.name, written.line_of(regression), outcome, texts[test]))
        return wrong

    def test_unchanged_programs_pass(self):
        """One pair per model, and 300 pairs in the long tier."""
        self.write_models(self.FIRST_SEED)
        wrong = []
        for round in range(30 if support.LONG else 1):
            for name, written in self.written.items():
                (self.folder / f"{name}.py").write_text(written.unchanged(round))
            outcomes, texts = self.pytest()
            wrong += [(round, test, texts[test]) for test, outcome in outcomes.items() if outcome != "passed"]
            self.assertEqual(len(outcomes), 2 * len(models.MODELS), self.output)
        self.assertEqual(wrong, [])


class Checks(PluginCase):
    """Each figure, the decorator in all its places, baselines, and errors."""

    HEAD = """
        import functools
        import jax
        import jax.numpy as jnp
        import numpy as np
        import pytest
        import xlatrace as xt
    """

    def suite(self, text, *arguments, name="test_it.py", **environment):
        path = self.write(name, textwrap.dedent(self.HEAD) + textwrap.dedent(text))
        outcomes, texts = self.pytest(name, *arguments, **environment)
        lines = path.read_text().splitlines()
        failed = {}
        for test, outcome in outcomes.items():
            if outcome != "passed":
                named = re.findall(rf"{name}:(\d+)", texts[test])
                failed[test.rpartition("::")[2]] = [lines[int(n) - 1].strip() for n in named] or texts[test]
        self.assertTrue(outcomes, self.output)
        self.texts = {test.rpartition("::")[2]: text for test, text in texts.items()}
        return failed

    def test_figures_of_a_program_agree_with_its_text(self):
        failed = self.suite("""
            @jax.jit
            def step(x, y):
                z = x.astype(jnp.float32) @ y
                return jnp.sort(z.T, axis=0), z.sum()

            def case_figures(xlatrace):
                program = xlatrace.compile(step, jnp.ones((8, 16), jnp.bfloat16), jnp.ones((16, 4)))
                text = program.hlo
                assert program.upcasts == 1 and program.lowered.upcasts()[0].opcode == "convert"
                assert program.fusions == text.count(" fusion(")
                assert program.transposes == text.count(" transpose(")
                assert program.copies == text.count(" copy(")
                assert program.flops >= 2 * 8 * 16 * 4 and program.bytes > 0
                compiled = step.lower(jnp.ones((8, 16), jnp.bfloat16), jnp.ones((16, 4))).compile()
                stats = compiled.memory_analysis()
                assert program.peak_memory == (stats.argument_size_in_bytes + stats.output_size_in_bytes
                                               + stats.temp_size_in_bytes - stats.alias_size_in_bytes)
                assert program.flops == compiled.cost_analysis()["flops"]
                assert "FLOPs" in repr(program) and program.name == "step"

            def case_shapes_are_enough(xlatrace):
                shape = jax.ShapeDtypeStruct((4,), jnp.float32)
                assert xlatrace.compile(lambda x: x + 1, shape).kernels == 1

            def case_donation(xlatrace):
                step = jax.jit(lambda a, b: (a + 1, b.sum()), donate_argnums=0)
                assert xlatrace.compile(step, jnp.ones(8), jnp.ones(4)).donated == ["a"]

            def case_collectives(xlatrace):
                mesh = jax.sharding.Mesh(np.array(jax.devices()), ("i",))
                f = jax.shard_map(lambda x: jax.lax.psum(x, "i"), mesh=mesh,
                                  in_specs=jax.P("i"), out_specs=jax.P())
                assert xlatrace.compile(f, jnp.ones(4)).collectives == 1

            def case_callback(xlatrace):
                def f(x):
                    jax.debug.callback(lambda y: None, x)
                    return x
                assert xlatrace.compile(f, jnp.ones(4)).host_transfers == 1
        """)
        self.assertEqual(failed, {})

    def test_limits_fail_at_the_line(self):
        failed = self.suite("""
            def layer(x, w):
                y = x.astype(jnp.float32) @ w
                return y.T.at[0, 0].set(1)

            X, W = jnp.ones((8, 16), jnp.bfloat16), jnp.ones((16, 4))

            @xt.limits(upcasts=0)
            def plain(x, w):
                return layer(x, w)

            @xt.limits(upcasts=0)
            @jax.jit
            def jitted(x, w):
                return layer(x, w)

            def case_plain():
                plain(X, W)

            def case_jitted():
                jitted(X, W)

            def case_method(xlatrace):
                xlatrace.compile(layer, X, W).limits(upcasts=0)

            @xt.limits(upcasts=0)
            def case_whole():
                jax.jit(layer)(X, W)

            @xt.limits(upcasts=1, flops="1 GFLOP", peak_memory="1 MiB")
            def case_within():
                jax.jit(layer)(X, W)

            @xt.limits(peak_memory="1 kB")
            def case_memory():
                jax.jit(lambda x: x + 1)(jnp.ones(1000))

            class TestClass:
                @xt.limits(host_transfers=0)
                @pytest.mark.parametrize("n", [1, 2])
                def case_reads(self, n):
                    x = jnp.ones(n) + 1
                    assert np.asarray(x)[0] == 2
        """)
        upcast = ["y = x.astype(jnp.float32) @ w"]
        read = ["assert np.asarray(x)[0] == 2"]
        self.assertEqual(failed, {
            "test_plain": upcast, "test_jitted": upcast, "test_method": upcast, "test_whole": upcast,
            "test_memory": ["jax.jit(lambda x: x + 1)(jnp.ones(1000))"],
            "test_reads[1]": read, "test_reads[2]": read})  # fmt: skip

    def test_recompilations_do_not_depend_on_other_tests(self):
        text = """
            @jax.jit
            def step(x, n=1):
                return x * n

            limited = xt.limits(recompilations=0)(step)

            @xt.limits(recompilations=0)
            def case_one_shape():
                step(jnp.ones(3)); step(jnp.ones(3))

            @xt.limits(recompilations=0)
            def case_two_shapes():
                step(jnp.ones(3))
                step(jnp.ones(4))

            @xt.limits(recompilations=1)
            def case_two_shapes_allowed():
                step(jnp.ones(3))
                step(jnp.ones(4))

            @xt.limits(recompilations=0)
            def case_made_again():
                for _ in range(2):
                    jax.jit(lambda x: x + 1)(jnp.ones(3))

            @xt.limits(recompilations=0)
            def case_helpers_of_jax_do_not_count():
                for n in range(1, 4):
                    jnp.linalg.norm(jnp.ones(n)) + jnp.arange(n).mean()

            def case_function_one_shape():
                limited(jnp.ones(3)); limited(jnp.ones(3))

            def case_function_two_shapes():
                limited(jnp.ones(3))
                limited(jnp.ones(5))
        """
        wanted = {
            "test_two_shapes": ["step(jnp.ones(4))"],
            "test_made_again": ["jax.jit(lambda x: x + 1)(jnp.ones(3))"],
            "test_function_two_shapes": ["limited(jnp.ones(5))"],
        }
        self.assertEqual(self.suite(text), wanted)
        self.assertIn("f32[4]", self.texts["test_two_shapes"])
        for name, lines in list(wanted.items())[: None if support.LONG else 1]:
            self.assertEqual(self.suite(text, "-k", name), {name: lines})

    def test_baselines_are_written_on_request_and_compared(self):
        text = """
            def step(x):
                y = jnp.sin(x)
                return y * 2

            @pytest.mark.parametrize("n", [3, 4])
            def case_step(xlatrace, n):
                xlatrace.compile(step, jnp.ones(n)).same_as("main")
        """
        # There is none yet; then each parameter has its own.
        failed = self.suite(text)
        self.assertEqual(set(failed), {"test_step[3]", "test_step[4]"})
        self.assertIn("--xlatrace-update", self.texts["test_step[3]"])
        self.assertEqual(self.suite(text, "--xlatrace-update"), {})
        folder = self.folder / "__xlatrace__" / "test_it"
        self.assertEqual(len(list(folder.iterdir())), 4)
        self.assertEqual(self.suite(text), {})
        # The same programs give the same files.
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.suite(text, "--xlatrace-update")
        self.assertEqual({path.name: path.read_bytes() for path in folder.iterdir()}, before)
        # Other values of scalars, another name: no change. Another operation: its line.
        self.assertEqual(self.suite(re.sub(r"\by\b", "other", text.replace("y * 2", "y * 3"))), {})
        changed = text.replace("jnp.sin(x)", "jnp.sin(x) + jnp.sort(x)")
        failed = self.suite(changed)
        self.assertEqual(failed["test_step[3]"][0], "y = jnp.sin(x) + jnp.sort(x)")
        self.assertIn("sort", self.texts["test_step[3]"])
        self.assertEqual(self.suite(changed, "--xlatrace-update"), {})
        self.assertEqual(self.suite(changed), {})

    def test_changed_compiler_is_the_cause_and_can_be_accepted(self):
        text = """
            def step(x):
                return jnp.sin(x) @ x + jnp.tanh(x).sum()

            def case_step(xlatrace):
                xlatrace.compile(step, jnp.ones((64, 64)))
                xlatrace.same_as("main")
        """
        self.assertEqual(self.suite(text, "--xlatrace-update"), {})
        # As another release of the compiler would: the same input, another program.
        other = {"XLA_FLAGS": "--xla_disable_hlo_passes=fusion,cpu-instruction-fusion,fusion-wrapper "
                              "--xla_force_host_platform_device_count=2"}  # fmt: skip
        self.suite(text, **other)
        message = self.texts["test_step"]
        self.assertIn("XLA_FLAGS", message)
        self.assertIn("--xlatrace-accept-compiler", message)
        self.assertNotIn("test_it.py:10", message.partition("compiled")[0])
        self.assertEqual(self.suite(text, "--xlatrace-accept-compiler", **other), {})
        self.assertEqual(self.suite(text, **other), {})
        # A change of the code is not accepted so.
        changed = text.replace("jnp.sin(x) @ x", "jnp.sort(x) @ x")
        failed = self.suite(changed, "--xlatrace-accept-compiler", **other)
        self.assertEqual(set(failed), {"test_step"})

    def test_a_damaged_baseline_is_an_error_with_its_path(self):
        text = """
            def case_step(xlatrace):
                xlatrace.compile(lambda x: x + 1, jnp.ones(3)).same_as()
        """
        self.suite(text, "--xlatrace-update")
        (archive,) = self.folder.rglob("*.zip")
        content = archive.read_bytes()
        damages = [content[:60] + b"\0" * 40 + content[100:], b"", content[:40], content[:-30]]
        for damaged in damages[: None if support.LONG else 1]:
            archive.write_bytes(damaged)
            self.assertEqual(set(self.suite(text)), {"test_step"})
            self.assertIn("__xlatrace__", self.texts["test_step"])
        archive.write_bytes(content)
        self.assertEqual(self.suite(text), {})

    def test_mistakes_are_clear_errors(self):
        failed = self.suite("""
            def error(call, *words):
                with pytest.raises((TypeError, xt.XlatraceError)) as caught:
                    call()
                assert all(word in str(caught.value) for word in words), caught.value

            def case_names():
                error(lambda: xt.limits(fusion=3), "fusion", "fusions")
                error(lambda: xt.limits(peak_memory="3 apples"), "3 apples")
                error(lambda: xt.limits(fusions=-1), "fusions")
                error(lambda: xt.limits(), "limits")

            def case_inside_of_jit():
                f = jax.jit(xt.limits(fusions=3)(lambda x: x + 1))
                error(lambda: f(jnp.ones(3)), "@jax.jit")

            def case_nothing_compiled(xlatrace):
                error(lambda: xlatrace.same_as("main"), "xlatrace.compile")
                error(lambda: xlatrace.compile(jnp.sin, 1.0).same_as("a/b"), "a/b")

            @xt.limits(recompilations=0)
            def case_raises():
                with pytest.raises(ValueError):
                    raise ValueError

            def case_numpy_is_as_before():
                assert np.asarray.__module__ == "numpy" and type(jnp.ones(1))._value.fget.__module__ != "xlatrace.jax_events"
        """)
        self.assertEqual(failed, {})

    def test_without_jax_only_tests_that_need_it_fail(self):
        self.write("jax.py", "raise ImportError('no jax here')\n")
        self.write("test_it.py", """
            import xlatrace
            def case_other(): pass
            def case_fixture(xlatrace): xlatrace.compile(len, 1)
            @xlatrace.limits(recompilations=0)
            def case_limits(): pass
        """)
        outcomes, texts = self.pytest()
        self.assertEqual(outcomes, {"test_it::test_other": "passed", "test_it::test_fixture": "failure",
                                    "test_it::test_limits": "failure"})  # fmt: skip
        for name in ("fixture", "limits"):
            self.assertRegex(texts[f"test_it::test_{name}"], r"hint: .*\bjax\b")

    def test_suite_that_does_not_use_it_loads_no_jax(self):
        self.write("test_it.py", """
            import sys
            def case_other():
                loaded = set(sys.modules)
                assert not {"jax", "numpy", "xlatrace.programs", "xlatrace.jax_events"} & loaded
        """)
        outcomes, texts = self.pytest()
        self.assertEqual(outcomes, {"test_it::test_other": "passed"}, texts)


class Targets(support.TestCase):
    SCRIPT = """
        import json, sys
        import jax, jax.numpy as jnp
        import xlatrace

        def step(w, x):
            return jnp.tanh(x @ w).sum()

        shapes = [jax.ShapeDtypeStruct(s, jnp.float32) for s in ((128, 128), (64, 128))]
        try:
            program = xlatrace.compile(jax.jit(step), *shapes, target=sys.argv[1])
            lines = {program.frame_of(i).line for i in program.instructions_of("fusions")}
            print(json.dumps([program.fusions, program.hlo.count(" fusion("), sorted(lines)]))
        except xlatrace.XlatraceError as error:
            print(json.dumps(str(error)))
    """

    def result(self, interpreter, target):
        script = self.folder / "compile.py"
        script.write_text(textwrap.dedent(self.SCRIPT))
        done = support.run_command(
            [interpreter, script, target],
            env=support.environment(
                PYTHONPATH=str(package_folder()), XLATRACE_BIN=support.PROGRAM, JAX_PLATFORMS="cpu"
            ),
        )
        self.assertEqual(done.code, 0, done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def test_gpu_that_is_absent_can_be_a_target(self):
        interpreter = os.environ.get("XLATRACE_TEST_PYTHON_JAX_CUDA")
        if not interpreter:
            self.skipTest("XLATRACE_TEST_PYTHON_JAX_CUDA is not set")
        target = support.REPOSITORY / "tests" / "planted" / "h100.txtpb"
        fusions, in_text, lines = self.result(interpreter, str(target))
        self.assertGreater(fusions, 0)
        self.assertEqual(fusions, in_text)
        self.assertEqual(lines, [7])

    def test_target_without_its_plugin_is_an_error_with_the_package(self):
        if not support.PYTHON_JAX:
            self.skipTest("XLATRACE_TEST_PYTHON_JAX is not set")
        self.assertIn("libtpu", self.result(support.PYTHON_JAX, "v5e:2x2"))
        self.assertIn("v5e:2x2", self.result(support.PYTHON_JAX, "h100"))


if __name__ == "__main__":
    unittest.main()
