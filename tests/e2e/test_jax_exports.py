# SPDX-License-Identifier: Apache-2.0
"""`export` of real JAX runs with CUDA graphs, given to who reads them: XLA's compiler (pgle) and XProf.

The programs run on the fake GPU (tests/fake_gpu), through JAX's real CUDA plugin. The plugin compiles them
again for the same sm_90 with the exported profile.

Environment: as test_jax_on_fake_gpu.py; XLATRACE_TEST_PYTHON_XPROF for the tests of XProf.
"""

import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

import support
import tiers
from export_support import query, run_python
from test_export_xla import OP_PROFILE

RIG_FOLDER = support.REPOSITORY / "tests" / "fake_gpu" / "jax"
sys.path.insert(0, str(RIG_FOLDER))

import rig

PRELOAD = os.environ.get("XLATRACE_PRELOAD")
LATENCY_HIDING = "--xla_gpu_enable_latency_hiding_scheduler=true"


class JaxExportTest(support.TestCase):
    program = "plain_step"
    devices = 1

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not PRELOAD or not os.path.exists(PRELOAD):
            raise unittest.SkipTest("XLATRACE_PRELOAD is not set or not there")
        try:
            cls.rig = rig.Rig()
        except rig.Missing as missing:
            raise unittest.SkipTest(str(missing)) from None
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-jax-exports-"))
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        process = cls.rig.run(
            f"{cls.program}.py",
            devices=cls.devices,
            preload=PRELOAD,
            cwd=cls.place,
            xla_flags=f"{LATENCY_HIDING} --xla_dump_to={cls.place / 'dump'} --xla_dump_hlo_as_proto",
        )
        assert process.returncode == 0, process.stderr[-4000:]
        cls.run_db = cls.place / "run.db"
        result = support.run("summary", cls.run_db, cwd=cls.place)
        assert result.code == 0, result
        assert query(cls.run_db, "SELECT count(*) FROM activity WHERE graph_id IS NOT NULL")[0][0]

    def compile_with(self, profile):
        """Whether XLA accepts the profile for the step, for which it needs each name, and its messages."""
        process = self.rig.run(
            f"{self.program}.py",
            devices=self.devices,
            cwd=self.folder,
            xla_flags=f"{LATENCY_HIDING} --xla_gpu_pgle_profile_file_or_directory_path={profile}"
            " --xla_gpu_pgle_accuracy_checker=PGLE_STRICTNESS_LEVEL_ERROR",
            more={"TF_CPP_MIN_LOG_LEVEL": "0"},
        )
        return process.returncode == 0, process.stderr

    def export(self, run, to, *arguments, output):
        result = support.run("export", run, "--to", to, "-o", output, *arguments, cwd=self.folder)
        self.assertEqual(result.code, 0, result)
        return result


FIGURES = [(r" \d[\d,]* ", " # ")]


class PgleTest(JaxExportTest):
    def check_taken(self, taken, log, profile):
        self.assertTrue(taken, log[-3000:])
        # XLA prints nothing about a file that it cannot read, so its message proves that it read the file.
        self.assertIn(f"Using PGLE profile from {profile}", log)
        self.assertIn("Found profile for module jit_train_step", log)

    def test_xla_uses_the_pgle_file_and_reports_missing_names(self):
        profile = self.folder / "profile"
        result = self.export(self.run_db, "pgle", output=profile)
        (text,) = profile.glob("*.pbtxt")
        self.assertIn(str(text), result.stderr)  # Without a fingerprint the file has to be named.
        self.check_taken(*self.compile_with(text), text)
        self.check_taken(*self.compile_with(text.with_suffix(".pb")), text.with_suffix(".pb"))

        costs = text.read_text().splitlines(keepends=True)
        dearest = max(costs, key=lambda line: float(re.search(r"cost_us: (\S+)", line)[1]))
        costs.remove(dearest)
        lacking = self.folder / "lacking.pbtxt"
        lacking.write_text("".join(costs))
        taken, log = self.compile_with(lacking)
        self.assertFalse(taken)
        self.assertIn("Found 1 missing instructions", log)
        self.assertIn(re.search(r'name: "([^"]+)"', dearest)[1], log)

    def test_a_folder_is_found_by_the_fingerprint_of_a_dump(self):
        run = self.folder / "with_dump.db"
        shutil.copy(self.run_db, run)
        result = support.run("attach", run, "--modules", self.place / "dump", cwd=self.folder)
        self.assertEqual(result.code, 0, result)
        profile = self.folder / "profile"
        self.export(run, "pgle", output=profile)
        fingerprints = set()
        for file in (self.place / "dump").glob("*jit_train_step*after_optimizations.hlo.pb"):
            fingerprints.update(
                re.findall(rb"fingerprint_before_lhs\x12.([0-9a-f]{32})", file.read_bytes())
            )
        self.assertEqual(
            {file.stem for file in profile.glob("*.pbtxt")}, {f.decode() for f in fingerprints}
        )
        self.check_taken(*self.compile_with(profile), next(profile.glob("*.pbtxt")))


@tiers.long_tier
class PgleOfCollectivesTest(PgleTest):
    """Asynchronous pairs: the start of a collective has its cost."""

    program = "data_parallel"
    devices = 2


@tiers.long_tier
class XprofTest(JaxExportTest):
    def test_op_profile_shows_the_kernels_of_graphs(self):
        exported = self.folder / "exported.xplane.pb"
        # XLA gives a recorder HLO as text; XProf needs the proto of a dump.
        told = self.export(self.run_db, "xplane", output=self.folder / "text.xplane.pb")
        self.assert_golden_text(told.stderr, masks=FIGURES)
        run = self.folder / "with_dump.db"
        shutil.copy(self.run_db, run)
        result = support.run("attach", run, "--modules", self.place / "dump", cwd=self.folder)
        self.assertEqual(result.code, 0, result)
        self.assert_golden_text(self.export(run, "xplane", output=exported).stderr, masks=FIGURES)
        profile = self.folder / "profile"
        process = self.rig.run(
            "profiled.py", profile, RIG_FOLDER / "plain_step.py", tap=False, xla_flags=LATENCY_HIDING
        )
        self.assertEqual(process.returncode, 0, process.stderr[-4000:])
        (original,) = profile.rglob("*.xplane.pb")
        imported = self.folder / "original.db"
        result = support.run("import", original, "-o", imported, cwd=self.folder)
        self.assertEqual(result.code, 0, result)

        ours, theirs = run_python("XPROF", OP_PROFILE, exported, original)

        def step_ns(programs):
            return sum(ps for name, ps in programs.items() if "train_step" in name) / 1e3

        wanted = query(
            self.run_db,
            "SELECT sum(self_ns) FROM activity WHERE module = 'jit_train_step'"
            " AND instruction IS NOT NULL",
        )[0][0]
        self.assertEqual(round(step_ns(ours)), wanted)
        # On the original the kernels of graphs are idle time.
        kernels = query(imported, "SELECT sum(self_ns) FROM activity WHERE kind = 'kernel'")[0][0]
        self.assertLess(step_ns(theirs), 0.5 * kernels)


del JaxExportTest  # Not a test of its own.

if __name__ == "__main__":
    unittest.main()
