# SPDX-License-Identifier: Apache-2.0
"""libxlatrace.so in programs that have nothing to do with CUDA: they notice nothing."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from preload_name import preload_name  # noqa: E402, in tests/

LIB = Path(os.environ.get("XLATRACE_LIB_DIR", "."))
PRELOAD = LIB / "libxlatrace.so"


@unittest.skipUnless(PRELOAD.exists(), "libxlatrace.so is not built")
class PreloadTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        preload = str(PRELOAD)
        if "libasan" in subprocess.run(["ldd", preload], capture_output=True, text=True).stdout:
            self.skipTest("a sanitizer build cannot be preloaded into other programs")

    def run_preloaded(self, *command, **extra):
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith(("XLATRACE", "CUDA_INJECTION", "NVTX_INJECTION"))}
        environment["LD_PRELOAD"] = preload_name(PRELOAD)
        environment.update(extra.pop("env", {}))
        return subprocess.run(command, cwd=self.folder.name, env=environment, capture_output=True,
                              text=True, timeout=300, **extra)

    def python(self, code, **extra):
        return self.run_preloaded(sys.executable, "-c", code, **extra)

    def test_a_program_leaves_no_trace(self):
        done = self.run_preloaded("ls", "-la", ".")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_python_without_a_framework_leaves_no_trace(self):
        done = self.python("print('hello')")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "hello\n", ""))
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_sets_the_injection_variables_the_token_and_the_place(self):
        done = self.python("import os; e = os.environ; print(e['CUDA_INJECTION64_PATH']);"
                           "print(e['NVTX_INJECTION64_PATH']); print(e['XLATRACE_JOB']);"
                           "print(e['XLATRACE_REC'])")
        if not (LIB / "libxlatrace_collector.so").exists():
            self.assertIn("KeyError", done.stderr)
            return
        cuda, nvtx, token, place = done.stdout.splitlines()
        self.assertEqual(Path(cuda).resolve(), (LIB / "libxlatrace_collector.so").resolve())
        self.assertEqual(nvtx, cuda)
        self.assertTrue(token)
        self.assertEqual(place, os.path.join(os.path.realpath(self.folder.name), "run.rec"))

    def test_children_have_the_same_token_and_place_wherever_they_run(self):
        done = self.python(
            "import os, subprocess, sys; show = 'import os; print(os.environ.get(\"XLATRACE_JOB\"),"
            "os.environ.get(\"XLATRACE_REC\"))'; exec(show); sys.stdout.flush();"
            "subprocess.run([sys.executable, '-c', show], cwd='/')")
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertEqual(lines[0], lines[1])

    def test_launchers_give_all_ranks_one_token(self):
        show = "import os; print(os.environ['XLATRACE_JOB'])"
        for env in ({"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "3"}, {"PMIX_NAMESPACE": "prterun-x@1"},
                    {"OMPI_MCA_ess_base_jobid": "99"}, {"TORCHELASTIC_RUN_ID": "abc"}):
            if not (LIB / "libxlatrace_collector.so").exists():
                self.skipTest("no collector: nothing is set")
            tokens = {self.python(show, env=dict(env)).stdout for _ in range(2)}
            self.assertEqual(len(tokens), 1, env)
            self.assertNotIn("@", tokens.pop())

    def test_injection_of_another_tool_is_kept(self):
        show = "import os; print(os.environ['CUDA_INJECTION64_PATH'])"
        kept = self.python(show, env={"CUDA_INJECTION64_PATH": "/opt/nsys/libToolsInjection64.so"})
        self.assertEqual(kept.stdout.strip(), "/opt/nsys/libToolsInjection64.so")
        if not (LIB / "libxlatrace_collector.so").exists():
            return
        for value in ("", "none"):
            done = self.python(show, env={"CUDA_INJECTION64_PATH": value})
            self.assertIn("libxlatrace_collector.so", done.stdout)

    def test_exit_statuses_and_signals_are_the_programs_own(self):
        self.assertEqual(self.python("import sys; sys.exit(7)").returncode, 7)
        self.assertEqual(self.python("import os; os._exit(9)").returncode, 9)
        self.assertEqual(self.python("import os; os.abort()").returncode, -signal.SIGABRT)
        self.assertEqual(
            self.python("import os, signal; os.kill(os.getpid(), signal.SIGTERM)").returncode,
            -signal.SIGTERM)
        self.assertEqual(self.python("raise KeyboardInterrupt").returncode, -signal.SIGINT)

    def test_exec_works_and_a_failed_exec_comes_back(self):
        done = self.python("import os\ntry:\n os.execv('/does/not/exist', ['x'])\n"
                           "except FileNotFoundError: print('back', flush=True)\n"
                           "os.execvp('echo', ['echo', 'there'])")
        self.assertEqual((done.returncode, done.stdout), (0, "back\nthere\n"))

    def test_exec_with_its_arguments_in_a_list(self):
        call = "import ctypes; c = ctypes.CDLL(None); "
        for code in ("c.execl(b'/bin/echo', b'echo', b'a', b'b', None)",
                     "c.execlp(b'echo', b'echo', b'a', b'b', None)",
                     "c.execle(b'/bin/sh', b'sh', b'-c', b'echo $X', None,"
                     " (ctypes.c_char_p * 2)(b'X=a b', None))",
                     "import os; c.fexecve(os.open('/bin/echo', 0),"
                     " (ctypes.c_char_p * 4)(b'echo', b'a', b'b', None), (ctypes.c_char_p * 1)())"):
            done = self.python(call + code)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "a b\n", ""), code)
        done = self.python(call + "print(c.execl(b'/does/not/exist', b'x', None))")
        self.assertEqual((done.returncode, done.stdout), (0, "-1\n"))

    def test_thousand_failing_execs_leave_the_program_unharmed(self):
        # CPython's subprocess uses vfork: the child runs in the parent's memory until exec.
        done = self.python("import subprocess\nfor i in range(1000):\n"
                           " try: subprocess.run(['/does/not/exist'])\n"
                           " except FileNotFoundError: pass\nprint('fine')")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "fine\n", ""))

    def test_disabled_preload_sets_no_variable(self):
        done = self.python("import os; print('CUDA_INJECTION64_PATH' in os.environ)",
                           env={"XLATRACE_DISABLE": "1"})
        self.assertEqual(done.stdout.strip(), "False")


if __name__ == "__main__":
    unittest.main()
