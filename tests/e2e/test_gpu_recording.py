# SPDX-License-Identifier: Apache-2.0
"""A program on the fake GPU with the preload alone: run.db equals the log of the fake driver."""

import os
import pathlib
import re
import shlex
import stat
import unittest

import gpu_support
import support

# Every kind of activity, on two devices, several streams and threads, in graphs of both makes.
EVERYTHING = """
kernel fusion_1 registers 40 smem 1024
kernel gemm_2 registers 168 smem 8192
module jit_step 7 {
  thunk fusion.1 { launch fusion_1 x 30 grid 4x2x3 block 128x2x1 smem 256 on s1 }
  thunk dot.2 { launch gemm_2 grid 132x1x1 block 384x1x1 smem 200000 on s2 }
  thunk copy.3 { copy htod 4096 on s1; copy dtoh 12 on s1; copy dtod 1000000 on s2 }
  thunk memset.4 { set 77 on s1 }
}
launch framework_kernel
copy peer 5000 on s3
copy dtoh 1
device 1
launch other_device x 4 on s1
copy peer 999
copy htod 16 on s1
device 0
range outer { range inner { launch in_ranges; set 512 } }
threads 3 { launch thread_%t x 20 on t%t; copy dtod 64 on t%t x 2 }
graph G {
  module jit_step 7 {
    thunk fusion.1 { launch fusion_1 grid 8x1x1 smem 16 }
    thunk dot.2 { launch gemm_2 block 64x4x1 }
    thunk copy.3 { copy dtod 333 }
    thunk memset.4 { set 44 }
    thunk call.5 { child { launch inside_child; launch inside_child_2 grid 2x2x2 } }
  }
}
run G x 5 on s1
update G 0 launch fusion_1 grid 9x9x9 block 256x1x1
run G x 2 on s2
disable G 1
run G
enable G 1
run G
graph C by capture { thunk fusion.9 { launch captured x 3 block 96x1x1; copy dtod 21; set 22 } }
run C x 3 on s3
launch last
sync
"""
# From the script, by hand: 30+1+1+4+1+60+1 launched, 4+2 kernels per graph run (gemm_2 out of one), 3 per run
# of C. Copies: 3+1+1+1+1+6 and one per run of G and C. Memsets: 1+1, one per run.
KERNELS = (30 + 1 + 1 + 4 + 1 + 3 * 20 + 1) + (9 * 4 - 1) + 3 * 3
COPIES = (3 + 1 + 1 + 1 + 1 + 3 * 2) + 9 + 3
SETS = (1 + 1) + 9 + 3


