#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a JAX program on the fake GPU: the real CUDA plugin over fakes of NVIDIA's libraries.

    rig.py [--devices N] [--graphs on|off] [--log PREFIX] [--cache DIR] PROGRAM.py [ARGUMENT...]

Environment:
  XLATRACE_TEST_PYTHON_JAX_CUDA   interpreter of an environment with requirements.txt
  XLATRACE_FAKE_GPU               folder of the built stand-ins (build/PRESET/fake_gpu)

The fakes are linked into the environment at the places of NVIDIA's wheels. So every path to a library
(SONAME, full path, RPATH) finds the fake. A driver installs libcuda and libnvidia-ml into the system; here
they come through LD_LIBRARY_PATH."""

import argparse
import os
import pathlib
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1]))
from preload_name import preload_name  # noqa: E402, in tests/

# Where NVIDIA's wheels have them, below site-packages.
PLACES = {
    "nvidia/cu13/lib": [
        "libcudart.so.13",
        "libcublas.so.13",
        "libcublasLt.so.13",
        "libcufft.so.12",
        "libcusolver.so.12",
        "libcusparse.so.12",
        "libcupti.so.13",
    ],
    "nvidia/cudnn/lib": ["libcudnn.so.9"],
    "nvidia/nccl/lib": ["libnccl.so.2"],
}


class Missing(Exception):
    """A requirement of the rig is missing; the text names it."""


def link(target, place):
    """Makes `place` a link to `target`; other processes see the old or the new link."""
    if place.is_symlink() and os.readlink(place) == str(target):
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    passing = passing_name(place)
    passing.symlink_to(target)
    passing.replace(place)


def put(place, text):
    """Writes a file in the same way."""
    passing = passing_name(place)
    passing.write_text(text)
    passing.replace(place)


def passing_name(place):
    """Threads of a test make a rig each."""
    return place.with_name(f".{place.name}.{os.getpid()}.{threading.get_ident()}")


class Rig:
    def __init__(self, python=None, libraries=None):
        python = python or os.environ.get("XLATRACE_TEST_PYTHON_JAX_CUDA")
        libraries = libraries or os.environ.get("XLATRACE_FAKE_GPU")
        if not python:
            raise Missing("XLATRACE_TEST_PYTHON_JAX_CUDA is not set")
        if not libraries:
            raise Missing("XLATRACE_FAKE_GPU is not set")
        self.python = pathlib.Path(os.path.abspath(python))
        self.libraries = pathlib.Path(libraries).resolve()
        self.tap = self.libraries / "libxlatrace_nvtx_tap.so"
        places = list(self.python.parents[1].glob("lib/python3*/site-packages"))
        if not places or not (places[0] / "jax_plugins/xla_cuda13/xla_cuda_plugin.so").exists():
            raise Missing(f"no JAX CUDA plugin in the environment of {self.python}")
        self.site = places[0]
        for name in ("libcuda.so.1", "libcupti.so.13", "libcudart.so.13"):
            if not (self.libraries / name).exists():
                raise Missing(f"not built: {self.libraries / name}")
        self._place()

    def _place(self):
        for folder, names in PLACES.items():
            for name in names:
                link(self.libraries / name, self.site / folder / name)
        hook = self.site / "xlatrace_pretend_gpu.py"
        if not hook.exists() or hook.read_bytes() != (HERE / "pretend_gpu.py").read_bytes():
            # Programs of other tests may start right now: they see each file whole or not at all.
            put(hook, (HERE / "pretend_gpu.py").read_text())
            put(self.site / "xlatrace_pretend_gpu.pth", "import xlatrace_pretend_gpu\n")

    def environment(
        self,
        *,
        devices=1,
        graphs=True,
        log=None,
        tap=True,
        preload=None,
        cache=None,
        xla_flags="",
        more=None,
    ):
        """The environment of a program on the fake GPU, made from this process's own.

        graphs: command buffers, XLA's default. log: prefix of the truth log's files. tap: name XLA's
        ranges in it. preload: the collector's preload library. A process has one NVTX injection library.
        With both, the tap comes first and passes all calls on to the collector. cache: folder of JAX's
        compilation cache. A run that finds its program there takes two seconds instead of at least five
        (its program ids differ)."""
        result = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("XLATRACE_", "FAKE_GPU_"))
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
        flags = "--xla_gpu_autotune_level=0"
        if not graphs:
            flags += " --xla_gpu_enable_command_buffer="
        result.update(
            LD_LIBRARY_PATH=str(self.libraries),
            JAX_PLATFORMS="cuda",
            XLA_PYTHON_CLIENT_PREALLOCATE="false",
            XLA_FLAGS=f"{flags} {xla_flags}".strip(),
            TF_CPP_MIN_LOG_LEVEL="1",
            FAKE_GPU_DEVICES=str(devices),
            PYTHONDONTWRITEBYTECODE="1",
        )
        if log is not None:
            result["FAKE_GPU_LOG"] = str(log)
            if tap:
                result["NVTX_INJECTION64_PATH"] = str(self.tap)
                if preload is not None:
                    collector = pathlib.Path(preload).with_name("libxlatrace_collector.so")
                    result["XLATRACE_TAP_NEXT"] = str(collector)
        if cache is not None:
            result.update(
                JAX_COMPILATION_CACHE_DIR=str(cache),
                JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
                JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES="0",
            )
        if preload is not None:
            result["LD_PRELOAD"] = preload_name(preload)
        result.update(dict(more or {}))
        return result

    def run(self, program, *arguments, timeout=900, cwd=None, **options):
        """Runs a program of this folder, or any path, and returns the CompletedProcess."""
        program = pathlib.Path(program)
        if not program.exists() and (HERE / program).exists():
            program = HERE / program
        program = program.resolve()  # cwd is the child's
        return subprocess.run(
            [str(self.python), str(program), *map(str, arguments)],
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
    parser.add_argument("--graphs", choices=("on", "off"), default="on")
    parser.add_argument("--log", help="prefix of the truth log's files")
    parser.add_argument("--no-tap", action="store_true", help="truth log without XLA's ranges")
    parser.add_argument("--cache", help="folder of JAX's compilation cache")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    command = [word for word in arguments.program if word != "--"] or parser.error("no program")
    if not pathlib.Path(command[0]).exists():
        command[0] = str(HERE / command[0])
    try:
        rig = Rig()
    except Missing as missing:
        sys.exit(f"rig: {missing}")
    environment = rig.environment(
        devices=arguments.devices,
        graphs=arguments.graphs == "on",
        log=arguments.log,
        tap=not arguments.no_tap,
        cache=arguments.cache,
    )
    os.execve(str(rig.python), [str(rig.python), *command], environment)


if __name__ == "__main__":
    main()
