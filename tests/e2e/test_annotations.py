# SPDX-License-Identifier: Apache-2.0
"""Runs without HLO, or with HLO of only some modules, another run or another program: ranges and profilers'
stats are enough."""

import shutil
import sqlite3
import unittest

import annotated_export
import support
from support import TestCase

HLO = """HloModule {module}, is_scheduled=true

body {{
  p = f32[8]{{0}} parameter(0)
  ROOT add = f32[8]{{0}} add(p, p), metadata={{op_name="{op_name}"}}
}}

ENTRY main {{
  p0 = f32[8]{{0}} parameter(0)
  ROOT {instruction} = f32[8]{{0}} fusion(p0), kind=kLoop, calls=body, metadata={{op_name="{op_name}"}}
}}
"""


def dump(folder, module, number, instruction, op_name):
    folder.mkdir(exist_ok=True)
    path = folder / f"module_{number:04d}.{module}.sm_12.0_gpu_after_optimizations.txt"
    path.write_text(HLO.format(module=module, instruction=instruction, op_name=op_name))
    return folder


def rows(path, sql, *parameters):
    with sqlite3.connect(path) as run:
        return run.execute(sql, parameters).fetchall()


def fields(data):
    """(number, whole field, content) of a message; content is None where it is no bytes."""
    at = 0
    while at < len(data):
        start = at
        tag, at = varint(data, at)
        content = None
        if tag & 7 == 2:
            size, at = varint(data, at)
            content = data[at : at + size]
            at += size
        elif tag & 7 == 0:
            _, at = varint(data, at)
        else:
            at += 8 if tag & 7 == 1 else 4
        yield tag >> 3, data[start:at], content


def strip_hlo(data, keep_every=None):
    """An XSpace without its modules (the plane `/host:metadata`); with every so many of them."""
    out = bytearray()
    for number, whole, content in fields(data):
        if number == 1 and name_of(content) == b"/host:metadata":
            if keep_every:
                kept = bytearray()
                for place, (inner, field, _) in enumerate(fields(content)):
                    if inner != 4 or place % keep_every == 0:  # event_metadata: one per module
                        kept += field
                out += b"\x0a" + length(len(kept)) + kept
            continue
        out += whole
    return bytes(out)


def length(size):
    out = bytearray()
    while size > 127:
        out.append(size & 127 | 128)
        size >>= 7
    return bytes([*out, size])


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def name_of(plane):
    return next((content for number, _, content in fields(plane) if number == 2), b"")


