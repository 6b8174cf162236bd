# SPDX-License-Identifier: Apache-2.0
"""Runs a generated program and reads the JSON that it prints as its last line."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time
import zlib

MAX_SECONDS = 300  # for hangs only


def jax_python():
    """The interpreter that has JAX."""
    beside = pathlib.Path(__file__).resolve().parents[3] / ".venv/jax/bin/python"
    return os.environ.get("XLATRACE_TEST_PYTHON_JAX") or (str(beside) if beside.exists() else sys.executable)


def folder_of(root, cause, seed):
    """The folder of a program. Its name has no word of the cause, because answers print paths."""
    return root / f"p{zlib.crc32(f'{cause} {seed}'.encode()):08x}"


def has_module(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


@contextlib.contextmanager
def busy_processes(count):
    """`count` other processes that compute without end."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        if started:
            time.sleep(0.2)
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def run(command, folder, *, environment=None, busy=0):
    """(exit status, standard output, standard error, seconds) of a command in `folder`."""
    began = time.perf_counter()
    variables = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})}
    with busy_processes(busy):
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True,
                              errors="replace", stdin=subprocess.DEVNULL, timeout=MAX_SECONDS)
    return done.returncode, done.stdout, done.stderr, time.perf_counter() - began


def last_json(output):
    """The object in the last line of the output that holds one, or None."""
    for line in reversed(output.splitlines()):
        if line.startswith("{") and line.endswith("}"):
            with contextlib.suppress(json.JSONDecodeError):
                return json.loads(line)
    return None


def measured(python, folder, **options):
    """The JSON of `program.py` in `folder`."""
    status, output, errors, seconds = run([python, "program.py"], folder, **options)
    figures = last_json(output)
    if status or figures is None:
        raise RuntimeError(f"{folder}/program.py: exit status {status}\n{errors[-3000:]}")
    figures["process_s"] = round(seconds, 3)
    return figures
