# SPDX-License-Identifier: Apache-2.0
"""Unwritable standard output and standard error change no other result: a log on a full disk, a closed
descriptor, a reader that ended."""

import json
import os
import subprocess

import support


class OutputPlaces(support.TestCase):
    def run_with(self, place, descriptor, *arguments):
        """Exit status with descriptor 1 or 2 full, closed or a pipe without a reader."""
        command = [support.PROGRAM, *map(str, arguments)]
        streams = {1: subprocess.DEVNULL, 2: subprocess.DEVNULL}
        before = None
        opened = []
        if place == "full":
            opened.append(os.open("/dev/full", os.O_WRONLY))
            streams[descriptor] = opened[0]
        elif place == "pipe":
            read_end, write_end = os.pipe()
            os.close(read_end)
            opened.append(write_end)
            streams[descriptor] = write_end
        else:
            before = lambda: os.close(descriptor)  # noqa: E731
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=streams[1],
                              stderr=streams[2], cwd=self.folder, preexec_fn=before,
                              timeout=support.HANG_S)
        for one in opened:
            os.close(one)
        return done.returncode

    def test_record_returns_the_status_despite_unwritable_logs(self):
        for place in ("full", "closed", "pipe"):
            for descriptor in (1, 2):
                status = self.run_with(place, descriptor, "record", "--", "sh", "-c", "exit 7")
                self.assertEqual(status, 7, (place, descriptor))

    def test_error_keeps_its_exit_code_when_stderr_is_closed(self):
        for place in ("full", "closed", "pipe"):
            self.assertEqual(self.run_with(place, 2, "summary", "missing.db"), 1, place)
            self.assertEqual(self.run_with(place, 2, "nonsense"), 2, place)
            self.assertEqual(self.run_with(place, 2, "import"), 2, place)

    def test_record_rejects_an_output_named_rec(self):
        ran = self.run_program("record", "-o", "deep/run.rec", "--", "touch", "ran")
        self.assertEqual(ran.code, 2, ran)
        self.assert_golden_text(ran.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_one_of_several_imports_to_one_output_succeeds(self):
        trace = self.folder / "t.json"
        events = [{"ph": "X", "cat": "kernel", "name": f"k{i % 50}", "pid": 0, "tid": 7, "ts": i * 10.0,
                   "dur": 5.0, "args": {"stream": 7, "device": 0, "correlation": i}}
                  for i in range(20_000)]
        trace.write_text(json.dumps({"traceEvents": events}))
        started = [subprocess.Popen([support.PROGRAM, "import", str(trace), "-o", "run.db"],
                                    cwd=self.folder, stderr=subprocess.PIPE, text=True)
                   for _ in range(4)]
        messages = [process.communicate(timeout=support.HANG_S)[1] for process in started]
        codes = [process.returncode for process in started]
        self.assertEqual(sorted(codes), [0, 2, 2, 2], messages)
        for code, text in zip(codes, messages):
            self.assertEqual("error: " in text and "'run.db'" in text and "--force" in text, code == 2, text)
        self.assertEqual(support.run("summary", "run.db", cwd=self.folder).code, 0)
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"t.json", "run.db"})

    def test_every_command_survives_places_that_cannot_be_written(self):
        for command in ("record", "control", "lib", "import", "report", "summary", "show", "modules",
                        "explain", "passes", "find", "query", "doctor"):
            for place in ("full", "closed", "pipe"):
                for descriptor in (1, 2):
                    status = self.run_with(place, descriptor, command, "--help")
                    # A help text that could not be printed is a failure, never a crash.
                    self.assertIn(status, (0, 1), (command, place, descriptor))
                    status = self.run_with(place, descriptor, command)
                    self.assertIn(status, (0, 1, 2), (command, place, descriptor))


if __name__ == "__main__":
    import unittest

    unittest.main()
