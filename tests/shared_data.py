# SPDX-License-Identifier: Apache-2.0
"""Where the recordings of real programs lie, for tests in Python; tests/shared_data.h is the same for C++.

XLATRACE_SHARED_DATA names their folder; empty means none. If it is not set, shared/data beside the
checkout is used. A test without its recording skips with reason()."""

import os
import pathlib
import unittest

_GIVEN = os.environ.get("XLATRACE_SHARED_DATA")
_BESIDE = pathlib.Path(__file__).resolve().parents[2] / "shared" / "data"
# None where there are no recordings at all.
FOLDER = pathlib.Path(_GIVEN).absolute() if _GIVEN else _BESIDE if _GIVEN is None else None
if FOLDER is not None and not FOLDER.is_dir():
    FOLDER = None


def reason(relative):
    """Why a test that needs `relative` is skipped; scripts/skips.py counts all of them together."""
    return f"no recordings: XLATRACE_SHARED_DATA has no {relative}"


def find(relative):
    """Path of a file or folder below the recordings; None where it is not there."""
    path = FOLDER / relative if FOLDER is not None else None
    return path if path is not None and path.exists() else None


def require(relative):
    """The same, or the test is skipped."""
    path = find(relative)
    if path is None:
        raise unittest.SkipTest(reason(relative))
    return path
