# SPDX-License-Identifier: Apache-2.0
"""`export --to parquet`, `csv`, `nsys` and `db`: the same rows in other readers of tables."""

import csv
import json
import re
import shutil
import sqlite3
import unittest

import export_support
from export_support import query, run_python
import support

# Ten common questions, in SQL that SQLite and DuckDB both accept. In DuckDB, {view} is a file.
QUESTIONS = [
    "SELECT phase, sum(self_ns) FROM {op_time} GROUP BY phase ORDER BY phase",
    "SELECT op_kind, count(*), sum(duration_ns) FROM {activity} GROUP BY op_kind ORDER BY op_kind",
    "SELECT step, sum(device_ns), sum(busy_ns) FROM {step} GROUP BY step ORDER BY step",
    "SELECT count(*), sum(end_ns - start_ns) FROM {gap}",
    "SELECT module, count(DISTINCT instruction) FROM {activity} GROUP BY module ORDER BY module",
    "SELECT layer_group, sum(self_ns) FROM {scope_time} GROUP BY layer_group ORDER BY layer_group",
    "SELECT kernel_name, max(grid_x), min(block_x) FROM {launch} GROUP BY kernel_name"
    " ORDER BY kernel_name",
    "SELECT count(*) FROM {activity} a JOIN {execution} e ON a.execution_id = e.execution_id"
    " WHERE a.start_ns >= e.start_ns",
    "SELECT device_id, busy_ns, idle_ns, overlap_ns FROM {busy_time} ORDER BY device_id",
    "SELECT name, severity, value FROM {run_stat} ORDER BY name, severity, value",
]

DUCKDB = """
import json, sys, duckdb
folder, questions = sys.argv[1], json.loads(sys.argv[2])
print(json.dumps([[list(map(lambda v: int(v) if isinstance(v, (int,)) else v, row))
                   for row in duckdb.sql(q).fetchall()] for q in questions], default=int))
"""
# Compares each file with its view where both can be read, in one go: millions of values need not be
# printed and parsed again.
ARROW = """
import glob, json, os, sqlite3, sys
import pyarrow.parquet as pq, polars
out = {}
database = sqlite3.connect("file:" + sys.argv[2] + "?mode=ro", uri=True)
for file in sorted(glob.glob(sys.argv[1] + "/*.parquet")):
    view = os.path.basename(file)[:-8]
    table = pq.read_table(file)
    frame = polars.read_parquet(file)
    rows = database.execute("SELECT * FROM " + view)
    names = [name for name, *_ in rows.description]
    wanted = list(map(list, zip(*rows.fetchall()))) or [[] for _ in names]
    got = [column.to_pylist() for column in table.columns]
    differs = [] if got == wanted else [
        [name, row, repr(a), repr(b)] for name, g, w in zip(names, got, wanted)
        for row, (a, b) in enumerate(zip(g, w)) if a != b][:5] or ["rows", table.num_rows, len(wanted[0])]
    polars_agrees = frame.columns == table.column_names and [
        column.to_list() for column in frame] == got
    out[view] = [table.column_names, names, differs, polars_agrees, table.num_rows]
print(json.dumps(out))
"""
TYPES = """
import glob, json, os, sys
import pyarrow.parquet as pq
types = {}
for folder in sys.argv[1:]:
    for file in glob.glob(folder + "/*.parquet"):
        for field in pq.read_schema(file):
            name = os.path.basename(file)[:-8] + "." + field.name
            types.setdefault(name, [])
            if str(field.type) not in types[name]:
                types[name].append(str(field.type))
print(json.dumps(types))
"""
# The skills themselves, on the SQLite file. `nsys-ai skill run` does the same in the end, once DuckDB
# has tried twice to fetch an extension from the network for each of them, and failed.
SKILLS = """
import json, sqlite3, sys
from nsys_ai.skills.registry import run_skill
database = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
print(json.dumps({name: run_skill(name, database) for name in sys.argv[2:]}))
"""
PANDAS = """
import glob, json, os, sys
import pandas
print(json.dumps({os.path.basename(f)[:-4]: len(pandas.read_csv(f)) for f in
                  glob.glob(sys.argv[1] + "/*.csv")}))
"""


