# SPDX-License-Identifier: Apache-2.0
"""Where the program and the library to preload are."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from xlatrace.errors import XlatraceError

_HERE = Path(__file__).resolve().parent
# In a wheel the whole installation lies inside the package; `cmake --install` and the build put
# the package at PREFIX/share/xlatrace/python/xlatrace.
_PREFIXES = (_HERE / "_prefix", _HERE.parents[3] if len(_HERE.parents) > 3 else _HERE)


def program() -> str:
    """Path of the `xlatrace` program that belongs to this package; XLATRACE_BIN names another."""
    given = os.environ.get("XLATRACE_BIN")
    candidates = [Path(given)] if given else [prefix / "bin" / "xlatrace" for prefix in _PREFIXES]
    for candidate in candidates:
        if candidate.is_file():
            return str(candidate)
    raise XlatraceError(
        f"the xlatrace program is missing: it is not at '{candidates[0]}'",
        "install xlatrace again, or set XLATRACE_BIN to the program's path",
    )


def share(name: str) -> Path:
    """Folder NAME of what the program brings along (`share/xlatrace/NAME`)."""
    for prefix in _PREFIXES:
        folder = prefix / "share" / "xlatrace" / name
        if folder.is_dir():
            return folder
    raise XlatraceError(f"'share/xlatrace/{name}' is missing beside '{_HERE}'", "install xlatrace again")


def library() -> str:
    """Path for LD_PRELOAD, to record every program that is started with it."""
    return call("lib").strip()


def schemas() -> str:
    """Folder of the JSON Schemas of `--format json` (docs/reference/json.md)."""
    folder = Path(program()).resolve().parents[1] / "share" / "xlatrace" / "schemas"
    if not folder.is_dir():
        raise XlatraceError(f"there are no schemas at '{folder}'", "install xlatrace again")
    return str(folder)


def call(*arguments: str) -> str:
    """Standard output of `xlatrace ARGUMENTS`; its error is raised."""
    done = subprocess.run(
        [program(), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode == 0:
        return done.stdout.decode("utf-8", "replace")
    message, hint = f"xlatrace {arguments[0]} ended with status {done.returncode}", ""
    for line in done.stderr.decode("utf-8", "replace").splitlines():
        if line.startswith("xlatrace: error: "):
            message = line[len("xlatrace: error: ") :]
        elif line.startswith("hint: "):
            hint = line[len("hint: ") :]
    raise XlatraceError(message, hint)
