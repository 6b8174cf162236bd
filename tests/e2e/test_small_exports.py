# SPDX-License-Identifier: Apache-2.0
"""Exports of traces of a few events that a test writes itself: what each file must hold is known."""

import gzip
import json
import unittest

import support

SECOND = 1_000_000_000
# 2026-01-15 12:00:00 UTC: 20,468 days after 1970.
NOON = (20_468 * 86_400 + 43_200) * SECOND


def kineto(kernels, base_ns=0, pid=100, rank=None, steps=()):
    """Kernels: (name, device, stream, begin, end); steps: (number, begin, end); in microseconds after `base_ns`.
    Each kernel was launched a microsecond before it began."""
    events = []
    for number, begin, end in steps:
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": pid, "tid": 5,
                       "ts": begin, "dur": end - begin})
    for i, (name, device, stream, begin, end) in enumerate(kernels, 1):
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": pid, "tid": 5,
                       "ts": begin - 1, "dur": 0.5, "args": {"correlation": i}})
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": stream, "ts": begin, "dur": end - begin,
                       "args": {"device": device, "stream": stream, "correlation": i}})
    trace = {"schemaVersion": 1, "baseTimeNanoseconds": base_ns, "traceEvents": events,
             "deviceProperties": [{"id": device, "name": "NVIDIA L4"} for device in sorted({k[1] for k in kernels})]}
    if rank is not None:
        trace["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
    return json.dumps(trace)


def message(data):
    """Values of a protobuf message by field number."""
    values = {}
    for number, _, value in support.fields(data):
        values.setdefault(number, []).append(value)
    return values


class Timeline:
    """Reader of a Perfetto trace: descriptors of its tracks by name, slices (name, begin, end) and counter
    values by track."""

    def __init__(self, data):
        self.tracks, self.processes, self.slices, self.counters = {}, [], {}, {}
        names, open_slices = {}, {}
        for packet in map(message, message(data)[1]):
            for interned in map(message, packet.get(12, ())):
                for entry in map(message, interned.get(2, ())):  # event_names
                    names[entry[1][0]] = entry[2][0].decode()
            for track in map(message, packet.get(60, ())):
                if 3 in track:
                    self.processes.append(message(track[3][0])[1][0])
                if 2 in track:
                    self.tracks.setdefault(track[2][0].decode(), []).append(track)
            for event in map(message, packet.get(11, ())):
                kind, track, at = event[9][0], event[11][0], packet[8][0]
                if kind == 1:  # TYPE_SLICE_BEGIN
                    open_slices.setdefault(track, []).append((names[event[10][0]], at))
                elif kind == 2:  # TYPE_SLICE_END
                    self.slices.setdefault(track, []).append((*open_slices[track].pop(), at))
                elif kind == 4:  # TYPE_COUNTER
                    self.counters.setdefault(track, []).append(support.struct.unpack("<d", event[44][0])[0])

    def track(self, name):
        (track,) = self.tracks[name]
        return track


class SmallExports(support.TestCase):
    def ok(self, *arguments):
        result = self.run_program(*arguments)
        self.assertEqual(result.code, 0, str(result))
        return result.stdout

    def imported(self, *traces):
        run = self.folder / "run.db"
        paths = []
        for i, trace in enumerate(traces):
            paths.append(self.folder / (f"{i}.json" if isinstance(trace, str) else f"{i}.xplane.pb"))
            paths[-1].write_bytes(trace.encode() if isinstance(trace, str) else trace)
        self.ok("import", *paths, "-o", run)
        return run

    def export(self, run, to, output, *arguments):
        self.ok("export", run, "--to", to, "-o", self.folder / output, *arguments)
        return self.folder / output

    def timeline(self, run):
        return Timeline(self.export(run, "perfetto", "out.pftrace").read_bytes())

    def ranks(self, run):
        """Kineto files by name."""
        folder = self.export(run, "kineto", "ranks")
        return {path.name: json.loads(gzip.decompress(path.read_bytes())) for path in sorted(folder.iterdir())}

    def test_perfetto_counts_a_busy_device_once(self):
        timeline = self.timeline(self.imported(kineto([("a", 0, 7, 10, 20), ("b", 0, 8, 10, 20)])))
        # All of ten microseconds, each in its own bin.
        self.assertEqual(timeline.counters[timeline.track("busy")[1][0]], [100.0] * 10 + [0.0])

    def test_perfetto_counters_have_units(self):
        timeline = self.timeline(self.imported(kineto([("a", 0, 7, 10, 20)])))
        self.assertEqual(message(timeline.track("busy")[8][0]), {6: [b"%"]})
        units = {name: message(track[8][0]) for name, (track, *_) in timeline.tracks.items() if 8 in track}
        memory = [name for name, unit in units.items() if unit == {3: [3]}]  # UNIT_SIZE_BYTES
        self.assertEqual(len(memory), 1, units)
        self.assert_golden_text("\n".join(sorted(units)))

    def test_perfetto_processes_of_one_pid_stay_apart(self):
        kernels = [("a", 0, 7, 10, 20)]
        run = self.imported(*(kineto(kernels, NOON, pid, rank) for rank, pid in enumerate((100, 100, 101))))
        self.assertEqual(len(set(self.timeline(run).processes)), 3)

    def test_perfetto_a_layer_is_a_slice_of_each_execution(self):
        # Every millisecond from the fifth on, 10 us.
        timeline = self.timeline(self.imported(support.xspace("jit_step", support.OPS[:1], executions=3)))
        slices = [(begin, end) for _, begin, end in timeline.slices[timeline.track("layers")[1][0]]]
        self.assertEqual(slices, [(at, at + 10_000) for at in (5_000_000, 6_000_000, 7_000_000)])

    def test_xplane_durations_are_picoseconds(self):
        space = message(self.export(self.imported(kineto([("a", 0, 7, 10, 13)])), "xplane", "out.xplane.pb").read_bytes())
        (plane,) = (plane for plane in map(message, space[1]) if plane[2] == [b"/device:GPU:0"])
        (line,) = map(message, plane[3])
        (event,) = map(message, line[4])
        self.assertEqual(event[3], [3_000_000])

    def test_kineto_times_are_on_the_clock_that_the_file_names(self):
        # The second began 1.5 s before the first: two whole seconds are put before the first's begin.
        earlier = NOON - 3 * SECOND // 2
        run = self.imported(kineto([("a", 0, 7, 10, 13)], NOON, rank=0), kineto([("b", 0, 7, 20, 24)], earlier, 101, rank=1))
        unix_ns = {}
        for trace in self.ranks(run).values():
            for event in trace["traceEvents"]:
                if event["ph"] == "X":
                    self.assertGreaterEqual(event["ts"], 0)
                if event.get("cat") == "kernel":
                    unix_ns[event["name"]] = trace["baseTimeNanoseconds"] + round(event["ts"] * 1000)
        self.assertEqual(unix_ns, {"a": NOON + 10_000, "b": earlier + 20_000})

    def test_kineto_steps_are_written_once_per_process(self):
        steps = [(number, 100 * number, 100 * number + 100) for number in range(1, 5)]
        kernels = [("k", device, 7, begin + 10, begin + 90) for _, begin, _ in steps for device in (0, 1)]
        run = self.imported(kineto(kernels, NOON, steps=steps))
        by_device = support.query(run, "SELECT device_id, count(*) AS n FROM step GROUP BY 1")
        self.assertEqual([row["n"] for row in by_device], [4, 4])
        (trace,) = self.ranks(run).values()
        # Steps have the row of thread 1; the ranges that the trace had lie elsewhere.
        marks = [event["name"] for event in trace["traceEvents"] if event.get("cat") == "user_annotation" and event["tid"] == 1]
        self.assertEqual(marks, [f"ProfilerStep#{number}" for number, _, _ in steps])

    def test_kineto_processes_of_equal_rank_have_separate_files(self):
        run = self.imported(kineto([("a", 0, 7, 10, 13)], NOON, 100, rank=3), kineto([("b", 0, 7, 10, 13)], NOON, 101, rank=3))
        kernels = {name: [event["name"] for event in trace["traceEvents"] if event.get("cat") == "kernel"]
                   for name, trace in self.ranks(run).items()}
        self.assertEqual(kernels, {"rank_0.json.gz": ["a"], "rank_1.json.gz": ["b"]})

    def test_window_ends_before_its_second_step(self):
        run = self.imported(support.xspace("jit_step", support.OPS, executions=6))
        trace = json.loads(self.export(run, "kineto", "out.json", "--steps", "2:4").read_text())
        steps = [event["args"]["step"] for event in trace["traceEvents"] if event.get("cat") == "cpu_op"]
        self.assertEqual(steps, [2, 2, 3, 3])

    def test_a_lake_is_divided_by_the_day_of_the_run(self):
        lake = self.export(self.imported(kineto([("a", 0, 7, 10, 13)], NOON)), "parquet", "lake", "--layout", "lake")
        self.assertEqual([path.name for path in (lake / "run").iterdir()], ["dt=2026-01-15"])

    def test_kernels_of_no_instruction_are_stacks_of_their_own(self):
        run = self.imported(kineto([("a", 0, 7, 10, 13), ("b", 0, 7, 20, 24), ("a", 0, 7, 30, 35)]))
        lines = self.export(run, "folded", "out.folded").read_text().splitlines()
        times = {}
        for line in lines:
            stack, time = line.rsplit(" ", 1)
            times[stack.rsplit(";", 1)[1]] = int(time)
        self.assertEqual(times, {"a": 3_000 + 5_000, "b": 4_000}, lines)

    def test_pprof_the_source_is_that_of_the_instruction(self):
        run = self.imported(support.xspace("jit_step", support.OPS[:1]))
        profile = message(gzip.decompress(self.export(run, "pprof", "out.pb.gz").read_bytes()))
        texts = [text.decode() for text in profile[6]]
        functions = {}
        for function in map(message, profile[5]):
            functions[function[1][0]] = (texts[function[2][0]], texts[function.get(4, [0])[0]])
        places = {}
        for location in map(message, profile[4]):
            line = message(location[4][0])
            name, file = functions[line[1][0]]
            places[name] = (file, line.get(2, [0])[0])
        self.assertEqual(places.pop("dot.1"), ("/a/model.py", 12))
        self.assertIn("dot_general", places)
        self.assertEqual(set(places.values()), {("", 0)})


if __name__ == "__main__":
    unittest.main()