class ParquetTest(export_support.ExportTest):
    def test_arrow_and_polars_read_every_row_of_every_view(self):
        for name, run in self.runs():
            with self.subTest(run=name):
                got = run_python("TABLES", ARROW, self.exported(run, "parquet"), run)
                self.assertIn("launch", got)
                self.assertGreater(got["launch"][4], 0)
                for view, (columns, names, differs, polars_agrees, _) in got.items():
                    self.assertEqual(columns, names, view)
                    self.assertEqual(differs, [], f"{view}: column, row, of Arrow, of the run")
                    self.assertTrue(polars_agrees, view)

    def test_a_column_has_one_type_in_all_runs(self):
        # A column that is NULL throughout one run has its type of other runs, so files of several runs can be
        # read as one table.
        folders = [str(self.exported(run, "parquet")) for _, run in self.runs()]
        types = run_python("TABLES", TYPES, *folders)
        mixed = {column: found for column, found in types.items() if len(found) > 1}
        self.assertEqual(mixed, {})

    def test_types_do_not_depend_on_the_rows(self):
        # A run whose launches are there and nothing else beside: most views are empty, most columns
        # of the others NULL.
        run = self.our_run()
        bare = self.folder / "bare.db"
        shutil.copy(run, bare)
        keep = {"x_packed_activity", "x_run_info", "x_process", "x_device", "x_lane", "x_config",
                "x_kind", "x_slot", "x_string", "x_window"}  # fmt: skip
        with sqlite3.connect(bare) as database:
            for (table,) in database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'x\\_%' ESCAPE '\\'"
            ).fetchall():
                if table not in keep:
                    database.execute(f"DELETE FROM {table}")
        types = run_python("TABLES", TYPES, str(self.export(bare, "parquet")))
        empty = [view for view in {column.split(".")[0] for column in types}
                 if not query(bare, f'SELECT 1 FROM "{view}" LIMIT 1')]  # fmt: skip
        self.assertIn("run_stat", empty)
        self.assertGreater(len(empty), 10)
        # Types declared by the tables; for computed columns, the types found in the whole run.
        wanted = {}
        parquet = {"INT": "int64", "INTEGER": "int64", "REAL": "double", "TEXT": "string",
                   "integer": "int64", "real": "double", "text": "string"}  # fmt: skip
        for view in {column.split(".")[0] for column in types}:
            for _, name, declared, *_ in query(run, f'PRAGMA table_info("{view}")'):
                kinds = [declared] if declared else [
                    kind for (kind,) in query(
                        run, f'SELECT DISTINCT typeof("{name}") FROM "{view}" WHERE "{name}" NOTNULL'
                    )
                ]  # fmt: skip
                if kinds:
                    wanted[f"{view}.{name}"] = sorted({parquet[kind] for kind in kinds})
        self.assertGreater(len(wanted), 300)
        self.assertEqual({column: types[column] for column in wanted}, wanted)
        self.assertEqual(types["run_stat.value"], ["int64"])
        self.assertEqual(types["run_info.value"], ["string"])

    def test_duckdb_gives_the_rows_of_the_run(self):
        for name, run in self.runs():
            with self.subTest(run=name):
                folder = self.exported(run, "parquet")

                class Files(dict):
                    def __missing__(self, view):
                        return f"'{folder}/{view}.parquet'"

                class Views(dict):
                    def __missing__(self, view):
                        return view

                got = run_python(
                    "DUCKDB", DUCKDB, folder, json.dumps([q.format_map(Files()) for q in QUESTIONS])
                )
                for question, rows in zip(QUESTIONS, got):
                    wanted = query(run, question.format_map(Views()))
                    # NULLs sort first in one and last in the other.
                    self.assertEqual(
                        sorted(map(repr, map(tuple, rows))), sorted(map(repr, wanted)), question
                    )

    def test_rows_beyond_one_row_group_are_written(self):
        run = self.our_run(150_000)
        folder = self.export(run, "parquet", "--view", "activity", "--view", "step")
        self.assertEqual(
            sorted(f.name for f in folder.iterdir()), ["activity.parquet", "step.parquet"]
        )
        got = run_python(
            "DUCKDB",
            DUCKDB,
            folder,
            json.dumps(
                [
                    "SELECT count(*), sum(duration_ns), count(DISTINCT instruction), sum(step)"
                    f" FROM '{folder}/activity.parquet'"
                ]
            ),
        )
        wanted = query(
            run,
            "SELECT count(*), sum(duration_ns), count(DISTINCT instruction), sum(step)"
            " FROM activity",
        )
        self.assertEqual([tuple(row) for row in got[0]], wanted)


