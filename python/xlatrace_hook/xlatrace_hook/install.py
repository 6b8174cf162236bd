# SPDX-License-Identifier: Apache-2.0
"""The first stage: runs in every Python process, so it does next to nothing.

A process that imports no framework gets no folder, no thread, no handler: only one object more on
`sys.meta_path`. Everything else is loaded by `_framework_imported`.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

FRAMEWORKS = ("jax", "tensorflow")


def install() -> None:
    """Waits for the import of a framework, when XLATRACE_HOOK_DIR is set. Never raises."""
    directory = os.environ.get("XLATRACE_HOOK_DIR")
    if not directory:
        return
    if not os.path.isabs(directory):  # the script may change its working directory
        os.environ["XLATRACE_HOOK_DIR"] = directory = os.path.abspath(directory)
    try:
        from . import import_times
        from .post_import import PostImportFinder

        import_times.install()
        if not any(isinstance(finder, PostImportFinder) for finder in sys.meta_path):
            sys.meta_path.insert(0, PostImportFinder(FRAMEWORKS, _framework_imported))
    except Exception as error:
        _leave_note(directory, error)


def _framework_imported(module: ModuleType) -> None:
    directory = os.environ.get("XLATRACE_HOOK_DIR")
    if not directory:  # the script took itself out of the recording
        return
    try:
        from .hook import framework_imported

        framework_imported(module)
    except Exception as error:
        _leave_note(directory, error)


def _leave_note(directory: str, error: Exception) -> None:
    """Writes an error of the hook itself to a file, because there is no status.json."""
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        path = os.path.join(directory, f"hook-error.{os.getpid()}.txt")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w") as note:
            note.write(f"{type(error).__name__}: {error}\n")
    except Exception:
        pass
