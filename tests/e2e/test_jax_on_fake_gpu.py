# SPDX-License-Identifier: Apache-2.0
"""Real JAX, its real CUDA plugin, on the fake GPU: what the collector records is what really ran.

The truth is the fake driver's own log, with XLA's open range at each launch and node creation. Truth and
recording come from two runs of one program.

Environment: XLATRACE_TEST_PYTHON_JAX_CUDA, XLATRACE_FAKE_GPU (see tests/fake_gpu/jax/rig.py), and
XLATRACE_PRELOAD, the preload library; without one of them the tests that need it are skipped.
"""

import collections
import concurrent.futures
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import support
import tiers

RIG_FOLDER = support.REPOSITORY / "tests" / "fake_gpu" / "jax"
sys.path.insert(0, str(RIG_FOLDER))

import compare
import rig

DEVICES = {"plain_step": 1, "rich_step": 1, "data_parallel": 2}
PROGRAMS = tiers.representatives(DEVICES)
CASES = [(program, graphs) for program in PROGRAMS for graphs in (True, False)]
PRELOAD = os.environ.get("XLATRACE_PRELOAD")
folder = None
pool = None


def setUpModule():
    global folder, pool
    try:
        rig.Rig()
    except rig.Missing as missing:
        raise unittest.SkipTest(str(missing)) from None
    folder = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-fake-gpu-"))
    # Compiling is most of a run: two at a time.
    pool = concurrent.futures.ThreadPoolExecutor(2)


def tearDownModule():
    if pool is not None:
        pool.shutdown(cancel_futures=True)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


class Run:
    """One finished run of a program."""

    def __init__(self, process, place):
        self.process = process
        self.place = place

    @functools.cached_property
    def truth(self):
        return compare.read_truth(self.place)


class Finished:
    """A run whose result is no longer needed."""

    def __init__(self, run):
        self.run = run

    def result(self):
        return self.run


@functools.cache
def start(program, graphs, name, profile=False, **options):
    """A run in the pool, once per name; .result() waits for it."""
    place = folder / f"{program}-{'graphs' if graphs else 'plain'}-{name}"
    place.mkdir()
    # Every run but the first finds the program compiled.
    compiled = None if name == "fresh" else start(program, graphs, "fresh")

    def work():
        if compiled is not None:
            compiled.result()
        program_file = RIG_FOLDER / f"{program}.py"
        command = ["profiled.py", place, program_file] if profile else [program_file]
        process = rig.Rig().run(
            *command,
            devices=DEVICES[program],
            graphs=graphs,
            log=place / "truth",
            cache=folder / "cache",
            cwd=place,
            **options,
        )
        return Run(process, place)

    return pool.submit(work)


def fresh_run(program, graphs):
    """Compiles, and leaves what it compiled to the others."""
    return start(program, graphs, "fresh")


def truth_run(program, graphs):
    return start(program, graphs, "truth")


class Case(unittest.TestCase):
    maxDiff = 4000

    def check(self, differences):
        if differences:
            self.fail(f"\n{differences}")

    def finished(self, run):
        """The run, ended well and without a complaint on stderr."""
        process = run.result().process
        self.assertEqual(process.returncode, 0, process.stderr[-4000:])
        complaints = [
            line for line in process.stderr.splitlines() if re.match(r"[WEF]\d{4} ", line)
        ]
        self.assertEqual(complaints, [])
        return run.result()


