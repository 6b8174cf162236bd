#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a simulated run in all formats, with its truth.

usage: simulate.py SEED FOLDER

FOLDER gets `nsight.sqlite`, `kineto.json`, `xplane.xplane.pb`, `own.rec/`, one of each per rank, and `truth.json`.
"""

import json
import pathlib
import sys

from machine import simulate
from recording import FORMATS, KINETO, NSIGHT, OWN, XPLANE, on_own_clock, record
from truth import truths_of
from write_kineto import write_kineto
from write_nsight import write_nsight
from write_own import write_own
from write_xplane import write_xplane

WRITERS = {NSIGHT: (write_nsight, "nsight{}.sqlite"), KINETO: (write_kineto, "kineto{}.json"),
           XPLANE: (write_xplane, "xplane{}.xplane.pb"), OWN: (write_own, "own.rec")}


def write_format(run, format, folder):
    """The inputs for `xlatrace import`, and the truth."""
    write, name = WRITERS[format]
    paths, recordings = [], [record(run, process, format) for process in run.processes]
    for process, recording in zip(run.processes, recordings):
        path = pathlib.Path(folder) / name.format(process.rank if len(run.processes) > 1 else "")
        write(on_own_clock(recording, run.plan), path)
        paths.append(path)
    truths, job = truths_of(recordings)
    return list(dict.fromkeys(paths)), {"format": format, "processes": truths, "job": job}


def write_run(seed, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    run = simulate(seed)
    written = {format: write_format(run, format, folder) for format in FORMATS}
    (folder / "truth.json").write_text(json.dumps([truth for _, truth in written.values()], indent=1))
    return run, written


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write_run(int(sys.argv[1]), sys.argv[2])
