# SPDX-License-Identifier: Apache-2.0
"""The Python API has the rows of the views, in every kind of table and every Python of this machine.

Environment beside support.py's:
  XLATRACE_TEST_PYTHON_TABLES  an interpreter with pandas, Polars, pyarrow and mypy
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

import support
import tiers

PYTHON_TABLES = os.environ.get("XLATRACE_TEST_PYTHON_TABLES")
OPS = [  # name, opcode, op_name, file, line; each runs 10 us per execution, three executions
    ("sine.1", "sine", "jit(step)/sin", "model.py", 3),
    ("cosine.2", "cosine", "jit(step)/<cos>", "model.py", 4),
]


def package_folder():
    return pathlib.Path(support.PROGRAM).resolve().parents[1] / "share" / "xlatrace" / "python"


def interpreters():
    """Every Python from 3.9 on this machine: on PATH, and as pyenv and uv keep them."""
    found = {}
    names = [shutil.which(f"python3.{minor}") for minor in range(9, 15)]
    home = pathlib.Path.home()
    patterns = (".pyenv/versions/3.*/bin/python3", ".local/share/uv/python/*/bin/python3")
    names += [str(path) for pattern in patterns for path in home.glob(pattern)]
    for name in filter(None, [sys.executable, *names]):
        done = subprocess.run(
            [name, "-c", "import sqlite3, sys; print('3.%d' % sys.version_info[1])"],
            capture_output=True,
            text=True,
        )
        version = done.stdout.strip()
        if done.returncode == 0 and int(version.split(".")[1]) >= 9:
            found.setdefault(version, name)
    return found


class PythonApiTest(support.GoldenText, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.require_program()
        if not (package_folder() / "xlatrace" / "py.typed").exists():
            raise unittest.SkipTest("the Python package is not built: xlatrace_python")
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-api-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (cls.folder / "p.xplane.pb").write_bytes(support.xspace("jit_step", OPS))
        done = support.run("import", "p.xplane.pb", "-o", "run.db", cwd=cls.folder)
        assert done.code == 0, done

    def python(self, script, interpreter=sys.executable, **changes):
        env = support.environment(PYTHONPATH=str(package_folder()), **changes)
        done = support.run_command(
            [interpreter, "-c", textwrap.dedent(script)], cwd=self.folder, env=env
        )
        self.assertEqual(done.code, 0, done)
        return done.stdout

    def answer(self, expression, **options):
        """The value of an expression of `run`, through JSON."""
        script = f"import json, xlatrace\nrun = xlatrace.open('run.db')\nprint(json.dumps({expression}))"
        return json.loads(self.python(script, **options))

    def test_views_have_what_was_recorded(self):
        # Two ops, three executions, 10 us each.
        self.assertEqual(self.answer("len(run.launches())"), 6)
        rows = self.answer("run.op_time().rows()")
        self.assertEqual(
            {(row["instruction"], row["occurrences"], row["self_ns"]) for row in rows},
            {("sine.1", 3, 30000), ("cosine.2", 3, 30000)},
        )
        self.assertEqual(
            self.answer("run.view('activity', ['source_line'], where='source_line = 4').rows()"),
            [{"source_line": 4}] * 3,
        )
        self.assertEqual(
            self.answer("run.sql('SELECT sum(self_ns) AS ns FROM activity -- all').rows()"),
            [{"ns": 60000}],
        )
        self.assertEqual(self.answer("run.info()['source']"), "xplane")

    def test_every_view_of_the_contract_can_be_read(self):
        views = set(self.answer("[v for v in run.views if run.view(v).head(1).rows() is not None]"))
        self.assertLessEqual(
            {"activity", "launch", "op_time", "scope_time", "step", "gap", "finding", "module"},
            views,
        )

    def test_module_text_is_the_hlo(self):
        text = self.answer("run.module('jit_step').text()")
        self.assertTrue(text.startswith("HloModule jit_step"), text)
        self.assertIn("cosine(", text)
        self.assertEqual(self.answer("run.module('m1').name"), "jit_step")
        self.assertEqual(
            sorted(r["instruction"] for r in self.answer("run.module('m1').instructions().rows()")),
            ["cosine.2", "sine.1"],
        )

    def test_text_is_the_programs(self):
        for expression, command in (
            ("run.summary()", ("summary", "run.db")),
            ("run.summary(by='layer')", ("summary", "run.db", "--by", "layer")),
            ("run.show('o1')", ("show", "o1", "run.db")),
        ):
            self.assertEqual(self.answer(expression),
                             support.run(*command, cwd=self.folder).stdout, expression)

    def test_notebooks_show_tables_and_text_escaped(self):
        table = self.answer("run.op_time()._repr_html_()")
        self.assertRegex(table, "<td[^>]*>sine[.]1</td>")
        self.assertIn("jit(step)/&lt;cos&gt;", table)
        self.assertNotIn("<cos>", table)
        self.assertIn("jit_step", self.answer("run._repr_html_()"))
        self.assertIn("&lt;cos&gt;", self.answer("run.module('m1')._repr_html_()"))

    def test_errors_are_sentences_with_a_hint(self):
        script = """
            import xlatrace
            def attempt(action):
                try: action()
                except xlatrace.XlatraceError as error: print(error.message, "|", error.hint)
            attempt(lambda: xlatrace.open("none.db"))
            run = xlatrace.open("run.db")
            attempt(lambda: run.view("nothing"))
            attempt(lambda: run.view("activity; DROP TABLE x"))
            attempt(lambda: run.sql("DELETE FROM x_string").rows())
            attempt(lambda: run.module("other"))
        """
        lines = self.python(script).splitlines()
        self.assertEqual(len(lines), 5, lines)
        for line, name in zip(lines, ("none.db", "nothing", "activity; DROP TABLE x", "", "jit_step")):
            self.assertIn(name, line)
        self.assert_golden_text("\n".join(line.rstrip(" |") for line in lines), masks=[(r"\w+(, \w+){9,}", "VIEWS")])

    def test_marks_have_no_effect_without_a_recording(self):
        self.assertEqual(
            self.answer("[xlatrace.mark_step(), xlatrace.pause(), xlatrace.resume(),"
                        " xlatrace.is_recording()]"),
            [None, None, None, False],
        )

    @tiers.long_tier
    def test_works_in_every_python_from_3_9(self):
        for version, interpreter in sorted(interpreters().items()):
            with self.subTest(python=version):
                self.assertEqual(
                    self.answer("[len(run.launches()), run.op_time().head(1).rows()[0]['self_ns']]",
                                interpreter=interpreter),
                    [6, 30000],
                )

    @tiers.long_tier
    def test_files_load_without_warnings_in_every_python(self):
        script = """
            import importlib, pkgutil, xlatrace
            for part in pkgutil.iter_modules(xlatrace.__path__):
                if part.name not in ("__main__", "pytest_plugin"):  # They start the program, or need pytest.
                    importlib.import_module("xlatrace." + part.name)
        """
        for version, interpreter in sorted(interpreters().items()):
            with self.subTest(python=version):
                self.python(script, interpreter=interpreter, PYTHONWARNINGS="error")

    def test_python_m_xlatrace_becomes_the_program(self):
        env = support.environment(PYTHONPATH=str(package_folder()))
        done = support.run_command(
            [sys.executable, "-m", "xlatrace", "query", "run.db", "SELECT count(*) FROM launch",
             "--format", "csv"],
            cwd=self.folder, env=env)
        self.assertEqual((done.code, done.stdout.split()[-1]), (0, "6"), done)
        done = support.run_command(
            [sys.executable, "-m", "xlatrace", "nothing"], cwd=self.folder, env=env)
        self.assertEqual(done.code, 2, done)

    def require_tables(self):
        if not PYTHON_TABLES:
            self.skipTest("XLATRACE_TEST_PYTHON_TABLES is not set")
        return PYTHON_TABLES

    def test_pandas_polars_and_arrow_have_the_same_rows(self):
        python = self.require_tables()
        script = """
            import json, xlatrace
            run = xlatrace.open("run.db")
            table = run.view("activity", ["start_ns", "name", "bytes", "step", "self_ns"])
            pandas, polars, arrow = table.pandas(), table.polars(), table.arrow()
            plain = [list(row.values()) for row in table]
            assert [list(row) for row in polars.rows()] == plain, polars
            assert [list(row.values()) for row in arrow.to_pylist()] == plain, arrow
            missing = pandas.astype(object).where(pandas.notna(), None)
            assert missing.values.tolist() == plain, pandas
            print(json.dumps([str(pandas["self_ns"].dtype), str(polars["self_ns"].dtype),
                              str(arrow.schema.field("self_ns").type)]))
            for view in run.views:
                run.view(view).pandas(), run.view(view).polars(), run.view(view).arrow()
        """
        self.assertEqual(
            json.loads(self.python(script, interpreter=python)), ["Int64", "Int64", "int64"])

    def test_whole_numbers_with_gaps_stay_whole(self):
        python = self.require_tables()
        script = """
            import xlatrace
            run = xlatrace.open("run.db")
            table = run.sql("SELECT 9007199254740993 AS n UNION ALL SELECT NULL")
            print(table.pandas()["n"].tolist()[0], table.polars()["n"][0], table.arrow()["n"][0])
        """
        self.assertEqual(
            self.python(script, interpreter=python).split(), ["9007199254740993"] * 3)

    def test_types_are_right(self):
        python = self.require_tables()
        (self.folder / "user.py").write_text(textwrap.dedent("""
            import xlatrace
            run: xlatrace.Run = xlatrace.open("run.db")
            text: str = run.module("m1").text()
            columns: list[str] = run.launches(columns=["start_ns"]).columns
            frame = run.op_time().pandas()
            xlatrace.mark_step()
        """))
        done = support.run_command(
            [python, "-m", "mypy", "--strict", "--python-version", "3.9", "--cache-dir",
             self.folder / "cache", package_folder() / "xlatrace", "user.py"],
            cwd=self.folder)
        if "No module named mypy" in done.stderr:
            self.skipTest("no mypy in XLATRACE_TEST_PYTHON_TABLES")
        self.assertEqual(done.code, 0, done)


if __name__ == "__main__":
    unittest.main()
