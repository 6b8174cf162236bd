# SPDX-License-Identifier: Apache-2.0
"""Common parts of the tests of GPU recordings: running programs on the fake GPU with the preload.

Environment beside support.py's:
  XLATRACE_FAKE_GPU  folder of the fake libcuda.so.1 and libcupti.so.13 and of fake_workload
  XLATRACE_LIB_DIR   folder of libxlatrace.so and the collector; default ../lib beside the program
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

import gpu_truth
import support
from preload_name import preload_name  # in tests/, on the path that support sets
from gpu_truth import (  # noqa: F401
    FACTS,
    FOOTER,
    STATS,
    blocks,
    compare_sets,
    differences,
    flushed_until,
    loss,
    read_truths,
    recorded_rows,
    recording_files,
    rows_in,
    rows_of,
    run_stats,
    scalar,
)

FAKE_GPU = os.environ.get("XLATRACE_FAKE_GPU")
# Set to find tests that depend on a quick collector thread (workload/late_threads.c).
LATE_MS = os.environ.get("XLATRACE_TEST_LATE_THREADS_MS")
JOB_VARIABLES = re.compile(
    "^(LD_PRELOAD|LD_LIBRARY_PATH|(CUDA|NVTX)_INJECTION.*|SLURM_.*|PMIX?_.*|OMPI_.*|TORCHELASTIC_.*"
    "|(LOCAL_|GROUP_|ROLE_)?(RANK|WORLD_SIZE)|FAKE_.*|MASTER_.*)$"
)

# A training script without a framework: `from tiny_gpu import launch, driver`.
TINY_GPU = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
_kernels = {}
def start():
    context = ctypes.c_void_p()
    assert driver.cuInit(0) == 0
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxSetCurrent(context) == 0
def launch(name="k", times=1):
    if name not in _kernels:
        if not _kernels: start()
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        assert driver.cuModuleLoadData(ctypes.byref(module), b"no cubin: any kernel will do") == 0
        assert driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode()) == 0
        _kernels[name] = function
    for _ in range(times):
        r = driver.cuLaunchKernel(_kernels[name], 1, 1, 1, 32, 1, 1, 0, None, None, None)
        assert r == 0, r
def sync():
    assert driver.cuCtxSynchronize() == 0
"""


def library_folder():
    given = os.environ.get("XLATRACE_LIB_DIR")
    return (
        pathlib.Path(given) if given else pathlib.Path(support.PROGRAM).resolve().parents[1] / "lib"
    )


def preload_library():
    """Its path as LD_PRELOAD can name it."""
    return pathlib.Path(preload_name(library_folder() / "libxlatrace.so"))


def require_gpu():
    support.require_program()
    for path in (preload_library(), library_folder() / "libxlatrace_collector.so"):
        if not path.exists():
            raise unittest.SkipTest(f"the collector is not built: {path}")
    if not FAKE_GPU:
        raise unittest.SkipTest("XLATRACE_FAKE_GPU is not set")
    for name in ("libcuda.so.1", "libcupti.so.13", "fake_workload"):
        if not (pathlib.Path(FAKE_GPU) / name).exists():
            raise unittest.SkipTest(f"the fake GPU is not built: no {name} in {FAKE_GPU}")


