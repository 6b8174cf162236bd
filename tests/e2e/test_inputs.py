# SPDX-License-Identifier: Apache-2.0
"""Which files `import` reads, and its messages about files that are incomplete or left out."""

import gzip
import json
import os
import random
import re
import shutil

import support


def kineto(kernels, pid=7, seed=1):
    """A Kineto trace of so many kernels of 2 us, one every 10 us; names make it incompressible."""
    rng = random.Random(seed)
    events = [
        {"ph": "X", "cat": "kernel", "name": f"k{rng.getrandbits(64):x}", "pid": 0, "tid": 7,
         "ts": 1000 + 10 * i, "dur": 2, "args": {"device": 0, "stream": 7, "correlation": i + 1}}
        for i in range(kernels)
    ]
    return json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": seed},
                       "traceEvents": events, "pid": pid}).encode()


# The rows that support.xspace writes: every op three times.
XSPACE_ROWS = 3 * len(support.OPS)


class Inputs(support.TestCase):
    def import_all(self, *arguments, code=0):
        (self.folder / "run.db").unlink(missing_ok=True)
        result = self.run_program("import", *arguments, "-o", "run.db")
        self.assertEqual(result.code, code, result)
        return result

    def count(self, view="activity"):
        return support.query(self.folder / "run.db", f"SELECT count(*) AS n FROM {view}")[0]["n"]

    def stats(self, name):
        return support.query(
            self.folder / "run.db", f"SELECT * FROM run_stat WHERE name = '{name}'"
        )

    def left_out(self):
        """{source: advice} of all files that were not imported."""
        return {row["source"]: row["advice"] for row in self.stats("input_left_out")}

    # --- not whole ---

    def test_truncated_trace_gives_its_events_and_a_data_loss(self):
        whole = gzip.compress(kineto(4000), mtime=0)
        for share in (0.25, 0.5, 0.9):
            with self.subTest(share=share):
                (self.folder / "cut.json.gz").write_bytes(whole[: int(len(whole) * share)])
                result = self.import_all("cut.json.gz")
                self.assertIn("trace_truncated", result.stderr)
                # Events are equal, so the share of bytes is that of events; one may be cut in two.
                self.assertAlmostEqual(self.count() / 4000, share, delta=0.05)
                (row,) = self.stats("trace_truncated")
                self.assertEqual(row["severity"], "data_loss")
        # Figures depend on the version of zlib.
        self.assert_golden_text(result.stderr, masks=[(r"\d[\d,.]*( [kM]?B)?", "#")])

    def test_strict_turns_a_loss_into_exit_code_1(self):
        whole = gzip.compress(kineto(500), mtime=0)
        (self.folder / "whole.json.gz").write_bytes(whole)
        (self.folder / "cut.json.gz").write_bytes(whole[: len(whole) // 2])
        self.import_all("whole.json.gz", "--strict")
        result = self.import_all("cut.json.gz", "--strict", code=1)
        self.assertIn("--strict", result.stderr)
        self.assertEqual([row["severity"] for row in self.stats("trace_truncated")], ["data_loss"])
        self.assertGreater(self.count(), 0)

    def test_wrong_checksum_is_a_loss(self):
        changed = bytearray(gzip.compress(kineto(100), mtime=0))
        changed[-6] ^= 1
        (self.folder / "changed.json.gz").write_bytes(changed)
        result = self.import_all("changed.json.gz")
        self.assert_golden_text(result.stderr, masks=[(r"\d+ bytes", "# bytes")])
        self.assertEqual(self.count(), 100)

    # --- how files come ---

    def test_bom_line_ends_and_layers_change_nothing(self):
        plain = kineto(50)
        for name, data in (
            ("bom.json", b"\xef\xbb\xbf" + plain),
            ("crlf.json", plain.replace(b", {", b",\r\n{")),
            ("twice.json.gz.gz", gzip.compress(gzip.compress(plain))),
            ("trace.sqlite", plain),
            ("members.gz", gzip.compress(plain[:900]) + gzip.compress(plain[900:])),
            ("padded.gz", gzip.compress(plain) + bytes(512)),
            ("list.json", json.dumps(json.loads(plain)["traceEvents"]).encode()),
            ("open_list.json", json.dumps(json.loads(plain)["traceEvents"])[:-1].encode() + b",\n"),
            ("trailing.json", plain.replace(b'}}], "pid"', b'}},], "pid"')),
            ("nan.json", plain.replace(b'"stream": 7', b'"stream": 7, "load": NaN, "x": -Infinity')),
        ):
            with self.subTest(name=name):
                (self.folder / name).write_bytes(data)
                self.import_all(name)
                self.assertEqual(self.count(), 50)
                self.assertEqual(self.stats("event_damaged"), [])

    def test_utf_16_is_refused_with_a_command_that_converts_it(self):
        (self.folder / "windows.json").write_bytes(kineto(3).decode().encode("utf-16"))
        result = self.import_all("windows.json", code=1)
        self.assertEqual((len(result.errors), len(result.hints)), (1, 1), result)
        self.assert_golden_text(result.stderr)

    # --- many ---

    def test_a_hundred_files_are_a_run_of_a_hundred_processes(self):
        for rank in range(100):
            (self.folder / f"r{rank}.json").write_bytes(kineto(5, seed=rank))
        self.import_all(*[f"r{rank}.json" for rank in range(100)])
        self.assertEqual((self.count(), self.count("process")), (500, 100))
        ranks = support.query(self.folder / "run.db", "SELECT rank FROM process ORDER BY rank")
        self.assertEqual([row["rank"] for row in ranks], list(range(100)))

    def test_a_file_given_twice_counts_once(self):
        (self.folder / "a.json").write_bytes(kineto(5))
        shutil.copy(self.folder / "a.json", self.folder / "copy.json")
        os.symlink("a.json", self.folder / "link.json")
        (self.folder / "other.json").write_bytes(kineto(5, seed=2))
        result = self.import_all("a.json", "./a.json", "link.json", "copy.json", "other.json")
        self.assertEqual((self.count(), self.count("process")), (10, 2), result)
        self.assertEqual(
            sorted(row["source"] for row in self.stats("input_left_out")),
            ["./a.json", "copy.json", "link.json"],
        )
        self.assert_golden_text(result.stderr)

    def test_two_traces_of_one_pid_stay_two_processes(self):
        for name in ("before", "after"):
            (self.folder / f"{name}.json").write_bytes(kineto(5, seed=len(name)))
        self.import_all("before.json", "after.json")
        self.assertEqual(self.count("process"), 2)
        self.assertEqual(self.count("device"), 2)

    # --- folders ---

    def test_a_folder_stands_for_the_recordings_in_it(self):
        place = self.folder / "mixed" / "deep"
        place.mkdir(parents=True)
        (place / "notes.txt").write_text("notes")
        (place / "empty.json").write_bytes(b"")
        (place / "config.json").write_text('{"a": 1}')
        (place / "trace.json.gz").write_bytes(gzip.compress(kineto(6)))
        (self.folder / "mixed" / "x.pb").write_bytes(support.xspace("jit_step", support.OPS))
        self.import_all("mixed")
        self.assertEqual(self.count(), 6 + XSPACE_ROWS)
        self.assertEqual(self.count("process"), 2)

    def test_a_log_folder_gives_its_newest_session_once(self):
        profile = self.folder / "log" / "plugins" / "profile"
        for number, session in enumerate(("2026_01_01_00_00_00", "2026_01_02_00_00_00")):
            (profile / session).mkdir(parents=True)
            for host in ("a", "b"):
                # The difference makes them two files.
                trace = support.xspace("jit_step", support.OPS) + support.field(4, f"{host}{number}")
                (profile / session / f"{host}.xplane.pb").write_bytes(trace)
                (profile / session / f"{host}.trace.json.gz").write_bytes(
                    gzip.compress(kineto(3, seed=number))
                )
        result = self.import_all("log")
        self.assertEqual(self.count("process"), 2, result)
        self.assertEqual(self.count(), 2 * XSPACE_ROWS)
        left = self.left_out()
        self.assert_golden_text(left["log"])
        self.assertEqual(sum(path.endswith("a.trace.json.gz") for path in left), 1)

    def test_newest_session_is_imported_for_every_spelling_of_the_folder(self):
        profile = self.folder / "log" / "plugins" / "profile"
        for number, session in enumerate(("2026_01_01_00_00_00", "2026_01_02_00_00_00")):
            (profile / session).mkdir(parents=True)
            (profile / session / "trace.json").write_bytes(kineto(3 + number, seed=number))
        for folder, spelling in (
            (self.folder, "log/plugins/profile"),
            (self.folder, "log/plugins/profile/"),
            (self.folder, "log/plugins/profile//."),
            (self.folder, "log/plugins/"),
            (profile, "."),
            (profile, "./"),
            (profile / "2026_01_01_00_00_00", ".."),
        ):
            with self.subTest(folder=folder.name, spelling=spelling):
                result = self.run_program(
                    "import", spelling, "-o", self.folder / "run.db", "--force", cwd=folder
                )
                self.assertEqual(result.code, 0, result)
                self.assertEqual(self.count(), 4)
                ((source, advice),) = self.left_out().items()
                self.assertEqual(source, spelling)
                self.assertEqual(re.findall(r"\d+", advice), ["1"])  # The older sessions.

    def test_many_other_files_hide_no_recording(self):
        place = self.folder / "many"
        place.mkdir()
        for number in range(10_050):
            (place / f"n{number}.txt").touch()
        for name in ("a", "zz"):
            (place / f"{name}.json").write_bytes(kineto(4, seed=len(name)))
        self.import_all("many")
        self.assertEqual(self.count(), 8)
        self.assertEqual(self.stats("input_left_out"), [])

    def test_recordings_beyond_the_limit_are_counted(self):
        place = self.folder / "many"
        place.mkdir()
        data = kineto(4)
        for number in range(10_001):  # Copies, so that one is imported.
            (place / f"{number:05}.json").write_bytes(data)
        (place / "zz.json").write_bytes(kineto(4, seed=2))  # The last by name.
        self.import_all("many")
        self.assertEqual(self.count(), 4)
        left = self.left_out()
        self.assertEqual(len(left), 9_999 + 1)
        self.assert_golden_text(left["many"] + "\n" + left["many/09999.json"])

    def test_recordings_in_too_deep_folders_are_listed(self):
        for depth, taken in ((12, True), (70, False)):
            place = self.folder.joinpath(f"to{depth}", *["d"] * depth)
            place.mkdir(parents=True)
            (place / "trace.json").write_bytes(kineto(4, seed=depth))
            (self.folder / f"to{depth}" / "trace.json").write_bytes(kineto(4))
            with self.subTest(depth=depth):
                result = self.import_all(f"to{depth}")
                self.assertEqual(self.count(), 8 if taken else 4)
                left = [row["advice"] for row in self.stats("input_left_out")]
                self.assertEqual(len(left), 0 if taken else 1)
                self.assertEqual("'to70'" in result.stderr, not taken)
        self.assert_golden_text(result.stderr)

    def test_unreadable_subfolder_is_listed_and_the_others_imported(self):
        if os.geteuid() == 0:
            self.skipTest("root may read every folder")
        for name in ("a", "b", "c"):
            (self.folder / "log" / name).mkdir(parents=True)
            (self.folder / "log" / name / "trace.json").write_bytes(kineto(4, seed=ord(name)))
        closed = self.folder / "log" / "b"
        closed.chmod(0)
        self.addCleanup(closed.chmod, 0o700)
        result = self.import_all("log")
        self.assertEqual(self.count(), 8)
        self.assertEqual(list(self.left_out()), ["log/b"])
        self.assert_golden_text(self.left_out()["log/b"] + "\n" + result.stderr)

    def test_files_of_equal_size_are_compared_by_content(self):
        base = kineto(5)
        for number in range(20):
            # As long as each other, different in the last bytes only.
            data = base[:-2] + f"{number % 10}}}".encode()
            (self.folder / f"f{number:02}.json").write_bytes(data)
        self.import_all(*[f"f{number:02}.json" for number in range(20)])
        self.assertEqual(self.count("process"), 10)
        original = re.compile(r"'(f\d\d\.json)'")
        left = {source: original.search(advice)[1] for source, advice in self.left_out().items()}
        self.assertEqual(left, {f"f{n:02}.json": f"f{n - 10:02}.json" for n in range(10, 20)})

    def test_unreadable_profile_does_not_replace_a_trace(self):
        (self.folder / "host.trace.json.gz").write_bytes(gzip.compress(kineto(6)))
        for name, data in (("empty", b""), ("text", b"no profile")):
            with self.subTest(name=name):
                (self.folder / "host.xplane.pb").write_bytes(data)
                result = self.import_all("host.xplane.pb", "host.trace.json.gz")
                self.assertEqual(self.count(), 6)
                self.assertEqual(self.stats("input_left_out"), [])
                self.assert_golden_text(result.stderr)
        (self.folder / "host.xplane.pb").write_bytes(support.xspace("jit_step", support.OPS))
        self.import_all("host.xplane.pb", "host.trace.json.gz")
        self.assertEqual(self.count(), XSPACE_ROWS)

    def test_perfetto_trace_of_jax_is_a_copy_of_its_session(self):
        """jax.profiler.trace(create_perfetto_trace=True) writes the rows a third time."""
        session = self.folder / "log" / "plugins" / "profile" / "2026_01_01_00_00_00"
        session.mkdir(parents=True)
        (session / "vm.xplane.pb").write_bytes(support.xspace("jit_step", support.OPS))
        (session / "vm.trace.json.gz").write_bytes(gzip.compress(kineto(3)))
        (session / "perfetto_trace.json.gz").write_bytes(gzip.compress(kineto(3) + b" "))
        self.import_all("log")
        self.assertEqual(self.count(), XSPACE_ROWS)
        self.assertEqual(self.count("process"), 1)
        (session / "vm.xplane.pb").unlink()
        self.import_all("log")
        self.assertEqual(self.count(), 3)
        (session / "vm.trace.json.gz").unlink()  # Alone it is all there is.
        self.import_all("log")
        self.assertEqual(self.count(), 3)

    def test_unreadable_files_with_names_of_recordings_are_listed(self):
        place = self.folder / "mixed"
        place.mkdir()
        (place / "good.json").write_bytes(kineto(4))
        for name, data in (
            ("notes.txt", b"notes"),
            ("config.json", b"{}"),
            ("module_0001.jit_f.hlo_proto.pb", b"\x0a\x00"),
            ("report.nsys-rep", b"QDSTRM" + bytes(100)),
            ("empty.xplane.pb", b""),
            ("page.trace.json.gz", b"<html>not found</html>"),
            ("other.sqlite", b"not a database"),
        ):
            (place / name).write_bytes(data)
        self.import_all("mixed")
        self.assertEqual(self.count(), 4)
        left = {source.split("/")[-1]: advice for source, advice in self.left_out().items()}
        self.assertEqual(
            sorted(left),
            ["empty.xplane.pb", "other.sqlite", "page.trace.json.gz", "report.nsys-rep"],
        )
        self.assert_golden_text("\n".join(f"{name}: {left[name]}" for name in sorted(left)))
        for number in range(9):
            (place / f"empty{number}.xplane.pb").touch()
        self.import_all("mixed")
        advice = [row["advice"] for row in self.stats("input_left_out")]
        # 4 and 9 files, of which the last row counts those that have no row of their own.
        self.assertEqual(len(advice), 6)
        self.assertIn(str(4 + 9 - 5), re.findall(r"\d+", " ".join(advice)))
        self.assert_golden_text("\n".join(sorted(advice)))

    def test_a_folder_without_recordings_is_refused(self):
        (self.folder / "none").mkdir()
        (self.folder / "none" / "notes.txt").write_text("notes")
        result = self.import_all("none", code=1)
        self.assertEqual(len(result.errors), 1, result)
        self.assert_golden_text(result.stderr)

    # --- modules of other files ---

    def test_modules_are_taken_from_another_profile_or_from_xprofs_folder(self):
        profiles = support.require_data("xplane")
        trace = profiles / "jax08_elementwise.xplane.pb"
        self.import_all(trace)
        own = self.count("module")
        for other in ("jax_conv_minimal.xplane.pb", "jax_conv_minimal.hlo_protos"):
            with self.subTest(other=other):
                result = self.import_all(trace, "--modules", profiles / other)
                self.assertNotIn("warning", result.stderr)
                self.assertEqual(self.count("module"), own + 8)  # That profile holds 8.
                rows = support.query(
                    self.folder / "run.db",
                    "SELECT count(*) AS n FROM module WHERE source = 'dump'",
                )
                self.assertEqual(rows[0]["n"], 8)

    def test_profile_without_modules_is_named_and_the_trace_imported(self):
        (self.folder / "other.json").write_bytes(kineto(5, seed=2))
        (self.folder / "trace.json").write_bytes(kineto(5))
        result = self.import_all("trace.json", "--modules", "other.json")
        self.assert_golden_text(result.stderr)
        self.assertEqual(self.count(), 5)


if __name__ == "__main__":
    support.unittest.main()
