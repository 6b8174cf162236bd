# SPDX-License-Identifier: Apache-2.0
"""Records one side of a pair, and queries its run.db."""

import ctypes.util
import importlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
from typing import Any

from pairs import Side
from workloads import scenario

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from preload_name import preload_name  # noqa: E402, in tests/

TIMEOUT_S = 300
HIDDEN = ("NO_COLOR", "COLUMNS", "XLA_FLAGS", "JAX_PLATFORMS", "LD_PRELOAD")
# One thread runs every op of a step (NPROC is how XLA's pool is sized).
SINGLE_THREADED = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "NPROC": "1"}

# The profiler's allocations during a step lie between XLA's buffers of some hundred kB. In some processes,
# glibc's malloc then no longer reuses the holes of the previous step and takes new pages in every step. This
# costs 1,250 faults, a third of a step of 5.6 ms. jemalloc keeps sizes apart and keeps its pages.
ALLOCATOR = "jemalloc"
KEEPS_PAGES = {"MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:-1"}

Row = dict[str, Any]


class Skip(Exception):
    """A requirement of a pair is missing here; the text names it."""


class Broken(Exception):
    """A program did not run, or xlatrace gave no answer."""


def bare_environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name not in HIDDEN and not name.startswith(("XLATRACE_", "FAKE_GPU_"))
    }


def call(command: list[str], **more: Any) -> "subprocess.CompletedProcess[str]":
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, **more
    )
    if result.returncode != 0:
        raise Broken(f"{' '.join(command)}: exit {result.returncode}: {result.stderr[-600:]}")
    return result


