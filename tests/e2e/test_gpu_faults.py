# SPDX-License-Identifier: Apache-2.0
"""Faults are detected and reported: planted faults must fail the comparison with the truth, and the traced
program never notices any of them."""

import concurrent.futures
import re
import sys
import unittest

import gpu_support
import support
import tiers

sys.path.insert(0, str(support.REPOSITORY / "tests" / "fake_gpu"))

# One module with a plain step and a command buffer; a kernel's name contains its instruction.
PROGRAM = """
executable jit_step 7 {
  op in.0 hlo "in.0 = f32[8]{0} parameter(0)"
  op neg.1 hlo "neg.1 = f32[8]{0} negate(in.0)"
  op neg.2 hlo "neg.2 = f32[8]{0} negate(neg.1)"
  op neg.3 hlo "neg.3 = f32[8]{0} negate(neg.2)"
}
graph G { module jit_step 7 {
  thunk neg.1 { launch neg.1 }
  thunk neg.2 { launch neg.2 grid 2x1x1; launch neg.2 grid 3x1x1 }
} }
repeat 10 {
  module jit_step 7 {
    thunk neg.1 { launch neg.1 x 2 }
    thunk neg.2 { launch neg.2 grid 4x1x1 on s1 }
    thunk neg.3 { thunk neg.1 { launch neg.1 }; launch neg.3 x 3 block 64x1x1; copy dtod 48 }
  }
  run G
  sync
}
print done
"""
ACTIVITIES = 10 * (8 + 3)
PLAIN = "launch k x 100; copy dtod 64 x 20; set 32 x 10 on s1; sync; print done; exit 3"


def complaints(database, truths):
    """All that the ordinary tests look at: the driver's log, instructions, what the run lost."""
    told = gpu_support.differences(database, truths)
    for row in gpu_support.recorded_rows(database):
        name = row["kernel_symbol"]
        if name is not None and name.startswith("neg."):
            found = (row["program_id"], row["instruction"], row["confidence"])
            if found != (7, name, "exact"):
                told.append(f"{name}: {found}")
    told += [f"lost: {row}" for row in gpu_support.run_stats(database, "data_loss", "error")]
    return told


