# SPDX-License-Identifier: Apache-2.0
"""Tables of the Python API, as users of pandas, Polars and Arrow guess them.

The three scripts below were written before their author read our documents. Each line works as it is.
"""

import json
import pathlib
import re
import shutil
import sys
import tempfile
import textwrap
import unittest

import support
from test_python_api import PYTHON_TABLES, package_folder

OPS = [("sine.1", "sine", "jit(step)/sin", "model.py", 3), ("cosine.2", "cosine", "jit(step)/<cos>\x1b", "model.py", 4)]

PANDAS = """
    df = t.to_pandas()
    assert len(pd.DataFrame(t)) == len(t) == t.shape[0] and list(pd.DataFrame(t).columns) == t.columns
    assert sum(t["self_ns"]) == df["self_ns"].sum() == 60000
    assert t[0]["instruction"] == df.iloc[0]["instruction"] and t[-1]["instruction"] == df["instruction"].iloc[-1]
    assert t[:1].shape == t.head(1).shape == (1, len(df.columns))
    assert df.groupby("category")["self_ns"].sum().sort_values(ascending=False).iloc[0] == 60000
    assert len(df[df["self_ns"] > 0]) == 2 and len(df[df["instruction"].str.contains("sine")]) == 2
    assert str(df.dtypes["self_ns"]) == "Int64" and str(df.dtypes["self_pct"]) == "float64"
    assert t[["instruction", "self_ns"]].to_pandas().set_index("instruction").loc["sine.1", "self_ns"] == 30000
    df.to_csv("ops.csv"); assert list(pd.Series(t["self_ns"])) == [30000, 30000]
"""
POLARS = """
    df = pl.DataFrame(t)
    assert df.equals(t.to_polars()) and df.shape == t.shape and df.height == t.height
    assert df.columns == t.columns == list(t.schema)
    assert df.schema["self_ns"] == pl.Int64 and df.schema["self_pct"] == pl.Float64 and df.schema["phase"] == pl.String
    assert pl.Series(t["self_ns"]).sum() == 60000
    assert t.head(1).shape == t.tail(1).shape == df.head(1).shape
    assert t.to_dicts() == df.to_dicts()
    assert df.filter(pl.col("self_ns") > 0).group_by("category").agg(pl.col("self_ns").sum()).height == 1
    assert df.sort("self_ns", descending=True).select("instruction", "self_ns").row(0)[1] == 30000
    df.write_parquet("ops.parquet"); assert pl.read_parquet("ops.parquet").equals(df)
"""
ARROW = """
    table = pa.table(t)
    assert table.equals(t.to_arrow())
    assert pa.RecordBatchReader.from_stream(t).read_all().equals(table)
    assert table.schema.field("self_ns").type == pa.int64() and table.schema.field("phase").type == pa.string()
    assert (t.num_rows, t.num_columns) == (table.num_rows, table.num_columns)
    assert t.column_names == table.column_names
    assert t.column("self_ns").to_pylist() == table.column("self_ns").to_pylist() == list(t["self_ns"])
    assert t.to_pylist() == table.to_pylist() and t.to_pydict() == table.to_pydict()
    pq.write_table(pa.table(t), "ops.parquet"); assert pq.read_table("ops.parquet").num_rows == 2
    assert pc.sum(pa.table(t)["self_ns"]).as_py() == 60000
"""
# The first ten lines that a user of each library typed. The list was written without our documents. `t` has one
# more row than above: a name, a phase and a percentage that are missing or differ.
FIRST_LINES = """
    # pandas
    assert list(t.to_pandas().columns) == list(pd.DataFrame(t).columns) == ["op", "phase", "total_ns", "pct"]
    assert len(t.head()) == 4 and t.head(2).columns == t.columns
    assert t.shape == (4, 4)
    assert t.dtypes["total_ns"] == "int64" and t.dtypes["op"] == "string"
    assert t["total_ns"].sum() == 5400 and t["total_ns"].max() == 3000 and t["pct"].mean() == 1.5
    assert t[["op", "total_ns"]].shape == (4, 2)
    assert t[t["total_ns"] > 1000]["op"] == ["b", "c"]
    assert t[(t["phase"] == "forward") & ~(t["total_ns"] > 600)]["op"] == ["a"]
    assert t.sort_values("total_ns", ascending=False).head(3)["op"] == ["b", "c", "d"]
    assert (t["total_ns"] / 1e3).to_list() == [0.5, 3.0, 1.2, 0.7] and t["phase"].unique() == ["forward", None, "backward"]
    # Polars
    assert pl.DataFrame(t).equals(t.to_polars())
    assert pl.Series(t["total_ns"]).sum() == 5400
    assert t.head(3).height == 3 and t.width == 4
    assert t.columns == list(t.schema) == pl.DataFrame(t).columns
    assert t.select("op", "total_ns").columns == t.select(["op", "total_ns"]).columns == ["op", "total_ns"]
    assert t.filter(pl.col("total_ns") > 1000)["op"] == ["b", "c"]
    assert t.filter((pl.col("pct") > 1) & (pl.col("phase") == "forward"))["op"] == ["a"]
    assert t.sort("total_ns", descending=True)["op"] == ["b", "c", "d", "a"]
    assert t.sort("pct")["op"] == ["d", "a", "b", "c"] and t.sort("phase", "total_ns")["op"] == ["c", "a", "d", "b"]
    assert t.to_dicts()[0] == {"op": "a", "phase": "forward", "total_ns": 500, "pct": 1.5}
    # Arrow
    assert pa.table(t).equals(t.to_arrow())
    assert pa.RecordBatchReader.from_stream(t).read_all().num_rows == 4
    assert (t.num_rows, t.num_columns, t.column_names) == (4, 4, ["op", "phase", "total_ns", "pct"])
    assert t.column("total_ns").to_pylist() == t.to_pydict()["total_ns"]
    assert pc.sum(t["total_ns"]).as_py() == 5400 and pa.array(t["pct"]).null_count == 1
    assert t.slice(1, 2)["op"] == ["b", "c"] and t.slice(-1)["op"] == ["d"]
    assert t.filter(pc.field("total_ns") > 1000)["op"] == ["b", "c"]
    assert t.sort_by([("total_ns", "descending")])["op"] == ["b", "c", "d", "a"] == t.sort_by("total_ns")["op"][::-1]
    assert len(t.to_pylist()) == 4
    pq.write_table(pa.table(t), "first.parquet"); assert pq.read_table("first.parquet").equals(t.to_arrow())
"""
FIRST_LINES_TABLE = """
    import pandas as pd, polars as pl, pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq
    t = run.sql("SELECT column1 AS op, column2 AS phase, column3 AS total_ns, column4 AS pct FROM (VALUES"
                " ('a', 'forward', 500, 1.5), ('b', NULL, 3000, 2.5), ('c', 'backward', 1200, NULL), ('d', 'forward', 700, 0.5))")
"""
# A view without rows in this run, and one with rows.
TYPES = """
    import xlatrace
    def types(name):
        t = run.view(name)
        frames = t.to_pandas(), t.to_polars(), t.to_arrow()
        return [t.schema, [str(d) for d in frames[0].dtypes], [str(d) for d in frames[1].dtypes],
                [str(d) for d in frames[2].schema.types]]
"""


