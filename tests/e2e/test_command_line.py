# SPDX-License-Identifier: Apache-2.0
"""Command lines with mistakes, help, queries, exit codes of `record`, output without escapes."""

import json
import os
import re
import shutil
import subprocess

import refusals
import support


class CommandLine(refusals.RefusalCase):
    # --- command line ---

    def test_unknown_option_is_refused_by_every_command(self):
        for arguments in (
            ("import", "--frobnicate", self.trace),
            ("summary", "--frobnicate", self.run_db),
            ("report", "--frobnicate", self.run_db),
            ("query", "--frobnicate", self.run_db, "SELECT 1"),
            ("modules", "--frobnicate", self.run_db),
            ("record", "--frobnicate", "--", "/bin/true"),
            ("doctor", "--frobnicate"),
            ("--frobnicate",),
            ("frobnicate",),
        ):
            with self.subTest(arguments=arguments):
                self.assert_refused(*arguments, codes=(2,), says=["frobnicate"], hint=True)

    def test_missing_argument_is_refused(self):
        for arguments in (
            (),
            ("import",),
            ("summary",),
            ("report",),
            ("query",),
            ("query", self.run_db),
            ("modules",),
            ("record",),
            ("record", "--"),
            ("import", self.trace, "-o"),
        ):
            with self.subTest(arguments=arguments):
                self.assert_refused(*arguments, codes=(2,))

    def test_invalid_value_is_refused(self):
        for arguments in (
            ("summary", self.run_db, "--by", "colour"),
            ("summary", self.run_db, "--format", "xml"),
            ("summary", self.run_db, "--width", "wide"),
            ("query", self.run_db, "SELECT 1", "--format", "xml"),
            ("record", "--duration", "-1", "--", "/bin/true"),
            ("record", "--duration", "nan", "--", "/bin/true"),
            ("record", "--delay", "soon", "--", "/bin/true"),
            ("summary", self.run_db, self.run_db),
        ):
            with self.subTest(arguments=arguments):
                self.assert_refused(*arguments, codes=(2,))

    COMMANDS = ("record", "import", "summary", "show", "report", "modules", "explain", "passes",
                "what-if", "find", "diff", "gate", "query", "control", "lib", "doctor",
                "completion", "man")

    def test_help_is_on_stdout_and_shows_an_example(self):
        for command in self.COMMANDS:
            with self.subTest(command=command):
                result = self.run_program(command, "-h")
                self.assertEqual((result.code, result.stderr), (0, ""), result)
                self.assertIn("xlatrace " + command, result.stdout)
                self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100)

    def test_help_fits_a_narrow_terminal_and_names_no_types(self):
        for command in ("", *self.COMMANDS):
            with self.subTest(command=command):
                result = self.run_program(*filter(None, [command, "--help"]),
                                          env=support.environment(COLUMNS="80"))
                self.assertLessEqual(max(map(len, result.stdout.splitlines())), 80, result)
                text = result.stdout.split("Example")[0]
                self.assertNotRegex(text, r"\b(TEXT|UINT|INT|FLOAT|ENUM)\b")

    def test_help_works_as_a_command(self):
        for words in (("help",), ("help", "summary")):
            result = self.run_program(*words)
            self.assertEqual((result.code, result.stderr), (0, ""), result)
            self.assertEqual(result.stdout, self.run_program(*words[1:], "--help").stdout)

    def test_unknown_command_is_answered_with_a_command_to_type(self):
        self.assert_usage_errors(
            ("smmary", "run.db"),
            ("compare", "a.db", "b.db"),
            (self.run_db.name,),
            ("python3", "train.py"),
            ("frobnicate",),
            ("train.py", "--steps"),
            ("join", "a.db", "b.db"),
            ("version",),
        )

    def test_missing_or_mistyped_argument_is_answered_with_an_example(self):
        self.assert_usage_errors(
            ("record",),
            ("summary",),
            ("report",),
            ("query", self.run_db.name),
            ("control", "run.rec"),
            ("record", "--stepz", "1:2", "--", "ls"),
            ("record", "--stepz=1:2", "--", "ls"),
            ("summary", self.run_db.name, "--fromat", "json"),
            ("--verson",),
            ("summary", self.run_db.name, "--frobnicate"),
            (),
        )

    def test_misspelt_value_is_answered_with_the_word(self):
        name = self.run_db.name
        self.assert_usage_errors(
            ("summary", name, "--by", "opp"),
            ("summary", name, "--format", "jsn"),
            ("summary", name, "--by", "colour"),
            ("report", name, "--hlo-text", "non"),
            ("export", name, "--to", "perfeto"),
            ("control", "run.rec", "stat"),
            ("find", "dot", name, "--in", "name,sorce"),
            ("man", "sumary"),
            ("completion", "csh"),
        )

    def test_misspelt_name_in_sql_is_answered_with_the_name(self):
        for sql, meant in (("SELECT * FROM lanch", "launch"), ("SELECT sel_ns FROM op_time", "self_ns")):
            result = self.assert_refused("query", self.run_db, sql, codes=(1,))
            self.assertTrue(result.hints[0].startswith(f"hint: {meant}; "), result)
        result = self.assert_refused("export", self.run_db, "--to", "csv", "--view", "lanch", codes=(2,))
        self.assertTrue(result.hints[0].startswith("hint: launch; "), result)

    def test_dump_in_the_place_of_a_run_is_named(self):
        dump = self.folder / "dump"
        dump.mkdir()
        module = dump / "module_0001.jit_f.after_optimizations.txt"
        module.write_text("HloModule jit_f\n")
        runs = self.folder / "runs"
        runs.mkdir()
        shutil.copy(self.run_db, runs / "a.db")
        empty = self.folder / "empty"
        empty.mkdir()
        for path, hint in ((dump, f"xlatrace modules {dump}"), (module, f"xlatrace explain {module}"),
                           (runs, str(runs / "a.db")), (empty, f"ls {empty}")):
            for command in ("summary", "report"):
                result = self.assert_refused(command, path, codes=(1,))
                self.assertTrue(result.hints[0].endswith(hint), result)

    def test_run_in_place_of_a_name_leaves_the_name_missing(self):
        name = self.run_db.name
        self.assert_usage_errors(("show", name), ("find", name))

    def assert_usage_errors(self, *command_lines):
        """Each has exit code 2, one error, one hint and no output. The golden text has all messages."""
        messages = []
        for words in command_lines:
            with self.subTest(words=words):
                result = self.run_program(*words)
                self.assertEqual((result.code, result.stdout), (2, ""), result)
                self.assertEqual((len(result.errors), len(result.hints)), (1, 1), result)
                messages.append(" ".join(["$ xlatrace", *map(str, words)]) + "\n" + result.stderr)
        self.assert_golden_text("\n".join(messages))

    def test_control_of_a_recording_that_does_not_exist_fails(self):
        gone = self.run_program("control", "run.rec", "stop")
        self.assertEqual((gone.code, len(gone.errors)), (1, 1), gone)
        self.assert_golden_text(gone.stderr)

    def test_run_and_argument_may_be_swapped(self):
        for words in (("show", "o1", self.run_db), ("query", self.run_db, "SELECT 1 AS one"),
                      ("find", "sine", self.run_db)):
            with self.subTest(words=words):
                there = self.run_program(*words)
                self.assertEqual(there.code, 0, there)
                back = self.run_program(words[0], words[2], words[1])
                self.assertEqual((back.code, back.stdout), (0, there.stdout), back)

    def test_script_that_is_not_executable_is_answered_with_its_interpreter(self):
        (self.folder / "train.py").write_text("print('trained')\n")
        result = self.run_program("record", "--", "./train.py")
        self.assertEqual(result.code, 126, result)
        self.assert_golden_text(result.stderr)

    def test_explain_of_a_run_describes_the_file(self):
        result = self.run_program("explain", self.run_db.name)
        self.assertEqual(result.code, 0, result)
        self.assert_golden_text(result.stdout, masks=[(r"\d+ kB", "# kB")])

    # --- what-if ---

    def test_factors_beyond_a_million_are_refused_with_the_bounds(self):
        for factor in ("1e308x", "1e-308x", "0x", "-2x", "nanx", "infx", "1e7x", "1e-7x"):
            with self.subTest(factor=factor):
                result = self.assert_refused(
                    "what-if", "good.db", "--collective-bandwidth", factor, codes=(2,))
                self.assertIn(factor, result.stderr)
        for word in ("kind:gemm=1e308x", "=2x", "o1=", "o1=-1x"):
            with self.subTest(word=word):
                result = self.assert_refused("what-if", "good.db", "--op", word, codes=(2,))
                self.assertIn("0 to 1000000", result.stderr)
                self.assertNotIn("--op ''", result.stderr)

    # --- query ---

    def test_query_cannot_write(self):
        for sql in (
            "DELETE FROM activity",
            "CREATE TABLE t(x)",
            "CREATE TEMP TABLE t(x)",
            "PRAGMA user_version=4",
            "PRAGMA journal_mode=WAL",
            "ATTACH 'x.db' AS x",
            "VACUUM INTO 'x.db'",
            "SELECT load_extension('x')",
            "SELECT writefile('x', 'y')",
            "SELECT readfile('/etc/passwd')",
            "PRAGMA writable_schema=1",
            "UPDATE sqlite_schema SET sql = ''",
            "BEGIN",
        ):
            with self.subTest(sql=sql):
                self.assert_refused("query", "good.db", sql, codes=(1, 2))

    def test_invalid_sql_is_refused(self):
        for sql in (
            "SELECT",
            "SELECT nothing FROM activity",
            "SELECT * FROM no_such_view",
            "",
            ";",
            "-- nothing",
            "SELECT 1; SELECT 2",
            "SELECT 1; DROP TABLE x",
            "SELECT ?",
        ):
            with self.subTest(sql=sql):
                self.assert_refused("query", "good.db", sql, codes=(1, 2))

    def test_endless_query_is_stopped_at_the_time_limit(self):
        result = self.assert_refused(
            "query",
            "good.db",
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c",
            "--time-limit",
            "1",
            codes=(1,),
        )
        self.assertIn("1 s", result.stderr)

    def test_query_memory_is_bounded(self):
        for sql in (
            "SELECT length(zeroblob(900000000))",
            "SELECT length(replace(hex(zeroblob(100000000)), '00', 'abcdefgh'))",
            "SELECT length(printf('%.*c', 900000000, 'x'))",
        ):
            with self.subTest(sql=sql):
                result = self.run_program("query", "good.db", sql)
                self.assertIn(result.code, (0, 1), result)
                self.assertNotIn("bad_alloc", result.stderr)

    def test_query_json_keeps_the_values(self):
        result = self.run_program(
            "query",
            "good.db",
            "SELECT NULL AS n, 1 AS i, 9007199254740993 AS big, 0.1 AS f, 'a\"b,c' AS t, x'00ff' AS b,"
            " 9e999 AS inf",
            "--format",
            "json",
        )
        self.assertEqual(result.code, 0, result)
        row = support.json.loads(result.stdout)["rows"][0]
        self.assertIsNone(row["n"])
        self.assertEqual((row["i"], row["big"], row["f"], row["t"]), (1, 9007199254740993, 0.1, 'a"b,c'))

    def test_query_without_rows_succeeds(self):
        for style in ("table", "csv", "json"):
            with self.subTest(format=style):
                result = self.run_program(
                    "query", "good.db", "SELECT 1 AS a WHERE 0", "--format", style
                )
                self.assertEqual(result.code, 0, result)
        self.assertEqual(json.loads(result.stdout)["rows"], [])

    def test_query_keeps_columns_of_equal_name(self):
        result = self.run_program(
            "query", "good.db", "SELECT 1 AS a, 2 AS a", "--format", "csv"
        )
        self.assertEqual(result.stdout.splitlines(), ["a,a", "1,2"], result)
        result = self.run_program(
            "query", "good.db", "SELECT 1 AS a, 2 AS a", "--format", "json"
        )
        self.assertIn("1", result.stdout)
        self.assertIn("2", result.stdout)

    # --- record's own codes ---

    def test_record_of_an_impossible_command_has_the_shell_code(self):
        (self.folder / "data.txt").write_text("text\n")
        (self.folder / "dir").mkdir()
        for command, code in (
            (["no-such-program"], 127),
            (["./no-such-program"], 127),
            (["./data.txt"], 126),
            (["./dir"], 126),
        ):
            with self.subTest(command=command):
                self.assert_refused(
                    "record", "-o", "r.db", "--", *command, codes=(code,), says=[command[0]]
                )

    # --- plain output ---

    def test_output_to_a_pipe_has_no_escapes(self):
        for arguments in (
            ("summary", "good.db"),
            ("query", "good.db", "SELECT * FROM activity"),
            ("modules", "good.db"),
            ("doctor",),
            ("--help",),
        ):
            for changes in ({}, {"NO_COLOR": "1"}, {"TERM": "xterm-256color"}):
                with self.subTest(arguments=arguments, changes=changes):
                    result = self.run_program(*arguments, env=support.environment(**changes))
                    self.assertNotIn("\x1b", result.stdout + result.stderr)

    def test_no_color_is_respected_on_a_terminal(self):
        for changes, expected in (({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
            with self.subTest(changes=changes):
                output = terminal_output(
                    [support.PROGRAM, "summary", str(self.run_db)],
                    support.environment(**{"TERM": "xterm-256color", **changes}),
                )
                self.assertEqual("\x1b" in output, expected, output)

    def test_locale_without_utf8_gets_ascii(self):
        shown = self.run_program("summary", "good.db", env=support.environment(LC_ALL="C.UTF-8"))
        self.assertFalse(shown.stdout.isascii(), "no block characters: the test shows nothing")
        for words in (("summary",), *(("summary", "--by", by) for by in ("source", "stack", "step", "tree")),
                      ("show", "o1"), ("diff", "good.db"), ("gate", "good.db"), ("modules",), ("what-if",)):
            for changes in ({"LC_ALL": "C"}, {"LC_ALL": None, "LC_CTYPE": "POSIX"}):
                with self.subTest(words=words, changes=changes):
                    result = self.run_program(*words, "good.db", env=support.environment(**changes))
                    self.assertEqual(result.code, 0, result)
                    self.assertTrue(result.stdout.isascii(), result)

    def test_long_work_is_shown_on_a_terminal(self):
        """`explain` waits for the list of files, however fast the machine is."""
        import pty

        parent, child = pty.openpty()
        process = subprocess.Popen([support.PROGRAM, "explain", "--files-from", "-"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=child,
                                   env=support.environment(TERM="xterm-256color", COLUMNS="60"))
        os.close(child)
        shown = b""
        while shown.count(b"explain") < 3:
            shown += os.read(parent, 4096)
        output, _ = process.communicate(b"good.xplane.pb\n", timeout=support.HANG_S)
        try:
            while data := os.read(parent, 4096):
                shown += data
        except OSError:  # Linux reports a closed terminal in this way.
            pass
        os.close(parent)
        self.assertIn(b"good.xplane.pb", output)
        lines = re.split(rb"\r\x1b\[K", shown)
        self.assertEqual((lines[0], lines[-1]), (b"", b""), "the last line is removed")
        for line in lines[1:-1]:
            self.assertRegex(line, rb"^xlatrace: explain, [1-9]\d* s$")

    def test_short_work_shows_no_progress(self):
        self.assertNotIn("\x1b[K", terminal_output([support.PROGRAM, "modules", str(self.run_db)],
                                                   support.environment(TERM="xterm-256color")))


def terminal_output(command, env):
    import pty

    parent, child = pty.openpty()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=child, stderr=child, env=env)
    os.close(child)
    data = b""
    while True:
        try:
            piece = os.read(parent, 65536)
        except OSError:
            break
        if not piece:
            break
        data += piece
    process.wait()
    os.close(parent)
    return data.decode("utf-8", "replace")
