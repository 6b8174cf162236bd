# SPDX-License-Identifier: Apache-2.0
"""A run.db and its views. No analysis happens here: every figure is a row that the program wrote."""

from __future__ import annotations

import html
import os
import re
import sqlite3
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Union
from urllib.parse import quote

from xlatrace import column_types, places
from xlatrace.errors import XlatraceError
from xlatrace.table import Table
from xlatrace.table_column import Value

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# Size of a module in a notebook.
_HTML_LINES = 40
_HTML_LINE_WIDTH = 200
_OLDEST_SQLITE = (3, 25, 0)  # Views use window functions.


def open(path: Union[str, os.PathLike[str]]) -> Run:  # noqa: A001 - as io.open, tarfile.open
    """Opens a run.db, or the run.db of a recording that no command has folded yet.

    Raises XlatraceError where there is no run, or where the file is not one of this version.
    """
    return Run(path)


class Run:
    """One run. Close it, or use it in a `with`; one thread at a time."""

    def __init__(self, path: Union[str, os.PathLike[str]]) -> None:
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise XlatraceError(
                f"this Python has SQLite {sqlite3.sqlite_version}, too old for the views",
                "use the program: xlatrace query run.db SQL --format csv",
            )
        self.path = os.fspath(path)
        # The program folds what is not folded, and refuses what is not ours.
        places.call("query", self.path, "SELECT 1", "--format", "csv")
        database = Path(self.path)
        if database.suffix == ".rec":
            database = database.with_suffix(".db")
        uri = "file:" + quote(str(database.absolute())) + "?mode=ro"
        self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        self._connection.execute("PRAGMA query_only = 1")
        self._connection.execute("PRAGMA trusted_schema = 0")
        self._types: Optional[Dict[str, Optional[str]]] = None
        self._views: Optional[List[str]] = None

    def close(self) -> None:
        """Closes the file; tables that were not read yet cannot be read any more."""
        self._connection.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- views ---------------------------------------------------------------------------------

    @property
    def views(self) -> List[str]:
        """Names of all views."""
        if self._views is None:
            rows = self._connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'view' ORDER BY name"
            )
            self._views = [str(name) for (name,) in rows]
        return list(self._views)

    def view(
        self,
        name: str,
        columns: Optional[Sequence[str]] = None,
        where: Optional[str] = None,
        order_by: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Table:
        """A view, or some of its columns and rows: `where` and `order_by` are SQL."""
        for word in (name, *(columns or ())):
            if not _NAME.match(word):
                raise XlatraceError(f"'{word}' is no name of a view or column")
        if name not in self.views:
            raise XlatraceError(f"there is no view '{name}'", f"one of: {', '.join(self.views)}")
        sql = f"SELECT {', '.join(columns) if columns else '*'} FROM {name}"
        if where:
            sql += f" WHERE {where}"
        if order_by:
            sql += f" ORDER BY {order_by}"
        if limit is not None:
            sql += f" LIMIT {int(limit)}"
        return Table(self._connection, sql, types=lambda column: self._type_in(name, column))

    def sql(self, sql: str, parameters: Sequence[Value] = ()) -> Table:
        """Any SELECT over the views; `?` takes a parameter.

        A column that has the name of a column of a view has its type, if all values fit. Other
        columns have the narrowest type that their values fit."""
        return Table(self._connection, sql.strip().rstrip(";"), parameters, self._type_in_any)

    def _type_in(self, view: str, column: str) -> Optional[str]:
        if not column_types.has_types(view):
            return None
        return column_types.type_of_column(view, column)

    def _type_in_any(self, column: str) -> Optional[str]:
        """Type of a column of that name, if the views that have it agree."""
        if self._types is None:
            self._types = {}
            rows = self._connection.execute(
                "SELECT m.name, p.name FROM sqlite_master m, pragma_table_info(m.name) p"
                " WHERE m.type = 'view'"
            )
            for view, name in rows:
                if column_types.has_types(view):
                    kind = column_types.type_of_column(view, name)
                    same = self._types.setdefault(name, kind) == kind
                    self._types[name] = kind if same else None
        return self._types.get(column)

    def activities(
        self, columns: Optional[Sequence[str]] = None, where: Optional[str] = None
    ) -> Table:
        """Every timed device record: kernels, copies, memsets, ops. One run can have millions of
        rows with some sixty columns; name the columns you need."""
        return self.view("activity", columns, where)

    def launches(
        self, columns: Optional[Sequence[str]] = None, where: Optional[str] = None
    ) -> Table:
        """Every kernel launch with grid, block, occupancy and the HLO instruction it executes;
        where a source has no kernels, its finest rows. Name the columns you need."""
        return self.view("launch", columns, where)

    def op_time(self) -> Table:
        """One row per HLO instruction, the most expensive first."""
        return self.view("op_time", order_by="self_ns DESC")

    def scope_time(self) -> Table:
        """Time per op_name, layer, phase and source line, the most expensive first."""
        return self.view("scope_time", order_by="self_ns DESC")

    def phase_time(self) -> Table:
        """Time per device, step and phase."""
        return self.view("phase_time")

    def steps(self) -> Table:
        """One row per step and device."""
        return self.view("step")

    def step_parts(self) -> Table:
        """The parts of each step: each instant belongs to one part."""
        return self.view("step_part")

    def gaps(self) -> Table:
        """Idle intervals of a device, the longest first, with their cause."""
        return self.view("gap", order_by="end_ns - start_ns DESC")

    def findings(self) -> Table:
        """Actions, ranked by their possible saving."""
        return self.view("finding", order_by="rank")

    def modules(self) -> Table:
        """The compiled modules."""
        return self.view("module")

    def run_stats(self) -> Table:
        """Losses and notices of recording and import."""
        return self.view("run_stat")

    def info(self) -> Dict[str, Optional[str]]:
        """Command, host, versions and other facts about the run as a whole."""
        return {str(row["key"]): _text(row["value"]) for row in self.view("run_info")}

    def module(self, name: Union[str, int]) -> Module:
        """A module by its name, its handle (`m1`) or its module_id. If several modules have the name,
        the one with the most device time."""
        rows = self.sql(
            "SELECT m.module_id AS module_id, m.name AS name, m.handle AS handle, m.role AS role"
            " FROM module m WHERE m.module_id = ?1 OR m.handle = ?1 OR m.name = ?1"
            " ORDER BY CAST(substr(m.handle, 2) AS INTEGER)",
            (name,),
        ).rows()
        if not rows:
            names = ", ".join(str(row["name"]) for row in self.modules().head(5))
            raise XlatraceError(f"there is no module '{name}'", f"some that are there: {names}")
        row = rows[0]
        return Module(self, int(row["module_id"] or 0), str(row["name"]), str(row["handle"]))

    # --- text ----------------------------------------------------------------------------------

    def summary(self, by: Optional[str] = None) -> str:
        """The text of `xlatrace summary`."""
        return places.call("summary", self.path, *(("--by", by) if by else ()))

    def show(self, handle: str) -> str:
        """The text of `xlatrace show HANDLE`: an op, kernel, module, layer, finding or line."""
        return places.call("show", handle, self.path)

    def __repr__(self) -> str:
        return f"<xlatrace run {self.path}>"

    def _repr_html_(self) -> str:
        """The report in a frame, for notebooks."""
        from xlatrace import notebook

        return notebook.page(self)


class Module:
    """One compiled module of a run."""

    def __init__(self, run: Run, module_id: int, name: str, handle: str) -> None:
        self._run = run
        self.module_id = module_id
        self.name = name
        self.handle = handle

    def text(self) -> str:
        """The optimized HLO."""
        return places.call("modules", self._run.path, self.handle, "--format", "text")

    def instructions(self) -> Table:
        """Its instructions."""
        return self._run.view("instruction", where=f"module_id = {self.module_id}")

    def op_time(self) -> Table:
        """Time per instruction, the most expensive first."""
        return self._run.view(
            "op_time", where=f"module_id = {self.module_id}", order_by="self_ns DESC"
        )

    def __repr__(self) -> str:
        return f"<xlatrace module {self.name} ({self.handle})>"

    def _repr_html_(self) -> str:
        """The first lines of the entry computation, for notebooks."""
        lines = self.text().splitlines()
        # Tables of files and stack frames, and fused computations, come before the entry.
        entry = next((number for number, line in enumerate(lines) if line.startswith("ENTRY ")), 0)
        shown = lines[entry : entry + _HTML_LINES]
        if entry > 0:
            shown = [lines[0], "", *shown]
        text = "\n".join(line[:_HTML_LINE_WIDTH] for line in shown)
        note = f"<p>Part of {len(lines):,} lines. All: <code>print(module.text())</code></p>"
        style = "font-family: monospace; white-space: pre; overflow-x: auto"
        return f'<pre style="{style}">{html.escape(text)}</pre>' + (note if len(lines) > len(shown) else "")


def _text(value: Value) -> Optional[str]:
    return None if value is None else str(value)
