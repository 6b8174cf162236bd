# SPDX-License-Identifier: Apache-2.0
"""Every CUPTI there is, none at all, other tools in the process, limits of the machine."""

import os
import pathlib
import shutil
import sys
import unittest

import gpu_support
import support

sys.path.insert(0, str(support.REPOSITORY / "tests" / "fake_gpu"))
import driver  # noqa: E402

SCRIPT = """
kernel a registers 40 smem 16
graph G { launch a x 1 grid 2x3x4; copy dtod 8; set 9 }
launch a x 20 block 64x2x1 smem 100
copy htod 77; copy dtoh 66 on s1; copy dtod 55; copy peer 44; set 33
run G x 3
sync
print done
exit 3
"""
OPTIONAL = (  # with the CUDA release that brought it
    "cuptiSubscribe_v2",  # 13.0
    "cuptiActivityEnableDriverApi",  # 12.5
    "cuptiActivityEnableRuntimeApi",  # 12.5
    "cuptiGetGraphExecId",  # 12.3
    "cuptiActivityRegisterTimestampCallback",  # 11.6
    "cuptiActivityFlushPeriod",  # 11.1
    "cuptiActivityEnableLaunchAttributes",
    "cuptiActivityEnableLatencyTimestamps",
    "cuptiActivityEnableAllocationSource",
    "cuptiGetErrorMessage",
    "cuptiGetCubinCrc",
    "cuptiSetThreadIdType",
    "cuptiGetResultString",
)
NEEDED = (
    "cuptiSubscribe",
    "cuptiActivityRegisterCallbacks",
    "cuptiActivityEnable",
    "cuptiActivityGetNextRecord",
)