class NsysExport(TestCase):
    def setUp(self):
        super().setUp()
        self.export = annotated_export.training(self.folder / "export.sqlite")

    def import_export(self, *more):
        result = self.run_program("import", "export.sqlite", "-o", "run.db", "--force", *more)
        self.assertEqual(result.code, 0, result)
        return self.folder / "run.db"

    def check_truth(self, run, confidence="exact", modules=None):
        """Every kernel in a range has its instruction; `modules`: other words for some of them."""
        seen = 0
        for correlation, module, program_id, instruction, op_name, sure in rows(
            run,
            "SELECT correlation_id, module, program_id, instruction, op_name, confidence"
            " FROM activity WHERE kind = 'kernel'",
        ):
            truth = self.export.truth[correlation]
            self.assertEqual((module, program_id, instruction, op_name), truth)
            self.assertEqual(sure, (modules or {}).get(module, confidence), truth)
            seen += 1
        self.assertEqual(seen, len(self.export.truth))

    def test_ranges_without_modules_attribute_launches(self):
        run = self.import_export()
        self.check_truth(run)
        self.assertEqual({s for (s,) in rows(run, "SELECT source FROM module")}, {"annotation"})
        (coverage,) = rows(
            run, "SELECT sum(self_ns) FROM activity WHERE instruction IS NULL"
        )[0]
        self.assertIsNone(coverage)

    def test_graph_rows_are_divided_by_earlier_single_launches(self):
        run = self.import_export()
        graphs = rows(
            run,
            "SELECT correlation_id, activity_id, module, program_id, confidence, instruction, mixed"
            " FROM activity WHERE kind = 'graph'",
        )
        self.assertEqual(len(graphs), len(self.export.rows))
        for correlation, activity, module, program_id, confidence, instruction, mixed in graphs:
            self.assertEqual((module, program_id), self.export.rows[correlation])
            self.assertEqual((confidence, instruction, mixed),
                             ("inferred", "loop_subtract_fusion.1", 1))
            shares = dict(rows(run, "SELECT instruction, share FROM activity_share"
                                    " WHERE activity_id = ?", activity))
            self.assertEqual(shares, {"loop_subtract_fusion.1": 0.75, "loop_divide_fusion": 0.25})

    def test_phases_layers_kinds_and_steps_work_on_names(self):
        run = self.import_export()
        by_name = {
            name: (phase, layer, kind)
            for name, phase, layer, kind in rows(
                run, "SELECT instruction, phase, layer, op_kind FROM instruction i JOIN module m"
                     " USING (module_id) WHERE m.name = 'jit_step'")
        }
        self.assertEqual(by_name["gemm_fusion_dot.3"], ("forward", "mlp", "gemm"))
        self.assertEqual(by_name["loop_add_fusion"][:2], ("backward", "mlp"))
        self.assertEqual(by_name["cublas-gemm.2"][2], "gemm")
        self.assertEqual(by_name["copy.28"][2], "copy")
        main = rows(run, "SELECT name FROM module WHERE role = 'main'")
        self.assertEqual(main, [("jit_step",)])
        self.assertEqual(rows(run, "SELECT count(*) FROM step"), [(8,)])
        self.assertEqual(
            rows(run, "SELECT count(*) FROM execution x JOIN module USING (module_id)"
                      " WHERE name = 'jit_step'"), [(8,)])

    def test_missing_hlo_is_reported_with_a_command_that_adds_it(self):
        run = self.import_export()
        (advice,) = rows(run, "SELECT advice FROM run_stat WHERE name = 'modules_without_hlo'")[0]
        (text,) = rows(run, "SELECT text FROM ruled_out WHERE id = 'hlo'")[0]
        self.assert_golden_text(advice + "\n" + text)
        nulls = rows(run, "SELECT count(*) FROM instruction WHERE flops IS NOT NULL"
                          " OR bytes IS NOT NULL OR shape IS NOT NULL OR operands IS NOT NULL")
        self.assertEqual(nulls, [(0,)])

    def test_every_command_works_on_such_a_run(self):
        self.import_export()
        for arguments in (("summary", "run.db"), ("report", "run.db", "-o", "run.html"),
                          ("show", "o1", "run.db"), ("show", "m1", "run.db"),
                          ("modules", "run.db"), ("find", "fusion", "run.db")):
            with self.subTest(command=arguments):
                result = self.run_program(*arguments)
                self.assertEqual(result.code, 0, result)

    def test_hlo_of_one_module_leaves_the_others_as_they_are(self):
        folder = dump(self.folder / "dump", "jit_convert", 12, "loop_add_fusion.1",
                      "jit(convert)/convert_element_type")
        run = self.import_export("--modules", folder)
        self.check_truth(run)
        self.assertEqual(
            rows(run, "SELECT source FROM module WHERE name = 'jit_convert'"), [("dump",)])
        self.assertEqual(
            rows(run, "SELECT shape FROM instruction WHERE instruction = 'loop_add_fusion.1'"
                      " AND shape IS NOT NULL"), [("f32[8]{0}",)])

    def test_modules_of_another_run_of_the_program_are_inferred(self):
        folder = dump(self.folder / "dump", "jit_convert", 44, "loop_add_fusion.1",
                      "jit(convert)/convert_element_type")
        run = self.import_export("--modules", folder)
        self.check_truth(run, modules={"jit_convert": "inferred"})
        (advice,) = rows(run, "SELECT advice FROM run_stat"
                              " WHERE name = 'modules_of_another_run'")[0]
        self.assert_golden_text(advice)

    def test_equal_program_number_of_another_program_attributes_nothing(self):
        folder = dump(self.folder / "dump", "jit_step", 186, "loop_divide_fusion.9",
                      "jit(step)/other")
        run = self.import_export("--modules", folder)
        self.check_truth(run)
        self.assertEqual(
            rows(run, "SELECT DISTINCT m.source FROM activity JOIN module m USING (module_id)"
                      " WHERE module = 'jit_step'"), [("annotation",)])
        (advice,) = rows(run, "SELECT advice FROM run_stat"
                              " WHERE name = 'module_of_another_program'")[0]
        self.assert_golden_text(advice)

    def test_attach_gives_what_an_import_with_modules_gives(self):
        folder = dump(self.folder / "dump", "jit_convert", 12, "loop_add_fusion.1",
                      "jit(convert)/convert_element_type")
        dump(folder, "jit_inner", 300, "loop_add_fusion", "jit(inner)/jit(main)/add")
        shutil.copy(self.import_export("--modules", folder), self.folder / "want.db")
        self.import_export()
        (self.folder / "export.sqlite").unlink()
        (self.folder / "run.db").chmod(0o600)
        result = self.run_program("attach", "run.db", "--modules", folder)
        self.assertEqual(result.code, 0, result)
        self.assert_golden_text(result.stderr)
        self.assertEqual((self.folder / "run.db").stat().st_mode & 0o777, 0o600)
        views = [name for (name,) in rows(
            self.folder / "want.db",
            "SELECT name FROM sqlite_master WHERE type = 'view' AND name NOT LIKE 'x!_%' ESCAPE '!'")]
        for view in views:
            if view in ("StringIds", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                        "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"):
                continue  # Refer to strings by numbers of their own.
            with self.subTest(view=view):
                got, want = (
                    sorted(rows(self.folder / name, f'SELECT * FROM "{view}"'), key=repr)
                    for name in ("run.db", "want.db"))
                self.assertEqual(got, want)

    def test_second_attach_of_the_same_modules_changes_nothing(self):
        folder = dump(self.folder / "dump", "jit_convert", 12, "loop_add_fusion.1",
                      "jit(convert)/convert_element_type")
        self.import_export("--modules", folder)
        before = rows(self.folder / "run.db", "SELECT * FROM module ORDER BY 1")
        result = self.run_program("attach", "run.db", "--modules", folder.name)
        self.assertEqual(result.code, 0, result)
        self.assert_golden_text(result.stderr)
        self.assertEqual(rows(self.folder / "run.db", "SELECT * FROM module ORDER BY 1"), before)

    def test_attach_of_a_text_file_leaves_the_run_unchanged(self):
        run = self.import_export()
        before = run.read_bytes()
        (self.folder / "notes.txt").write_text("text")
        result = self.run_program("attach", "run.db", "--modules", "notes.txt")
        self.assertEqual(result.code, 1, result)
        self.assertIn("'notes.txt': 1:5: ", result.stderr)
        self.assertEqual(len(result.hints), 1, result)
        self.assert_golden_text(result.stderr)
        self.assertEqual(run.read_bytes(), before)

    def test_unreadable_dump_file_leaves_other_files_usable(self):
        folder = dump(self.folder / "dump", "jit_convert", 12, "loop_add_fusion.1",
                      "jit(convert)/convert_element_type")
        damaged = dump(folder, "jit_inner", 190, "loop_add_fusion", "jit(inner)/jit(main)/add")
        damaged /= "module_0190.jit_inner.sm_12.0_gpu_after_optimizations.txt"
        (folder / f"{damaged.name}.gz").write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\3cut")
        damaged.unlink()
        run = self.import_export("--modules", folder)
        self.check_truth(run)
        self.assertEqual(rows(run, "SELECT name FROM module WHERE source = 'dump'"),
                         [("jit_convert",)])
        self.assertEqual(
            [name for (name,) in rows(run, "SELECT source FROM run_stat"
                                           " WHERE name = 'input_skipped'")],
            [str(folder / f"{damaged.name}.gz")])


