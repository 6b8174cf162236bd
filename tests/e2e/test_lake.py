# SPDX-License-Identifier: Apache-2.0
"""`export --to parquet --layout lake` and `python -m xlatrace.fleet`: many runs in one folder. Each run is
whole and there once, after a kill of any writer at any time; DuckDB answers ten questions."""

import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import unittest
from typing import Any

import export_support
import support
import tiers

RANKS = os.environ.get("XLATRACE_FLEET_RANKS", "")
QUERIES = support.REPOSITORY / "fleet" / "queries"
PACKAGE = pathlib.Path(support.PROGRAM or "").resolve().parents[1] / "share/xlatrace/python"
# scripts/long sets a larger number of kills.
TRIES = os.environ.get("XLATRACE_LAKE_KILLS", "15" if tiers.IS_LONG else "5")
# With `python -c`: for each line of stdin, a lake and SQL statements as JSON, the rows of each on stdout.
ASK = """
import json, sys
sys.path.insert(0, sys.argv[1])
from xlatrace import fleet
for line in sys.stdin:
    lake, statements = json.loads(line)
    connection = fleet.connect(lake)
    print(json.dumps([connection.execute(sql).fetchall() for sql in statements], default=str), flush=True)
    connection.close()
"""
# Compacts, and ends without a word before call N of those that place or remove a file.
STOPS = """
import os, pathlib, sys
sys.path.insert(0, sys.argv[2])
from xlatrace import fleet
left = int(sys.argv[3])
def counted(call):
    def made(*arguments, **named):
        global left
        if left == 0:
            os._exit(9)
        left -= 1
        return call(*arguments, **named)
    return made
os.replace, pathlib.Path.unlink = counted(os.replace), counted(pathlib.Path.unlink)
fleet.compact(sys.argv[1])
"""
# Starts PROGRAM..., kills it after a random time, and checks the state for a reader; TRIES times.
KILLS = """
import collections, json, random, shutil, signal, subprocess, sys, time
lake, package, tries, commands = sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4])
sys.path.insert(0, package)
from xlatrace import fleet
from xlatrace.errors import XlatraceError
generator = random.Random(7)
def whole(command):
    began = time.monotonic()
    subprocess.run(command, capture_output=True)
    return time.monotonic() - began
# How long each takes is learnt in a lake beside, so that kills fall into all of it.
longest = [whole([part.replace(lake, lake + ".beside") for part in c]) for c in commands]
killed, seen = 0, collections.Counter()
for i in range(tries):
    if i % 50 == 49:  # From nothing again.
        shutil.rmtree(lake, ignore_errors=True)
    which = generator.randrange(len(commands))
    process = subprocess.Popen(commands[which], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(timeout=generator.uniform(0, 1.1 * longest[which]))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    killed += process.returncode == -signal.SIGKILL
    try:
        connection = fleet.connect(lake)
    except XlatraceError:  # No run yet.
        seen["[]"] += 1
        continue
    sees = {}
    for (run,) in connection.execute("SELECT run_id FROM run").fetchall():
        assert run not in sees, run
        sees[run] = {view: connection.execute(
            f"SELECT count(*) FROM {view} WHERE run_id = ?", [run]).fetchone()[0]
            for view in fleet.views(lake)}
    seen[json.dumps(sorted(sees.items()))] += 1
    connection.close()
print(json.dumps({"killed": killed, "seen": [[json.loads(k), n] for k, n in seen.items()]}))
"""


def duckdb_python() -> str:
    python = os.environ.get("XLATRACE_TEST_PYTHON_DUCKDB")
    if not python:
        raise unittest.SkipTest("XLATRACE_TEST_PYTHON_DUCKDB is not set")
    return python


