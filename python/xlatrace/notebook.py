# SPDX-License-Identifier: Apache-2.0
"""Magics for IPython and Jupyter: `%load_ext xlatrace`.

    %%xlatrace [RUN] [--force]     records the cell; the report is shown below it
    %xlatrace report [RUN]         the report of the last recording, or of a run.db
    %xlatrace diff [BASE NEW]      changes between the last two recordings, or two run.dbs
    %xlatrace COMMAND ...          any command of the program, with the last recording as its run

Code of a cell is named `cell [3]`, so its lines are `cell [3]:7` in reports.
"""

from __future__ import annotations

import contextlib
import html
import os
import shlex
import tempfile
from pathlib import Path
from typing import Any, Iterator, List, Optional

from xlatrace import places
from xlatrace.errors import XlatraceError
from xlatrace.run import Run

# Above the size of the report's app. A larger page makes the notebook slow to open.
MAX_PAGE_BYTES = 16 << 20
# The border shows where a frame ends that cuts its content. Its lower right corner can be dragged.
_FRAME_STYLE = (
    "box-sizing: border-box; width: 100%; height: 640px; resize: vertical; border: 1px solid rgba(128, 128, 128, 0.5)"
)
# model/user_code.cc counts code with such a name as machinery, like modules that Python has frozen.
_MAGIC_CODE = "<frozen xlatrace>"
_READING = ("summary", "show", "what-if", "modules", "find", "query", "export", "report")

_runs: List[str] = []  # Recordings of this session, the last one last.
_folder: Optional[tempfile.TemporaryDirectory[str]] = None


def load(shell: Any) -> None:
    """`%load_ext xlatrace`."""
    name_cells(shell)
    shell.register_magic_function(line_magic, "line", "xlatrace")
    shell.register_magic_function(_cell_magic(shell), "cell", "xlatrace")


def name_cells(shell: Any = None) -> None:
    """From now on the code of a cell has the file name `cell [NUMBER]`."""
    if shell is None:
        from IPython import get_ipython  # type: ignore[import-not-found,unused-ignore]

        shell = get_ipython()
    compiler = getattr(shell, "compile", None)
    if compiler is None or not hasattr(compiler, "get_code_name") or hasattr(compiler, "xlatrace_cell"):
        return
    compiler.xlatrace_cell = _Cell()

    def get_code_name(raw: str, transformed: str, number: int) -> str:
        name = f"cell [{compiler.xlatrace_cell.of(number)}]"
        # The line of the magic calls all of the cell, and is no code of the user.
        return _MAGIC_CODE if raw.lstrip().startswith("%%xlatrace") else name

    compiler.get_code_name = get_code_name


class _Cell:
    """Number of the running cell. Code that a magic runs inside of it has the same number."""

    def __init__(self) -> None:
        self._number = 0
        self._inside = False

    def of(self, number: int) -> int:
        if not self._inside:
            self._number = number
        return self._number

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        self._inside = True
        try:
            yield
        finally:
            self._inside = False


def _cell_magic(shell: Any) -> Any:
    def xlatrace(line: str, cell: str) -> Any:
        """Records the cell: %%xlatrace [RUN] [--force]"""
        with _without_traceback():
            return _record_cell(shell, line, cell)

    return xlatrace


def _record_cell(shell: Any, line: str, cell: str) -> Any:
    from xlatrace import recorder

    words = shlex.split(line)
    force = "--force" in words
    given = [word for word in words if word != "--force"]
    if len(given) > 1:
        raise XlatraceError(f"%%xlatrace takes one file, not {len(given)}: {line.strip()}", "%%xlatrace run.db")
    path = given[0] if given else _new_path()
    if os.path.exists(path) and not force:
        raise XlatraceError(f"the file '{path}' exists already", f"%%xlatrace {shlex.quote(path)} --force")
    name_cells(shell)
    with recorder.record(path, force=force) as recording, shell.compile.xlatrace_cell.inside():
        # The magic is the first line of the cell. Lines below it keep their numbers.
        result = shell.run_cell("# %%xlatrace\n" + cell, store_history=False)
        failed = result.error_before_exec or result.error_in_exec
    _runs.append(recording.path)
    if failed is not None:
        raise XlatraceError(f"the cell failed, and its recording until then is in '{recording.path}'")
    return recording.run


class MagicFailed(XlatraceError):
    """An error of a magic is one message: a traceback would show no line of the user."""

    def _render_traceback_(self) -> List[str]:
        return [f"xlatrace: {self}"]


@contextlib.contextmanager
def _without_traceback() -> Iterator[None]:
    try:
        yield
    except XlatraceError as error:
        raise MagicFailed(error.message, error.hint) from None


@_without_traceback()
def line_magic(line: str) -> Any:
    """%xlatrace report | diff | summary | show o1 | ..."""
    words = shlex.split(line) or ["report"]
    command, arguments = words[0], words[1:]
    if command == "report":
        return Run(arguments[0] if arguments else _last(1)[0])
    if command == "diff" and not arguments:
        arguments = _last(2)
    elif command in _READING and not any(Path(word).exists() for word in arguments):
        at = 0 if command in ("query", "what-if") else len(arguments)
        arguments[at:at] = _last(1)
    print(places.call(command, *arguments), end="")
    return None


def _last(count: int) -> List[str]:
    if len(_runs) < count:
        raise XlatraceError(
            f"this command needs {count} recording{'s' * (count > 1)}; this session has {len(_runs)}",
            "put %%xlatrace in the first line of a cell, to record the cell",
        )
    return _runs[-count:]


def _new_path() -> str:
    global _folder
    if _folder is None:
        _folder = tempfile.TemporaryDirectory(prefix="xlatrace-notebook-")
    return os.path.join(_folder.name, f"run-{len(_runs) + 1}.db")


def page(run: Run) -> str:
    """The report in a frame; for a very large run the summary."""
    with tempfile.TemporaryDirectory(prefix="xlatrace-page-") as folder:
        path = Path(folder) / "run.html"
        places.call("report", run.path, "-o", str(path))
        if path.stat().st_size > MAX_PAGE_BYTES:
            hint = f"xlatrace report {shlex.quote(run.path)}"
            return f"<pre>{html.escape(run.summary())}</pre><p>The report: <code>{html.escape(hint)}</code></p>"
        content = path.read_text(encoding="utf-8")
    # Links inside of the page lead to the frame's own address, not to the notebook's.
    content = content.replace("<head>", '<head><base href="about:srcdoc">', 1)
    # The frame may run the page's own script, and has no access to the notebook.
    return (
        f'<iframe style="{_FRAME_STYLE}" sandbox="allow-scripts allow-popups'
        f' allow-downloads" srcdoc="{html.escape(content)}"></iframe>'
    )
