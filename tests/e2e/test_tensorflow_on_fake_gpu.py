# SPDX-License-Identifier: Apache-2.0
"""Real TensorFlow, its CUDA build, on the fake GPU: what it runs itself is led back to its ops.

The truth is the driver stand-in's own log, with the op or thunk that was announced on the launching
thread, as a tap of its own heard it: in the very run that is recorded, so activities are compared by
the number of their call.

Environment: XLATRACE_TEST_PYTHON_TF_CUDA, XLATRACE_FAKE_GPU (see tests/fake_gpu/tensorflow/rig.py), and
XLATRACE_PRELOAD, the preload library; without one of them the tests are skipped.
"""

import collections
import concurrent.futures
import functools
import os
import pathlib
import shutil
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
    "jit": ["graph_step.py", "jit"],
    "eager": ["eager_steps.py"],
}
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
    place.mkdir()

    def work():
        return rig.Rig().run(*command, cwd=place, **options), place

    return pool.submit(work)


def recorded(program, **more):
    place = "-".join([program, *more])
    return start(
        place,
        tuple(PROGRAMS[program]),
        log=folder / place / "truth",
        preload=PRELOAD,
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


class TensorFlowCase(support.TestCase):
    def finished(self, run):
        process, place = run.result()
        self.assertEqual(process.returncode, 0, process.stderr[-4000:])
        return place

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


class Ops(TensorFlowCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for program in PROGRAMS:
            recorded(program)

    def check_program(self, program):
        """Every activity under an op of a graph is that op's, and no other is any op's."""
        place = self.finished(recorded(program))
        kernel_ns = op_ns = 0
        for label, activity in self.compared(place):
            *_, op = (label + "|||").split("|")[:4]
            if activity["kind"] == "kernel":
                kernel_ns += activity["self_ns"]
            if not op:
                self.assertNotEqual(activity["evidence"], "op_range", dict(activity))
                continue
            said = f"{activity['op_name']}:{activity['op_type']}"
            self.assertEqual((said, activity["confidence"]), (op, "exact"))
            self.assertEqual((activity["evidence"], activity["origin"]), ("op_range", "framework"))
            self.assertIsNone(activity["instruction"])
            self.assertIsNone(activity["unattributed_reason"])
            op_ns += activity["self_ns"] if activity["kind"] == "kernel" else 0
        return place, op_ns / kernel_ns

    def test_graph_mode_is_led_back_to_its_ops(self):
        for program, least in (("graph", 0.95), ("keras", 0.98)):
            with self.subTest(program=program):
                place, share = self.check_program(program)
                # The rest is what the program runs eagerly before its first step.
                self.assertGreater(share, least)
                in_steps = rows(
                    place,
                    "SELECT sum(a.self_ns) AS ns, sum(a.self_ns) FILTER (WHERE a.evidence = 'op_range')"
                    " AS op_ns FROM activity a JOIN step s ON s.step = a.step AND s.device_id ="
                    " a.device_id WHERE a.kind = 'kernel'",
                )[0]
                self.assertGreater(in_steps["op_ns"], 0.98 * in_steps["ns"])

    def test_kernels_of_one_name_are_told_apart_by_their_ops(self):
        place = self.finished(recorded("graph"))
        types = rows(
            place,
            "SELECT DISTINCT op_type FROM launch WHERE kernel_symbol = 'main_kernel' ORDER BY 1",
        )
        self.assertTrue({"Neg", "Erfc", "Square", "Exp"} <= {row[0] for row in types})

    def test_xla_stays_instruction_for_instruction(self):
        place = self.finished(recorded("jit"))
        right = 0
        for label, activity in self.compared(place):
            program, module, instruction, *_ = (label + "|||").split("|")
            if not instruction:
                continue
            self.assertEqual(
                (str(activity["program_id"]), activity["module"], activity["instruction"]),
                (program, module, instruction),
            )
            self.assertEqual(activity["confidence"], "exact")
            right += 1
        self.assertGreater(right, 100)

    def test_eager_ops_say_that_they_are(self):
        place = self.finished(recorded("eager"))
        for label, activity in self.compared(place):
            if activity["kind"] == "kernel" and not label:
                self.assertEqual(activity["unattributed_reason"], "eager", dict(activity))
        finding = rows(place, "SELECT title FROM finding WHERE id = 'eager_kernels'")
        self.assertEqual(len(finding), 1)
        self.assertIn("tf.function", finding[0]["title"])

    def test_steps_without_xla(self):
        for program, steps in (("graph", 8), ("keras", 16)):
            with self.subTest(program=program):
                place = self.finished(recorded(program))
                # Which of them are steady is a matter of the host's time.
                self.assertEqual(len(rows(place, "SELECT * FROM step")), steps)

    def test_phases_and_layers(self):
        place = self.finished(recorded("graph"))
        expected = {
            "dense_0/MatMul": ("forward", "dense_0", "dense_*"),
            "gradient_tape/dense_2/MatMul/MatMul_1": ("backward", "dense_2", "dense_*"),
            "loss/Mean": ("loss", "loss", "loss"),
            "sgd/mul_1": ("optimizer", "sgd", "sgd"),
        }
        found = {
            row["op_name"]: (row["phase"], row["layer"], row["layer_group"])
            for row in rows(place, "SELECT * FROM op_time WHERE op IS NOT NULL")
        }
        for name, words in expected.items():
            self.assertEqual(found[name], words, name)

    def test_the_screen_says_what_is_led_back(self):
        place = self.finished(recorded("graph"))
        text = support.run("summary", "run.db", cwd=place).stdout
        self.assertRegex(text, r"o1 +\S+")
        shown = support.run("show", "dense_0/MatMul", "run.db", cwd=place)
        self.assertEqual(shown.code, 0, shown.stderr)
        self.assertIn("dense_0/MatMul", shown.stdout)

    def test_off_when_asked(self):
        place = self.finished(recorded("graph", XLATRACE_TF_OPS="0"))
        evidence = rows(place, "SELECT count(*) FROM activity WHERE evidence = 'op_range'")
        self.assertEqual(evidence[0][0], 0)

    def test_what_the_program_prints_is_its_own(self):
        with_us, _ = recorded("graph").result()
        without, _ = start("plain", tuple(PROGRAMS["graph"])).result()
        self.assertEqual(
            (with_us.returncode, with_us.stdout), (without.returncode, without.stdout)
        )


class Profile(TensorFlowCase):
    def test_tensorflows_own_profile_gives_the_same_ops(self):
        profile = start("profile", ("profiled.py", "profile", str(rig.HERE / "graph_step.py")))
        place = self.finished(profile)
        files = list(place.glob("profile/**/*.xplane.pb"))
        self.assertEqual(len(files), 1)
        done = support.run("import", files[0], "-o", "run.db", cwd=place)
        self.assertEqual(done.code, 0, done.stderr)
        names = "SELECT DISTINCT op FROM op_time WHERE op IS NOT NULL AND instruction IS NULL"
        imported = {row["op"] for row in rows(place, names)}
        own = {row["op"] for row in rows(self.finished(recorded("graph")), names)}
        in_step = {name for name in own if "/" in name}
        self.assertGreater(len(in_step), 40)
        self.assertEqual(in_step - imported, set())


if __name__ == "__main__":
    unittest.main()
