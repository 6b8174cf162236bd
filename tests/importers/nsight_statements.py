#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""People's SQL for Nsight Systems exports gives the same rows on an export and on our import of it.

Twenty statements of the kinds in NVIDIA's documentation of the SQLite export and in `nsys stats`. They
resolve names, list and summarize GPU traces, join API calls with kernels, and find launches inside NVTX
ranges. They also take process and thread ids out of global ids.

usage: nsight_statements.py --xlatrace build/.../xlatrace
Exit status 77 (skipped) when the data is absent.
"""

import collections
import glob
import os
import sqlite3
import subprocess
import tempfile
import unittest

import counting

STATEMENTS = {
    'names of kernels': '''
        SELECT k.start, k.end, s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k
        JOIN StringIds s ON s.id = k.shortName ORDER BY 1, 2, 3''',
    'demangled and mangled names': '''
        SELECT d.value, m.value, count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k
        JOIN StringIds d ON d.id = k.demangledName LEFT JOIN StringIds m ON m.id = k.mangledName
        GROUP BY 1, 2 ORDER BY 1, 2''',
    'kernel summary': '''
        WITH t AS (SELECT demangledName AS name, end - start AS ns FROM CUPTI_ACTIVITY_KIND_KERNEL)
        SELECT s.value, count(*), sum(ns), round(avg(ns), 3), min(ns), max(ns),
        round(100.0 * sum(ns) / (SELECT sum(ns) FROM t), 6) FROM t JOIN StringIds s ON s.id = name
        GROUP BY 1 ORDER BY 3 DESC, 1''',
    'kernel summary by launch configuration': '''
        SELECT s.value, gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread,
        staticSharedMemory, dynamicSharedMemory, count(*), sum(end - start)
        FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds s ON s.id = shortName
        GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10''',
    'GPU trace': '''
        SELECT start, end - start, deviceId, contextId, streamId, correlationId,
        'kernel' AS what, NULL AS bytes FROM CUPTI_ACTIVITY_KIND_KERNEL
        UNION ALL SELECT start, end - start, deviceId, contextId, streamId, correlationId,
        'memcpy ' || copyKind, bytes FROM CUPTI_ACTIVITY_KIND_MEMCPY
        UNION ALL SELECT start, end - start, deviceId, contextId, streamId, correlationId,
        'memset', bytes FROM CUPTI_ACTIVITY_KIND_MEMSET ORDER BY 1, 2, 3, 5, 7''',
    'memory operations by time': '''
        SELECT copyKind, count(*), sum(end - start), min(end - start), max(end - start)
        FROM CUPTI_ACTIVITY_KIND_MEMCPY GROUP BY 1 ORDER BY 1''',
    'memory operations by size': '''
        SELECT copyKind, count(*), sum(bytes), min(bytes), max(bytes)
        FROM CUPTI_ACTIVITY_KIND_MEMCPY GROUP BY 1 ORDER BY 1''',
    'API call of each kernel': '''
        SELECT r.start, r.end, n.value, k.start, k.start - r.start AS latency, k.correlationId
        FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r
        ON r.correlationId = k.correlationId AND r.globalTid / 0x1000000 = k.globalPid / 0x1000000
        JOIN StringIds n ON n.id = r.nameId ORDER BY k.start, k.correlationId''',
    'process and thread ids': '''
        SELECT globalTid / 0x1000000 % 0x1000000 AS pid, globalTid % 0x1000000 AS tid, count(*)
        FROM NVTX_EVENTS WHERE eventType = 59 AND end IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2''',
    'NVTX push-pop summary': '''
        SELECT coalesce(text, s.value) AS name, count(*), sum(end - start), min(end - start),
        max(end - start) FROM NVTX_EVENTS LEFT JOIN StringIds s ON s.id = textId
        WHERE eventType = 59 AND end IS NOT NULL GROUP BY 1 ORDER BY 1''',
    'kernels launched inside NVTX ranges': '''
        SELECT x.text, count(*), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k
        JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId
        AND r.globalTid / 0x1000000 = k.globalPid / 0x1000000
        JOIN (SELECT * FROM NVTX_EVENTS WHERE eventType = 59 AND end IS NOT NULL
              ORDER BY end - start DESC, start LIMIT 20) x
        ON x.globalTid = r.globalTid AND x.start <= r.start AND x.end >= r.end
        GROUP BY 1 ORDER BY 1''',
    # These four meet calls of other processes, which nothing refers to.
    'summary of API calls': '''
        SELECT n.value, count(*), sum(end - start), min(end - start), max(end - start)
        FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds n ON n.id = nameId GROUP BY 1 ORDER BY 1''',
    'results of API calls': '''
        SELECT eventClass, returnValue, count(*), min(start), max(end)
        FROM CUPTI_ACTIVITY_KIND_RUNTIME GROUP BY 1, 2 ORDER BY 1, 2''',
    'calls and kernels by correlation id alone': '''
        SELECT n.value, s.value, r.start, r.end FROM CUPTI_ACTIVITY_KIND_RUNTIME r
        JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON k.correlationId = r.correlationId
        JOIN StringIds s ON s.id = k.shortName JOIN StringIds n ON n.id = r.nameId
        ORDER BY r.end - r.start, r.start, k.start LIMIT 1000''',
    'innermost range by correlation id alone': '''
        SELECT k.start, (SELECT coalesce(x.text, t.value) FROM CUPTI_ACTIVITY_KIND_RUNTIME r
          JOIN NVTX_EVENTS x ON x.eventType = 59 AND x.globalTid = r.globalTid
          AND x.start <= r.start AND x.end >= r.end LEFT JOIN StringIds t ON t.id = x.textId
          WHERE r.correlationId = k.correlationId ORDER BY x.start DESC, r.start LIMIT 1)
        FROM (SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start LIMIT 100) k ORDER BY 1''',
    'NVTX ranges by domain': '''
        SELECT r.domainId, d.text, r.eventType, count(*), sum(r.end - r.start) FROM NVTX_EVENTS r
        LEFT JOIN NVTX_EVENTS d ON d.eventType = 75 AND d.domainId = r.domainId
        AND d.globalTid / 0x1000000 = r.globalTid / 0x1000000 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3''',
    'memory kinds of copies': '''
        SELECT copyKind, srcKind, dstKind, count(*), sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY
        GROUP BY 1, 2, 3 ORDER BY 1, 2, 3''',
    'memsets': '''
        SELECT start, end, deviceId, streamId, value, bytes, memKind
        FROM CUPTI_ACTIVITY_KIND_MEMSET ORDER BY 1, 2, 3, 4''',
    'how kernels were launched': '''
        SELECT launchType, cacheConfig, localMemoryPerThread, localMemoryTotal,
        sharedMemoryExecuted, count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL
        GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5''',
    'GPUs that ran': '''
        SELECT DISTINCT g.name, g.smCount, g.totalMemory, g.memoryBandwidth, g.clockRate
        FROM TARGET_INFO_GPU g JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON k.deviceId = g.id
        ORDER BY 1, 2''',
}


def rows_of(path, statement):
    db = sqlite3.connect('file:%s?mode=ro&immutable=1' % path, uri=True)
    db.execute('PRAGMA automatic_index = on')
    return [tuple(row) for row in db.execute(statement)]


class StatementsTest(unittest.TestCase):
    maxDiff = 2000

    def test_identical_rows(self):
        self.assertEqual(len(STATEMENTS), 20)
        paths = sorted(glob.glob(counting.DATA + '/nsys/*.sqlite'))
        self.assertGreaterEqual(len(paths), 3)
        compared = collections.Counter()
        with tempfile.TemporaryDirectory() as folder:
            for path in paths:
                ours = os.path.join(folder, os.path.basename(path) + '.run.db')
                subprocess.run([counting.PROGRAM, 'import', path, '-o', ours], check=True,
                               capture_output=True)
                for name, statement in STATEMENTS.items():
                    with self.subTest(file=os.path.basename(path), statement=name):
                        try:
                            want = rows_of(path, statement)
                        except sqlite3.OperationalError:
                            continue  # A trimmed file that lacks the table.
                        compared[name] += len(want)
                        got = rows_of(ours, statement)
                        self.assertEqual(len(got), len(want))
                        for got_row, want_row in zip(got, want):
                            self.assertEqual(got_row, want_row)
        # Trimmed files lack tables; each statement met rows in one of them at least but the GPUs'.
        for name in STATEMENTS:
            self.assertTrue(compared[name] > 0 or name == 'GPUs that ran', name)


if __name__ == '__main__':
    counting.main('--xlatrace', recordings='nsys')