class Everything(gpu_support.GpuTestCase):
    """One run, looked at from all sides."""

    def setUp(self):
        super().setUp()
        self.result = self.preloaded(EVERYTHING, FAKE_GPU_DEVICES="2")
        self.assertEqual(self.result.code, 0, self.result)

    def test_every_activity_equals_the_drivers_truth(self):
        database = self.fold()
        counts = gpu_support.rows_of(
            database, "SELECT kind, count(*) AS n FROM activity GROUP BY kind ORDER BY kind"
        )
        self.assertEqual(
            [(row["kind"], row["n"]) for row in counts],
            [("kernel", KERNELS), ("memcpy", COPIES), ("memset", SETS)],
        )
        self.assert_equals_truth(database)
        self.assertEqual(gpu_support.run_stats(database, "error"), [])

    def test_checker_detects_one_wrong_figure(self):
        """Every column that the checker compares makes it speak up."""
        database = self.fold()
        truths = self.truths()
        (pid,) = truths
        for name in (
            "stream start_ns end_ns correlation context graph node name grid block".split()
            + ("dynamic_smem static_smem registers thread api".split())
        ):
            row = next(r for r in truths[pid] if r["what"] == "kernel" and r["node"] != "0")
            kept = row[name]
            row[name] = "1x1x7" if "x" in kept and name in ("grid", "block") else "98765"
            self.assertNotEqual([], gpu_support.differences(database, truths), name)
            row[name] = kept
        for name in ("bytes", "copy_kind"):
            row = next(r for r in truths[pid] if r["what"] == "memcpy")
            kept, row[name] = row[name], "9"
            self.assertNotEqual([], gpu_support.differences(database, truths), name)
            row[name] = kept
        self.assertNotEqual([], gpu_support.differences(database, {pid: truths[pid][1:]}))
        self.assertEqual([], gpu_support.differences(database, truths))

    def test_devices_streams_and_process(self):
        database = self.fold()
        devices = gpu_support.rows_of(database, "SELECT * FROM device ORDER BY ordinal")
        self.assertEqual([d["ordinal"] for d in devices], [0, 1])
        self.assertEqual({d["kind"] for d in devices}, {"gpu"})
        self.assertEqual(len({d["uuid"] for d in devices}), 2)
        for device in devices:
            self.assertIn("fake GPU", device["name"])
            for column in ("compute_capability", "sm_count", "clock_hz", "max_threads_per_sm"):
                self.assertTrue(device[column], column)
        self.assertEqual(
            gpu_support.rows_of(
                database,
                "SELECT DISTINCT device_id, stream_id FROM activity EXCEPT "
                "SELECT device_id, stream_id FROM stream",
            ),
            [],
        )
        process = gpu_support.rows_of(database, "SELECT * FROM process")
        self.assertEqual([p["pid"] for p in process], list(self.truths()))
        self.assertIn("fake_workload", process[0]["command"])
        self.assertIsNone(process[0]["rank"])

    def test_ranges_are_nested_and_contain_their_launches(self):
        database = self.fold()
        ranges = gpu_support.rows_of(
            database, "SELECT * FROM range WHERE text IN ('outer', 'inner')"
        )
        outer, inner = sorted(ranges, key=lambda row: row["depth"])
        self.assertEqual((outer["text"], inner["text"]), ("outer", "inner"))
        self.assertEqual(inner["depth"], outer["depth"] + 1)
        self.assertIsNone(outer["domain"])
        self.assertLessEqual(outer["start_ns"], inner["start_ns"])
        self.assertLessEqual(inner["end_ns"], outer["end_ns"])
        calls = gpu_support.rows_of(
            database,
            "SELECT c.* FROM api_call c JOIN launch l USING (api_call_id) "
            "WHERE l.kernel_symbol = 'in_ranges'",
        )
        self.assertEqual(len(calls), 1)
        self.assertEqual(calls[0]["thread_id"], inner["thread_id"])
        self.assertLessEqual(inner["start_ns"], calls[0]["start_ns"])
        self.assertLessEqual(calls[0]["end_ns"], inner["end_ns"])
        modules = gpu_support.rows_of(database, "SELECT * FROM range WHERE text LIKE 'XlaModule:%'")
        self.assertEqual(len(modules), 2)  # around the launches, around the graph's making
        self.assertEqual({m["domain"] for m in modules}, {"TSL"})

    def test_every_device_nanosecond_has_a_label_or_a_reason(self):
        database = self.fold()
        bad = gpu_support.scalar(
            database,
            "SELECT count(*) FROM activity WHERE (instruction IS NULL) != "
            "(unattributed_reason IS NOT NULL) OR (confidence = 'none') != (instruction IS NULL)",
        )
        self.assertEqual(bad, 0)
        total = sum(
            int(row["end_ns"]) - int(row["start_ns"])
            for rows in self.truths().values()
            for row in rows
        )
        for view, column in (
            ("activity", "self_ns"),
            ("op_time", "self_ns"),
            ("scope_time", "self_ns"),
        ):
            self.assertEqual(
                gpu_support.scalar(database, f"SELECT sum({column}) FROM {view}"), total, view
            )

    def test_report_and_summary_name_the_gpu(self):
        report = self.xlatrace("report", "run.db")
        self.assertEqual(report.code, 0, report)
        page = (self.work / "run.html").read_text()
        self.assertIn("fake GPU", page)
        summary = self.xlatrace("summary", "run.db")
        self.assertIn("fake GPU", summary.stdout)
        self.assertLessEqual(len(summary.stdout.splitlines()), 45)

    def test_record_gives_the_same_run(self):
        preloaded = self.fold()
        other = self.folder / "other"
        other.mkdir()
        before = set(self.truths())
        result = support.run(
            "record",
            "--",
            *self.command(EVERYTHING),
            cwd=other,
            env=self.environment(preload=False, FAKE_GPU_DEVICES="2"),
        )
        self.assertEqual(result.code, 0, result)
        self.assertTrue((other / "run.db").exists(), result)
        truths = {pid: rows for pid, rows in self.truths().items() if pid not in before}
        self.assert_equals_truth(other / "run.db", truths)
        content = (
            "SELECT kind, name, duration_ns, bytes, copy_kind, module, instruction, confidence, "
            "evidence, unattributed_reason, count(*) AS n FROM activity "
            "GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 ORDER BY 1, 2, 3, 4, 5, 6, 7"
        )
        self.assertEqual(
            gpu_support.rows_of(preloaded, content), gpu_support.rows_of(other / "run.db", content)
        )
        self.assertFalse((other / "run.rec").exists(), result)

    def test_permissions_and_names(self):
        folder = self.work / "run.rec"
        self.assertEqual(stat.S_IMODE(folder.stat().st_mode), 0o700)
        for path in folder.iterdir():
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600, path)
        (file,) = gpu_support.recording_files(folder)
        (pid,) = self.truths()
        token = (folder / "job").read_text().split()[0]
        self.assertRegex(
            file.name,
            f"^{re.escape(token)}\\.{re.escape(os.uname().nodename)}\\.{pid}\\.[0-9a-f]+\\.rec$",
        )
        self.assertEqual((self.fold()).stat().st_mode & 0o077, 0)


