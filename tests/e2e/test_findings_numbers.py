# SPDX-License-Identifier: Apache-2.0
"""Numbers of findings are those of `show` and of the views, and every table adds up.

On public recordings: sums over ops in a finding equal the rows of the ops, and savings fit the step. The
rows of `summary --by` sum to the device time, to the nanosecond."""

import collections
import json
import re
import unittest

import kept_runs
import support
import tiers

CAPTURES = [
    "captures/nsys-jax-maxtext-fsdp4-h100",
    "kineto/h100_bert-small.json.gz",
    "nsys/h100_2gpu_1s.sqlite",
    "nsys/mfu_2gpu_after.sqlite",
    "xplane/jax08_elementwise.xplane.pb",
    "xplane/jax08_gemm.xplane.pb",
    "xplane/jax_conv_minimal.xplane.pb",
    "xplane/tpu_v6e_jit_f_4chips.xplane.pb",
]
GROUPINGS = ["op", "phase", "layer", "scope", "source", "kernel", "op_kind", "origin", "module",
             "step", "device", "rank"]  # fmt: skip


def time_of_one_op(evidence):
    """The item that is the time of one op: the first, or the one behind a sum over ops (the largest of
    them). None where a finding is about no op."""
    item = evidence[0]
    if item.get("handles") and len(evidence) > 1:
        item = evidence[1]
    return item if item["unit"] == "ns" and item["handle"] is not None else None


def ok(*arguments):
    result = support.run(*arguments)
    if result.code != 0:
        raise AssertionError(str(result))
    return result.stdout


