# SPDX-License-Identifier: Apache-2.0
"""Totals of exports equal those of the run, for each format and kind of row."""

import csv
import gzip
import json
import os
import sqlite3
import unittest

import export_support
import support

DURATION = "SELECT sum(duration_ns) AS ns, count(*) AS n FROM activity"
# Categories of device work; an op of a CPU is one of the host there.
WORK = ("kernel", "gpu_memcpy", "gpu_memset", "cpu_op")
SELF = "SELECT sum(self_ns) AS ns FROM activity"


def mixed_export(path):
    """Kernels, copies, memsets and graph-level rows of two streams."""
    columns = "start, end, deviceId, contextId, streamId, correlationId, globalPid"
    db = sqlite3.connect(path)
    db.executescript(f"""CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        INSERT INTO StringIds VALUES (1, 'gemm');
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({columns}, shortName);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY ({columns}, bytes, copyKind);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET ({columns}, bytes, value);
        CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE ({columns}, graphId, graphExecId);""")
    number = 0
    for table, length, rest in (
        ("KERNEL", 5_000, "1"),
        ("MEMCPY", 700, "4096, 1"),
        ("MEMSET", 300, "64, 0"),
        ("GRAPH_TRACE", 31_000, "5, 6"),
    ):
        for i in range(12):
            number += 1
            start = 100_000 * number
            db.execute(
                f"INSERT INTO CUPTI_ACTIVITY_KIND_{table} VALUES"
                f" ({start}, {start + length + i}, 0, 1, {7 + i % 2}, {number}, 16777216, {rest})"
            )
    db.commit()
    db.close()


class Totals(support.TestCase):
    def export(self, run, to, *more):
        output = self.folder / f"{run}.{to}"
        result = self.run_program("export", run, "--to", to, "-o", output, "--force", *more)
        self.assertEqual(result.code, 0, result)
        return output

    def total_of_import(self, trace):
        self.run_program("import", trace, "-o", "again.db", "--force")
        return support.query(self.folder / "again.db", DURATION)[0]["ns"]

    def check(self, run):
        want = support.query(self.folder / run, DURATION)[0]
        own = support.query(self.folder / run, SELF)[0]["ns"]
        with self.subTest(run=run, to="nsys"):
            db = sqlite3.connect(self.export(run, "nsys"))
            got = [
                db.execute(f'SELECT sum("end" - start), count(*) FROM CUPTI_ACTIVITY_KIND_{t}').fetchone()
                for t in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")
            ]
            self.assertEqual(sum(ns or 0 for ns, _ in got), want["ns"])
            self.assertEqual(sum(n for _, n in got), want["n"])
        with self.subTest(run=run, to="csv"):
            with open(self.export(run, "csv") / "activity.csv", newline="", encoding="utf8") as file:
                self.assertEqual(sum(int(r["duration_ns"]) for r in csv.DictReader(file)), want["ns"])
        with self.subTest(run=run, to="db"):
            self.assertEqual(support.query(self.export(run, "db"), DURATION)[0], want)
        with self.subTest(run=run, to="folded"):
            lines = self.export(run, "folded").read_text().splitlines()
            self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in lines), own)
        with self.subTest(run=run, to="speedscope"):
            profiles = json.loads(self.export(run, "speedscope").read_text())["profiles"]
            self.assertEqual(sum(sum(profile["weights"]) for profile in profiles), own)
        with self.subTest(run=run, to="pprof"):
            data = gzip.decompress(self.export(run, "pprof").read_bytes())
            self.assertEqual(self.pprof_ns(data), own)
        with self.subTest(run=run, to="kineto"):
            folder = self.export(run, "kineto")
            total = 0
            for file in folder.glob("*.json.gz"):
                events = json.loads(gzip.decompress(file.read_bytes()), parse_float=str)["traceEvents"]
                total += sum(self.ns(e["dur"]) for e in events if e.get("cat") in WORK)
            self.assertEqual(total, want["ns"])
        with self.subTest(run=run, to="perfetto"):
            self.assertEqual(self.perfetto_total(self.export(run, "perfetto")), (want["ns"], want["n"]))
        with self.subTest(run=run, to="parquet"):
            self.assertEqual(self.parquet_total(self.export(run, "parquet")), (want["ns"], want["n"]))
        with self.subTest(run=run, to="xplane"):
            self.assertEqual(self.total_of_import(self.export(run, "xplane")), want["ns"])

    def perfetto_total(self, trace):
        """Computed from the slices that name an activity."""
        if not os.environ.get("XLATRACE_TEST_PYTHON_PERFETTO"):
            self.skipTest("XLATRACE_TEST_PYTHON_PERFETTO is not set")
        ((total,),) = export_support.trace_processor(
            trace,
            "SELECT sum(dur), count(*) FROM slice"
            " WHERE extract_arg(arg_set_id, 'debug.activity_id') IS NOT NULL",
        )
        return tuple(total)

    def parquet_total(self, folder):
        python = os.environ.get("XLATRACE_TEST_PYTHON_TABLES")
        if not python:
            self.skipTest("XLATRACE_TEST_PYTHON_TABLES is not set")
        code = (
            "import sys, pyarrow.parquet as pq; "
            "column = pq.read_table(sys.argv[1], columns=['duration_ns'])['duration_ns'].to_pylist(); "
            "print(sum(ns or 0 for ns in column), len(column))"
        )
        done = support.run_command([python, "-c", code, folder / "activity.parquet"], cwd=self.folder)
        self.assertEqual(done.code, 0, done)
        return tuple(map(int, done.stdout.split()))

    @staticmethod
    def ns(microseconds):
        whole, _, digits = str(microseconds).partition(".")
        return 1000 * int(whole) + int(digits.ljust(3, "0")[:3])

    @staticmethod
    def pprof_ns(data):
        """Sum of the last value of each sample (profile.proto: sample = 2, value = 2)."""
        total = 0
        for number, _, sample in support.fields(data):
            if number != 2:
                continue
            values = []
            for field, _, packed in support.fields(sample):
                if field != 2:
                    continue
                if isinstance(packed, int):
                    values.append(packed)
                    continue
                at = 0
                while at < len(packed):
                    value, at = support.read_varint(packed, at)
                    values.append(value)
            total += values[-1]
        return total

    def test_totals_of_kernels_copies_and_graph_rows_equal_sql(self):
        mixed_export(self.folder / "e.sqlite")
        self.assertEqual(self.run_program("import", "e.sqlite", "-o", "mixed.db").code, 0)
        self.check("mixed.db")

    def test_totals_of_cpu_ops_equal_sql(self):
        (self.folder / "c.xplane.pb").write_bytes(support.xspace("jit_f", support.OPS))
        self.assertEqual(self.run_program("import", "c.xplane.pb", "-o", "cpu.db").code, 0)
        self.check("cpu.db")

    def test_totals_of_projected_ranges_equal_sql(self):
        capture = support.require_data("captures/nsys-jax-pax-fsdp4-a100/proc1.zip")
        self.assertEqual(self.run_program("import", capture, "-o", "ranges.db").code, 0)
        self.check("ranges.db")


