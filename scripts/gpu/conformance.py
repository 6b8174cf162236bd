# SPDX-License-Identifier: Apache-2.0
"""CUPTI's records of a fixed program, compared with those of the fake GPU."""

import glob
import json
import os
import pathlib
import re
import sys

from gpu.machine import Skip, expect

FAKE_GPU = pathlib.Path(__file__).resolve().parents[2] / "tests" / "fake_gpu"
# The fake GPU's records of the conformance check's program: one line of each shape.
REFERENCE = FAKE_GPU / "conformance.shape"
# Sizes of records by release, derived from NVIDIA's headers.
LAYOUTS = FAKE_GPU / "layouts.json"


def shape_of(line):
    """Words stay; ids, times and sizes are a machine's own."""
    if line.startswith("returns\t"):
        return line.replace("\t", " ")
    if line.startswith("completed\t"):  # In the flush or by a thread of CUPTI's: either will do.
        return "completed"
    words = [word for word in line.split("\t")[:5] if not re.fullmatch(r"[\dx.]*", word)]
    return " ".join(words)


def packed_or_built(machine, path):
    packed = machine.prefix / "share" / path.name
    return packed if packed.exists() else path


def check_sizes(machine, lines):
    """Records have the size in NVIDIA's headers of that release, or are larger than all known ones."""
    words = [line.split("\t") for line in lines]
    (version,) = (int(word[1]) for word in words if word[0] == "version")
    path = packed_or_built(machine, LAYOUTS)
    if not path.exists():
        return
    layouts = {int(api): kinds for api, kinds in json.loads(path.read_text()).items()}
    known = layouts.get(version) or layouts.get(version // 100 * 100 + 1)
    newest = layouts[max(layouts)]
    for _, kind, size in (word for word in words if word[0] == "size"):
        if known and kind in known:
            expected = known[kind]["bytes"]
            expect(int(size) == expected, f"kind {kind} has {size} bytes, not {expected}")
        elif version > max(layouts) and kind in newest:
            expected = newest[kind]["bytes"]
            expect(int(size) >= expected, f"kind {kind} has {size} bytes, less than {expected}")


def check_order(lines):
    """Calls come one after the other, and every kernel has the number of its call."""
    calls, inside = [], None
    for line in lines:
        words = line.split("\t")
        if words[0] != "callback":
            continue
        _, _, _, site, name, correlation, *_ = words
        expect((site == "enter") == (inside is None), f"{site} of {name} inside {inside}")
        if site == "enter":
            calls.append(int(correlation))
            inside = (name, correlation)
        else:
            expect(inside == (name, correlation), f"exit of {name} {correlation} in {inside}")
            inside = None
    kernels = [line.split("\t") for line in lines if line.startswith("kernel\t")]
    kernels.sort(key=lambda words: int(words[6]))
    expect([int(words[2]) for words in kernels] == calls, "kernels and calls do not pair in order")


def conformance(machine):
    """CUPTI's records of a fixed program, for a comparison with those of the fake GPU."""
    client = machine.prefix / "fake_gpu" / "fake_gpu_client.so"
    if not client.exists():
        raise Skip(f"not built: {client}")
    place = machine.place()
    folders = [os.environ.get("LD_LIBRARY_PATH", "")]
    for entry in sys.path:
        folders += glob.glob(glob.escape(entry) + "/nvidia/*/lib")
    done, _ = machine.small(
        "start(); m = module(); f = function(m, 'k')\nlaunch(f, 20); sync(); launch(f, 5); sync()\n",
        traced=False,
        place=place,
        CUDA_INJECTION64_PATH=client,
        CLIENT_LOG=place / "log",
        LD_LIBRARY_PATH=":".join(folder for folder in folders if folder),
    )
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr[-300:]}")
    logs = list(place.glob("log.*.tsv"))
    expect(logs, "the client wrote no log")
    lines = logs[0].read_text().splitlines()
    # Names and kinds in their order; ids, times and threads are a machine's own.
    shape = [shape_of(line) for line in lines]
    if machine.out:
        (machine.out / "conformance.tsv").write_text("\n".join(lines) + "\n")
        (machine.out / "conformance.shape").write_text("\n".join(shape) + "\n")
    kernels = sum(line.split("\t")[0] == "kernel" for line in lines)
    expect(kernels == 25, f"{kernels} of 25 kernels in the log")
    check_order(lines)
    check_sizes(machine, lines)
    reference = packed_or_built(machine, REFERENCE)
    if not reference.exists():
        return f"{len(lines)} lines; no log of the fake to compare with"
    theirs = sorted(set(reference.read_text().splitlines()))
    ours = sorted(set(shape))
    here, there = (sorted(set(one) - set(two)) for one, two in ((ours, theirs), (theirs, ours)))
    # A real CUPTI may differ in harmless ways: those are read, and the fake follows.
    expect(
        machine.fake is False or ours == theirs, f"only here: {here}, only of the fake: {there}"
    )
    if ours != theirs:
        return f"LOOK: only here: {here}, only of the fake: {there}; sizes as NVIDIA's headers say"
    return f"{len(lines)} lines of {len(ours)} kinds, as the fake's; sizes as NVIDIA's headers say"
