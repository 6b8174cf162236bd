# SPDX-License-Identifier: Apache-2.0
"""`export --to perfetto` and `--to kineto`, opened by Perfetto's trace processor and by HTA."""

import gzip
import json
import unittest

import export_support
from export_support import query, run_python, trace_processor

DEVICE_SLICES = """
SELECT extract_arg(s.arg_set_id, 'debug.instruction'), count(*), sum(s.dur)
FROM slice s WHERE extract_arg(s.arg_set_id, 'debug.activity_id') IS NOT NULL GROUP BY 1
"""
ERRORS = "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0"


class PerfettoTest(export_support.ExportTest):
    def test_times_per_instruction_and_stream_are_those_of_the_run(self):
        for name, run in self.runs():
            with self.subTest(run=name):
                trace = self.export(run, "perfetto")
                errors, by_instruction, flows = trace_processor(
                    trace,
                    ERRORS,
                    DEVICE_SLICES,
                    "SELECT count(*) FROM flow",
                )
                self.assertEqual(errors, [])
                wanted = query(
                    run,
                    "SELECT instruction, count(*), sum(duration_ns) FROM activity"
                    " WHERE duration_ns IS NOT NULL GROUP BY 1",
                )
                self.assertEqual(set(by_instruction), set(wanted))
                launched = query(
                    run,
                    "SELECT count(*) FROM activity a JOIN api_call c USING (api_call_id)"
                    " WHERE a.duration_ns IS NOT NULL",
                )
                self.assertEqual(flows, launched)

    def test_each_slice_begins_and_ends_as_its_activity(self):
        run = self.our_run()
        (slices,) = trace_processor(
            self.export(run, "perfetto"),
            "SELECT extract_arg(arg_set_id, 'debug.activity_id') AS activity, ts, dur,"
            " extract_arg(arg_set_id, 'debug.op_name'), extract_arg(arg_set_id, 'debug.phase')"
            " FROM slice WHERE activity IS NOT NULL ORDER BY activity",
        )
        first = query(
            run,
            "SELECT min(t) FROM (SELECT min(start_ns) t FROM activity UNION ALL"
            " SELECT min(start_ns) FROM api_call UNION ALL SELECT min(start_ns) FROM range)",
        )[0][0]
        shift = max(0, -(first // 10**9)) * 10**9
        wanted = query(
            run,
            f"SELECT activity_id, start_ns + {shift}, duration_ns, op_name, phase FROM activity"
            " ORDER BY activity_id",
        )
        self.assertEqual(slices, wanted)

    def test_kernels_that_overlap_on_a_stream_keep_their_times(self):
        # Three rows of one stream, two of which overlap in part: on one track Perfetto would make
        # 0-20 and 5-10 of 0-10 and 5-20.
        trace = self.folder / "overlap.json"
        event = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7}
        rows = [("a", 1000, 10), ("b", 1005, 15), ("c", 1030, 5)]
        trace.write_text(
            json.dumps(
                {
                    "traceEvents": [
                        {**event, "name": n, "ts": t, "dur": d, "args": {"stream": 7, "device": 0}}
                        for n, t, d in rows
                    ]
                }
            )
        )
        run = self.import_run("overlap", [trace])
        (slices,) = trace_processor(
            self.export(run, "perfetto"),
            "SELECT name, dur, track_id FROM slice"
            " WHERE extract_arg(arg_set_id, 'debug.activity_id') IS NOT NULL",
        )
        self.assertEqual({(n, d) for n, d, _ in slices}, {(n, d * 1000) for n, _, d in rows})
        track = {n: t for n, _, t in slices}
        self.assertNotEqual(track["a"], track["b"])
        self.assertEqual(track["a"], track["c"])

    def test_counters_steps_and_sources_are_exported(self):
        run = self.our_run()
        counters, steps, sources = trace_processor(
            self.export(run, "perfetto"),
            "SELECT t.name, max(c.value) FROM counter c JOIN track t ON c.track_id = t.id GROUP BY 1",
            "SELECT s.name, s.dur FROM slice s JOIN track t ON s.track_id = t.id"
            " WHERE t.name = 'steps' ORDER BY s.ts",
            "SELECT DISTINCT extract_arg(arg_set_id, 'debug.source') FROM slice"
            " WHERE extract_arg(arg_set_id, 'debug.source') IS NOT NULL",
        )
        self.assertTrue({"busy"} <= {name for name, _ in counters}, counters)
        self.assertLessEqual(dict(counters)["busy"], 100)
        self.assertEqual(
            steps,
            query(run, "SELECT 'step ' || step, end_ns - start_ns FROM step ORDER BY start_ns"),
        )
        self.assertEqual(
            {s for (s,) in sources},
            {
                s
                for (s,) in query(
                    run,
                    "SELECT DISTINCT source_file || ':' || source_line FROM activity"
                    " WHERE source_file IS NOT NULL",
                )
            },
        )


# The results of HTA for each FOLDER EXACT of the arguments: starting HTA takes longer than most of its
# queries.
HTA = """
import json, logging, os, sys, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from hta.common.trace import Trace
from hta.trace_analysis import TraceAnalysis

def answers(folder, exact):
    os.environ["HTA_DISABLE_NS_ROUNDING"] = exact
    trace = Trace(trace_dir=folder)
    trace.parse_traces()  # As the file has it: an analysis leaves out what lies behind the last step.
    out = {"gpu": {}}
    for rank in trace.get_all_traces():
        gpu = trace.get_trace(rank)
        gpu = gpu[gpu["stream"] >= 0]
        out["gpu"][int(rank)] = [int(len(gpu)), float(gpu["dur"].sum())]
    analysis = TraceAnalysis(trace_dir=folder, include_last_profiler_step=True)
    breakdown = analysis.get_temporal_breakdown(visualize=False)
    out["busy"] = {int(r): float(i) - float(t) for r, i, t in zip(
        breakdown["rank"], breakdown["kernel_time(us)"], breakdown["idle_time(us)"])}
    kernels, _ = analysis.get_gpu_kernel_breakdown(visualize=False)
    out["kernel_types"] = sorted(kernels["kernel_type"])
    overlap = analysis.get_comm_comp_overlap(visualize=False)
    out["overlap"] = len(overlap)
    out["launches"] = {int(r): len(f) for r, f in
                       analysis.get_cuda_kernel_launch_stats(visualize=False).items()}
    return out

print(json.dumps([answers(*pair) for pair in zip(sys.argv[1::2], sys.argv[2::2])]))
"""


class KinetoTest(export_support.ExportTest):
    def test_hta_reads_all_launches_with_their_times(self):
        # By itself HTA rounds each start up and each end down to microseconds.
        cases = [
            (name, run, folder, exact, tolerance_us)
            for name, run in self.runs()
            if name not in ("demo", "tpu")  # HTA supports only GPUs.
            for folder in [self.export(run, "kineto")]
            for exact, tolerance_us in (("1", 0.001), ("0", 2.0))
        ]
        arguments = [word for _, _, folder, exact, _ in cases for word in (folder, exact)]
        sums = {}
        for (name, run, _, exact, tolerance_us), got in zip(cases, run_python("HTA", HTA, *arguments)):
            with self.subTest(run=name, exact=exact):
                wanted = query(
                    run,
                    "SELECT coalesce(p.rank, p.process_id - 1), count(*), sum(a.duration_ns) / 1e3"
                    " FROM activity a JOIN process p USING (process_id)"
                    " WHERE a.duration_ns IS NOT NULL GROUP BY 1 ORDER BY 1",
                )
                self.assertEqual([int(r) for r in got["gpu"]], [rank for rank, _, _ in wanted])
                for rank, count, us in wanted:
                    rows, sum_us = got["gpu"][str(rank)]
                    self.assertEqual(rows, count)
                    self.assertLessEqual(abs(sum_us - us), count * tolerance_us)
                    sums.setdefault((name, rank), set()).add(sum_us)
                self.assertEqual(got["overlap"], len(wanted))
        # Each was computed in both ways.
        self.assertEqual(max(map(len, sums.values())), 2)

    def test_hta_joins_calls_and_kernels(self):
        run = self.our_run()
        (got,) = run_python("HTA", HTA, self.export(run, "kineto"), "1")
        self.assertIn("COMPUTATION", got["kernel_types"])
        self.assertIn("COMMUNICATION", got["kernel_types"])

    def test_perfetto_reads_the_export(self):
        run = self.our_run()
        trace = next(self.export(run, "kineto").iterdir())
        errors, kernels = trace_processor(
            trace,
            ERRORS,
            "SELECT count(*), sum(dur) FROM slice WHERE category = 'kernel'",
        )
        self.assertEqual(errors, [])
        self.assertEqual(
            kernels,
            query(run, "SELECT count(*), sum(duration_ns) FROM activity WHERE kind = 'kernel'"),
        )

    def test_a_file_holds_one_process(self):
        trace = self.export(self.our_run(), "kineto", output=self.folder / "one.json.gz")
        events = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
        self.assertGreater(len(events), 5000)


if __name__ == "__main__":
    unittest.main()