@tiers.long_tier
class TheRig(Case):
    """The fake libraries themselves, with no collector."""

    @classmethod
    def setUpClass(cls):
        for case in CASES:
            fresh_run(*case)

    def test_programs_run_to_the_end(self):
        for program, graphs in CASES:
            with self.subTest(program=program, graphs=graphs):
                for run in (fresh_run, truth_run):
                    self.assertIn(
                        "step 4: done", self.finished(run(program, graphs)).process.stdout
                    )

    def test_graphs_are_used_exactly_when_they_are_on(self):
        for program, graphs in CASES:
            with self.subTest(program=program, graphs=graphs):
                nodes = {
                    activity.node for activity in self.finished(truth_run(program, graphs)).truth
                }
                self.assertEqual(nodes != {0}, graphs)

    def test_a_step_has_many_instructions_that_run(self):
        for program, minimum in {"plain_step": 100, "rich_step": 60, "data_parallel": 30}.items():
            with self.subTest(program=program):
                truth = self.finished(fresh_run(program, True)).truth
                ran = {a.instruction for a in truth if a.module == "jit_train_step"}
                self.assertGreaterEqual(len(ran), minimum)

    def test_all_kernels_of_a_module_are_inside_a_thunk(self):
        for program, graphs in CASES:
            with self.subTest(program=program, graphs=graphs):
                truth = self.finished(fresh_run(program, graphs)).truth
                outside = [a for a in truth if a.module and not a.instruction]
                self.assertEqual([a for a in outside if a.kind == "kernel"], [])

    def test_libraries_and_collectives_are_launched(self):
        rich = " ".join({a.name for a in self.finished(fresh_run("rich_step", False)).truth})
        for part in (
            "gemm",
            "RadixSort",
            "stream_executor",
            "vector_fft",
            "potrf",
            "trsm",
            "sort_",
        ):
            with self.subTest(part=part):
                self.assertIn(part, rich)
        parallel = self.finished(fresh_run("data_parallel", False)).truth
        collectives = {a.device for a in parallel if "ncclDevKernel_AllReduce" in a.name}
        self.assertEqual(collectives, {0, 1})

    def test_xlas_tracer_records_the_same(self):
        """jax.profiler, no collector: the fake CUPTI before an independent witness."""
        for program in PROGRAMS:
            with self.subTest(program=program):
                run = self.finished(profiled_run(program, True, tap=True))
                the_rig = rig.Rig()
                compared = subprocess.run(
                    [
                        the_rig.python,
                        RIG_FOLDER / "compare.py",
                        run.place,
                        "--xplane",
                        profile_of(run),
                    ],
                    env=the_rig.environment(more={"JAX_PLATFORMS": "cpu"}),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    check=False,
                )
                self.assertEqual(compared.returncode, 0, compared.stdout)
                self.assertIn(f"compared: {len(run.truth)}\n", compared.stdout)

    @tiers.long_tier
    def test_two_runs_are_equal(self):
        for program in PROGRAMS:
            start(program, True, "again")
        for program in PROGRAMS:
            with self.subTest(program=program):
                first = self.finished(truth_run(program, True)).truth
                second = self.finished(start(program, True, "again")).truth
                self.check(compare.compare_truths(first, second))

    def test_truth_is_equal_with_and_without_graphs(self):
        for program in PROGRAMS:
            with self.subTest(program=program):
                with_graphs = self.finished(fresh_run(program, True)).truth
                without = self.finished(fresh_run(program, False)).truth
                self.check(compare.compare_modes(with_graphs, without))


class Recorded(Case):
    """The result of `xlatrace` for a run, compared with the truth of another run of the program."""

    @classmethod
    def setUpClass(cls):
        require_collector()
        for case in CASES:
            truth_run(*case)
            recorded_run(*case)

    def test_launches_and_instructions_are_the_real_ones(self):
        for program, graphs in CASES:
            with self.subTest(program=program, graphs=graphs):
                truth = self.finished(truth_run(program, graphs)).truth
                run = recorded_database(self.finished(recorded_run(program, graphs)))
                differences = compare.compare_with_run(truth, compare.read_run(run))
                self.check(differences)
                named = sum(1 for activity in truth if activity.instruction)
                self.assertGreater(named, 300)
                self.assertEqual(differences.figures["right, exact"], named)

    def test_recorded_run_is_equal_with_and_without_graphs(self):
        for program in PROGRAMS:
            with self.subTest(program=program):
                runs = [
                    [
                        activity
                        for activity, _ in compare.read_run(
                            recorded_database(self.finished(recorded_run(program, graphs)))
                        )
                    ]
                    for graphs in (True, False)
                ]
                self.check(compare.compare_modes(*runs))

    def test_the_program_prints_the_same_as_without(self):
        for program, graphs in CASES:
            with self.subTest(program=program, graphs=graphs):
                alone = self.finished(truth_run(program, graphs)).process
                recorded = self.finished(recorded_run(program, graphs)).process
                self.assertEqual(recorded.stdout, alone.stdout)

    def test_record_of_a_program_that_compiles(self):
        place = folder / "record"
        place.mkdir()
        the_rig = rig.Rig()
        result = support.run(
            "record",
            "-o",
            place / "run.db",
            "--",
            the_rig.python,
            RIG_FOLDER / "plain_step.py",
            cwd=place,
            # There is no /dev/nvidia* for `record` to see.
            env=the_rig.environment(
                log=place / "truth", tap=False, more={"XLATRACE_FORCE_COLLECTOR": "1"}
            ),
        )
        self.assertEqual(result.code, 0, result.stderr)
        truth = self.finished(fresh_run("plain_step", True)).truth
        self.check(compare.compare_with_run(truth, compare.read_run(place / "run.db")))


