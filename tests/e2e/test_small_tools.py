# SPDX-License-Identifier: Apache-2.0
"""Commands on runs, dumps and folders of a few rows that a test writes itself, as test_small_traces.py."""

import contextlib
import json
import re
import sqlite3
import unittest

import support


def hlo(module, *lines):
    """A scheduled module whose entry is these lines behind its parameter p."""
    return (f"HloModule {module}, is_scheduled=true\n\nENTRY main {{\n  p = f32[8]{{0}} parameter(0)\n"
            + "".join(f"  {line}\n" for line in lines) + "}\n")


CHAIN = ("first = f32[8]{0} negate(p)", "second = f32[8]{0} cosine(p)", "ROOT third = f32[8]{0} add(first, second)")


def xprof(*runs):
    """A trace of one GPU. Each run: module and (instruction, microseconds) in the order of their launches."""
    events = [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
        {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "Stream #1(Compute)"}},
        {"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "/host:CPU"}},
    ]
    at, correlation = 0, 0
    for run, (module, launches) in enumerate(runs, 1):
        for instruction, lasts in launches:
            at, correlation = at + 10, correlation + 1
            details = {"kernel_details": "regs:32 grid:8,1,1 block:64,1,1", "hlo_op": instruction, "hlo_module": module,
                       "program_id": str(sum(module.encode())), "run_id": str(run), "correlation_id": str(correlation)}
            events.append({"ph": "X", "pid": 2, "tid": 3, "ts": at, "dur": 2, "name": "cuLaunchKernel",
                           "args": {"correlation_id": str(correlation)}})
            at += 5
            events.append({"ph": "X", "pid": 1, "tid": 1, "ts": at, "dur": lasts, "name": instruction, "args": details})
            at += lasts
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events})