class PgleCost(support.TestCase):
    def test_op_with_repeated_kernels_has_their_sum(self):
        """A row per execution is three launches of one kernel of 100 us each: 300 us."""
        (self.folder / "d").mkdir()
        (self.folder / "d" / "m.hlo.pb").write_bytes(support.hlo_proto("jit_f", 7, support.OPS))
        names = (("process_name", {"name": "/device:GPU:0"}), ("thread_name", {"name": "Stream #7"}))
        events = [{"ph": "M", "name": name, "pid": 1, "tid": 7, "args": args} for name, args in names]
        for execution in range(6):
            for launch in range(3):
                args = {
                    "hlo_op": support.OPS[0][0], "hlo_module": "jit_f", "program_id": 7,
                    "run_id": execution + 1, "correlation_id": 3 * execution + launch + 1,
                    "kernel_details": "regs:32 grid:8,1,1 block:128,1,1",
                }  # fmt: skip
                start = 1000 + 5000 * execution + 200 * launch
                events.append({"ph": "X", "name": "gemm_kernel", "pid": 1, "tid": 7, "ts": start,
                               "dur": 100, "args": args})  # fmt: skip
        (self.folder / "t.json").write_text(json.dumps({"traceEvents": events}))
        result = self.run_program("import", "t.json", "--modules", "d", "-o", "run.db")
        self.assertEqual(result.code, 0, result)
        executions = support.query(self.folder / "run.db", "SELECT count(*) AS n FROM execution")
        self.assertEqual(executions[0]["n"], 6)
        self.run_program("export", "run.db", "--to", "pgle", "-o", "pgle")
        (text,) = (self.folder / "pgle").glob("*.pbtxt")
        self.assertIn("cost_us: 300", text.read_text())


if __name__ == "__main__":
    unittest.main()