@tiers.long_tier
class FourDevices(Case):
    """Four devices in one process, a thread for each: the recording against the truth of its run."""

    def test_launches_and_instructions_are_the_real_ones(self):
        require_collector()
        place = folder / "four"
        place.mkdir()
        process = rig.Rig().run(
            RIG_FOLDER / "data_parallel.py",
            devices=4,
            log=place / "truth",
            preload=PRELOAD,
            cwd=place,
        )
        run = self.finished(Finished(Run(process, place)))
        truth = run.truth
        self.assertEqual({activity.device for activity in truth}, {0, 1, 2, 3})
        differences = compare.compare_with_run(truth, compare.read_run(recorded_database(run)))
        self.check(differences)
        named = sum(1 for activity in truth if activity.instruction)
        self.assertGreater(named, 300)
        self.assertEqual(differences.figures["right, exact"], named)


@tiers.long_tier
class Light(Case):
    """Without ranges: instructions by names, order and the dumps that `record` requests."""

    def test_light_mode_records_graphs(self):
        require_collector()
        fresh_run("rich_step", True)  # as this one compiles, for the dumps
        place = folder / "light"
        place.mkdir()
        the_rig = rig.Rig()
        result = support.run(
            "record",
            "--mode",
            "light",
            "-o",
            place / "run.db",
            "--",
            the_rig.python,
            RIG_FOLDER / "rich_step.py",
            cwd=place,
            env=the_rig.environment(tap=False, more={"XLATRACE_FORCE_COLLECTOR": "1"}),
        )
        self.assertEqual(result.code, 0, result.stderr)
        truth = self.finished(fresh_run("rich_step", True)).truth
        differences = compare.Differences()
        found = collections.Counter()
        for right, (recorded, (confidence, _, _)) in compare.compare_streams(
            truth, compare.read_run(place / "run.db"), differences, lambda item: item[0]
        ):
            if not right.instruction:
                continue
            # Program ids are those of that process.
            same = recorded.label()[1:] == right.label()[1:]
            found[(same, confidence)] += right.duration_ns
        self.check(differences)
        whole = found.total()
        self.assertEqual(found[(False, "exact")], 0)
        self.assertGreater(found[(True, "exact")], 0.9 * whole, found)
        self.assertGreater(found[(True, "exact")] + found[(True, "inferred")], 0.97 * whole, found)


