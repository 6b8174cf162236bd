# SPDX-License-Identifier: Apache-2.0
"""Questions over many runs: `xlatrace export --layout lake` writes them, DuckDB answers.

    python -m xlatrace.fleet queries                         # what can be asked
    python -m xlatrace.fleet query LAKE slowest_ranks        # or a file.sql, or "SELECT ..."
    python -m xlatrace.fleet compact LAKE                    # many small files into one per partition

`tables(views)` returns the SQL that gives an engine a lake's views with every run once. Before, the
engine needs each folder VIEW as a table `lake_VIEW`. docs/how-to/lake.md shows it for Spark.
"""

from __future__ import annotations

import argparse
import csv
import fcntl
import importlib
import json
import os
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from xlatrace.errors import XlatraceError
from xlatrace.places import share

# A writer that was killed leaves its folder in _writing; no run takes so long to write.
ABANDONED_S = 24 * 3600.0
HIVE = "hive_partitioning = true, hive_types = {'dt': VARCHAR, 'job': VARCHAR}"


def queries() -> dict[str, Path]:
    """Name and file of the queries that come with xlatrace."""
    return {file.stem: file for file in sorted(share("fleet").glob("*.sql"))}


def views(lake: str | os.PathLike[str]) -> list[str]:
    """Views that a lake holds; raises XlatraceError where it is none."""
    root = Path(lake)
    if not root.is_dir():
        raise XlatraceError(
            f"there is no folder '{root}'", "xlatrace export run.db --to parquet --layout lake -o LAKE/"
        )
    names = sorted(p.name for p in root.iterdir() if p.is_dir() and p.name[0] not in "._")
    if "run" not in names or not any((root / "run").glob("*/*/*.parquet")):
        raise XlatraceError(
            f"'{root}' holds no run",
            f"xlatrace export run.db --to parquet --layout lake -o {root}",
        )
    return [name for name in names if any((root / name).glob("*/*/*.parquet"))]


def tables(names: Iterable[str]) -> list[str]:
    """Statements that make view NAME of `lake_NAME`: every run once, and as a whole. DuckDB and
    Spark take them alike."""
    made = [
        "CREATE OR REPLACE TEMPORARY VIEW run AS SELECT DISTINCT r.* FROM lake_run r JOIN"
        " (SELECT run_id, max(generation) AS generation FROM lake_run GROUP BY run_id) n"
        " ON r.run_id = n.run_id AND r.generation = n.generation"
    ]
    for name in names:
        if name != "run":
            made.append(
                f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT v.* FROM lake_{name} v"
                " WHERE EXISTS (SELECT 1 FROM run r WHERE r.run_id = v.run_id"
                " AND r.generation = v.generation)"
            )
    return made


def connect(lake: str | os.PathLike[str]) -> Any:
    """A DuckDB connection in which the lake's views have the names of docs/schema.md."""
    try:
        duckdb = importlib.import_module("duckdb")
    except ImportError:
        raise XlatraceError("DuckDB is not installed", "pip install 'xlatrace[fleet]'") from None
    names = views(lake)
    connection = duckdb.connect(":memory:")
    # If a query takes more than two seconds, the bar would go to standard output, among the rows.
    connection.execute("SET enable_progress_bar = false")
    for name in names:
        # A view cannot have a parameter.
        files = str(Path(lake).resolve() / name / "*" / "*" / "*.parquet").replace("'", "''")
        connection.execute(
            f"CREATE TEMPORARY VIEW lake_{name} AS SELECT * FROM"
            f" read_parquet('{files}', union_by_name = true, {HIVE})"
        )
    for statement in tables(names):
        connection.execute(statement)
    return connection


def text_of(question: str) -> str:
    """SQL of a query's name, of a file, or as it is."""
    known = queries()
    if question in known:
        return known[question].read_text(encoding="utf-8")
    if question.endswith(".sql"):
        try:
            return Path(question).read_text(encoding="utf-8")
        except OSError as error:
            raise XlatraceError(f"cannot read '{question}': {error.strerror}") from None
    if " " not in question.strip():
        raise XlatraceError(f"there is no query '{question}'", f"one of: {', '.join(known)}")
    return question


