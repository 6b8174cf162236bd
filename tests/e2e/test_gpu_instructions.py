# SPDX-License-Identifier: Apache-2.0
"""Every activity has the instruction of the innermost XLA range around its launch, or around the creation or
update of its graph node. The kernel's name contains the expected one: x_PROGRAM_OP."""

import json
import re
import unittest

import gpu_support


def executable(program, module, operations, last="root"):
    """An executable of plain instructions, as the workload registers it: texts as XLA's."""
    lines = ['  op in.0 hlo "in.0 = f32[8]{0} parameter(0)"']
    before = "in.0"
    for name in operations:
        text = f"{name} = f32[8]{{0}} negate({before})"
        lines.append(f'  op {name} name "jit(step)/layer" hlo "{text}" source "" called ""')
        before = name
    return "executable %s %d {\n%s\n}\n" % (module, program, "\n".join(lines))


def kernel(program, operation):
    return f"x_{program}_{operation}"


def thunk(program, operation, count=1, extra=""):
    return f"thunk {operation} {{ launch {kernel(program, operation)} x {count} {extra} }}\n"


STEP = executable(7, "jit_step", ["neg.1", "neg.2", "neg.3", "while.4", "body.5", "neg.6"])
OTHER = executable(8, "jit_other", ["neg.1", "neg.2"])


