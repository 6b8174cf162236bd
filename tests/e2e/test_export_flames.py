# SPDX-License-Identifier: Apache-2.0
"""`export --to pprof`, `folded` and `speedscope`: stacks whose times are the run's device time."""

import json
import os
import pathlib
import re
import shutil
import unittest

import export_support
from export_support import query
import support
import tiers


def raw_samples(text):
    """(values, labels) of `pprof -raw`."""
    samples = []
    body = text.split("Samples:", 1)[1].split("Locations", 1)[0]
    for line in body.splitlines():
        match = re.match(r"\s+(\d+)\s+(\d+):", line)
        if match:
            samples.append(((int(match[1]), int(match[2])), {}))
        elif samples:
            samples[-1][1].update(dict(re.findall(r"(\w+):\[([^\]]*)\]", line)))
    return samples


PHASES = "forward loss backward recompute optimizer other unknown".split()
SCHEMA = """
import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
check = jsonschema.validators.validator_for(schema)(schema)
print(json.dumps([f"{f}: {e.message}" for f in sys.argv[2:]
                  for e in check.iter_errors(json.load(open(f)))]))
"""


def speedscope_page():
    place = os.environ.get("XLATRACE_TEST_SPEEDSCOPE")
    if not place:
        raise unittest.SkipTest("XLATRACE_TEST_SPEEDSCOPE is not set")
    return pathlib.Path(place)


def nanoseconds(text):
    """Nanoseconds of "12.34ms (46%)", as speedscope's page writes times; "1:02.50" is minutes."""
    number, unit = re.match(r"([\d.:]+)([nµm]?s)?", text).groups()
    if ":" in number:
        minutes, seconds = number.split(":")
        return (60 * float(minutes) + float(seconds)) * 1e9
    return float(number) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]


class PprofTest(export_support.ExportTest):
    def pprof(self, *arguments):
        result = support.run_command([export_support.pprof_program(), *arguments])
        self.assertEqual(result.code, 0, result)
        return result.stdout

    def test_totals_and_phases_equal_the_run(self):
        for name, run in self.runs():
            with self.subTest(run=name):
                samples = raw_samples(self.pprof("-raw", self.export(run, "pprof")))
                wanted = query(
                    run, "SELECT count(duration_ns), coalesce(sum(self_ns), 0) FROM activity"
                )[0]
                self.assertEqual(
                    (sum(v[0] for v, _ in samples), sum(v[1] for v, _ in samples)), wanted
                )
                phases = {}
                for (_, ns), labels in samples:
                    phases[labels["phase"]] = phases.get(labels["phase"], 0) + ns
                self.assertEqual(
                    {phase: ns for phase, ns in phases.items() if ns},
                    dict(
                        query(
                            run,
                            "SELECT phase, sum(self_ns) FROM scope_time GROUP BY phase"
                            " HAVING sum(self_ns) > 0",
                        )
                    ),
                )

    def test_difference_of_equal_runs_is_empty(self):
        run = self.our_run()
        profile = self.export(run, "pprof")
        again = self.export(run, "pprof", output=self.folder / "again.pb.gz")
        self.assertEqual(profile.read_bytes(), again.read_bytes())
        text = self.pprof("-top", "-diff_base", profile, again)
        self.assertIn("accounting for 0, 0% of", text)

    def test_source_lines_have_the_times_of_the_run(self):
        text = self.pprof("-lines", "-top", self.export(self.our_run(), "pprof"))
        self.assertIn("/home/user/model.py:210", text)


class SelectionTest(export_support.ExportTest):
    def total(self, run, *arguments):
        out = self.export(run, "folded", "--force", *arguments)
        return sum(int(line.rsplit(" ", 1)[1]) for line in out.read_text().splitlines())

    def test_steps_and_devices_choose_launches(self):
        run = self.our_run(20_000)
        sql = "SELECT sum(self_ns) FROM activity WHERE step BETWEEN {} AND {}"
        last = query(run, "SELECT max(step) FROM step")[0][0]
        self.assertGreater(last, 3)
        for words, first, end in (("1:3", 1, 2), ("2:3", 2, 2), ("2:", 2, last), (":2", 0, 1)):
            self.assertEqual(
                self.total(run, "--steps", words), query(run, sql.format(first, end))[0][0], words
            )
        self.assertEqual(
            self.total(run, "--device", "1"),
            query(run, "SELECT sum(self_ns) FROM activity WHERE device_id = 1")[0][0],
        )

    def test_invalid_step_ranges_are_rejected(self):
        run, messages = self.our_run(), ""
        for words in ("2", "2:2", "3:2", "-1:2", ":", "1:2:3", ":0"):
            result = self.run_program("export", run.name, "--to", "folded", "-o", self.folder / "out", "--steps", words,
                                      cwd=run.parent)
            self.assertEqual((result.code, len(result.errors)), (2, 1), result)
            messages += result.stderr
        self.assert_golden_text(messages)

    def test_missing_steps_and_devices_are_refused_with_the_existing_ones(self):
        run, messages = self.our_run(), ""
        for words in (("--steps", "700:800"), ("--steps", "b:a"), ("--device", "77")):
            result = self.run_program("export", run.name, "--to", "folded", "-o", self.folder / "out", *words, cwd=run.parent)
            self.assertEqual((result.code, len(result.hints)), (2, 1), result)
            messages += result.stderr
            self.assertEqual(list(self.folder.iterdir()), [])
        self.assert_golden_text(messages)


