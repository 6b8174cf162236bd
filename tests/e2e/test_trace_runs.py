# SPDX-License-Identifier: Apache-2.0
"""A trace in the place of a run.db, and run.db files that their users changed, cut or linked."""

import json
import os
import pathlib
import shutil
import sqlite3
import unittest

import support
from test_inputs import kineto

COMMANDS = (
    ("summary", "{}"),
    ("query", "{}", "SELECT count(*) AS n FROM activity"),
    ("report", "{}", "-o", "page.html"),
    ("export", "{}", "--to", "csv", "-o", "csv"),
    ("show", "k1", "{}"),
    ("diff", "{}", "{}"),
    ("gate", "{}", "{}"),
    ("doctor", "--secrets", "{}"),
    ("find", "kernel", "{}"),
)


def nsys(path, kernels=20):
    db = sqlite3.connect(path)
    db.executescript("""CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        INSERT INTO StringIds VALUES (1, 'gemm');
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
          contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
          shortName INTEGER);""")
    db.executemany(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,0,1,7,?,16777216,1)",
        [(1000 * i, 1000 * i + 500, i + 1) for i in range(kernels)],
    )
    db.commit()
    db.close()


class TraceTest(support.TestCase):
    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        (self.folder / "t.json").write_bytes(kineto(30))
        nsys(self.folder / "t.sqlite")
        (self.folder / "t.xplane.pb").write_bytes(support.xspace("jit_f", support.OPS))

    def run_here(self, *arguments, **changes):
        return self.run_program(
            *arguments, env=support.environment(TMPDIR=str(self.temporary), **changes)
        )

    def test_every_command_reads_every_kind_of_trace(self):
        for trace in ("t.json", "t.sqlite", "t.xplane.pb"):
            for command in COMMANDS:
                with self.subTest(command=command[0], trace=trace):
                    for output in ("page.html", "csv"):
                        path = self.folder / output
                        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
                    arguments = [word.format(trace) for word in command]
                    result = self.run_here(*arguments)
                    # gate reports that the runs cannot be compared.
                    self.assertIn(result.code, (0, 4, 5) if command[0] == "gate" else (0,), result)
                    self.assertIn(f"xlatrace import {trace} -o run.db", result.stderr)
        self.assertEqual(list(self.temporary.iterdir()), [])
        self.assertEqual(
            sorted(path.name for path in self.folder.glob("t.*")), ["t.json", "t.sqlite", "t.xplane.pb"]
        )

    def test_result_is_that_of_an_import(self):
        self.run_program("import", "t.json", "-o", "run.db")
        sql = "SELECT name, start_ns, duration_ns FROM activity ORDER BY 2"
        imported = self.run_program("query", "run.db", sql, "--format", "csv")
        direct = self.run_here("query", "t.json", sql, "--format", "csv")
        self.assertEqual(direct.stdout, imported.stdout)
        self.assert_golden_text(direct.stderr)

    def test_default_outputs_lie_beside_the_trace(self):
        self.assertEqual(self.run_here("report", "t.json").code, 0)
        self.assertTrue((self.folder / "t.html").exists())
        self.assertEqual(self.run_here("export", "t.json", "--to", "folded").code, 0)
        self.assertEqual(len(list(self.folder.glob("t.*folded*"))), 1)

    def test_export_does_not_replace_its_trace(self):
        before = (self.folder / "t.sqlite").read_bytes()
        result = self.run_here("export", "t.sqlite", "--to", "nsys", "--force", "-o", "t.sqlite")
        self.assertEqual(result.code, 2, result)
        self.assertEqual((self.folder / "t.sqlite").read_bytes(), before)

    def test_modules_cannot_be_added_to_a_trace(self):
        result = self.run_here("attach", "t.json", "--modules", ".")
        self.assertEqual(result.code, 2)
        self.assertIn("xlatrace import t.json --modules . -o run.db", result.stderr)

    def test_log_folder_of_a_profiler_is_a_trace(self):
        session = self.folder / "log" / "plugins" / "profile" / "2026_01_31_10_00_00"
        session.mkdir(parents=True)
        shutil.copy(self.folder / "t.xplane.pb", session / "host.xplane.pb")
        sql = "SELECT count(*) AS n FROM activity"
        result = self.run_here("query", "log", sql, "--format", "csv")
        self.assertEqual(result.stdout.split(), ["n", str(3 * len(support.OPS))], result)


