# SPDX-License-Identifier: Apache-2.0
"""`xlatrace doctor` in broken environments: each has its own line, and a command to type."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import unittest

import gpu_support

# A substitute for an interpreter with JAX for CUDA, as far as the doctor checks.
PYTHON = """#!/bin/sh
case "$2" in
  *nknown*) echo "$ANSWER_TO_FLAGS" ;;
  *) echo "version 3.12.1"; echo "executable ${ANSWER_EXECUTABLE:-/usr/bin/python3}"
     echo "jax 0.10.2"; echo "jaxlib 0.10.2"; echo "tensorflow $ANSWER_TENSORFLOW"
     echo "ops ${ANSWER_OPS:-1}"; echo "plugin 13" ;;
esac
"""


COMMAND = (
    r"(^|: |; )(unset [A-Z]|export [A-Z_]+='|pip install |nvidia-smi|xlatrace |docker run |FROM |scripts/cuda_headers |"
    r"echo quit \| |LD_PRELOAD=|/\S+/python )"
)


class Doctor(gpu_support.GpuTestCase):
    def setUp(self):
        super().setUp()
        self.python = self.folder / "python"
        self.python.write_text(PYTHON)
        self.python.chmod(0o755)

    def doctor(self, code, **environment):
        env = self.environment(preload=False, **environment)
        command = ("doctor", "--python", str(self.python))
        self.text = self.xlatrace(*command, env=env)
        result = self.xlatrace(*command, "--format", "json", env=env)
        self.assertEqual((self.text.code, result.code), (code, code), self.text)
        return json.loads(result.stdout)["checks"]

    def only_complaint(self, code=1, golden=True, **environment):
        """The one check that is not ok. The text has its advice in the next line."""
        complaints = [c for c in self.doctor(code, **environment) if c["state"] != "ok"]
        self.assertEqual(len(complaints), 1, complaints)
        (complaint,) = complaints
        self.assertEqual(complaint["state"], "problem" if code else "notice")
        # The advice has a command.
        self.assertRegex(complaint["advice"], COMMAND)
        lines = self.text.stdout.splitlines()
        (at,) = [n for n, line in enumerate(lines) if line.startswith(("FIX", "note"))]
        self.assertIn("-> " + complaint["advice"], lines[at + 1])
        if golden:
            places = [(gpu_support.library_folder(), "<lib>"), (gpu_support.FAKE_GPU, "<fake GPU>")]
            self.assert_golden_text(
                f"{complaint['check']}: {complaint['found']}\n-> {complaint['advice']}",
                masks=[(re.escape(str(self.folder)), "<folder>"), *((re.escape(str(p)), n) for p, n in places)])
        return complaint

    def test_tensorflow_without_names_of_ops_is_a_notice(self):
        complaint = self.only_complaint(0, ANSWER_TENSORFLOW="2.13.0", ANSWER_OPS="0")
        self.assertIn("tensorflow 2.13.0", complaint["found"])

    def folder_with(self, name, *files):
        folder = self.folder / name
        folder.mkdir()
        for file in files:
            shutil.copy(pathlib.Path(gpu_support.FAKE_GPU) / file, folder / file)
        return folder

    def test_complete_set_up_has_no_complaint(self):
        checks = {c["check"]: c for c in self.doctor(0)}
        self.assertEqual({c["state"] for c in checks.values()}, {"ok"}, checks)
        self.assertIn("1 device", checks["NVIDIA driver"]["found"])
        self.assertIn("CUDA 13.0", checks["CUPTI"]["found"])
        self.assert_golden_text(
            checks["CUPTI"]["found"], masks=[(re.escape(str(gpu_support.FAKE_GPU)), "<fake GPU>")]
        )
        newer = {c["check"]: c for c in self.doctor(0, FAKE_CUPTI_API="130101")}["CUPTI"]
        self.assertTrue(newer["found"].endswith("libcupti.so.13)"), newer)
        self.assertIn("libxlatrace.so", checks["preload"]["found"])

    # The twelve.

    def test_missing_driver_is_reported(self):
        """A Python with JAX for CUDA is there and no driver; without such a JAX all is well."""
        complaint = self.only_complaint(code=0, LD_LIBRARY_PATH=None)
        self.assertEqual(complaint["check"], "NVIDIA driver")
        self.python.write_text(PYTHON.replace("plugin 13", "plugin 0"))
        checks = {c["check"]: c for c in self.doctor(0, LD_LIBRARY_PATH=None)}
        self.assertEqual({c["state"] for c in checks.values()}, {"ok"}, checks)
        self.assertIn("none", checks["NVIDIA driver"]["found"])

    def test_stub_driver_is_reported(self):
        stubs = self.folder_with("stubs", "libcuda.so.1", "libcupti.so.13")
        complaint = self.only_complaint(LD_LIBRARY_PATH=stubs)
        self.assertEqual(complaint["advice"], "unset LD_LIBRARY_PATH")
        complaint = self.only_complaint(LD_LIBRARY_PATH=f"{stubs}/:/opt/mine")
        self.assertEqual(complaint["advice"], "export LD_LIBRARY_PATH='/opt/mine'")

    def test_running_inside_nsys_is_reported(self):
        complaint = self.only_complaint(NSYS_PROFILING_SESSION_ID="7")
        self.assertIn("Nsight Systems", complaint["found"])
        complaint = self.only_complaint(CUDA_INJECTION64_PATH="/opt/nvidia/libToolsInjection64.so")
        self.assertIn("Nsight Systems", complaint["found"])

    def test_injected_tool_is_reported(self):
        complaint = self.only_complaint(CUDA_INJECTION64_PATH="/opt/other.so")
        self.assertIn("/opt/other.so", complaint["found"])
        self.assertEqual(complaint["advice"], "unset CUDA_INJECTION64_PATH")
        for nothing in ("", "none"):
            self.doctor(0, CUDA_INJECTION64_PATH=nothing)

    def test_too_old_cupti_is_reported(self):
        old = self.folder / "libcupti.so.11.2"
        source = "int cuptiGetVersion(unsigned* v) { *v = 14; return 0; }"
        try:
            subprocess.run(
                ["cc", "-shared", "-fPIC", "-xc", "-", "-o", str(old)],
                input=source,
                text=True,
                check=True,
            )
        except FileNotFoundError:
            self.skipTest("no cc")
        complaint = self.only_complaint(XLATRACE_CUPTI=old)
        self.assertIn("11.8", complaint["found"])
        self.assertIn("pip install", complaint["advice"])

    def test_cupti_that_may_crash_with_conditional_nodes_is_a_notice(self):
        complaint = self.only_complaint(0, golden=False, FAKE_CUPTI_API="24")
        self.assertIn("--xla_gpu_enable_command_buffer", complaint["advice"])

    def test_cupti_newer_than_the_driver_is_reported(self):
        complaint = self.only_complaint(FAKE_GPU_DRIVER_VERSION="12040")
        self.assertIn("12.4", complaint["found"])

    def test_missing_libcupti_is_reported(self):
        folder = self.folder_with("driver", "libcuda.so.1")
        for name in ("libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so"):
            (folder / name).write_text("hides a toolkit that the system may have")
        complaint = self.only_complaint(LD_LIBRARY_PATH=folder, CUDA_HOME="/does/not/exist")
        self.assertEqual(
            (complaint["check"], complaint["advice"]),
            ("CUPTI", "pip install 'nvidia-cuda-cupti==13.*'"),
        )

    def test_occupied_nvtx_injection_is_reported(self):
        complaint = self.only_complaint(code=0, NVTX_INJECTION64_PATH="/opt/nvtx.so")
        self.assertIn("/opt/nvtx.so", complaint["found"])
        self.assertEqual(complaint["advice"], "unset NVTX_INJECTION64_PATH")

    def test_profile_guided_compilation_is_reported(self):
        self.assertEqual(
            self.only_complaint(JAX_ENABLE_PGLE="true")["advice"], "unset JAX_ENABLE_PGLE"
        )
        self.doctor(0, JAX_ENABLE_PGLE="false")

    def test_unknown_xla_flag_is_reported(self):
        complaint = self.only_complaint(
            XLA_FLAGS="--xla_gpu_frobnicate=1",
            ANSWER_TO_FLAGS="134 ['F parse_flags: Unknown flag in XLA_FLAGS: "
            "--xla_gpu_frobnicate=1']",
        )
        self.assertEqual(complaint["advice"], "unset XLA_FLAGS")
        complaint = self.only_complaint(
            XLA_FLAGS="--xla_a=1 --xla_gpu_frobnicate=1 --xla_gpu_frobnicated --xla_b='x'",
            ANSWER_TO_FLAGS="134 ['F: Unknown flag in XLA_FLAGS: --xla_gpu_frobnicate=1']",
        )
        left = "--xla_a=1 --xla_gpu_frobnicated --xla_b='x'"
        self.assertEqual(complaint["advice"], "export XLA_FLAGS=" + shlex.quote(left).replace(
            "'\"'\"'", "'\\''"
        ))
        self.doctor(0, XLA_FLAGS="--xla_good=1", ANSWER_TO_FLAGS="0 []")

    def test_container_without_the_library_is_reported(self):
        complaint = self.only_complaint(LD_PRELOAD="/host/only/libxlatrace.so")
        self.assertIn("/host/only/libxlatrace.so", complaint["found"])
        self.assertIn("xlatrace lib", complaint["advice"])
        complaint = self.only_complaint(XLATRACE_LIB="/nowhere/libxlatrace.so")
        self.assertEqual(complaint["check"], "preload")

    def test_mps_is_a_notice(self):
        complaint = self.only_complaint(code=0, CUDA_MPS_PIPE_DIRECTORY="/tmp/mps")
        self.assertIn("MPS", complaint["found"])

    def test_folder_that_cannot_be_written_is_a_problem(self):
        complaint = self.only_complaint(XLATRACE_REC="/does/not/exist/run.rec")
        self.assertEqual(complaint["check"], "working folder")
        if os.getuid() != 0:
            self.work.chmod(0o555)
            self.addCleanup(self.work.chmod, 0o755)
            # Only a user other than root sees it, so no golden text.
            self.assertIn("-o", self.only_complaint(golden=False)["advice"])

    def test_interpreter_of_another_libc_is_reported(self):
        true = pathlib.Path(shutil.which("true")).resolve().read_bytes()
        glibc, musl = b"/lib64/ld-linux-x86-64.so.2\0", b"/lib/ld-musl-x86_64.so.1\0"
        if glibc not in true:
            self.skipTest("not x86-64 glibc")
        program = self.folder / "musl-python"
        program.write_bytes(true.replace(glibc, musl.ljust(len(glibc), b"\0")))
        complaint = self.only_complaint(ANSWER_EXECUTABLE=program)
        self.assertIn("musl", complaint["found"])

    # Beside the twelve.

    def test_build_without_cuda_headers_is_reported(self):
        folder = self.folder / "lib"
        folder.mkdir()
        shutil.copy(gpu_support.preload_library(), folder)
        complaint = self.only_complaint(XLATRACE_LIB=folder / "libxlatrace.so")
        self.assertEqual(complaint["check"], "preload")

    def test_missing_device_is_reported(self):
        self.assertEqual(self.only_complaint(FAKE_GPU_DEVICES="0")["check"], "NVIDIA driver")

    def test_failing_or_hanging_driver_is_reported(self):
        complaint = self.only_complaint(scenario="fail cuInit error 999")
        self.assertIn("999", complaint["found"])

    def test_crash_of_cupti_does_not_end_doctor(self):
        """13.2.86 recursed without end without a driver; the doctor checks in a child process."""
        checks = self.doctor(1, scenario="fail cuptiGetVersion error 15")
        (complaint,) = [c for c in checks if c["state"] == "problem"]
        self.assertIn("error 15", complaint["found"])

    def test_no_escape_and_no_hang_on_hostile_names(self):
        text = self.doctor(1, CUDA_INJECTION64_PATH="/a\x1b[31m\n.so") and self.text.stdout
        self.assertIsNone(re.search("[\x1b]", text))


if __name__ == "__main__":
    unittest.main()