class Releases(gpu_support.GpuTestCase):
    def check(self, script=SCRIPT, **environment):
        environment = {"FAKE_GPU_DEVICES": "2", **environment}
        traced = self.preloaded(script, **environment)
        self.assert_unharmed(traced, self.alone(script, **environment))
        self.assert_equals_truth(self.fold())
        return traced

    def check_refused(self, pattern, script=SCRIPT, **environment):
        """No kernels are recorded: the program is unharmed, and report and line give the reason."""
        environment = {"FAKE_GPU_DEVICES": "2", **environment}
        traced = self.preloaded(script, **environment)
        ours = self.assert_unharmed(traced, self.alone(script, **environment))
        report = self.xlatrace("report", "run.db")
        page = self.work / "run.html"
        told = report.stdout + report.stderr + (page.read_text() if page.exists() else "")
        self.assertRegex(told, pattern)
        self.assertRegex("\n".join(ours), pattern)

    def test_record_sizes_of_all_releases(self):
        for api in (
            18,
            20,
            21,
            22,
            23,
            24,
            26,
            28,
            130000,
            130001,
            130101,
            130202,
            130301,
            130401,
            130500,
        ):
            with self.subTest(api=api):
                self.setUp()
                self.check(FAKE_CUPTI_API=api)
                self.assertEqual(gpu_support.loss(self.work / "run.db"), 0)

    def test_later_release_with_larger_records_is_read(self):
        self.check(FAKE_CUPTI_API=140000)

    def folder_of_libraries(self, name, **cupti):
        folder = self.folder / name
        folder.mkdir()
        shutil.copy(pathlib.Path(gpu_support.FAKE_GPU) / "libcuda.so.1", folder)
        if cupti:
            driver.masked_cupti(
                str(folder), source=os.path.join(gpu_support.FAKE_GPU, "libcupti.so.13"), **cupti
            )
        return folder

    def test_recording_works_without_an_optional_function(self):
        for function in OPTIONAL:
            with self.subTest(function=function):
                self.setUp()
                self.check(LD_LIBRARY_PATH=self.folder_of_libraries("lib", without=[function]))

    def test_all_optional_functions_missing(self):
        folder = self.folder_of_libraries("lib", without=OPTIONAL)
        self.check(LD_LIBRARY_PATH=folder, FAKE_CUPTI_API=18)

    def test_missing_required_function_switches_recording_off(self):
        for function in NEEDED:
            with self.subTest(function=function):
                self.setUp()
                without = [function] + (
                    ["cuptiSubscribe_v2"] if function == "cuptiSubscribe" else []
                )
                folder = self.folder_of_libraries("lib", without=without)
                self.check_refused(function, LD_LIBRARY_PATH=folder)

    def test_missing_libcupti_switches_recording_off(self):
        """Or NVIDIA's, where a toolkit is installed, which refuses this driver."""
        self.check_refused("(?i)cupti", LD_LIBRARY_PATH=self.folder_of_libraries("lib"))

    def test_libcupti_of_cuda_12_is_used(self):
        folder = self.folder_of_libraries("lib", soname="libcupti.so.12")
        self.check(LD_LIBRARY_PATH=folder, FAKE_GPU_DRIVER_VERSION="12080", FAKE_CUPTI_API="26")

    def test_given_libcupti(self):
        folder = self.folder_of_libraries("lib")
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        given = shutil.copy(
            pathlib.Path(gpu_support.FAKE_GPU) / "libcupti.so.13", elsewhere / "other.so"
        )
        self.check(LD_LIBRARY_PATH=folder, XLATRACE_CUPTI=given)

    def test_given_libcupti_that_is_invalid(self):
        (self.folder / "text.so").write_text("no library")
        for path in ("/does/not/exist.so", self.folder / "text.so"):
            self.check_refused("exist.so|text.so", XLATRACE_CUPTI=path)
            shutil.rmtree(self.work / "run.rec", ignore_errors=True)

    def test_the_copy_that_the_program_has_loaded_is_used(self):
        """As JAX does: by absolute path, where no search path leads to. Two copies must not be."""
        folder = self.folder_of_libraries("lib")
        wheel = self.folder / "wheel"
        wheel.mkdir()
        shutil.copy(pathlib.Path(gpu_support.FAKE_GPU) / "libcupti.so.13", wheel)
        script = (
            f"# python\nimport ctypes\nctypes.CDLL('{wheel}/libcupti.so.13')\n"
            "from tiny_gpu import *\nlaunch('k', 20); sync()\n"
            "maps = {l.split()[-1] for l in open('/proc/self/maps') if 'libcupti' in l}\n"
            f"print([m.replace('{wheel}', 'wheel') for m in sorted(maps)])"
        )
        self.check(script, LD_LIBRARY_PATH=folder)
        self.truth_folder = self.folder / "truth2"
        self.truth_folder.mkdir()
        shutil.rmtree(self.work / "run.rec")
        self.check(script)  # and with another copy on the search path

    def test_real_cupti_without_this_driver(self):
        """NVIDIA's own library rejects the fake driver: reported, without harm."""
        found = [p for p in os.environ.get("XLATRACE_REAL_CUPTI", "").split(":") if p]
        if not found or not pathlib.Path(found[0]).exists():
            self.skipTest("XLATRACE_REAL_CUPTI is not set")
        self.check_refused("(?i)cupti", XLATRACE_CUPTI=found[0])