class CsvTest(export_support.ExportTest):
    def test_csv_rows_equal_the_views(self):
        run = self.our_run()
        folder = self.exported(run, "csv")
        for view in ("step", "op_time", "activity", "module"):
            with open(folder / f"{view}.csv", newline="", encoding="utf-8") as file:
                rows = list(csv.reader(file))
            wanted = query(run, f"SELECT * FROM {view}")
            self.assertEqual(len(rows) - 1, len(wanted), view)
            for got, row in zip(rows[1:], wanted):
                for text, value in zip(got, row):
                    if isinstance(value, float):
                        self.assertEqual(float(text), value)
                    else:
                        self.assertEqual(text, "" if value is None else str(value))

    def test_pandas_reads_csv_files(self):
        run = self.our_run()
        counts = run_python("TABLES", PANDAS, self.exported(run, "csv"))
        self.assertEqual(counts["activity"], 10_000)
        self.assertEqual(counts["step"], query(run, "SELECT count(*) FROM step")[0][0])


class NsysTest(export_support.ExportTest):
    # As Nsight Systems' documentation has them.
    STATEMENTS = [
        "SELECT s.value, count(*), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k"
        " JOIN StringIds s ON s.id = k.shortName GROUP BY 1 ORDER BY 3 DESC, 1",
        "SELECT copyKind, count(*), sum(bytes), sum(end - start) FROM CUPTI_ACTIVITY_KIND_MEMCPY"
        " GROUP BY 1 ORDER BY 1",
        "SELECT s.value, count(*), sum(r.end - r.start) FROM CUPTI_ACTIVITY_KIND_RUNTIME r"
        " JOIN StringIds s ON s.id = r.nameId GROUP BY 1 ORDER BY 3 DESC, 1",
        "SELECT coalesce(n.text, s.value), count(*) FROM NVTX_EVENTS n"
        " LEFT JOIN StringIds s ON s.id = n.textId GROUP BY 1 ORDER BY 2 DESC, 1",
        "SELECT k.streamId, s.value FROM CUPTI_ACTIVITY_KIND_RUNTIME r"
        " JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON k.correlationId = r.correlationId"
        " AND (k.globalPid >> 24) = (r.globalTid >> 24)"
        " JOIN StringIds s ON s.id = r.nameId ORDER BY k.start LIMIT 50",
        "SELECT id, name, smCount FROM TARGET_INFO_GPU ORDER BY id",
    ]

    def test_sql_gives_the_same_rows_as_the_original(self):
        original = self.store / "made_10000" / "trace.sqlite"
        pairs = [("made", self.our_run(), original)]
        try:
            pairs.append(
                (
                    "nsys",
                    self.recorded_run("nsys"),
                    support.require_data(export_support.RECORDINGS["nsys"][0]),
                )
            )
        except unittest.SkipTest:
            pass
        for name, run, original in pairs:
            exported = self.exported(run, "nsys")
            tables = {t for (t,) in query(original, "SELECT name FROM sqlite_master")}
            for statement in self.STATEMENTS:
                named = set(re.findall(r"(?:FROM|JOIN) (\w+)", statement))
                if not named <= tables:  # Trimmed before it was published.
                    continue
                with self.subTest(run=name, statement=statement):
                    self.assertEqual(query(exported, statement), query(original, statement))

    def skills(self, profile, *names):
        """The output of each of these skills of nsys-ai for a profile, line by line."""
        said = run_python("NSYS_AI", SKILLS, profile, *names)
        return {name: text.splitlines() for name, text in said.items()}

    def test_nsys_ai_reports_the_same_as_for_the_original(self):
        export_support.python_with("NSYS_AI")
        names = ("top_kernels", "gpu_idle_gaps", "memory_transfers", "kernel_launch_overhead",
                 "stream_concurrency", "nccl_breakdown")  # fmt: skip
        original = self.skills(support.require_data(export_support.RECORDINGS["nsys"][0]), *names)
        exported = self.skills(self.exported(self.recorded_run("nsys"), "nsys"), *names)
        self.assertEqual(set(exported), set(names))
        for name in names:
            with self.subTest(skill=name):
                self.assertGreater(len(exported[name]), 0)
                self.assertEqual(exported[name], original[name])

    def test_nsys_ai_reads_the_kernels_of_other_sources(self):
        exported = self.exported(self.our_run(), "nsys")
        said = "\n".join(self.skills(exported, "top_kernels")["top_kernels"])
        kernel, count = query(
            self.our_run(),
            "SELECT kernel_name, launches FROM kernel ORDER BY self_ns DESC LIMIT 1",
        )[0]
        self.assertRegex(said, rf"{re.escape(kernel[:40])}.* {count:,} |{re.escape(kernel[:40])}.* {count} ")

    def test_nsys_export_of_our_run_can_be_imported(self):
        run = self.our_run()
        again = self.import_run("again", [self.exported(run, "nsys")], self.store / "made_10000")
        sql = "SELECT kind, name, start_ns, duration_ns, instruction FROM activity ORDER BY 3, 2"
        self.assertEqual(query(again, sql), query(run, sql))