class LakeTest(export_support.ExportTest):
    asked: subprocess.Popen[str] | None = None

    @classmethod
    def reader(cls) -> subprocess.Popen[str]:
        """A process that queries lakes, each time with its own connection: starting one process per question
        takes longer than the query."""
        if cls.asked is None or cls.asked.poll() is not None:
            cls.asked = subprocess.Popen(
                [duckdb_python(), "-c", ASK, PACKAGE],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            cls.addClassCleanup(cls.end_reader)
        return cls.asked

    @classmethod
    def end_reader(cls) -> None:
        if cls.asked is not None:
            cls.asked.communicate()
            cls.asked = None

    def setUp(self) -> None:
        super().setUp()
        self.lake = self.folder / "lake"

    def put(self, run: object, *options: object, code: int = 0) -> Any:
        result = self.run_program(
            "export", run, "--to", "parquet", "--layout", "lake", "-o", self.lake, *options
        )
        self.assertEqual(result.code, code, result)
        return result

    def ask(self, *statements: str) -> list[list[list[Any]]]:
        reader = self.reader()
        assert reader.stdin is not None and reader.stdout is not None
        reader.stdin.write(json.dumps([str(self.lake), statements]) + "\n")
        reader.stdin.flush()
        answer = reader.stdout.readline()
        self.assertTrue(answer, "the reader ended")
        result: list[list[list[Any]]] = json.loads(answer)
        return result

    def fleet(self, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [duckdb_python(), "-m", "xlatrace.fleet", *map(str, arguments)],
            capture_output=True, text=True, check=False, cwd=self.folder,
            env={**support.environment(), "PYTHONPATH": str(PACKAGE)},
        )  # fmt: skip
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def question(self, name: str) -> list[dict[str, Any]]:
        answer = json.loads(self.fleet("query", self.lake, name, "--format", "json").stdout)
        rows: list[dict[str, Any]] = answer["rows"]
        return rows

    def ranks(self, count: int, slow: int) -> list[pathlib.Path]:
        if not RANKS:
            self.skipTest("XLATRACE_FLEET_RANKS is not set")
        folder = self.folder / f"ranks{count}.{slow}"
        folder.mkdir()
        subprocess.run([RANKS, folder, str(count), "12", "5", str(slow)], check=True)
        return sorted(folder.glob("*.db"))

    def merged(self, ranks: list[pathlib.Path], name: str) -> pathlib.Path:
        job = self.folder / name
        result = self.run_program("merge", *ranks, "-o", job)
        self.assertEqual(result.code, 0, result)
        return job

    def make(self) -> pathlib.Path:
        run: pathlib.Path = self.our_run(5000)
        return run


class ContentTest(LakeTest):
    def test_lake_has_every_row_of_every_view(self) -> None:
        run = self.make()
        self.put(run, "--date", "2026-03-01", "--job", "llama", "--view", "launch")
        views = sorted(p.name for p in self.lake.iterdir())
        for view in ("run", "op_time", "gap", "finding", "step", "launch", "rank_step"):
            self.assertIn(view, views)
        self.assertNotIn("activity", views)
        with sqlite3.connect(run) as database:
            for view in [view for view in views if view != "run"]:
                wanted = database.execute(f"SELECT * FROM {view}").fetchall()
                columns = [row[1] for row in database.execute(f"PRAGMA table_info({view})")]
                quoted = ", ".join(f'"{column}"' for column in columns)
                (got,) = self.ask(f"SELECT {quoted} FROM {view}")
                self.assertEqual(sorted(map(repr, map(tuple, got))), sorted(map(repr, wanted)), view)

    def test_columns_of_the_lake_and_signed_64_bit_times(self) -> None:
        self.put(self.make(), "--date", "2026-03-01", "--job", "llama")
        folder = self.lake / "op_time" / "dt=2026-03-01" / "job=llama"
        self.assertEqual(len(list(folder.iterdir())), 1)
        types, rows, run = self.ask(
            "SELECT DISTINCT column_name, data_type FROM duckdb_columns()"
            " WHERE column_name LIKE '%\\_ns' ESCAPE '\\'",
            "SELECT DISTINCT length(run_id), generation > 0, schema_version, dt, job FROM op_time",
            "SELECT devices, hosts, device_ns, dt, job FROM run",
        )
        self.assertEqual({kind for _, kind in types}, {"BIGINT"})
        self.assertGreater(len(types), 20)
        self.assertEqual(len(rows), 1)
        self.assertEqual([rows[0][0], rows[0][1], *rows[0][3:]], [24, True, "2026-03-01", "llama"])
        with sqlite3.connect(self.make()) as database:
            (device_ns,) = database.execute("SELECT sum(self_ns) FROM activity").fetchone()
        self.assertEqual(run, [[1, 1, device_ns, "2026-03-01", "llama"]])

    def test_long_query_prints_no_progress(self) -> None:
        self.put(self.make(), "--date", "2026-03-01", "--job", "llama")
        self.assertEqual(self.ask("SELECT current_setting('enable_progress_bar')"), [[[False]]])

    def test_rows_of_a_process_have_its_rank(self) -> None:
        for path in self.ranks(3, -1):
            self.put(path)
        steps, processes = self.ask(
            "SELECT rank, count(*) FROM step GROUP BY rank ORDER BY rank",
            "SELECT rank, host FROM process ORDER BY rank",
        )
        self.assertEqual(steps, [[0, 12], [1, 12], [2, 12]])
        self.assertEqual(processes, [[0, "host0"], [1, "host0"], [2, "host1"]])


class OnceTest(LakeTest):
    def counts(self) -> list[list[list[Any]]]:
        return self.ask(
            "SELECT count(*), count(DISTINCT run_id) FROM run",
            "SELECT count(*), sum(self_ns) FROM op_time",
            "SELECT count(*), sum(end_ns - start_ns) FROM gap",
        )

    def test_run_that_is_written_twice_counts_once(self) -> None:
        run = self.make()
        self.put(run, "--date", "2026-03-01", "--job", "llama")
        once = self.counts()
        self.assertEqual(once[0], [[1, 1]])
        copy = self.folder / "another name.db"
        copy.write_bytes(run.read_bytes())
        self.put(copy, "--date", "2026-03-01", "--job", "llama")
        self.assertEqual(self.counts(), once)
        self.put(run, "--date", "2026-03-02", "--job", "moved")
        self.assertEqual(self.counts(), once)
        self.assertEqual(self.ask("SELECT DISTINCT dt, job FROM op_time"), [[["2026-03-02", "moved"]]])
        # Nothing is left of earlier ones.
        self.assertEqual(len(list(self.lake.glob("op_time/*/*/*.parquet"))), 1)
        self.assertFalse((self.lake / "_writing").exists())

    @tiers.long_tier
    def test_compact_changes_no_result(self) -> None:
        paths = self.ranks(3, -1)
        for path in paths:
            self.put(path, "--job", "train")
        self.put(self.make(), "--date", "2026-03-01", "--job", "llama")
        before = self.counts()
        self.assertEqual(before[0], [[4, 4]])
        self.fleet("compact", self.lake)
        self.assertEqual(self.counts(), before)
        self.assertEqual(len(list(self.lake.glob("step/*/job=train/*.parquet"))), 1)
        self.put(paths[1], "--job", "train")
        self.assertEqual(self.counts(), before)
        self.put(paths[2], "--job", "moved")
        self.assertEqual(self.counts(), before)
        for _ in range(2):
            self.fleet("compact", self.lake)
            self.assertEqual(self.counts(), before)
        # Its rows are gone from the partition that it left.
        self.assertEqual(
            self.ask("SELECT count(DISTINCT run_id) FROM lake_step WHERE job = 'train'"), [[[2]]]
        )

    @tiers.long_tier
    def test_killed_compaction_changes_no_result(self) -> None:
        # Its renames come first, that of `run` the last of them; then it removes what it replaced.
        for path in self.ranks(2, -1):
            self.put(path, "--job", "train")
        before = self.counts()
        self.assertEqual(before[0], [[2, 2]])
        views = sum(1 for folder in self.lake.iterdir() if folder.name[0] not in "._")
        whole = self.lake
        for calls in (0, 1, views - 1, views, views + 1, 2 * views):
            self.lake = self.folder / f"stopped{calls}"
            shutil.copytree(whole, self.lake)
            arguments = [STOPS, str(self.lake), str(PACKAGE), str(calls)]
            done = subprocess.run([duckdb_python(), "-c", *arguments], check=False)
            self.assertEqual(done.returncode, 9)
            self.assertEqual(self.counts(), before, f"stopped at call {calls}")
            self.assertEqual(
                len(list(self.lake.glob("run/*/*/compact-*"))), 0 if calls < views else 1
            )
            self.fleet("compact", self.lake)
            self.assertEqual(self.counts(), before, f"compacted after call {calls}")
            self.assertEqual(len(list(self.lake.glob("*/*/*/*.parquet"))), views)

    def test_killed_writers_leave_only_whole_runs(self) -> None:
        # Writers of two runs and compactions, killed at random moments: of each run a reader sees
        # nothing or all of it. The last ones are left alone, so that both are there at the end.
        paths = self.ranks(2, -1)
        export: list[list[Any]] = [[support.PROGRAM, "export", path, "--to", "parquet", "--layout", "lake", "-o",
                   self.lake] for path in paths]  # fmt: skip
        compact: list[Any] = [duckdb_python(), "-c", "import sys; sys.path.insert(0, sys.argv[1]);"
                   " from xlatrace import fleet; fleet.compact(sys.argv[2])", PACKAGE, self.lake]  # fmt: skip
        commands = [[str(part) for part in command] for command in [*export, *export, compact]]
        done = subprocess.run(
            [duckdb_python(), "-c", KILLS, self.lake, PACKAGE, TRIES, json.dumps(commands)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertGreater(result["killed"], 0)
        if "XLATRACE_LAKE_KILLS" in os.environ:
            states = sum(1 for runs, _ in result["seen"] if runs)
            print(f"{result['killed']} killed of {TRIES}; readers saw {states} states with runs")
        for command in export:
            subprocess.run(list(map(str, command)), check=True, capture_output=True)
        self.fleet("compact", self.lake)
        views = sorted(p.name for p in self.lake.iterdir() if p.is_dir() and p.name[0] != "_")
        truth = {}
        for run, *figures in self.ask(
            "SELECT run_id, " + ", ".join(
                f"(SELECT count(*) FROM {view} v WHERE v.run_id = r.run_id)" for view in views
            ) + " FROM run r"
        )[0]:  # fmt: skip
            truth[run] = dict(zip(views, figures))
        self.assertEqual(len(truth), 2)
        for of_view in truth.values():
            self.assertEqual((of_view["run"], of_view["step"]), (1, 12))
        for runs, _ in result["seen"]:
            for run, figures in runs:
                self.assertEqual(figures, truth[run])


class QueriesTest(LakeTest):
    def test_each_of_ten_questions_has_rows(self) -> None:
        self.put(self.make(), "--date", "2026-03-01", "--job", "llama")
        names = sorted(file.stem for file in QUERIES.glob("*.sql"))
        self.assertEqual(len(names), 10)
        listed = self.fleet("queries").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in listed], names)
        for line in listed:  # The first line of a file is a sentence of its own.
            self.assertRegex(line, r"[.?]$")
        for name in names:
            self.question(name)

    def test_sums_of_a_run_equal_its_run_db(self) -> None:
        run = self.make()
        self.put(run, "--date", "2026-03-01", "--job", "llama")
        with sqlite3.connect(run) as database:
            def figure(sql: str) -> Any:
                return database.execute(sql).fetchone()[0]

            device_ns = figure("SELECT sum(self_ns) FROM activity")
            idle_ns = figure("SELECT sum(end_ns - start_ns) FROM gap")
            exact_ns = figure("SELECT sum(self_ns) FROM activity WHERE confidence = 'exact'")
            none_ns = figure("SELECT coalesce(sum(self_ns), 0) FROM activity"
                             " WHERE instruction IS NULL")  # fmt: skip
            exposed_ns = figure("SELECT sum(p.wall_ns) FROM step_part p JOIN step s USING"
                                " (device_id, step) WHERE s.steady AND p.part ="
                                " 'exposed_collective'")  # fmt: skip
        layers = self.question("cost_by_layer")
        self.assertEqual(sum(row["device_ns"] for row in layers), device_ns)
        self.assertEqual(sum(row["idle_ns"] for row in self.question("idle_by_cause")), idle_ns)
        (coverage,) = self.question("attribution_coverage")
        self.assertEqual(coverage["device_ns"], device_ns)
        self.assertEqual(coverage["none_ns"], none_ns)
        self.assertEqual(coverage["exact_ns"], exact_ns)
        exposed = self.question("exposed_communication")
        self.assertEqual(sum(row["exposed_ns"] for row in exposed), exposed_ns or 0)

    @tiers.long_tier
    def test_planted_slow_rank_is_found_in_both_jobs(self) -> None:
        ranks = self.ranks(8, 5)
        self.put(ranks[0], "--job", "first")
        self.put(self.merged(ranks, "first.db"), "--job", "first")
        # A day later a job of nine: rank 5 is the slow one there too.
        second = self.merged(self.ranks(9, 5), "second.db")
        self.put(second, "--job", "second", "--date", "2026-09-22")
        slowest = self.question("slowest_ranks")
        # Only the rank that others wait for, in either job.
        self.assertEqual(
            sorted((row["job"], row["rank"], row["ordinal"], row["cause"]) for row in slowest),
            [("first", 5, 0, "slow_gpu"), ("second", 5, 0, "slow_gpu")],
        )
        # Planted: its products take 10 ms longer; what it waits less makes up a little.
        self.assertAlmostEqual(slowest[0]["worst_ns_per_step"] / 1e6, 9.8, delta=0.5)
        self.assertAlmostEqual(
            slowest[0]["cost_ns"], 12 * slowest[0]["worst_ns_per_step"], delta=12
        )
        (gpu,) = self.question("slow_gpus")
        self.assertEqual((gpu["host"], gpu["gpu"], gpu["jobs"], gpu["slow_jobs"]),
                         ("host2", "rank 5 device 0", 2, 2))  # fmt: skip
        self.assertEqual(self.question("clock_trouble"), [])
        (finding,) = [row for row in self.question("top_findings") if row["id"] == "job_slow_gpu"]
        self.assertEqual((finding["runs"], finding["jobs"]), (2, 2))

    @tiers.long_tier
    def test_ranks_without_a_common_collective_are_reported(self) -> None:
        first, second = self.ranks(2, -1)
        lone = self.folder / "lone"
        lone.mkdir()
        subprocess.run([RANKS, lone, "5", "12", "5", "-1"], check=True)
        # Groups of five of which only one is here, beside two that are a pair of another job.
        job = self.merged([first, second, lone / "rank0004.db"], "job.db")
        self.put(job, "--job", "odd")
        rows = {row["host"]: row["not_aligned"] for row in self.question("clock_trouble")}
        with sqlite3.connect(job) as database:
            wanted = dict(database.execute(
                "SELECT host, count(*) FROM rank WHERE clock_error_ns IS NULL GROUP BY host"))
        self.assertTrue(wanted)
        self.assertEqual({host: n for host, n in rows.items() if n}, wanted)

    @tiers.long_tier
    def test_a_version_that_made_steps_longer_is_first(self) -> None:
        # The same program under two releases: steps of the second are half as long again.
        self.put(self.versioned("0.4.9", 1_000_000, 2), "--job", "a")
        self.put(self.versioned("0.4.38", 1_500_000, 1), "--job", "b")
        rows = self.question("regressions_by_version")
        self.assertEqual(
            [(row["version"], row["step_ns"], row["before_ns"], row["longer_permille"])
             for row in rows],
            [("jaxlib 0.4.38", 1_500_000, 1_000_000, 500), ("jaxlib 0.4.9", 1_000_000, None, None)],
        )  # fmt: skip

    def versioned(self, version: str, step_ns: int, days_ago: int) -> pathlib.Path:
        """A run with another version and length of steps, written into the private tables."""
        path = self.folder / f"{version}.db"
        path.write_bytes(self.ranks(1, -days_ago)[0].read_bytes())
        with sqlite3.connect(path) as database:
            start = 1_790_000_000_000_000_000 - days_ago * 86_400 * 10**9
            database.execute("DELETE FROM x_run_info WHERE key = 'start_unix_ns'")
            database.executemany("INSERT INTO x_run_info (key, value) VALUES (?, ?)",
                                 [("jaxlib_version", version), ("start_unix_ns", str(start))])  # fmt: skip
            database.execute("UPDATE x_step SET end_ns = start_ns + ?", (step_ns,))
        database.close()
        return path


class RefusalTest(LakeTest):
    def test_invalid_options_of_a_lake_are_rejected(self) -> None:
        run = self.make()
        cases = [
            (["--steps", "1:2", "--date", "2026-03-01"], 2, "--steps"),
            (["--share-safe", "--date", "2026-03-01"], 2, "--salt"),
            (["--date", "2026-02-30"], 2, "--date"),
            (["--date", "yesterday"], 2, "--date"),
            (["--date", "2026-03-01", "--job", ""], 2, "--job"),
            (["--date", "2026-03-01", "--view", "nosuch"], 2, "op_time"),
        ]
        for options, code, hint in cases:
            with self.subTest(options=options):
                result = self.put(run, *options, code=code)
                self.assertEqual(len(result.errors), 1, result)
                self.assertIn(hint, result.errors[0] + "".join(result.hints))
        self.assertFalse(self.lake.exists())
        self.lake.write_text("mine")
        self.put(run, "--date", "2026-03-01", code=2)
        self.assertEqual(self.lake.read_text(), "mine")

    def test_other_places_and_formats_are_refused(self) -> None:
        run = self.make()
        for options, said in [
            (["--to", "parquet", "--layout", "lake", "-o", "s3://bucket/lake"], "s3://bucket/lake"),
            (["--to", "parquet", "--layout", "lake"], "-o LAKE/"),
            (["--to", "parquet", "--layout", "sea", "-o", self.lake], "sea"),
            (["--to", "csv", "--layout", "lake", "-o", self.lake], "--to parquet"),
            (["--to", "parquet", "--job", "x", "-o", self.lake], "--layout lake"),
        ]:
            with self.subTest(options=options):
                result = self.run_program("export", run, *options)
                self.assertEqual(result.code, 2, result)
                self.assertIn(said, result.stderr)
        self.assertFalse(self.lake.exists())

    def test_folder_without_runs_and_unknown_question_are_errors(self) -> None:
        messages = self.fleet("query", self.lake.name, "x y", code=1).stderr
        self.lake.mkdir()
        messages += self.fleet("query", self.lake.name, "x y", code=1).stderr
        self.assert_golden_text(messages)
        self.put(self.make(), "--date", "2026-03-01")
        self.assertIn("slowest_ranks", self.fleet("query", self.lake, "nosuch", code=1).stderr)
        wrong = self.fleet("query", self.lake, "SELECT nosuch FROM op_time", code=1).stderr
        self.assertIn("nosuch", wrong)
        self.assertNotIn("Traceback", wrong)


if __name__ == "__main__":
    unittest.main()