class ReportTest(support.TestCase):
    """.nsys-rep files, with a program called nsys that exports what lies beside them."""

    def setUp(self):
        super().setUp()
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        nsys(self.folder / "export.sqlite")
        (self.folder / "r.nsys-rep").write_bytes(b"QDSTRM\0\1report")

    def write_nsys(self, body):
        program = self.bin / "nsys"
        program.write_text("#!/bin/sh\n" + body)
        program.chmod(0o755)

    def run_here(self, *arguments, path=None):
        return self.run_program(
            *arguments, env=support.environment(PATH=f"{path or self.bin}:/usr/bin:/bin")
        )

    def test_report_is_exported_by_nsys(self):
        self.write_nsys(
            f'echo "$@" > {self.folder}/arguments\n'
            'echo progress\nwhile [ "$1" != --output ]; do shift; done\n'
            f'cp {self.folder}/export.sqlite "$2"\n'
        )
        result = self.run_here("import", "r.nsys-rep", "-o", "run.db")
        self.assertEqual(result.code, 0, result)
        self.assertEqual(result.stdout, "")
        self.assertIn("progress", result.stderr)
        self.assertIn("--type sqlite", (self.folder / "arguments").read_text())
        rows = support.query(self.folder / "run.db", "SELECT count(*) AS n FROM activity")
        self.assertEqual(rows[0]["n"], 20)
        direct = self.run_here("query", "r.nsys-rep", "SELECT count(*) AS n FROM activity")
        self.assertEqual(direct.code, 0, direct)

    def test_failed_export_is_an_error_with_the_command(self):
        self.write_nsys("exit 3\n")
        result = self.run_here("import", "r.nsys-rep", "-o", "run.db")
        self.assertEqual(result.code, 1)
        self.assertIn("exit status 3", result.stderr)
        self.assertIn("nsys export --type sqlite r.nsys-rep", result.stderr)

    def test_without_nsys_the_hint_is_the_command(self):
        result = self.run_here("import", "r.nsys-rep", "-o", "run.db", path="/nonexistent")
        self.assertEqual(result.code, 1)
        self.assertIn("nsys export --type sqlite 'r.nsys-rep'", result.stderr)


class RunDbTest(support.TestCase):
    def setUp(self):
        super().setUp()
        (self.folder / "t.json").write_bytes(kineto(2000))
        self.run_program("import", "t.json", "-o", "run.db")
        self.run_db = self.folder / "run.db"
        self.summary = self.run_program("summary", "run.db").stdout

    def test_index_of_the_user_changes_nothing(self):
        db = sqlite3.connect(self.run_db)
        db.execute("CREATE INDEX mine ON x_string(text)")
        db.execute("ANALYZE")
        db.commit()
        db.close()
        result = self.run_program("summary", "run.db")
        self.assertEqual((result.code, result.stdout), (0, self.summary), result)

    def test_changed_view_and_added_trigger_are_refused(self):
        for sql in (
            "CREATE VIEW mine AS SELECT 1",
            "CREATE TRIGGER mine AFTER INSERT ON x_string BEGIN SELECT 1; END",
            "CREATE TABLE mine (a)",
        ):
            with self.subTest(sql=sql):
                copy = self.folder / "changed.db"
                shutil.copy(self.run_db, copy)
                db = sqlite3.connect(copy)
                db.execute(sql)
                db.commit()
                db.close()
                self.assertEqual(self.run_program("summary", "changed.db").code, 1)

    def test_run_db_cut_anywhere_is_refused(self):
        whole = self.run_db.read_bytes()
        for cut in (1, 100, 4096, 8191, 8192, 20_000):
            with self.subTest(cut=cut):
                (self.folder / "cut.db").write_bytes(whole[:-cut])
                for command in (("summary", "cut.db"), ("query", "cut.db", "SELECT 1")):
                    result = self.run_program(*command)
                    self.assertEqual(result.code, 1, result)
                    self.assertTrue(result.errors)
        (self.folder / "cut.db").write_bytes(whole[:-1])
        masks = [(r"\d+ of \d+", "# of #")]
        self.assert_golden_text(self.run_program("summary", "cut.db").stderr, masks=masks)

    def test_reading_a_database_in_wal_mode_writes_nothing(self):
        db = sqlite3.connect(self.run_db)
        db.execute("PRAGMA journal_mode=WAL")
        db.close()
        before = support.snapshot(self.folder)
        for command in (("summary",), ("query",), ("report",)):
            words = [command[0], "run.db"]
            words += ["SELECT count(*) FROM launch"] if command[0] == "query" else []
            words += ["-o", "/dev/null", "--force"] if command[0] == "report" else []
            self.run_program(*words)
            self.assertEqual(support.snapshot(self.folder), before, command)
        self.assertEqual(self.run_program("summary", "run.db").stdout, self.summary)


