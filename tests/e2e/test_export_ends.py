# SPDX-License-Identifier: Apache-2.0
"""`export` when it is interrupted, on a full disk, and at a terminal; and what it wrote, read back."""

import os
import pty
import re
import resource
import signal
import subprocess
import unittest

import export_support
import support
import tiers
from export_support import query

FORMATS = "perfetto kineto pprof speedscope folded pgle parquet csv nsys xplane db".split()


class EndTest(export_support.ExportTest):
    def leftovers(self):
        return [path.name for path in self.folder.iterdir()]

    @staticmethod
    def sizes(place):
        files = sorted(place.iterdir()) if place.is_dir() else [place]
        return [(file.name if place.is_dir() else "", file.stat().st_size) for file in files]

    def test_signal_leaves_no_file_under_the_final_name(self):
        run = self.our_run(150_000)
        cases = [(to, ()) for to in tiers.representatives(FORMATS, 3)]
        cases += [("db", ("--steps", "1:9")), ("csv", ("--share-safe",)), ("perfetto", ("--share-safe",))]
        interrupted = set()
        for to, extra in cases:
            for number in (signal.SIGINT, signal.SIGTERM):
                with self.subTest(to=to, extra=extra, signal=number):
                    process = subprocess.Popen(
                        [support.PROGRAM, "export", run, "--to", to, "-o", f"out.{to}", *extra],
                        cwd=self.folder,
                        env=support.environment(),
                        stderr=subprocess.PIPE,
                    )
                    # From when something of it lies there; short exports may be over by then.
                    self.wait_until(
                        "something is written",
                        lambda: self.leftovers() or process.poll() is not None,
                    )
                    process.send_signal(number)
                    process.communicate(timeout=support.HANG_S)
                    self.assertIn(process.returncode, (0, 128 + number, -number))
                    left = self.leftovers()
                    if left != [f"out.{to}"]:
                        interrupted.add(to)
                        subprocess.run(["rm", "-rf", *left], cwd=self.folder, check=True)
                        self.assertEqual(left, [])
                        continue
                    # It came when all was in its place: what lies there is whole.
                    sizes = [self.sizes(self.folder / f"out.{to}")]
                    if not extra:
                        result = self.run_program("export", run, "--to", to, "-o", "whole")
                        self.assertEqual(result.code, 0, result)
                        sizes.append(self.sizes(self.folder / "whole"))
                        self.assertEqual(*sizes)
                    subprocess.run(["rm", "-rf", *self.leftovers()], cwd=self.folder, check=True)
        long_exports = {"perfetto", "parquet", "csv", "nsys", "db"} & {to for to, _ in cases}
        self.assertLessEqual(long_exports, interrupted)

    def test_full_disk_leaves_no_file(self):
        def small_disk():  # Writing beyond it fails, as on a full disk.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))

        run = self.our_run()
        cases = [(to, ()) for to in "perfetto kineto parquet csv nsys db xplane pgle pprof".split()]
        cases += [("db", ("--steps", "0:1")), ("nsys", ("--steps", "0:1")), ("folded", ("--share-safe",))]
        for to, extra in cases:
            with self.subTest(to=to, extra=extra):
                result = self.run_program(
                    "export", run, "--to", to, "-o", f"out.{to}", *extra, preexec=small_disk
                )
                self.assertNotEqual(result.code, 0)
                self.assertEqual(len(result.errors), 1, result)
                self.assertEqual(self.leftovers(), [])

    def test_missing_output_folder_is_reported(self):
        for to in FORMATS:
            with self.subTest(to=to):
                result = self.run_program(
                    "export", self.our_run(), "--to", to, "-o", "nowhere/out", cwd=self.folder
                )
                self.assertNotEqual(result.code, 0)
                self.assertEqual(len(result.errors), 1, result)
                self.assertIn("nowhere/out", result.errors[0])