class StrippedProfiles(TestCase):
    """Real profiles without the HLO that they carry."""

    SQL = ("SELECT activity_id, a.module, a.program_id, a.instruction, a.confidence, a.op_name,"
           " i.op_name_method FROM activity a JOIN instruction i USING (module_id, instruction)"
           " WHERE a.evidence = 'annotation'")

    def check(self, name):
        data = support.require_data(f"xplane/{name}").read_bytes()
        for kind, content in (("whole", data), ("stripped", strip_hlo(data)),
                              ("half", strip_hlo(data, 2))):
            (self.folder / f"{kind}.xplane.pb").write_bytes(content)
            result = self.run_program("import", f"{kind}.xplane.pb", "-o", f"{kind}.db", "--force")
            self.assertEqual(result.code, 0, result)
        whole = rows(self.folder / "whole.db", self.SQL)
        self.assertGreater(len(whole), 0)
        for kind in ("stripped", "half"):
            poor = rows(self.folder / f"{kind}.db", self.SQL)
            self.assertEqual([row[:5] for row in poor], [row[:5] for row in whole], kind)
            for (*_, op_name, _), (*place, truth, method) in zip(poor, whole):
                # The annotation of an instruction has its own op_name, except for some fusions. Other
                # names are found in its body or beside it; of those, the shared path may be reported.
                if method == "own" and "fusion" not in place[3]:
                    self.assertEqual(op_name, truth, (kind, place))
                else:
                    self.assertTrue(op_name is None or truth.startswith(op_name), (kind, place))
        sources = rows(self.folder / "stripped.db", "SELECT DISTINCT source FROM module")
        self.assertEqual(sources, [("annotation",)])
        with_hlo = rows(self.folder / "half.db", "SELECT DISTINCT source FROM module ORDER BY 1")
        self.assertIn(("xplane",), with_hlo)

    def test_stripped_gpu_profiles_keep_their_labels(self):
        for name in ("jax08_elementwise", "jax08_gemm", "jax_conv_minimal"):
            with self.subTest(profile=name):
                self.check(f"{name}.xplane.pb")

    def test_stripped_tpu_profiles_keep_their_labels(self):
        self.check("tpu_v6e_jit_f_4chips.xplane.pb")


