# SPDX-License-Identifier: Apache-2.0
"""The machine under test: runs programs on it, traced or not, and queries their recordings."""

import ctypes
import functools
import json
import os
import pathlib
import subprocess
import sys
import time

LIMIT_S = 590
HANG_S = 400
FAKE_NAME = "xlatrace fake GPU"
# Programs that the checks run; those of driver.py begin with "from driver import *".
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"


class Skip(Exception):
    """Reason why a check cannot run here."""


class Failed(Exception):
    """Actual result of a failed check."""


def expect(condition, sentence):
    if not condition:
        raise Failed(sentence)


def device_name():
    """(Name of device 0, None), or (None, reason why there is none)."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None, "no NVIDIA driver (libcuda.so.1) here"
    if code := driver.cuInit(0):
        return None, f"the driver cannot be started: cuInit returns {code}"
    name = ctypes.create_string_buffer(256)
    if driver.cuDeviceGetName(name, 255, 0):
        return None, "the driver has no device"
    return name.value.decode(), ""


def find_cuptis(*folders):
    """libcupti of several releases: unpacked wheels, a folder each."""
    found = {}
    for folder in folders:
        for path in sorted(folder.glob("**/libcupti.so.*")) if folder else ():
            if path.is_file() and not path.is_symlink():
                found.setdefault(path.relative_to(folder).parts[0], path.resolve())
    return found


class Machine:
    def __init__(self, options, folder):
        self.prefix = options.prefix.resolve()
        self.jax = options.jax
        self.out = options.out
        self.folder = folder
        self.bundled = self.prefix / "lib" / "bundled"
        # Copies of libcupti, one per release: {name: path}.
        self.cuptis = find_cuptis(self.prefix / "cupti", options.cupti)
        self.runs = 0
        self.fake = False
        self.begin = time.monotonic()

    @functools.cached_property
    def library(self):
        """The path for LD_PRELOAD, which cannot name the library itself if its path has a blank."""
        done = self.xlatrace("lib", cwd=self.folder)
        expect(done.returncode == 0, done.stderr.strip())
        return done.stdout.strip()

    def left_s(self):
        """Seconds left of the ten minutes that all checks together may take."""
        return LIMIT_S - (time.monotonic() - self.begin)

    def place(self):
        self.runs += 1
        place = self.folder / f"run{self.runs}"
        place.mkdir()
        return place

    def environment(self, traced, **more):
        # scripts/gpu_check_faults turns on a planted fault by this variable.
        env = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("XLATRACE_", "SLURM_")) or k == "XLATRACE_MUTANT"
        }
        env["PYTHONPATH"] = str(PROGRAMS)
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        if traced:
            env["LD_PRELOAD"] = self.library
        env.update({k: str(v) for k, v in more.items()})
        return env

    def python(self, body, traced=True, python=sys.executable, place=None, **more):
        """Runs a script in a folder of its own; (process, folder)."""
        place = place or self.place()
        script = place / "script.py"
        script.write_text(body)
        done = subprocess.run(
            [python, str(script)],
            cwd=place,
            env=self.environment(traced, **more),
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )
        return done, place

    def small(self, body, **options):
        return self.python("from driver import *\n" + body, **options)

    def xlatrace(self, *arguments, cwd, limit_s=120):
        env = self.environment(False)
        if self.bundled.exists():
            env["LD_LIBRARY_PATH"] = f"{self.bundled}:{env.get('LD_LIBRARY_PATH', '')}"
        return subprocess.run(
            [str(self.prefix / "bin" / "xlatrace"), *arguments],
            cwd=cwd,
            env=env,
            text=True,
            capture_output=True,
            timeout=limit_s,
            check=False,
        )

    def rows(self, place, sql, limit_s=120):
        """Rows of a query on the recording in folder `place`, over the views; every column has a name."""
        command = ("query", "run.db", sql, "--format", "json", "--time-limit", "0")
        asked = self.xlatrace(*command, cwd=place, limit_s=limit_s)
        expect(asked.returncode == 0, f"cannot be asked: {asked.stderr.strip()[-300:]}")
        return [tuple(row.values()) for row in json.loads(asked.stdout)["rows"]]

    def value(self, place, sql, limit_s=120):
        """The value of a query with one column and at most one row; None: no row."""
        rows = self.rows(place, sql, limit_s)
        return rows[0][0] if rows else None

    def complaints(self, place):
        """Losses and errors that the recording reports."""
        return self.rows(
            place, "SELECT name, value FROM run_stat WHERE severity IN ('data_loss', 'error')"
        )

    def jax_python(self):
        if not self.has_jax:
            raise Skip(f"no JAX for CUDA in {self.jax}")
        return self.jax

    @functools.cached_property
    def has_jax(self):
        probe = "import jax; print(jax.default_backend(), jax.__version__)"
        done = subprocess.run(
            [self.jax, "-c", probe],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
            env=self.environment(False),
        )
        words = done.stdout.split()
        return done.returncode == 0 and bool(words) and words[0] in ("gpu", "cuda")
