#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damage of traces by their structure: sound parts are read, the others are counted, and no sum
changes without a run stat.

usage: structure_damage.py --tool build/.../importer_counts

Each trace is made here, so its kernels are known. XSpace profiles: corruption_test.cc.
"""

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import unittest

TOOL = None
PAGE = 4096
KERNELS = 3000
COPIES = 400
PID = 7 << 24


def counts(path):
    done = subprocess.run([TOOL, path], capture_output=True, check=False, timeout=300)
    return json.loads(done.stdout)


def kernel_ns(i):
    return 1000 + i % 97


def nsys(path, kernels=range(KERNELS), copies=range(COPIES)):
    """An export with tables of several pages each; rows in the order given."""
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    db.executescript(f"""PRAGMA page_size={PAGE};
        CREATE TABLE StringIds (id, value);
        CREATE TABLE TARGET_INFO_GPU (id, name, smCount);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId,
          contextId, streamId, correlationId, globalPid, bytes, copyKind);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId,
          contextId, streamId, correlationId, globalPid, demangledName, shortName);
        INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100', 132);
        INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'add');""")
    db.executemany(
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?,?,0,1,8,?,?,4096,1)",
        [(10_000 * i, 10_000 * i + 500, 1 + i, PID) for i in copies],
    )
    db.executemany(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,0,1,7,?,?,?,?)",
        [
            (10_000 * i, 10_000 * i + kernel_ns(i), 100_000 + i, PID, 1 + i % 2, 1 + i % 2)
            for i in kernels
        ],
    )
    db.commit()
    db.close()


TRUE_KERNELS = sum(kernel_ns(i) for i in range(KERNELS))
TRUE_COPIES = 500 * COPIES


def kineto_events(kernels=range(300)):
    for i in kernels:
        yield {
            "ph": "X", "cat": "kernel", "name": f"kernel_{i % 5}", "pid": 0, "tid": 7,
            "ts": 1000 + 10 * i, "dur": kernel_ns(i) / 1000,
            "args": {"device": 0, "stream": 7, "correlation": 1 + i},
        }  # fmt: skip


def kineto(path, events, end="]}"):
    with open(path, "w", encoding="utf8") as file:
        file.write('{"traceEvents": [\n')
        file.write(",\n".join(json.dumps(event) for event in events))
        file.write(end)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def check_whole(self, got, kernels, total):
        self.assertEqual(got["kinds"].get("kernel", 0), kernels)
        self.assertEqual(got["self_of_all_ns"], total)
        self.assertEqual(got["lost"], 0)


class NsysTest(Case):
    def export(self, **rows):
        path = self.path("e.sqlite")
        nsys(path, **rows)
        return path

    def test_sound_export_is_read_whole(self):
        self.check_whole(counts(self.export()), KERNELS, TRUE_KERNELS + TRUE_COPIES)

    def test_cut_export_keeps_the_pages_that_are_there(self):
        whole = self.export()
        size = os.path.getsize(whole)
        for cut in (1, PAGE, 2 * PAGE + 17, 10 * PAGE, size // 3):
            with self.subTest(cut=cut):
                path = self.export()
                os.truncate(path, size - cut)
                got = counts(path)
                # Copies lie before kernels in the file.
                self.assertEqual(got["kinds"].get("memcpy"), COPIES)
                self.assertGreater(got["kinds"]["kernel"], KERNELS - 130 * (cut // PAGE + 1))
                self.assertLess(got["kinds"]["kernel"], KERNELS)
                self.assertGreater(got["lost"], 0)

    def leaves_of(self, path, table):
        """Numbers of the leaf pages of a table, with the rows of each."""
        with open(path, "rb") as file:
            data = file.read()
        db = sqlite3.connect(path)
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        db.close()
        page = data[(root - 1) * PAGE : root * PAGE]
        self.assertEqual(page[0], 5)  # Interior page of a table.
        cells = int.from_bytes(page[3:5], "big")
        children = []
        for i in range(cells):
            at = int.from_bytes(page[12 + 2 * i : 14 + 2 * i], "big")
            children.append(int.from_bytes(page[at : at + 4], "big"))
        children.append(int.from_bytes(page[8:12], "big"))
        rows = {}
        for child in children:
            start = (child - 1) * PAGE
            rows[child] = int.from_bytes(data[start + 3 : start + 5], "big")
        return rows

    def test_zeroed_page_loses_its_rows_only(self):
        path = self.export()
        leaves = self.leaves_of(path, "CUPTI_ACTIVITY_KIND_KERNEL")
        self.assertGreater(len(leaves), 20)
        for number in random.Random(3).sample(sorted(leaves), 6):
            with self.subTest(page=number):
                path = self.export()
                with open(path, "r+b") as file:
                    file.seek((number - 1) * PAGE)
                    file.write(bytes(PAGE))
                got = counts(path)
                self.assertEqual(got["kinds"]["kernel"], KERNELS - leaves[number])
                self.assertEqual(got["kinds"]["memcpy"], COPIES)
                self.assertEqual(got["lost"], 1)

    def test_repeated_page_is_not_read_twice(self):
        path = self.export()
        leaves = sorted(self.leaves_of(path, "CUPTI_ACTIVITY_KIND_KERNEL"))
        with open(path, "r+b") as file:
            file.seek((leaves[3] - 1) * PAGE)
            page = file.read(PAGE)
            file.seek((leaves[7] - 1) * PAGE)
            file.write(page)
        got = counts(path)
        self.assertLess(got["kinds"]["kernel"], KERNELS)
        self.assertLess(got["self_of_all_ns"], TRUE_KERNELS + TRUE_COPIES)
        self.assertGreater(got["lost"], 0)

    def test_repeated_rows_count_once(self):
        twice = [i for i in range(KERNELS) for _ in range(2)]
        appended = [*range(KERNELS), *range(KERNELS)]
        for kernels in (twice, appended, random.Random(1).sample(appended, len(appended))):
            got = counts(self.export(kernels=kernels))
            self.check_whole(got, KERNELS, TRUE_KERNELS + TRUE_COPIES)
            self.assertEqual(got["stats"]["repeated_row"], KERNELS)

    def test_order_of_rows_does_not_matter(self):
        shuffled = random.Random(2).sample(range(KERNELS), KERNELS)
        got = counts(self.export(kernels=shuffled))
        self.check_whole(got, KERNELS, TRUE_KERNELS + TRUE_COPIES)
        self.assertNotIn("repeated_row", got.get("stats") or {})

    def test_rows_of_wrong_type_are_counted(self):
        for column in ("start", "end"):
            for value in ("'abc'", "1.5", "x'00'", "9e300"):
                with self.subTest(column=column, value=value):
                    path = self.export()
                    db = sqlite3.connect(path)
                    db.execute(
                        f'UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET "{column}" = {value}'
                        " WHERE correlationId % 10 = 0"
                    )
                    db.commit()
                    db.close()
                    got = counts(path)
                    self.assertEqual(got["kinds"]["kernel"], KERNELS - KERNELS // 10)
                    self.assertEqual(got["lost"], KERNELS // 10)

    def test_lost_table_leaves_the_others(self):
        path = self.export()
        (root,) = (
            sqlite3.connect(path)
            .execute("SELECT rootpage FROM sqlite_master WHERE name LIKE '%MEMCPY'")
            .fetchone()
        )
        with open(path, "r+b") as file:
            file.seek((root - 1) * PAGE)
            file.write(bytes(PAGE))
        got = counts(path)
        self.assertEqual(got["kinds"]["kernel"], KERNELS)
        self.assertNotIn("memcpy", got["kinds"])
        self.assertGreater(got["lost"], 0)


class KinetoTest(Case):
    total = sum(kernel_ns(i) for i in range(300))

    def trace(self, events, end="]}"):
        path = self.path("t.json")
        kineto(path, events, end)
        return path

    def test_sound_trace_is_read_whole(self):
        self.check_whole(counts(self.trace(kineto_events())), 300, self.total)

    def test_cut_trace_keeps_the_events_before_the_cut(self):
        path = self.trace(kineto_events())
        with open(path, encoding="utf8") as file:
            text = file.read()
        for size in random.Random(5).sample(range(2000, len(text) - 3), 12):
            with self.subTest(size=size):
                with open(path, "w", encoding="utf8") as file:
                    file.write(text[:size])
                whole = text[:size].count("}},\n")
                got = counts(path)
                self.assertEqual(got["kinds"]["kernel"], whole)
                self.assertGreater(got["lost"], 0)

    def test_damaged_events_are_counted_alone(self):
        events = list(kineto_events())
        for field, value in (("ts", "abc"), ("ts", None), ("dur", -5), ("dur", "x"), ("ph", "B")):
            with self.subTest(field=field, value=value):
                bad = [dict(event) for event in events]
                for event in bad[::10]:
                    event[field] = value
                got = counts(self.trace(bad))
                self.assertEqual(got["kinds"]["kernel"], 270)
                self.assertEqual(got["lost"], 30)

    def test_text_between_events_costs_one_event(self):
        path = self.trace(kineto_events())
        with open(path, encoding="utf8") as file:
            text = file.read()
        with open(path, "w", encoding="utf8") as file:
            file.write(text.replace('"kernel_3"', '"kernel_3', 1))
        got = counts(path)
        self.assertLess(got["kinds"].get("kernel", 0), 300)
        self.assertGreater(got["lost"], 0)

    def test_repeated_events_count_once(self):
        events = list(kineto_events())
        got = counts(self.trace(events + events))
        self.check_whole(got, 300, self.total)
        self.assertEqual(got["stats"]["repeated_row"], 300)

    def test_order_of_events_does_not_matter(self):
        events = random.Random(4).sample(list(kineto_events()), 300)
        self.check_whole(counts(self.trace(events)), 300, self.total)

    def test_category_is_a_list_of_words_in_any_case(self):
        for category in ("KERNEL", "Kernel", "kernel,gpu", "gpu_op, kernel", "cuda,Kernel,x"):
            with self.subTest(category=category):
                events = [dict(event, cat=category) for event in kineto_events()]
                self.check_whole(counts(self.trace(events)), 300, self.total)

    def test_trace_without_any_event_is_refused(self):
        names = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}]
        for events in ([], names):
            self.assertIn("error", counts(self.trace(events)))


class TensorflowTest(Case):
    """timeline.Timeline: each kernel once in stream:all and once in its own stream."""

    def planes(self, **names):
        return [
            {"ph": "M", "name": "process_name", "pid": int(pid[1:]), "args": {"name": name}}
            for pid, name in names.items()
        ]

    @staticmethod
    def op(pid, i, op, name, duration):
        return {
            "ph": "X", "cat": "Op", "pid": pid, "tid": 0, "name": op, "ts": 1_500_000_000_000_000 + i,
            "dur": duration, "args": {"name": name, "op": op},
        }  # fmt: skip

    def trace(self, events):
        path = self.path("timeline.json")
        kineto(path, events)
        return path

    def gpu(self, prefix):
        events = self.planes(
            p0="Allocators",
            p1=f"{prefix}stream:all Compute",
            p2=f"{prefix}stream:all Tensors",
            p3=f"{prefix}stream:13 Compute",
            p4=f"{prefix}stream:14 Compute",
            p5=f"{prefix}memcpy Compute",
            p6="/job:localhost/replica:0/task:0/device:CPU:0 Compute",
        )
        for i in range(50):
            events.append(self.op(1, 100 * i, "MatMul", f"layer/MatMul_{i}", 40))
            events.append(self.op(3, 100 * i, "MatMul", f"layer/MatMul_{i}", 40))
        for i in range(7):
            events.append(self.op(5, 100 * i + 60, "MEMCPYHtoD", "edge_1_x", 3))
            events.append(self.op(4, 100 * i + 60, "MEMCPYHtoD", "edge_1_x", 3))
        events.append(self.op(6, 5, "NoOp", "_SOURCE", 2))
        return events

    def test_kernels_and_copies_count_once(self):
        for prefix in ("/device:GPU:0/", "/gpu:0/", "/job:w/replica:0/task:0/device:GPU:0/"):
            with self.subTest(prefix=prefix):
                got = counts(self.trace(self.gpu(prefix)))
                self.assertEqual(got["kinds"], {"kernel": 50, "memcpy": 7})
                self.assertEqual(got["self_of_all_ns"], (50 * 40 + 7 * 3) * 1000)
                self.assertEqual(got["lost"], 0)
                self.assertEqual(got["info"]["source"], "tensorflow_timeline")

    def test_streams_alone_are_read(self):
        events = [e for e in self.gpu("/device:GPU:0/") if e["pid"] not in (1, 5)]
        got = counts(self.trace(events))
        self.assertEqual(got["kinds"], {"kernel": 50, "memcpy": 7})

    def test_run_metadata_gives_the_rows_of_its_timeline(self):
        def varint(value):
            out = b""
            while value > 0x7F:
                out += bytes([value & 0x7F | 0x80])
                value >>= 7
            return out + bytes([value])

        def message(number, data):
            if isinstance(data, int):
                return varint(number << 3) + varint(data)
            data = data.encode() if isinstance(data, str) else data
            return varint(number << 3 | 2) + varint(len(data)) + data

        def node(i, name, duration, label=""):
            return message(
                2,
                message(1, name) + message(2, 1_500_000_000_000_000 + i) + message(3, 1)
                + message(4, duration - 1) + message(5, duration) + message(8, label),
            )  # fmt: skip

        kernels = b"".join(node(100 * i, f"layer/MatMul_{i}:MatMul", 40) for i in range(50))
        copies = b"".join(node(100 * i + 60, "edge_1_x:MEMCPYHtoD", 3) for i in range(7))
        host = node(5, "_SOURCE", 2, "_SOURCE = NoOp()")
        devices = (
            ("/device:GPU:0/stream:all", kernels),
            ("/device:GPU:0/stream:13", kernels),
            ("/device:GPU:0/memcpy", copies),
            ("/job:w/replica:0/task:0/device:CPU:0", host),
        )
        stats = b"".join(message(1, message(1, name) + nodes) for name, nodes in devices)
        path = self.path("run_metadata.pb")
        with open(path, "wb") as file:
            file.write(message(1, stats))
        got = counts(path)
        self.assertEqual(got["kinds"], {"kernel": 50, "memcpy": 7})
        self.assertEqual(got["self_of_all_ns"], (50 * 40 + 7 * 3) * 1000)
        self.assertEqual(got["ranges"], 1)
        with open(path, "wb") as file:
            file.write(message(1, stats)[:-9])
        self.assertIn("error", counts(path))

    def test_timeline_of_a_cpu_holds_ops(self):
        events = self.planes(p1="/job:localhost/replica:0/task:0/device:CPU:0 Compute")
        events += [self.op(1, 100 * i, "Add", f"add_{i}", 30) for i in range(9)]
        got = counts(self.trace(events))
        self.assertEqual(got["kinds"], {"op": 9})
        self.assertEqual(got["self_of_all_ns"], 9 * 30_000)


class UnifiedMemoryTest(Case):
    def test_time_of_migrations_inside_kernels_belongs_to_the_kernels(self):
        rng = random.Random(11)
        for _ in range(5):
            path = self.path("u.sqlite")
            nsys(path, kernels=range(20), copies=[])
            inside = outside = 0
            rows = []
            for _ in range(200):
                kind = rng.choice((11, 12, 13))
                i = rng.randrange(20)
                start, end = 10_000 * i, 10_000 * i + kernel_ns(i)
                begin = rng.randrange(start, start + 9000)
                length = rng.randrange(1, 900)
                covered = max(min(begin + length, end) - max(begin, start), 0)
                if i < 19 and begin + length > 10_000 * (i + 1):
                    continue
                inside += covered
                outside += length - covered
                rows.append((begin, begin + length, kind))
            db = sqlite3.connect(path)
            db.executemany(
                "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?,?,0,1,7,0,%d,65536,?)" % PID, rows
            )
            db.commit()
            db.close()
            got = counts(path)
            kernels = sum(kernel_ns(i) for i in range(20))
            self.assertEqual(got["kinds"]["memcpy"], len(rows) - got["stats"].get("repeated_row", 0))
            if "repeated_row" not in got["stats"]:
                self.assertEqual(got["self_of_all_ns"], kernels + outside)
            self.assertEqual(got["stats"]["page_migration"], len(rows))
            self.assertTrue(
                set(got["symbols"]) <= {"gemm", "add", "MigrationH2D", "MigrationD2H", "MigrationD2D"}
            )


def main():
    global TOOL
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    args, rest = parser.parse_known_args()
    TOOL = args.tool
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