class Lookups(TestCase):
    def test_views_use_an_index_for_keys(self):
        """A key of docs/schema.md is found by an index, also from inside a subquery."""
        annotated_export.training(self.folder / "export.sqlite")
        self.run_program("import", "export.sqlite", "-o", "run.db")
        keys = {
            "activity": ("activity_id",), "launch": ("launch_id",), "process": ("process_id",),
            "activity_share": ("activity_id",), "device": ("device_id",),
            "range": ("range_id",), "module": ("module_id",),
            "instruction": ("module_id", "instruction"),
            "instruction_share": ("module_id", "instruction"),
            "op_time": ("module_id", "instruction"), "execution": ("execution_id",),
            "step": ("step", "device_id"), "step_part": ("device_id", "step"),
            "phase_time": ("device_id", "step"), "busy_time": ("device_id",),
            "collective": ("activity_id",), "finding": ("rank",), "run_info": ("key",),
            "thread": ("process_id", "thread_id"), "launch_queue": ("device_id",),
            "copy": ("activity_id",),
        }
        for view, columns in keys.items():
            with self.subTest(view=view):
                where = " AND ".join(f"v.{name} = a.k{i}" for i, name in enumerate(columns))
                values = ", ".join(f"activity_id + {i} AS k{i}" for i in range(len(columns)))
                plan = [detail for *_, detail in rows(
                    self.folder / "run.db",
                    f'EXPLAIN QUERY PLAN SELECT (SELECT count(*) FROM "{view}" v WHERE {where})'
                    f" FROM (SELECT {values} FROM x_packed_activity p JOIN (SELECT 1 AS"
                    " activity_id) ON 1) a")]
                inner = plan[next(i for i, line in enumerate(plan) if "SUBQUERY" in line):]
                bad = [line for line in inner
                       if line.startswith("SCAN") or "AUTOMATIC" in line or "MATERIALIZE" in line]
                self.assertEqual(bad, [])


    def test_lookup_per_launch_takes_few_sqlite_steps(self):
        """Steps of SQLite's machine, which are equal on every machine. A scan of the 4,000 instructions for
        each of the 20,000 launches would be a hundred times as many."""
        capture = support.require_data("captures/nsys-jax-maxtext-fsdp4-h100")
        self.assertEqual(self.run_program("import", capture, "-o", "run.db").code, 0)
        steps = 0

        def count():
            nonlocal steps
            steps += 100

        with sqlite3.connect(self.folder / "run.db") as run:
            run.set_progress_handler(count, 100)
            launches, modules, instructions = run.execute(
                "SELECT count(*), count(m), count(i) FROM (SELECT (SELECT name FROM module"
                " WHERE module_id = l.module_id) AS m, (SELECT opcode FROM instruction AS i"
                " WHERE i.module_id = l.module_id AND i.instruction = l.instruction) AS i"
                " FROM launch AS l)").fetchone()
        self.assertGreater(launches, 20_000)
        self.assertGreater(modules, 0.99 * launches)
        self.assertEqual(instructions, modules)
        self.assertLess(steps / launches, 400)


if __name__ == "__main__":
    unittest.main()
