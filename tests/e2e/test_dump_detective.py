# SPDX-License-Identifier: Apache-2.0
"""`explain`, `modules`, `passes` and `find` on dump folders written here, whose answers are known, and on
recorded dumps."""

import json
import os
import pathlib
import unittest

import support

# Parents are printed as one more than the frame's number; 1 is none.
STACK = """HloModule jit_step, input_output_alias={ {}: (1, {}, may-alias) }

FileNames
1 "train.py"
2 "layers.py"

FunctionNames
1 "<module>"
2 "loss"
3 "dense"

FileLocations
1 {file_name_id=1 function_name_id=1 line=12 end_line=12 column=1 end_column=2}
2 {file_name_id=1 function_name_id=2 line=30 end_line=30 column=1 end_column=2}
3 {file_name_id=2 function_name_id=3 line=7 end_line=7 column=1 end_column=2}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}
3 {file_location_id=3 parent_frame_id=3}

ENTRY main {
  w = f32[8]{0} parameter(0)
  x = f32[8]{0} parameter(1)
  ROOT y = f32[8]{0} add(w, x), metadata={op_name="jit(step)/dense/add" stack_frame_id=3}
}
"""
STEP = """HloModule jit_step, entry_computation_layout={(f32[64,64]{1,0}, f32[8,64]{1,0})->f32[64,64]{1,0}}

ENTRY main {
  w = f32[64,64]{1,0} parameter(0), metadata={op_name="params['layer_0']['w']"}
  x = f32[8,64]{1,0} parameter(1), metadata={op_name="x"}
  y = f32[8,64]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/jvp(layer_0)/dot_general" source_file="/m/train.py" source_line=7}
  t = f32[8,64]{1,0} tanh(y), metadata={op_name="jit(step)/jvp(layer_0)/tanh" source_file="/m/train.py" source_line=8}
  dw = f32[64,64]{1,0} dot(x, t), lhs_contracting_dims={0}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/transpose(jvp(layer_0))/dot_general" source_file="/m/train.py" source_line=7}
  ROOT w2 = f32[64,64]{1,0} subtract(w, dw), metadata={op_name="jit(step)/sub" source_file="/m/train.py" source_line=11}
}
"""
FUSED = """HloModule jit_step, is_scheduled=true

fused {
  a = f32[64,64]{1,0} parameter(0)
  b = f32[64,64]{1,0} parameter(1)
  ROOT sub.5 = f32[64,64]{1,0} subtract(a, b), metadata={op_name="jit(step)/sub" source_file="/m/train.py" source_line=11}
}

fused.1 {
  c = f32[8,64]{1,0} parameter(0)
  ROOT tanh.4 = f32[8,64]{1,0} tanh(c), metadata={op_name="jit(step)/jvp(layer_0)/tanh" source_file="/m/train.py" source_line=8}
}

ENTRY main {
  w = f32[64,64]{1,0} parameter(0), metadata={op_name="params['layer_0']['w']"}
  x = f32[8,64]{1,0} parameter(1), metadata={op_name="x"}
  y = f32[8,64]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/jvp(layer_0)/dot_general" source_file="/m/train.py" source_line=7}
  fusion.1 = f32[8,64]{1,0} fusion(y), kind=kLoop, calls=fused.1
  dw = f32[64,64]{1,0} dot(x, fusion.1), lhs_contracting_dims={0}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/transpose(jvp(layer_0))/dot_general" source_file="/m/train.py" source_line=7}
  ROOT fusion.2 = f32[64,64]{1,0} fusion(w, dw), kind=kLoop, calls=fused
}
"""
TINY = "HloModule jit_add\n\nENTRY e {\n  a = s32[] parameter(0)\n  ROOT s = s32[] add(a, a)\n}\n"
ESCAPES = "\x1b]0;owned\x07\x1b[31m"