class Instructions(gpu_support.GpuTestCase):
    def recorded(self, script, **environment):
        traced = self.preloaded(script, **environment)
        self.assertEqual((traced.code, traced.stdout), (0, ""), traced)
        database = self.fold()
        self.assert_equals_truth(database)
        return gpu_support.recorded_rows(database)

    def assert_as_named(self, rows, exact=True):
        """x_PROGRAM_OP has that instruction, o_... none, and a reason."""
        self.assertTrue(any((row["kernel_symbol"] or "").startswith("x_") for row in rows))
        for row in rows:
            name = row["kernel_symbol"] or ""
            found = (row["program_id"], row["instruction"], row["confidence"])
            if name.startswith("x_"):
                _, program, operation = name.split("_", 2)
                self.assertEqual(found, (int(program), operation, "exact"), name)
            elif name.startswith("o_"):
                self.assertEqual((row["instruction"], row["confidence"]), (None, "none"), name)
                self.assertEqual(row["unattributed_reason"], "not_xla", name)

    def test_streams_and_modules_equal_the_truth(self):
        """Two modules have instructions of the same names; ranges of others are in between."""
        script = STEP + OTHER + "repeat 5 {\nmodule jit_step 7 {\n"
        script += thunk(7, "neg.1", 3) + thunk(7, "neg.2", 1, "on s1")
        script += "range mine { " + thunk(7, "neg.3").strip() + " }\n"
        script += "thunk neg.6 { range inner { launch x_7_neg.6 on s2 } ; launch x_7_neg.6 }\n"
        script += (
            "}\nlaunch o_between\nmodule jit_other 8 {\n" + thunk(8, "neg.1", 2) + thunk(8, "neg.2")
        )
        script += "}\n}\nrange user { launch o_user }\nsync"
        self.assert_as_named(self.recorded(script))

    def test_innermost_thunk_gives_the_instruction(self):
        """A while's body is its own instruction; what the while launches itself is the while's."""
        script = STEP + "repeat 3 { module jit_step 7 { thunk while.4 {\n"
        script += f"launch {kernel(7, 'while.4')}\n" + thunk(7, "body.5", 2) + thunk(7, "neg.6")
        script += f"launch {kernel(7, 'while.4')}\n" + "} } }\nsync"
        self.assert_as_named(self.recorded(script))

    def test_ranges_of_a_second_library_are_recorded(self):
        """NCCL and cuDNN bring an NVTX of their own; their ranges are no thunks."""
        script = STEP + "repeat 3 { module jit_step 7 {\n"
        script += (
            f"thunk neg.1 {{ other ncclAllReduce domain NCCL {{ launch {kernel(7, 'neg.1')} }} }}\n"
        )
        script += f"other first {{ thunk neg.2 {{ launch {kernel(7, 'neg.2')} x 2 }} }}\n"
        script += thunk(7, "neg.3") + "} ; other o { launch o_alone } }\nsync"
        self.assert_as_named(self.recorded(script))
        texts = gpu_support.rows_of(
            self.work / "run.db", "SELECT text, domain, count(*) AS n FROM range GROUP BY 1, 2"
        )
        self.assertIn({"text": "ncclAllReduce", "domain": "NCCL", "n": 3}, texts)
        self.assertIn({"text": "first", "domain": None, "n": 3}, texts)

    def test_ranges_of_nccl_with_their_payload(self):
        """Domain NCCL: registered names, a payload whose schema has a number that NCCL has chosen.

        They are ordinary ranges: the thunk around them keeps the launches. Without a module, the kernels
        are collectives by their names."""
        script = STEP + "repeat 3 { module jit_step 7 {\n"
        script += (
            f"thunk neg.1 {{ nccl ncclAllReduce 4096 {{ launch {kernel(7, 'neg.1')} }} }}\n"
            + thunk(7, "neg.2")
            + "} }\nnccl ncclAllGather 64 { launch ncclDevKernel_AllGather_RING_LL }\nsync"
        )
        self.recorded(script)
        database = self.work / "run.db"
        ranges = gpu_support.rows_of(
            database,
            "SELECT r.text, r.depth, p.pid = r.thread_id AS main, (SELECT group_concat(l.name) FROM"
            " launch l JOIN api_call c USING (api_call_id) WHERE c.start_ns BETWEEN r.start_ns AND"
            " r.end_ns) AS inside FROM range r JOIN process p USING (process_id)"
            " WHERE r.domain = 'NCCL' ORDER BY r.start_ns",
        )
        reduce = {"text": "ncclAllReduce", "depth": 2, "main": 1, "inside": kernel(7, "neg.1")}
        gather = {"text": "ncclAllGather", "depth": 0, "main": 1}
        self.assertEqual(
            ranges, [reduce] * 3 + [gather | {"inside": "ncclDevKernel_AllGather_RING_LL"}]
        )
        labels = gpu_support.rows_of(
            database, "SELECT instruction, evidence, count(*) AS n FROM launch GROUP BY 1, 2 ORDER BY 1"
        )
        self.assertEqual(
            labels,
            [
                {"instruction": None, "evidence": None, "n": 1},
                {"instruction": "neg.1", "evidence": "range", "n": 3},
                {"instruction": "neg.2", "evidence": "range", "n": 3},
            ],
        )
        self.assertEqual(
            gpu_support.rows_of(database, "SELECT op FROM collective"), [{"op": "all-gather"}]
        )

    def test_names_of_streams_threads_and_the_program(self):
        script = (
            "name thread XlaLauncher\nlaunch a\nname stream s1 Compute\nlaunch b on s1\n"
            "launch c on s2\nthreads 1 { launch d on s3 }\nsync"
        )
        self.recorded(script)
        database = self.work / "run.db"
        names = {
            row["kernel_symbol"]: row["name"]
            for row in gpu_support.rows_of(
                database,
                "SELECT DISTINCT l.kernel_symbol, s.name FROM launch l"
                " JOIN stream s USING (device_id, stream_id)",
            )
        }
        self.assertRegex(names["a"], r"^Stream #\d+ \(default\)$")
        self.assertRegex(names["b"], r"^Stream #\d+: Compute$")
        self.assertRegex(names["c"], r"^Stream #\d+$")
        threads = {
            row["kernel_symbol"]: (row["name"], row["main"])
            for row in gpu_support.rows_of(
                database,
                "SELECT l.kernel_symbol, t.name, c.thread_id = p.pid AS main FROM launch l"
                " JOIN api_call c USING (api_call_id) JOIN process p ON p.process_id = c.process_id"
                " LEFT JOIN thread t ON t.process_id = c.process_id AND t.thread_id = c.thread_id",
            )
        }
        # Names set by the program take precedence over the system's name of the thread.
        self.assertEqual(threads["a"], ("XlaLauncher", 1))
        self.assertEqual(threads["d"], ("fake_workload", 0))
        (row,) = gpu_support.rows_of(database, "SELECT name FROM process")
        self.assertEqual(row["name"], "fake_workload")

    def test_names_of_devices_are_recorded(self):
        """XLA gives the device's number within the job."""
        self.recorded("name device 0 Xla:#global=3,local=0#\nlaunch a\nsync")
        rows = gpu_support.rows_of(
            self.work / "run.db", "SELECT key, value FROM run_info WHERE key LIKE 'device_name.%'"
        )
        self.assertEqual([row["value"] for row in rows], ["Xla:#global=3,local=0#"])
        self.assertTrue(rows[0]["key"].endswith(".0"), rows)

    def test_payloads_of_newer_releases(self):
        """XlaInstruction, with details or not, and titles with unique_hlo_op_id: the same run."""
        script = STEP + OTHER + "repeat 3 {\nmodule jit_step 7 {\n" + thunk(7, "neg.1")
        script += "thunk while.4 { " + thunk(7, "body.5").strip() + "; launch x_7_while.4 }\n}\n"
        script += "module jit_other 8 {\n" + thunk(8, "neg.1", 2) + "}\nlaunch o_k\n}\nsync"
        columns = "program_id, instruction, confidence, op_name, source_file, source_line"
        seen = []
        for payloads in (None, "instruction", "detailed"):
            self.setUp()
            rows = self.recorded(script, FAKE_NVTX_PAYLOADS=payloads)
            self.assert_as_named(rows)
            seen.append(
                gpu_support.rows_of(
                    self.work / "run.db",
                    f"SELECT name, {columns} FROM activity ORDER BY start_ns, activity_id",
                )
                + gpu_support.rows_of(
                    self.work / "run.db",
                    "SELECT name, program_id, instruction_count, source FROM module ORDER BY 1",
                )
            )
        self.assertEqual(seen[1], seen[0])
        self.assertEqual(seen[2], seen[0])

    def test_copies_and_memsets_have_their_instruction(self):
        """They have no name; their bytes identify them."""
        script = STEP + (
            "module jit_step 7 { thunk neg.1 { copy htod 101; set 102 }; thunk neg.2 { copy dtod "
            "201 on s1; copy dtoh 202; copy peer 203 } }\ncopy htod 9\nset 8\nsync"
        )
        rows = self.recorded(script, FAKE_GPU_DEVICES="2")
        found = {row["bytes"]: (row["instruction"], row["confidence"]) for row in rows}
        self.assertEqual(
            found,
            {101: ("neg.1", "exact"), 102: ("neg.1", "exact"), 201: ("neg.2", "exact")}
            | {
                202: ("neg.2", "exact"),
                203: ("neg.2", "exact"),
                9: (None, "none"),
                8: (None, "none"),
            },
        )
        reasons = {row["unattributed_reason"] for row in rows if row["instruction"] is None}
        self.assertEqual(reasons, {"transfer"})

    def test_ranges_of_threads_do_not_mix(self):
        body = "".join(thunk(7, f"neg.{n}", 4, f"on t{n}") for n in (1, 2, 3))
        script = STEP + OTHER + "threads 4 { repeat 30 {\n"
        script += "module jit_step 7 {\n" + body + "}\nmodule jit_other 8 {\n" + thunk(8, "neg.1")
        script += "}\nlaunch o_outside } }\nsync"
        self.assert_as_named(self.recorded(script))

    GRAPH = (
        "graph G { module jit_step 7 {\n"
        + thunk(7, "neg.1")
        + thunk(7, "neg.2", 1)
        + "thunk neg.3 { child { launch x_7_neg.3 ; launch x_7_neg.3 } }\n"
        + "thunk neg.6 { launch x_7_neg.6; copy dtod 606; set 607 }\n"
        + "} }\n"
    )
    RUN = "module jit_step 7 { thunk while.4 { run G on s1 } }\n"  # as a command buffer's thunk

    def assert_graph(self, rows):
        self.assert_as_named(rows)
        for row in rows:
            if row["bytes"] in (606, 607):
                self.assertEqual((row["instruction"], row["confidence"]), ("neg.6", "exact"))
                self.assertEqual(row["evidence"], "graph_node")

    def test_graph_nodes_have_their_instruction(self):
        """The instruction is that of the node's creation, not that of the launch."""
        rows = self.recorded(STEP + self.GRAPH + self.RUN * 4 + "run G x 3\nsync")
        self.assertEqual(len(rows), 7 * 7)
        self.assert_graph(rows)

    def test_captured_graph_nodes_have_their_instruction(self):
        script = STEP + "graph G by capture { module jit_step 7 {\n"
        script += thunk(7, "neg.1", 2) + thunk(7, "neg.2")
        script += "thunk neg.6 { launch x_7_neg.6; copy dtod 606; set 607 }\n} }\n"
        rows = self.recorded(script + self.RUN * 3 + "sync")
        self.assertEqual(len(rows), 6 * 3)
        self.assert_graph(rows)

    def test_updated_graph_nodes_have_their_new_instruction(self):
        """An update under another instruction's range: from then on the node is that one's."""
        script = STEP + self.GRAPH + self.RUN * 2
        script += "module jit_step 7 { thunk body.5 { update G 1 launch x_7_body.5 grid 3x1x1 } }\n"
        script += self.RUN * 2
        script += "module jit_step 7 { thunk neg.2 { update G 1 launch x_7_neg.2 grid 5x1x1 } }\n"
        rows = self.recorded(script + self.RUN + "sync")
        names = [row["kernel_symbol"] for row in rows]
        self.assertEqual((names.count("x_7_body.5"), names.count("x_7_neg.2")), (2, 3))
        self.assert_graph(rows)

    def test_nodes_of_a_destroyed_graph_do_not_mix(self):
        """Handles of destroyed graphs come back; ids do not."""
        make = (
            "graph %s { module jit_step 7 { "
            + thunk(7, "neg.1").strip()
            + " } }\nrun %s x 2\nsync\ndestroy %s\n"
        )
        other = (
            "graph %s { module jit_other 8 { "
            + thunk(8, "neg.2").strip()
            + " } }\nrun %s x 2\nsync\ndestroy %s\n"
        )
        script = (
            STEP
            + OTHER
            + "".join((make if n % 2 else other).replace("%s", f"g{n}") for n in range(12))
        )
        rows = self.recorded(script)
        self.assertEqual(len(rows), 24)
        self.assert_as_named(rows)

    def test_recompiled_under_the_same_name_and_id(self):
        script = (
            executable(7, "jit_step", ["neg.1"])
            + "module jit_step 7 { "
            + thunk(7, "neg.1").strip()
        )
        script += " }\n" + executable(7, "jit_step", ["neg.1", "neg.2"])
        script += "module jit_step 7 {\n" + thunk(7, "neg.1") + thunk(7, "neg.2") + "}\nsync"
        self.assert_as_named(self.recorded(script))
        sizes = gpu_support.rows_of(
            self.work / "run.db",
            "SELECT instruction_count AS n FROM launch JOIN module USING (module_id) "
            "ORDER BY launch_id",
        )
        self.assertEqual([row["n"] for row in sizes], [2, 3, 3])

    def test_modules_are_stored_without_a_dump(self):
        self.recorded(
            STEP + OTHER + "module jit_step 7 { " + thunk(7, "neg.1").strip() + " }\nsync"
        )
        modules = gpu_support.rows_of(
            self.work / "run.db", "SELECT name, program_id, instruction_count, source FROM module"
        )
        self.assertIn(
            {"name": "jit_step", "program_id": 7, "instruction_count": 7, "source": "nvtx"}, modules
        )
        instructions = gpu_support.rows_of(
            self.work / "run.db",
            "SELECT instruction, opcode FROM instruction JOIN module USING (module_id) "
            "WHERE name = 'jit_step' ORDER BY 1",
        )
        self.assertEqual(
            [row["instruction"] for row in instructions],
            ["body.5", "in.0", "neg.1", "neg.2", "neg.3", "neg.6", "while.4"],
        )

    def test_ranks_with_the_same_program_ids(self):
        """Program 7 of one process is not that of another."""
        one = (
            executable(7, "jit_step", ["neg.1"])
            + "module jit_step 7 { thunk neg.1 { launch x_7_neg.1 } }\nsync"
        )
        two = (
            executable(7, "jit_else", ["neg.2"])
            + "module jit_else 7 { thunk neg.2 { launch x_7_neg.2 } }\nsync"
        )
        for script in (one, two):
            result = self.preloaded(script, XLATRACE_JOB="ranks")
            self.assertEqual(result.code, 0, result)
        rows = gpu_support.recorded_rows(self.fold())
        self.assert_as_named(rows)
        self.assertEqual({row["module"] for row in rows}, {"jit_step", "jit_else"})

    def test_too_deep_ranges_are_counted(self):
        """A stack deeper than any bound of ours: the program is unharmed, no instruction wrong."""
        deep = 300
        script = (
            STEP + "module jit_step 7 {\n" + "range r {\n" * deep + thunk(7, "neg.1") + "}\n" * deep
        )
        script += thunk(7, "neg.2") + "}\nsync"
        traced = self.preloaded(script)
        self.assertEqual(traced.code, 0, traced)
        for row in gpu_support.recorded_rows(self.fold()):
            if row["instruction"] is not None:
                self.assertEqual(kernel(7, row["instruction"]), row["kernel_symbol"])
        self.assertEqual(row["instruction"], "neg.2")

    def test_steps_of_a_recorded_program(self):
        """Thirty executions that train are steps, however late the host comes; 'summary' has a verdict.

        Programs without training count as steps only in an even rhythm, which a busy machine does not
        keep."""
        backward = "metadata={op_name='jit(step)/transpose(jvp(layer))/mul'}"
        trains = re.sub(r'(negate\([\w.]+\))"', rf'\1, {backward}"', STEP)
        script = trains + "repeat 30 { module jit_step 7 {\n"
        script += thunk(7, "neg.1", 5) + thunk(7, "neg.2", 5) + "}\nsync\n}"
        self.assert_as_named(self.recorded(script))
        executions = gpu_support.scalar(self.work / "run.db", "SELECT count(*) FROM execution")
        self.assertEqual(executions, 30)
        steps = gpu_support.scalar(self.work / "run.db", "SELECT count(*) FROM step")
        self.assertEqual(steps, 30)
        summary = json.loads(self.xlatrace("summary", "run.db", "--format", "json").stdout)
        self.assertEqual((summary["basis"], summary["verdict"]["given"]), ("steady_steps", True))


if __name__ == "__main__":
    unittest.main()
