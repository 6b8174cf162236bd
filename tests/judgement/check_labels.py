#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the answer of xlatrace with the labels of labels.toml (README.md).

    tests/judgement/check_labels.py --xlatrace build/release/bin/xlatrace [--half develop] [--only ID]

Prints hits per half and kind, and each label that is missed. Exit status 1 if a label of the chosen half is missed.
"""

import argparse
import collections
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE.parent))
sys.path[1:1] = [str(HERE), str(HERE / "simulate")]
import shared_data  # noqa: E402
from planted import as_labels, running  # noqa: E402
from labels_of_runs import simulated  # noqa: E402

# Before imports of recordings end; a hang must not stop all labels.
LIMIT_S = 300
HALVES = ("develop", "held_out")
# The rows of the report: groups of kinds of the time tree.
GROUPS = {
    "computation": "op computation phase", "communication": "exposed_collective wait transfer",
    "copies": "exposed_copy copy_wait", "idle": "idle dispatch launch dependency unknown",
    "host": "host input io lock gc sleep contention", "runtime calls": "sync alloc",
    "compilation": "compile recompilation trace lower passes codegen autotune cache load",
    "startup": "startup import backend_start data first_execution",
    "between steps": "steps step between_steps evaluation checkpoint pause call between_calls", "shutdown": "shutdown",
}
GROUP_OF = {kind: group for group, kinds in GROUPS.items() for kind in kinds.split()}


def half_of(label):
    """The half is decided by the hash of the program, so that variants of a program share it."""
    return "develop" if hashlib.sha256(label["id"].encode()).digest()[0] % 2 == 0 else "held_out"


def source_of(label, folder):
    """The file that a label names; None if it is not on this machine."""
    if "program" in label:
        inside = ROOT / label["program"]
        return inside if inside.exists() else shared_data.find(label["program"])
    source = shared_data.find(label["input"])
    if source is None or "member" not in label:
        return source
    with tarfile.open(source) as archive:
        names = {name.removeprefix("./"): name for name in archive.getnames()}
        path = folder / Path(label["member"]).name
        path.write_bytes(archive.extractfile(names[label["member"]]).read())
    return path


def record(command, run, folder):
    # The exit status of `record` is that of the program, so that the file is what counts.
    done = subprocess.run(command, check=False, capture_output=True, timeout=LIMIT_S, cwd=folder, text=True,
                          env={**os.environ, "JAX_PLATFORMS": "cpu"})
    if not run.exists():
        raise RuntimeError((done.stderr.strip().splitlines() or ["no recording"])[-1])
    return run


def recorded(xlatrace, label, folder):
    """The run.db of a label; None if its input or interpreter is not on this machine."""
    run = folder / "run.db"
    if run.exists():
        return run
    source = source_of(label, folder)
    if source is None:
        return None
    if "input" in label:
        return record([xlatrace, "import", str(source), "-o", str(run)], run, folder)
    tensorflow = "tensorflow" in source.parts
    python = os.environ.get("XLATRACE_TEST_PYTHON_TF" if tensorflow else "XLATRACE_TEST_PYTHON_JAX")
    command = [xlatrace, "record", "-o", str(run), "--", python, str(source), *label.get("arguments", [])]
    return record(command, run, folder) if python else None


def recorded_program(xlatrace, folder):
    run = folder / "run.db"
    command = [xlatrace, "record", "-o", str(run), "--", running.jax_python(), "program.py"]
    return run if run.exists() else record(command, run, folder)


def imported_simulation(xlatrace, folder, seed, format):
    """(label, run.db) of a simulated run; (None, None) if it has no clear answer."""
    inputs = folder / "inputs"
    shutil.rmtree(inputs, ignore_errors=True)
    inputs.mkdir()
    made = simulated(seed, format, inputs)
    if made is None:
        return None, None
    run = folder / "run.db"
    label, paths = made
    command = [xlatrace, "import", *map(str, paths), "-o", str(run)]
    return label, run if run.exists() else record(command, run, folder)


def matches(part, whole_ns, wanted):
    """Reason why a part of the answer is not the expected one; None: it is."""
    pct = 100 * part["ns"] / max(whole_ns, 1)
    low, high = wanted.get("pct", [0, 100])
    if not low <= pct <= high:
        return f"{part['kind']} {part['name']} is {pct:.1f} %"
    if "kinds" in wanted and part["kind"] not in wanted["kinds"]:
        return f"kind {part['kind']}"
    if "phase" in wanted and part["phase"] != wanted["phase"]:
        return f"phase {part['phase']}"
    place = f"{part['source_file']}:{part['source_line']}" if part["source_file"] else ""
    text = " ".join(str(value) for value in (part["name"], part["op_kind"], part["phase"], place) if value)
    if "name" in wanted and not re.search(wanted["name"], text):
        return f"name {text!r}"
    return None


def parts_of(answer):
    """The parts that a sentence names. It names the last part of the path, and its place by the parts before it."""
    return [part for part in [*answer["path"][1:], answer["beside"], answer["largest_inside"]] if part]


def missed(answer, wanted):
    """Reason why no part on the path of one answer is the expected one; None: one is."""
    if answer is None:
        return "no sentence"
    if "step_ms" in wanted and not wanted["step_ms"][0] <= answer["whole_ns"] / 1e6 <= wanted["step_ms"][1]:
        return f"a step of {answer['whole_ns'] / 1e6:.2f} ms"
    reasons = [matches(part, answer["whole_ns"], wanted) for part in parts_of(answer)]
    return None if None in reasons else "; ".join(dict.fromkeys(reasons))


def first_action(summary):
    """Title and advice of the first finding; empty if the answer has none."""
    first = summary["findings"][:1]
    return " ".join(str(finding[key]) for finding in first for key in ("title", "action"))


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
    if "action" in label and not re.search(label["action"], first_action(summary)):
        found.append(f"action: {first_action(summary) or 'none'!r}")
    if summary["findings"] and summary["findings"][0]["id"] in label.get("not_first", []):
        found.append(f"action: {first_action(summary)!r}")
    if "line" in label and not re.search(label["line"], screen):
        found.append("line: the first screen does not have it")
    for pattern in label.get("forbidden", []):
        if match := re.search(pattern, screen):
            found.append(f"forbidden: {match.group(0)!r}")
    return found


def answered(summary, level):
    """The group of the node that a sentence ends at."""
    answer = summary["answer"][level]
    return GROUP_OF.get(answer["path"][-1]["kind"], "none") if answer else "none"


def groups_of(label, summary):
    """(right, answered) groups of the main sentence of a label."""
    level = "step" if "step" in label else "run" if "run" in label else None
    wanted = label.get("step") or label.get("run") or label.get("either") or {}
    kinds = wanted.get("kinds", [])
    if level is None:
        given = [answered(summary, key) for key in ("step", "run")]
        right = [group for group in given if group in {GROUP_OF.get(kind) for kind in kinds}]
        got = (right or [group for group in given if group != "none"] or ["none"])[0]
    else:
        got = answered(summary, level)
    named = {GROUP_OF.get(kind) for kind in kinds}
    return (got if not kinds or got in named else GROUP_OF.get(kinds[0], "none")), got


class Report:
    """Hits, misses and false alarms per half and group."""

    def __init__(self):
        self.labels = {half: collections.Counter() for half in HALVES}
        self.groups = {half: collections.defaultdict(collections.Counter) for half in HALVES}

    def add(self, half, label, summary, found):
        count = self.labels[half]
        count["labels"] += 1
        count["hits"] += not found
        count["forbidden"] += any(fault.startswith("forbidden") for fault in found)
        has_action = "action" in label or "not_first" in label
        count["with action"] += has_action
        count["actions"] += has_action and not any(fault.startswith("action") for fault in found)
        sentence = [fault for fault in found if fault.startswith(("run", "step"))]
        count["sentences"] += not sentence
        wanted, got = groups_of(label, summary)
        self.groups[half][wanted]["misses" if sentence else "hits"] += 1
        if sentence and got not in (wanted, "none"):
            self.groups[half][got]["false alarms"] += 1

    def print(self):
        names = ("hits", "misses", "false alarms")
        print(f"{'kind':16}" + "".join(f"{half + ': ' + ', '.join(names):>40}" for half in HALVES))
        for group in [*GROUPS, "none"]:
            if any(self.groups[half][group] for half in HALVES):
                row = ["{:>6} {:>6} {:>6}".format(*(self.groups[half][group][name] for name in names)) for half in HALVES]
                print(f"{group:16}" + "".join(f"{text:>40}" for text in row))
        for half, count in self.labels.items():
            print(f"{half}: {count['hits']} of {count['labels']} labels hit, {count['sentences']} with right sentences, "
                  f"{count['actions']} of {count['with action']} first actions right"
                  + (f", {count['skipped']} skipped" if count["skipped"] else ""))
        print(f"forbidden statements: {sum(count['forbidden'] for count in self.labels.values())}")


def all_labels(tables, place):
    """(name, half, folder, true if it is a program, function that makes its run.db) for each label and planted program."""
    for label in tables["label"]:
        source = label.get("member", label.get("input", label.get("program")))
        kept = place / f"{label['id']}-{hashlib.sha256(source.encode()).hexdigest()[:8]}"
        yield label["id"], half_of(label), kept, "program" in label, lambda xlatrace, folder, label=label: (label, recorded(xlatrace, label, folder))
    for entry in tables.get("simulated", []):
        for seed in range(*entry["seeds"]):
            for format in entry["formats"]:
                name = f"simulated {format} {seed}"
                yield name, half_of({"id": f"simulated {seed}"}), place / name.replace(" ", "-"), False, (
                    lambda xlatrace, folder, given=(seed, format): imported_simulation(xlatrace, folder, *given))
    for entry in tables.get("planted", []):
        for name, generator, cause, seed, half in as_labels.programs(entry):
            def run(xlatrace, folder, given=(generator, cause, seed)):
                truth = as_labels.truth_of(*given, folder, running.jax_python())
                label = as_labels.label_of(given[0], truth)
                return (label, recorded_program(xlatrace, folder)) if label else (None, None)
            yield name, half, running.folder_of(place, *name.rsplit(" ", 1)), True, run


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--xlatrace", default=os.environ.get("XLATRACE_BIN", "xlatrace"))
    parser.add_argument("--half", choices=[*HALVES, "both"], default="both")
    parser.add_argument("--only", default="", help="labels whose id has this text")
    parser.add_argument("--counts", action="store_true", help="print no label, only hits per half")
    parser.add_argument("--no-record", action="store_true", help="leave out programs without a kept recording")
    parser.add_argument("--keep", type=Path, help="folder for programs and recordings, used again if present")
    arguments = parser.parse_args()
    tables = tomllib.loads((HERE / "labels.toml").read_text())
    xlatrace = str(Path(arguments.xlatrace).resolve()) if "/" in arguments.xlatrace else arguments.xlatrace
    report = Report()
    with tempfile.TemporaryDirectory() as temporary:
        place = (arguments.keep or Path(temporary)).resolve()
        for name, half, folder, is_program, made in all_labels(tables, place):
            if arguments.half not in ("both", half) or arguments.only not in name:
                continue
            if arguments.no_record and is_program and not (folder / "run.db").exists():
                report.labels[half]["skipped"] += 1
                continue
            folder.mkdir(parents=True, exist_ok=True)
            try:
                label, run = made(xlatrace, folder)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"{name}: skipped, {str(error).splitlines()[0]}", flush=True)
                run = None
            if run is None:
                report.labels[half]["skipped"] += 1
                continue
            printed = [subprocess.run([xlatrace, "summary", *options, str(run)], check=True, capture_output=True,
                                      text=True).stdout for options in ([], ["--format", "json"])]
            summary = json.loads(printed[1])
            found = faults(label, summary, printed[0])
            report.add(half, label, summary, found)
            if found and not arguments.counts:
                print(f"{half} {name} ({Path(label.get('input', label.get('program', ''))).name or 'made here'})")
                print(f"  answer: {summary['verdict']['sentence']}")
                for fault in found:
                    print(f"  {fault}", flush=True)
    report.print()
    chosen = [half for half in HALVES if arguments.half in ("both", half)]
    return int(any(report.labels[half]["hits"] < report.labels[half]["labels"] for half in chosen))


if __name__ == "__main__":
    sys.exit(main())
