# SPDX-License-Identifier: Apache-2.0
"""Launches, total time, busy time and time per op, counted again by a few lines of Python.

Picoseconds: start and end are each floored to a nanosecond; the duration is their difference.
"""

import collections
import unittest

import kept_runs
import support


def entries(message, number):
    """A map field of a message, as {key: value bytes}."""
    result = {}
    for tag, _, entry in support.fields(message):
        if tag == number:
            pair = {key: value for key, _, value in support.fields(entry)}
            result[pair.get(1, 0)] = pair.get(2, b"")
    return result


def first(message, number, default=None):
    return next((value for tag, _, value in support.fields(message) if tag == number), default)


def read_stats(owner, field_number, stat_names):
    stats = {}
    for tag, _, raw in support.fields(owner):
        if tag == field_number:
            name, value = None, None
            for key, _, item in support.fields(raw):
                if key == 1:
                    name = stat_names.get(item)
                elif key == 7:
                    value = stat_names.get(item)
                elif key == 4:
                    value = support.signed(item)
                elif key == 5:
                    value = item.decode("utf-8", "replace")
                else:
                    value = item
            stats[name] = value
    return stats


def device_events(data):
    """(device, line, absolute start ps, duration ps, name, stats) of every device record."""
    planes = [plane for tag, _, plane in support.fields(data) if tag == 1]
    # If there is a device, an op on the host is its launch, not its execution.
    has_device = any(
        first(plane, 2, b"").startswith((b"/device:GPU", b"/device:TPU")) for plane in planes
    )
    for tag, _, plane in support.fields(data):
        if tag != 1:
            continue
        plane_name = first(plane, 2, b"").decode()
        stat_names = {key: first(value, 2, b"").decode() for key, value in entries(plane, 5).items()}
        metadata = entries(plane, 4)
        on_device = plane_name.startswith(("/device:GPU", "/device:TPU"))
        if not on_device and (has_device or plane_name != "/host:CPU"):
            continue
        metadata_stats = {}
        for line_tag, _, line in support.fields(plane):
            if line_tag != 3:
                continue
            line_name = first(line, 2, b"").decode()
            if plane_name.startswith("/device:GPU") and not line_name.startswith("Stream"):
                continue
            if plane_name.startswith("/device:TPU") and line_name != "XLA Ops":
                continue
            origin = first(line, 3, 0) * 1000
            for event_tag, _, event in support.fields(line):
                if event_tag != 4:
                    continue
                key = first(event, 1, 0)
                name = first(metadata.get(key, b""), 2, b"").decode("utf-8", "replace")
                if key not in metadata_stats:
                    metadata_stats[key] = read_stats(metadata.get(key, b""), 5, stat_names)
                stats = {**metadata_stats[key], **read_stats(event, 4, stat_names)}
                if not on_device and ("hlo_op" not in stats or name.startswith("end: ")):
                    continue
                start = origin + support.signed(first(event, 2, 0))
                device = plane_name if on_device else stats.get("device_ordinal", 0)
                yield device, first(line, 1, 0), start, first(event, 3, 0), name, stats


class Counts(support.TestCase):
    def ours(self, path):
        database = support.open_database(path)
        self.addCleanup(database.close)
        rows = database.execute(
            "SELECT device_id, start_ns, end_ns, duration_ns, program_id, name, instruction "
            "FROM activity"
        ).fetchall()
        busy = sorted(row[0] for row in database.execute("SELECT busy_ns FROM busy_time"))
        return database, rows, busy

    def test_counts_of_xplane_files_equal_an_independent_reader(self):
        for recording in support.XPLANES:
            with self.subTest(recording=recording):
                source, path = support.require_data(recording), kept_runs.imported_run(recording)
                database, rows, busy = self.ours(path)
                spans = collections.defaultdict(list)
                per_op = collections.Counter()
                for device, _, start, duration, name, stats in device_events(
                    support.read_plain(source)
                ):
                    span = (start // 1000, (start + duration) // 1000)
                    spans[device].append(span)
                    if "hlo_op" in stats and "program_id" in stats:
                        per_op[stats["program_id"], stats["hlo_op"]] += span[1] - span[0]
                flat = [span for device in spans.values() for span in device]
                self.assertEqual(len(rows), len(flat), "activities")
                self.assertEqual(
                    sum(row["duration_ns"] for row in rows),
                    sum(end - start for start, end in flat),
                    "total time",
                )
                self.assertEqual(busy, sorted(support.union(device) for device in spans.values()), "busy")
                offset = min(start for start, _ in flat) - min(row["start_ns"] for row in rows)
                self.assertEqual(
                    sorted((row["start_ns"] + offset, row["end_ns"] + offset) for row in rows),
                    sorted(flat),
                    "each interval",
                )
                mine = collections.Counter()
                for row in rows:
                    if row["instruction"] is not None:
                        mine[row["program_id"], row["instruction"]] += row["duration_ns"]
                if per_op:
                    wrong = [
                        (key, per_op[key], mine[key])
                        for key in per_op
                        if mine[key] != per_op[key]
                    ]
                    self.assertEqual(wrong[:5], [], f"{len(wrong)} of {len(per_op)} ops")

    def test_counts_of_nsys_files_equal_an_independent_reader(self):
        for recording in support.NSYS:
            with self.subTest(recording=recording):
                source, path = support.require_data(recording), kept_runs.imported_run(recording)
                database, rows, busy = self.ours(path)
                original = support.open_database(source)
                self.addCleanup(original.close)
                tables = {row[0] for row in original.execute("SELECT name FROM sqlite_master")}
                spans = collections.defaultdict(list)
                for kind in ("KERNEL", "MEMCPY", "MEMSET"):
                    table = "CUPTI_ACTIVITY_KIND_" + kind
                    if table not in tables:
                        continue
                    for row in original.execute(
                        f"SELECT globalPid, deviceId, start, end FROM {table}"
                    ):
                        spans[row[0], row[1]].append((row[2], row[3]))
                flat = [span for device in spans.values() for span in device]
                self.assertEqual(len(rows), len(flat), "activities")
                self.assertEqual(
                    sum(row["duration_ns"] for row in rows), sum(b - a for a, b in flat), "total"
                )
                self.assertEqual(busy, sorted(support.union(device) for device in spans.values()), "busy")
                kernels = original.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL")
                self.assertEqual(
                    database.execute("SELECT count(*) FROM launch").fetchone()[0],
                    kernels.fetchone()[0],
                    "launches",
                )
                by_name = original.execute(
                    "SELECT s.value, count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL k "
                    "JOIN StringIds s ON s.id = k.shortName GROUP BY 1 ORDER BY 1"
                )
                mine = database.execute(
                    "SELECT kernel_name, count(*), sum(duration_ns) FROM launch GROUP BY 1 ORDER BY 1"
                )
                self.assertEqual(
                    [tuple(row) for row in mine], [tuple(row) for row in by_name], "per kernel"
                )


if __name__ == "__main__":
    unittest.main()
