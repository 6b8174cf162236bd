#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the simulator itself: its truth adds up, repeats, and agrees with arithmetic where that is easy."""

import dataclasses
import functools
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import plan as p  # noqa: E402
from events import CALL, COLLECTIVE, COPY, KERNEL, RANGE, TO_HOST  # noqa: E402
from machine import simulate  # noqa: E402
from recording import FORMATS, KINETO, NSIGHT, OWN, XPLANE, record  # noqa: E402
from simulate import write_format, write_run  # noqa: E402
from truth import truth_of, truths_of  # noqa: E402

SEEDS = range(10)
MS = 1_000_000
# Calls and launch latencies that the arithmetic below leaves out, per step.
CALLS_NS = 40_000


@functools.cache
def random_truths():
    """[(seed, truth)] of all processes and formats."""
    out = []
    for seed in SEEDS:
        run = simulate(seed)
        out += [(seed, truth_of(record(run, process, format))) for process in run.processes for format in FORMATS]
    return out


def children(tree, path):
    """The sum of the direct children, and whether there are any."""
    depth = path.count("/") + 1
    below = [ns for other, ns in tree.items() if other.startswith(f"{path}/") and other.count("/") == depth]
    return sum(below), bool(below)


def quiet_plan(body, **changes):
    """A loop of 20 iterations without noise."""
    plan = p.Plan(style="torch", iterations=20, body=body, between=[], startup=[p.Busy(5 * MS)],
                  ending=[p.Synchronize("cudaDeviceSynchronize")], has_marks=False, has_stacks=False, is_annotated=True,
                  kernel_noise=0, host_noise=0, outlier_rate=0, outlier_factor=1, loader_ns=MS, loader_depth=2,
                  contention=0, queue_depth=1024, call_ns=2000, latency_ns=3000)
    return dataclasses.replace(plan, **changes)


def execute(ns):
    return p.Execute(p.Program("step", 1, [p.Op(KERNEL, "work", None, ns)]), 1)


def covered(intervals, start, end):
    """How much of the time from `start` to `end` the sorted intervals cover."""
    total, now = 0, start
    for begin, stop in intervals:
        begin, stop = max(begin, now), min(stop, end)
        if begin < stop:
            total += stop - begin
            now = stop
    return total


class TruthTest(unittest.TestCase):
    def test_children_sum_to_their_parent(self):
        for seed, truth in random_truths():
            for tree in truth["devices"]:
                with self.subTest(seed=seed, format=truth["format"]):
                    top = sum(ns for path, ns in tree.items() if "/" not in path)
                    self.assertAlmostEqual(top, truth["root_ns"], delta=1)
                    for path, ns in tree.items():
                        self.assertGreaterEqual(ns, 0, path)
                        total, has_children = children(tree, path)
                        if has_children and path.startswith("steps"):
                            self.assertAlmostEqual(total, ns, delta=1, msg=path)
                        elif has_children:
                            self.assertLessEqual(total, ns, path)

    def test_steps_do_not_overlap(self):
        for _, truth in random_truths():
            for steps in truth["steps"]:
                for (_, start, end, _), (_, after, _, _) in zip(steps, steps[1:]):
                    self.assertLess(start, end)
                    self.assertLessEqual(end, after)

    def test_typical_step_lies_between_the_shortest_and_the_longest(self):
        for _, truth in random_truths():
            own = [end - start for steps in truth["steps"] for _, start, end, has_duration in steps if has_duration]
            if truth["typical_ns"]:
                self.assertLessEqual(min(own), truth["typical_ns"] + 1)
                self.assertLessEqual(truth["typical_ns"], max(own))

    def test_late_recorder_holds_no_launch_from_before(self):
        plan = quiet_plan([execute(MS), p.Synchronize("cudaDeviceSynchronize")], cut_begin=0.3)
        run = simulate(1, plan)
        recording = record(run, run.processes[0], KINETO)
        self.assertLess(len(recording.work), len(run.processes[0].work))
        self.assertGreaterEqual(min(w.call.start for w in recording.work), recording.begin)