class TerminalTest(export_support.ExportTest):
    def shown(self, run, *arguments, **changes):
        """The output on a terminal that is standard error."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [support.PROGRAM, "export", run, *arguments],
            cwd=self.folder,
            env=support.environment(TERM="xterm", **changes),
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            stdin=subprocess.DEVNULL,
        )
        os.close(theirs)
        text = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # The other end is closed.
                break
            if not piece:
                break
            text += piece
        os.close(ours)
        process.wait(timeout=support.HANG_S)
        return process.returncode, text.decode()

    def test_progress_on_a_terminal_is_shown_and_removed(self):
        run = self.our_run(150_000)
        for to in ("perfetto", "kineto", "parquet", "csv", "nsys", "folded", "xplane"):
            with self.subTest(to=to):
                code, text = self.shown(run, "--to", to, "-o", f"out.{to}", XLATRACE_PROGRESS_MS="0")
                self.assertEqual(code, 0, text)
                self.assertRegex(text, rf"xlatrace: [^\n]*{to}: [\d,]+( of 1\d\d,\d{{3}} \(\d+%\)| rows)")
                # Only the messages stay on the screen. The line may be drawn once more after a message.
                screen = re.sub(r"[^\r\n]*\r\x1b\[K", "", text).replace("\r\n", "\n")
                self.assertRegex(screen, rf"^xlatrace: .*out\.{to}[^\n]*\n")
                self.assertNotIn(f" {to}: ", screen)

    def test_error_is_not_appended_to_a_progress_line(self):
        code, text = self.shown(
            self.our_run(), "--to", "db", "--steps", "0:1", "-o", "no/such/folder/out.db"
        )
        self.assertNotEqual(code, 0)
        before = text.split("xlatrace: error:")[0]
        self.assertTrue(before == "" or before.endswith(("\r\x1b[K", "\n")), repr(text))

    def test_a_pipe_gets_no_progress(self):
        result = self.run_program(
            "export", self.our_run(150_000), "--to", "folded", "-o", "out.folded"
        )
        self.assertEqual(result.code, 0)
        self.assertNotIn("\r", result.stderr)
        self.assertNotIn("%", result.stderr)


class RoundTripTest(export_support.ExportTest):
    """Exports in formats that we import come back with their times."""

    def test_kineto_export_can_be_imported(self):
        for name, run in self.runs():
            if name == "demo":  # The format has times of GPUs only.
                continue
            with self.subTest(run=name):
                files = sorted(self.export(run, "kineto").iterdir())
                again = self.import_run(f"{name}_kineto", files)
                total = "SELECT count(*), sum(duration_ns) FROM activity WHERE duration_ns IS NOT NULL"
                self.assertEqual(query(again, total), query(run, total))
                # Ops of a run without kernels come back as kernels.
                sql = (
                    "SELECT name, count(*), sum(duration_ns) FROM activity"
                    " WHERE kind IN ('kernel', 'op', 'range') AND duration_ns IS NOT NULL"
                    " GROUP BY 1 ORDER BY 1"
                )
                self.assertEqual(query(again, sql), query(run, sql))

    def test_nsys_export_can_be_imported(self):
        for name, run in self.runs():
            kinds = "kind IN ('kernel', 'memcpy', 'memset') AND duration_ns IS NOT NULL"
            sql = (
                f"SELECT kind, name, count(*), sum(duration_ns), sum(bytes) FROM activity WHERE {kinds}"
                " GROUP BY 1, 2 ORDER BY 1, 2"
            )
            if not query(run, sql):
                continue  # It holds no kernels, only ops.
            with self.subTest(run=name):
                again = self.import_run(f"{name}_nsys", [self.export(run, "nsys")])
                self.assertEqual(query(again, sql), query(run, sql))

    def test_xplane_export_can_be_imported(self):
        for name, run in self.runs():
            with self.subTest(run=name):
                trace = self.export(run, "xplane", output=self.folder / f"{name}.xplane.pb")
                again = self.import_run(f"{name}_xplane", [trace])
                sql = (
                    "SELECT instruction, count(*), sum(duration_ns) FROM activity"
                    " WHERE instruction IS NOT NULL AND duration_ns IS NOT NULL GROUP BY 1 ORDER BY 1"
                )
                self.assertEqual(query(again, sql), query(run, sql))


if __name__ == "__main__":
    unittest.main()
