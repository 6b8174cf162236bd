# SPDX-License-Identifier: Apache-2.0
"""`import` with too little memory, in any thread: a sentence, exit code 1, and no file left behind.

Several threads read an Nsight export. A failed allocation in one of them once ended the program by a
signal, with an image of the process in the folder. The limits of address space start at the least under
which the program starts. They end at the first under which it succeeds, so memory is exhausted in one
stage after the other."""

import resource
import sqlite3
import unittest

import support

MIB = 1 << 20
LARGEST_MIB = 4096  # More than any of these files needs; a build that needs more fails.
STEPS = 24          # Between the two ends.


def limited(mib):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (mib * MIB, mib * MIB))
        # A core would be written, where the program crashed.
        _, most = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (most, most))
    return limit


def write_export(path, launches):
    """Kernels with their calls and two ranges each, as Nsight Systems of 2024 writes them."""
    db = sqlite3.connect(path)
    db.executescript("""
      CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
      CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
      INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);
      CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
        streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,
        registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER,
        blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER);
      CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,
        globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
      CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, color INTEGER,
        text TEXT, textId INTEGER, globalTid INTEGER, domainId INTEGER);""")
    names = ["cuLaunchKernel", *(f"kernel_{k}" for k in range(200)), *(f"part {k}" for k in range(2_000))]
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(names, 1))
    process, thread = 1 << 48 | 300 << 24, 1 << 48 | 300 << 24 | 300
    db.executemany(
        f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, {process}, ?, ?, 32, 8, 1, 1, 128, 1,"
        " 1, 0, 0)",
        ((n * 10_000 + 5_000, n * 10_000 + 9_000, n + 1, n % 200 + 2, n % 200 + 2) for n in range(launches)))
    db.executemany(
        f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 1, {thread}, ?, 1, 0)",
        ((n * 10_000 + 1_000, n * 10_000 + 2_000, n + 1) for n in range(launches)))
    db.executemany(
        f"INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, NULL, NULL, ?, {thread}, 0)",
        ((n * 5_000, n * 5_000 + 4_000, n % 2_000 + 202) for n in range(2 * launches)))
    db.commit()
    db.close()


class MemoryLimits(support.TestCase):
    def attempt(self, source, mib):
        """Exit code under the limit, with what must hold of it."""
        place = self.folder / f"at-{mib}"
        place.mkdir()
        result = self.run_program("import", source, "-o", "run.db", cwd=place, preexec=limited(mib))
        left = sorted(entry.name for entry in place.iterdir())
        if result.code == 0:
            self.assertEqual(left, ["run.db"], result)
        else:
            self.assertEqual(result.code, 1, f"under {mib} MiB: {result}")
            self.assertEqual(len(result.errors), 1, f"under {mib} MiB: {result}")
            self.assertIn("memory", result.errors[0])
            self.assertEqual(left, [], f"under {mib} MiB: {result}")
        return result.code

    def least(self, works, low):
        """The least number of MiB from `low` on at which works(MiB), to 1 in 32."""
        high = low
        while not works(high):
            low, high = high, 2 * high
            self.assertLessEqual(high, LARGEST_MIB)
        while high - low > max(high // 32, 1):
            middle = (low + high) // 2
            low, high = (low, middle) if works(middle) else (middle, high)
        return high

    def check(self, source):
        def starts(mib):
            return self.run_program("--version", preexec=limited(mib)).code == 0

        first = self.least(starts, 4)
        seen = {}

        def succeeds(mib):
            if mib not in seen:
                seen[mib] = self.attempt(source, mib)
            return seen[mib] == 0

        enough = self.least(succeeds, first)
        for step in range(STEPS):
            succeeds(first + (enough - first) * step // STEPS)
        failed = sorted(mib for mib, code in seen.items() if code)
        self.assertGreaterEqual(len(failed), STEPS // 2, f"it starts with {first} and ends with {enough} MiB")

    def test_import_of_a_recorded_export_is_within_its_limit(self):
        self.check(support.require_data("nsys/mfu_2gpu_before.sqlite"))

    def test_import_of_a_generated_export_is_within_its_limit(self):
        made = self.folder / "made.sqlite"
        write_export(made, 20_000)
        self.check(made)


if __name__ == "__main__":
    unittest.main()
