# SPDX-License-Identifier: Apache-2.0
"""What the tests of GPU recordings share: running programs on the fake GPU with the preload, the
fake driver's truth log, and the comparison of a run.db with it.

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

import support

FAKE_GPU = os.environ.get("XLATRACE_FAKE_GPU")
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
        assert driver.cuModuleLoadData(ctypes.byref(module), b"not a cubin, any kernel will do") == 0
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
    return pathlib.Path(given) if given else pathlib.Path(support.PROGRAM).resolve().parents[1] / "lib"


def preload_library():
    return library_folder() / "libxlatrace.so"


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

    def preloaded(self, script, cwd=None, timeout=60, **environment):
        return support.run_command(
            self.command(script),
            cwd=cwd or self.work,
            env=self.environment(**environment),
            timeout=timeout,
        )

    def alone(self, script, cwd=None, timeout=60, **environment):
        """The same without xlatrace; leaves no truth log."""
        env = self.environment(preload=False, **{"FAKE_GPU_LOG": None, **environment})
        return support.run_command(self.command(script), cwd=cwd or self.work, env=env, timeout=timeout)

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

    def truths(self):
        return read_truths(self.truth_folder)

    def assert_equals_truth(self, database, truths=None):
        truths = self.truths() if truths is None else truths
        self.assertTrue(any(truths.values()), "the fake driver logged nothing")
        self.assertEqual([], differences(database, truths))
        self.assertEqual([], self.misuse())

    def misuse(self):
        """What the fake CUPTI noted of calls that a tool must not make."""
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


# --- the truth ----------------------------------------------------------------------------------


def read_truths(folder):
    """{pid: activities in order of issue}. A killed process's log may end in zeros, in a cut line.

    A process that has called exec has two logs, of two prefixes.
    """
    truths = {}
    for path in sorted(pathlib.Path(folder).glob("*.tsv")):
        lines = path.read_bytes().split(b"\0", 1)[0].decode("utf-8", "replace").split("\n")
        header, rows = lines[0].split("\t"), []
        for line in lines[1:-1]:  # the last one has no line end, or is empty
            rows.append(dict(zip(header, line.split("\t"))))
        truths.setdefault(int(path.name.split(".")[-2]), []).extend(rows)
    return truths


COPY_KINDS = {
    1: "host_to_device",
    2: "device_to_host",
    3: "host_to_device",
    4: "device_to_host",
    5: "device_to_device",
    6: "device_to_device",
    7: "device_to_device",
    8: "device_to_device",
    9: "host_to_host",
    10: "peer_to_peer",
}


def expected_row(row):
    """One line of the truth in the words of run.db."""
    number = lambda name: int(row[name])
    expected = {
        "kind": row["what"],
        "start": number("start_ns"),
        "end": number("end_ns"),
        "context_id": number("context"),
        "correlation_id": number("correlation"),
        "graph_id": number("graph") or None,
        "graph_node_id": number("node") or None,
        "thread_id": number("thread"),
        "api": row["api"],
    }
    if row["what"] == "kernel":
        grid, block = (tuple(map(int, row[name].split("x"))) for name in ("grid", "block"))
        expected |= {
            "kernel_symbol": row["name"],
            "grid": grid,
            "block": block,
            "shared_memory_dynamic_bytes": number("dynamic_smem"),
            "shared_memory_static_bytes": number("static_smem"),
            "registers_per_thread": number("registers"),
        }
    else:
        expected["bytes"] = number("bytes")
    if row["what"] == "memcpy":
        expected["copy_kind"] = COPY_KINDS[number("copy_kind")]
    return expected


RECORDED = """
SELECT p.pid, d.ordinal, a.stream_id, a.kind, a.start_ns, a.end_ns, a.duration_ns, a.context_id,
       a.correlation_id, a.graph_id, a.graph_node_id, c.thread_id, c.name AS api, l.kernel_symbol,
       l.grid_x, l.grid_y, l.grid_z, l.block_x, l.block_y, l.block_z,
       l.shared_memory_dynamic_bytes, l.shared_memory_static_bytes, l.registers_per_thread,
       a.bytes, a.copy_kind, a.instruction, a.module, a.program_id, a.confidence, a.evidence,
       a.unattributed_reason, c.start_ns AS api_start_ns, c.end_ns AS api_end_ns
