# SPDX-License-Identifier: Apache-2.0
"""Common parts of the tests of the fake GPU."""

import os
import tempfile
import unittest
from collections import Counter

import driver

# The columns a record and the truth have in common.
SAME = ("what", "device", "context", "stream", "start_ns", "end_ns", "graph", "node", "name", "grid",
        "block", "dynamic_smem", "static_smem", "registers", "bytes", "copy_kind", "value")
COLUMNS = ("what thread correlation device context stream start_ns end_ns graph node original_node "
           "created_node name grid block dynamic_smem static_smem registers bytes copy_kind value "
           "api").split()


class Case(unittest.TestCase):
    def setUp(self):
        if not driver.FOLDER:
            self.skipTest("XLATRACE_FAKE_GPU is not set: the fake GPU was not built")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.log = os.path.join(self.folder, "truth")
        self.records = os.path.join(self.folder, "records")

    def scenario(self, text):
        path = os.path.join(self.folder, "scenario.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_script(self, script, expect=0, client=True, **variables):
        """Runs the workload with the client in it. Returns what it printed."""
        if client:
            variables = {"injection": driver.CLIENT, "CLIENT_LOG": self.records, **variables}
            if os.environ.get("XLATRACE_REAL_CUPTI"):
                variables.setdefault("CLIENT_ORACLE", os.environ["XLATRACE_REAL_CUPTI"])
        variables = {key: value for key, value in variables.items() if value is not None}
        done = driver.run([driver.WORKLOAD, "-e", script], **{"log": self.log, **variables})
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def lines(self, *kinds):
        """The client's lines of these kinds, split."""
        found = []
        for path in driver.truth_files(self.records):
            with open(path, encoding="utf-8") as file:
                found += [line.rstrip("\n").split("\t") for line in file]
        return [words for words in found if words[0] in kinds]

    def activities(self):
        """The records of kernels, copies and sets as dicts of the truth log's columns."""
        rows = []
        for words in self.lines("kernel", "memcpy", "memset"):
            row = dict(zip(COLUMNS, words))
            for name in driver.NUMBERS & row.keys():
                row[name] = int(row[name] or 0)
            rows.append(row)
        return rows

    def truth(self):
        return driver.read_truth(self.log)

    def assert_records_equal_truth(self, correlation=True):
        columns = SAME + (("correlation",) if correlation else ())
        key = lambda row: tuple(row[name] for name in columns)
        self.assertEqual(self.lines("error"), [])
        missing = Counter(map(key, self.truth()))
        missing.subtract(Counter(map(key, self.activities())))
        wrong = {row: count for row, count in missing.items() if count}
        self.assertEqual(wrong, {}, "rows of the truth (+) and of the records (-) without partner")