class DatabaseTest(export_support.ExportTest):
    def test_a_copy_holds_the_same_views(self):
        run = self.our_run()
        copy = self.export(run, "db")
        for view in ("activity", "op_time", "step", "finding", "run_info", "NVTX_EVENTS"):
            self.assertEqual(query(copy, f"SELECT * FROM {view}"), query(run, f"SELECT * FROM {view}"))
        self.assertEqual(query(copy, "PRAGMA integrity_check"), [("ok",)])
        self.assertEqual(
            self.run_program("summary", copy, "--format", "csv").stdout,
            self.run_program("summary", run, "--format", "csv").stdout,
        )


class PartTest(export_support.ExportTest):
    """`--steps` and `--device` of the formats that are a database."""

    COLUMNS = (
        "kind, start_ns, duration_ns, self_ns, bytes, name, module_id, instruction, op_name, phase,"
        " layer, step, evidence, confidence, unattributed_reason, device_id, stream_id,"
        " correlation_id, graph_id, graph_node_id"
    )
    # All columns but `typical` and `busy_ns`.
    STEP_COLUMNS = ", ".join(
        ("step", "process_id", "device_id", "start_ns", "end_ns", "device_ns", "steady", "how", "duration_ns",
         "first_execution")
    )  # fmt: skip

    def parts(self):
        """(name, run, arguments, condition on rows of `activity`)"""
        for name, run in self.runs():
            first, last = query(run, "SELECT min(step), max(step) FROM step")[0]
            if first is not None:
                middle = (first + last) // 2
                yield name, run, ("--steps", f"{middle}:{last + 1}"), f"step BETWEEN {middle} AND {last}"
                yield name, run, ("--steps", f"{middle}:{middle + 1}"), f"step = {middle}"
            device = query(run, "SELECT max(device_id) FROM activity")[0][0]
            yield name, run, ("--device", str(device)), f"device_id = {device}"

    def test_a_part_is_a_run_with_the_same_rows(self):
        for name, run, arguments, condition in self.parts():
            with self.subTest(run=name, part=arguments):
                part = self.export(run, "db", *arguments, "--force")
                self.assertEqual(query(part, "PRAGMA integrity_check"), [("ok",)])
                self.assertEqual(
                    query(part, f"SELECT {self.COLUMNS} FROM activity ORDER BY activity_id"),
                    query(
                        run, f"SELECT {self.COLUMNS} FROM activity WHERE {condition} ORDER BY activity_id"
                    ),
                )
                # Sums per step or device need no rows of another view. The typical steps of a part differ:
                # they are the middle half of its own steps. Work from outside of the part may have been busy
                # in one of its steps.
                for view, columns in (("step", self.STEP_COLUMNS), ("step_part", "*"), ("phase_time", "*")):
                    if "step" not in condition and view != "step":
                        continue
                    self.assertEqual(
                        sorted(query(part, f"SELECT {columns} FROM {view}"), key=repr),
                        sorted(query(run, f"SELECT {columns} FROM {view} WHERE {condition}"), key=repr),
                        view,
                    )
                # Sums over the part are those of its own rows.
                for view, column in (("op_time", "self_ns"), ("scope_time", "self_ns")):
                    self.assertEqual(
                        query(part, f"SELECT coalesce(sum({column}), 0) FROM {view}"),
                        query(run, f"SELECT coalesce(sum(self_ns), 0) FROM activity WHERE {condition}"),
                    )
                self.assertEqual(
                    query(
                        part,
                        "SELECT count(*), sum(activities) FROM execution",
                    ),
                    query(
                        run,
                        "SELECT count(DISTINCT execution_id), nullif(count(execution_id), 0)"
                        f" FROM activity WHERE {condition}",
                    ),
                )
                for command in ("summary", "show", "report"):
                    extra = ["-o", "part.html", "--force"] if command == "report" else []
                    extra += ["o1"] if command == "show" else []
                    if command == "show" and not query(part, "SELECT 1 FROM op_time WHERE handle = 'o1'"):
                        continue
                    words = [*extra, part] if command == "show" else [part, *extra]
                    result = self.run_program(command, *words)
                    self.assertEqual(result.code, 0, result)

    def test_part_keeps_the_calls_of_its_launches(self):
        run = self.our_run()
        part = self.export(run, "db", "--steps", "1:3")
        sql = (
            "SELECT c.name, c.start_ns, c.end_ns, a.start_ns FROM activity a"
            " JOIN api_call c USING (api_call_id) {} ORDER BY a.activity_id"
        )
        self.assertEqual(
            query(part, sql.format("")), query(run, sql.format("WHERE a.step BETWEEN 1 AND 2"))
        )

    def test_nsys_holds_the_kernels_of_the_part(self):
        for name, run, arguments, condition in self.parts():
            with self.subTest(run=name, part=arguments):
                part = self.export(run, "nsys", *arguments, "--force")
                self.assertEqual(
                    query(part, 'SELECT count(*), sum("end" - start) FROM CUPTI_ACTIVITY_KIND_KERNEL'),
                    query(
                        run,
                        "SELECT count(*), sum(duration_ns) FROM activity"
                        f" WHERE kind = 'kernel' AND duration_ns IS NOT NULL AND {condition}",
                    ),
                )

    def test_part_of_a_part_can_be_exported(self):
        run = self.our_run(20_000)
        part = self.export(run, "db", "--steps", "1:4", output=self.folder / "part.db")
        again = self.export(part, "db", "--steps", "2:3", output=self.folder / "again.db")
        once = self.export(run, "db", "--steps", "2:3", output=self.folder / "once.db")
        for view in ("activity", "op_time", "step_part", "busy_time", "gap"):
            self.assertEqual(query(again, f"SELECT * FROM {view}"), query(once, f"SELECT * FROM {view}"))
        # Without HLO phases and labels are still those of the run.
        shared = self.export(run, "db", "--share-safe", output=self.folder / "shared.db")
        cut = self.export(shared, "db", "--steps", "2:3", output=self.folder / "cut.db")
        sql = "SELECT phase, sum(self_ns), count(DISTINCT instruction) FROM activity GROUP BY 1"
        self.assertEqual(query(cut, sql), query(once, sql))

    def test_missing_steps_and_devices_are_refused_and_leave_no_file(self):
        run, messages = self.our_run(), set()
        for to in ("db", "nsys"):
            for words in (("--steps", "700:701"), ("--device", "9")):
                for extra in ((), ("--share-safe",)):
                    result = self.run_program("export", run.name, "--to", to, *words, *extra, "-o", self.folder / "out", cwd=run.parent)
                    self.assertEqual((result.code, len(result.hints)), (2, 1), result)
                    self.assertIn(run.name, result.errors[0])
                    self.assertEqual(list(self.folder.iterdir()), [])
                    messages.add(result.stderr)
        self.assert_golden_text("".join(sorted(messages)))


