#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the answer of xlatrace with the labels of labels.toml (README.md).

    tests/judgement/check_labels.py --xlatrace build/release/bin/xlatrace [--half develop] [--only ID]

Prints hits per half, and each label that is missed. Exit status 1 if a label of the chosen half is missed.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE.parent))
import shared_data  # noqa: E402

# Before imports of recordings end; a hang must not stop all labels.
LIMIT_S = 300


def half_of(label):
    """The half is decided by the hash of the program, so that variants of a program share it."""
    return "develop" if hashlib.sha256(label["id"].encode()).digest()[0] % 2 == 0 else "held_out"


def recorded(xlatrace, label, folder):
    """The run.db of a label; None if its input or interpreter is not on this machine."""
    run = folder / f"{len(list(folder.iterdir()))}.db"
    if "input" in label:
        source = shared_data.find(label["input"])
        command = [xlatrace, "import", str(source), "-o", str(run)]
    else:
        python = os.environ.get("XLATRACE_TEST_PYTHON_JAX")
        inside = ROOT / label["program"]
        source = inside if inside.exists() else shared_data.find(label["program"])
        if not python:
            return None
        command = [xlatrace, "record", "-o", str(run), "--", python, str(source)]
    if source is None:
        return None
    # The exit status of `record` is that of the program, so that the file is what counts.
    subprocess.run(command, check=False, capture_output=True, timeout=LIMIT_S, cwd=folder)
    return run if run.exists() else None


def matches(part, whole_ns, wanted):
    """Why a part of the answer is not the wanted one; None: it is."""
    pct = 100 * part["ns"] / max(whole_ns, 1)
    low, high = wanted.get("pct", [0, 100])
    if not low <= pct <= high:
        return f"{part['kind']} {part['name']} is {pct:.1f} %"
    if "kinds" in wanted and part["kind"] not in wanted["kinds"]:
        return f"kind {part['kind']}"
    if "phase" in wanted and part["phase"] != wanted["phase"]:
        return f"phase {part['phase']}"
    text = " ".join(str(part[key]) for key in ("name", "op_kind", "phase", "source_file") if part[key])
    if "name" in wanted and not re.search(wanted["name"], text):
        return f"name {text!r}"
    return None


def missed(answer, wanted):
    """Why no part on the path of one answer is the wanted one; None: one is."""
    if answer is None:
        return "no sentence"
    if "step_ms" in wanted and not wanted["step_ms"][0] <= answer["whole_ns"] / 1e6 <= wanted["step_ms"][1]:
        return f"a step of {answer['whole_ns'] / 1e6:.2f} ms"
    # The sentence names the last part of the path, and its place by the parts before it.
    named = [*answer["path"][1:], answer["beside"], answer["largest_inside"]]
    named = [part for part in named if part]
    reasons = [matches(part, answer["whole_ns"], wanted) for part in named]
    return None if None in reasons else "; ".join(dict.fromkeys(reasons))


def faults(label, summary, text):
    """All differences between a label and the answer."""
    answer = summary["answer"]
    found = []
    for key in ("run", "step"):
        if key in label and (reason := missed(answer[key], label[key])):
            found.append(f"{key}: {reason}")
    if "either" in label:
        reasons = [missed(answer[key], label["either"]) for key in ("run", "step")]
        if None not in reasons:
            found.append(f"run: {reasons[0]}; step: {reasons[1]}")
    if label.get("no_run") and answer["run"] is not None:
        found.append("the run sentence is not needed")
    screen = " ".join(text.split())
    for pattern in label.get("forbidden", []):
        if match := re.search(pattern, screen):
            found.append(f"forbidden: {match.group(0)!r}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--xlatrace", default=os.environ.get("XLATRACE_BIN", "xlatrace"))
    parser.add_argument("--half", choices=["develop", "held_out", "both"], default="both")
    parser.add_argument("--only", help="labels whose id has this text")
    parser.add_argument("--counts", action="store_true", help="print no label, only hits per half")
    arguments = parser.parse_args()
    labels = tomllib.loads((HERE / "labels.toml").read_text())["label"]
    counts = {"develop": [0, 0, 0], "held_out": [0, 0, 0]}  # Hits, labels, skipped.
    forbidden = 0
    xlatrace = str(Path(arguments.xlatrace).resolve()) if "/" in arguments.xlatrace else arguments.xlatrace
    with tempfile.TemporaryDirectory() as place:
        for label in labels:
            half = half_of(label)
            if arguments.half not in ("both", half) or (arguments.only or "") not in label["id"]:
                continue
            run = recorded(xlatrace, label, Path(place))
            if run is None:
                counts[half][2] += 1
                continue
            text = subprocess.run([xlatrace, "summary", str(run)], check=True, capture_output=True, text=True).stdout
            data = subprocess.run(
                [xlatrace, "summary", "--format", "json", str(run)], check=True, capture_output=True, text=True
            ).stdout
            summary = json.loads(data)
            found = faults(label, summary, text)
            counts[half][1] += 1
            counts[half][0] += not found
            forbidden += any(fault.startswith("forbidden") for fault in found)
            if found and not arguments.counts:
                source = label.get("input", label.get("program"))
                print(f"{half} {label['id']} ({Path(source).name})")
                print(f"  answer: {summary['verdict']['sentence']}")
                for fault in found:
                    print(f"  {fault}")
    for half, (hits, count, skipped) in counts.items():
        print(f"{half}: {hits} of {count} labels hit" + (f", {skipped} skipped" if skipped else ""))
    print(f"forbidden statements: {forbidden}")
    chosen = [half for half in counts if arguments.half in ("both", half)]
    return int(any(counts[half][0] < counts[half][1] for half in chosen))


if __name__ == "__main__":
    sys.exit(main())