class LinkTest(support.TestCase):
    def test_links_out_of_a_folder_are_left_out(self):
        log = self.folder / "log"
        log.mkdir()
        (log / "inside.json").write_bytes(kineto(5, seed=1))
        (self.folder / "outside.json").write_bytes(kineto(7, seed=2))
        (self.folder / "elsewhere").mkdir()
        (self.folder / "elsewhere" / "b.json").write_bytes(kineto(9, seed=3))
        os.symlink(self.folder / "outside.json", log / "link.trace.json")
        os.symlink(self.folder / "elsewhere", log / "folder")
        os.symlink("inside.json", log / "alias.json")
        result = self.run_program("import", "log", "-o", "run.db")
        self.assertEqual(result.code, 0, result)
        rows = support.query(self.folder / "run.db", "SELECT count(*) AS n FROM activity")
        self.assertEqual(rows[0]["n"], 5)
        left_out = support.query(
            self.folder / "run.db", "SELECT source FROM run_stat WHERE name = 'input_left_out'"
        )
        names = sorted(pathlib.Path(row["source"]).name for row in left_out)
        self.assertIn("link.trace.json", names)
        self.assertIn("folder", names)

    def test_link_that_is_named_is_followed(self):
        (self.folder / "real.json").write_bytes(kineto(5))
        os.symlink("real.json", self.folder / "link.json")
        self.assertEqual(self.run_program("import", "link.json", "-o", "run.db").code, 0)


class DeviceNameTest(support.TestCase):
    @staticmethod
    def trace(properties):
        events = [
            {"ph": "X", "cat": "kernel", "name": "k", "pid": device, "tid": 7, "ts": 1000 + 10 * i,
             "dur": 5, "args": {"device": device, "stream": 7, "correlation": 10 * i + device + 1}}
            for i in range(4)
            for device in range(3)
        ]  # fmt: skip
        return json.dumps({"deviceProperties": properties, "traceEvents": events})

    def gpus(self, properties):
        (self.folder / "t.json").write_text(self.trace(properties))
        self.run_program("import", "t.json", "-o", "run.db", "--force")
        rows = support.query(self.folder / "run.db", "SELECT gpu FROM device ORDER BY ordinal")
        return [row["gpu"] for row in rows]

    def test_devices_without_facts_have_the_name_of_those_beside_them(self):
        known = {"id": 1, "name": "NVIDIA GeForce RTX 5090", "computeMajor": 12, "computeMinor": 0,
                 "numSms": 170}  # fmt: skip
        alike = {"id": 2, "name": "Nvidia GPU (170 SMs)", "numSms": 170}
        self.assertEqual(self.gpus([known, alike]), ["RTX 5090"] * 3)
        first = self.run_program("summary", "run.db").stdout.splitlines()[0]
        self.assertIn("3 x", first)

    def test_other_figures_are_another_device(self):
        known = {"id": 1, "name": "NVIDIA GeForce RTX 5090", "computeMajor": 12, "computeMinor": 0,
                 "numSms": 170}  # fmt: skip
        other = {"id": 2, "name": "Nvidia GPU (82 SMs)", "numSms": 82}
        self.assertEqual(self.gpus([known, other])[1:], ["RTX 5090", None])


class KnownFormatTest(support.TestCase):
    FORMATS = {
        "rocprofv3.json": '{"rocprofiler-sdk-tool": [{"metadata": {"pid": 1}}]}',
        "nsys.json": '{"Type":48,"CudaEvent":{"startNs":"1","endNs":"2","correlationId":3}}\n',
        "horovod.json": '[\n{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "grad"}},\n'
        '{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 5, "pid": 1}\n]',
        "overview_page.json": '[{"cols": [{"id": "c"}], "rows": []}]',
        "op_profile.json": '{"byProgram": {"name": "by_program"}, "deviceType": "GPU"}',
        "host.op_stats.pb": "\n\\R\x1c",
        "jit_f(1).hlo_proto.pb": None,
    }

    def test_formats_are_recognised_and_refused_with_a_hint(self):
        texts = []
        for name, content in self.FORMATS.items():
            with self.subTest(name=name):
                path = self.folder / name
                if content is None:
                    path.write_bytes(support.hlo_proto("jit_f", 1, support.OPS))
                else:
                    path.write_text(content)
                result = self.run_program("import", name, "-o", "run.db")
                self.assertEqual(result.code, 1, result)
                self.assertEqual(len(result.hints), 1, result)
                texts.append(result.stderr)
        self.assert_golden_text("".join(texts))

    def test_trace_without_any_event_is_an_error(self):
        (self.folder / "e.json").write_text('{"traceEvents": []}')
        sqlite3.connect(self.folder / "e.sqlite").executescript(
            "CREATE TABLE StringIds (id INTEGER, value TEXT);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER);"
        )
        for name in ("e.json", "e.sqlite"):
            with self.subTest(name=name):
                self.assertEqual(self.run_program("import", name, "-o", "run.db").code, 1)


if __name__ == "__main__":
    unittest.main()