class StackTest(export_support.ExportTest):
    def test_folded_lines_sum_to_device_time(self):
        for name, run in self.runs():
            with self.subTest(run=name):
                lines = self.export(run, "folded").read_text().splitlines()
                self.assertEqual(
                    sum(int(line.rsplit(" ", 1)[1]) for line in lines),
                    query(run, "SELECT sum(self_ns) FROM activity")[0][0],
                )
                self.assertTrue(all(line.count(";") >= 1 for line in lines))

    def test_op_name_gives_the_frames_of_a_stack(self):
        lines = self.export(self.our_run(), "folded").read_text().splitlines()
        stacks = {line.rsplit(" ", 1)[0] for line in lines}
        self.assertTrue(
            any(
                stack.startswith(
                    "forward;jit_train_step;jit(train_step);jit(main);jvp(Transformer);decoder;"
                    "layer_0;attention;query;dot_general;cublas-gemm."
                )
                for stack in stacks
            ),
            sorted(stacks)[:5],
        )

    def test_export_satisfies_the_schema_of_speedscope(self):
        files = [self.export(run, "speedscope") for _, run in self.runs()]
        problems = export_support.run_python(
            "HTA", SCHEMA, speedscope_page() / "file-format-schema.json", *files
        )
        self.assertEqual(problems, [])

    @tiers.long_tier
    def test_speedscopes_page_shows_the_times_of_the_run(self):
        page = speedscope_page()
        if not (shutil.which("chromium") or shutil.which("chromium-browser")):
            raise unittest.SkipTest("there is no chromium")
        runs = list(self.runs())
        result = support.run_command(
            [
                export_support.python_with("BROWSER"),
                pathlib.Path(__file__).with_name("export_browser.py"),
                page,
                *[self.export(run, "speedscope") for _, run in runs],
            ],
            timeout=1500,
        )
        self.assertEqual(result.code, 0, result)
        for (name, run), shown in zip(runs, json.loads(result.stdout), strict=True):
            with self.subTest(run=name):
                self.assertEqual(shown["problems"], [])
                # It shows one process at a time, the first one first.
                process = query(run, "SELECT min(process_id) FROM activity WHERE self_ns > 0")[0][0]
                wanted = query(
                    run,
                    "SELECT phase, sum(self_ns) FROM activity WHERE process_id = ?"
                    " GROUP BY 1 HAVING sum(self_ns) > 0".replace("?", str(process)),
                )
                totals = {}
                for row in shown["rows"]:
                    cells = [part.strip() for part in row.split("\t")]
                    if len(cells) != 3 or not cells[0][:1].isdigit():
                        continue  # Its list of processes, and the head of the table.
                    total, _, symbol = cells
                    totals.setdefault(symbol.splitlines()[0], nanoseconds(total))
                # A fusion is split over the phases inside it, so phases agree in sum.
                shown_ns = sum(totals.get(phase, 0) for phase in PHASES)
                whole = sum(ns for _, ns in wanted)
                self.assertLess(abs(shown_ns - whole), 0.03 * whole, totals)

    def test_speedscope_profiles_are_complete(self):
        for name, run in self.runs():
            with self.subTest(run=name):
                document = json.loads(self.export(run, "speedscope").read_text())
                frames = document["shared"]["frames"]
                total = 0
                for profile in document["profiles"]:
                    self.assertEqual(profile["type"], "sampled")
                    self.assertEqual(len(profile["samples"]), len(profile["weights"]))
                    self.assertEqual(sum(profile["weights"]), profile["endValue"])
                    # The page, unlike the schema, does not take an index of no frame.
                    self.assertTrue(
                        all(0 <= i < len(frames) for sample in profile["samples"] for i in sample)
                    )
                    total += profile["endValue"]
                self.assertEqual(total, query(run, "SELECT sum(self_ns) FROM activity")[0][0])


if __name__ == "__main__":
    unittest.main()
