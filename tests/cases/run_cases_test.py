#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The runner of text cases: what it reads, what it refuses and where, what fails, what --update writes."""

import contextlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CASES = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(CASES), str(CASES / "runner")]
import run_cases  # noqa: E402
from case_file import CaseError, parse_case  # noqa: E402
from expected import matches, written  # noqa: E402
from hook_folder import Log  # noqa: E402
from programs import read_program  # noqa: E402
from run_language import Reader, build_timeline, changed  # noqa: E402
from xxh3 import xxh3_64  # noqa: E402

PROGRAM = """program jit_step
  x = f32[64,64]{1,0} parameter(0)
  y = f32[64,64]{1,0} sine(x)  @jit(step)/net/sin train.py:7
  ROOT z = f32[64,64]{1,0} cosine(y)  @jit(step)/net/cos train.py:8
"""
RUN = """
run
  device H100
  execute jit_step x 3
    y 100 us
    z  50 us
"""


def sections(text):
    return parse_case("# A title.\n\n" + text, "case.txt", "case.txt").sections


def timeline(statements, program=PROGRAM):
    parsed = sections(program + "\nrun\n" + statements)
    programs = {parsed[0].rest: read_program(parsed[0], 1)}
    return build_timeline(Reader(programs).statements(parsed[1].body), programs, parsed[1].head)


def intervals(statements, device=0):
    """(name, stream, start, end) in us of the work of a device."""
    return [(work.statement.name, work.stream, work.start_ns / 1000, work.end_ns / 1000)
            for work in timeline(statements).work if work.device == device]


