# SPDX-License-Identifier: Apache-2.0
"""Runs and pages that several tests read, made once per build of the program.

They are kept in the folder that XLATRACE_TEST_CACHE names, by default `test_cache` in the build folder:

  PROGRAM/NAME-INPUTS/   PROGRAM is the hash of the program, its libraries and its Python files, INPUTS
                         the hash of everything else that the content depends on

An entry is made under a file lock, in a temporary folder that is renamed when it is complete. So no
process reads a partial entry. All processes share entries: a test that changes a file takes a copy first.
The first process of another program removes the entries of unused programs."""

import atexit
import contextlib
import fcntl
import functools
import hashlib
import lzma
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import support

# Sizes and times of the files of an entry, to detect a test that changes one.
STATE = "state"
_held_locks = []


def hash_of(paths, texts=()):
    """Hash of the contents of files, of all files below folders, and of texts."""
    digest = hashlib.sha256()
    for path in map(pathlib.Path, paths):
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            data = file.read_bytes()
            digest.update(f"{file.relative_to(path.parent)} {len(data)}\n".encode() + data)
    digest.update("\n".join(map(str, texts)).encode())
    return digest.hexdigest()[:24]


def _build_folder():
    return pathlib.Path(support.PROGRAM).resolve().parents[1]


@functools.cache
def program_key():
    build = _build_folder()
    libraries = sorted(build.glob("lib/libxlatrace*.so"))
    python_files = sorted(build.glob("share/xlatrace/**/*.py"))
    return hash_of([pathlib.Path(support.PROGRAM).resolve(), *libraries, *python_files])