class DumpFolder(support.TestCase):
    def setUp(self):
        super().setUp()
        self.dump = self.folder / "dump"
        self.dump.mkdir()
        self.write("module_0003.jit_step.before_optimizations.txt", STEP)
        self.write("module_0003.jit_step.0000.fusion.after_pipeline-start.before_fusion.txt", STEP)
        self.write("module_0003.jit_step.0001.fusion.after_fusion.before_cse.txt", FUSED)
        self.write("module_0003.jit_step.sm_9.0_gpu_after_optimizations.txt", FUSED)
        self.write("module_0003.jit_step.ptx", "// nothing\n")
        self.write("module_0001.jit_add.before_optimizations.txt", TINY)
        self.write("module_0001.jit_add.sm_9.0_gpu_after_optimizations.txt", TINY)

    def write(self, name, text):
        path = self.dump / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def json(self, *arguments):
        result = self.run_program(*arguments, "--format", "json")
        self.assertEqual(result.code, 0, result.stderr)
        return json.loads(result.stdout)

    def lines(self, *arguments, code=0, **options):
        result = self.run_program("explain", *arguments, "--format", "json", **options)
        self.assertEqual(result.code, code, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]


class Explain(DumpFolder):
    def test_one_object_per_file_in_the_order_given(self):
        files = sorted(str(path) for path in self.dump.iterdir())
        objects = self.lines(*reversed(files))
        self.assertEqual([o["file"] for o in objects], list(reversed(files)))
        self.assertTrue(all(o["ok"] for o in objects))
        step = next(
            o
            for o in objects
            if o["file"].endswith("before_optimizations.txt") and "step" in o["file"]
        )
        self.assertEqual(
            (step["module"], step["computations"], step["instructions"]), ("jit_step", 1, 6)
        )
        fused = next(o for o in objects if o["kind"] == "hlo_after" and "step" in o["file"])
        self.assertEqual((fused["computations"], fused["instructions"]), (3, 11))
        self.assertEqual(fused["target"], "sm_9.0")

    def test_bad_file_has_a_place_and_others_are_read(self):
        bad = self.write(
            "module_0009.jit_bad.before_optimizations.txt",
            "HloModule m\nENTRY e {\n  ROOT a = f32[] negate(b)\n}\n",
        )
        proto = self.dump / "module_0010.jit_bad.before_optimizations.hlo.pb"
        proto.write_bytes(b"\x00\xff\xff\xff")
        good = self.dump / "module_0001.jit_add.before_optimizations.txt"
        objects = self.lines(bad, proto, self.dump / "missing.txt", good, code=1)
        self.assertEqual([o["ok"] for o in objects], [False, False, False, True])
        self.assertEqual((objects[0]["line"], objects[0]["column"]), (3, 25))
        self.assertIn("b", objects[0]["error"])
        for o in objects[1:3]:
            self.assertIsNone(o["line"])
            self.assertNotEqual(o["error"], "")

    def test_list_of_files_is_read_from_file_or_stdin(self):
        files = sorted(str(path) for path in self.dump.iterdir())
        many = (files * 3000)[:20000]
        listing = self.folder / "list"
        listing.write_text("\n".join(many) + "\n")
        objects = self.lines("--files-from", listing)
        self.assertEqual([o["file"] for o in objects], many)
        piped = self.lines("--files-from", "-", stdin="\r\n".join(files).encode())
        self.assertEqual([o["file"] for o in piped], files)

    def test_instructions_have_all_keys(self):
        file = self.dump / "module_0003.jit_step.sm_9.0_gpu_after_optimizations.txt"
        objects = self.lines(file, "--instructions")
        keys = [
            "schema_version",
            "file",
            "module",
            "computation",
            "instruction",
            "is_root",
            "is_entry",
            "opcode",
            "shape",
            "op_name",
            "source_file",
            "source_line",
            "phase",
            "layer",
            "flops",
            "bytes",
            "target",
            "operands",
            "stack",
        ]
        self.assertTrue(all(list(o) == keys for o in objects))
        by_name = {o["instruction"]: o for o in objects}
        self.assertEqual(len(by_name), 11)
        y = by_name["y"]
        self.assertEqual(
            (y["opcode"], y["shape"], y["phase"], y["layer"], y["source_line"], y["flops"]),
            ("dot", "f32[8,64]{1,0}", "forward", "layer_0", 7, 2 * 8 * 64 * 64),
        )
        self.assertEqual(y["bytes"], 4 * (8 * 64 + 64 * 64 + 8 * 64))
        self.assertEqual(by_name["dw"]["phase"], "backward")
        self.assertEqual(by_name["fusion.2"]["phase"], "optimizer")
        self.assertTrue(by_name["fusion.2"]["is_root"] and by_name["fusion.2"]["is_entry"])
        self.assertFalse(by_name["sub.5"]["is_entry"])
        self.assertIsNone(by_name["fusion.1"]["op_name"])

    def test_instructions_have_their_operands_and_call_stack(self):
        file = self.write("stack.txt", STACK)
        by_name = {o["instruction"]: o for o in self.lines(file, "--instructions")}
        self.assertEqual(by_name["y"]["operands"], ["w", "x"])
        self.assertEqual(by_name["w"]["operands"], [])
        self.assertEqual(
            [(f["file"], f["line"], f["function"]) for f in by_name["y"]["stack"]],
            [("layers.py", 7, "dense"), ("train.py", 30, "loss"), ("train.py", 12, "<module>")],
        )
        self.assertEqual(by_name["w"]["stack"], [])
        listed = self.json("modules", file)["modules"][0]["parameters"]
        self.assertEqual([value["aliased"] for value in listed], [False, True])

    def test_cost_of_modules_and_instructions(self):
        file = self.dump / "module_0003.jit_step.before_optimizations.txt"
        [module] = self.lines(file, "--cost")
        dots, tanh, subtract = 2 * 2 * 8 * 64 * 64, 8 * 64, 64 * 64
        self.assertEqual(module["cost"]["hlo"]["flops"], dots + subtract)
        self.assertEqual(module["cost"]["hlo"]["transcendentals"], tanh)
        # GpuHloCostAnalysis: 3 cycles for each element of an elementwise operation.
        self.assertEqual(module["cost"]["gpu"]["flops"], dots + 3 * subtract + 3 * tanh)
        objects = {o["instruction"]: o for o in self.lines(file, "--cost", "--instructions")}
        for model in ("hlo", "gpu"):
            cost = objects["y"]["cost"][model]
            self.assertEqual(
                set(cost), {"flops", "bytes_accessed", "output_bytes", "transcendentals"}
            )
            self.assertEqual((cost["flops"], cost["output_bytes"]), (2 * 8 * 64 * 64, 4 * 8 * 64))
        text = self.run_program("explain", file, "--cost").stdout
        self.assertIn("cost.hlo", text)
        self.assertIn("cost.gpu", text)

    def test_cards_and_tables_fit_the_terminal(self):
        files = sorted(str(path) for path in self.dump.iterdir())
        for width in ("80", "120"):
            card = self.run_program("explain", files[-1], env={**os.environ, "COLUMNS": width})
            self.assertEqual(card.code, 0)
            table = self.run_program(
                "explain", *files, cwd=self.dump, env={**os.environ, "COLUMNS": width}
            )
            for line in table.stdout.splitlines()[1:]:
                self.assertLessEqual(len(line), int(width))

    def test_explain_prints_hostile_names_without_escapes(self):
        fifo = self.dump / "module_0005.jit_f.before_optimizations.txt"
        os.mkfifo(fifo)
        loop = self.dump / "loop"
        loop.symlink_to(loop)
        objects = self.lines(fifo, loop, self.dump, code=1)
        self.assertEqual([o["ok"] for o in objects], [False] * 3)

    def test_every_hlo_file_of_the_recorded_data_is_read(self):
        root = support.require_data("hlo/cover")
        folders = [
            root,
            support.require_data("hlo/before_optimizations"),
            support.require_data("dumps"),
            support.require_data("own"),
            support.require_data("captures"),
        ]
        files = []
        for folder in folders:
            for path in sorted(folder.rglob("*")):
                name = path.name
                if not path.is_file() or "derived" in path.parts or ".tar" in name:
                    continue
                if name.startswith("module_") or name.endswith((".hlo", ".hlo.txt", ".hlo.pb")):
                    files.append(str(path))
        self.assertGreater(len(files), 550)
        listing = self.folder / "list"
        listing.write_text("\n".join(files))
        objects = self.lines("--files-from", listing)
        self.assertEqual([o["file"] for o in objects if not o["ok"]], [])
        index = {str(root / e["file"]): e for e in json.loads((root / "index.json").read_text())}
        for o in objects:
            if o["file"] in index:  # Counted by XLA's own parser.
                self.assertEqual(o["instructions"], index[o["file"]]["instructions"], o["file"])

    def test_rejected_texts_are_refused_with_a_place(self):
        root = support.require_data("hlo/reject")
        files = []
        for entry in json.loads((root / "index.json").read_text()):
            if entry["reject_class"] in ("syntax", "reference"):
                files.append(str(root / pathlib.Path(entry["file"]).name))
        for o in self.lines(*files, code=1):
            self.assertFalse(o["ok"], o["file"])
            self.assertGreaterEqual(o["line"], 1)
            self.assertGreaterEqual(o["column"], 1)


