# SPDX-License-Identifier: Apache-2.0
"""What a new user gets wrong first: one clear error, exit code 1 or 2, nothing left behind."""

import json
import os
import re
import shutil
import sqlite3
import stat
import subprocess

import support


class Refusals(support.TestCase):
    def setUp(self):
        super().setUp()
        self.trace = self.folder / "good.xplane.pb"
        self.trace.write_bytes(support.xspace("jit_step", support.OPS))
        self.run_db = self.folder / "good.db"
        result = self.run_program("import", self.trace, "-o", self.run_db)
        self.assertEqual(result.code, 0, result)

    def assert_refused(self, *arguments, codes=(1, 2), says=(), hint=False, folder=None, **options):
        """Runs and checks the one error line, the code, empty stdout and the untouched folder."""
        folder = folder or self.folder
        before = support.snapshot(folder)
        result = self.run_program(*arguments, **options)
        shown = f"xlatrace {' '.join(map(str, arguments))}\n{result}"
        self.assertIn(result.code, codes, shown)
        self.assertEqual(len(result.errors), 1, shown)
        self.assertEqual(result.stdout, "", shown)
        self.assertNotIn("\x1b", result.stderr, shown)
        for word in ("terminate called", "Traceback", "what():", "Aborted", "Segmentation"):
            self.assertNotIn(word, result.stderr, shown)
        for line in result.stderr.splitlines():
            self.assertRegex(line, r"^(xlatrace: error: |hint: )", shown)
        for text in says:
            self.assertIn(str(text), result.errors[0], shown)
        if hint:
            self.assertTrue(result.hints, "no hint\n" + shown)
        self.assertEqual(sorted(before), sorted(support.snapshot(folder)), shown)
        self.assertEqual(before, support.snapshot(folder), shown)
        return result

    def readers(self, path):
        """Every command that reads a file, given path."""
        yield "import", ("import", path, "-o", "out.db")
        yield "summary", ("summary", path)
        yield "report", ("report", path, "-o", "out.html")
        yield "query", ("query", path, "SELECT 1")
        yield "modules", ("modules", path)

    def run_db_readers(self, path):
        return [entry for entry in self.readers(path) if entry[0] != "import"]

    def assert_all_refused(self, path, only_run_db=False, **expected):
        for command, arguments in self.run_db_readers(path) if only_run_db else self.readers(path):
            with self.subTest(command=command):
                self.assert_refused(*arguments, **{"codes": (1,), **expected})

    # --- input ---

    def test_wrong_path(self):
        self.assert_all_refused("no-such.file", says=["no-such.file"])

    def test_wrong_path_below_a_file(self):
        self.assert_all_refused("good.db/run.db", says=["good.db/run.db"])

    def test_path_that_is_empty(self):
        self.assert_all_refused("", codes=(1, 2))

    def test_path_too_long(self):
        self.assert_all_refused("x" * 5000)

    def test_empty_file(self):
        (self.folder / "empty").write_bytes(b"")
        self.assert_all_refused("empty", says=["empty"])

    def test_directory(self):
        (self.folder / "dir").mkdir()
        (self.folder / "dir" / "readme.txt").write_text("x")
        self.assert_all_refused("dir", says=["dir"])

    def test_text_file(self):
        (self.folder / "notes.txt").write_text("these are my notes\n" * 20)
        self.assert_all_refused("notes.txt", says=["notes.txt"])

    def test_random_bytes(self):
        (self.folder / "noise").write_bytes(bytes(range(256)) * 40)
        self.assert_all_refused("noise", says=["noise"])

    def test_profile_given_where_a_run_is_wanted_hints_at_import(self):
        for command, arguments in self.run_db_readers(self.trace):
            with self.subTest(command=command):
                result = self.assert_refused(*arguments, codes=(1,), hint=True)
                self.assertIn("xlatrace import", result.stderr)

    def test_run_given_to_import(self):
        result = self.assert_refused("import", "good.db", "-o", "out.db", codes=(1,), hint=True)
        self.assertIn("good.db", result.stderr)

    def test_run_from_the_future(self):
        future = self.folder / "future.db"
        shutil.copy(self.run_db, future)
        connection = sqlite3.connect(future)
        connection.execute("PRAGMA user_version=99")
        connection.commit()
        connection.close()
        self.assert_all_refused(future, only_run_db=True, says=["newer"], hint=True)

    def test_foreign_sqlite_database(self):
        foreign = self.folder / "foreign.db"
        connection = sqlite3.connect(foreign)
        connection.execute("CREATE TABLE activity(x)")
        connection.execute("PRAGMA user_version=1")
        connection.commit()
        connection.close()
        self.assert_all_refused(foreign, says=["foreign.db"])

    def test_run_whose_views_were_changed(self):
        changed = self.folder / "changed.db"
        for statement in (
            "DROP VIEW finding",
            "CREATE VIEW extra AS SELECT 1",
            "CREATE TRIGGER t AFTER INSERT ON sqlite_sequence BEGIN SELECT 1; END",
            "CREATE TABLE extra_table(x)",
        ):
            with self.subTest(statement=statement):
                shutil.copy(self.run_db, changed)
                connection = sqlite3.connect(changed)
                try:
                    connection.execute(statement)
                except sqlite3.DatabaseError as error:
                    self.skipTest(str(error))
                connection.commit()
                connection.close()
                self.assert_all_refused(changed, only_run_db=True, says=["changed.db"])

    def test_view_replaced_by_hostile_sql(self):
        changed = self.folder / "changed.db"
        shutil.copy(self.run_db, changed)
        connection = sqlite3.connect(changed)
        connection.executescript(
            "DROP VIEW run_info; CREATE VIEW run_info AS "
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) "
            "SELECT 'a' AS key, x AS value FROM c"
        )
        connection.close()
        self.assert_all_refused(changed, only_run_db=True, says=["changed.db"])

    def test_truncated_run(self):
        data = self.run_db.read_bytes()
        for size in (10, 100, 4096, len(data) // 2, len(data) - 1):
            with self.subTest(size=size):
                (self.folder / "cut.db").write_bytes(data[:size])
                self.assert_all_refused("cut.db", only_run_db=True, says=["cut.db"], hint=True)

    def test_damaged_run_never_crashes(self):
        data = self.run_db.read_bytes()
        for offset in range(4096, len(data), max(4096, len(data) // 12)):
            (self.folder / "bad.db").write_bytes(
                data[:offset] + b"\xa5" * 512 + data[offset + 512 :]
            )
            for command, arguments in (
                ("summary", ("summary", "bad.db")),
                ("report", ("report", "bad.db", "-o", "out.html")),
            ):
                with self.subTest(command=command, offset=offset):
                    result = self.run_program(*arguments)
                    self.assertIn(result.code, (0, 1), result)
                    if result.code:
                        self.assertEqual(len(result.errors), 1, result)
                        self.assertFalse((self.folder / "out.html").exists())
                    (self.folder / "out.html").unlink(missing_ok=True)

    def test_truncated_profile(self):
        data = self.trace.read_bytes()
        for size in (1, 20, len(data) // 2, len(data) - 1):
            with self.subTest(size=size):
                (self.folder / "cut.pb").write_bytes(data[:size])
                self.assert_refused("import", "cut.pb", "-o", "out.db", codes=(1,), says=["cut.pb"])

    def test_profile_without_events(self):
        (self.folder / "bare.pb").write_bytes(support.field(1, support.field(2, "/host:CPU")))
        before = support.snapshot(self.folder)
        result = self.run_program("import", "bare.pb", "-o", "out.db")
        if result.code == 0:  # an empty run must then still be usable
            shown = self.run_program("summary", "out.db")
            self.assertEqual(shown.code, 0, shown)
            page = self.run_program("report", "out.db", "-o", "out.html")
            self.assertEqual(page.code, 0, page)
        else:
            self.assertEqual(len(result.errors), 1, result)
            self.assertEqual(before, support.snapshot(self.folder))

    def test_fifo(self):
        os.mkfifo(self.folder / "pipe")
        for command, arguments in self.readers("pipe"):
            with self.subTest(command=command):
                result = self.run_program(*arguments, timeout=10)
                self.assertEqual(result.code, 1, result)
                self.assertEqual(len(result.errors), 1, result)

    def test_device_file(self):
        for path in ("/dev/null", "/dev/zero"):
            for command, arguments in self.readers(path):
                with self.subTest(command=command, path=path):
                    self.assert_refused(*arguments, codes=(1,), timeout=20)

    def test_link_that_dangles_or_turns_in_circles(self):
        (self.folder / "dangling").symlink_to("nowhere")
        (self.folder / "loop").symlink_to("loop")
        self.assert_all_refused("dangling", says=["dangling"])
        self.assert_all_refused("loop", says=["loop"])

    def test_bad_file_among_good_ones_is_named_and_the_rest_used(self):
        (self.folder / "notes.txt").write_text("notes")
        result = self.run_program("import", "notes.txt", "good.xplane.pb", "nope.pb", "-o", "o.db")
        self.assertEqual(result.code, 0, result)
        self.assertIn("notes.txt", result.stderr)
        self.assertIn("nope.pb", result.stderr)
        rows = support.query(self.folder / "o.db", "SELECT * FROM run_stat")
        told = [row for row in rows if row["severity"] in ("data_loss", "error", "notice")]
        text = json.dumps(told)
        self.assertTrue(told, rows)
        self.assertTrue("notes.txt" in text or any(row["value"] == 2 for row in told), text)

    def test_bad_modules_path(self):
        result = self.run_program("import", self.trace, "--modules", "nope", "-o", "o.db")
        self.assertIn("nope", result.stderr, result)

    # --- permission ---

    def as_nobody(self):
        """A command of another user: a preexec that gives root away, or a skip."""
        if os.geteuid() != 0:
            self.skipTest("needs root, to become somebody else")
        self.folder.chmod(0o755)

        def drop():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

        probe = subprocess.run(
            [support.PROGRAM, "--version"], preexec_fn=drop, capture_output=True, check=False
        ) if os.access(support.PROGRAM, os.X_OK) else None
        if probe is None or probe.returncode != 0:
            self.skipTest("another user cannot run XLATRACE_BIN here")
        return drop

    def test_no_permission_to_read(self):
        drop = self.as_nobody()
        home = self.folder / "nobody"
        home.mkdir()
        os.chown(home, 65534, 65534)
        secret = self.folder / "secret"
        shutil.copy(self.run_db, secret)
        secret.chmod(0)
        for command, arguments in self.readers(secret):
            with self.subTest(command=command):
                result = self.assert_refused(
                    *arguments, codes=(1,), says=["secret"], preexec=drop, cwd=home, folder=home
                )
                self.assertIn("ermission", result.stderr)

    def test_no_permission_to_write(self):
        drop = self.as_nobody()
        self.trace.chmod(0o644)
        self.run_db.chmod(0o644)
        for command, arguments in (
            ("import", ("import", self.trace, "-o", self.folder / "new.db")),
            ("import", ("import", self.trace, "-o", self.run_db, "--force")),
            ("report", ("report", self.run_db, "-o", self.folder / "new.html")),
            ("report", ("report", self.run_db)),
        ):
            with self.subTest(arguments=arguments):
                result = self.assert_refused(*arguments, codes=(1,), preexec=drop)
                self.assertIn("ermission", result.stderr)
        result = self.assert_refused(
            "record", "-o", self.folder / "r.db", "--", "/bin/true", codes=(0, 1, 125), preexec=drop
        )

    def test_reading_a_run_needs_no_write_permission(self):
        drop = self.as_nobody()
        self.run_db.chmod(0o444)
        for command, arguments in self.run_db_readers(self.run_db):
            if command == "report":
                continue
            with self.subTest(command=command):
                result = self.run_program(*arguments, preexec=drop)
                self.assertEqual(result.code, 0, result)

    def test_place_that_takes_no_files(self):
        for command, arguments in (
            ("import", ("import", self.trace, "-o", "/proc/run.db")),
            ("report", ("report", self.run_db, "-o", "/proc/run.html")),
            ("record", ("record", "-o", "/proc/run.db", "--", "/bin/true")),
        ):
            with self.subTest(command=command):
                self.assert_refused(*arguments, codes=(1, 2, 125))

    # --- full disk ---

    def full_disk(self, size):
        if os.geteuid() != 0:
            self.skipTest("needs root, to mount a small disk")
        place = self.folder / "disk"
        place.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place],
            capture_output=True,
            check=False,
        )
        if mounted.returncode != 0:
            self.skipTest("cannot mount a small disk: " + mounted.stderr.decode().strip())
        self.addCleanup(subprocess.run, ["umount", "-l", place], check=False)
        return place

    def test_full_disk(self):
        place = self.full_disk("64k")
        for command, arguments in (
            ("import", ("import", self.trace, "-o", place / "run.db")),
            ("report", ("report", self.run_db, "-o", place / "run.html")),
        ):
            for free in (65536, 8192, 0):
                with self.subTest(command=command, free=free):
                    filler = place / "filler"
                    filler.write_bytes(b"x" * (65536 - free))
                    if command == "report" and free == 65536:
                        filler.write_bytes(b"x" * 60000)
                    result = self.assert_refused(*arguments, codes=(1,))
                    self.assertRegex(result.stderr, "(?i)no space|full", result)

    def test_full_disk_keeps_the_old_output(self):
        place = self.full_disk("512k")
        result = self.run_program("import", self.trace, "-o", place / "run.db")
        self.assertEqual(result.code, 0, result)
        used = (place / "run.db").stat().st_size
        (place / "filler").write_bytes(b"x" * ((512 * 1024 - used) // 4096 * 4096 - 4096))
        self.assert_refused("import", self.trace, "-o", place / "run.db", "--force", codes=(1,))
        self.assertEqual(self.run_program("summary", place / "run.db").code, 0)

    def test_record_on_a_full_disk_keeps_the_exit_code(self):
        place = self.full_disk("64k")
        (place / "filler").write_bytes(b"x" * 65536)
        result = self.run_program("record", "-o", place / "run.db", "--", "/bin/sh", "-c", "exit 5")
        self.assertEqual(result.code, 5, result)
        self.assertEqual(sorted(os.listdir(place)), ["filler"], result)

    def test_output_stream_that_is_full(self):
        for arguments in (
            ("summary", self.run_db),
            ("summary", self.run_db, "--format", "json"),
            ("query", self.run_db, "SELECT * FROM activity"),
            ("query", self.run_db, "SELECT * FROM activity", "--format", "csv"),
            ("query", self.run_db, "SELECT * FROM activity", "--format", "json"),
            ("modules", self.run_db),
            ("modules", self.run_db, "--format", "json"),
            ("--help",),
            ("--version",),
        ):
            with self.subTest(arguments=arguments), open("/dev/full", "wb") as full:
                result = self.run_program(*arguments, stdout=full)
                self.assertEqual(result.code, 1, result)
                self.assertEqual(len(result.errors), 1, result)

    def test_reader_that_closes_the_pipe(self):
        command = f"'{support.PROGRAM}' query good.db 'SELECT a.* FROM activity a, activity b,"
        command += " activity c, activity d' | head -1"
        result = support.run_command(["bash", "-c", command], cwd=self.folder)
        self.assertNotIn("terminate", result.stderr)

    # --- output ---

    def test_existing_output_needs_force(self):
        (self.folder / "mine.db").write_text("precious")
        result = self.assert_refused(
            "import", self.trace, "-o", "mine.db", codes=(1, 2), says=["mine.db"], hint=True
        )
        self.assertIn("--force", result.stderr)
        (self.folder / "mine.html").write_text("<html>precious</html>")
        result = self.assert_refused(
            "report", self.run_db, "-o", "mine.html", codes=(1, 2), says=["mine.html"], hint=True
        )
        self.assertIn("--force", result.stderr)

    def test_existing_run_needs_force_too(self):
        result = self.assert_refused("import", self.trace, "-o", "good.db", hint=True)
        self.assertIn("--force", result.stderr)
        result = self.run_program("import", self.trace, "-o", "good.db", "--force")
        self.assertEqual(result.code, 0, result)
        self.assertEqual(
            sorted(path.name for path in self.folder.iterdir()), ["good.db", "good.xplane.pb"]
        )

    def test_force_with_a_bad_input_keeps_the_old_output(self):
        (self.folder / "notes.txt").write_text("notes")
        self.assert_refused("import", "notes.txt", "-o", "good.db", "--force", codes=(1,))

    def test_report_replaces_its_own_page(self):
        for _ in range(2):
            result = self.run_program("report", self.run_db, "-o", "page.html")
            self.assertEqual(result.code, 0, result)

    def test_output_in_a_missing_folder(self):
        self.assert_refused("import", self.trace, "-o", "no/run.db", says=["no/run.db"], hint=True)
        self.assert_refused("report", self.run_db, "-o", "no/run.html", says=["no/run.html"], hint=True)
        result = self.assert_refused(
            "record", "-o", "no/run.db", "--", "touch", "ran", codes=(1, 2, 125)
        )
        self.assertNotIn("ran", os.listdir(self.folder))

    def test_output_is_a_directory(self):
        (self.folder / "dir").mkdir()
        for force in ((), ("--force",)):
            with self.subTest(force=force):
                self.assert_refused("import", self.trace, "-o", "dir", *force, says=["dir"])
                self.assert_refused("report", self.run_db, "-o", "dir", *force, says=["dir"])
        self.assert_refused("record", "-o", "dir", "--", "touch", "ran", codes=(1, 2, 125))

    def test_output_name_is_empty(self):
        self.assert_refused("import", self.trace, "-o", "")
        self.assert_refused("report", self.run_db, "-o", "")
        self.assert_refused("record", "-o", "", "--", "/bin/true", codes=(1, 2, 125))

    def test_output_is_the_input(self):
        os.link(self.trace, self.folder / "hard.pb")
        (self.folder / "soft.pb").symlink_to("good.xplane.pb")
        for output in ("good.xplane.pb", "./good.xplane.pb", "hard.pb", "soft.pb"):
            for force in ((), ("--force",)):
                with self.subTest(output=output, force=force):
                    self.assert_refused("import", "good.xplane.pb", "-o", output, *force)
        for force in ((), ("--force",)):
            with self.subTest(force=force):
                self.assert_refused("report", "good.db", "-o", "good.db", *force)

    def test_output_is_a_device(self):
        """A device is never replaced by a file. On a node of our own: never point this at /dev."""
        node = self.folder / "node"
        try:
            os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        except OSError as error:
            self.skipTest(f"cannot make a device node: {error}")
        for force in ((), ("--force",)):
            for arguments in (
                ("import", self.trace, "-o", node, *force),
                ("report", self.run_db, "-o", node, *force),
                ("record", "-o", node, "--", "/bin/true"),
            ):
                with self.subTest(arguments=arguments):
                    result = self.run_program(*arguments)
                    kept = stat.S_ISCHR(node.lstat().st_mode)
                    if not kept:
                        node.unlink()
                        os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
                    self.assertTrue(kept, f"the device was replaced by a file: {result}")

    def test_output_through_a_link_replaces_no_foreign_file(self):
        (self.folder / "precious").write_text("precious")
        (self.folder / "link.html").symlink_to("precious")
        self.assert_refused("report", self.run_db, "-o", "link.html")

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
                "find", "query", "control", "lib", "doctor")

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
                text = result.stdout.split("Example")[0]  # examples are for copying, not wrapped
                self.assertLessEqual(max(map(len, text.splitlines())), 80, result)
                self.assertNotRegex(text, r"\b(TEXT|UINT|INT|FLOAT|ENUM)\b")

    def test_help_as_a_command(self):
        for words in (("help",), ("help", "summary")):
            result = self.run_program(*words)
            self.assertEqual((result.code, result.stderr), (0, ""), result)
            self.assertEqual(result.stdout, self.run_program(*words[1:], "--help").stdout)

    def test_command_that_is_none(self):
        for words, hint in (
            (("smmary", "run.db"), "hint: xlatrace summary run.db"),
            (("diff", "a.db", "b.db"), "xlatrace report new.db --base base.db"),
            ((self.run_db,), f"hint: xlatrace summary {self.run_db}"),
            (("python3", "train.py"), "hint: xlatrace record -- python train.py"),
            (("frobnicate",), "hint: xlatrace --help"),
        ):
            with self.subTest(words=words):
                result = self.run_program(*words)
                self.assertEqual((result.code, result.stdout), (2, ""), result)
                self.assertIn(f"there is no command '{words[0]}'", result.errors[0])
                self.assertIn(hint, result.hints[0])

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

    # --- query ---

    def test_query_cannot_write(self):
        for sql in (
            "DELETE FROM activity",
            "CREATE TABLE t(x)",
            "CREATE TEMP TABLE t(x)",
            "PRAGMA user_version=3",
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
            timeout=15,
        )
        self.assertIn("1 s", result.stderr)

    def test_query_memory_is_bounded(self):
        for sql in (
            "SELECT length(zeroblob(900000000))",
            "SELECT length(replace(hex(zeroblob(100000000)), '00', 'abcdefgh'))",
            "SELECT length(printf('%.*c', 900000000, 'x'))",
        ):
            with self.subTest(sql=sql):
                result = self.run_program("query", "good.db", sql, timeout=30)
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
