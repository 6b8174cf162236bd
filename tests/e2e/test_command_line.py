# SPDX-License-Identifier: Apache-2.0
"""What a new user types wrong first: usage, help, queries, record's own codes, plain output."""

import json
import os
import subprocess

import refusals
import support


class CommandLine(refusals.RefusalCase):
    # --- command line ---

    def test_unknown_option(self):
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

    def test_missing_argument(self):
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

    def test_wrong_value(self):
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
                "what-if", "find", "diff", "gate", "query", "control", "lib", "doctor")

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

    def test_help_as_a_command(self):
        for words in (("help",), ("help", "summary")):
            result = self.run_program(*words)
            self.assertEqual((result.code, result.stderr), (0, ""), result)
            self.assertEqual(result.stdout, self.run_program(*words[1:], "--help").stdout)

    def test_command_that_is_none(self):
        for words, hint in (
            (("smmary", "run.db"), "hint: xlatrace summary run.db"),
            (("compare", "a.db", "b.db"), "xlatrace diff base.db new.db"),
            ((self.run_db,), f"hint: xlatrace summary {self.run_db}"),
            (("python3", "train.py"), "hint: xlatrace record -- python train.py"),
            (("frobnicate",), "hint: xlatrace --help"),
            (("train.py", "--steps"), "hint: xlatrace record -- python train.py"),
            (("join", "a.db", "b.db"), "xlatrace merge rank*/run.db -o job.db"),
            (("version",), "hint: xlatrace --version"),
        ):
            with self.subTest(words=words):
                result = self.run_program(*words)
                self.assertEqual((result.code, result.stdout), (2, ""), result)
                self.assertIn(f"there is no command '{words[0]}'", result.errors[0])
                self.assertIn(hint, result.hints[0])

    def test_what_is_missing_or_mistyped_is_shown(self):
        for words, hint in (
            (("record",), "hint: for instance: xlatrace record -- python train.py;"),
            (("summary",), "hint: for instance: xlatrace summary run.db;"),
            (("report",), "hint: for instance: xlatrace report run.db -o run.html;"),
            (("query", self.run_db), "hint: for instance: xlatrace query run.db "),
            (("control", "run.rec"), "hint: for instance: xlatrace control run.rec stop;"),
            (("record", "--stepz", "1:2", "--", "ls"), "hint: --steps is an option;"),
            (("record", "--stepz=1:2", "--", "ls"), "hint: --steps is an option;"),
            (("summary", self.run_db, "--fromat", "json"), "hint: --format is an option;"),
            (("--verson",), "hint: --version is an option;"),
            (("summary", self.run_db, "--frobnicate"), "hint: xlatrace summary --help"),
            ((), "hint: xlatrace record -- python train.py; all commands: xlatrace --help"),
        ):
            with self.subTest(words=words):
                result = self.run_program(*words)
                self.assertEqual((result.code, result.stdout), (2, ""), result)
                self.assertEqual(len(result.hints), 1, result)
                self.assertIn(hint, result.hints[0])
        gone = self.run_program("control", "run.rec", "stop")
        self.assertEqual(gone.code, 1, gone)
        self.assertIn("there is no 'run.rec'", gone.errors[0])

    def test_arguments_the_other_way_round(self):
        for words in (("show", "o1", self.run_db), ("query", self.run_db, "SELECT 1 AS one"),
                      ("find", "sine", self.run_db)):
            with self.subTest(words=words):
                there = self.run_program(*words)
                self.assertEqual(there.code, 0, there)
                back = self.run_program(words[0], words[2], words[1])
                self.assertEqual((back.code, back.stdout), (0, there.stdout), back)

    def test_script_without_its_interpreter(self):
        (self.folder / "train.py").write_text("print('trained')\n")
        result = self.run_program("record", "--", "./train.py")
        self.assertEqual(result.code, 126, result)
        self.assertEqual(result.hints, ["hint: xlatrace record -- python ./train.py"])

    def test_run_is_explained_as_one(self):
        result = self.run_program("explain", self.run_db)
        self.assertEqual(result.code, 0, result)
        self.assertIn("run.db of xlatrace", result.stdout)
        self.assertIn("xlatrace summary", result.stdout)

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

    def test_query_mistakes(self):
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

    def test_query_without_end_is_stopped(self):
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

    def test_query_values(self):
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

    def test_query_with_no_rows(self):
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

    def test_record_of_what_cannot_run(self):
        (self.folder / "data.txt").write_text("not a program\n")
        (self.folder / "dir").mkdir()
        for command, code in (
            (["no-such-program"], 127),
            (["./no-such-program"], 127),
            (["./data.txt"], 126),
            (["./dir"], 126),
        ):
            with self.subTest(command=command):
                result = self.assert_refused(
                    "record", "-o", "r.db", "--", *command, codes=(code,), says=[command[0]]
                )

    # --- plain output ---

    def test_no_escapes_in_a_pipe(self):
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

    def test_no_color_on_a_terminal(self):
        for changes, expected in (({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
            with self.subTest(changes=changes):
                output = terminal_output(
                    [support.PROGRAM, "summary", str(self.run_db)],
                    support.environment(**{"TERM": "xterm-256color", **changes}),
                )
                self.assertEqual("\x1b" in output, expected, output)

    def test_ascii_locale(self):
        result = self.run_program(
            "summary", "good.db", "--ascii", env=support.environment(LC_ALL="C")
        )
        self.assertEqual(result.code, 0, result)
        self.assertTrue(result.stdout.isascii(), result)


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