class Modules(DumpFolder):
    def test_main_first_with_the_reason(self):
        document = self.json("modules", self.dump)
        self.assertEqual(document["schema_version"], 1)
        main, helper = document["modules"]
        self.assertEqual(
            (main["module"], main["role"], main["program_id"]), ("jit_step", "main", 3)
        )
        self.assertIn("backward", main["why"])
        self.assertEqual(helper["role"], "helper")
        self.assertEqual((main["origin"], main["function"]), ("jit", "step"))
        self.assertEqual((main["source_file"], main["source_first_line"]), ("/m/train.py", 7))
        self.assertEqual(main["opcodes"], {"dot": 2, "fusion": 2})
        self.assertEqual(main["parameter_bytes"], 4 * (64 * 64 + 8 * 64))
        self.assertEqual(
            {f["kind"] for f in main["files"]}, {"hlo_before", "hlo_after", "hlo_pass", "ptx"}
        )
        [link] = document["links"]
        self.assertTrue(link["inferred"])
        self.assertEqual(document["missing_numbers"], 1)

    def test_text_names_the_main_module_and_fits(self):
        for width in (80, 120):
            result = self.run_program(
                "modules", "dump", env={**os.environ, "COLUMNS": str(width)}
            )
            self.assertEqual(result.code, 0, result.stderr)
            self.assert_golden_text(result.stdout)
            for line in result.stdout.splitlines()[1:]:
                self.assertLessEqual(len(line), width, line)

    def test_one_module_by_number_name_or_part(self):
        for wanted in ("3", "jit_step", "step"):
            result = self.run_program("modules", self.dump, wanted)
            self.assertIn("jit_step (3)", result.stdout)
            self.assertIn("params['layer_0']['w']", result.stdout)
        result = self.run_program("modules", self.dump, "nothing")
        self.assertEqual(result.code, 1)
        self.assertIn("jit_step", result.stderr)

    def test_hundreds_of_modules_are_cut_with_a_count(self):
        for number in range(100, 400):
            self.write(f"module_0{number}.jit_add.before_optimizations.txt", TINY)
        result = self.run_program("modules", "dump")
        self.assert_golden_text(result.stdout)
        result = self.run_program("modules", "dump", "--all")
        self.assertEqual(result.stdout.count("\n"), len(result.stdout.splitlines()))
        self.assert_golden_text(result.stdout)
        self.assertEqual(len(self.json("modules", self.dump)["modules"]), 302)

    def test_modules_prints_hostile_names_without_escapes(self):
        os.mkfifo(self.dump / "module_0005.jit_f.before_optimizations.txt")
        (self.dump / "around").symlink_to(self.dump, target_is_directory=True)
        evil = self.write(
            f"module_0006.{ESCAPES}.before_optimizations.txt".replace("/", "_"),
            TINY.replace("jit_add", "evil"),
        )
        self.assertTrue(evil.exists())
        for arguments in (("modules", self.dump), ("find", "add", self.dump), ("explain", evil)):
            result = self.run_program(*arguments)
            self.assertEqual(result.code, 0, result.stderr)
            self.assertNotIn("\x1b", result.stdout)

    def test_memory_of_a_module_compiled_for_a_gpu(self):
        dump = support.require_data("own/jax-sm90/cmdbuf")
        [module] = self.json("modules", dump)["modules"]
        memory = module["memory"]
        # JAX's memory_analysis() of the same compilation: 6,397,988 bytes of arguments.
        self.assertEqual(memory["parameter_bytes"], 6397988)
        self.assertEqual(
            memory["total_bytes"],
            sum(memory[part + "_bytes"] for part in ("parameter", "output", "constant", "temp")),
        )
        self.assertGreater(len(memory["at_peak"]), 0)

    def test_a_folder_without_dumps_is_an_error(self):
        empty = self.folder / "empty"
        empty.mkdir()
        result = self.run_program("modules", empty)
        self.assertEqual(result.code, 1)
        self.assertIn("xla_dump_to", result.stderr)