@contextlib.contextmanager
def _locked(path):
    """The lock is released when its holder ends, however it ends."""
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@functools.cache
def _program_folder():
    support.require_program()
    if os.environ.get("XLATRACE_MUTANT"):  # One program with many planted faults: nothing is shared.
        folder = tempfile.mkdtemp(prefix="xlatrace-e2e-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return pathlib.Path(folder)
    root = pathlib.Path(os.environ.get("XLATRACE_TEST_CACHE") or _build_folder() / "test_cache").absolute()
    root.mkdir(parents=True, exist_ok=True)
    folder = root / program_key()
    with _locked(root / "lock"):
        folder.mkdir(exist_ok=True)
        used = open(f"{folder}.used", "w")
        fcntl.flock(used, fcntl.LOCK_SH)
        _held_locks.append(used)  # Until this process ends.
        for other in root.iterdir():
            if other.is_dir() and other != folder:
                _remove_unused(other)
    return folder


def _remove_unused(folder):
    with open(f"{folder}.used", "w") as used:
        try:
            fcntl.flock(used, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return  # A process uses it.
        shutil.rmtree(folder, ignore_errors=True)
        pathlib.Path(f"{folder}.used").unlink()


def _state(folder):
    files = sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
    # SQLite makes these two where a database is only read.
    files = [p for p in files if p != folder / STATE and not p.name.endswith(("-shm", "-wal"))]
    return "".join(f"{p.relative_to(folder)} {p.stat().st_size} {p.stat().st_mtime_ns}\n" for p in files)


@functools.cache
def _checked(folder):
    if _state(folder) != (folder / STATE).read_text():
        raise AssertionError(f"a test has changed a file that all tests share, in {folder}; remove that folder")
    return folder


def made(name, key, make):
    """Folder of entry `name`; make(folder) fills it where there is none of this key yet."""
    program = _program_folder()
    kept = program / f"{re.sub(r'[^A-Za-z0-9.-]+', '_', name)}-{key}"
    if not kept.exists():
        with _locked(f"{kept}.lock"):
            if not kept.exists():
                with tempfile.TemporaryDirectory(dir=program) as making:
                    folder = pathlib.Path(making) / "made"
                    folder.mkdir()
                    make(folder)
                    (folder / STATE).write_text(_state(folder))
                    folder.rename(kept)
    return _checked(kept)


def _run(*arguments, cwd):
    result = support.run(*arguments, cwd=cwd)
    if result.code != 0:
        raise AssertionError(f"xlatrace {' '.join(map(str, arguments))}: {result}")


def import_once(name, source, *options, key=None):
    """Path of the run.db of the recording at `source`; `name` is that of the entry. The database is named as
    the recording, up to its first dot. `key`, if given, stands for the content of the recording."""
    source = pathlib.Path(source)
    stem = source.name.split(".")[0]

    def make(folder):
        given = source
        with tempfile.TemporaryDirectory(prefix="xlatrace-e2e-") as unpacked:
            if source.suffix == ".xz":  # xlatrace promises no reader of it.
                given = pathlib.Path(unpacked) / source.name.removesuffix(".xz")
                given.write_bytes(lzma.decompress(source.read_bytes()))
            _run("import", given, *options, "-o", f"{stem}.db", cwd=folder)

    return made(name, hash_of([] if key else [source], [key, stem, *options]), make) / f"{stem}.db"


def imported_run(relative, *options):
    """Path of the run.db of a recording of the shared data, or the test is skipped."""
    return import_once(f"run.{relative}", support.require_data(relative), *options)


def merged_run(name, *databases):
    """Path of NAME.db, merged of runs that are kept here."""
    key = hash_of([], [name, *(d.parent.name for d in databases)])
    return made(f"merged.{name}", key, lambda folder: _run("merge", *databases, "-o", f"{name}.db", cwd=folder)) / f"{name}.db"


def page_of(database, base=None, *options):
    """Path of the page of a run that is kept here; its commands name the runs without their folders."""

    def make(folder):
        given = ()
        (folder / database.name).symlink_to(database)
        if base is not None:
            place = folder / "base" if base != database and base.name == database.name else folder
            place.mkdir(exist_ok=True)
            link = place / base.name
            if base != database:
                link.symlink_to(base)
            given = ("--base", link.relative_to(folder))
        _run("report", database.name, *given, *options, "-o", "page.html", cwd=folder)

    key = hash_of([], [database.parent.name, base and base.parent.name, *options])
    return made(f"page.{database.stem}", key, make) / "page.html"


def synthetic_run(launches, *options):
    """Path of the run.db of bench/big_run.py, beside the trace and the module that it was imported from."""
    script = support.REPOSITORY / "bench" / "big_run.py"

    def make(folder):
        subprocess.run([sys.executable, script, str(launches), folder, *options], check=True, timeout=support.HANG_S)
        _run("import", "trace.sqlite", "--modules", folder, "-o", "run.db", cwd=folder)

    return made(f"synthetic.{launches}", hash_of([script], [launches, *options]), make) / "run.db"


def without_annotations():
    """Path of the run.db of the synthetic run without module and NVTX ranges: no kernel has an instruction."""
    whole = synthetic_run(15_000)

    def make(folder):
        trace = shutil.copy(whole.with_name("trace.sqlite"), folder / "bare.sqlite")
        with contextlib.closing(sqlite3.connect(trace)) as db, db:
            db.execute("DELETE FROM NVTX_EVENTS")
        _run("import", "bare.sqlite", "-o", "bare.db", cwd=folder)

    return made("bare", hash_of([], [whole.parent.name]), make) / "bare.db"


def fleet_job(*arguments):
    """Path of the run.db of a merged job whose ranks the tool fleet_ranks makes (its arguments after the
    folder). The test is skipped if that tool is not built."""
    tool = os.environ.get("XLATRACE_FLEET_RANKS")
    if not tool:
        raise unittest.SkipTest("XLATRACE_FLEET_RANKS is not set")

    def make(folder):
        with tempfile.TemporaryDirectory(prefix="xlatrace-e2e-") as ranks:
            subprocess.run([tool, ranks, *map(str, arguments)], check=True, timeout=support.HANG_S)
            _run("merge", ranks, "-o", "job.db", cwd=folder)

    return made("fleet", hash_of([tool], arguments), make) / "job.db"


def key(inputs, python):
    """Key of a recording that this interpreter makes."""
    installed = pathlib.Path(os.path.abspath(python)).parents[1].glob("lib/python3*/site-packages/*.dist-info")
    return hash_of(inputs, [python, *sorted(map(str, installed))])


def copy(name, inputs, python, record, to):
    """A copy of recording `name`, in folder `to`; record(path) makes it where there is none."""
    kept = made(name, key(inputs, python), lambda folder: record(folder / name)) / name
    return pathlib.Path(shutil.copy(kept, pathlib.Path(to) / name))
