# SPDX-License-Identifier: Apache-2.0
"""Calls back right after given modules have been imported, and changes nothing else about it."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    Callback = Callable[[ModuleType], None]


class PostImportFinder:
    """First on `sys.meta_path`. Calls the other finders, then observes their loader.

    The loader keeps its type: only its `exec_module` is replaced, for this one call. Once all
    modules have been seen, the finder leaves `sys.meta_path`.
    """

    def __init__(self, names: Sequence[str], callback: Callback) -> None:
        self._names = set(names)
        self._callback = callback

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._names:
            return None
        spec = self._spec_of_the_others(name, path, target)
        if spec is not None and spec.loader is not None:
            _call_after_exec(spec.loader, name, self._executed)
        return spec

    def _executed(self, module: ModuleType) -> None:
        # Not earlier: find_spec is also called to check whether a module exists, and an import that
        # fails may be tried again.
        self._names.discard(module.__name__)
        if not self._names and self in sys.meta_path:
            sys.meta_path.remove(self)
        self._callback(module)

    def _spec_of_the_others(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            if finder is self:
                continue
            if not hasattr(finder, "find_spec"):
                return None  # a finder of the old protocol: leave this import to Python
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
        return None


def _call_after_exec(loader, name: str, callback: Callback) -> None:
    original = getattr(loader, "exec_module", None)
    if original is None:
        return

    def _call_with_frames_removed(module: ModuleType) -> None:
        if module.__name__ != name:  # some loaders serve many modules
            return original(module)
        loader.__dict__.pop("exec_module", None)
        original(module)
        callback(module)

    # This frame gets the name of importlib's own frames. So Python removes it from tracebacks, and
    # warnings do not count it: the script's output is unchanged.
    _call_with_frames_removed.__code__ = _call_with_frames_removed.__code__.replace(
        co_filename="<frozen importlib._bootstrap>"
    )
    try:
        loader.exec_module = _call_with_frames_removed
    except AttributeError:
        pass  # a loader that cannot be watched: the import goes on, nothing is recorded