class Line(gpu_support.GpuTestCase):
    """The user's view of the end, and the places of files."""

    def test_one_line_is_printed_at_the_end(self):
        result = self.preloaded("launch k x 1200; copy dtod 5 x 3; sync")
        self.assertRegex(result.stderr, r"^xlatrace: 1,200 \w+, 1 ")
        self.assert_golden_text(result.stderr)

    def test_one_line_for_several_processes(self):
        script = "fork { launch a x 2; sync }\nfork { launch b x 3; sync }\nlaunch c x 5; sync"
        result = self.preloaded(script)
        self.assertRegex(result.stderr, r"^xlatrace: 10 \w+, 3 ")
        self.assert_golden_text(result.stderr)

    def test_quiet_prints_no_line(self):
        result = self.preloaded("launch k; sync", XLATRACE_QUIET="1")
        self.assertEqual((result.stdout, result.stderr), ("", ""))
        self.assert_equals_truth(self.fold())

    def test_disable_leaves_no_trace(self):
        before = support.snapshot(self.work)
        result = self.preloaded("launch k; sync", XLATRACE_DISABLE="1")
        self.assertEqual((result.code, result.stdout, result.stderr), (0, "", ""))
        self.assertEqual(support.snapshot(self.work), before)

    def test_lib_prints_the_path_to_preload(self):
        result = self.xlatrace("lib", cwd="/")
        self.assertEqual(result.code, 0, result)
        self.assertEqual(len(result.stdout.splitlines()), 1)
        path = pathlib.Path(result.stdout.strip())
        self.assertTrue(path.is_absolute() and path.is_file(), result)
        self.assertEqual(path.name, "libxlatrace.so")
        shell = f"LD_PRELOAD=$({shlex.quote(support.PROGRAM)} lib) " + shlex.join(
            self.command("launch k x 9; sync")
        )
        traced = support.run_command(
            ["sh", "-c", shell], cwd=self.work, env=self.environment(preload=False)
        )
        self.assertEqual(traced.code, 0, traced)
        self.assert_equals_truth(self.fold())

    def test_the_program_changes_its_folder(self):
        (self.work / "elsewhere").mkdir()
        result = self.preloaded("launch a; chdir elsewhere; launch b x 2; fork { launch c }; sync")
        self.assertEqual(result.code, 0, result)
        self.assertEqual(list((self.work / "elsewhere").iterdir()), [])
        self.assertEqual(len(gpu_support.recording_files(self.work / "run.rec")), 1)
        self.assert_equals_truth(self.fold())

    def test_a_child_starts_in_another_folder(self):
        (self.work / "deep" / "er").mkdir(parents=True)
        inner = shlex.join(self.command("launch k x 4; sync"))
        result = self.preloaded(["sh", "-c", f"cd deep/er && {inner}"])
        self.assertEqual(result.code, 0, result)
        self.assertEqual(list((self.work / "deep" / "er").iterdir()), [])
        self.assert_equals_truth(self.fold())

    # /proc is a folder in which no user, not even root, can make a file.

    def test_place_that_cannot_be_written(self):
        place = self.folder / "given"
        place.mkdir()
        result = self.preloaded("launch k x 6; sync", cwd="/proc", XLATRACE_DIR=place)
        self.assertEqual(result.code, 0, result)
        self.assertIn(f"{place}/run.rec", result.stderr)
        self.assertIn(f"xlatrace report {place}/run.db", result.stderr)
        self.assert_equals_truth(self.fold(cwd=place))

    def test_temporary_folder_is_the_last_resort(self):
        result = self.preloaded("launch k x 6; sync", cwd="/proc")
        place = self.temporary / f"xlatrace-{os.getuid()}"
        self.assertEqual(result.code, 0, result)
        self.assertIn(f"{place}/run.rec", result.stderr)
        self.assertEqual(stat.S_IMODE(place.stat().st_mode), 0o700)
        self.assert_equals_truth(self.fold(cwd=place))

    def test_unwritable_folders_leave_the_program_unharmed(self):
        where = {"cwd": "/proc", "XLATRACE_DIR": "/proc/1", "TMPDIR": "/proc"}
        alone = self.alone("launch k x 6; sync; print done", **where)
        result = self.preloaded("launch k x 6; sync; print done", **where)
        ours = self.assert_unharmed(result, alone)
        self.assertEqual(len(ours), 1, result)

    def test_output_of_record(self):
        env = self.environment(preload=False, RANK="3")
        (self.work / "out").mkdir()
        result = self.xlatrace(
            "record", "-o", "out/r%r-%p-%h.db", "--", *self.command("launch k x 6; sync"), env=env
        )
        self.assertEqual(result.code, 0, result)
        names = sorted(path.name for path in (self.work / "out").iterdir())
        self.assertEqual(len(names), 1, f"{names} {result}")
        database = self.work / "out" / names[0]
        self.assertRegex(database.name, f"^r3-[0-9]+-{re.escape(os.uname().nodename)}\\.db$")
        self.assert_equals_truth(database)

    def test_bytes_per_launch_are_below_the_limit(self):
        """At most 32 bytes per launch in the recording, without the data that a process writes once."""
        sizes = []
        for launches in (1000, 41000):
            folder = self.folder / str(launches)
            folder.mkdir()
            script = (
                f"repeat {launches // 10} {{ launch a x 4; launch b x 5 grid 7x1x1; set 12 }}; sync"
            )
            self.assertEqual(self.preloaded(script, cwd=folder).code, 0)
            sizes.append(sum(path.stat().st_size for path in (folder / "run.rec").iterdir()))
        self.assertLessEqual((sizes[1] - sizes[0]) / 40000, 32)

    def test_names_are_stored_unchanged(self):
        """Long, of other alphabets, hostile: stored whole, and harmless in page and terminal."""
        names = [
            "k" * 4000,
            "<script>alert(1)</script>",
            "größe_核",
            "a,b'c",
            "=1+1",
            "\x1b[31mred",
            "../../x",
        ]
        script = "".join(
            f'launch "{name}"\nrange "{name}" {{ launch "{name}" }}\n' for name in names
        )
        result = self.preloaded(script + "sync")
        self.assertEqual(result.code, 0, result)
        database = self.fold()
        self.assert_equals_truth(database)
        texts = {row["text"] for row in gpu_support.rows_of(database, "SELECT text FROM range")}
        self.assertEqual(texts, set(names))
        report = self.xlatrace("report", "run.db")
        self.assertEqual(report.code, 0, report)
        self.assertNotIn("<script>alert(1)", (self.work / "run.html").read_text())
        self.assertNotRegex(self.xlatrace("summary", "run.db").stdout, support.ESCAPE)

    def test_no_environment_and_no_secret_is_stored(self):
        script = "# python\nfrom tiny_gpu import *\nlaunch('k', 3); sync()"
        result = self.preloaded(
            self.command(script) + ["--api-key=sk-hush1", "--password", "sk-hush2", "--lr=0.5"],
            MY_VARIABLE="sk-hush3",
            AWS_SECRET_ACCESS_KEY="sk-hush4",
        )
        self.assertEqual(result.code, 0, result)
        database = self.fold()
        for path in [database, *(self.work / "run.rec").iterdir()]:
            self.assertNotIn(b"sk-hush", path.read_bytes(), path)
        self.assertIn("--lr=0.5", gpu_support.scalar(database, "SELECT command FROM process"))


if __name__ == "__main__":
    unittest.main()