class SmallTools(support.TestCase):
    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def run_of(self, trace, modules=(), name="run"):
        """run.db of a trace and of module texts by name."""
        run = self.folder / f"{name}.db"
        trace = self.write(f"{name}.trace.json" if isinstance(trace, str) else f"{name}.xplane.pb", trace)
        texts = [self.write(f"modules/{module}.hlo.txt", text) for module, text in modules]
        self.ok("import", trace, *(["--modules", *texts] if texts else []), "-o", run)
        return run

    def call(self, *arguments, code=0):
        result = self.run_program(*arguments)
        self.assertEqual(result.code, code, str(result))
        return result

    def ok(self, *arguments, code=0):
        return self.call(*arguments, code=code).stdout

    # gate

    def steps(self, name, step_ns, ops=tuple(support.OPS)):
        return self.run_of(support.xspace("jit_step", ops, executions=12, step_ns=step_ns), name=name)

    def test_gate_accepts_a_limit_in_percent(self):
        # Steps of 1 ms, and of 1.2 ms.
        base = [self.steps(f"base{i}", 1_000_000 + 1000 * i) for i in range(4)]
        new = [self.steps(f"new{i}", 1_200_000 + 1000 * i) for i in range(4)]
        for limit, code in (("5%", 3), ("0.05", 3), ("30%", 0), ("0.3", 0)):
            with self.subTest(limit):
                self.ok("gate", *base, "--max-regress", limit, "--", *new, code=code)

    def test_gate_a_run_is_not_compared_with_itself(self):
        for i in range(2):
            self.ok("gate", self.steps(f"run{i}", 1_000_000 + 1000 * i), "--baseline", self.folder / "perf")
        self.assert_golden_text(self.ok("gate", self.folder / "run1.db", "--baseline", self.folder / "perf"))

    def test_gate_runs_accepted_together_are_the_new_base(self):
        perf = self.folder / "perf"
        more = (*support.OPS, ("neg.3", "negate", "jit(step)/neg", "/a/model.py", 14))  # A launch a step more.
        self.ok("gate", self.steps("base", 1_000_000), "--baseline", perf)
        new = [self.steps(f"new{i}", 1_000_000 + 1000 * i, more) for i in range(2)]
        self.ok("gate", *new, "--baseline", perf, code=3)
        self.ok("gate", *new, "--baseline", perf, "--accept", "worth it")
        records = [json.loads(line) for line in (perf / "baseline.jsonl").read_text().splitlines()]
        self.assertEqual([record.get("accepted") for record in records], [None, "worth it", None])
        self.assert_golden_text(self.ok("gate", self.steps("next", 1_002_000, more), "--baseline", perf))

    def test_gate_accepts_a_run_that_the_baseline_contains(self):
        perf = self.folder / "perf"
        more = (*support.OPS, ("neg.3", "negate", "jit(step)/neg", "/a/model.py", 14))
        new = [self.steps(f"new{i}", 1_000_000 + 1000 * i, more) for i in range(2)]
        self.ok("gate", new[1], "--baseline", perf)
        self.ok("gate", self.steps("base", 1_000_000), "--baseline", perf, "--accept", "less", code=0)
        # A launch more than in what was accepted last; one of them was in the file before.
        (perf / "baseline.jsonl").write_text("".join(
            json.dumps(json.loads(line) | ({"accepted": "less"} if i else {})) + "\n"
            for i, line in enumerate((perf / "baseline.jsonl").read_text().splitlines())))
        self.ok("gate", *new, "--baseline", perf, "--accept", "worth it")
        self.assert_golden_text(self.ok("gate", self.steps("next", 1_002_000, more), "--baseline", perf))

    # show --sequence

    def test_show_sequence_of_a_complete_execution(self):
        whole = [("first", 3), ("second", 3), ("third", 3)]
        trace = xprof(("jit_f", whole[:1]), ("jit_f", whole), ("jit_f", whole))
        run = self.run_of(trace, [("jit_f", hlo("jit_f", *CHAIN))])
        self.assert_golden_text(self.ok("show", "jit_f", run, "--sequence"))

    def test_show_sequence_without_thunks_that_may_leave_no_record(self):
        # Numbers of the device are written by the host, or by nothing at all.
        module = hlo("jit_f", "first = f32[8]{0} negate(p)", "number = u32[] partition-id()", "ROOT third = f32[8]{0} add(first, p)")
        run = self.run_of(xprof(("jit_f", [("first", 3), ("third", 3)])), [("jit_f", module)])
        self.assert_golden_text(self.ok("show", "jit_f", run, "--sequence"))

    # find

    def test_find_sorts_equal_names_by_time(self):
        took = {"jit_f": 4, "jit_g": 30, "jit_h": 12}
        modules = [(name, hlo(name, *CHAIN).replace("f32[8]", f"f32[{lasts}]")) for name, lasts in took.items()]
        runs = ((name, [("first", 1), ("second", lasts), ("third", 1)]) for name, lasts in took.items())
        run = self.run_of(xprof(*runs), modules)
        said = self.ok("find", "second", run, "--in", "name", "--format", "json")
        found = [hit["device_ns"] for hit in json.loads(said)["hits"]]
        self.assertEqual(found, [30_000, 12_000, 4_000])

    # import

    def test_import_of_a_log_folder_takes_its_newest_session(self):
        sessions = {"2026_01_31_10_00_00": "jit_old", "2026_02_01_09_00_00": "jit_new", "2026_01_02_11_00_00": "jit_oldest"}
        for session, module in sessions.items():
            self.write(f"log/plugins/profile/{session}/host.xplane.pb", support.xspace(module, support.OPS))
        result = self.call("import", self.folder / "log", "-o", self.folder / "run.db")
        (left,) = support.query(self.folder / "run.db", "SELECT advice FROM run_stat WHERE name = 'input_left_out'")
        self.assertEqual(re.findall(r"\d+", left["advice"]), ["2"], result)  # The older sessions.
        names = support.query(self.folder / "run.db", "SELECT name FROM module")
        self.assertEqual([row["name"] for row in names], ["jit_new"])

    # what-if

    def test_recomputation_memory_counts_only_values_that_ran(self):
        again = 'metadata={op_name="jit(f)/transpose(jvp(layer_0))/checkpoint/rematted_computation/tanh"}'
        back = 'metadata={op_name="jit(f)/transpose(jvp(layer_0))/mul"}'
        module = hlo("jit_f", f"ran = f32[1000]{{0}} broadcast(p), {again}", f"idle = f32[4000]{{0}} broadcast(p), {again}",
                     f"ROOT out = f32[1000]{{0}} multiply(ran, ran), {back}")
        run = self.run_of(xprof(("jit_f", [("ran", 3), ("out", 3)])), [("jit_f", module)])
        # 1000 numbers of four bytes.
        self.assert_golden_text("\n".join(json.loads(self.ok("what-if", run, "--no-recompute", "--format", "json"))["changes"]))

    # passes

    def test_passes_reports_a_removed_opcode(self):
        copies = hlo("jit_f", "c1 = f32[8]{0} copy(p)", "c2 = f32[8]{0} copy(c1)", "ROOT third = f32[8]{0} negate(c2)")
        for rest, text in (
            ("before_optimizations", copies),
            ("0001.tidy.after_pipeline-start.before_copy-removal", copies),
            ("0002.tidy.after_copy-removal.before_pipeline-end", hlo("jit_f", "ROOT third = f32[8]{0} negate(p)")),
        ):
            self.write(f"dump/module_0001.jit_f.{rest}.txt", text)
        steps = json.loads(self.ok("passes", self.folder / "dump", "jit_f", "--format", "json"))["steps"]
        self.assertEqual([step["delta"] for step in steps], [{}, {}, {"copy": -2}])

    # report

    def test_report_reads_the_last_dump_folder_of_the_flags(self):
        text = hlo("jit_f", *CHAIN)
        run = self.run_of(xprof(("jit_f", [("first", 3), ("second", 3), ("third", 3)])), [("jit_f", text)])
        (self.folder / "early").mkdir()
        for rest in ("before_optimizations", "0001.tidy.after_pipeline-start.before_x", "0002.tidy.after_x.before_y",
                     "sm_9.0_gpu_after_optimizations"):
            self.write(f"late/module_0001.jit_f.{rest}.txt", text)
        # As a recording would have it, of the environment of the process.
        with contextlib.closing(sqlite3.connect(run)) as database, database:
            flags = "--xla_dump_to=early --xla_dump_to=late --xla_dump_hlo_pass_re=.*"
            database.execute("INSERT INTO x_run_info VALUES ('xla_flags', ?)", (flags,))
        result = self.call("report", run, "-o", self.folder / "run.html")
        self.assertRegex(result.stderr, r"'[^']*/late'")
        self.assertNotIn("early", result.stderr)


if __name__ == "__main__":
    unittest.main()