class Imported(Case):
    """JAX's own profile of the fake GPU, imported.

    With an NVTX tool XLA writes no instructions into it, so the truth is of another run here too.
    """

    PROGRAMS = tiers.representatives(("plain_step", "rich_step"))

    @classmethod
    def setUpClass(cls):
        support.require_program()
        for program in cls.PROGRAMS:
            for graphs in (True, False) if tiers.IS_LONG else (True,):
                profiled_run(program, graphs, tap=False)
                truth_run(program, graphs)

    def compared(self, program, graphs):
        run = self.finished(profiled_run(program, graphs, tap=False))
        database = run.place / "run.db"
        result = support.run("import", profile_of(run), "-o", database, cwd=run.place)
        self.assertEqual(result.code, 0, result.stderr)
        truth = self.finished(truth_run(program, graphs)).truth
        run = compare.read_run(database)
        return truth, compare.compare_with_run(truth, run, recorded_by=None)

    @tiers.long_tier
    def test_run_without_graphs_is_exact_except_memsets(self):
        # XLA's tracer writes no instruction for a memset.
        for program in self.PROGRAMS:
            with self.subTest(program=program):
                truth, differences = self.compared(program, False)
                missing = differences.found.pop("no instruction", [])
                self.check(differences)
                self.assertEqual([text for text in missing if not text.startswith("memset")], [])
                named = sum(1 for a in truth if a.instruction and a.kind != "memset")
                self.assertGreaterEqual(differences.figures["right, exact"], named)

    def test_run_with_graphs_has_no_wrong_label(self):
        # XLA names only the command buffer there: an undecidable label may be missing, never wrong.
        for program in self.PROGRAMS:
            with self.subTest(program=program):
                _, differences = self.compared(program, True)
                self.assertEqual(
                    differences.found.keys() - {"no instruction"}, set(), str(differences)
                )


# Fault of the fakes -> what the comparison must find; without it the recording is right.
FAULTS = {
    "wrong record size": (True, "cupti size 10 208", {}, "number of activities"),
    "lost node clone": (True, "cupti lose clone 20", {}, "not recorded"),
    "swapped correlation ids": (False, "cupti swap correlation 201", {}, "wrong instruction"),
    "dropped buffers not counted": (
        True,
        "cupti drop buffers 1 all uncounted",
        {},
        "number of activities",
    ),
    # Inside of the while loop's range, in which the condition is copied to the host afterwards.
    "range ended twice": (
        False,
        "",
        {"XLATRACE_TAP_POP_TWICE": "loop_compare_fusion.2"},
        "not recorded",
    ),
}


@tiers.long_tier
class PlantedFaults(Case):
    """The comparison is worth something: it finds what is wrong."""

    @classmethod
    def setUpClass(cls):
        require_collector()
        for graphs in (True, False):
            fresh_run("rich_step", graphs)

    def compared(self, name, graphs, **options):
        """Truth and recording of one and the same run."""
        run = self.finished(start("rich_step", graphs, name, preload=PRELOAD, **options))
        self.assertGreater(len(run.truth), 500)
        return compare.compare_with_run(run.truth, compare.read_run(recorded_database(run)))

    def test_without_a_fault_there_is_no_difference(self):
        for graphs in (True, False):
            with self.subTest(graphs=graphs):
                self.check(self.compared("chained", graphs))

    def test_each_fault_is_found(self):
        for name, (graphs, scenario, more, finding) in FAULTS.items():
            with self.subTest(fault=name):
                file = folder / f"{name}.scenario"
                file.write_text(scenario + "\n")
                found = self.compared(
                    name.replace(" ", "-"),
                    graphs,
                    more=tuple({"FAKE_GPU_SCENARIO": str(file), **more}.items()),
                )
                self.assertIn(finding, found.found, str(found))


def require_collector():
    support.require_program()
    if not PRELOAD or not os.path.exists(PRELOAD):
        raise unittest.SkipTest("XLATRACE_PRELOAD is not set or not there")


def profiled_run(program, graphs, tap):
    """Under jax.profiler; profile_of() has the file."""
    name = "profiled" if tap else "profiled-no-tap"
    return start(program, graphs, name, tap=tap, profile=True)


def profile_of(run):
    (profile,) = run.place.rglob("*.xplane.pb")
    return profile


def recorded_run(program, graphs):
    return start(program, graphs, "recorded", tap=False, preload=PRELOAD)


@functools.cache
def recorded_database(run):
    """Folds and attributes the recording; the run.db."""
    result = support.run(
        "report", run.place / "run.db", "-o", run.place / "run.html", cwd=run.place
    )
    assert result.code == 0, result.stderr
    return run.place / "run.db"


if __name__ == "__main__":
    unittest.main()