class Tables(support.GoldenText, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.require_program()
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-tables-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (cls.folder / "p.xplane.pb").write_bytes(support.xspace("jit_step", OPS))
        done = support.run("import", "p.xplane.pb", "-o", "run.db", cwd=cls.folder)
        assert done.code == 0, done

    def python(self, script, interpreter=sys.executable):
        begin = "import json, xlatrace\nrun = xlatrace.open('run.db')\nt = run.op_time()\n"
        done = support.run_command(
            [interpreter, "-c", begin + textwrap.dedent(script)], cwd=self.folder,
            env=support.environment(PYTHONPATH=str(package_folder())))
        self.assertEqual(done.code, 0, done)
        return done.stdout

    def with_libraries(self, script):
        if not PYTHON_TABLES:
            self.skipTest("XLATRACE_TEST_PYTHON_TABLES is not set")
        return self.python(script, PYTHON_TABLES)

    def test_first_ten_lines_of_a_pandas_user_work(self):
        self.with_libraries("import pandas as pd\n" + textwrap.dedent(PANDAS))

    def test_first_ten_lines_of_a_polars_user_work(self):
        self.with_libraries("import polars as pl\n" + textwrap.dedent(POLARS))

    def test_first_ten_lines_of_an_arrow_user_work(self):
        self.with_libraries("import pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq\n" + textwrap.dedent(ARROW))

    def test_lines_of_the_list_written_first_work(self):
        self.with_libraries(textwrap.dedent(FIRST_LINES_TABLE) + textwrap.dedent(FIRST_LINES))

    def test_masks_of_other_libraries_select_rows(self):
        self.with_libraries(textwrap.dedent(FIRST_LINES_TABLE) + textwrap.dedent("""
            wanted = ["b", "c"]
            assert t[t.to_pandas()["total_ns"] > 1000]["op"] == t[t.to_polars()["total_ns"] > 1000]["op"] == wanted
            assert t[t["op"].isin(wanted) | (t["total_ns"] == 0)]["op"] == t[t["total_ns"] > t["total_ns"].min() * 2]["op"] == wanted
        """))

    def test_mistakes_with_conditions_are_errors(self):
        self.python("""
            def error(call, kind, *words):
                try: call()
                except kind as e: assert all(word in str(e) for word in words), e
                else: raise AssertionError("no error")
            error(lambda: t[True], TypeError, "True")
            error(lambda: t[t["phase"] == ["forward"]], TypeError)  # Lists compare as lists.
            error(lambda: bool(t["self_ns"] > 5), TypeError, "any")
            error(lambda: t[[True]], ValueError, "2")
            error(lambda: t[[0, 2]], TypeError)
            error(lambda: t["self_ns"] + t["self_ns"][:1], ValueError, "2", "1")
            error(lambda: t.sort_by([("self_ns", "down")]), ValueError, "down")
            error(lambda: t.select("none"), KeyError, "none")
            error(lambda: t.self_ns, AttributeError, "t['self_ns']")
            error(lambda: t.nothing, AttributeError, "to_pandas")
            assert not hasattr(t, "__array__") and t[[]].shape[1] == 0
        """)

    def test_missing_method_names_the_frame_that_has_it(self):
        self.with_libraries("""
            import pandas
            try: t.groupby("phase")
            except AttributeError as error: assert "t.to_pandas().groupby" in str(error), error
        """)

    def test_earlier_names_of_the_conversions_work(self):
        self.with_libraries("assert t.pandas().equals(t.to_pandas()) and t.polars().equals(t.to_polars())\n"
                            "assert t.arrow().equals(t.to_arrow())")

    def test_types_do_not_depend_on_the_rows(self):
        script = textwrap.dedent(TYPES) + textwrap.dedent("""
            for view in run.views:
                if view.islower() and not view.startswith("x_"):
                    rows, none = run.view(view), run.view(view, where="0")
                    assert rows.schema == none.schema, (view, rows.schema, none.schema)
                    for convert in ("to_pandas", "to_polars", "to_arrow"):
                        frames = [getattr(table, convert)() for table in (rows, none)]
                        kinds = [str(getattr(frame, "dtypes", None) if convert != "to_arrow" else frame.schema) for frame in frames]
                        assert kinds[0] == kinds[1], (view, kinds)
        """)
        self.with_libraries(script)

    def test_columns_of_own_sql_have_types_of_views_if_possible(self):
        script = """
            sql = '''SELECT self_ns, self_ns / 1e6 AS total_ns, NULL AS bytes, NULL AS phase, 1 AS n, 1.5 AS x, 'a' AS s,
                     NULL AS empty_one FROM op_time'''
            print(json.dumps(run.sql(sql).schema))
        """
        self.assertEqual(json.loads(self.python(script)), {
            "self_ns": "int64", "total_ns": "float64", "bytes": "int64", "phase": "string", "n": "int64", "x": "float64",
            "s": "string", "empty_one": "string"})

    def test_table_runs_its_query_once(self):
        script = """
            statements = []
            run._connection.set_trace_callback(lambda sql: statements.append(sql) if "op_time" in sql else None)
            t = run.op_time()
            assert statements == []
            repr(t), len(t), t.columns, t.schema, t.shape, t[0], t["phase"], t[:1], t.head(), t.tail(), list(t), t.rows()
            t._repr_html_()
            assert len(statements) == 1, statements
        """
        self.python(script)

    def test_rows_columns_and_parts(self):
        script = """
            rows = list(t)
            assert t[0] == rows[0] and t[-1] == t[1] == rows[1] and t.rows() == rows
            assert t[1:].rows() == rows[1:] and t[::-1].rows() == rows[::-1] and t[5:].shape == (0, len(t.columns))
            assert t[["phase"]].columns == ["phase"] and t[5:].schema == t.schema
            assert t["self_ns"] == [30000, 30000] and (t["self_ns"].name, t["self_ns"].type) == ("self_ns", "int64")
            assert t.tail(0).height == t.head(0).height == 0 and t.tail(9).height == 2
            for key, error in (("none", KeyError), (2, IndexError), (-3, IndexError), (["phase", "none"], KeyError)):
                try: t[key]
                except error as e: assert "none" in str(e) or "2" in str(e)
                else: raise AssertionError(key)
        """
        self.python(script)

    def test_text_of_tables_has_rows_and_is_safe(self):
        text = self.python("print(t[['instruction', 'op_name', 'self_ns']])\nprint(t['op_name'])\nprint(run.launches())\n"
                           "print(run.sql('WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 30)"
                           " SELECT n FROM r'))")
        self.assertRegex(text, r"\nsine\.1 +jit\(step\)/sin +30000\n")
        self.assertNotIn("\x1b", text)
        self.assertLess(max(map(len, text.split("more columns")[0].splitlines())), 110)
        self.assert_golden_text(text, masks=[(r"(columns: )\w+(, \w+){9,}", r"\1NAMES")])

    def test_arrow_stream_without_a_library_names_one(self):
        script = """
            import sys
            sys.modules["pyarrow"] = sys.modules["polars"] = None
            try: t.__arrow_c_stream__()
            except xlatrace.XlatraceError as error: print(error.hint)
        """
        self.assertIn("pip install", self.python(script))

    def test_types_are_those_of_the_parquet_export(self):
        source = (support.REPOSITORY / "export" / "parquet_view.cc").read_text()
        names = set(re.findall(r'"(\w+)"', re.search(r"kTextColumns\[\] = \{(.*?)\};", source, re.S)[1]))
        code = "from xlatrace.column_types import _TEXT_COLUMNS\nprint(json.dumps(sorted(_TEXT_COLUMNS)))"
        self.assertGreater(len(names), 60)
        self.assertEqual(json.loads(self.python(code)), sorted(names))

    def test_values_fit_the_types_in_recordings(self):
        import kept_runs

        for relative in ("nsys/h100_2gpu_1s.sqlite", "own/jax-cpu/train-20steps-notracer-py.xplane.pb.xz"):
            path = kept_runs.imported_run(relative)
            wrong = self.python(f"""
                from xlatrace import column_types as types
                run = xlatrace.open({str(path)!r})
                print(json.dumps([[view, name] for view in run.views if types.has_types(view)
                      for name, values in run.view(view, limit=2000).to_dict().items()
                      if not types.fits(values, types.type_of_column(view, name))]))
            """)
            self.assertEqual(json.loads(wrong), [], relative)


if __name__ == "__main__":
    unittest.main()