class Faults(gpu_support.GpuTestCase):
    def recorded(self, scenario=None, script=PROGRAM, **environment):
        traced = self.preloaded(script, scenario=scenario, **environment)
        self.assert_unharmed(traced, self.alone(script), lines=2)
        self.traced = traced
        return self.fold()

    def assert_labels_not_wrong(self, database):
        for row in gpu_support.recorded_rows(database):
            if row["confidence"] == "exact":
                self.assertEqual(row["instruction"], row["kernel_symbol"] or "neg.3")

    def test_recording_without_fault_has_no_complaint(self):
        self.assertEqual(complaints(self.recorded(), self.truths()), [])
        self.assertEqual(
            gpu_support.scalar(self.work / "run.db", "SELECT count(*) FROM activity"), ACTIVITIES
        )

    # The five planted faults. The checker speaks up, and so does the run itself where it can know.

    def test_planted_wrong_record_size_is_detected(self):
        for size in (208, 224, 96):
            with self.subTest(size=size):
                self.setUp()
                database = self.recorded(f"cupti size 10 {size}")
                self.assertNotEqual(complaints(database, self.truths()), [])
                self.assertGreater(gpu_support.loss(database), 0)

    def test_planted_lost_node_clone_is_detected(self):
        database = self.recorded("cupti lose clone 2")
        self.assertNotEqual(complaints(database, self.truths()), [])
        self.assertEqual(gpu_support.differences(database, self.truths()), [])
        self.assert_labels_not_wrong(database)

    def test_lost_node_clones_are_counted_from_cupti_13_4(self):
        """Each record of a graph's node has the original node, too."""
        for api, known in (("130301", False), ("130401", True)):
            with self.subTest(api=api):
                self.setUp()
                database = self.recorded("cupti lose clone 1 all", FAKE_CUPTI_API=api)
                told = complaints(database, self.truths())
                self.assertEqual(told == [], known, told)
                self.assert_labels_not_wrong(database)

    def test_planted_swapped_correlation_ids_are_detected(self):
        """Records of a neg.1 and the following neg.2."""
        database = self.recorded("cupti swap correlation 2")
        self.assertNotEqual(gpu_support.differences(database, self.truths()), [])

    def test_planted_uncounted_buffer_drop_is_detected(self):
        """CUPTI counts nothing, but calls without their activity are left over."""
        script = "repeat 50 { launch k x 100; sync }"
        # The first buffers may contain only facts of the device; if the flusher does not run in time, there
        # is no second buffer.
        database = self.recorded("cupti drop buffers 1 5 uncounted", script, XLATRACE_FLUSH_MS="20")
        self.assertNotEqual(gpu_support.differences(database, self.truths()), [])
        self.assertGreater(gpu_support.loss(database), 0)

    def test_planted_double_pop_is_detected(self):
        """The pop after the nested thunk of the first round: the outer one is gone too early."""
        database = self.recorded("nvtx pop twice 6")
        told = complaints(database, self.truths())
        self.assertTrue([line for line in told if line.startswith("neg.3: ")], told)
        self.assertEqual(gpu_support.differences(database, self.truths()), [])
        self.assert_labels_not_wrong(database)

    def test_unbalanced_pops_are_counted(self):
        """A surplus pop, with no open range: labels stay right, and the run reports it."""
        for number in (2, 5, 9):
            with self.subTest(pop=number):
                self.setUp()
                database = self.recorded(f"nvtx pop twice {number}")
                self.assertEqual(gpu_support.differences(database, self.truths()), [])
                self.assert_labels_not_wrong(database)
                stats = gpu_support.run_stats(database, "info", "notice", "data_loss")
                self.assertTrue([row for row in stats if "unbalanced" in row["name"]], stats)

    # Possible behaviour of CUPTI on a real machine.

    def test_counted_drops_are_a_data_loss(self):
        database = self.recorded("cupti drop records 5 7 counted")
        rows = gpu_support.run_stats(database, "data_loss")
        self.assertIn(7, [row["value"] for row in rows], rows)
        summary = self.xlatrace("summary", "run.db")
        self.assertIn("lost 7", re.sub(r"\s+", " ", summary.stdout))
        self.assertEqual(
            gpu_support.scalar(database, "SELECT count(*) FROM activity"), ACTIVITIES - 7
        )

    def test_strict_turns_dropped_records_into_exit_code_1(self):
        self.recorded("cupti drop records 5 7 counted")
        self.assertEqual(self.xlatrace("summary", "run.db").code, 0)
        self.assertEqual(self.xlatrace("summary", "run.db", "--strict").code, 1)

    def test_uncounted_drop_of_records_is_detected(self):
        self.assertGreater(gpu_support.loss(self.recorded("cupti drop records 5 7 uncounted")), 0)

    def assert_kept_without_times(self, database, start=False):
        """Three kernels have no time: they are there, as NULL, and counted. `start`: they have one."""
        rows = gpu_support.rows_of(
            database, "SELECT start_ns, end_ns, duration_ns, self_ns FROM activity"
        )
        self.assertEqual(len(rows), ACTIVITIES)
        truth = [row for rows in self.truths().values() for row in rows]
        total = sum(int(row["end_ns"]) - int(row["start_ns"]) for row in truth)
        untimed = [row for row in rows if row["duration_ns"] is None]
        self.assertEqual(len(untimed), 3)
        for row in untimed:
            self.assertEqual((row["end_ns"], row["self_ns"]), (None, None))
            self.assertEqual(row["start_ns"] is not None, start)
        for row in rows:
            if row["duration_ns"] is not None:
                self.assertEqual(row["duration_ns"], row["end_ns"] - row["start_ns"])
        have = gpu_support.scalar(database, "SELECT sum(self_ns) FROM activity")
        self.assertLess(have, total)
        self.assertGreater(have, total * 0.8)
        name, severity = "activity_times_unknown", "data_loss"
        if start:  # Other kernels of the stream end later, so a flush took these ends.
            name = "activity_end_taken"
        stats = {row["name"]: row["value"] for row in gpu_support.run_stats(database, severity)}
        self.assertEqual(stats.get(name), 3, stats)
        # They keep their call and their instruction.
        unlabelled = "SELECT count(*) FROM activity WHERE api_call_id IS NULL OR instruction IS NULL"
        self.assertEqual(gpu_support.scalar(database, unlabelled), 0)
        self.assert_commands_work(database)
        span = gpu_support.scalar(database, "SELECT max(end_ns) - min(start_ns) FROM activity")
        self.assertLess(span, 60e9, "a time of the year 1970")

    def assert_commands_work(self, database):
        for arguments in (
            ["summary", "--by", "kernel"],
            ["summary", "--format", "json"],
            ["report", "-o", "run.html"],
            ["show", "k1"],
        ):
            handle = [arguments.pop()] if arguments[0] == "show" else []
            result = self.xlatrace(*arguments, *handle, database)
            self.assertEqual(result.code, 0, result)

    def test_activities_with_zero_times_are_reported(self):
        self.assert_kept_without_times(self.recorded("cupti times zero 8 3"))

    def test_activities_with_reversed_times_are_reported(self):
        self.assert_kept_without_times(self.recorded("cupti times reversed 8 3"))

    def test_activities_without_an_end_time_are_reported(self):
        self.assert_kept_without_times(self.recorded("cupti times unended 8 3"), start=True)

    def test_activities_without_times_are_reported(self):
        database = self.recorded("cupti times zero 1 all")
        rows = gpu_support.rows_of(
            database, "SELECT count(*) AS n, count(start_ns) AS s, sum(self_ns) AS t FROM activity"
        )
        self.assertEqual(rows, [{"n": ACTIVITIES, "s": 0, "t": None}])
        self.assertEqual(gpu_support.scalar(database, "SELECT count(*) FROM busy_time"), 0)
        self.assert_commands_work(database)

    def test_unknown_record_kind_is_skipped(self):
        database = self.recorded("cupti unknown kind 54 before 6")
        self.assertEqual(gpu_support.differences(database, self.truths()), [])
        stats = gpu_support.run_stats(database, "info", "notice", "data_loss")
        self.assertTrue(
            [row for row in stats if "unknown" in row["name"] and row["value"] == 1], stats
        )

    def test_unknown_record_kind_may_end_the_buffer(self):
        """CUPTI's own iterator stops there; later records are lost, and reported."""
        database = self.recorded("cupti unknown kind 999 before 6")
        self.assertEqual(gpu_support.compare_sets(database, self.truths())[1], [])
        self.assertGreater(gpu_support.loss(database), 0)

    def test_late_and_shuffled_buffers_lose_no_record(self):
        for scenario in ("cupti late 300", "cupti shuffle 4", "cupti late 80\ncupti shuffle 3"):
            with self.subTest(scenario=scenario):
                self.setUp()
                script = PROGRAM.replace("print done", "sleep 900\nprint done")
                database = self.recorded(scenario, script, XLATRACE_FLUSH_MS="30")
                self.assertEqual(complaints(database, self.truths()), [])

    def test_buffers_after_the_exit_handlers_count_as_loss(self):
        database = self.recorded("cupti hold until exit")
        missing, invented = gpu_support.compare_sets(database, self.truths())
        self.assertEqual(invented, [])
        if missing:
            self.assertGreater(gpu_support.loss(database), 0)

    def test_fatal_error_of_cupti_leaves_the_program_unharmed(self):
        database = self.recorded("cupti fatal after 30")
        self.assertGreaterEqual(gpu_support.scalar(database, "SELECT count(*) FROM activity"), 30)
        self.assertGreater(gpu_support.loss(database), 0)

    def assert_reason_told(self, pattern):
        """In the line at the end, and where a user looks for his run."""
        self.assertRegex(self.traced.stderr, pattern)
        report = self.xlatrace("report", "run.db")
        page = self.work / "run.html"
        told = report.stdout + report.stderr + (page.read_text() if page.exists() else "")
        self.assertRegex(told, pattern)

    def test_failing_iterator_is_a_data_loss(self):
        """In the middle of a buffer: later records are lost, also if their call has other records."""
        script = "launch k; sync; graph G { launch g; copy dtod 8 ; set 9 }\n"
        script += "repeat 3 { run G; sync }\nprint done"
        for call in range(1, 20):
            with self.subTest(call=call):
                self.setUp()
                database = self.recorded(
                    f"fail cuptiActivityGetNextRecord call {call} error 999", script
                )
                missing, invented = gpu_support.compare_sets(database, self.truths())
                self.assertEqual(invented, [])
                if missing:
                    self.assertGreater(gpu_support.loss(database), 0)

    def test_second_subscriber_is_reported(self):
        script = PLAIN
        self.traced = self.preloaded(script, scenario='cupti subscriber "Nsight Systems"')
        self.assert_unharmed(self.traced, self.alone(script))
        self.assert_reason_told("Nsight Systems")

    def test_hanging_flush_does_not_hold_the_program(self):
        for call in (1, 2, 4):
            with self.subTest(call=call):
                self.setUp()
                script = "launch k x 100; sync; sleep 300; launch k; sync; exit 3"
                # Were it waited for, `preloaded` would give up.
                traced = self.preloaded(
                    script,
                    scenario=f"hang cuptiActivityFlushAll call {call}",
                    XLATRACE_FLUSH_MS="50",
                )
                self.assert_unharmed(traced, self.alone(script), lines=2)
                database = self.fold()
                missing, invented = gpu_support.compare_sets(database, self.truths())
                self.assertEqual(invented, [])
                self.assertNotEqual(
                    gpu_support.run_stats(database, "notice", "data_loss", "error"), []
                )

    def test_slow_flush_loses_no_record(self):
        script = "repeat 20 { launch k x 100; sync; sleep 10 }"
        database = self.recorded("delay cuptiActivityFlushAll 400 call 1 times 50", script)
        self.assertEqual(complaints(database, self.truths()), [])

    def test_driver_errors_reach_the_program_unchanged(self):
        scenario = "fail cuLaunchKernel call 60 error 719"
        alone = self.alone(PLAIN, scenario=scenario)
        traced = self.preloaded(PLAIN, scenario=scenario)
        self.assertNotEqual(alone.code, 0)
        self.assertNotIn("done", alone.stdout)
        self.assert_unharmed(traced, alone)
        (truth,) = self.truths().values()  # it leaves without waiting: the last ones have no times
        rows = gpu_support.recorded_rows(self.fold())
        self.assertEqual(
            [row["correlation_id"] for row in sorted(rows, key=lambda row: row["correlation_id"])],
            [int(row["correlation"]) for row in truth],
        )


