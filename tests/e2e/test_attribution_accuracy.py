# SPDX-License-Identifier: Apache-2.0
"""The bars of the attribution on recorded captures whose truth is known (docs/development/accuracy.md).

No exact label is wrong, for any part that is removed from a capture."""

import json
import os
import sqlite3
import subprocess
import unittest

import support

PROGRAM = os.environ.get("XLATRACE_ACCURACY")


def score(name, file, modules="", simulate=False):
    path = support.require_data(file)
    if not PROGRAM:
        raise unittest.SkipTest("XLATRACE_ACCURACY is not set")
    argument = f"{name}={path}"
    if modules:
        argument += f",{support.require_data(modules)}"
    command = [PROGRAM, "--json", *(["--simulate"] if simulate else []), argument]
    output = subprocess.run(command, capture_output=True, text=True, check=False)
    # 1 where a string of the truth is left, or an invariant of the tables does not hold.
    if output.returncode != 0:
        raise AssertionError(output.stderr)
    return {row["grade"]: row for row in json.loads(output.stdout)}


class Accuracy(unittest.TestCase):
    def check(self, grades):
        for grade, row in grades.items():
            with self.subTest(grade=grade):
                self.assertGreater(row["told_ns"], 0)
                self.assertEqual(row["wrong_exact_ns"], 0)
                self.assertLessEqual(row["unknown_ns"], 0.005 * row["told_ns"])
        annotated = grades["annotated"]
        self.assertGreaterEqual(annotated["right_exact_ns"], 0.99 * annotated["told_ns"])

    def check_stripped(self, row, exact):
        right = row["right_exact_ns"] + row["right_inferred_ns"]
        self.assertGreaterEqual(right, 0.97 * row["told_ns"])
        self.assertGreaterEqual(row["right_exact_ns"], exact * row["told_ns"])

    def check_training(self, folder):
        grades = score(
            "training",
            f"captures/{folder}/derived/nvtx_gpu_proj_trace.csv.xz",
            f"captures/{folder}/dump",
            simulate=True,
        )
        self.check(grades)
        # Optimised HLO is all that these dumps hold: 60 % is the bar for what is known for sure.
        for grade in (
            "no instruction",
            "no annotations",
            "no annotations, no launch order",
            "no annotations, 1 % dropped",
        ):
            with self.subTest(grade=grade):
                self.check_stripped(grades[grade], 0.6)
        # HLO of another run is inferred, however well it agrees.
        for grade in ("another process's dump", "dump of another run with other ids"):
            with self.subTest(grade=grade):
                self.check_stripped(grades[grade], 0)
        self.check_annotations(grades)

    def check_annotations(self, grades):
        """Launches with hints of the source need no HLO."""
        for grade in ("annotations only", "annotations, half of the modules"):
            if grade not in grades:  # A single module cannot be halved.
                continue
            with self.subTest(grade=grade):
                self.assertEqual(grades[grade]["right_exact_ns"], grades[grade]["told_ns"])

    def test_labels_of_maxtext_equal_the_truth(self):
        self.check_training("nsys-jax-maxtext-fsdp4-h100")

    def test_labels_of_pax_equal_the_truth(self):
        self.check_training("nsys-jax-pax-fsdp4-a100/proc0")

    def test_labels_of_gpu_profiles_equal_the_truth(self):
        for name in ("jax08_elementwise", "jax08_gemm", "jax_conv_minimal"):
            with self.subTest(profile=name):
                grades = score(name, f"xplane/{name}.xplane.pb")
                self.check(grades)
                self.check_annotations(grades)
                self.check_stripped(grades["no instruction"], 0.6)

    def test_labels_of_a_tpu_profile_equal_the_truth(self):
        grades = score("tpu", "xplane/tpu_v6e_jit_f_4chips.xplane.pb")
        self.check(grades)
        self.check_annotations(grades)


class OpNames(support.TestCase):
    """Every thunk range whose module has a dump gets its instruction, and that a name that helps."""

    def check(self, capture):
        database = self.folder / "run.db"
        self.run_program("import", support.require_data(capture), "-o", database)
        with sqlite3.connect(database) as run:
            # Named by its hlo_op, and the module was dumped.
            (missed,) = run.execute(
                "SELECT count(*) FROM activity WHERE instruction IS NULL"
                " AND unattributed_reason NOT IN ('not_xla', 'autotuning', 'no_module')"
            ).fetchone()
            time, deep = run.execute(
                "SELECT sum(self_ns), sum(CASE WHEN op_name LIKE '%(%)/%' THEN self_ns END)"
                " FROM activity WHERE confidence = 'exact' AND program_id IS NOT NULL"
            ).fetchone()
        self.assertEqual(missed, 0)
        self.assertGreater(time, 0)
        self.assertGreaterEqual(deep, 0.99 * time)

    def test_op_names_of_maxtext_equal_the_truth(self):
        self.check("captures/nsys-jax-maxtext-fsdp4-h100")

    def test_op_names_of_pax_equal_the_truth(self):
        self.check("captures/nsys-jax-pax-fsdp4-a100/proc0")


if __name__ == "__main__":
    unittest.main()