class Passes(DumpFolder):
    def test_timeline_lists_passes_with_their_changes(self):
        document = self.json("passes", self.dump, "step")
        self.assertEqual(
            [s["pass"] for s in document["steps"]],
            ["before_optimizations", "pipeline-start", "fusion", "after_optimizations"],
        )
        self.assertEqual([s["changed"] for s in document["steps"]], [None, False, True, False])
        self.assertEqual(document["steps"][2]["delta"], {"fusion": 2, "tanh": -1, "subtract": -1})
        text = self.run_program("passes", self.dump, "3").stdout
        self.assertIn("+2 fusion", text)

    def test_comparison_of_two_passes_lists_made_and_fused_instructions(self):
        for chosen in (
            ("--from", "0", "--to", "fusion"),
            ("--to", "1"),
            ("--from", "before", "--to", "after"),
        ):
            comparison = self.json("passes", self.dump, "jit_step", *chosen)["comparison"]
            made = {
                a["instruction"]: a["others"] for a in comparison["after"] if a["what"] == "made"
            }
            self.assertEqual(made, {"fusion.1": ["t"], "fusion.2": ["w2"]})
            gone = {
                b["instruction"]: b["what"] for b in comparison["before"] if b["what"] != "changed"
            }
            self.assertEqual(gone, {"t": "fused", "w2": "fused"})

    def test_history_of_an_instruction_is_listed(self):
        history = self.json("passes", self.dump, "step", "--instruction", "fusion.2")["history"]
        self.assertEqual([e["what"] for e in history["events"]], ["made", "last"])
        self.assertEqual([o["instruction"] for o in history["events"][0]["others"]], ["w2"])
        self.assertEqual(history["origins"][0]["source_line"], 11)
        text = self.run_program("passes", "dump", "step", "--instruction", "w2").stdout
        self.assert_golden_text(text)

    def test_unknown_passes_and_instructions_are_errors(self):
        self.assertEqual(self.run_program("passes", self.dump, "step", "--from", "nothing").code, 2)
        result = self.run_program("passes", self.dump, "add")
        self.assertEqual(result.code, 0, result.stderr)  # before and after are enough.
        result = self.run_program("passes", self.dump, "step", "--instruction", "fusion.77")
        self.assertEqual(result.code, 1)
        self.assertIn("fusion.1", result.stderr)

    def test_recorded_pairs_of_passes_can_be_compared(self):
        dump = support.require_data("own/jax-sm90/cmdbuf")
        comparison = self.json("passes", dump, "train_step", "--from", "before", "--to", "after")[
            "comparison"
        ]
        made = [a for a in comparison["after"] if a["what"] == "made"]
        self.assertGreater(len(made), 50)