class RefusalTest(export_support.ExportTest):
    def refuse(self, *arguments, code=None):
        result = self.run_program("export", *arguments)
        self.assertNotEqual(result.code, 0, result)
        if code is not None:
            self.assertEqual(result.code, code, result)
        self.assertEqual(len(result.errors), 1, result)
        return result

    def test_unknown_formats_and_views_are_refused(self):
        run = self.our_run()
        self.assertIn("perfetto", str(self.refuse(run, "--to", "nonsense", code=2).errors))
        self.refuse(run, "--to", "perfetto", "--view", "step", code=2)
        self.refuse(run, "--to", "csv", "--view", "nonsense", "-o", "out", code=2)
        self.refuse(run, "--to", "perfetto", "--salt", run, code=2)
        self.refuse(run, "--to", "db", "-o", run)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_an_existing_output_is_kept(self):
        run = self.our_run()
        out = self.folder / "out"
        out.write_text("mine")
        for to in ("perfetto", "pprof", "folded", "speedscope", "nsys", "db", "xplane", "csv"):
            self.refuse(run, "--to", to, "-o", out)
            self.assertEqual(out.read_text(), "mine")
        self.export(run, "folded", "--force", output=out)
        self.assertNotEqual(out.read_text(), "mine")

    def test_run_without_launches_is_refused_and_leaves_no_file(self):
        empty = self.folder / "empty.db"
        with sqlite3.connect(self.our_run()) as source, sqlite3.connect(empty) as target:
            source.backup(target)
            target.execute("DELETE FROM x_packed_activity")
        messages = set()
        for to in ("perfetto", "kineto", "pprof", "csv", "parquet", "nsys", "db", "xplane", "pgle"):
            messages.add(self.refuse(empty.name, "--to", to, "-o", f"out.{to}").stderr)
        self.assert_golden_text("".join(sorted(messages)))
        self.assertEqual([f.name for f in self.folder.iterdir()], ["empty.db"])


if __name__ == "__main__":
    unittest.main()
