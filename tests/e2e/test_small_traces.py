# SPDX-License-Identifier: Apache-2.0
"""Commands on traces of a few events that a test writes itself, so the expected output is known."""

import gzip
import json
import re
import unittest

import support

HLO = """HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[8]{0})->f32[8]{0}}

ENTRY main {
  p = f32[8]{0} parameter(0)
  first = f32[8]{0} negate(p)
  second = f32[8]{0} cosine(p)
  ROOT third = f32[8]{0} add(first, second)
}
"""


def kineto(rank, kernels, name="NVIDIA L4"):
    """The trace of one process; one of a data loader has calls, and no kernel."""
    call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100 + rank, "tid": 1}
    kernel = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7}
    events = []
    for i in range(1, kernels + 1):
        events.append(call | {"ts": 10 * i, "dur": 1, "args": {"correlation": i}})
        events.append(kernel | {"ts": 10 * i + 5, "dur": 3, "args": {"device": 0, "stream": 7, "correlation": i}})
    if not kernels:
        events.append(call | {"name": "cudaDeviceSynchronize", "ts": 1, "dur": 500, "args": {"correlation": 1}})
    return json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": name}], "traceEvents": events})


def xprof(instructions):
    """One run of jit_f on a GPU, launched in this order."""
    events = [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
        {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "Stream #1(Compute)"}},
        {"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "/host:CPU"}},
    ]
    for i, instruction in enumerate(instructions, 1):
        details = {"kernel_details": "regs:32 grid:8,1,1 block:64,1,1", "hlo_op": instruction, "hlo_module": "jit_f",
                   "program_id": "9", "run_id": "4", "correlation_id": str(i)}
        events.append({"ph": "X", "pid": 2, "tid": 3, "ts": 10 * i, "dur": 2, "name": "cuLaunchKernel", "args": {"correlation_id": str(i)}})
        events.append({"ph": "X", "pid": 1, "tid": 1, "ts": 10 * i + 5, "dur": 3, "name": instruction, "args": details})
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events})


class SmallTraces(support.TestCase):
    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def ok(self, *arguments):
        result = self.run_program(*arguments)
        self.assertEqual(result.code, 0, str(result))
        return result.stdout

    def jit_f(self, *launches):
        run = self.folder / "run.db"
        self.ok("import", self.write("t.trace.json", xprof(launches)), "--modules", self.write("jit_f.hlo.txt", HLO), "-o", run, "--force")
        return run

    def test_sequence_has_late_launches_and_missing_records(self):
        self.assert_golden_text(self.ok("show", "jit_f", self.jit_f("first", "third", "second"), "--sequence"))
        self.assert_golden_text(self.ok("show", "jit_f", self.jit_f("first", "third"), "--sequence"))

    def test_module_is_found_by_a_part_of_its_name(self):
        run = self.jit_f("first", "second", "third")
        for module in ("it_f", "jit_f", "m1"):
            self.assertIn("cosine", self.ok("find", "second", run, "--module", module), module)
        self.assertNotEqual(self.run_program("find", "second", run, "--module", "jit_g").code, 0)

    def test_ranks_are_counted_over_processes_that_have_a_device(self):
        traces = [self.write(f"{rank}.json", kineto(rank, kernels)) for rank, kernels in enumerate((0, 3, 2))]
        self.ok("import", *traces, "-o", self.folder / "run.db")
        self.ok("export", self.folder / "run.db", "--to", "kineto", "-o", self.folder / "out")
        names = sorted(path.name for path in (self.folder / "out").iterdir())
        self.assertEqual(names, ["rank_0.json.gz", "rank_1.json.gz"])
        for rank, (name, kernels) in enumerate(zip(names, (3, 2))):
            trace = json.loads(gzip.decompress((self.folder / "out" / name).read_bytes()))
            self.assertEqual((trace["distributedInfo"]["rank"], trace["distributedInfo"]["world_size"]), (rank, 2))
            self.assertEqual(sum(event.get("cat") == "kernel" for event in trace["traceEvents"]), kernels)

    def test_line_number_above_a_thousand_has_no_separator(self):
        trace = self.write("tpu.trace.json", json.dumps({"displayTimeUnit": "ns", "traceEvents": [
            {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:TPU:0"}},
            {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "XLA Ops"}},
            {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "XLA Modules"}},
            {"ph": "X", "pid": 1, "tid": 2, "ts": 4, "dur": 5, "name": "jit_f(9)"},
            {"ph": "X", "pid": 1, "tid": 1, "ts": 5, "dur": 3, "name": "%add.1 = f32[8] add(%x, %y)",
             "args": {"source": "/src/model.py:1234", "tf_op": "jit(f)/add:", "hlo_category": "loop fusion"}},
        ]}))
        self.ok("import", trace, "-o", self.folder / "run.db")
        self.assertRegex(self.ok("show", "model.py:1234", self.folder / "run.db"), r"^source +model\.py:1234\n")

    def test_a_step_has_no_share_of_device_time(self):
        run = self.folder / "run.db"
        (self.folder / "t.xplane.pb").write_bytes(support.xspace("jit_step", support.OPS, executions=12))
        self.ok("import", self.folder / "t.xplane.pb", "-o", run)
        said = self.ok("summary", run, "--by", "step", "--format", "md")
        rows = re.findall(r"(?m)^\| `(\d+)` \| ([\d.]+) \| ?([\d.]*) ?\|$", said)
        self.assertGreater(len(rows), 3, said)
        self.assertEqual({share for _, _, share in rows}, {""}, said)


if __name__ == "__main__":
    unittest.main()
