#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a TensorFlow program on the fake GPU: TensorFlow's CUDA build over fakes of NVIDIA's libraries, under
the names of CUDA 12.

    rig.py [--devices N] [--log PREFIX] PROGRAM.py [ARGUMENT...]

Environment:
  XLATRACE_TEST_PYTHON_TF_CUDA   interpreter of an environment with requirements.txt, and with
                                 requirements_no_deps.txt (`--no-deps`): the assembler
  XLATRACE_FAKE_GPU              folder of the built stand-ins (build/PRESET/fake_gpu)

TensorFlow opens every library of NVIDIA's by its SONAME, so LD_LIBRARY_PATH is all it takes; the
environment is not touched.
"""

import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1]))
from preload_name import preload_name  # noqa: E402, in tests/


class Missing(Exception):
    """A requirement of the rig is missing; the text names it."""


class Rig:
    def __init__(self, python=None, libraries=None):
        python = python or os.environ.get("XLATRACE_TEST_PYTHON_TF_CUDA")
        libraries = libraries or os.environ.get("XLATRACE_FAKE_GPU")
        if not python:
            raise Missing("XLATRACE_TEST_PYTHON_TF_CUDA is not set")
        if not libraries:
            raise Missing("XLATRACE_FAKE_GPU is not set")
        self.python = pathlib.Path(os.path.abspath(python))
        self.libraries = pathlib.Path(libraries).resolve()
        self.tap = self.libraries / "libxlatrace_nvtx_tap.so"
        places = list(self.python.parents[1].glob("lib/python3*/site-packages"))
        if not places or not (places[0] / "tensorflow/libtensorflow_framework.so.2").exists():
            raise Missing(f"no TensorFlow in the environment of {self.python}")
        self.site = places[0]
        versions = [path.name.split("-")[1] for path in self.site.glob("tensorflow-*.dist-info")]
        self.version = tuple(int(part) for part in versions[0].split(".")[:2]) if versions else ()
        self.assembler = self.site / "nvidia/cuda_nvcc"
        if not self.assembler.exists():
            raise Missing(f"no CUDA assembler in the environment of {self.python}")
        for name in ("libcuda.so.1", "libcupti.so.13", "cuda12/libcudart.so.12"):
            if not (self.libraries / name).exists():
                raise Missing(f"not built: {self.libraries / name}")

    def environment(self, *, devices=1, log=None, tap=True, preload=None, xla_flags="", more=None):
        """The environment of a program on the fake GPU, made from this process's own.

        log: prefix of the truth log's files. tap: name XLA's and TensorFlow's ranges in it. preload: the
        collector's preload library. A process has one NVTX injection library, so with both the tap comes
        first and passes all calls on to the collector. TensorFlow announces ops only on request: without
        the collector the tap gets only XLA's ranges."""
        result = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("XLATRACE_", "FAKE_", "TF_"))
        }
        for name in (
            "LD_PRELOAD",
            "CUDA_INJECTION64_PATH",
            "NVTX_INJECTION64_PATH",
            "XLA_FLAGS",
            "CUDA_VISIBLE_DEVICES",
            "PYTHONPATH",
        ):
            result.pop(name, None)
        flags = f"--xla_gpu_autotune_level=0 --xla_gpu_cuda_data_dir='{self.assembler}'"
        result.update(
            LD_LIBRARY_PATH=f"{self.libraries / 'cuda12'}:{self.libraries}",
            PATH=f"{self.assembler / 'bin'}:{os.environ.get('PATH', '')}",
            XLA_FLAGS=f"{flags} {xla_flags}".strip(),
            TF_CPP_MIN_LOG_LEVEL="1",
            TF_FORCE_GPU_ALLOW_GROWTH="true",
            TF_ENABLE_ONEDNN_OPTS="0",
            FAKE_GPU_DEVICES=str(devices),
            FAKE_GPU_DRIVER_VERSION="12050",
            FAKE_CUPTI_API="22",
            FAKE_CUDNN_VERSION="91200" if self.version >= (2, 18) else "8907",
            PYTHONDONTWRITEBYTECODE="1",
        )
        if log is not None:
            result["FAKE_GPU_LOG"] = str(log)
            if tap:
                result["NVTX_INJECTION64_PATH"] = str(self.tap)
                if preload is not None:
                    collector = pathlib.Path(preload).with_name("libxlatrace_collector.so")
                    result["XLATRACE_TAP_NEXT"] = str(collector)
        if preload is not None:
            result["LD_PRELOAD"] = preload_name(preload)
        result.update(dict(more or {}))
        return result

    def run(self, program, *arguments, timeout=600, cwd=None, **options):
        """Runs a program of this folder, or any path, and returns the CompletedProcess."""
        program = pathlib.Path(program)
        if not program.exists() and (HERE / program).exists():
            program = HERE / program
        return subprocess.run(
            [str(self.python), str(program.resolve()), *map(str, arguments)],
            env=self.environment(**options),
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=cwd,
            check=False,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--log", help="prefix of the truth log's files")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    command = [word for word in arguments.program if word != "--"] or parser.error("no program")
    if not pathlib.Path(command[0]).exists():
        command[0] = str(HERE / command[0])
    try:
        rig = Rig()
    except Missing as missing:
        sys.exit(f"rig: {missing}")
    environment = rig.environment(devices=arguments.devices, log=arguments.log)
    os.execve(str(rig.python), [str(rig.python), *command], environment)


if __name__ == "__main__":
    main()