class SecondInterface(Releases):
    """Since CUDA 13.3 several profilers may use CUPTI, if all request it."""

    RELEASE = {"FAKE_CUPTI_API": "130301", "FAKE_GPU_DRIVER_VERSION": "13030"}

    for name in list(vars(Releases)):
        if name.startswith("test_"):
            locals()[name] = None  # the tests of Releases are its own

    def info(self):
        rows = gpu_support.rows_of(self.work / "run.db", "SELECT key, value FROM run_info")
        return {row["key"]: row["value"] for row in rows}

    def scenario(self, text):
        path = self.folder / "scenario.txt"
        path.write_text(text)
        return {"FAKE_GPU_SCENARIO": path}

    def test_second_interface_is_used_if_cupti_has_it(self):
        for api, interface in (("130301", "2"), ("130500", "2"), ("130202", None), ("130001", None)):
            with self.subTest(api=api):
                self.setUp()
                self.check(FAKE_CUPTI_API=api, FAKE_GPU_DRIVER_VERSION="13030")
                self.assertEqual(self.info().get("cupti_interface"), interface)
                self.assertNotIn("beside_profiler", self.info())
                self.assertEqual(gpu_support.loss(self.work / "run.db"), 0)

    def test_recording_works_beside_another_profiler(self):
        """Both record; the run names the other profiler."""
        self.check(**self.RELEASE, **self.scenario('cupti subscriber beside "CUPTI for XLA"'))
        self.assertEqual(self.info()["beside_profiler"], "CUPTI for XLA")
        self.assertEqual(gpu_support.loss(self.work / "run.db"), 0)

    def test_recording_is_off_beside_an_exclusive_profiler(self):
        self.check_refused(
            "Nsight Systems", **self.RELEASE, **self.scenario('cupti subscriber "Nsight Systems"')
        )

    # The second interface lets us subscribe and serves nothing.
    HALF_SERVED = "".join(
        f"fail {function}_v2 error 27 times 0\n"
        for function in (
            "cuptiGetTimestamp",
            "cuptiActivityEnable",
            "cuptiActivityRegisterCallbacks",
        )
    )
    REFUSALS = [f"fail cuptiSubscribe_v2 error {error} times 0" for error in (15, 27, 39, 999)]

    def test_refused_second_interface_leaves_the_first(self):
        for refusal in [*self.REFUSALS, self.HALF_SERVED]:
            with self.subTest(refusal=refusal):
                self.setUp()
                self.check(**self.RELEASE, **self.scenario(refusal))
                self.assertNotIn("cupti_interface", self.info())
                self.assertEqual(gpu_support.loss(self.work / "run.db"), 0)

    def test_second_interface_is_not_tried_on_an_older_driver(self):
        """CUPTI of a wheel is often newer than the driver, which has to be of CUDA 13.3, too."""
        for version in ("12080", "13000", "13020"):
            for scenario in (*self.REFUSALS, self.HALF_SERVED, "cupti second bars first"):
                with self.subTest(version=version, scenario=scenario):
                    self.setUp()
                    self.check(
                        FAKE_CUPTI_API="130500",
                        FAKE_GPU_DRIVER_VERSION=version,
                        **self.scenario(scenario),
                    )
                    self.assertEqual(gpu_support.loss(self.work / "run.db"), 0)

    def test_functions_missing(self):
        """Without those that are needed the first interface serves, without the others we go on."""
        for function, interface in (
            ("cuptiSubscribe_v2", None),
            ("cuptiActivityEnable_v2", None),
            ("cuptiActivityRegisterCallbacks_v2", None),
            ("cuptiActivityGetNextRecord_v2", None),
            ("cuptiActivitySetAttribute_v2", "2"),
            ("cuptiActivityGetNumDroppedRecords_v2", "2"),
            ("cuptiGetTimestamp_v2", "2"),
        ):
            with self.subTest(function=function):
                self.setUp()
                folder = self.folder_of_libraries("lib", without=[function])
                self.check(LD_LIBRARY_PATH=folder, **self.RELEASE)
                self.assertEqual(self.info().get("cupti_interface"), interface)


