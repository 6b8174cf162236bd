# SPDX-License-Identifier: Apache-2.0
"""Common parts of the end-to-end tests: running the program, finding data, writing protobuf by hand.

Environment:
  XLATRACE_BIN                 the program; without it every test is skipped
  XLATRACE_SHARED_DATA         real recordings; without it the tests that need them are skipped
  XLATRACE_TEST_PYTHON_JAX     an interpreter with JAX
  XLATRACE_TEST_PYTHON_TF      an interpreter with TensorFlow
"""

import json
import lzma
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import shared_data  # noqa: E402
import tiers  # noqa: E402, F401
from golden_text.golden_text import GoldenText  # noqa: E402

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("XLATRACE_BIN")
PYTHON_JAX = os.environ.get("XLATRACE_TEST_PYTHON_JAX")
PYTHON_TF = os.environ.get("XLATRACE_TEST_PYTHON_TF")

# True in scripts/long: tests then sweep over all recordings, pages and themes (tests/tiers.py).
LONG = tiers.IS_LONG


def only_long(test):
    """Decorates a test that only scripts/long runs."""
    return test if LONG else None


# A longer run counts as a hang. No test takes a tenth of it, also on a slow machine.
HANG_S = 300


class TestCase(GoldenText, unittest.TestCase):
    """Has a folder of its own, `self.folder`, and is skipped without the program."""

    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        require_program()

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def golden_masks(self):
        """Places that differ between machines."""
        places = [(self.folder, "<folder>"), (shared_data.FOLDER, "<data>"), (REPOSITORY, "<repository>")]
        return [(re.escape(str(place)), name) for place, name in places if place is not None]

    def run_program(self, *arguments, **options):
        return run(*arguments, **{"cwd": self.folder, **options})

    def wait_until(self, what, condition):
        """For things that other threads and processes do in their own time."""
        until = time.monotonic() + HANG_S
        while not condition():
            if time.monotonic() > until:
                self.fail(f"after {HANG_S} s still not: {what}")
            time.sleep(0.02)


def require_program():
    if not PROGRAM:
        raise unittest.SkipTest("XLATRACE_BIN is not set")


def require_data(relative):
    """Path of a file of the recordings, or skips."""
    return shared_data.require(relative)


def require_jax():
    if not PYTHON_JAX:
        raise unittest.SkipTest("XLATRACE_TEST_PYTHON_JAX is not set")
    return PYTHON_JAX


def require_tensorflow():
    if not PYTHON_TF:
        raise unittest.SkipTest("XLATRACE_TEST_PYTHON_TF is not set")
    return PYTHON_TF


class Result:
    """Exit code as a shell shows it, and both outputs as text."""

    def __init__(self, process, stdout, stderr):
        self.code = process.returncode
        self.stdout = stdout.decode("utf-8", "replace")
        self.stderr = stderr.decode("utf-8", "replace")
        self.stdout_bytes = stdout
        self.stderr_bytes = stderr
        self.errors = [
            line for line in self.stderr.splitlines() if line.startswith("xlatrace: error:")
        ]
        self.hints = [line for line in self.stderr.splitlines() if line.startswith("hint:")]

    def __str__(self):
        return f"exit {self.code}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"


def environment(**changes):
    """Ours without what would colour or size the output; None removes a variable."""
    result = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "COLUMNS", "LINES", "CLICOLOR_FORCE", "FORCE_COLOR", "LC_ALL", "LC_CTYPE")
        # A planted fault (scripts/mutate) stays on in what tests start.
        and (not name.startswith("XLATRACE_") or name == "XLATRACE_MUTANT")
    }
    result["LANG"] = "C.UTF-8"
    for name, value in changes.items():
        result.pop(name, None)
        if value is not None:
            result[name] = value
    return result


