# SPDX-License-Identifier: Apache-2.0
"""An installation into a prefix that then moves: the program finds its library, and the literal
`LD_PRELOAD=libxlatrace.so` works where the loader looks for libraries."""

import os
import shutil
import subprocess
import unittest
from pathlib import Path

import support

BUILD = Path(os.environ.get("XLATRACE_BIN", "/nowhere/bin/xlatrace")).resolve().parent.parent
FAKES = Path(os.environ.get("XLATRACE_FAKE_GPU", "/nowhere"))


class InstallTest(support.TestCase):
    def setUp(self):
        super().setUp()
        if not (FAKES / "fake_workload").exists():
            self.skipTest("no fake GPU in this build (no CUDA headers)")
        first = self.folder / "first"
        done = subprocess.run(["cmake", "--install", str(BUILD), "--prefix", str(first)],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.prefix = self.folder / "moved"
        shutil.move(first, self.prefix)
        libraries = [path.parent for path in self.prefix.rglob("libxlatrace.so")]
        self.assertEqual(len(libraries), 1, list(self.prefix.rglob("*")))
        self.lib = libraries[0]
        self.assertTrue((self.lib / "libxlatrace_collector.so").exists())

    def run_here(self, *command, **changes):
        env = {k: v for k, v in os.environ.items() if not k.startswith("XLATRACE")}
        # As ldconfig does it for /usr/local/lib.
        env.update(LD_LIBRARY_PATH=f"{self.lib}:{FAKES}", PATH=f"{self.prefix}/bin:{env['PATH']}",
                   **changes)
        return subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True,
                              timeout=support.HANG_S)

    def test_the_two_commands_of_the_first_page(self):
        run = self.run_here(str(FAKES / "fake_workload"), "-e", "launch a x 5; sync",
                            LD_PRELOAD="libxlatrace.so")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stderr, r"\b5 ")
        report = self.run_here("xlatrace", "report", "run.db")
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertTrue((self.folder / "run.html").exists())

    def test_lib_prints_the_installed_library(self):
        done = self.run_here("xlatrace", "lib")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(Path(done.stdout.strip()).resolve(),
                         (self.lib / "libxlatrace.so").resolve())

    def odd_installation(self):
        """(xlatrace in a folder that LD_PRELOAD cannot name, environment without ours)"""
        odd = self.folder / "my prögrams: new"
        shutil.copytree(self.prefix, odd)
        env = {k: v for k, v in os.environ.items() if not k.startswith("XLATRACE")}
        temporary = self.folder / "temporary"
        temporary.mkdir()
        env.update(LD_LIBRARY_PATH=str(FAKES), TMPDIR=str(temporary))
        return odd / "bin" / "xlatrace", env

    def test_installation_in_a_folder_with_a_blank_records(self):
        program, env = self.odd_installation()
        lib = subprocess.run([program, "lib"], env=env, capture_output=True, text=True)
        self.assertEqual(lib.returncode, 0, lib.stderr)
        library = Path(lib.stdout.rstrip("\n"))
        self.assertEqual(library.parents[2], Path(env["TMPDIR"]))
        self.assertNotRegex(str(library), r"[\s:]")
        self.assertTrue(library.samefile(program.parents[1] / self.lib.relative_to(self.prefix) / library.name))
        workload = [FAKES / "fake_workload", "-e", "launch a x 5; sync"]
        preloaded = subprocess.run(workload, env={**env, "LD_PRELOAD": str(library)}, cwd=self.folder,
                                   capture_output=True, text=True)
        self.assertEqual(preloaded.returncode, 0, preloaded.stderr)
        self.assertIn("5 launches", preloaded.stderr)
        recorded = subprocess.run([program, "record", "-o", "other.db", "--", *workload], env=env,
                                  cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(recorded.returncode, 0, recorded.stderr)
        self.assertRegex(recorded.stderr, r"\b5 ")

    def test_program_runs_unrecorded_if_no_link_is_possible(self):
        program, env = self.odd_installation()
        private = Path(env["TMPDIR"]) / f"xlatrace-{os.getuid()}"
        private.write_text("")
        done = subprocess.run([program, "lib"], env=env, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        message = done.stderr
        self.assertIn(str(private), message)
        done = subprocess.run([program, "record", "--", "echo", "ran"], env=env, cwd=self.folder,
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)
        self.assert_golden_text(message + done.stderr, [(rf"xlatrace-{os.getuid()}\b", "xlatrace-UID")])

    def test_record_finds_the_installed_library(self):
        done = self.run_here("xlatrace", "record", "--", str(FAKES / "fake_workload"), "-e",
                             "launch a x 5; sync")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"\b5 ")

    def test_a_project_finds_the_header(self):
        # With CMake and with pkg-config, from the place the prefix was moved to.
        if not (self.prefix / "include" / "xlatrace.h").exists():
            self.skipTest("this version has no xlatrace.h")
        project = self.folder / "consumer"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(consumer C CXX)\n"
            "find_package(xlatrace 0.1 REQUIRED)\nadd_executable(a a.c)\n"
            "add_executable(b b.cc)\ntarget_link_libraries(a xlatrace::xlatrace)\n"
            "target_link_libraries(b xlatrace::xlatrace)\n")
        source = ('#include <stdio.h>\n#include <xlatrace.h>\nint main(void) {\n'
                  '  xlatrace_pause(); xlatrace_resume(); xlatrace_mark_step(1);\n'
                  '  printf("%d\\n", xlatrace_is_recording());\n  return 0;\n}\n')
        (project / "a.c").write_text(source)
        (project / "b.cc").write_text(source)
        env = {**os.environ, "CC": "cc", "CXX": "c++",
               "PKG_CONFIG_PATH": str(self.lib / "pkgconfig")}
        for command in (
            ["cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}"],
            ["cmake", "--build", "build"],
            ["bash", "-c", "cc a.c $(pkg-config --cflags --libs xlatrace) -o build/c"],
        ):
            done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for name in "abc":
            done = subprocess.run([project / "build" / name], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, "0\n"), name)

    def test_python_finds_the_program(self):
        done = self.run_here(
            "python3", "-c", "import xlatrace; print(xlatrace.program(), xlatrace.library(), sep='\\n')",
            PYTHONPATH=str(self.prefix / "share" / "xlatrace" / "python"))
        self.assertEqual(done.returncode, 0, done.stderr)
        program, library = done.stdout.splitlines()
        self.assertEqual(Path(program), (self.prefix / "bin" / "xlatrace").resolve())
        self.assertEqual(Path(library), (self.lib / "libxlatrace.so").resolve())


if __name__ == "__main__":
    unittest.main()
