# SPDX-License-Identifier: Apache-2.0
"""Recordings that several test files read, made once per build: to compile a training step takes longer
than to test what is exported of it.

They lie in the build's folder, under a hash of all that they come from: the program with its libraries
and Python files, the inputs, the interpreter and what is installed for it. Whoever wants one while
another process makes it waits; nobody sees half of one, and nobody gets more than a copy.
"""

import fcntl
import hashlib
import os
import pathlib
import shutil
import tempfile

import support


def _hash_of(paths, texts):
    digest = hashlib.sha256()
    for path in paths:
        data = path.read_bytes()
        digest.update(f"{path.name} {len(data)}\n".encode() + data)
    digest.update("\n".join(texts).encode())
    return digest.hexdigest()[:24]


def key(inputs, python):
    """Of a recording by this build's program and that interpreter."""
    program = pathlib.Path(support.PROGRAM).resolve()
    build = program.parents[1]
    ours = [program, *sorted(build.glob("lib/libxlatrace*.so")), *sorted(build.glob("share/xlatrace/**/*.py"))]
    installed = pathlib.Path(os.path.abspath(python)).parents[1].glob("lib/python3*/site-packages/*.dist-info")
    return _hash_of([*ours, *map(pathlib.Path, inputs)], [str(python), *sorted(map(str, installed))])


def copy(name, inputs, python, record, to):
    """A copy of recording `name`, in folder `to`; record(path) makes it where there is none."""
    folder = pathlib.Path(support.PROGRAM).resolve().parents[1] / "kept_runs"
    kept = folder / f"{key(inputs, python)}.{name}"
    folder.mkdir(exist_ok=True)
    # Free again when its holder ends, however it ends.
    with open(folder / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            with tempfile.TemporaryDirectory(dir=folder) as making:
                made = pathlib.Path(making) / name
                record(made)
                for old in folder.glob(f"*.{name}"):
                    old.unlink()
                made.replace(kept)
        return pathlib.Path(shutil.copy(kept, pathlib.Path(to) / name))
