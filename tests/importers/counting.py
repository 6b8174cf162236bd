# SPDX-License-Identifier: Apache-2.0
"""The expected output of an importer, counted without it, and the output that its tool prints.

The scripts of this folder count a recording, or a workload that they write themselves, into Figures. They
compare them with the rows of the importer as `importer_counts` prints them.

The scripts of this folder count a recording, or a workload that they write themselves, into Figures. They
compare them with the rows of the importer as `importer_counts` prints them."""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import shared_data  # noqa: E402, in the folder of the components

PROGRAM = None  # Path of importer_counts, or the path given to main().
DATA = None  # Folder of recordings, if main() was given one.


def union(spans):
    """Length that (start, end) pairs cover together."""
    total, until = 0, None
    for start, end in sorted(spans):
        if until is None or start > until:
            total, until = total + end - start, end
        elif end > until:
            total, until = total + end - until, end
    return total


class Figures:
    """Counts and times of activities, under the names that the tool gives them."""

    def __init__(self):
        self.kinds = collections.Counter()
        self.self_ns = collections.Counter()
        self.spans = collections.defaultdict(list)
        self.ops = collections.defaultdict(lambda: [0, 0])
        self.symbols = collections.defaultdict(lambda: [0, 0])

    def add(self, kind, device, start, end, symbol, op=None, own=None):
        """`own`: the activity's own time where a later one covers part of it."""
        own = end - start if own is None else own
        self.kinds[kind] += 1
        self.self_ns[device] += own
        self.spans[device].append((start, end))
        for table, key in ((self.ops, op), (self.symbols, symbol)):
            if key is not None:
                table[key][0] += 1
                table[key][1] += own

    def busy_ns(self):
        return {device: union(spans) for device, spans in self.spans.items()}


def run_tool(path):
    done = subprocess.run([PROGRAM, path], capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


class WrittenFileTest(unittest.TestCase):
    """Writes a file, and compares what the importer makes of it."""

    maxDiff = 4000

    def check_file(self, name, write, figures, no_stats=(), **others):
        """`write(path)`; `no_stats`: counters that must not be there; `others`: figures by name."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name)
            write(path)
            code, got = run_tool(path)
        self.assertEqual(code, 0, got)
        want = {'kinds': figures.kinds, 'self_ns': figures.self_ns, 'busy_ns': figures.busy_ns(),
                'symbols': figures.symbols, **others}
        if figures.ops:
            want['ops'] = figures.ops
        for key, value in want.items():
            self.assertEqual(got[key], value, key)
        for stat in ('event_time_invalid', *no_stats):
            self.assertNotIn(stat, got.get('stats') or {})
        return got


def main(program='--tool', recordings=None):
    """Runs the tests of the script that is being run, with the program that its command line names.

    `recordings`: a folder of DATA that they need; exits with 77, which ctest takes as skipped, where
    it is not there.
    """
    global PROGRAM, DATA
    parser = argparse.ArgumentParser()
    parser.add_argument(program, required=True, dest='program')
    args, rest = parser.parse_known_args()
    PROGRAM = args.program
    if recordings:
        if not shared_data.find(recordings):
            print('skipped: ' + shared_data.reason(recordings))
            sys.exit(77)
        DATA = str(shared_data.FOLDER)
    unittest.main(module='__main__', argv=sys.argv[:1] + rest)
