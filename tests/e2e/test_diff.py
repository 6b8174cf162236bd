# SPDX-License-Identifier: Apache-2.0
"""`diff` and `gate` on recordings of other people, and on runs of JAX that differ as planned."""

import collections
import contextlib
import itertools
import json
import pathlib
import re
import shutil
import statistics
import tempfile
import unittest

import kept_runs
import page_reader
import support
import tiers
import test_page_data

CAPTURES = [
    "xplane/jax08_elementwise.xplane.pb",
    "xplane/jax08_gemm.xplane.pb",
    "xplane/jax_conv_minimal.xplane.pb",
    "xplane/tpu_v6e_jit_f_4chips.xplane.pb",
    "kineto/h100_bert-small.json.gz",
    "kineto/mi300_bert-small.json.gz",
    "kineto/hta_alexnet.json.gz",
    "kineto/hta_sampled_rank0.json.gz",
    "nsys/h100_2gpu_1s.sqlite",
    "nsys/mfu_2gpu_before.sqlite",
    "nsys/mfu_2gpu_after.sqlite",
    "own/jax-cpu/train-20steps-notracer-py.xplane.pb.xz",
    "captures/nsys-jax-maxtext-fsdp4-h100",
    "captures/nsys-jax-pax-fsdp4-a100",
]
BEFORE, AFTER = "nsys/mfu_2gpu_before.sqlite", "nsys/mfu_2gpu_after.sqlite"
FIRST_TIER = [CAPTURES[0], CAPTURES[1], BEFORE, AFTER, CAPTURES[-1]]


def ok(*arguments, code=0):
    result = support.run(*arguments)
    if result.code != code:
        raise AssertionError(str(result))
    return result.stdout


def diff(base, new, *options):
    return json.loads(ok("diff", base, new, "--format", "json", *options))


def side_sum(comparison, key):
    return sum(row[key] for row in comparison["rows"])