def run_command(
    command, cwd=None, env=None, timeout=HANG_S, preexec=None, stdout=subprocess.PIPE, stdin=None
):
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=cwd,
        env=environment() if env is None else env,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=stdout,
        stderr=subprocess.PIPE,
        preexec_fn=preexec,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(input=stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(
            f"no end after {timeout} s: {' '.join(map(str, command))}\n"
            f"{(out or b'').decode()}\n{err.decode()}"
        )
    return Result(process, out or b"", err)


def run(*arguments, **options):
    return run_command([PROGRAM, *arguments], **options)


def snapshot(folder):
    """Every entry below folder with type, size and content hash: equal when nothing was touched."""
    entries = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            entries[name] = ("link", os.readlink(path))
        elif path.is_file():
            try:
                entries[name] = ("file", path.read_bytes())
            except OSError:
                entries[name] = ("file", path.stat().st_size)
        else:
            entries[name] = ("other", path.stat().st_mode)
    return entries


# --- data -------------------------------------------------------------------------------------

XPLANES = (
    "xplane/jax08_elementwise.xplane.pb",
    "xplane/jax08_gemm.xplane.pb",
    "xplane/jax_conv_minimal.xplane.pb",
    "xplane/tpu_v6e_jit_f_4chips.xplane.pb",
    "own/jax-cpu/train-20steps-notracer-py.xplane.pb.xz",
)
NSYS = (
    "nsys/h100_2gpu_1s.sqlite",
    "nsys/mfu_2gpu_after.sqlite",
    "nsys/mfu_2gpu_before.sqlite",
)


def read_plain(path):
    data = pathlib.Path(path).read_bytes()
    return lzma.decompress(data) if str(path).endswith(".xz") else data


class OneRecording:
    """Mixed into one test class per recording; `recording` is its path below the data."""

    recording = ""

    @classmethod
    def setUpClass(cls):
        import kept_runs  # It imports this module.

        cls.source, cls.path = require_data(cls.recording), kept_runs.imported_run(cls.recording)
        cls.database = open_database(cls.path)
        cls.addClassCleanup(cls.database.close)


def open_database(path):
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    return connection


def query(path, sql, cwd=None):
    """Rows of `xlatrace query --format json` as dictionaries, independent of the enclosing object."""
    result = run("query", path, sql, "--format", "json", cwd=cwd)
    if result.code != 0:
        raise AssertionError(str(result))
    answer = json.loads(result.stdout)
    rows = answer["rows"] if isinstance(answer, dict) else answer
    if rows and isinstance(rows[0], list):
        rows = [dict(zip(answer["columns"], row)) for row in rows]
    return rows


# --- counting again -----------------------------------------------------------------------------


def union(intervals):
    """Length that (start, end) pairs cover together."""
    total, edge = 0, None
    for start, end in sorted(intervals):
        if edge is None or start > edge:
            total += end - start
            edge = end
        elif end > edge:
            total += end - edge
            edge = end
    return total


# --- protobuf by hand ---------------------------------------------------------------------------


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """One field: int as varint, str and bytes as length-delimited, float as double."""
    if isinstance(value, bool) or isinstance(value, int):
        return varint(number << 3) + varint(int(value))
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(data):
    """(number, wire type, value) of every field of a message."""
    at, end = 0, len(data)
    while at < end:
        key, at = read_varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = read_varint(data, at)
        elif wire == 1:
            value = data[at : at + 8]
            at += 8
        elif wire == 2:
            size, at = read_varint(data, at)
            value = data[at : at + size]
            at += size
        elif wire == 5:
            value = data[at : at + 4]
            at += 4
        else:
            raise ValueError(f"wire type {wire}")
        yield key >> 3, wire, value


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


# An HloProto and an XSpace around it, of our own making: one module, one op per given name.


def hlo_proto(module_name, module_id, ops):
    """ops: (instruction name, opcode, op_name, source_file, source_line)."""
    shape = field(2, 11) + field(3, varint(4))  # f32[4]
    instructions = b""
    for number, (name, opcode, op_name, source_file, source_line) in enumerate(ops, start=1):
        metadata = field(1, opcode) + field(2, op_name) + field(3, source_file)
        metadata += field(4, source_line)
        operand = b"" if number == 1 else field(36, varint(number - 1))
        instructions += field(
            2,
            field(1, name)
            + field(2, opcode)
            + field(3, shape)
            + field(7, metadata)
            + operand
            + field(35, number),
        )
    program = field(1, field(3, varint(4)) + b"") + field(2, shape)
    computation = field(1, "main") + instructions + field(4, program)
    computation += field(5, 1) + field(6, len(ops))
    module = field(1, module_name) + field(2, "main") + field(6, 1)
    module += field(3, computation) + field(4, program) + field(5, module_id)
    return field(1, module)


def stat(metadata_id, value, kind):
    """kind: the field of XStat: 2 double, 3 uint64, 4 int64, 5 str, 6 bytes, 7 ref."""
    return field(1, metadata_id) + field(kind, value)


# A forward and an optimizer op for tests that need any program.
OPS = [
    ("dot.1", "dot", "jit(step)/jvp(layer_0)/dot_general", "/a/model.py", 12),
    ("add.2", "add", "jit(step)/optimizer/add", "/a/model.py", 13),
]


def xspace(module_name, ops, executions=3, program_id=7, host="host", step_ns=1_000_000, op_ns=None, at_ns=5_000_000):
    """A CPU profile: every op runs once per execution, back to back, 10 us each or what `op_ns`
    gives by name."""
    names = {
        1: "hlo_op",
        2: "hlo_module",
        3: "program_id",
        4: "run_id",
        5: "device_ordinal",
        6: "Hlo Proto",
    }
    stat_names = b"".join(
        field(5, field(1, key) + field(2, field(1, key) + field(2, text)))
        for key, text in names.items()
    )
    events = b""
    for execution in range(executions):
        start = execution * step_ns
        for index, op in enumerate(ops):
            lasts = (op_ns or {}).get(op[0], 10_000)
            events += field(
                4,
                field(1, index + 1)
                + field(2, start * 1000)
                + field(3, lasts * 1000)
                + field(4, stat(1, op[0], 5))
                + field(4, stat(2, module_name, 5))
                + field(4, stat(3, program_id, 3))
                + field(4, stat(4, 100 + execution, 4))
                + field(4, stat(5, 0, 4)),
            )
            start += lasts
    event_names = b"".join(
        field(4, field(1, index) + field(2, field(1, index) + field(2, op[0])))
        for index, op in enumerate(ops, start=1)
    )
    line = field(1, 1) + field(2, "tf_XLAEigen/1") + field(3, at_ns) + events
    cpu = field(1, 1) + field(2, "/host:CPU") + field(3, line) + event_names + stat_names
    proto = hlo_proto(module_name, program_id, ops)
    module_event = field(
        4,
        field(1, program_id)
        + field(
            2,
            field(1, program_id)
            + field(2, f"{module_name}({program_id})")
            + field(5, stat(6, proto, 6))
            + field(5, stat(3, program_id, 3)),
        ),
    )
    metadata = field(1, 2) + field(2, "/host:metadata") + module_event + stat_names
    return field(1, cpu) + field(1, metadata) + field(4, host)


ESCAPE = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
