# SPDX-License-Identifier: Apache-2.0
"""The reported losses of a run, compared with the log of the fake driver: the columns of the laboratory."""

import bisect
import collections
import json

import gpu_truth

COLUMNS = ["runs", "executed", "missing", "said", "unsaid", "false", "invented", "exact", "wrong"]
MUST_BE_ZERO = ["unsaid", "false", "invented", "wrong"]


class Judge:
    """Counts by kind of loss; laboratory.py explains the columns."""

    def __init__(self):
        self.figures = collections.defaultdict(collections.Counter)
        self.notes = []

    def judge(self, kind, bench, died_ns=None, truths=None, database=None):
        """Compares run.db with what the device did until `died_ns` (the end of the process)."""
        figures = self.figures[kind]
        figures["runs"] += 1
        truths = truths if truths is not None else bench.truths()
        if database is None:
            files = list((bench.work / "run.rec").glob("*.rec"))
            if not any(gpu_truth.rows_in(file, gpu_truth.FACTS) for file in files):
                return  # It was over before a first block was written: nothing is claimed.
            result = bench.xlatrace("summary", "run.db", "--format", "json")
            if result.code != 0:
                self.complain(kind, bench, f"summary: {result.stderr}")
                figures["unsaid"] += 1
                return
            database = bench.work / "run.db"
            said = json.loads(result.stdout)
            strict = bench.xlatrace("summary", "run.db", "--strict").code
        else:
            said = json.loads(bench.xlatrace("summary", database, "--format", "json").stdout)
            strict = bench.xlatrace("summary", database, "--strict").code
        died_ns = died_ns or 1 << 62
        absent, strange = gpu_truth.compare_sets(database, truths)
        if strange:
            self.complain(kind, bench, f"never executed: {strange[:3]}")
            figures["wrong"] += len(strange)
        executed = sum(int(r["end_ns"]) <= died_ns for rows in truths.values() for r in rows)
        missing = [r for r in absent if int(r["end_ns"]) <= died_ns]
        figures["executed"] += executed
        figures["missing"] += len(missing)
        certain = gpu_truth.scalar(
            database,
            "SELECT coalesce(sum(at_least), 0) FROM loss "
            "WHERE cause IN ('launch_without_activity', 'unfinished', 'graph_node')",
        )
        if certain > len(absent):
            figures["invented"] += certain - len(absent)
            self.complain(kind, bench, f"lost {certain}, but {len(absent)} are not there")
        # Records that CUPTI counts as dropped may be of other kinds. The other counters count files, places
        # of a file and times, not activities.
        dropped = gpu_truth.scalar(
            database,
            "SELECT coalesce(sum(value), 0) FROM run_stat WHERE name IN ('records_dropped', "
            "'input_skipped', 'recording_damaged', 'call_times_invalid', 'range_times_invalid')",
        )
        if not absent and said["lost"] > dropped:
            figures["invented"] += said["lost"] - dropped
            self.complain(kind, bench, f"{said['lost']} records reported lost, none missing")
        unsaid = self.unspoken(database, truths, missing, said)
        figures["unsaid"] += unsaid
        figures["said"] += len(missing) - unsaid
        if unsaid:
            self.complain(kind, bench, f"{unsaid} of {len(missing)} missing are not spoken of")
        if unsaid == 0 and missing and strict == 0 and not self.asked(database, missing, truths):
            figures["unsaid"] += len(missing)
            figures["said"] -= len(missing)
            self.complain(kind, bench, f"--strict does not fail: {len(missing)} are missing")
        false = self.called_idle_or_steady(database, missing, truths)
        figures["false"] += false
        if false:
            self.complain(kind, bench, f"{false} missing activities lie in a gap or a steady step")

    def pids(self, database):
        rows = gpu_truth.rows_of(database, "SELECT process_id, pid FROM process")
        return {row["pid"]: row["process_id"] for row in rows}

    def place(self, database, truths):
        """(process_id, start, end) of rows of the truth, in the run's time."""
        base = int(gpu_truth.scalar(database, (  # None: nothing that has a time is left.
            "SELECT coalesce((SELECT value FROM run_info WHERE key = 'start_unix_ns'), 0)"
        )))  # fmt: skip
        pid_of = {id(r): pid for pid, rows in truths.items() for r in rows}
        known = self.pids(database)

        def of(row):
            start, end = int(row["start_ns"]) - base, int(row["end_ns"]) - base
            return known.get(pid_of[id(row)]), start, end

        return of

    def unspoken(self, database, truths, missing, said):
        """Missing rows within windows that the run reports as complete."""
        windows = collections.defaultdict(list)
        for row in gpu_truth.rows_of(database, "SELECT * FROM window"):
            windows[row["process_id"]].append((row["start_ns"], row["end_ns"]))
        place = self.place(database, truths)
        inside = 0
        for row in missing:
            process, start, end = place(row)
            inside += any(a <= start and end <= b for a, b in windows.get(process, ()))
        # A number alone, without a place, speaks of so many.
        located = gpu_truth.scalar(database, "SELECT coalesce(sum(at_least), 0) FROM loss")
        return max(0, inside - max(0, said["lost"] - located))

    def asked(self, database, missing, truths):
        """All missing rows lie after a window end that was requested."""
        ends = gpu_truth.rows_of(database, "SELECT * FROM window ORDER BY start_ns")
        place = self.place(database, truths)

        def one(row):
            process, start, end = place(row)
            mine = [w for w in ends if w["process_id"] == process]
            before = [w for w in mine if w["end_ns"] <= end]
            after = [w for w in mine if w["start_ns"] >= start]
            return (before and before[-1]["why_ended"] == "asked") or (not before and after)

        return all(one(row) for row in missing)

    def called_idle_or_steady(self, database, missing, truths):
        place = self.place(database, truths)
        spans = gpu_truth.rows_of(
            database,
            "SELECT process_id, start_ns, end_ns FROM gap JOIN device USING (device_id) UNION ALL "
            "SELECT process_id, start_ns, end_ns FROM step WHERE steady",
        )
        starts, latest = collections.defaultdict(list), collections.defaultdict(list)
        for process, start, end in sorted(
            (s["process_id"], s["start_ns"], s["end_ns"]) for s in spans
        ):
            before = latest[process][-1] if latest[process] else end
            starts[process].append(start)
            latest[process].append(max(before, end))  # End of this one and of all that began before it.
        count = 0
        for row in missing:
            process, start, end = place(row)
            begun = bisect.bisect_left(starts[process], end)
            count += begun > 0 and latest[process][begun - 1] > start
        return count

    def exactness(self, kind, bench, truths, database):
        """Instructions called exact, against XLA's own ranges at the launch."""
        labels = {}
        for pid, rows in truths.items():
            for r in rows:
                key = gpu_truth.identity(
                    pid, *(r[n] for n in "device stream correlation node start_ns end_ns".split())
                )
                labels[key] = (r["label"].split("|") + ["", "", ""])[:3]
        for row in gpu_truth.recorded_rows(database):
            if row["confidence"] != "exact" or row["start"] is None or row["end"] is None:
                continue
            key = gpu_truth.identity(
                row["pid"], row["ordinal"], row["stream_id"], row["correlation_id"],
                row["graph_node_id"], row["start"], row["end"],
            )  # fmt: skip
            program, module, instruction = labels.get(key, ("", "", ""))
            if not instruction:
                continue
            self.figures[kind]["exact"] += 1
            if (instruction, module) != (row["instruction"], row["module"]):
                self.figures[kind]["wrong"] += 1
                self.complain(kind, bench, f"{row['instruction']} is exact, and is {instruction}")

    def complain(self, kind, bench, text):
        if len(self.notes) < 40:
            self.notes.append(f"{kind}: {text} ({bench.folder})")
