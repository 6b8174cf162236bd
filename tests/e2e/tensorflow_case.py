# SPDX-License-Identifier: Apache-2.0
"""Real TensorFlow, its CUDA build, on the fake GPU, recorded and compared with the truth.

The truth is the fake driver's own log. It has the op or thunk that was announced on the launching thread,
as a separate tap recorded it. The log comes from the recorded run itself, so activities are compared by
the number of their call.

A test file takes `setUpModule` and `tearDownModule` from here: runs are shared by its tests, two at a
time.

Environment: XLATRACE_TEST_PYTHON_TF_CUDA, XLATRACE_FAKE_GPU (see tests/fake_gpu/tensorflow/rig.py), and
XLATRACE_PRELOAD, the preload library; without one of them the tests are skipped.
"""

import collections
import concurrent.futures
import functools
import os
import pathlib
import shutil
import signal
import sqlite3
import sys
import tempfile
import unittest

import support

sys.path.insert(0, str(support.REPOSITORY / "tests" / "fake_gpu" / "tensorflow"))

import rig

PRELOAD = os.environ.get("XLATRACE_PRELOAD")
PROGRAMS = {
    "graph": ["graph_step.py"],
    "keras": ["keras_fit.py", "nojit"],
    "keras_jit": ["keras_fit.py", "jit"],
    "jit": ["graph_step.py", "jit"],
    "eager": ["eager_steps.py"],
    "transformer": ["transformer.py"],
    "control_flow": ["control_flow.py"],
    "clusters": ["clusters.py"],
    "convolutions": ["convolutions.py"],
    "mirrored": ["mirrored.py"],
}
KERAS_MODELS = ("digits", "residual", "perceptron", "language", "autoencoder", "sequence")
PROGRAMS.update({model: ["keras_models.py", model] for model in KERAS_MODELS})
# How endings.py ends: its status.
ENDINGS = {
    "return": 0,
    "exit": 3,
    "exception": 1,
    "failed_op": 1,
    "underscore_exit": 7,
    "terminated": -signal.SIGTERM,
    "abort": -signal.SIGABRT,
}
PROGRAMS.update({f"ends_{how}": ["endings.py", how] for how in ENDINGS})
DEVICES = {"mirrored": 2}
# Environment of a program. The device is busy, so that a slow host does not hide other time.
MORE = {
    "clusters": {
        "TF_XLA_FLAGS": "--tf_xla_auto_jit=2 --tf_xla_min_cluster_size=4",
        "FAKE_GPU_TIME_SCALE": "20",
    }
}
SHAPES = "required broadcastable shapes"
folder = None
pool = None


def setUpModule():
    global folder, pool
    support.require_program()
    if not PRELOAD:
        raise unittest.SkipTest("XLATRACE_PRELOAD is not set")
    try:
        rig.Rig()
    except rig.Missing as missing:
        raise unittest.SkipTest(str(missing)) from None
    folder = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-tf-"))
    pool = concurrent.futures.ThreadPoolExecutor(2)


def tearDownModule():
    if pool is not None:
        pool.shutdown(cancel_futures=True)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def start(name, command, **options):
    """A run in the pool, once per name; .result() waits for it: the process and its folder."""
    place = folder / name

    def work():
        # Device results that TensorFlow computes only to learn a shape may have any value.
        for _ in range(4):
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            process = rig.Rig().run(*command, cwd=place, **options)
            if process.returncode == 0 or SHAPES not in process.stderr:
                break
        return process, place

    return pool.submit(work)


def recorded(program, **more):
    place = "-".join([program, *more])
    more = {**MORE.get(program, {}), **more}
    return start(
        place,
        tuple(PROGRAMS[program]),
        log=folder / place / "truth",
        preload=PRELOAD,
        devices=DEVICES.get(program, 1),
        **({"more": tuple(more.items())} if more else {}),
    )


@functools.cache
def truth(place):
    """By call and node of a graph: what was announced. A call may launch several times."""
    calls = collections.defaultdict(list)
    for log in place.glob("truth.*.tsv"):
        header, *lines = log.read_bytes().rstrip(b"\0").decode().split("\n")
        columns = header.split("\t")
        for line in lines:
            row = dict(zip(columns, line.split("\t")))
            if row.get("label") is not None:
                calls[int(row["correlation"]), int(row["node"])].append(row)
    return calls


@functools.cache
def rows(place, sql):
    done = support.run("summary", "run.db", cwd=place)
    if done.code != 0:
        raise AssertionError(done.stderr)
    database = sqlite3.connect(f"file:{place / 'run.db'}?mode=ro", uri=True)
    database.row_factory = sqlite3.Row
    with database:
        result = database.execute(sql).fetchall()
    database.close()
    return result


ACTIVITIES = "SELECT * FROM activity WHERE kind IN ('kernel', 'memcpy', 'memset')"


class Found:
    """Kernels by who ran them: "op", "xla", "nobody" (nothing was announced)."""

    def __init__(self, place):
        self.place = place
        self.kernels = collections.Counter()
        self.ns = collections.Counter()
        self.step_ns = collections.Counter()

    def share(self, who="op", in_steps=False):
        ns = self.step_ns if in_steps else self.ns
        return ns[who] / sum(ns.values())


class TensorFlowCase(support.TestCase):
    def finished(self, run):
        process, place = run.result()
        self.assertEqual(process.returncode, 0, process.stderr[-4000:])
        return place

    def require_nccl(self):
        if rig.Rig().version < (2, 18):
            self.skipTest("NCCL is built into this TensorFlow, and finds no GPU here")

    def compared(self, place):
        """Pairs of what was announced and what is recorded."""
        calls = truth(place)
        activities = rows(place, ACTIVITIES)
        self.assertEqual(len(activities), sum(len(each) for each in calls.values()))
        for activity in activities:
            call = (activity["correlation_id"], activity["graph_node_id"] or 0)
            labels = {row["label"] for row in calls[call]}
            self.assertEqual(len(labels), 1, call)
            yield labels.pop(), activity

    def check_program(self, program, inferred=()):
        """Every activity under an op of a graph belongs to that op, one under a thunk to its instruction. No
        other activity belongs to an op, except for `inferred` types. Returns kernel time and number of
        kernels by owner."""
        place = self.finished(recorded(program))
        found = Found(place)
        for label, activity in self.compared(place):
            program_id, module, instruction, op = (label + "|||").split("|")[:4]
            if op:
                said = f"{activity['op_name']}:{activity['op_type']}"
                self.assertEqual((said, activity["confidence"]), (op, "exact"))
                self.assertEqual(
                    (activity["evidence"], activity["origin"]), ("op_range", "framework")
                )
                self.assertIsNone(activity["instruction"])
                self.assertIsNone(activity["unattributed_reason"])
            elif activity["op_type"] not in inferred:
                self.assertNotEqual(activity["evidence"], "op_range", dict(activity))
            else:
                self.assertEqual(activity["confidence"], "inferred")
                op = activity["op_type"]
            if instruction:
                self.assertEqual(
                    (str(activity["program_id"]), activity["module"], activity["instruction"]),
                    (program_id, module, instruction),
                )
                self.assertEqual(activity["confidence"], "exact")
            if activity["kind"] != "kernel":
                continue
            who = "op" if op else "xla" if instruction else "nobody"
            found.kernels[who] += 1
            found.ns[who] += activity["self_ns"]
            if activity["step"] is not None:
                found.step_ns[who] += activity["self_ns"]
        return found