class GpuTestCase(support.TestCase):
    """Every program runs in `self.work`; truth logs and temporary files lie outside of it."""

    @classmethod
    def setUpClass(cls):
        require_gpu()

    def setUp(self):
        super().setUp()
        self.work = self.folder / "work"
        self.truth_folder = self.folder / "truth"
        self.temporary = self.folder / "tmp"
        for folder in (self.work, self.truth_folder, self.temporary):
            folder.mkdir()
        (self.folder / "tiny_gpu.py").write_text(TINY_GPU)

    def environment(self, preload=True, scenario=None, **changes):
        """For a program on the fake GPU, with nothing around that names a job or a tool."""
        env = {k: v for k, v in support.environment().items() if not JOB_VARIABLES.match(k)}
        env["LD_LIBRARY_PATH"] = FAKE_GPU
        env["FAKE_GPU_LOG"] = str(self.truth_folder / "t")
        env["TMPDIR"] = str(self.temporary)
        env["PYTHONPATH"] = str(self.folder)
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        if preload:
            env["LD_PRELOAD"] = str(preload_library())
            if LATE_MS:
                env["LD_PRELOAD"] += ":" + preload_name(f"{FAKE_GPU}/late_threads.so")
                env["XLATRACE_TEST_LATE_THREADS_MS"] = LATE_MS
        if scenario is not None:
            path = self.folder / "scenario.txt"
            path.write_text(scenario)
            env["FAKE_GPU_SCENARIO"] = str(path)
        for name, value in changes.items():
            env.pop(name, None)
            if value is not None:
                env[name] = str(value)
        return env

    def command(self, script):
        """A list is a command; text with a "# python" line is Python's, else the workload's."""
        if isinstance(script, (list, tuple)):
            return [str(part) for part in script]
        if script.lstrip().startswith("# python"):
            (self.folder / "script.py").write_text(script)
            return [sys.executable, str(self.folder / "script.py")]
        return [str(pathlib.Path(FAKE_GPU) / "fake_workload"), "-e", script]

    def preloaded(self, script, cwd=None, timeout=support.HANG_S, **environment):
        return support.run_command(
            self.command(script),
            cwd=cwd or self.work,
            env=self.environment(**environment),
            timeout=timeout,
        )

    def alone(self, script, cwd=None, timeout=support.HANG_S, **environment):
        """The same without xlatrace; leaves no truth log."""
        env = self.environment(preload=False, **{"FAKE_GPU_LOG": None, **environment})
        return support.run_command(
            self.command(script), cwd=cwd or self.work, env=env, timeout=timeout
        )

    def started(self, script, cwd=None, **environment):
        """A Popen of its own process group, killed after the test."""
        process = subprocess.Popen(
            self.command(script),
            cwd=cwd or self.work,
            env=self.environment(**environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

        def end():
            if process.poll() is None:
                os.killpg(process.pid, 9)
            process.communicate()

        self.addCleanup(end)
        return process

    def xlatrace(self, *arguments, **options):
        return support.run(*arguments, **{"cwd": self.work, **options})

    def fold(self, name="run.db", cwd=None):
        """The first command that is given the run.db makes it; its path."""
        cwd = cwd or self.work
        result = self.xlatrace("summary", name, cwd=cwd)
        self.assertEqual(result.code, 0, result)
        path = pathlib.Path(cwd) / name
        self.assertTrue(path.exists(), result)
        return path

    def wait_for_rows(self, count, kind=gpu_truth.ACTIVITIES, folder=None, files=1):
        """Until so many rows (of activities) are in the recording's files, and there are `files`."""
        folder = folder or self.work / "run.rec"

        def there():
            have = recording_files(folder)
            return len(have) >= files and sum(rows_in(file, kind) for file in have) >= count

        self.wait_until(f"{count} rows of type {kind} in {folder}", there)

    def wait_until_recording(self, process, word=b"go\n", folder=None):
        """Waits until the program has printed its word and its file exists. A collector thread creates the
        file later; after that the recording is active."""
        self.assertEqual(process.stdout.readline(), word)
        self.wait_for_rows(1, FACTS, folder)

    def wait_for_flushes(self, folder, count):
        """Waits until this many records of the process can no longer be lost."""
        seen = {0}

        def enough():
            seen.update(map(flushed_until, folder.glob("*.rec")))
            return len(seen) > count

        self.wait_until(f"{count} flushes in the file", enough)

    def truths(self):
        return read_truths(self.truth_folder)

    def assert_equals_truth(self, database, truths=None):
        truths = self.truths() if truths is None else truths
        self.assertTrue(any(truths.values()), "the fake driver logged nothing")
        self.assertEqual([], differences(database, truths))
        self.assertEqual([], self.misuse())

    def misuse(self):
        """Notes of the fake CUPTI about calls that a tool must not make."""
        notes = [p.read_text().splitlines() for p in self.truth_folder.glob("*.notes")]
        return [n for lines in notes for n in lines if "misuse" in n or "cuptiFinalize" in n]

    def assert_unharmed(self, traced, alone, lines=1):
        """Same status and output; on stderr at most `lines` lines of ours more."""
        self.assertEqual((traced.code, traced.stdout), (alone.code, alone.stdout), traced)
        ours, others = split_stderr(traced.stderr)
        self.assertEqual(others, split_stderr(alone.stderr)[1], traced)
        self.assertLessEqual(len(ours), lines, traced)
        return ours


def split_stderr(text):
    lines = text.splitlines()
    return (
        [line for line in lines if line.startswith("xlatrace:")],
        [line for line in lines if not line.startswith("xlatrace:")],
    )