class OtherTools(Releases):
    """Another tool in the injection variables is left alone."""

    for name in list(vars(Releases)):
        if name.startswith("test_"):
            locals()[name] = None  # the tests of Releases are its own

    def test_cuda_injection_of_another_tool(self):
        other = self.folder / "libother.so"
        shutil.copy(pathlib.Path(gpu_support.FAKE_GPU) / "fake_gpu_client.so", other)
        env = {"CUDA_INJECTION64_PATH": other, "CLIENT_LOG": self.folder / "client"}
        traced = self.preloaded(SCRIPT, FAKE_GPU_DEVICES="2", **env)
        ours = self.assert_unharmed(traced, self.alone(SCRIPT, FAKE_GPU_DEVICES="2", **env))
        self.assertEqual(len(ours), 1, traced)
        self.assertIn("libother.so", ours[0])
        logs = list(self.folder.glob("client.*.tsv"))
        self.assertTrue(
            any("kernel" in log.read_text() for log in logs), "the other tool saw nothing"
        )

    def test_meaningless_variables_are_ignored(self):
        for value in ("", "none"):
            with self.subTest(value=value):
                self.setUp()
                script = "launch k x 9; range r { launch k }; sync"
                traced = self.preloaded(
                    script, CUDA_INJECTION64_PATH=value, NVTX_INJECTION64_PATH=value
                )
                self.assertEqual(traced.code, 0, traced)
                database = self.fold()
                self.assert_equals_truth(database)
                self.assertEqual(gpu_support.scalar(database, "SELECT count(*) FROM range"), 1)

    def test_profile_guided_compilation_switches_recording_off(self):
        """With JAX's PGLE, xlatrace does not record, and reports that."""
        script = "launch k x 9; sync; print done"
        traced = self.preloaded(script, JAX_ENABLE_PGLE="true")
        ours = self.assert_unharmed(traced, self.alone(script, JAX_ENABLE_PGLE="true"))
        self.assertRegex("\n".join(ours), "PGLE")
        self.assertEqual(list(self.work.rglob("*.rec/*.rec")), [])

    def test_another_preload_beside_ours(self):
        other = self.folder / "libother.so"
        libraries = [line.split()[-1] for line in open("/proc/self/maps") if "/libm.so" in line]
        libraries += ["/lib/x86_64-linux-gnu/libm.so.6"]
        if not os.path.exists(libraries[0]):
            self.skipTest("no libm.so.6 to preload")
        shutil.copy(libraries[0], other)
        ours = gpu_support.preload_library()
        for value in (f"{other}:{ours}", f"{ours} {other}"):
            with self.subTest(value=value):
                self.setUp()
                shutil.copy(libraries[0], self.folder / "libother.so")
                script = "launch k x 9; sync; print done"
                value = value.replace(str(other), str(self.folder / "libother.so"))
                alone = self.alone(script, LD_PRELOAD=self.folder / "libother.so")
                self.assert_unharmed(self.preloaded(script, LD_PRELOAD=value), alone)
                self.assert_equals_truth(self.fold())

    def test_nvtx_injection_of_another_tool(self):
        """Ranges are the other tool's; activities are still recorded."""
        other = pathlib.Path(gpu_support.FAKE_GPU) / "libcupti.so.13"
        self.check("range r { launch k x 9 }; sync", NVTX_INJECTION64_PATH=other)