FUNCTIONS = (
    "cuptiGetVersion cuptiSubscribe cuptiSubscribe_v2 cuptiActivityRegisterCallbacks "
    "cuptiActivityEnable cuptiActivityEnableDriverApi cuptiActivityEnableRuntimeApi "
    "cuptiEnableCallback cuptiEnableDomain cuptiActivitySetAttribute cuptiActivityGetAttribute "
    "cuptiSetThreadIdType cuptiGetTimestamp cuptiActivityFlushAll cuptiActivityFlushPeriod "
    "cuptiActivityGetNextRecord cuptiActivityGetNumDroppedRecords cuptiGetContextId "
    "cuptiGetDeviceId cuptiGetStreamIdEx cuptiGetGraphId cuptiGetGraphExecId cuptiGetGraphNodeId "
    "cuptiGetCallbackName cuptiGetResultString cuptiGetCubinCrc "
    "cuptiActivityEnableLatencyTimestamps "
    "cuptiActivityEnableLaunchAttributes cuptiActivityRegisterCallbacks_v2 cuptiActivityEnable_v2 "
    "cuptiActivityGetNextRecord_v2 cuptiActivitySetAttribute_v2 "
    "cuptiActivityGetNumDroppedRecords_v2 cuptiGetTimestamp_v2 cupti*"
).split()


