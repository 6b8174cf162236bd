# SPDX-License-Identifier: Apache-2.0
"""The program in an odd folder: a blank, letters beyond ASCII, and the program's own name in the path.

Installation, inputs and outputs lie in it. The part odd_folder of scripts/long runs all tests in such a
checkout."""

import json
import pathlib
import shlex
import shutil
import sys
import unittest

import export_support
import gpu_support
import support
from test_export_share_safe import FORMATS, leaks, strings_of

BUILD = pathlib.Path(support.PROGRAM).resolve().parents[1] if support.PROGRAM else pathlib.Path("/")
STEP = """HloModule jit_step, is_scheduled=true

ENTRY %main (p: f32[4]) -> f32[4] {{
  %p = f32[4]{{0}} parameter(0)
  ROOT %{name}.2 = f32[4]{{0}} {name}(%p), metadata={{op_name="jit(step)/{name}" source_file="{source}" source_line=3}}
}}
"""


class OddFolderTest(export_support.ExportTest):
    def setUp(self):
        super().setUp()
        self.place = self.folder / "od d Ünï" / "xlatrace"
        for name in ("bin", "share"):
            shutil.copytree(BUILD / name, self.place / "prefix" / name)
        self.program = self.place / "prefix" / "bin" / "xlatrace"
        self.work = self.place / "my run"
        self.work.mkdir()
        self.source = self.work / "train.py"

    def odd(self, *arguments, code=0, env=None):
        """Standard output of the copied program, called in the odd folder."""
        result = support.run_command([self.program, *arguments], cwd=self.work, env=env)
        self.assertEqual(result.code, code, result)
        return result.stdout

    def imported(self, name="run.db", executions=3):
        """A run whose sources lie in the odd folder."""
        ops = [(op, opcode, op_name, str(self.source), line) for op, opcode, op_name, _, line in support.OPS]
        profile = self.work / f"{name}.xplane.pb"
        profile.write_bytes(support.xspace("jit_step", ops, executions=executions))
        self.odd("import", profile, "-o", name)
        return self.work / name

    def rows(self, run, sql):
        return json.loads(self.odd("query", run, sql, "--format", "json"))["rows"]

    def test_run_is_imported_read_reported_and_merged(self):
        run = self.imported()
        self.imported("slower.db", executions=4)
        self.assertEqual(
            self.rows(run, "SELECT DISTINCT source_file, source_line FROM instruction WHERE source_line > 0"),
            [{"source_file": str(self.source), "source_line": line} for line in (12, 13)],
        )
        self.assertIn("train.py", self.odd("summary", "run.db"))
        shown = json.loads(self.odd("show", "dot.1", "run.db", "--format", "json"))
        self.assertEqual(shown["op"]["source_file"], str(self.source))
        self.odd("report", run)
        self.assertIn("<html", (self.work / "run.html").read_text(encoding="utf-8"))
        self.odd("report", run, "--base", "slower.db", "-o", self.work / "a b.html")
        self.assertTrue((self.work / "a b.html").exists())
        self.odd("diff", "run.db", "slower.db")
        self.odd("what-if", run, "--without", "dot.1")
        self.odd("merge", self.work / "run.db", self.work / "slower.db", "-o", self.work / "job 1.db")
        self.assertEqual(self.rows("job 1.db", "SELECT count(*) AS n FROM process"), [{"n": 2}])

    def test_share_safe_exports_hold_no_folder_of_the_run(self):
        run = self.imported()
        reference, places = {}, {}
        for to in FORMATS:
            self.odd("export", run, "--to", to, "-o", self.work / f"open.{to}")
            places[to] = self.work / f"shared.{to}"
            self.odd("export", run, "--to", to, "--share-safe", "-o", places[to])
            reference[to] = self.export(self.our_run(), to, "--share-safe", output=self.folder / f"made.{to}")
        wanted = strings_of(run)
        self.assertLessEqual({"xlatrace", "train.py", str(self.source)}, wanted)
        self.assertEqual(leaks(places, wanted, reference), [])
        found = {name for _, name in leaks({"csv": self.work / "open.csv"}, wanted, reference)}
        self.assertLessEqual({"train.py", str(self.source)}, found)

    def test_dump_folder_is_read(self):
        dump = self.work / "dump 1"
        dump.mkdir()
        for stage, name in (("before_optimizations", "sine"), ("sm_9.0_gpu_after_optimizations", "cosine")):
            text = STEP.format(name=name, source=self.source)
            (dump / f"module_0003.jit_step.{stage}.txt").write_text(text, encoding="utf-8")
        self.assertIn("jit_step", self.odd("modules", dump))
        self.assertIn("cosine.2", self.odd("find", "train.py:3", "dump 1"))
        self.assertIn("jit_step", self.odd("explain", *sorted(dump.iterdir())))

    def test_python_api_and_hook_are_found(self):
        run = self.imported()
        script = "import sys, xlatrace; print(xlatrace.program()); print(len(xlatrace.open(sys.argv[1]).op_time()))"
        package = self.place / "prefix" / "share" / "xlatrace" / "python"
        result = support.run_command(
            [sys.executable, "-c", script, run], env=support.environment(PYTHONPATH=str(package)))
        self.assertEqual((result.code, result.stdout), (0, f"{self.program}\n2\n"), result)
        # The hook is loaded into a program without a framework, too.
        self.source.write_text("import sys; print('sitecustomize' in sys.modules, sys.path[0])\n", encoding="utf-8")
        result = support.run_command(
            [self.program, "record", "-o", "hook.db", "--", sys.executable, self.source],
            cwd=self.work, env=support.environment(XLATRACE_FORCE_COLLECTOR="0"))
        self.assertEqual((result.code, result.stdout), (0, f"True {self.work}\n"), result)

    def test_program_on_a_gpu_is_recorded(self):
        gpu_support.require_gpu()
        shutil.copytree(gpu_support.library_folder(), self.place / "prefix" / "lib")
        libraries = self.place / "fake gpu"
        libraries.mkdir()
        for name in ("libcuda.so.1", "libcupti.so.13", "fake_workload"):
            shutil.copy(pathlib.Path(gpu_support.FAKE_GPU) / name, libraries)
        env = {k: v for k, v in support.environment().items() if not gpu_support.JOB_VARIABLES.match(k)}
        env.update(LD_LIBRARY_PATH=str(libraries), TMPDIR=str(self.folder))
        workload = [libraries / "fake_workload", "-e", "launch a x 5; sync"]
        result = support.run_command([self.program, "record", "--", *workload], cwd=self.work, env=env)
        self.assertEqual(result.code, 0, result)
        self.assertEqual(gpu_support.scalar(self.work / "run.db", "SELECT count(*) FROM launch"), 5)
        shell = f"LD_PRELOAD=$({shlex.quote(str(self.program))} lib) {shlex.join(map(str, workload))}"
        by_hand = self.work / "by hand"
        by_hand.mkdir()
        result = support.run_command(["sh", "-c", shell], cwd=by_hand, env=env)
        self.assertEqual(result.code, 0, result)
        self.odd("summary", by_hand / "run.db")
        self.assertEqual(gpu_support.scalar(by_hand / "run.db", "SELECT count(*) FROM launch"), 5)
        doctor = support.run_command([self.program, "doctor", "--format", "json"], cwd=self.work, env=env)
        (preload,) = [check for check in json.loads(doctor.stdout)["checks"] if check["check"] == "preload"]
        self.assertEqual(preload["state"], "ok", preload)


if __name__ == "__main__":
    unittest.main()