class Recorder:
    def __init__(self, xlatrace: pathlib.Path) -> None:
        self.xlatrace = xlatrace
        self.preload = xlatrace.parents[1] / "lib" / "libxlatrace.so"

    def record(self, kind: str, side: Side, folder: pathlib.Path) -> "Run":
        """Runs a side in the folder, which is emptied."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        run = folder / "run.db"
        {"workload": self._workload, "jax_gpu": self._jax_gpu, "jax_cpu": self._jax_cpu}[kind](
            side, folder, run
        )
        return Run(self.xlatrace, run)

    def kept(self, folder: pathlib.Path) -> "Run":
        """The files of `record` in a folder."""
        return Run(self.xlatrace, folder / "run.db")

    def _workload(self, side: Side, folder: pathlib.Path, run: pathlib.Path) -> None:
        libraries = self._fake_gpu()
        (folder / "script").write_text(side.program)
        (folder / "scenario").write_text(str(side.settings.get("scenario", "")))
        environment = bare_environment() | {
            "LD_LIBRARY_PATH": str(libraries),
            "LD_PRELOAD": preload_name(self.preload),
            "XLATRACE_REC": str(run.with_suffix(".rec")),
            "FAKE_GPU_SCENARIO": str(folder / "scenario"),
            "FAKE_GPU_DEVICES": "2",
            "FAKE_GPU_TIME_SCALE": str(side.settings.get("time_scale", 1)),
        }
        call([str(libraries / "fake_workload"), "script"], cwd=folder, env=environment)
        self._import(run)

    def _jax_gpu(self, side: Side, folder: pathlib.Path, run: pathlib.Path) -> None:
        sys.path.insert(0, str(HERE.parent / "fake_gpu" / "jax"))
        rig: Any = importlib.import_module("rig")

        try:
            place = rig.Rig()
        except rig.Missing as missing:
            raise Skip(str(missing)) from None
        self._fake_gpu()
        (folder / "scenario").write_text(str(side.settings.get("scenario", "")))
        if "even_us" in side.settings:
            (folder / "scenario").write_text(self._even(side, folder))
        result = place.run(
            HERE / "gpu_programs.py", side.program, json.dumps(side.settings),
            devices=side.settings.get("devices", 1), graphs=side.settings.get("graphs", True),
            preload=self.preload, cwd=folder, timeout=TIMEOUT_S,
            more={"XLATRACE_REC": str(run.with_suffix(".rec")),
                  "FAKE_GPU_SCENARIO": str(folder / "scenario")},
        )  # fmt: skip
        if result.returncode != 0:
            raise Broken(f"{side.program}: exit {result.returncode}: {result.stderr[-600:]}")
        self._import(run)

    def _even(self, side: Side, folder: pathlib.Path) -> str:
        """A scenario with the times of kernels by prefix (`even_us`); it gets kernel names from a run."""
        settings = dict(side.settings)
        prefixes: Any = settings.pop("even_us")
        names = self.record("jax_gpu", Side(side.program, settings), folder / "names")
        wanted = {}
        for row in names.rows("SELECT DISTINCT kernel_symbol AS name FROM launch WHERE kind = 'kernel'"):
            fits = (us for prefix, us in prefixes.items() if row["name"].startswith(prefix))
            wanted[row["name"]] = next(fits)
        return scenario(wanted)

    def _jax_cpu(self, side: Side, folder: pathlib.Path, run: pathlib.Path) -> None:
        python = os.environ.get("XLATRACE_TEST_PYTHON_JAX")
        if not python:
            raise Skip("XLATRACE_TEST_PYTHON_JAX is not set")
        allocator = ctypes.util.find_library(ALLOCATOR)
        if not allocator:
            raise Skip("no libjemalloc (Debian: libjemalloc2)")
        environment = bare_environment() | SINGLE_THREADED | KEEPS_PAGES | {"LD_PRELOAD": allocator}
        call(
            [str(self.xlatrace), "record", "-o", str(run), "--", os.path.abspath(python),
             str(HERE / "cpu_programs.py"), side.program, json.dumps(side.settings)],
            cwd=folder, env=environment,
        )  # fmt: skip

    def _fake_gpu(self) -> pathlib.Path:
        given = os.environ.get("XLATRACE_FAKE_GPU")
        if not given:
            raise Skip("XLATRACE_FAKE_GPU is not set")
        libraries = pathlib.Path(given).resolve()
        for needed in (libraries / "fake_workload", self.preload):
            if not needed.exists():
                raise Skip(f"not built: {needed}")
        return libraries

    def _import(self, run: pathlib.Path) -> None:
        call([str(self.xlatrace), "summary", str(run)], env=bare_environment())


class Run:
    """A run.db."""

    def __init__(self, xlatrace: pathlib.Path, file: pathlib.Path) -> None:
        self.xlatrace = xlatrace
        self.file = file

    def rows(self, sql: str) -> list[Row]:
        answer = json.loads(
            call([str(self.xlatrace), "query", str(self.file), "--format", "json", sql],
                 env=bare_environment()).stdout
        )  # fmt: skip
        rows = answer["rows"] if isinstance(answer, dict) else answer
        return [dict(row) for row in rows]

    def steps_ns(self) -> list[int]:
        """How long steady steps last, of all devices."""
        return [row["ns"] for row in self.rows("SELECT end_ns - start_ns AS ns FROM step WHERE typical")]

    def step_ns(self) -> float:
        steps = self.steps_ns()
        if not steps:
            raise Broken(f"no steady steps in {self.file}")
        return statistics.median(steps)

    def op_ns(self, where: str) -> float:
        """Device time per step of the ops that `where` chooses from op_time: the median of steady steps."""
        rows = self.rows(
            "SELECT s.step, s.device_id, coalesce(sum(a.self_ns), 0) AS ns FROM step s "
            "LEFT JOIN (SELECT l.step, l.device_id, l.self_ns FROM op_launch l JOIN op_time o "
            f"USING (handle) WHERE {where}) a USING (step, device_id) "
            "WHERE s.typical GROUP BY 1, 2"
        )
        if not rows:
            raise Broken(f"no steady steps in {self.file}")
        return float(statistics.median(row["ns"] for row in rows))

    def handles(self, where: str) -> list[str]:
        return [
            row["handle"]
            for row in self.rows(
                f"SELECT handle FROM op_time WHERE ({where}) AND handle IS NOT NULL"
                " AND steady_ns > 0 ORDER BY steady_ns DESC"
            )
        ]
