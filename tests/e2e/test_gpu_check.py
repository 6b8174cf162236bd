# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu_check itself, on the fake GPU: its checks hold there, and a wrong run fails them."""

import json
import pathlib
import tarfile
import unittest
import zipfile

import gpu_support
import support
import tiers

SCRIPT = support.REPOSITORY / "scripts" / "gpu_check"


class GpuCheck(gpu_support.GpuTestCase):
    def check(self, *arguments, **environment):
        prefix = gpu_support.library_folder().parent
        command = [SCRIPT, "--prefix", prefix, "--out", self.folder / "out", *arguments]
        return support.run_command(
            [str(word) for word in command],
            cwd=self.work,
            env=self.environment(preload=False, FAKE_GPU_LOG=None, **environment),
        )

    NAMES = "variables_set_by_a_constructor,conformance,forks"
    # Checks that measure no time.
    UNTIMED = NAMES + (",exits,occupancy,many_graph_records" if tiers.IS_LONG else ",exits,occupancy")

    def test_check_passes_on_the_fake_gpu(self):
        result = self.check("--fake", "--only", self.UNTIMED)
        self.assertEqual(result.code, 0, result)
        results = json.loads((self.folder / "out" / "results.json").read_text())
        for name in self.UNTIMED.split(","):
            self.assertEqual(results[name]["state"], "ok", name)
        for name in ("conformance.tsv", "recording"):
            self.assertTrue((self.folder / "out" / name).exists())

    def test_packed_check_runs_in_another_folder(self):
        """One archive of at most 40 MB; the other machine has python3 and nothing of ours."""
        archive = self.folder / "check.tar.gz"
        packed = support.run_command(
            [str(SCRIPT), "--prefix", str(gpu_support.library_folder().parent), "--pack", archive],
            cwd=self.work,
            env=self.environment(preload=False),
        )
        self.assertEqual(packed.code, 0, packed)
        self.assertLessEqual(archive.stat().st_size, 40_000_000)
        with tarfile.open(archive) as tar:
            tar.extractall(self.work)
        there = self.work / "gpu_check"
        result = support.run_command(
            [str(there / "scripts" / "gpu_check"), "--fake", "--only", self.NAMES]
            + ["--prefix", "gpu_check", "--out", "out"],
            cwd=self.work,
            env=self.environment(preload=False, FAKE_GPU_LOG=None),
        )
        self.assertEqual(result.code, 0, result)
        self.assertIn("3 ok, 0 failed, 0 skipped", result.stdout)
        # With the archive's own libraries.
        facts = (self.work / "out" / "recording").glob("*.rec")
        self.assertTrue(list(facts))

    def wheels(self):
        """A folder with two CUPTI wheels, which hold the fake."""
        folder = self.folder / "wheels"
        folder.mkdir()
        library = pathlib.Path(gpu_support.FAKE_GPU) / "libcupti.so.13"
        for release in ("13.1.115", "13.5.25"):
            with zipfile.ZipFile(folder / f"nvidia_cuda_cupti-{release}-py3-none-any.whl", "w") as wheel:
                wheel.write(library, "nvidia/cu13/lib/libcupti.so.13")
                wheel.writestr("nvidia/cu13/lib/libpcsamplingutil.so", "not needed")
        return folder

    def test_each_libcupti_of_an_archive_is_checked(self):
        archive = self.folder / "check.tar.gz"
        prefix = str(gpu_support.library_folder().parent)
        packed = support.run_command(
            [str(SCRIPT), "--prefix", prefix, "--pack", archive, "--wheels", str(self.wheels())],
            cwd=self.work,
            env=self.environment(preload=False),
        )
        self.assertEqual(packed.code, 0, packed)
        with tarfile.open(archive) as tar:
            tar.extractall(self.work)
        cupti = self.work / "gpu_check" / "cupti"
        files = sorted(str(path.relative_to(cupti)) for path in cupti.rglob("*") if path.is_file())
        self.assertEqual(
            files, [f"nvidia_cuda_cupti-{n}/libcupti.so.13" for n in ("13.1.115", "13.5.25")]
        )
        options = ("--fake", "--only", "each_cupti", "--cupti", str(cupti))
        result = self.check(*options)
        self.assertEqual(result.code, 0, result)
        for release in ("13.1.115", "13.5.25"):
            self.assertIn(release, result.stdout)
        result = self.check(*options, scenario="cupti drop records 7 3 uncounted")
        self.assertEqual(result.code, 1, result)

    def test_sizes_that_no_header_has_fail(self):
        result = self.check("--fake", "--only", "conformance", scenario="cupti size 10 208")
        self.assertEqual(result.code, 1, result)
        self.assertIn("FAIL  conformance", result.stdout)

    def test_dropped_records_fail_the_check(self):
        result = self.check(
            "--fake", "--only", self.NAMES, scenario="cupti drop records 7 3 counted"
        )
        self.assertEqual(result.code, 1, result)
        self.assertIn("FAIL  variables set by a constructor", result.stdout)
        self.assertIn("FAIL  conformance", result.stdout)

    @tiers.long_tier
    def test_kernels_without_times_fail(self):
        """The program itself reads these properties from the recording."""
        result = self.check(
            "--fake", "--only", "many_graph_records", scenario="cupti times zero 8 3"
        )
        self.assertEqual(result.code, 1, result)
        self.assertRegex(result.stdout, r"FAIL  many graph records: .*\b3 of [\d,]+ ")

    # Each check, and a fault of CUPTI with which it fails. "spin" and "k" are kernels of the checks.
    SPIN = "kernel spin times 100\n"
    HELD = SPIN + "cupti hold until exit\n"
    PLANTED = {
        "kernels_of_a_stream": "cupti drop records 30 2 uncounted\n",
        "exit_with_work_queued": SPIN + "cupti drop records 7 3 uncounted\n",
        "killed_while_busy": HELD,
        "killed_while_it_hangs": HELD + "kernel spin times 1000000000\n",
        "clocks": "cupti late 3000\ncupti swap correlation 5\ncupti drop records 30 2 uncounted\n",
        "whole_graphs": "fail cuptiActivityEnable error 27 call 9\n",
        "graph_launches_in_flight": "cupti drop records 70 2 counted\n",
    }

    def test_each_check_of_the_device_holds_on_the_fake(self):
        checks = tiers.representatives(self.PLANTED, 2)
        result = self.check("--fake", "--only", ",".join(checks), scenario=self.SPIN)
        self.assertEqual(result.code, 0, result)
        self.assertIn(f"{len(checks)} ok, 0 failed, 0 skipped", result.stdout)

    def test_each_check_of_the_device_fails_with_a_planted_fault(self):
        for check, scenario in tiers.representatives(self.PLANTED.items(), 2):
            with self.subTest(check=check):
                result = self.check("--fake", "--only", check, scenario=scenario)
                self.assertEqual(result.code, 1, result)
                self.assertIn(f"FAIL  {check.replace('_', ' ')}", result.stdout)

    def test_without_a_gpu_it_skips_with_the_reason(self):
        result = self.check(LD_LIBRARY_PATH=None)
        self.assertEqual((result.code, result.stdout[:16]), (0, "skip  everything"), result)
        result = self.check()
        self.assertEqual(result.code, 0)
        self.assertIn("fake", result.stdout)


if __name__ == "__main__":
    unittest.main()
