# SPDX-License-Identifier: Apache-2.0
"""`query` streams: its memory does not grow with its result, and its limits hold for every query."""

import json
import resource
import subprocess
import sys
import unittest

import support

ROWS = ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT {}) "
        "SELECT n, 'a text of some length, like that of an op' AS name, n * 0.5 AS half FROM r")

# Runs a command and prints its largest resident size in kB as the last line of standard error.
PEAK = ("import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr);"
        "sys.exit(done.returncode)")


def cpu_of_children():
    """CPU seconds of ended child processes. Other work on the machine does not change them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class QueryLimits(support.TestCase):
    def setUp(self):
        super().setUp()
        trace = self.folder / "trace.sqlite"
        database = support.sqlite3.connect(trace)
        database.executescript(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId,"
            " globalPid); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 1, 0);")
        database.commit()
        database.close()
        self.run_db = self.folder / "run.db"
        done = self.run_program("import", trace, "-o", self.run_db)
        self.assertEqual(done.code, 0, done.stderr)

    def peak_kb(self, rows, form):
        done = subprocess.run(
            [sys.executable, "-c", PEAK, support.PROGRAM, "query", self.run_db, ROWS.format(rows),
             "--format", form], stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stderr.split()[-1])

    def test_memory_does_not_grow_with_the_rows(self):
        for form in ("table", "csv", "json"):
            few, many = self.peak_kb(2_000, form), self.peak_kb(200_000, form)
            self.assertLess(many - few, 8_000, form)

    def test_all_rows_are_printed_in_order(self):
        rows = 5_000
        for form in ("table", "csv", "json"):
            done = self.run_program("query", self.run_db, ROWS.format(rows), "--format", form)
            self.assertEqual(done.code, 0, done.stderr)
            if form == "json":
                numbers = [row["n"] for row in json.loads(done.stdout)["rows"]]
            else:
                numbers = [int(line.replace(",", " ").split()[0]) for line in done.stdout.splitlines()[1:]]
            self.assertEqual(numbers, list(range(1, rows + 1)), form)

    def test_json_without_rows_is_json(self):
        done = self.run_program("query", self.run_db, "SELECT 1 AS one WHERE 0", "--format", "json")
        self.assertEqual(json.loads(done.stdout), {"schema_version": 1, "rows": []})

    def test_later_rows_are_not_cut(self):
        sql = ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 2000) SELECT n, "
               "CASE WHEN n = 1999 THEN 'a_much_longer_text_' || 'in_this_row' ELSE 'short' END AS t FROM r")
        done = self.run_program("query", self.run_db, sql)
        self.assertIn("1999  a_much_longer_text_in_this_row\n", done.stdout)

    def test_endless_function_ends_with_the_time_limit(self):
        # instr alone compares a million bytes at two million places, in one step of the statement.
        run_of = "replace(hex(zeroblob({})), '0', 'a')"
        sql = f"SELECT instr({run_of.format(2_000_000)}, {run_of.format(1_000_000)} || 'b')"
        before = cpu_of_children()
        done = self.run_program("query", self.run_db, sql, "--time-limit", "1")
        self.assertEqual(done.code, 1)
        self.assert_golden_text(done.stderr)
        # CPU time: however long it waits for a core, it computes no longer than the limit.
        self.assertLess(cpu_of_children() - before, 30)

    def test_endless_query_keeps_its_rows_at_the_limit(self):
        sql = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r"
        done = self.run_program("query", self.run_db, sql, "--time-limit", "1", "--format", "csv")
        self.assertEqual(done.code, 1)
        self.assertTrue(done.stdout.startswith("n\r\n1\r\n2\r\n3\r\n"))
        self.assert_golden_text(done.stderr)

    def test_a_sort_of_everything_ends_with_the_memory_limit(self):
        sql = ROWS.format(3_000_000) + " ORDER BY n * 7 % 1000003"
        done = self.run_program("query", self.run_db, sql, "--memory-limit", "50")
        self.assertEqual(done.code, 1)
        self.assert_golden_text(done.stderr)

    def test_closed_pipe_ends_an_endless_query(self):
        sql = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r"
        query = subprocess.Popen([support.PROGRAM, "query", self.run_db, sql, "--time-limit", "0"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        query.stdout.readline()
        query.stdout.close()
        self.assertEqual(query.wait(support.HANG_S), 0)
        self.assertEqual(query.stderr.read(), b"")
        query.stderr.close()

    def test_parameters_need_values(self):
        done = self.run_program("query", self.run_db, "SELECT ?1")
        self.assertEqual(done.code, 1)
        self.assert_golden_text(done.stderr)

    def test_hint_about_an_unknown_column_selects_from_the_same_view(self):
        done = self.run_program("query", self.run_db, "select cuase from Gap where 1")
        self.assertEqual(done.code, 1)
        self.assertIn('"SELECT * FROM gap LIMIT 1"', done.stderr)
        done = self.run_program("query", self.run_db, "WITH a AS (SELECT 1 AS b) SELECT c FROM a")
        self.assertIn('"SELECT * FROM launch LIMIT 1"', done.stderr)

    def hint_of(self, sql):
        done = self.run_program("query", self.run_db, sql)
        self.assertEqual((done.code, done.stdout), (1, ""), sql)
        return done.stderr.split("hint: ", 1)[1]

    def test_refused_statements_hint_at_a_copy(self):
        for sql in ("DELETE FROM launch", "UPDATE x_config SET kind = 1", "ATTACH 'x.db' AS y", "VACUUM",
                    "PRAGMA journal_mode=wal", "CREATE TABLE x(a)", "BEGIN"):
            hint = self.hint_of(sql)
            self.assertIn("SELECT", hint, sql)
            self.assertIn(f"cp {self.run_db} copy.db", hint, sql)

    def test_statements_that_cannot_be_read_hint_at_one_that_can(self):
        for sql in ("", "  ;", "SELECT name FROM", "SELEKT 1"):
            self.assertIn(f'xlatrace query {self.run_db} "SELECT * FROM launch LIMIT 10"', self.hint_of(sql), sql)
        self.assertIn("each statement", self.hint_of("SELECT 1; SELECT 2"))
        self.assertIn("functions on values", self.hint_of("SELECT load_extension('x')"))
        self.assertIn("device.name", self.hint_of("SELECT name FROM process, device"))

    def test_json_keeps_columns_of_equal_names(self):
        sql = "SELECT 1 AS a, 2 AS a, 3 AS [a:1], 4 AS a, 5 AS b"
        done = self.run_program("query", self.run_db, sql, "--format", "json")
        self.assertEqual(done.code, 0, done.stderr)
        row = json.loads(done.stdout)["rows"][0]
        self.assertEqual(sorted(row.values()), [1, 2, 3, 4, 5])
        self.assertEqual((row["a"], row["a:1"], row["b"]), (1, 3, 5))


if __name__ == "__main__":
    unittest.main()