class Pairs(support.TestCase):
    """Properties that hold for any two runs."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        captures = CAPTURES if tiers.IS_LONG else FIRST_TIER
        cls.run_of = {relative: kept_runs.imported_run(relative) for relative in captures}
        cls.runs = list(cls.run_of.values())

    def test_host_time_of_a_launch_is_the_recorded_median(self):
        name, medians = "cudaLaunchKernel_v7000", []
        for relative in ("nsys/mfu_2gpu_before.sqlite", "nsys/mfu_2gpu_after.sqlite"):
            with contextlib.closing(support.open_database(support.require_data(relative))) as raw:
                rows = raw.execute(
                    "SELECT r.end - r.start FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = r.nameId"
                    " WHERE s.value = ?", (name,)).fetchall()
            medians.append(statistics.median_high(ns for ns, in rows))
        before, now = self.run_of[BEFORE], self.run_of[AFTER]
        said = " ".join(ok("diff", before, now).split())
        factor = r"\b([\d.]+)x\b[^()]*\(" + name
        found = re.search(factor + r": ([\d.]+) us -> ([\d.]+) us\)", said)
        self.assertIsNotNone(found, said[:800])
        self.assertAlmostEqual(float(found[1]), medians[1] / medians[0], delta=0.006)
        for text, ns in zip(found.groups()[1:], medians):
            self.assertAlmostEqual(float(text), ns / 1e3, delta=0.006)
        # With the runs swapped the host gets faster.
        faster = re.search(factor, " ".join(ok("diff", now, before).split()))
        self.assertAlmostEqual(float(faster[1]), medians[0] / medians[1], delta=0.006)

    def test_a_run_against_itself_is_the_same_recording(self):
        verdicts = set()
        for run in self.runs:
            with self.subTest(run=run.name):
                comparison = diff(run, run)
                self.assertTrue(comparison["same_recording"])
                verdicts.add(comparison["verdict"])
                self.assertEqual({row["change_ns"] for row in comparison["rows"]} - {0}, set())
                self.assertEqual({row["level"] for row in comparison["rows"]} - {"fingerprint", "name", "scope", "kernel"}, set())
        self.assert_golden_text("\n".join(verdicts))

    def test_the_same_trace_imported_twice_is_the_same_recording(self):
        source = support.require_data(CAPTURES[1])
        again = self.folder / "again.db"
        ok("import", source, "-o", again)
        self.assertTrue(diff(self.run_of[CAPTURES[1]], again)["same_recording"])

    def test_rows_sum_to_the_totals_and_swap_with_runs(self):
        self.assertGreaterEqual(len(self.runs), 10 if tiers.IS_LONG else len(FIRST_TIER))
        for a, b in itertools.combinations(self.runs, 2):
            with self.subTest(a=a.name, b=b.name):
                there, back = diff(a, b), diff(b, a)
                self.assertEqual(side_sum(there, "base_ns"), there["base"]["device_ns"])
                self.assertEqual(side_sum(there, "new_ns"), there["new"]["device_ns"])
                forth = sorted((row["base_ns"], row["new_ns"]) for row in there["rows"])
                turned = sorted((row["new_ns"], row["base_ns"]) for row in back["rows"])
                self.assertEqual(forth, turned)
                self.assertEqual(
                    side_sum(there, "change_ns"),
                    there["new"]["device_ns"] - there["base"]["device_ns"],
                )

    def test_groupings_sum_to_the_same(self):
        a, b = self.run_of[BEFORE], self.run_of[AFTER]
        for by in ("phase", "layer", "op_kind", "source", "kernel", "module"):
            comparison = diff(a, b, "--by", by)
            for key, side in (("base_ns", "base"), ("new_ns", "new")):
                self.assertEqual(
                    sum(group[key] for group in comparison["groups"]),
                    comparison[side]["device_ns"],
                    by,
                )

    def test_text_fits_the_terminal(self):
        for a, b in ((self.run_of[BEFORE], self.run_of[AFTER]), (self.runs[0], self.runs[1])):
            for width in (80, 120):
                lines = ok("diff", a, b, "--width", str(width)).splitlines()
                self.assertLessEqual(len(lines), 45)
                for line in lines:
                    self.assertLessEqual(len(line), width, line)

    def test_runs_of_other_devices_are_rejected(self):
        comparison = diff(self.run_of[CAPTURES[0]], self.run_of[CAPTURES[-1]])
        self.assertFalse(comparison["comparable"])
        self.assertEqual(len(comparison["refusals"]), 2)
        self.assert_golden_text(comparison["verdict"])
        self.assertEqual(comparison["changes"], [])
        result = support.run("gate", self.run_of[CAPTURES[0]], self.run_of[CAPTURES[-1]])
        self.assertEqual(result.code, 4, str(result))

    def test_text_of_the_gate_fits_the_terminal(self):
        for width in (80, 120):
            result = support.run(
                "gate", self.run_of[BEFORE], self.run_of[AFTER], env=support.environment(COLUMNS=str(width))
            )
            lines = result.stdout.splitlines()
            self.assertGreater(max(map(len, lines)), 70)
            self.assertLessEqual(max(map(len, lines)), width, result.stdout)


def module_text(program, layers):
    """HLO text of a chain of `layers` ops; scopes and names of instructions identify the program."""
    shape = "f32[64,64]"
    kinds = ("tanh", "exponential", "negate", "cosine", "sine", "floor")
    lines = ["HloModule jit_step", "", f"ENTRY %main (p: {shape}) -> {shape} {{",
             f"  %p = {shape}{{1,0}} parameter(0)"]  # fmt: skip
    before = "p"
    for n in range(layers):
        root = "ROOT " if n == layers - 1 else ""
        kind = kinds[(n * n + program) % len(kinds)]
        lines.append(
            f"  {root}%p{program}.{n} = {shape}{{1,0}} {kind}({shape}{{1,0}} %{before}),"
            f' metadata={{op_name="jit(step)/program_{program}/layer_{n}/{kind}"}}'
        )
        before = f"p{program}.{n}"
    return "\n".join([*lines, "}", ""])


class DumpFolders(support.TestCase):
    """Two dump folders without a run."""

    def folder_of(self, name, programs):
        """`programs`: (program, layers), in the order of the module numbers."""
        folder = self.folder / name
        folder.mkdir()
        for number, (program, layers) in enumerate(programs, 1):
            path = folder / f"module_{number:04d}.jit_step.sm_9.0_gpu_after_optimizations.txt"
            path.write_text(module_text(program, layers))
        return folder

    def test_programs_of_one_name_are_paired_by_content(self):
        # Each has two additional ops on the other side, so programs of equal size differ. Their number
        # exceeds the limit of a first comparison.
        base = self.folder_of("base", [(n, 12 + n) for n in range(9)])
        new = self.folder_of("new", [(n, 14 + n) for n in reversed(range(9))])
        modules = diff(base, new)["modules"]
        self.assertEqual(len(modules), 9)
        for module in modules:
            group = module["groups"][0]
            self.assertEqual(group["base"][0].split(".")[0], group["new"][0].split(".")[0])
            self.assertGreater(module["similarity"], 0.85)

    def test_order_of_programs_does_not_matter(self):
        programs = [(n, 12 + n % 3) for n in range(9)]
        base = self.folder_of("base", programs)
        new = self.folder_of("new", programs[::-1])
        self.assertTrue(all(module["same_program"] for module in diff(base, new)["modules"]))
        self.assert_golden_text(ok("diff", base, new))

    def test_programs_without_counterpart_are_counted(self):
        programs = [(n, 12 + n) for n in range(6)]
        base = self.folder_of("base", programs)
        new = self.folder_of("new", [(n, layers + 1) for n, layers in programs[1:]])
        self.assert_golden_text(ok("diff", base, new))
        there, back = diff(base, new), diff(new, base)

        def pairs(comparison, ours, theirs):
            return sorted(
                (module["similarity"], sorted(
                    (group[ours], group[theirs]) for group in module["groups"]))
                for module in comparison["modules"]
            )

        self.assertEqual(pairs(there, "base", "new"), pairs(back, "new", "base"))

    def test_a_run_is_not_compared_with_a_dump(self):
        run = self.folder / "a run.db"
        ok("import", support.require_data(CAPTURES[1]), "-o", run)
        dump = self.folder_of("dump", [(1, 12)])
        messages = ""
        for pair in ((run.name, dump.name), (dump.name, run.name)):
            result = self.run_program("diff", *pair)
            self.assertEqual(result.code, 2, str(result))
            self.assertEqual((len(result.errors), len(result.hints)), (1, 1), result)
            messages += result.stderr
        self.assert_golden_text(messages)


class AfterAChange(support.TestCase):
    """A synthetic training run and the same run after a change, in `show` and in the page."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        support.require_program()
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-change-"))
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        for name, options in (("before", []), ("after", ["--after"])):
            (cls.place / name).mkdir()
            test_page_data.big_run(cls.place / name, 15_000, *options)
        cls.before, cls.after = cls.place / "before/run.db", cls.place / "after/run.db"
        cls.comparison = diff(cls.before, cls.after)

    def test_show_puts_both_sides_beside_each_other(self):
        row = next(row for row in self.comparison["rows"] if row["base"] and row["new"] and row["causes"])
        handle = row["new"][0]["handle"]
        text = ok("show", handle, self.after, "--base", self.before, "--width", "120")
        self.assertIn(row["causes"][0]["text"], text)
        self.assertIn(f"base {row['base'][0]['handle']} {row['base'][0]['instruction']}", text)
        self.assertIn(f"new  {handle} {row['new'][0]['instruction']}", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 120)
        result = self.run_program(
            "show", "o99999", "after/run.db", "--base", "before/run.db", cwd=self.place)
        self.assertNotEqual(result.code, 0)
        self.assert_golden_text(result.stderr)

    def test_the_page_holds_the_same_comparison(self):
        page = test_page_data.report(self.after, "--base", self.before)
        meta = page.meta["base"]["compare"]
        self.assertEqual(page_reader.in_ascii(meta["verdict"]), self.comparison["verdict"])
        self.assertEqual(page_reader.in_ascii(meta["noise"]), self.comparison["noise"])
        self.assertEqual(
            [(row["name"], row["base_ns"], row["new_ns"]) for row in page.rows("compare_rows")],
            [(row["name"], row["base_ns"], row["new_ns"]) for row in self.comparison["rows"]])
        self.assertEqual(
            [(page_reader.in_ascii(change["text"]), change["change_ns"]) for change in page.rows("compare_changes")],
            [(change["text"], change["change_ns"]) for change in self.comparison["changes"]])
        # Every op of the page that took time is in one row.
        timed = {r for r, op in enumerate(page.rows("ops")) if op["ns"] and op["handle"]}
        held = [row["op"] for row in page.rows("compare_ops") if row["op"] is not None]
        self.assertEqual(len(held), len(set(held)))
        self.assertEqual(timed - set(held), set())
        sums = collections.Counter()
        for group in page.rows("compare_groups"):
            sums[group["by"]] += group["new_ns"]
        self.assertEqual(set(sums.values()), {self.comparison["new"]["device_ns"]})
        self.assertEqual(len(sums), 6)


class Dumps(support.TestCase):
    def test_two_releases_are_compared_without_a_run(self):
        folders = []
        for release in ("0.4.30", "0.10.2"):
            archive = support.require_data(f"own/jax-eras/jax-{release}-dumps.tar.xz")
            place = self.folder / release
            shutil.unpack_archive(archive, place)
            folders.append(next(place.glob("*/raw")))
        text = ok("diff", *folders)
        self.assert_golden_text(text)
        comparison = json.loads(ok("diff", *folders, "--format", "json"))
        self.assertFalse(comparison["measured"])
        module = comparison["modules"][0]
        self.assertGreater(module["similarity"], 0.9)
        self.assert_golden_text(ok("diff", folders[0], folders[0]))


class Usage(support.TestCase):
    def test_missing_or_invalid_arguments_are_usage_errors(self):
        for arguments in (("diff", "a.db"), ("gate", "a.db"), ("gate", "a.db", "b.db", "--max-regress", "x")):
            result = self.run_program(*arguments)
            self.assertEqual(result.code, 2, str(result))
            self.assertEqual(len(result.hints), 1)


if __name__ == "__main__":
    unittest.main()
