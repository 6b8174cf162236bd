# SPDX-License-Identifier: Apache-2.0
"""Folding a recording: while it grows, twice, at once, when damaged; only ours is removed."""

import html
import os
import random
import re
import shlex
import shutil
import sqlite3
import struct
import subprocess
import time
import unittest

import gpu_support
import support


class Folds(gpu_support.GpuTestCase):
    def growing(self):
        """A job that writes on; its process, when it has written something."""
        process = self.started(
            "launch k x 100; sync; print go; rate 2000; repeat 100000 { launch k x 20 }",
            XLATRACE_FLUSH_MS="50",
        )
        self.assertEqual(process.stdout.readline(), b"go\n")
        self.wait_for_rows(500)
        return process

    def count(self, database="run.db"):
        return gpu_support.scalar(self.work / database, "SELECT count(*) FROM launch")

    def losses(self):
        """Why the end of processes may be missing."""
        return [row["cause"] for row in gpu_support.rows_of(self.work / "run.db", "SELECT cause FROM loss")]

    def test_report_of_a_running_process_has_its_records(self):
        process = self.growing()
        result = self.xlatrace("report", "run.db")
        self.assertEqual(result.code, 0, result)
        page = (self.work / "run.html").read_text()
        banners = "".join(re.findall(r'(?s)class="banner[^"]*"[^>]*>(.*?)</div>', page))
        texts = [html.unescape(text).strip() for text in re.split(r"<[^>]*>", banners)]
        # Texts with numbers, and the links beside them, depend on the moment.
        self.assert_golden_text("\n".join(text for text in texts if text.endswith(".") and not re.search(r"\d", text)))
        self.assertIn("running", self.losses())
        first = self.count()
        self.assertGreaterEqual(first, 100)
        self.assertEqual(gpu_support.compare_sets(self.work / "run.db", self.truths())[1], [])
        self.wait_for_rows(first + 1)
        summary = self.xlatrace("summary", "run.db")
        self.assertEqual(summary.code, 0, summary)
        self.assertIn("running", self.losses())
        self.assert_golden_text(summary.stderr, masks=[(r"\d[\d,.]*", "#")])
        second = self.count()
        self.assertGreater(second, first)
        self.wait_for_flushes(self.work / "run.rec", 2)
        os.kill(process.pid, 2)
        process.wait(support.HANG_S)
        self.fold()
        self.assertGreaterEqual(self.count(), second)
        self.assertFalse((self.work / "run.old.db").exists(), "kept although it is of the same job")
        missing, invented = gpu_support.compare_sets(self.work / "run.db", self.truths())
        (recording,) = gpu_support.recording_files(self.work / "run.rec")
        flushed = gpu_support.flushed_until(recording)
        self.assertGreater(flushed, 0)
        self.assertEqual(invented, [])
        self.assertEqual([row for row in missing if int(row["end_ns"]) < flushed], [])
        result = self.xlatrace("report", "run.db")
        self.assertEqual(result.code, 0, result)

    def test_live_fold_leaves_the_recording(self):
        process = self.growing()
        for name in ("run.db", "run.rec"):
            result = self.xlatrace("summary", name)
            self.assertEqual(result.code, 0, result)
        self.assertIsNone(process.poll())
        self.assertEqual(len(gpu_support.recording_files(self.work / "run.rec")), 1)

    def test_second_import_changes_nothing(self):
        self.preloaded("launch k x 200; sync")
        first = self.fold().read_bytes()
        self.assertEqual(self.xlatrace("report", "run.db").code, 0)
        self.assertEqual(self.fold().read_bytes(), first)

    def test_recording_may_be_given_instead_of_the_run(self):
        self.preloaded("launch k x 200; sync")
        result = self.xlatrace("report", "run.rec")
        self.assertEqual(result.code, 0, result)
        self.assert_equals_truth(self.work / "run.db")
        self.assertTrue((self.work / "run.html").exists())

    def test_concurrent_imports_give_one_run(self):
        self.preloaded("repeat 2000 { launch k x 10; copy dtod 8 }; sync")
        commands = ["summary", "report", "summary", "query"] * 2
        processes = [
            subprocess.Popen(
                [support.PROGRAM, command, "run.db"]
                + {"query": ["SELECT count(*) FROM launch"], "report": ["-o", f"{n}.html"]}.get(
                    command, []
                ),
                cwd=self.work,
                env=support.environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for n, command in enumerate(commands)
        ]
        for process in processes:
            out, err = process.communicate(timeout=support.HANG_S)
            self.assertEqual(process.returncode, 0, (out, err))
        self.assert_equals_truth(self.work / "run.db")
        left = {p.name for p in self.work.iterdir()} - {"run.db", "run.rec"}
        self.assertEqual({name for name in left if not name.endswith(".html")}, set())

    def test_import_during_a_live_job_has_rows_of_killed_processes(self):
        job = {"XLATRACE_JOB": "both", "XLATRACE_FLUSH_MS": "50"}
        waits = f"while [ ! -e {self.folder}/go-on ]; do sleep 0.05; done"
        living = self.started(
            f'launch a x 40; sync; print go; system "{waits}"; launch a; sync', **job
        )
        self.assertEqual(living.stdout.readline(), b"go\n")
        killed = self.started("launch b x 60; sync; print go; sleep 60000", **job)
        self.assertEqual(killed.stdout.readline(), b"go\n")
        self.wait_for_rows(100, files=2)
        killed.kill()
        killed.wait(support.HANG_S)
        self.assertEqual(gpu_support.scalar(self.fold(), "SELECT count(*) FROM launch"), 100)
        (self.folder / "go-on").touch()
        self.assertEqual(living.wait(support.HANG_S), 0)
        self.assert_equals_truth(self.fold())

    def test_only_files_of_the_recording_are_removed(self):
        """`record` removes the recording at its end: our files only, and never through a link."""
        victim = self.folder / "victim.rec"
        victim.write_text("precious")
        shutil.copytree(self.folder / "truth", self.folder / "kept")
        (self.folder / "kept" / "file").write_text("precious")
        program = shlex.join(self.command("launch k x 40; sync"))
        tricks = (
            f"echo mine > run.rec/notes.txt; ln -s {victim} run.rec/link.rec; "
            f"ln -s {self.folder}/kept run.rec/folder; mkdir run.rec/own; echo mine > run.rec/own/x"
        )
        result = support.run(
            "record",
            "--",
            "sh",
            "-c",
            f"{program}; {tricks}",
            cwd=self.work,
            env=self.environment(preload=False),
        )
        self.assertEqual(result.code, 0, result)
        self.assert_equals_truth(self.work / "run.db")
        self.assertEqual(victim.read_text(), "precious")
        self.assertEqual((self.folder / "kept" / "file").read_text(), "precious")
        self.assertEqual((self.work / "run.rec" / "notes.txt").read_text(), "mine\n")
        self.assertEqual((self.work / "run.rec" / "own" / "x").read_text(), "mine\n")
        self.assertTrue((self.work / "run.rec" / "link.rec").is_symlink())
        self.assertEqual(
            gpu_support.recording_files(self.work / "run.rec"), [self.work / "run.rec" / "link.rec"]
        )

    def test_damaged_file_is_reported_and_others_are_used(self):
        self.preloaded("launch a x 40; sync", XLATRACE_JOB="j")
        self.preloaded("launch b x 60; sync", XLATRACE_JOB="j")
        small, large = sorted(
            gpu_support.recording_files(self.work / "run.rec"), key=lambda p: p.stat().st_size
        )
        data = bytearray(small.read_bytes())
        data[len(data) // 2] ^= 0xFF
        small.write_bytes(data)
        database = self.fold()
        self.assertGreaterEqual(self.count(), 40)
        self.assertGreater(gpu_support.loss(database), 0)
        self.assertEqual(gpu_support.compare_sets(database, self.truths())[1], [])

    def test_flipped_bit_loses_one_block(self):
        # Each sleep is longer than a flush period, so there are blocks before and behind the hit one.
        self.preloaded(
            "repeat 40 { launch k x 50; sync; sleep 30 }", XLATRACE_JOB="j", XLATRACE_FLUSH_MS="10"
        )
        (recording,) = gpu_support.recording_files(self.work / "run.rec")
        data = bytearray(recording.read_bytes())
        # In the payload of a block of activities (type 6) in the middle.
        blocks, at = [], 0
        while at < len(data):
            size, kind = struct.unpack_from("<IH", data, at + 4)
            blocks.append((at, kind))
            at += 32 + size
        rows = [at for at, kind in blocks if kind == 6]
        self.assertGreater(len(rows), 10)
        data[rows[len(rows) // 2] + 40] ^= 1
        recording.write_bytes(data)
        database = self.fold()
        self.assertEqual(gpu_support.compare_sets(database, self.truths())[1], [])
        self.assertGreater(self.count(), 2000 * 3 // 4)
        self.assertLess(self.count(), 2000)
        detail = gpu_support.scalar(
            database, "SELECT advice FROM run_stat WHERE name = 'recording_damaged'"
        )
        self.assertRegex(detail, r"[\d,]+ of [\d,]+ bytes \(")
        summary = self.xlatrace("summary", "--strict", "run.db")
        self.assertNotEqual(summary.code, 0, summary)

    def test_record_leaves_no_recording_and_prints_next_commands(self):
        result = support.run(
            "record",
            "-o",
            "a.db",
            "--",
            *self.command("launch k x 40; sync; exit 3"),
            cwd=self.work,
            env=self.environment(preload=False),
        )
        self.assertEqual(result.code, 3, result)
        self.assertEqual([p.name for p in self.work.iterdir()], ["a.db"], result)
        self.assertRegex(result.stderr, r"xlatrace report \S*a\.db")

    def test_run_is_usable_without_its_recording(self):
        self.preloaded("launch k x 200; sync")
        first = self.fold().read_bytes()
        shutil.rmtree(self.work / "run.rec")
        self.assertEqual(self.fold().read_bytes(), first)
        self.assertEqual(self.xlatrace("report", "run.db").code, 0)

    def test_missing_run_is_imported_again(self):
        self.preloaded("launch k x 200; sync")
        self.fold().unlink()
        self.assert_equals_truth(self.fold())

    def test_run_of_another_version_becomes_old(self):
        """Whether `record` makes the new one or a fold; nothing is lost, nothing in the way."""
        for fold in (False, True):
            with self.subTest(fold=fold):
                self.setUp()
                run = self.work / "run.db"
                with sqlite3.connect(run) as connection:  # "xltr", and a schema that we do not know
                    connection.execute(f"PRAGMA application_id = {0x786C7472}")
                    connection.execute("PRAGMA user_version = 70")
                    connection.execute("CREATE TABLE x_other(a)")
                before = run.read_bytes()
                if fold:
                    self.preloaded("launch k x 9; sync")
                    self.fold()
                else:
                    result = self.xlatrace("record", "--", *self.command("launch k x 9; sync"),
                                           env=self.environment(preload=False))
                    self.assertEqual(result.code, 0, result)
                self.assert_equals_truth(run)
                self.assertEqual((self.work / "run.old.db").read_bytes(), before)

    def test_run_of_another_version_beside_its_recording(self):
        """The recording is complete, but the run cannot be opened: the hint names the recording."""
        self.preloaded("launch k x 9; sync")
        run = self.fold()
        with sqlite3.connect(run) as connection:
            connection.execute("PRAGMA user_version = 1")
        before = run.read_bytes()
        result = self.xlatrace("summary", "run.db")
        self.assertEqual(result.code, 1, result)
        self.assert_golden_text(result.stderr, masks=[(r"reads \d+", "reads #")])
        self.assertEqual(run.read_bytes(), before)
        again = self.xlatrace("import", "run.rec", "-o", "again.db")
        self.assertEqual(again.code, 0, again)
        self.assertEqual(
            gpu_support.scalar(self.work / "again.db", "SELECT count(*) FROM launch"), 9)

    def test_foreign_file_at_the_place_of_the_run_is_kept(self):
        """A file that is no run of ours is not touched."""
        (self.work / "run.db").write_text("precious")
        self.preloaded("launch k x 200; sync")
        result = self.xlatrace("summary", "run.db")
        texts = [p.read_text(errors="replace") for p in self.work.iterdir() if p.is_file()]
        self.assertIn("precious", texts, result)

    def test_killed_imports_leave_no_partial_run(self):
        """For any leftovers, the next import is complete."""
        self.preloaded("repeat 3000 { launch k x 10; copy dtod 8 }; sync")
        chance = random.Random(9)
        for _ in range(12):
            process = subprocess.Popen(
                [support.PROGRAM, "summary", "run.db"],
                cwd=self.work,
                env=support.environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            time.sleep(chance.uniform(0.001, 0.12))
            process.kill()
            process.wait()
        self.assert_equals_truth(self.fold())
        left = {p.name for p in self.work.iterdir()} - {"run.db", "run.rec"}
        self.assertEqual(left, set(), "a killed fold's file stays for ever")

    # The file is readable after a kill at any byte, and after damage at any byte. Shown records were
    # executed; lost records are reported.

    def damaged(self, change, places):
        self.preloaded(
            "graph G { launch a; copy dtod 5 }\nrepeat 30 { launch k x 20; run G; sync }\n"
            "sleep 30\nlaunch z",
            XLATRACE_FLUSH_MS="10",
        )
        (file,) = gpu_support.recording_files(self.work / "run.rec")
        whole = file.read_bytes()
        truths, chance = self.truths(), random.Random(3)
        total = sum(map(len, truths.values()))
        for number in range(places):
            at = chance.randrange(len(whole))
            with self.subTest(at=at, size=len(whole)):
                folder = self.folder / f"damaged{number}"
                (folder / "run.rec").mkdir(parents=True)
                shutil.copy(self.work / "run.rec" / "job", folder / "run.rec")
                (folder / "run.rec" / file.name).write_bytes(change(whole, at))
                result = self.xlatrace("summary", "run.db", cwd=folder)
                if result.code != 0:  # no part was readable: reported, without a crash
                    self.assertEqual((result.code, len(result.errors)), (1, 1), result)
                    continue
                database = folder / "run.db"
                missing, invented = gpu_support.compare_sets(database, truths)
                self.assertEqual(invented, [])
                told = gpu_support.run_stats(database, "notice", "data_loss", "error")
                self.assertTrue(told or not missing, f"{len(missing)} of {total} are missing")

    def test_recording_cut_at_any_byte_is_read(self):
        self.damaged(lambda whole, at: whole[:at], 40)

    def test_recording_with_any_flipped_bit_is_read(self):
        self.damaged(lambda whole, at: whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :], 40)

    def test_recording_zeroed_from_any_byte_is_read(self):
        """As a file system leaves it after the machine has stopped."""
        self.damaged(lambda whole, at: whole[:at] + bytes(len(whole) - at), 20)

    def test_garbage_in_the_recording_folder_is_ignored(self):
        self.preloaded("launch k x 200; sync")
        folder = self.work / "run.rec"
        (folder / "x.rec").write_bytes(os.urandom(5000))
        (folder / "empty.rec").write_bytes(b"")
        (folder / "text.note").write_bytes(b"\xff\0<script>alert(1)</script>\n" * 300)
        (folder / "a.b.1.2.rec").mkdir()
        os.mkfifo(folder / "pipe.rec")
        self.assert_equals_truth(self.fold())
        self.assertEqual(self.xlatrace("report", "run.db").code, 0)
        self.assertNotIn("<script>alert(1)", (self.work / "run.html").read_text())


if __name__ == "__main__":
    unittest.main()
