# SPDX-License-Identifier: Apache-2.0
"""The first mistakes of a new user, with files: one clear error, exit code 1 or 2, no file left behind."""

import json
import os
import shlex
import shutil
import sqlite3
import stat
import subprocess

import refusals
import support


class Refusals(refusals.RefusalCase):
    # --- input ---

    def test_wrong_path_is_rejected(self):
        self.assert_all_refused("no-such.file", says=["no-such.file"])

    def test_path_below_a_file_is_rejected(self):
        self.assert_all_refused("good.db/run.db", says=["good.db/run.db"])

    def test_empty_path_is_rejected(self):
        self.assert_all_refused("", codes=(1, 2))

    def test_too_long_path_is_rejected(self):
        self.assert_all_refused("x" * 5000)

    def test_empty_file_is_rejected(self):
        (self.folder / "empty").write_bytes(b"")
        self.assert_all_refused("empty", says=["empty"])

    def test_directory_without_recordings_is_rejected(self):
        (self.folder / "dir").mkdir()
        (self.folder / "dir" / "readme.txt").write_text("x")
        self.assert_all_refused("dir", says=["dir"])

    def test_text_file_is_rejected(self):
        (self.folder / "notes.txt").write_text("some notes\n" * 20)
        self.assert_all_refused("notes.txt", says=["notes.txt"])

    def test_random_bytes_are_rejected(self):
        (self.folder / "noise").write_bytes(bytes(range(256)) * 40)
        self.assert_all_refused("noise", says=["noise"])

    def test_run_given_to_import_is_rejected(self):
        result = self.assert_refused("import", "good.db", "-o", "out.db", codes=(1,), hint=True)
        self.assertIn("good.db", result.stderr)

    def test_run_of_another_version_is_refused_with_its_number(self):
        """Its views may differ too. The number decides."""
        messages = ""
        for version in (99, 1):
            with self.subTest(version=version):
                other = self.folder / f"version-{version}.db"
                shutil.copy(self.run_db, other)
                connection = sqlite3.connect(other)
                connection.execute(f"PRAGMA user_version={version}")
                connection.execute("DROP VIEW finding")
                connection.commit()
                connection.close()
                self.assert_all_refused(other, only_run_db=True, says=[other.name], hint=True)
                result = self.run_program("summary", other.name)
                self.assertRegex(result.stderr, rf"\b{version}\b")
                messages += result.stderr
        self.assert_golden_text(messages, masks=[(r"reads \d+", "reads #")])

    def test_foreign_sqlite_database_is_rejected(self):
        foreign = self.folder / "foreign.db"
        connection = sqlite3.connect(foreign)
        connection.execute("CREATE TABLE activity(x)")
        connection.execute("PRAGMA user_version=1")
        connection.commit()
        connection.close()
        self.assert_all_refused(foreign, says=["foreign.db"])

    def test_run_with_changed_views_is_rejected(self):
        changed = self.folder / "changed.db"
        for statement in (
            "DROP VIEW finding",
            "CREATE VIEW extra AS SELECT 1",
            "CREATE TRIGGER t AFTER INSERT ON x_kind BEGIN SELECT 1; END",
            "CREATE TABLE extra_table(x)",
        ):
            with self.subTest(statement=statement):
                shutil.copy(self.run_db, changed)
                connection = sqlite3.connect(changed)
                connection.execute(statement)
                connection.commit()
                connection.close()
                self.assert_all_refused(changed, only_run_db=True, says=["changed.db"])

    def test_run_with_hostile_view_is_rejected(self):
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

    def test_truncated_run_is_rejected(self):
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

    def test_truncated_profile_is_rejected(self):
        data = self.trace.read_bytes()
        for size in (1, 20):
            with self.subTest(size=size):
                (self.folder / "cut.pb").write_bytes(data[:size])
                self.assert_refused("import", "cut.pb", "-o", "out.db", codes=(1,), says=["cut.pb"])

    def test_cut_profile_gives_its_sound_part_and_a_data_loss(self):
        data = self.trace.read_bytes()
        for size in (len(data) // 2, len(data) - 1):
            with self.subTest(size=size):
                (self.folder / "cut.pb").write_bytes(data[:size])
                result = self.run_program("import", "cut.pb", "-o", "out.db", "--force")
                self.assertEqual(result.code, 0, result)
                losses = support.query(
                    self.folder / "out.db", "SELECT count(*) AS n FROM run_stat WHERE severity = 'data_loss'")
                self.assertGreater(losses[0]["n"], 0)

    def test_profile_without_events_is_rejected(self):
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

    def test_fifo_is_rejected_with_a_command(self):
        os.mkfifo(self.folder / "pipe")
        for command, arguments in self.readers("pipe"):
            with self.subTest(command=command):
                result = self.run_program(*arguments)
                self.assertEqual(result.code, 1, result)
                self.assertEqual(len(result.errors), 1, result)
                self.assertIn("cat pipe >FILE", result.stderr)

    def test_names_in_hints_are_quoted_for_the_shell(self):
        os.mkfifo(self.folder / "a; touch pipe")
        for name in ("a; touch pipe", "b; touch missing", "$(touch folder)/r.db"):
            for command, arguments in (*self.readers(name), ("-o", ("import", self.trace, "-o", name))):
                result = self.run_program(*arguments)
                for hint in result.hints:
                    with self.subTest(command=command, hint=hint):
                        # In the words of a shell, the name is one word of the hint, or absent.
                        words = shlex.split(hint)
                        self.assertEqual("touch" in " ".join(words),
                                         any("touch" in word and " " in word for word in words))
                        self.assertFalse("touch" in words or "$(touch" in words, words)
                (self.folder / name).unlink() if (self.folder / name).is_file() else None

    def test_cyclic_link_as_output_is_rejected(self):
        (self.folder / "loop").symlink_to("loop")
        result = self.assert_refused("import", self.trace, "-o", "loop", codes=(2,), hint=True)
        self.assertIn("symbolic links", result.stderr)

    def test_hints_of_query_can_be_typed(self):
        for sql in ("SELECT nosuch FROM launch", "SELECT 1 FROM nosuch"):
            (hint,) = self.run_program("query", self.run_db, sql).hints
            words = shlex.split(hint[hint.index("xlatrace "):])
            self.assertEqual(self.run_program(*words[1:]).code, 0, hint)

    def test_contents_of_a_run_without_ops_are_counts_not_ranges(self):
        trace = self.folder / "t.json"
        trace.write_text('{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":10,'
                         '"dur":5,"args":{"stream":7,"device":0,"correlation":2}}]}')
        self.run_program("import", trace, "-o", "run.db")
        result = self.run_program("show", "nosuch", "run.db")
        self.assert_golden_text(result.stderr)

    def test_device_file_is_rejected(self):
        for path in ("/dev/null", "/dev/zero"):
            for command, arguments in self.readers(path):
                with self.subTest(command=command, path=path):
                    self.assert_refused(*arguments, codes=(1,))

    def test_dangling_or_cyclic_link_is_rejected(self):
        (self.folder / "dangling").symlink_to("nowhere")
        (self.folder / "loop").symlink_to("loop")
        self.assert_all_refused("dangling", says=["dangling"])
        self.assert_all_refused("loop", says=["loop"], hint=True)

    def test_bad_file_is_named_and_others_are_used(self):
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

    def test_bad_modules_path_is_rejected(self):
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

    def test_unreadable_file_is_rejected(self):
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

    def test_unwritable_folder_is_rejected(self):
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

    def test_output_in_a_pseudo_file_system_is_rejected(self):
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

    def test_full_disk_is_reported(self):
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
        place = self.full_disk("1024k")  # A run.db of a small trace takes about half of it.
        result = self.run_program("import", self.trace, "-o", place / "run.db")
        self.assertEqual(result.code, 0, result)
        used = (place / "run.db").stat().st_size
        (place / "filler").write_bytes(b"x" * ((1024 * 1024 - used) // 4096 * 4096 - 4096))
        self.assert_refused("import", self.trace, "-o", place / "run.db", "--force", codes=(1,))
        self.assertEqual(self.run_program("summary", place / "run.db").code, 0)

    def test_record_on_a_full_disk_keeps_the_exit_code(self):
        place = self.full_disk("64k")
        (place / "filler").write_bytes(b"x" * 65536)
        result = self.run_program("record", "-o", place / "run.db", "--", "/bin/sh", "-c", "exit 5")
        self.assertEqual(result.code, 5, result)
        self.assertEqual(sorted(os.listdir(place)), ["filler"], result)

    def test_full_output_stream_is_an_error(self):
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

    def test_closed_pipe_ends_the_command_quietly(self):
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

    def test_output_in_a_missing_folder_is_rejected(self):
        self.assert_refused("import", self.trace, "-o", "no/run.db", says=["no/run.db"], hint=True)
        self.assert_refused("report", self.run_db, "-o", "no/run.html", says=["no/run.html"], hint=True)
        self.assert_refused(
            "record", "-o", "no/run.db", "--", "touch", "ran", codes=(1, 2, 125)
        )
        self.assertNotIn("ran", os.listdir(self.folder))

    def test_directory_as_output_is_rejected(self):
        (self.folder / "dir").mkdir()
        for force in ((), ("--force",)):
            with self.subTest(force=force):
                self.assert_refused("import", self.trace, "-o", "dir", *force, says=["dir"])
                self.assert_refused("report", self.run_db, "-o", "dir", *force, says=["dir"])
        self.assert_refused("record", "-o", "dir", "--", "touch", "ran", codes=(1, 2, 125))

    def test_empty_output_name_is_rejected(self):
        self.assert_refused("import", self.trace, "-o", "")
        self.assert_refused("report", self.run_db, "-o", "")
        self.assert_refused("record", "-o", "", "--", "/bin/true", codes=(1, 2, 125))

    def test_input_as_output_is_rejected(self):
        os.link(self.trace, self.folder / "hard.pb")
        (self.folder / "soft.pb").symlink_to("good.xplane.pb")
        for output in ("good.xplane.pb", "./good.xplane.pb", "hard.pb", "soft.pb"):
            for force in ((), ("--force",)):
                with self.subTest(output=output, force=force):
                    self.assert_refused("import", "good.xplane.pb", "-o", output, *force)
        for force in ((), ("--force",)):
            with self.subTest(force=force):
                self.assert_refused("report", "good.db", "-o", "good.db", *force)

    def test_device_as_output_is_not_replaced(self):
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
