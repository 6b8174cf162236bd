# SPDX-License-Identifier: Apache-2.0
"""The parts that the two libraries bring into a traced process: symbols, dependencies, code that runs at
exit. Each has hung or crashed a traced program in some tool."""

import os
import re
import subprocess
import unittest
from pathlib import Path

LIB = Path(os.environ.get("XLATRACE_LIB_DIR", "."))
PRELOAD = LIB / "libxlatrace.so"
COLLECTOR = LIB / "libxlatrace_collector.so"


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported(library):
    lines = run("nm", "-D", "--defined-only", library).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def needed(library):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", library)))


def newest_glibc(library):
    versions = re.findall(r"GLIBC_2\.([0-9]+)", run("objdump", "-T", library))
    return max(int(version) for version in versions)


def instrumented(library):
    return "asan" in run("readelf", "-d", library) or "tsan" in run("readelf", "-d", library)


@unittest.skipUnless(PRELOAD.exists(), "libxlatrace.so is not built")
class PreloadTest(unittest.TestCase):
    def test_exports_the_wrappers_and_nothing_else(self):
        self.assertEqual(
            exported(PRELOAD),
            {"xlatrace_preload_connect", "_exit", "_Exit", "quick_exit", "kill", "raise",
             "pthread_kill", "abort", "__assert_fail", "execve", "execv",
             "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "mkdir", "xlatrace_mark_step", "xlatrace_pause", "xlatrace_resume",
             "xlatrace_is_recording"})

    def test_needs_libc_only(self):
        self.assertLessEqual(needed(PRELOAD), {"libc.so.6", "libdl.so.2", "ld-linux-x86-64.so.2"})

    def test_loads_with_an_old_glibc(self):
        # CentOS 7's; what a job's shell and helpers are linked with is not the framework's affair.
        self.assertLessEqual(newest_glibc(PRELOAD), 17)

    def test_is_tiny(self):
        self.assertLess(PRELOAD.stat().st_size, 64 * 1024)


@unittest.skipUnless(COLLECTOR.exists(), "libxlatrace_collector.so is not built (no CUDA headers)")
class CollectorTest(unittest.TestCase):
    def setUp(self):
        if instrumented(COLLECTOR):
            self.skipTest("a sanitizer build brings its own run time")

    def test_exports_the_doors_and_nothing_else(self):
        self.assertEqual(
            exported(COLLECTOR),
            {"InitializeInjection", "InitializeInjectionNvtx2", "InitializeInjectionNvtxExtension"})

    def test_brings_no_library_with_it(self):
        # libstdc++ and libgcc are inside; CUPTI and the driver are found at run time.
        self.assertLessEqual(
            needed(COLLECTOR),
            {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2"})

    def test_loads_with_an_old_glibc(self):
        self.assertLessEqual(newest_glibc(COLLECTOR), 34)

    def test_has_no_static_objects_with_destructors(self):
        # GCC registers a static object's destructor from a _GLOBAL__sub_I function of its file. The
        # only one allowed is libstdc++'s emergency pool for exceptions, which destroys nothing.
        initialisers = set(re.findall(r"\b_GLOBAL__sub_I_(\S+)", run("nm", COLLECTOR)))
        self.assertLessEqual(initialisers, {"eh_alloc.cc"})

    def test_registers_an_exit_handler_in_one_place_only(self):
        # Who calls atexit or __cxa_atexit: the first context (inlined into Start too), atexit itself.
        callers = set()
        function = ""
        for line in run("objdump", "-dC", "--no-show-raw-insn", COLLECTOR).splitlines():
            if match := re.match(r"[0-9a-f]+ <(.*)>:$", line):
                function = match.group(1)
            elif re.search(r"(?:call|jmp)\s+[0-9a-f]+ <(?:__cxa_)?atexit(?:@plt)?>", line):
                callers.add(function)
        self.assertTrue(callers)
        for caller in callers:
            self.assertRegex(caller, r"Collector::(OnFirstContext|Start)\b|^atexit$")

    def test_never_finalises_cupti(self):
        self.assertNotIn(b"cuptiFinalize", COLLECTOR.read_bytes())


if __name__ == "__main__":
    unittest.main()