class Runs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.require_program()
        # Three kinds of sources in the first tier: Nsight, XPlane of a GPU, XPlane of TPUs.
        captures = CAPTURES if tiers.IS_LONG else [CAPTURES[0], CAPTURES[5], CAPTURES[7]]
        cls.runs = {relative: kept_runs.imported_run(relative) for relative in captures}

    def each(self):
        return self.runs.values()

    def query(self, run, sql):
        rows = json.loads(ok("query", run, sql, "--format", "json"))
        return rows["rows"] if isinstance(rows, dict) else rows

    def test_sums_over_ops_equal_their_rows(self):
        sums = 0
        for run in self.each():
            steady = self.query(run, "SELECT count(*) AS n FROM step WHERE typical")[0]["n"]
            ops = {
                # Without steps: of the whole run, of all devices, as its tables are.
                row["handle"]: row["steady_ns"] // steady if steady else row["self_ns"]
                for row in self.query(run, "SELECT handle, steady_ns, self_ns FROM op_time")
            }
            for row in self.query(run, "SELECT handle, evidence FROM finding"):
                for item in json.loads(row["evidence"]):
                    if item["unit"] != "ns" or not item.get("handles"):
                        continue
                    sums += 1
                    told = sum(ops[handle] for handle in item["handles"])
                    self.assertEqual(told, item["value"], f"{row['handle']}: {item['text']}")
        self.assertGreater(sums, 2)

    def test_evidence_of_an_op_equals_its_sheet(self):
        checked = 0
        for run in self.each():
            for row in self.query(run, "SELECT handle, where_op, evidence FROM finding"):
                evidence = json.loads(row["evidence"])
                of_time = time_of_one_op(evidence)
                for item in evidence:
                    if item["handle"] is None:
                        continue
                    sheet = json.loads(ok("show", item["handle"], run, "--format", "json"))
                    named = [finding["handle"] for finding in sheet["findings"]]
                    self.assertIn(row["handle"], named, item)
                    if item is of_time:
                        checked += row["where_op"] == sheet["op"]["instruction"]
                        expected = sheet["op"]["steady_ns_per_step"]
                        if expected is None:  # No steps: of the whole run, of all devices.
                            expected = sheet["op"]["self_ns"]
                        self.assertEqual(expected, item["value"], item)
        self.assertGreater(checked, 2)

    def test_the_flop_rate_is_that_of_the_programs_that_ran(self):
        """The first screen sums over instructions; a program has its own figure, of one execution."""
        captures = dict(self.runs)
        pax = "captures/nsys-jax-pax-fsdp4-a100"
        captures[pax] = kept_runs.imported_run(pax)
        told = 0
        for capture, run in captures.items():
            page = kept_runs.page_of(run)
            shown = re.search(r"<dd>[^<]*<small>([\d.]+) TFLOP/s\b", page.read_text())
            if shown is None:
                continue
            told += 1
            steps = self.query(run, "SELECT sum(end_ns - start_ns) AS ns FROM step WHERE typical")[0]
            flops = self.query(
                run,
                "SELECT sum(m.flops) AS n FROM execution e JOIN module m USING (module_id) JOIN step s"
                " ON s.device_id = e.device_id AND s.typical AND e.start_ns >= s.start_ns"
                " AND e.start_ns < s.end_ns")[0]["n"]  # fmt: skip
            rate = flops / steps["ns"] / 1e3
            self.assertAlmostEqual(float(shown[1]) / rate, 1, delta=0.004, msg=f"{capture}: {rate}")
        self.assertEqual(told, 3)

    def test_nested_thunk_of_the_same_name_is_one_call(self):
        """In the tables of nsys-jax a product of a slice is two ranges, one in the other."""
        run = self.runs["captures/nsys-jax-maxtext-fsdp4-h100"]
        nested = collections.Counter()
        around = {}  # Lane and instruction -> end of the last activity that contains others.
        for row in self.query(
                run,
                "SELECT device_id, stream_id, module_id, instruction, end_ns, duration_ns, self_ns FROM"
                " activity WHERE instruction IS NOT NULL ORDER BY start_ns, duration_ns DESC,"
                " self_ns"):  # fmt: skip
            op = (row["module_id"], row["instruction"])
            lane = (row["device_id"], row["stream_id"], *op)
            if row["end_ns"] <= around.get(lane, -1):
                nested[op] += 1
            elif row["self_ns"] < row["duration_ns"]:
                around[lane] = row["end_ns"]
        self.assertGreater(len(nested), 3)
        rows = json.loads(ok("summary", run, "--top", "9999", "--format", "json"))
        calls = {row["instruction"]: row for row in rows["table"]["rows"]}
        for (module_id, instruction), n in nested.items():
            facts = self.query(
                run,
                "SELECT occurrences, self_ns, steady_ns, average_ns, (SELECT count(*) FROM activity a"
                " WHERE a.module_id = o.module_id AND a.instruction = o.instruction) AS n FROM op_time o"
                f" WHERE module_id = {module_id} AND instruction = '{instruction}'")[0]
            self.assertEqual(facts["occurrences"] + n, facts["n"])
            self.assertEqual(facts["average_ns"], facts["self_ns"] // facts["occurrences"])
            shown = calls[instruction]
            self.assertAlmostEqual(
                shown["ns"] / shown["calls"] / facts["average_ns"], 1, delta=0.05, msg=instruction)

    def test_shares_of_the_step_and_waits_equal_the_views(self):
        for run in self.each():
            steps = self.query(
                run, "SELECT count(*) AS n, sum(end_ns - start_ns) AS ns FROM step WHERE typical")[0]
            if not steps["n"]:
                continue
            step = steps["ns"] // steps["n"]
            parts = {
                row["part"]: row["ns"] // steps["n"]
                for row in self.query(
                    run,
                    "SELECT p.part, sum(p.wall_ns) AS ns FROM step_part p JOIN step s"
                    " ON s.device_id = p.device_id AND s.step = p.step WHERE s.typical GROUP BY 1")
            }  # fmt: skip
            shares = 0
            for row in self.query(run, "SELECT * FROM finding"):
                evidence = json.loads(row["evidence"])
                times = [item["value"] for item in evidence if item["unit"] == "ns"]
                percent = [item["value"] for item in evidence if item["unit"] == "%"]
                if percent:  # The first of them is the share of the first time in the step.
                    shares += 1
                    self.assertAlmostEqual(percent[0], 100 * times[0] / step, delta=0.006 * percent[0])
                if row["id"] == "copy_in_step":
                    self.assertIn(parts["exposed_copy"], times)
                if row["id"] == "exposed_collective":
                    # A collective that the step's end cuts in two counts whole.
                    self.assertAlmostEqual(times[1], parts["exposed_collective"], delta=0.02 * step)
            self.assertGreater(shares, 0, run)

    def test_savings_are_within_the_step_and_their_bounds_in_order(self):
        for run in self.each():
            step = self.query(
                run, "SELECT sum(end_ns - start_ns) / max(count(*), 1) AS ns FROM step"
                " WHERE steady")[0]["ns"]  # fmt: skip
            rows = self.query(run, "SELECT * FROM finding ORDER BY rank")
            weights = []
            for row in rows:
                high, low = row["saves_high_ns_per_step"], row["saves_low_ns_per_step"]
                if high is None:
                    continue
                self.assertLessEqual(high, step, row["title"])
                self.assertGreaterEqual(high, 0.01 * step * 0.999, row["title"])
                self.assertLessEqual(low or 0, high, row["title"])
                if row["id"] == "arrival_skew":
                    # Equal devices do not wait in collectives. That is all there is to save.
                    wait = self.query(
                        run,
                        "SELECT sum(min(c.exposed_ns, c.wait_ns)) / (SELECT count(*) FROM step WHERE typical)"
                        " AS ns FROM collective c JOIN activity a USING (activity_id) JOIN step s ON"
                        " s.device_id = a.device_id AND s.typical AND a.start_ns >= s.start_ns"
                        " AND a.start_ns < s.end_ns")[0]["ns"]  # fmt: skip
                    self.assertLessEqual(high, wait, row["title"])
                self.assertIn(row["basis"], ("replay", "measured", "roofline", "cost_model"))
                self.assertEqual(row["basis"] == "replay", row["replay_error_pct"] is not None)
                weights.append(high * {"high": 1, "medium": 0.8, "low": 0.5}[row["confidence"]])
            self.assertEqual(weights, sorted(weights, reverse=True))
            for row in self.query(run, "SELECT * FROM ruled_out"):
                self.assertIn(row["verdict"], ("fine", "withheld"))
                self.assertTrue(row["text"])

    def test_the_first_handle_is_the_largest_op_of_a_step(self):
        for run in self.each():
            rows = self.query(
                run, "SELECT handle, steady_ns, self_ns FROM op_time WHERE handle IS NOT NULL")
            by_number = sorted(rows, key=lambda row: int(row["handle"][1:]))
            self.assertEqual([row["handle"] for row in by_number],
                             [f"o{k + 1}" for k in range(len(rows))])  # fmt: skip
            order = [(row["steady_ns"], row["self_ns"]) for row in by_number]
            self.assertEqual(order, sorted(order, reverse=True))

    def test_every_grouping_adds_up_to_the_device_time(self):
        for run in self.each():
            steady = self.query(run, "SELECT count(*) AS n FROM step WHERE typical")[0]["n"]
            all_ns = self.query(
                run,
                "SELECT sum(device_ns) AS ns FROM step WHERE typical" if steady
                else "SELECT sum(self_ns) AS ns FROM activity")[0]["ns"]  # fmt: skip
            # Steps are wall time; all others split the device time of the steady ones.
            walls = self.query(run, "SELECT sum(end_ns - start_ns) / count(*) AS ns FROM step"
                               " GROUP BY step")  # fmt: skip
            for by in GROUPINGS:
                device = sum(row["ns"] for row in walls) if by == "step" else all_ns
                table = json.loads(ok("summary", run, "--by", by, "--format", "json"))["table"]
                ns = sum(row["ns"] for row in table["rows"]) + table["others"]["ns"]
                self.assertEqual((run.name, by, ns), (run.name, by, device))
                short = ok("summary", run, "--by", by, "--format", "json", "--top", "5")
                self.assertLessEqual(len(short.encode()), 4096, by)
                table = json.loads(short)["table"]
                self.assertLessEqual(len(table["rows"]), 5)
                ns = sum(row["ns"] for row in table["rows"]) + table["others"]["ns"]
                self.assertEqual((run.name, by, ns), (run.name, by, device))

    def test_step_differs_in_the_part_with_the_largest_difference(self):
        run = self.runs[CAPTURES[0]]
        rows = self.query(
            run, "SELECT p.step, p.part, sum(p.wall_ns) AS ns, min(s.typical) AS steady,"
            " count(*) AS devices FROM step_part p JOIN step s ON s.device_id = p.device_id"
            " AND s.step = p.step GROUP BY p.step, p.part")  # fmt: skip
        steady = [row for row in rows if row["steady"]]
        count = len({row["step"] for row in steady})
        mean = {}
        for row in steady:
            mean[row["part"]] = mean.get(row["part"], 0) + row["ns"] / row["devices"] / count
        table = json.loads(ok("summary", run, "--by", "step", "--format", "json"))["table"]
        for row in table["rows"]:
            more = {p["part"]: p["ns"] / p["devices"] - mean[p["part"]]
                    for p in rows if p["step"] == row["step"]}  # fmt: skip
            part = max(more, key=lambda name: abs(more[name]))
            self.assertEqual((row["step"], row["differs_in"]), (row["step"], part))
            self.assertAlmostEqual(row["differs_ns"], more[part], delta=3)

    def test_time_of_a_phase_is_the_same_in_every_grouping(self):
        run = self.runs[CAPTURES[0]]
        phases = json.loads(ok("summary", run, "--format", "json"))["phases"]
        ops = self.query(run, "SELECT count(*) AS n FROM op_time")[0]["n"]
        for row in phases:
            if row["ns"] == 0 or row["phase"] == "unknown":
                continue
            sums = set()
            for by in ("op", "layer", "source", "op_kind", "module", "phase"):
                table = json.loads(ok("summary", run, "--by", by, "--phase", row["phase"],
                                      "--format", "json"))["table"]  # fmt: skip
                sums.add(sum(r["ns"] for r in table["rows"]) + table["others"]["ns"])
            self.assertEqual(len(sums), 1, row["phase"])
            # Phases of single steps are rounded by themselves.
            self.assertAlmostEqual(sums.pop(), row["ns"], delta=ops)

    def test_every_grouping_fits_the_terminal(self):
        for run in self.each():
            for by in GROUPINGS:
                for columns in (80, 100, 160):
                    text = ok("summary", run, "--by", by, "--width", str(columns))
                    lines = text.splitlines()
                    self.assertLessEqual(len(lines), 45, by)
                    self.assertLessEqual(max(len(line) for line in lines), columns, by)
                    self.assertNotIn("\x1b", text)


if __name__ == "__main__":
    unittest.main()
