# SPDX-License-Identifier: Apache-2.0
"""The views of docs/schema.md with the names of Nsight Systems' tables."""

import unittest

import support
from contract import NSIGHT


class NsightViews(support.OneRecording):
    """People's nsys SQL gives the same rows on our import as on the original."""

    def setUp(self):
        self.original = support.open_database(self.source)
        self.addCleanup(self.original.close)

    def compare(self, sql):
        original = self.original.execute(sql).fetchall()
        ours = self.database.execute(sql).fetchall()
        self.assertEqual(
            sorted(map(repr, map(tuple, original)))[:3], sorted(map(repr, map(tuple, ours)))[:3], sql
        )
        self.assertEqual(len(original), len(ours), sql)
        self.assertEqual(
            sorted(map(repr, map(tuple, original))), sorted(map(repr, map(tuple, ours))), sql
        )

    def test_kernels_equal_the_original(self):
        self.compare("SELECT start, end, deviceId, streamId, correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL")

    def test_kernel_shapes_equal_the_original(self):
        self.compare(
            "SELECT start, gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread, "
            "staticSharedMemory, dynamicSharedMemory FROM CUPTI_ACTIVITY_KIND_KERNEL"
        )

    def test_top_kernels_by_name_equal_the_original(self):
        self.compare(
            "SELECT s.value, count(*), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k "
            "JOIN StringIds s ON s.id = k.demangledName GROUP BY 1"
        )
        self.compare(
            "SELECT s.value, count(*), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k "
            "JOIN StringIds s ON s.id = k.shortName GROUP BY 1"
        )

    def test_copies_equal_the_original(self):
        self.compare(
            "SELECT start, end, deviceId, streamId, bytes, copyKind FROM CUPTI_ACTIVITY_KIND_MEMCPY"
        )

    def test_memsets_equal_the_original(self):
        if self.original.execute(
            "SELECT 1 FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_MEMSET'"
        ).fetchone():
            self.compare("SELECT start, end, deviceId, streamId, bytes FROM CUPTI_ACTIVITY_KIND_MEMSET")

    def test_ranges_equal_the_original(self):
        # As nsys's documentation reads texts, which are inline or interned.
        self.compare(
            "SELECT start, end, coalesce(text, (SELECT value FROM StringIds WHERE id = textId)), "
            "globalTid FROM NVTX_EVENTS WHERE eventType = 59"
        )

    def test_gpus_equal_the_original(self):
        if not self.original.execute(
            "SELECT 1 FROM sqlite_master WHERE name = 'TARGET_INFO_GPU'"
        ).fetchone():
            self.skipTest("not in this export")
        self.compare("SELECT id, name FROM TARGET_INFO_GPU")

    def test_all_columns_of_the_original_exist(self):
        for table in NSIGHT:
            wanted = [row[1] for row in self.original.execute(f"PRAGMA table_info({table})")]
            ours = [row[1] for row in self.database.execute(f"PRAGMA table_info({table})")]
            with self.subTest(table=table):
                self.assertEqual([name for name in wanted if name not in ours], [])


class H100(NsightViews, unittest.TestCase):
    recording = support.NSYS[0]


class After(NsightViews, unittest.TestCase):
    recording = support.NSYS[1]


class Before(NsightViews, unittest.TestCase):
    recording = support.NSYS[2]


if __name__ == "__main__":
    unittest.main()