FROM activity a JOIN process p USING (process_id) JOIN device d USING (device_id)
LEFT JOIN api_call c ON c.api_call_id = a.api_call_id
LEFT JOIN launch l ON l.launch_id = a.activity_id
ORDER BY a.activity_id
"""


def recorded_rows(database):
    with support.open_database(database) as connection:
        info = dict(connection.execute("SELECT key, value FROM run_info").fetchall())
        rows = [dict(row) for row in connection.execute(RECORDED)]
    connection.close()
    base = int(info["start_unix_ns"]) if rows else 0
    for row in rows:
        row["start"], row["end"] = row["start_ns"] + base, row["end_ns"] + base
        row["grid"] = (row["grid_x"], row["grid_y"], row["grid_z"])
        row["block"] = (row["block_x"], row["block_y"], row["block_z"])
    return rows


def by_stream(rows, key):
    streams = {}
    for row in rows:
        streams.setdefault(key(row), []).append(row)
    return streams


def differences(database, truths, limit=20):
    """What run.db says otherwise than the fake driver: sentences, none when they agree.

    Compared per stream in order: count, kind, name, launch configuration, bytes, times, graph and
    node, correlation id, and the host call with its thread.
    """
    told = []
    expected = {}
    for pid, rows in truths.items():
        for key, stream in by_stream(
            rows, lambda row: (pid, int(row["device"]), int(row["stream"]))
        ).items():
            expected[key] = sorted(map(expected_row, stream), key=lambda row: row["start"])
    recorded = by_stream(
        recorded_rows(database), lambda row: (row["pid"], row["ordinal"], row["stream_id"])
    )
    for key in sorted(expected.keys() | recorded.keys()):
        want, have = expected.get(key, []), sorted(recorded.get(key, []), key=lambda row: row["start"])
        place = "pid %d device %d stream %d" % key
        if len(want) != len(have):
            told.append(f"{place}: {len(have)} activities, the driver executed {len(want)}")
        for index, (wanted, found) in enumerate(zip(want, have)):
            for name, value in wanted.items():
                if name == "api":
                    same = found["api"] is not None and plain_name(found["api"]) == plain_name(value)
                else:
                    same = found[name] == value
                if not same:
                    told.append(f"{place} #{index} {name}: {found[name]!r}, the driver: {value!r}")
            if found["duration_ns"] != found["end_ns"] - found["start_ns"]:
                told.append(f"{place} #{index}: duration_ns is not end - start")
            if found["api"] is not None and not (
                found["api_start_ns"] <= found["api_end_ns"]
                and found["api_start_ns"] <= found["start_ns"]
            ):
                told.append(f"{place} #{index}: before its host call began")
            if len(told) > limit:
                return told + ["..."]
    return told


def identity(pid, device, stream, correlation, node, start, end):
    return (int(pid), int(device), int(stream), int(correlation), int(node or 0), int(start), int(end))


def compare_sets(database, truths):
    """(activities that the driver executed and run.db lacks, those of run.db that never were).

    For programs that were killed: what is there must be right and there once, and not all is there.
    """
    executed = {}
    for pid, rows in truths.items():
        for r in rows:
            key = identity(
                pid, *(r[n] for n in "device stream correlation node start_ns end_ns".split())
            )
            executed[key] = r
    invented = []
    for r in recorded_rows(database):
        key = identity(
            r["pid"], r["ordinal"], r["stream_id"], r["correlation_id"], r["graph_node_id"],
            r["start"], r["end"],
        )
        if executed.pop(key, None) is None:  # never executed, or there twice
            invented.append(key)
    return list(executed.values()), invented


def plain_name(function):
    """cuMemcpyHtoDAsync_v2 and cuMemcpyHtoDAsync are one function."""
    return re.sub(r"_(v\d+|ptsz|ptds)+$", "", function)


def loss(database):
    """Sum of what the run says it lost: run stats of severity data_loss and error."""
    rows = run_stats(database, "data_loss", "error")
    return sum(row["value"] or 0 for row in rows)


def run_stats(database, *severities):
    with support.open_database(database) as connection:
        rows = [dict(row) for row in connection.execute("SELECT * FROM run_stat")]
    connection.close()
    return [row for row in rows if row["severity"] in severities]


def scalar(database, sql):
    with support.open_database(database) as connection:
        value = connection.execute(sql).fetchone()[0]
    connection.close()
    return value


def rows_of(database, sql):
    with support.open_database(database) as connection:
        rows = [dict(row) for row in connection.execute(sql)]
    connection.close()
    return rows


def recording_files(folder):
    return sorted(path for path in pathlib.Path(folder).glob("*.rec") if path.is_file())