def ask(lake: str | os.PathLike[str], question: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Names of columns, and rows."""
    sql = text_of(question)
    connection = connect(lake)
    try:
        result = connection.execute(sql)
        return [column[0] for column in result.description], result.fetchall()
    except Exception as error:  # DuckDB's own: a wrong view, a wrong file.
        raise XlatraceError(
            f"DuckDB: {str(error).splitlines()[0]}",
            f"views of this lake: {', '.join(views(lake))}",
        ) from None
    finally:
        connection.close()


def compact(lake: str | os.PathLike[str]) -> tuple[int, int]:
    """Writes one file per view, date and job, without rows that no longer count. Returns the numbers
    of files before and after. May be killed at any moment. Only one compaction may run at a time;
    writers may continue. Queries that began before may miss a file and must be run again."""
    root = Path(lake).resolve()
    names = views(root)
    with open(root / "_compact.lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise XlatraceError(f"'{root}' is being compacted by another process") from None
        before = sum(1 for name in names for _ in (root / name).glob("*/*/*.parquet"))
        connection = connect(root)
        try:
            for partition in sorted((root / "run").glob("*/*")):
                _compact_partition(connection, root, names, partition.relative_to(root / "run"))
        finally:
            connection.close()
        for left in (root / "_writing").glob("*"):
            if time.time() - left.stat().st_mtime > ABANDONED_S:
                shutil.rmtree(left, ignore_errors=True)
    after = sum(1 for name in names for _ in (root / name).glob("*/*/*.parquet"))
    return before, after


def _compact_partition(connection: Any, root: Path, names: Sequence[str], place: Path) -> None:
    old = {name: sorted((root / name / place).glob("*.parquet")) for name in names}
    if all(len(files) < 2 for files in old.values()):
        return
    # The `run` files read here decide which rows count, independent of concurrent writers.
    newest = connection.execute(
        "SELECT run_id, generation FROM run WHERE dt = ? AND job = ?",
        [place.parts[0].split("=", 1)[1], place.parts[1].split("=", 1)[1]],
    ).fetchall()
    connection.execute("CREATE OR REPLACE TEMPORARY TABLE newest (run_id VARCHAR, generation BIGINT)")
    if newest:
        connection.executemany("INSERT INTO newest VALUES (?, ?)", newest)
    generation = max((row[1] for row in newest), default=0) + 1
    working = root / "_writing" / f"compact-{generation}.{os.getpid()}"
    working.mkdir(parents=True)
    made: dict[str, Path] = {}
    for name, files in old.items():
        if files and newest:
            made[name] = working / f"{name}.parquet"
            _write_compacted(connection, files, made[name])
    for name in [name for name in made if name != "run"] + (["run"] if newest else []):
        target = root / name / place / f"compact-{generation}.parquet"
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(made[name], target)  # From the file of `run` on, all of them count.
    for name in ["run"] + [name for name in names if name != "run"]:
        for file in old[name]:
            # A compaction that was killed may have left a file of the name that counts now.
            if name in made and file.name == f"compact-{generation}.parquet":
                continue
            # Keeps files of a writer whose row is not in `run` yet.
            if name == "run" or _counts_no_more(file, newest, old["run"]):
                file.unlink(missing_ok=True)
    shutil.rmtree(working, ignore_errors=True)


def _write_compacted(connection: Any, files: Sequence[Path], target: Path) -> None:
    paths = ", ".join("'" + str(file).replace("'", "''") + "'" for file in files)
    out = str(target).replace("'", "''")
    connection.execute(
        "COPY (SELECT v.* REPLACE (v.generation + 1 AS generation) FROM"
        f" read_parquet([{paths}], union_by_name = true, hive_partitioning = false) v"
        " SEMI JOIN newest n ON n.run_id = v.run_id AND n.generation = v.generation)"
        f" TO '{out}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880)"
    )


def _counts_no_more(file: Path, newest: Sequence[tuple[str, int]], runs: Sequence[Path]) -> bool:
    """Whether a file of data is in the compacted one, or superseded."""
    run_id, _, generation = file.stem.rpartition("-")
    if run_id == "compact":
        return True
    if file.name in {run.name for run in runs}:
        return True
    return any(run_id == known and int(generation) <= last for known, last in newest)


def _print(columns: Sequence[str], rows: Sequence[Sequence[Any]], form: str) -> None:
    if form == "json":
        records = [dict(zip(columns, row)) for row in rows]
        print(json.dumps({"schema_version": 1, "rows": records}, default=str, indent=1))
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    else:
        cells = [["" if value is None else str(value) for value in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(columns, *cells)] if columns else []
        number = [bool(rows) and all(isinstance(row[i], (int, type(None))) for row in rows)
                  for i in range(len(columns))]
        for line in [list(columns), *cells]:
            padded = (cell.rjust(width) if right else cell.ljust(width)
                      for cell, width, right in zip(line, widths, number))
            print("  ".join(padded).rstrip())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m xlatrace.fleet", description="Questions over many runs (docs/how-to/lake.md)"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("queries", help="List the questions")
    query = commands.add_parser("query", help="Answer a question over a lake")
    query.add_argument("lake", metavar="LAKE")
    query.add_argument("question", metavar="NAME|FILE.sql|SQL")
    query.add_argument("--format", choices=("table", "csv", "json"), default="table")
    commands.add_parser("compact", help="one file per view, date and job").add_argument(
        "lake", metavar="LAKE"
    )
    given = parser.parse_args(arguments)
    try:
        if given.command == "queries":
            for name, file in queries().items():
                print(f"{name:24} {file.read_text(encoding='utf-8').splitlines()[0][3:]}")
        elif given.command == "query":
            _print(*ask(given.lake, given.question), given.format)
        else:
            before, after = compact(given.lake)
            print(f"{before} files -> {after}", file=sys.stderr)
    except XlatraceError as error:
        print(f"xlatrace: error: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