class ArithmeticTest(unittest.TestCase):
    """A loop of one kernel and one host function, without noise."""

    def truth(self, body, format=KINETO, **changes):
        run = simulate(1, quiet_plan(body, **changes))
        return truth_of(record(run, run.processes[0], format))

    def test_host_function_before_launch_is_idle_time_of_its_name(self):
        body = [p.Framed(RANGE, "env.step", [p.Busy(3 * MS)], 7), execute(MS), p.Synchronize("cudaDeviceSynchronize")]
        truth = self.truth(body)
        self.assertEqual(truth["step_count"], 20)
        self.assertAlmostEqual(truth["typical_ns"], 4 * MS, delta=CALLS_NS)
        tree = truth["process"]
        # The first step starts with its kernel, so 19 steps hold the function.
        self.assertEqual(tree["steps/idle/host/env.step"], 19 * 3 * MS)
        self.assertAlmostEqual(tree["steps/computation"], 20 * MS, delta=20 * 10)

    def test_host_function_beside_device_work_is_no_idle_time(self):
        tree = self.truth([p.Framed(RANGE, "env.step", [p.Busy(MS)], 7), execute(3 * MS)])["process"]
        self.assertLess(tree["steps/idle"], 20 * CALLS_NS)

    def test_silent_function_is_nothing_recorded(self):
        body = [p.Framed("silent", "gc", [p.Busy(2 * MS)]), execute(MS), p.Synchronize("cudaDeviceSynchronize")]
        for format in (KINETO, NSIGHT, XPLANE, OWN):
            with self.subTest(format=format):
                tree = self.truth(body, format)["process"]
                steps = 18 if format == OWN else 19  # Our recording begins with the process: its first step is apart.
                self.assertEqual(tree["steps/idle/host/nothing recorded"] // (2 * MS), steps)

    def test_call_of_a_read_back_covers_only_its_own_time(self):
        body = [execute(MS), p.Copy(TO_HOST, 100_000, 4, True), p.Framed("silent", "python", [p.Busy(5 * MS)])]
        tree = self.truth(body)["process"]
        self.assertLess(tree["steps/idle/copy_wait"], 20 * CALLS_NS)
        self.assertAlmostEqual(tree["steps/idle/host"], 19 * 5 * MS, delta=20 * CALLS_NS)
        self.assertAlmostEqual(tree["steps/exposed_copy"], 20 * 100_000, delta=20 * 10)

    def test_slow_data_loader_is_idle_time_of_its_range(self):
        body = [p.NextBatch(), execute(MS), p.Synchronize("cudaDeviceSynchronize")]
        truth = self.truth(body, loader_ns=4 * MS)
        self.assertAlmostEqual(truth["typical_ns"], 4 * MS, delta=CALLS_NS)
        self.assertAlmostEqual(truth["process"]["steps/idle/host/next(loader)"], 19 * 3 * MS, delta=20 * CALLS_NS)


class JobTest(unittest.TestCase):
    def job(self, **changes):
        """Rank 1 takes 3 ms longer on the host per step; all sum their gradients before the update."""
        ops = [p.Op(KERNEL, "work", None, MS), p.Op(COLLECTIVE, p.NCCL, None, MS, p.COLLECTIVE_STREAM, 0),
               p.Op(KERNEL, "update", None, MS, waits_for=1)]
        body = [p.Framed(RANGE, "env.step", [p.Busy(3 * MS)], 7), p.Execute(p.Program("step", 1, ops), 1),
                p.Synchronize("cudaDeviceSynchronize")]
        run = simulate(1, quiet_plan(body, ranks=2, rank_speed=[1, 2], **changes))
        return truths_of([record(run, process, KINETO) for process in run.processes])

    def test_wait_is_on_the_ranks_that_arrive_early(self):
        (early, late), _ = self.job()
        wait = "steps/exposed_collective/wait"
        self.assertAlmostEqual(early["process"][wait], 19 * 3 * MS, delta=20 * CALLS_NS + 3 * MS)
        self.assertLess(late["process"].get(wait, 0), 20 * CALLS_NS)
        for truth in (early, late):
            self.assertAlmostEqual(truth["process"]["steps/exposed_collective/transfer"], 20 * MS, delta=20 * 10)

    def test_job_has_late_rank_work_in_place_of_wait(self):
        (early, late), job = self.job()
        self.assertLess(job.get("steps/exposed_collective/wait", 0), 20 * CALLS_NS)
        # Rank 1 has 6 ms of env.step and 1 ms of work before it arrives. Rank 0 has 3 ms and 1 ms, then waits for the last
        # 2 ms of env.step and for the work.
        self.assertAlmostEqual(job["steps/idle/host/env.step"], 19 * (6 + 3 + 2) / 2 * MS, delta=20 * CALLS_NS + 3 * MS)
        top = sum(ns for path, ns in job.items() if "/" not in path)
        self.assertAlmostEqual(top, (early["root_ns"] + late["root_ns"]) / 2, delta=1)


class DeviceTest(unittest.TestCase):
    def truth(self, ops, **changes):
        body = [p.Execute(p.Program("step", 1, ops), 1), p.Synchronize("cudaDeviceSynchronize")]
        run = simulate(1, quiet_plan(body, **changes))
        return truth_of(record(run, run.processes[0], KINETO))

    def test_second_device_of_a_pipeline_waits_for_the_first(self):
        truth = self.truth([p.Op(KERNEL, "work", None, 2 * MS)], devices=2, is_pipeline=True)
        first, second = truth["devices"]
        self.assertAlmostEqual(second["steps/idle/dependency"], 19 * 2 * MS, delta=20 * CALLS_NS)
        # The first device waits for the host, which waits for the second.
        self.assertAlmostEqual(first["steps/idle/sync"], 19 * 2 * MS, delta=20 * CALLS_NS)

    def test_ops_that_run_side_by_side_share_the_time(self):
        ops = [p.Op(KERNEL, "a", None, 4 * MS), p.Op(KERNEL, "b", None, 4 * MS, p.SIDE_STREAM)]
        tree = self.truth(ops)["process"]
        self.assertAlmostEqual(tree["steps/computation"], 20 * 4 * MS, delta=20 * CALLS_NS)
        for name in ("a", "b"):
            self.assertAlmostEqual(tree[f"steps/computation/{name}"], 20 * 2 * MS, delta=20 * CALLS_NS)

    def test_evaluation_lies_between_steps(self):
        evaluate = p.Execute(p.Program("evaluate", 2, [p.Op(KERNEL, "forward", None, 5 * MS)]), 1)
        truth = self.truth([p.Op(KERNEL, "work", None, MS)],
                           between=[p.Every(4, "evaluation", [evaluate, p.Synchronize("cudaDeviceSynchronize")])])
        # After steps 4, 8, 12 and 16, and after the last one.
        self.assertAlmostEqual(truth["process"]["between_steps"], 5 * 5 * MS, delta=20 * CALLS_NS)
        self.assertEqual(sum(not has_duration for *_, has_duration in truth["steps"][0]), 5)
        self.assertAlmostEqual(truth["typical_ns"], MS, delta=CALLS_NS)


class WritersTest(unittest.TestCase):
    def test_same_seed_gives_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a", "b"):
                write_run(3, f"{folder}/{name}")
            files = sorted(f.relative_to(f"{folder}/a") for f in pathlib.Path(folder, "a").rglob("*") if f.is_file())
            self.assertGreaterEqual(len(files), 5)
            for file in files:
                self.assertEqual(pathlib.Path(folder, "a", file).read_bytes(), pathlib.Path(folder, "b", file).read_bytes())

    def test_busy_time_of_the_truth_is_that_of_the_file(self):
        for seed in range(6):
            with tempfile.TemporaryDirectory() as folder:
                paths, truth = write_format(simulate(seed), KINETO, folder)
                events = json.loads(paths[0].read_text())["traceEvents"]
            first = truth["processes"][0]
            work = sorted((round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000)) for e in events
                          if e["cat"] in ("kernel", "gpu_memcpy") and e["args"]["device"] == 0)
            busy = sum(covered(work, start, end) for _, start, end, _ in first["steps"][0])
            tree = first["devices"][0]
            expected = sum(tree.get(f"steps/{part}", 0) for part in ("computation", "exposed_collective", "exposed_copy"))
            self.assertAlmostEqual(busy, expected, delta=2 * len(work), msg=seed)

    def test_formats_hold_what_they_can_carry(self):
        run = simulate(1)
        kinds = {f: {frame.kind for frame in record(run, run.processes[0], f).frames} for f in FORMATS}
        self.assertNotIn("mark", kinds[NSIGHT])
        self.assertNotIn("module", kinds[KINETO])
        self.assertNotIn("framework", kinds[OWN])
        self.assertTrue(all(CALL in held for held in kinds.values()))

    def test_copies_are_no_kernels(self):
        run = simulate(0)
        self.assertTrue(all(w.direction for w in run.processes[0].work if w.kind == COPY))


if __name__ == "__main__":
    unittest.main()
