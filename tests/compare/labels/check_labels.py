#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the labels of this folder against the texts they speak of, and prints the counts.

usage: check_labels.py [FILE...]        (default: every *.txt beside this script)

XLATRACE_SHARED_DATA is the folder with the recordings; without it nothing is checked. Every named
instruction must exist exactly once in the named text, be in one label of its side, and do work. Every work
instruction of the computations that run must have a label. Exit status 1 otherwise."""

import collections
import pathlib
import re
import sys
import tarfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
import shared_data  # noqa: E402, in the folder of the components

# Opcodes that do nothing when the program runs: they have no label.
NO_WORK = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all"}
# Opcodes that run the instructions of their computations. (A fusion is labelled as a whole.)
RUNS = {"while", "conditional", "call", "async-start"}

COMPUTATION = re.compile(r"(ENTRY )?%?([\w.-]+)(?: \(.*)?(?: -> .*)? ?\{$")
INSTRUCTION = re.compile(r"\s+(?:ROOT )?%?([\w.-]+) = (?:\(.*?\)|\S+) ([a-z][a-z0-9-]*)\((.*)$")
CALLED = re.compile(
    r"(?:calls|to_apply|body|condition|true_computation|false_computation)=%?([\w.-]+)"
    r"|(?:branch_computations|called_computations)=\{([^}]*)\}")


def read_text(data, place):
    """{name: times} of all instructions, and the names that are work in what runs."""
    archive, member = place.split()
    with tarfile.open(data / archive) as tar:
        file = next(m for m in tar if m.name.lstrip("./") == member)
        lines = tar.extractfile(file).read().decode().splitlines()
    times, inside, called, entry, computation = collections.Counter(), {}, {}, None, None
    for line in lines:
        if found := COMPUTATION.match(line):
            computation = found[2]
            inside[computation], called[computation] = set(), set()
            entry = computation if found[1] else entry
        elif computation and (found := INSTRUCTION.match(line)):
            name, opcode, rest = found.groups()
            times[name] += 1
            if opcode not in NO_WORK:
                inside[computation].add(name)
            if opcode in RUNS:
                for one, many in CALLED.findall(rest):
                    called[computation] |= set((one or many).replace("%", "").split(", "))
    work, todo, seen = set(), [entry], set()
    while todo:
        computation = todo.pop()
        if computation not in seen:
            seen.add(computation)
            work |= inside[computation]
            todo += called[computation]
    return times, work


def read_labels(path):
    """({header key: value}, [(doubtful, names of a, names of b)])"""
    headers, labels = {}, []
    for line in path.read_text().splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        if words[0].endswith(":"):
            headers[words[0][:-1]] = " ".join(words[1:])
            continue
        doubtful = words[0] == "?"
        words = [w for w in words[doubtful:] if w != "+"]
        if words[0] == "-":
            labels.append((doubtful, [], words[1:]))
        elif words[-1] == "-":
            labels.append((doubtful, words[:-1], []))
        else:
            middle = words.index("=")
            labels.append((doubtful, words[:middle], words[middle + 1:]))
    return headers, labels


def check(path, data, texts):
    headers, labels = read_labels(path)
    errors = []
    for side, key in ((1, "a"), (2, "b")):
        place = headers[key]
        if place not in texts:
            texts[place] = read_text(data, place)
        times, work = texts[place]
        named = collections.Counter(name for label in labels for name in label[side])
        for name, count in named.items():
            if times[name] != 1:
                errors.append(f"{key}: the text has {name} {times[name]} times")
            elif name not in work:
                errors.append(f"{key}: {name} does no work, or its computation does not run")
            if count != 1:
                errors.append(f"{key}: {count} labels name {name}")
        errors += [f"{key}: no label names {name}" for name in sorted(work - set(named))]
    kinds = collections.Counter()
    for doubtful, a, b in labels:
        kinds["lost" if not b else "new" if not a else "one" if len(a) + len(b) == 2
              else "group"] += 1
        kinds["doubtful"] += doubtful
    return errors, kinds


def main():
    if not shared_data.find("own/jax-eras"):
        print(f"skipped: {shared_data.reason('own/jax-eras')}")
        return 77
    data = shared_data.FOLDER
    here = pathlib.Path(__file__).parent
    files = [pathlib.Path(name) for name in sys.argv[1:]] or sorted(here.glob("*.txt"))
    columns = ("one", "group", "lost", "new", "doubtful")
    print(f"{'file':44}" + "".join(f"{c:>10}" for c in columns))
    texts, total, failed = {}, collections.Counter(), False
    for path in files:
        errors, kinds = check(path, data, texts)
        total += kinds
        print(f"{path.name:44}" + "".join(f"{kinds[c]:>10}" for c in columns))
        for error in errors:
            failed = True
            print(f"  error: {error}")
    print(f"{'total':44}" + "".join(f"{total[c]:>10}" for c in columns))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