class Limits(gpu_support.GpuTestCase):
    MANY = "repeat 1000 { launch k x 300; sync }; print done; exit 3"

    def test_recording_ends_at_its_largest_size(self):
        """It stops, and reports that it did, there and in the run."""
        limit = 2_000_000
        traced = self.preloaded(self.MANY, XLATRACE_MAX_BYTES=limit, XLATRACE_FLUSH_MS="20")
        ours = self.assert_unharmed(traced, self.alone(self.MANY))
        size = sum(path.stat().st_size for path in (self.work / "run.rec").iterdir())
        self.assertLessEqual(size, limit + 70_000)
        self.assertRegex("\n".join(ours), "(?i)limit|stopped|XLATRACE_MAX_BYTES")
        database = self.fold()
        missing, invented = gpu_support.compare_sets(database, self.truths())
        self.assertEqual(invented, [])
        self.assertTrue(missing)
        self.assertGreaterEqual(gpu_support.loss(database), len(missing))

    def test_file_size_limit_of_the_shell(self):
        """A write beyond it is SIGXFSZ for who does not block it: the program must live."""
        inner = " ".join(f"'{part}'" for part in self.command(self.MANY))
        command = ["bash", "-c", f"trap '' USR1; ulimit -f 1000; exec {inner}"]
        environment = {"FAKE_GPU_LOG": None, "XLATRACE_FLUSH_MS": "20"}
        traced = self.preloaded(command, **environment)
        self.assert_unharmed(traced, self.alone(command, **environment), lines=2)
        self.assertGreater(gpu_support.loss(self.fold()), 0)

    def test_invalid_numbers_in_variables_are_reported(self):
        for name, values in (
            ("XLATRACE_FLUSH_MS", ("abc", "0", "-5", "999999999999999999999", "")),
            ("XLATRACE_MAX_BYTES", ("abc", "-1", "")),
        ):
            for value in values:
                with self.subTest(name=name, value=value):
                    self.setUp()
                    script = "launch k x 9; sync; print done"
                    traced = self.preloaded(script, **{name: value})
                    self.assert_unharmed(traced, self.alone(script), lines=2)
                    self.assert_equals_truth(self.fold())

    def test_no_device(self):
        """The driver is there without a GPU: the program reports it, xlatrace prints nothing."""
        script = "init; print never"
        alone = self.alone(script, FAKE_GPU_DEVICES="0")
        self.assertNotEqual(alone.code, 0)
        self.assert_unharmed(self.preloaded(script, FAKE_GPU_DEVICES="0"), alone)

    def test_recording_removed_while_it_is_written(self):
        removal = (
            "while not os.path.exists('run.rec'): time.sleep(0.02)\n"
            "time.sleep(0.1); shutil.rmtree('run.rec', ignore_errors=True)\n"
        )
        script = (
            "# python\nimport os, shutil, time\nfrom tiny_gpu import *\nlaunch('k', 50); sync()\n"
            + removal
            + "launch('k', 50); sync(); time.sleep(0.2); print('done')"
        )
        plain = script.replace(removal, "")
        traced = self.preloaded(script, XLATRACE_FLUSH_MS="20")
        (line,) = self.assert_unharmed(traced, self.alone(plain))
        self.assertIn("run.rec", line)
        self.assertNotRegex(line, "[0-9] launch")
        recorded = self.xlatrace("record", "--", *self.command(script), env=self.environment(False))
        self.assertEqual((recorded.code, len(recorded.errors)), (0, 1), recorded)
        self.assertIn("run.rec", recorded.errors[0])

    def test_many_threads_are_recorded(self):
        """64 threads with buffers of their own; memory stays bounded."""
        script = "threads 64 { launch k x 50 on t%t; sync t%t }; print done"
        traced = self.preloaded(script, XLATRACE_FLUSH_MS="50")
        self.assert_unharmed(traced, self.alone(script))
        self.assert_equals_truth(self.fold())

    def test_memory_is_bounded(self):
        """Threads that come and go, a hundred and more at once: at most 256 MB for us."""
        body = (
            "import resource\nfrom tiny_gpu import *\nimport threading, time\nlaunch('k')\n"
            "def work():\n    start(); launch('k', 20); barrier.wait()\n"
            "barrier = threading.Barrier(200)\n"
            "threads = [threading.Thread(target=work) for _ in range(200)]\n"
            "[t.start() for t in threads]; [t.join() for t in threads]; sync()\n"
            "status = dict(l.split(':', 1) for l in open('/proc/self/status'))\n"
            "open('peak', 'w').write(status['VmHWM'].split()[0]); print('done')"
        )
        self.assert_unharmed(self.preloaded("# python\n" + body), self.alone("# python\n" + body))
        self.preloaded("# python\n" + body)
        with_us = int((self.work / "peak").read_text())
        self.alone("# python\n" + body)
        without = int((self.work / "peak").read_text())
        self.assertLess(with_us - without, 256 * 1024)


if __name__ == "__main__":
    unittest.main()
