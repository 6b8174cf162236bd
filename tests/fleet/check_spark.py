#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ten questions of fleet/queries/ in DuckDB and in Spark: the same rows in the same order, all
figures integers, before and after `compact`.

    check_spark.py --xlatrace build/release/bin/xlatrace --ranks build/release/tests/fleet/fleet_ranks \\
      [--python .venv/spark/bin/python] [--master 'local-cluster[2,1,700]'] [RECORDING]...

The lake: ranks of jobs with a slow rank and without, their merged jobs, a made training run, and RECORDING
(or XLATRACE_SHARED_DATA's captures). Some jobs are of other releases, some lack rows of a view. Needs a
Java and a Python with pyspark and duckdb. Exit status: 0 equal, 1 not, 77 a requirement is missing."""

import argparse
import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import shared_data  # noqa: E402, in the folder of the components

ROOT = pathlib.Path(__file__).resolve().parents[2]
DAY_NS = 86_400 * 10**9
START_NS = 1_790_000_000_000_000_000

# LAKE PACKAGE MASTER: JSON {query: [[columns, rows] of DuckDB, [columns, rows] of Spark]}.
BOTH = """
import json, sys
lake, package, master = sys.argv[1:]
sys.path.insert(0, package)
from pyspark.sql import SparkSession
from xlatrace import fleet
def plain(value):
    assert value is None or isinstance(value, (int, str)), (type(value), value)
    return value
spark = (SparkSession.builder.master(master).config("spark.driver.memory", "1g")
         .config("spark.executor.memory", "700m").config("spark.ui.enabled", "false")
         .config("spark.sql.shuffle.partitions", "4")
         .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false").getOrCreate())
names = fleet.views(lake)
for name in names:
    frame = spark.read.option("mergeSchema", "true").parquet(f"{lake}/{name}")
    frame.createOrReplaceTempView(f"lake_{name}")
for statement in fleet.tables(names):
    spark.sql(statement)
answers = {}
for name in fleet.queries():
    columns, rows = fleet.ask(lake, name)
    theirs = spark.sql(fleet.text_of(name))
    answers[name] = [[columns, [list(map(plain, row)) for row in rows]],
                     [theirs.columns, [list(map(plain, row)) for row in theirs.collect()]]]
print(json.dumps({"version": spark.version, "views": len(names), "answers": answers}))
spark.stop()
"""


def run(*command: object) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def released(path: pathlib.Path, version: str, days_ago: int) -> None:
    """Another release and day, written into the private table."""
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM x_run_info WHERE key IN ('start_unix_ns', 'jaxlib_version')")
        database.executemany(
            "INSERT INTO x_run_info (key, value) VALUES (?, ?)",
            [("jaxlib_version", version), ("start_unix_ns", str(START_NS - days_ago * DAY_NS))],
        )
    database.close()


class Lake:
    def __init__(self, xlatrace: pathlib.Path, ranks: pathlib.Path, folder: pathlib.Path) -> None:
        self.xlatrace = xlatrace
        self.ranks = ranks
        self.folder = folder
        self.place = folder / "lake"

    def put(self, path: pathlib.Path, *options: object) -> None:
        run(self.xlatrace, "export", path, "--to", "parquet", "--layout", "lake", "-o", self.place,
            *options)  # fmt: skip

    def job(self, name: str, ranks: int, slow: int, version: str, days_ago: int) -> None:
        folder = self.folder / name
        folder.mkdir()
        run(self.ranks, folder, ranks, 12, 5, slow)
        paths = sorted(folder.glob("*.db"))
        for path in paths:
            released(path, version, days_ago)
        merged = self.folder / f"{name}.db"
        run(self.xlatrace, "merge", *paths, "-o", merged)
        self.put(merged, "--job", name)
        for path in paths:
            self.put(path, "--job", name)

    def odd(self) -> None:
        """Two ranks of one job and one of another, which share no collective with it."""
        lone = self.folder / "lone"
        lone.mkdir()
        run(self.ranks, lone, 5, 12, 5, -1)
        pair = self.folder / "pair"
        pair.mkdir()
        run(self.ranks, pair, 2, 12, 5, -1)
        merged = self.folder / "odd.db"
        run(self.xlatrace, "merge", *sorted(pair.glob("*.db")), lone / "rank0004.db", "-o", merged)
        self.put(merged, "--job", "odd")

    def recording(self, path: pathlib.Path, number: int) -> None:
        database = self.folder / f"recording{number}.db"
        done = subprocess.run([self.xlatrace, "import", path, "-o", database], check=False,
                              capture_output=True)  # fmt: skip
        if done.returncode != 0:
            print(f"left out: {path.name}")  # Damaged ones lie among them.
            return
        self.put(database, "--date", f"2026-09-{number % 28 + 1:02}", "--job", f"real{number}")


def recordings() -> list[pathlib.Path]:
    data = shared_data.FOLDER
    if not data:
        return []
    found = [data / "captures" / "nsys-jax-pax-fsdp4-a100", *sorted((data / "nsys").glob("*.sqlite")),
             *sorted((data / "xplane").glob("*.pb"))]  # fmt: skip
    return [path for path in found if path.exists()]


def compare(lake: pathlib.Path, options: argparse.Namespace, when: str) -> bool:
    package = options.xlatrace.resolve().parents[1] / "share/xlatrace/python"
    done = subprocess.run(
        [options.python, "-c", BOTH, lake, package, options.master],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        print(done.stderr[-4000:], file=sys.stderr)
        return False
    told = json.loads(done.stdout.splitlines()[-1])
    print(f"{when}: Spark {told['version']}, {options.master}, {told['views']} views")
    good = True
    for name, (duckdb, spark) in told["answers"].items():
        equal = duckdb == spark
        good = good and equal
        print(f"{name:24} {len(duckdb[1]):5} rows  {'equal' if equal else 'DIFFERS'}")
        if not equal:
            for side, answer in (("DuckDB", duckdb), ("Spark", spark)):
                print(f"  {side}: {answer[0]}", *answer[1][:10], sep="\n    ")
    return good and len(told["answers"]) == 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("recordings", metavar="RECORDING", type=pathlib.Path, nargs="*")
    parser.add_argument("--xlatrace", type=pathlib.Path, required=True)
    parser.add_argument("--ranks", type=pathlib.Path, required=True)
    parser.add_argument("--python", default=str(ROOT / ".venv/spark/bin/python"))
    parser.add_argument("--master", default="local-cluster[2,1,700]")
    options = parser.parse_args()
    if shutil.which("java") is None:
        print("no Java: apt-get install openjdk-17-jre-headless")
        return 77
    if not pathlib.Path(options.python).exists():
        print(f"no {options.python}: a Python with pyspark and duckdb")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(options.xlatrace, options.ranks, pathlib.Path(folder))
        lake.job("first", 8, 5, "0.4.9", 3)
        lake.job("second", 9, 5, "0.4.38", 1)
        lake.job("even", 4, -1, "0.10.2", 20)
        lake.odd()
        made = pathlib.Path(folder) / "made"
        run(sys.executable, ROOT / "bench" / "big_run.py", "5000", made)
        run(options.xlatrace, "import", made / "trace.sqlite", "--modules", made, "-o",
            made / "run.db")  # fmt: skip
        lake.put(made / "run.db", "--date", "2026-09-20", "--job", "made")
        for number, path in enumerate(options.recordings or recordings()):
            lake.recording(path, number)
        good = compare(lake.place, options, "as written")
        run(options.python, "-c", "import sys; sys.path.insert(0, sys.argv[1]); from xlatrace import"
            " fleet; fleet.compact(sys.argv[2])",
            options.xlatrace.resolve().parents[1] / "share/xlatrace/python", lake.place)  # fmt: skip
        good = compare(lake.place, options, "compacted") and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