class Find(DumpFolder):
    def names(self, *arguments):
        return [
            (h["instruction"], h["dumps"][0], h["dumps"][-1])
            for h in self.json("find", *arguments)["hits"]
        ]

    def test_find_over_all_passes_has_one_row_per_instruction(self):
        hits = self.names("train.py:11", self.dump)
        dumps = {name: (first, last.split()[0]) for name, first, last in hits}
        self.assertEqual(dumps, {"w2": ("before_optimizations", "0"), "sub.5": ("1 fusion", "after_optimizations")})
        self.assertEqual(len(hits), 2)

    def test_find_matches_shape_opcode_op_name_and_name(self):
        self.assertEqual(
            {h[0] for h in self.names("s32[]", self.dump, "--in", "shape")}, {"a", "s"}
        )
        self.assertEqual(
            {h[0] for h in self.names("^dot$", self.dump, "--in", "opcode")}, {"y", "dw"}
        )
        self.assertEqual({h[0] for h in self.names("transpose.*dot_general", self.dump)}, {"dw"})
        best = self.names("fusion.1", self.dump)[0][0]
        self.assertEqual(best, "fusion.1")
        self.assertEqual(
            self.names("tanh", self.dump, "--stage", "before"),
            [("t", "before_optimizations", "before_optimizations")],
        )
        self.assertEqual(self.names("tanh", self.dump, "--module", "add"), [])

    def test_find_prints_context_and_place(self):
        result = self.run_program("find", "fusion.1", self.dump, "--in", "name", "-C", "1")
        self.assertIn("> fusion.1 = f32[8,64] fusion(y)", result.stdout)
        self.assertIn("y = f32[8,64] dot(x, w)", result.stdout)
        line = next(
            i for i, text in enumerate(FUSED.splitlines(), 1) if text.startswith("  fusion.1 = ")
        )
        self.assertIn(f"sm_9.0_gpu_after_optimizations.txt:{line}", result.stdout)

    def test_find_reports_omitted_rows(self):
        body = "".join(f"  a.{i} = s32[] add(a, a)\n" for i in range(500))
        self.write(
            "module_0008.jit_many.before_optimizations.txt",
            "HloModule jit_many\nENTRY e {\n  a = s32[] parameter(0)\n" + body + "}\n",
        )
        result = self.run_program("find", "^a[.]", self.dump)
        self.assertIn("470 more: --all", result.stdout)
        result = self.run_program("find", "^a[.]", self.dump, "--all")
        self.assertNotIn("more: --all", result.stdout)
        self.assertIn("a.499", result.stdout)

    def test_a_damaged_dump_is_named(self):
        self.write("module_0009.jit_bad.before_optimizations.txt", "HloModule")
        result = self.run_program("find", "tanh", self.dump)
        self.assertEqual(result.code, 0)
        self.assertIn("module_0009", result.stderr)


class OfARun(support.TestCase):
    def test_modules_and_find_read_a_run(self):
        trace = support.require_data("own/jax-cpu/train-20steps-notracer-py.xplane.pb.xz")
        run = self.folder / "run.db"
        imported = self.run_program("import", trace, "-o", run)
        self.assertEqual(imported.code, 0, imported)
        document = json.loads(self.run_program("modules", run, "--format", "json").stdout)
        main = document["modules"][0]
        self.assertEqual(
            (main["module"], main["role"], main["handle"]), ("jit_train_step", "main", "m1")
        )
        self.assertGreater(main["device_ns"], 0)
        self.assertGreater(main["flops"], 10**9)
        found = json.loads(self.run_program("find", "dot_general", run, "--format", "json").stdout)
        timed = [h for h in found["hits"] if h["device_ns"]]
        self.assertGreater(len(timed), 0)
        rows = self.run_program("modules", run).stdout.splitlines()
        row = next(row.split() for row in rows if row.startswith("m1 "))
        self.assertEqual(row[3], f"{main['device_ns'] / 1e6:.0f}")
        card = self.run_program("modules", run, "m1").stdout
        self.assertIn("jit_train_step (m1)", card)


if __name__ == "__main__":
    unittest.main()
