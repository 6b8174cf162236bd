# SPDX-License-Identifier: Apache-2.0
"""How long packages take to import.

Early on `sys.meta_path`. It queries the later finders and times the loader of each package, and of a
module that is imported outside all timed imports. Modules of the standard library count to the
import around them. A process that imports no framework keeps a list and writes nothing.
"""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

MAX_IMPORTS = 2000

_STANDARD = frozenset(getattr(sys, "stdlib_module_names", ()))


class ImportTimes:
    def __init__(self) -> None:
        self.started_ns = time.time_ns()  # About when Python itself was ready.
        self.entries: list[dict] = []
        self.sink: Callable[[dict], None] | None = None  # Gets each entry that ends from now on.
        self._open = 0
        self._finding = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package = name.partition(".")[0]
        if (
            self._finding
            or (self._open and "." in name)
            or package in _STANDARD
            or package in ("xlatrace_hook", "sitecustomize", "usercustomize")
            or len(self.entries) >= MAX_IMPORTS
        ):
            return None
        self._finding = True
        began = time.time_ns()
        try:
            spec = self._spec_of_the_others(name, path, target)
        finally:
            self._finding = False
        if spec is not None and spec.loader is not None:
            self._time(spec.loader, name, began)
        return spec

    def _spec_of_the_others(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        finders = list(sys.meta_path)
        for finder in finders[finders.index(self) + 1 :]:
            if not hasattr(finder, "find_spec"):
                return None  # A finder of the old protocol: leave this import to Python.
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
        return None

    def _time(self, loader, name: str, began: int) -> None:
        original = getattr(loader, "exec_module", None)
        # A loader that is a class, as that of built-in modules, serves all imports and must stay as it is.
        if original is None or isinstance(loader, type):
            return
        times = self

        def _call_with_frames_removed(module: ModuleType) -> None:
            if module.__name__ != name:  # Some loaders serve many modules.
                return original(module)
            loader.__dict__.pop("exec_module", None)
            entry = times._begin(name, began)
            try:
                original(module)
            finally:
                times._end(entry)

        # As in post_import.py: Python leaves this frame out of tracebacks.
        _call_with_frames_removed.__code__ = _call_with_frames_removed.__code__.replace(
            co_filename="<frozen importlib._bootstrap>"
        )
        try:
            loader.exec_module = _call_with_frames_removed
        except AttributeError:
            pass  # A loader that cannot be watched.

    def _begin(self, name: str, began: int) -> dict:
        entry = {"name": name, "start": began, "end": None}
        frame = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
            frame = frame.f_back
        if frame is not None:
            entry["file"], entry["line"] = frame.f_code.co_filename, frame.f_lineno
        self.entries.append(entry)
        self._open += 1
        return entry

    def _end(self, entry: dict) -> None:
        self._open -= 1
        entry["end"] = time.time_ns()
        if self.sink is not None:
            self.sink(entry)


times: ImportTimes | None = None


def install() -> None:
    """Called by `install.install`, before the finder of frameworks is put first."""
    global times
    if times is None:
        times = ImportTimes()
        sys.meta_path.insert(0, times)