class FailingCalls(gpu_support.GpuTestCase):
    """Call N of a function returns an error: the program is unharmed; lost records are reported."""

    SCRIPT = (
        "graph G { launch g x 1; copy dtod 8 }\nrepeat 3 { launch k x 10; run G; sync }\n"
        "sleep 40; launch k on s1; sync; print done; exit 3"
    )

    def check(self, function, error, calls, **release):
        def one(call):
            place = self.folder / f"{function.replace('*', '')}{call}.{error}{len(release)}"
            truth = place / "truth"
            (place / "work").mkdir(parents=True)
            truth.mkdir()
            scenario = place / "scenario"
            scenario.write_text(f"fail {function} call {call} error {error}")
            env = self.environment(
                FAKE_GPU_SCENARIO=scenario,
                FAKE_GPU_LOG=truth / "t",
                XLATRACE_FLUSH_MS="10",
                **release,
            )
            traced = support.run_command(self.command(self.SCRIPT), cwd=place / "work", env=env)
            what = f"{function} call {call}: "
            if (traced.code, traced.stdout) != (3, "done\n"):
                return what + f"harm: {traced}"
            ours, others = gpu_support.split_stderr(traced.stderr)
            if others or len(ours) > 2:
                return what + f"stderr: {traced.stderr}"
            folded = support.run("summary", "run.db", cwd=place / "work")
            database = place / "work" / "run.db"
            if not database.exists():
                return (
                    None
                    if ours and folded.errors
                    else what + f"no run and no reason: {traced} {folded}"
                )
            lost = gpu_support.loss(database)
            missing, invented = gpu_support.compare_sets(database, gpu_support.read_truths(truth))
            if invented:
                return what + f"{len(invented)} activities that never were"
            if missing and not lost:
                return what + f"{len(missing)} activities missing and nothing said: {ours}"
            return None

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            return [told for told in pool.map(one, calls) if told]


def add(function):
    def test(self):
        calls = range(1, 121) if function == "cupti*" else range(1, 31)
        calls = calls if tiers.IS_LONG else calls[::9]
        told = self.check(function, 999, calls) + self.check(function, 15, (1, 2))
        self.assertEqual(told, [], "\n".join(told[:3]))

    def test_faults_of_the_second_interface_are_detected(self):
        release = {"FAKE_CUPTI_API": "130301", "FAKE_GPU_DRIVER_VERSION": "13030"}
        told = self.check(function, 999, (1, 2, 3, 5, 9, 20), **release)
        told += self.check(function, 15, (1,), **release)
        self.assertEqual(told, [], "\n".join(told[:3]))

    if function.endswith("_v2"):
        test = test_faults_of_the_second_interface_are_detected
    setattr(FailingCalls, "test_" + function.replace("*", "_any"), test)


# "cupti*" is the last one: every call of CUPTI in turn.
for function_name in FUNCTIONS if tiers.IS_LONG else [*FUNCTIONS[:-1:6], FUNCTIONS[-1]]:
    add(function_name)

if __name__ == "__main__":
    unittest.main()