class HookLog(unittest.TestCase):
    def test_statements_end_at_the_start_of_the_run(self):
        (section,) = sections("hook\n  import jax 2 s at a.py:1\n  compile f 3 s at a.py:9 of b.py:2\n    trace 1 s\n"
                              '    again shape name="x[0]" before=f32[8] after=f32[9]\n    constant value=2MiB at b.py:4\n')
        lines = [json.loads(line) for line in Log(section.body).text().splitlines()]
        self.assertEqual([(line["stage"], (line["end"] - line["start"]) // 10**9) for line in lines],
                         [("process", 0), ("import", 2), ("trace", 1), ("compile", 2)])
        self.assertEqual(lines[-1]["end"] - lines[0]["start"], 5 * 10**9)
        compiled = lines[-1]
        self.assertEqual((compiled["file"], compiled["line"], compiled["function"]["line"]), ("a.py", 9, 2))
        self.assertEqual(compiled["again"], ["shape"])
        self.assertEqual(compiled["details"][0], {"kind": "shape", "name": "x[0]", "before": "f32[8]", "after": "f32[9]"})
        self.assertEqual(compiled["details"][1], {"kind": "constant", "value": 2 << 20, "file": "b.py", "line": 4})

    def test_unknown_statement_is_refused_with_its_place(self):
        (section,) = sections("hook\n  download jax 2 s\n")
        with self.assertRaisesRegex(CaseError, "case.txt:4: 'download' is no statement"):
            Log(section.body)


class Statements(unittest.TestCase):
    def test_work_on_stream_1_runs_one_after_the_other(self):
        self.assertEqual(intervals("  device H100\n  execute jit_step\n    y 100 us\n    z 0.5 ms"),
                         [("y", 1, 0, 100), ("z", 1, 100, 600)])

    def test_work_on_another_stream_does_not_move_the_clock(self):
        work = ("  device H100\n  execute jit_step\n    y 100 us on stream 2\n    z 20 us\n    y 10 us on stream 2\n"
                "    wait for stream 2\n    z 1 us")
        self.assertEqual(intervals(work), [("y", 2, 0, 100), ("z", 1, 0, 20), ("y", 2, 100, 110), ("z", 1, 110, 111)])

    def test_listed_times_are_taken_in_turn(self):
        self.assertEqual([end - start for _, _, start, end in
                          intervals("  device H100\n  execute jit_step x 5\n    y 1, 2 us")], [1, 2, 1, 2, 1])

    def test_columns_are_times_of_devices(self):
        work = "  device H100 x 2\n  execute jit_step\n    y 1 us | 2 us\n    z - | 3 us"
        self.assertEqual(intervals(work, 0), [("y", 1, 0, 1)])
        self.assertEqual(intervals(work, 1), [("y", 1, 0, 2), ("z", 1, 2, 5)])

    def test_ranks_have_devices_each(self):
        self.assertEqual(len(timeline("  ranks 2\n  device H100 x 2\n  execute jit_step\n    y 1 us").work), 4)

    def test_idle_time_moves_the_clock_and_occupies_the_host(self):
        made = timeline("  device H100\n  idle 30 us in fit > next_batch\n  execute jit_step\n    y 1 us")
        self.assertEqual((made.host[0].start_ns, made.host[0].end_ns), (0, 30_000))
        self.assertEqual(made.host[0].names, ["fit", "next_batch"])
        self.assertEqual(made.work[0].start_ns, 30_000)

    def test_repetitions_nest(self):
        work = "  device H100\n  repeat 2\n    execute jit_step x 2\n      y 1 us\n    at 10, 20 us"
        self.assertEqual([start for _, _, start, _ in intervals(work)], [0, 1, 10, 11])

    def test_without_a_body_all_instructions_that_work_run(self):
        self.assertEqual(intervals("  device H100\n  execute jit_step"), [("y", 1, 0, 10), ("z", 1, 10, 20)])

    def test_marks_count_from_0_or_have_numbers(self):
        body = "\n    execute jit_step\n      y 1 us"
        for mark, steps in (("mark step", [0, 1, 2]), ("mark step 7", [7, 7, 7]), ("mark step 3, 9", [3, 9, 3])):
            made = timeline(f"  device H100\n  repeat 3\n    {mark}{body}")
            self.assertEqual([one.step for one in made.marks], steps)

    def test_a_run_like_another_can_wait_longer(self):
        parsed = sections(PROGRAM + "\nrun\n  device H100\n  idle 5 us in load\n  execute jit_step\n\nrun b\n  idle 7 us\n")
        programs = {"jit_step": read_program(parsed[0], 1)}
        reader = Reader(programs)
        made = build_timeline(changed(reader.statements(parsed[1].body), parsed[2].body, reader), programs, parsed[2].head)
        self.assertEqual(made.work[0].start_ns, 7000)

    def test_a_run_like_another_changes_times_and_launches_only(self):
        parsed = sections(PROGRAM + RUN + "\nrun slow\n  y 200 us grid=7\n  times 150 %\n  device A100\n")
        programs = {"jit_step": read_program(parsed[0], 1)}
        reader = Reader(programs)
        first = reader.statements(parsed[1].body)
        made = build_timeline(changed(first, parsed[2].body, reader), programs, parsed[2].head)
        self.assertEqual(made.device, "A100")
        self.assertEqual([work.end_ns - work.start_ns for work in made.work][:2], [300_000, 75_000])
        self.assertEqual(made.work[0].statement.options, {"grid": "7"})
        again = build_timeline(first, programs, parsed[1].head)
        self.assertEqual(again.work[0].end_ns, 100_000)


class Programs(unittest.TestCase):
    def test_bare_lines_become_the_entry_and_metadata_is_written_out(self):
        program = read_program(sections(PROGRAM)[0], 4)
        self.assertEqual(program.text.splitlines(), [
            "HloModule jit_step, is_scheduled=true", "ENTRY main {", "  x = f32[64,64]{1,0} parameter(0)",
            '  y = f32[64,64]{1,0} sine(x), metadata={op_name="jit(step)/net/sin" source_file="train.py" source_line=7}',
            '  ROOT z = f32[64,64]{1,0} cosine(y), metadata={op_name="jit(step)/net/cos" source_file="train.py" '
            "source_line=8}", "}"])
        self.assertEqual((program.id, program.work), (4, ["y", "z"]))

    def test_only_the_entry_runs_by_default(self):
        program = read_program(sections("""program jit_f id 9
  add { p = f32[] parameter(0)
    q = f32[] parameter(1)
    ROOT s = f32[] add(p, q) }
  ENTRY e { x = f32[8]{0} parameter(0)
    c = f32[] constant(0)
    ROOT r = f32[] reduce(x, c), dimensions={0}, to_apply=add
  }
""")[0], 1)
        self.assertEqual((program.id, program.work), (9, ["r"]))
        self.assertEqual(program.opcodes["s"], "add")


class Cells(unittest.TestCase):
    def test_a_number_is_compared_as_it_is_written(self):
        for cell, value, name in (("470 us", 469_697, "saves_ns"), ("469.7 us", 469_697, "saves_ns"),
                                  ("469697", 469_697, "saves_ns"), ("12.5 %", 12.4987, "share_pct"),
                                  ("8 MiB", 8 << 20, "bytes"), ("-3 us", -3000, "change_ns"), ("100 ms", 1e8, "base"),
                                  ("2.0", 1.96, "ratio"), ("1_000", 1000, "count")):
            self.assertTrue(matches(cell, value, name), cell)

    def test_another_number_or_unit_does_not_match(self):
        for cell, value, name in (("469 us", 469_697, "saves_ns"), ("469.6 us", 469_697, "saves_ns"),
                                  ("470 ms", 469_697, "saves_ns"), ("470 MB", 470_000_000, "saves_ns"),
                                  ("12 %", 12.5, "share_pct"), ("x", 1, "count"), ("-", 0, "count"), ("0", None, "count")):
            self.assertFalse(matches(cell, value, name), cell)

    def test_texts_and_nothing_match_in_full(self):
        self.assertTrue(matches("-", None, "name"))
        self.assertTrue(matches("true", True, "established"))
        self.assertTrue(matches("a b", "a  b\n", "text"))
        self.assertFalse(matches("dot", "dot.1", "name"))

    def test_dots_in_a_text_stand_for_any_text(self):
        for cell in ("step 1 ...", "...1 ms...", "...slower", "step 1 ms, slower..."):
            self.assertTrue(matches(cell, "step 1 ms, slower", "text"), cell)
        for cell in ("step 2 ...", "...faster", "1 ms...", "step 1 ms"):
            self.assertFalse(matches(cell, "step 1 ms, slower", "text"), cell)

    def test_actual_values_keep_unit_and_decimals_of_the_cell(self):
        self.assertEqual(written(469_697, "saves_ns", "100.0 us"), "469.7 us")
        self.assertEqual(written(469_697, "saves_ns", "x"), "469.697 us")
        self.assertEqual(written(8 << 20, "bytes"), "8 MiB")
        self.assertEqual(written(1000, "bytes"), "1 KB")
        self.assertEqual(written(0, "idle_ns"), "0 ns")
        self.assertEqual(written(None, "idle_ns"), "-")
        self.assertEqual(written(12.345678, "share_pct"), "12.3457 %")


# Bytes, seed, XXH3_64bits_withSeed of libxxhash 0.8.1 over bytes 0, 1, ... 250, 0, ...
KNOWN_CHECKSUMS = [
    (0, 0, 0x2D06800538D394C2),
    (0, 0x123456789abcdef0, 0x8AA56C2C3D8317F6),
    (1, 0, 0xC44BDFF4074EECDB),
    (1, 0x123456789abcdef0, 0x6610EA1E2F5010B7),
    (7, 0, 0x0CD2084A62406B69),
    (7, 0x123456789abcdef0, 0xE8508EAA28795A25),
    (13, 0, 0xB7A5D8A8309A2CB9),
    (13, 0x123456789abcdef0, 0x310AA50FC1E208D6),
    (24, 0, 0xEB173B2AA3B5397A),
    (24, 0x123456789abcdef0, 0x8E155883224E1F30),
    (100, 0, 0x004E4F921A64BD1C),
    (100, 0x123456789abcdef0, 0xCE57C7A68B66AC0B),
    (200, 0, 0xF42A8864FEAF0703),
    (200, 0x123456789abcdef0, 0xC49A0216F97E3BF3),
    (241, 0, 0x02E8CD95421C6D02),
    (241, 0x123456789abcdef0, 0xAB5CCD41A6A99F17),
    (1025, 0, 0xE95C42288F28186E),
    (1025, 0x123456789abcdef0, 0x1FA091085797523D),
    (3000, 0, 0x1B846747012C24AA),
    (3000, 0x123456789abcdef0, 0xAFFFF65B9AE91AB7),
]


class Checksum(unittest.TestCase):
    def test_known_values_of_the_reference_implementation(self):
        data = bytes(i % 251 for i in range(3000))
        for size, seed, value in KNOWN_CHECKSUMS:
            self.assertEqual(xxh3_64(data[:size], seed), value, (size, seed))


class Refusals(unittest.TestCase):
    def refused(self, text, line, message):
        with self.assertRaises(CaseError) as caught:
            case = parse_case(text, "case.txt", "case.txt")
            with tempfile.TemporaryDirectory() as folder:
                run_cases.Running(case, "/no/program", pathlib.Path(folder)).all()
        self.assertIn(message, str(caught.exception))
        self.assertTrue(str(caught.exception).startswith(f"case.txt:{line}: "), caught.exception)

    def test_files_that_are_no_case_are_refused(self):
        self.refused("run\n  device H100\n", 1, "a case starts with a title")
        self.refused("# Title.\n  device H100\n", 2, "an indented line without a section")
        self.refused("# Title.\nrun\n\tdevice H100\n", 3, "not with tabs")
        self.refused("# Title.\nruns\n", 2, "'runs' is no section")
        self.refused("# Title.\n" + PROGRAM, 1, "checks nothing")

    def test_statements_that_are_wrong_are_refused_at_their_line(self):
        for statement, message in (
                ("y 100", "'100' is no time"), ("y 100 parsecs", "is no time"), ("y", "a time is missing"),
                ("w 1 us", "'w' is no instruction of program jit_step"), ("y 1 us color=3", "no option 'color'"),
                ("y 1 us | 2 us", "2 columns of times for 1 devices"), ("copy to host 1 us", "expected `copy"),
                ("idle 1 us\n      y 1 us", "nothing can stand below `idle`"), ("wait", "expected `wait for stream")):
            line = 9 + statement.count("\n")
            self.refused(f"# Title.\n{PROGRAM}\nrun\n  device H100\n  execute jit_step\n    {statement}\n"
                         .replace("\n\nrun", "\nrun"), line, message)

    def test_runs_that_are_wrong_are_refused(self):
        self.refused("# Title.\nrun\n  idle 1 us\n", 2, "a run names its device")
        self.refused("# Title.\nrun\n  device H9\n", 3, "no device 'H9'")
        self.refused("# Title.\nrun\n  device H100\n  execute jit_f\n", 4, "no section `program jit_f` above")
        self.refused("# Title.\nrun a like b\n", 2, "no run 'b' above")
        self.refused("# Title.\nrun\n  device H100\n    idle 1 us\n", 4, "nothing can stand below `device`")
        self.refused("# Title.\nrun\n  device H100\n  repeat 2\n", 4, "`repeat` needs statements below it")

    def test_checks_that_are_wrong_are_refused(self):
        self.refused("# Title.\nrows finding\n  id\n", 2, "expected `rows from VIEW")
        self.refused("# Title.\nrows from finding\n  id\n", 2, "expected a line with columns")
        self.refused("# Title.\n$ ls\n", 2, "expected `$ xlatrace COMMAND")


class Answers(unittest.TestCase):
    """The checks, with a program that prints a given text."""

    def outcome(self, checks, stdout="", code=0, stderr=""):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "case.txt"
            path.write_text("# Title.\n" + checks)
            program = pathlib.Path(folder) / "program"
            program.write_text("#!/bin/sh\ncat <<'END'\n" + stdout + "\nEND\n" + f"echo '{stderr}' >&2\nexit {code}\n")
            program.chmod(0o755)
            failures, _ = run_cases.run_case(path, str(program))
            run_cases.run_case(path, str(program), update=True)
            again, _ = run_cases.run_case(path, str(program))
            self.assertEqual(again, [], "an updated case holds")
            return [str(failure).rpartition("case.txt:")[2] for failure in failures], path.read_text()

    def rows(self, lines, *rows):
        names = ("id", "self_ns")
        answer = json.dumps({"rows": [dict(zip(names, row)) for row in rows]})
        text = "rows from finding\n  id | self_ns\n" + "".join(f"  {line}\n" for line in lines)
        return self.outcome(text, answer)

    def test_rows_that_are_as_expected_hold(self):
        self.assertEqual(self.rows(["a | 1 us", "b | -"], ("a", 1000), ("b", None))[0], [])
        self.assertEqual(self.rows(["...", "b | 2 us"], ("a", 1000), ("b", 2000))[0], [])
        self.assertEqual(self.rows(["a | 1 us", "...", "no c"], ("a", 1000), ("b", 2000))[0], [])
        self.assertEqual(self.rows(["none"])[0], [])

    def test_another_value_fails_at_its_line_and_is_updated(self):
        failures, text = self.rows(["a | 1 us", "b | 2.0 us"], ("a", 1000), ("b", 2500))
        self.assertEqual(failures, ["5: self_ns: expected '2.0 us', actual '2.5 us'"])
        self.assertEqual(text, "# Title.\nrows from finding\n  id | self_ns\n  a  | 1 us\n  b  | 2.5 us\n")

    def test_missing_and_further_rows_fail_and_are_updated(self):
        failures, text = self.rows(["a | 1 us", "b | 2 us"], ("a", 1000))
        self.assertEqual(failures, ["5: no such row"])
        self.assertNotIn("b ", text)
        failures, text = self.rows(["a | 1 us"], ("a", 1000), ("b", 2000))
        self.assertEqual(failures, ["2: 1 more rows, the first: b | 2 us"])
        self.assertIn("  b  | 2 us\n", text)
        self.assertEqual(self.rows(["none"], ("a", 1000))[0], ["4: expected no row, but there are 1",
                                                               "2: 1 more rows, the first: a | 1 us"])

    def test_a_forbidden_row_fails(self):
        failures, text = self.rows(["...", "no b"], ("a", 1000), ("b", 2000))
        self.assertEqual(failures, ["5: 'b' is there, and must not be"])
        self.assertNotIn("no b", text)

    def test_rows_in_another_order_fail(self):
        self.assertNotEqual(self.rows(["...", "b | 2 us", "...", "a | 1 us"], ("a", 1000), ("b", 2000))[0], [])

    def test_comments_among_rows_stay(self):
        self.assertIn("  # Why.\n", self.rows(["# Why.", "a | 2 us"], ("a", 1000))[1])

    def test_fields_of_json_are_compared(self):
        answer = json.dumps({"checks": [{"name": "step", "base_ns": 5000}, {"name": "op", "base_ns": 7}], "done": True})
        good = ("checks.length: 2", "checks[0].name: step", "checks[name=op].base_ns: 7 ns", "done: true")
        text = "$ xlatrace gate a b --format json\n" + "".join(f"  {line}\n" for line in good)
        self.assertEqual(self.outcome(text, answer)[0], [])
        failures, updated = self.outcome("$ xlatrace gate\n  checks[1].name: step\n  other.field: 3\n", answer)
        self.assertEqual(failures, ["3: checks[1].name: expected 'step', actual 'op'",
                                    "4: other.field: expected '3', actual 'no other'"])
        self.assertIn("  checks[1].name: op\n", updated)

    def test_an_array_is_a_table(self):
        answer = json.dumps({"changes": [{"id": "a", "change_ns": 1000}, {"id": "b", "change_ns": -2000}]})
        text = "$ xlatrace diff\n  changes:\n    id | change_ns\n    a  | 1 us\n    b  | {}\n"
        self.assertEqual(self.outcome(text.format("-2 us"), answer)[0], [])
        failures, updated = self.outcome(text.format("2 us"), answer)
        self.assertEqual(failures, ["6: change_ns: expected '2 us', actual '-2 us'"])
        self.assertEqual(updated, "# Title.\n" + text.format("-2 us"))

    def test_exit_status_and_first_error_are_compared(self):
        fails = {"code": 4, "stderr": "xlatrace: error: no such run"}
        self.assertEqual(self.outcome("$ xlatrace show x\n  exit: 4\n  error: no such run\n", **fails)[0], [])
        failures, updated = self.outcome("$ xlatrace show x\n", **fails)
        self.assertEqual(failures, ["2: exit status 4: no such run"])
        self.assertIn("  exit: 4\n", updated)

    def test_a_text_that_is_not_printed_fails(self):
        self.assertEqual(self.outcome("$ xlatrace show x\n  prints: two words\n", "so two\n  words")[0], [])
        failures, _ = self.outcome("$ xlatrace show x\n  prints: three words\n", "two words")
        self.assertTrue(failures[0].startswith("3: not printed: three words"), failures)


class WithTheProgram(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        try:
            cls.program = run_cases.find_program()
        except SystemExit as error:
            raise unittest.SkipTest(str(error)) from None

    def failures(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "case.txt"
            path.write_text(text)
            return [str(failure) for failure in run_cases.run_case(path, self.program)[0]]

    def test_the_case_of_the_readme_holds(self):
        case = re.search(r"^```\n(# .*?)^```", (CASES / "README.md").read_text(), re.M | re.S)[1]
        self.assertEqual(self.failures(case), [])

    def test_a_recording_of_every_statement_is_read_without_losses(self):
        self.assertEqual(self.failures("# Title.\n" + PROGRAM + """
run
  ranks 2
  device H100 x 2
  repeat 2
    mark step
    idle 30 us in fit > next_batch
    idle 30 us in cuStreamSynchronize
    compile jit_step 40 us
    copy to device 1 MiB  20 us
    execute jit_step x 2
      y 100, 110 us on stream 2
      z  50 us
      wait for stream 2
    kernel my_kernel 5 us grid=1,2,3 block=32 cluster=2 registers=40 shared=1024 static_shared=64 local=8
    copy on device 1 KiB  5 us
    copy to host 8 B  2 us
    memset 64 B  3 us
    pause 1 ms

rows from run_stat where severity in ('data_loss', 'error')
  name
  none

rows from device
  process_id | ordinal | name                  | sm_count | memory_bandwidth_bytes_per_s
  1          | 0       | NVIDIA H100 80GB HBM3 | 132      | 3352000000000
  1          | 1       | NVIDIA H100 80GB HBM3 | 132      | 3352000000000
  2          | 0       | NVIDIA H100 80GB HBM3 | 132      | 3352000000000
  2          | 1       | NVIDIA H100 80GB HBM3 | 132      | 3352000000000

rows from process
  pid  | rank | ended
  1000 | 0    | exit
  1001 | 1    | exit

rows from launch where name = 'my_kernel' and device_id = 1
  start_ns | grid_x | grid_y | grid_z | block_x | cluster_x | registers_per_thread | shared_memory_dynamic_bytes | shared_memory_static_bytes | local_memory_per_thread_bytes
  330 us   | 1      | 2      | 3      | 32      | 2         | 40                   | 1 KiB                       | 64                         | 8
  1675 us  | 1      | 2      | 3      | 32      | 2         | 40                   | 1 KiB                       | 64                         | 8

rows from activity where device_id = 1 and start_ns < 1000000 order by activity_id
  kind   | stream_id | start_ns | duration_ns | bytes | copy_kind        | instruction | confidence
  memcpy | 1         | 100 us   | 20 us       | 1 MiB | host_to_device   | -           | none
  kernel | 2         | 120 us   | 100 us      | -     | -                | y           | exact
  kernel | 1         | 120 us   | 50 us       | -     | -                | z           | exact
  kernel | 2         | 220 us   | 110 us      | -     | -                | y           | exact
  kernel | 1         | 220 us   | 50 us       | -     | -                | z           | exact
  kernel | 1         | 330 us   | 5 us        | -     | -                | -           | none
  memcpy | 1         | 335 us   | 5 us        | 1 KiB | device_to_device | -           | none
  memcpy | 1         | 340 us   | 2 us        | 8     | device_to_host   | -           | none
  memset | 1         | 342 us   | 3 us        | 64    | -                | -           | none

rows from range where process_id = 1 and thread_id = 1000 and start_ns < 1000000 and text not like 'XlaModule%' order by start_ns, depth
  text                                      | domain   | start_ns | end_ns | depth
  fit                                       | -        | 0        | 25 us  | 0
  step 0                                    | xlatrace | 0        | 0      | 0
  next_batch                                | -        | 0        | 25 us  | 1
  XlaCompile:#module=jit_step,program_id=1# | TSL      | 60 us    | 95 us  | 0
  window closed                             | xlatrace | 345 us   | 345 us | 0

rows from api_call where name = 'cuStreamSynchronize' and process_id = 1 and thread_id = 1000
  start_ns | end_ns
  30 us    | 55 us
  1375 us  | 1400 us
"""), [])

    def test_a_cpu_profile_is_read_as_written(self):
        self.assertEqual(self.failures("# Title.\n" + PROGRAM + """
run
  ranks 2
  device cpu x 2
  repeat 2
    mark step 4, 5
    execute jit_step
      y 100 us | 110 us | 120 us | 130 us
      z  10 us on stream 2
    idle 20 us in DataLoader.next_batch
  compile jit_step 3 ms

rows from activity where execution_id > 0 order by process_id, device_id, activity_id
  process_id | device_id | stream_id | kind | instruction | confidence | start_ns | self_ns | step
  1          | 1         | 2001      | op   | y           | exact      | 0        | 100 us  | 4
  1          | 1         | 2001      | op   | y           | exact      | 120 us   | 100 us  | 5
  1          | 1         | 2002      | op   | z           | exact      | 100 us   | 10 us   | 4
  1          | 1         | 2002      | op   | z           | exact      | 220 us   | 10 us   | 5
  1          | 2         | 2101      | op   | y           | exact      | 0        | 110 us  | 4
  1          | 2         | 2101      | op   | y           | exact      | 130 us   | 110 us  | 5
  1          | 2         | 2102      | op   | z           | exact      | 110 us   | 10 us   | 4
  1          | 2         | 2102      | op   | z           | exact      | 240 us   | 10 us   | 5
  2          | 3         | 2001      | op   | y           | exact      | 0        | 120 us  | 4
  2          | 3         | 2001      | op   | y           | exact      | 140 us   | 120 us  | 5
  2          | 3         | 2002      | op   | z           | exact      | 120 us   | 10 us   | 4
  2          | 3         | 2002      | op   | z           | exact      | 260 us   | 10 us   | 5
  2          | 4         | 2101      | op   | y           | exact      | 0        | 130 us  | 4
  2          | 4         | 2101      | op   | y           | exact      | 150 us   | 130 us  | 5
  2          | 4         | 2102      | op   | z           | exact      | 130 us   | 10 us   | 4
  2          | 4         | 2102      | op   | z           | exact      | 280 us   | 10 us   | 5

rows from compile where process_id = 1 and stage = 'compile'
  name     | start_ns | end_ns
  jit_step | 240 us   | 3240 us

rows from range where process_id = 1 and text like 'DataLoader%'
  text                  | start_ns | end_ns
  DataLoader.next_batch | 100 us   | 120 us
  DataLoader.next_batch | 220 us   | 240 us
"""), [])

    def test_an_unmet_expectation_fails_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "case.txt"
            path.write_text("# Title.\n" + PROGRAM + RUN + "\nrows from step\n  step\n  7\n")
            done = subprocess.run([sys.executable, CASES / "run_cases.py", path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("case.txt:15: step: expected '7', actual '0'", done.stdout)
            self.assertIn("1 cases, 1 failed", done.stdout)
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(run_cases.main([str(path), "--update"]), 0)
                self.assertEqual(run_cases.main([str(path)]), 0)


if __name__ == "__main__":
    unittest.main()
