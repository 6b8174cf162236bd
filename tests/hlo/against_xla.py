#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Texts with one token changed, given to XLA's own parser (jaxlib's) and to ours: who refuses what.

    against_xla.py [--count N] [--seed S] [--keep FOLDER] TEXT...

Run by a Python with jaxlib; the program is XLATRACE_BIN. Prints the texts that one accepts and the other
rejects, grouped by change and message. XLA's parser also infers shapes and counts operands, which ours
leaves to the compiler, so not every line is a fault. A text that ends XLA's parser (it has CHECKs) has no
message and is counted."""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("XLATRACE_BIN", str(REPOSITORY / "build/release/bin/xlatrace"))

WORKER = """
import sys
from jaxlib import _hlo
for line in sys.stdin:
    try:
        _hlo.hlo_module_from_text(open(line.strip(), encoding="utf-8").read())
        said = ""
    except Exception as error:
        said = " ".join(str(error).split())[:600] or "refused"
    sys.stdout.write(said + "\\n")
    sys.stdout.flush()
"""

TOKEN = re.compile(
    r'/\*.*?\*/|"(?:\\.|[^"\\])*"|->|[A-Za-z_%][\w.%:-]*=?|-?\d[\w.+]*|\s+|.', re.DOTALL
)
NUMBERS = [
    "0", "1", "-1", "2", "7", "64", "127", "128", "255", "256", "-128", "-129", "32767", "65536",
    "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "18446744073709551615", "18446744073709551616", "1.5", "-0", "-0.0", "1e5", "1e400", "1e-400",
    "3.40282347e+38", "3.5e38", "65504", "65520", "inf", "-inf", "nan", "-nan", "0x1F", "1_000", "007",
    "true", "false", ".5", "5.", "+1", "1x1", "_", "?", "nan(0x1)", "-nan(0x7)",
]
SIGNS = list("{}()[],=:*/<>+-~?#@;|\"'\\") + ["->", "..."]


def words(texts):
    """Words by what they follow, so that one is replaced by its like."""
    known = collections.defaultdict(set)
    for text in texts:
        before = ""
        for token in TOKEN.findall(text):
            if token.isspace():
                continue
            if re.match(r"[A-Za-z]", token):
                known[before if before.endswith("=") else ""].add(token)
            before = token
    return {key: sorted(value) for key, value in known.items()}


def mutate(text, known, chance):
    """(changed text, what was done)."""
    tokens = TOKEN.findall(text)
    places = [i for i, token in enumerate(tokens) if not token.isspace()]
    i = chance.choice(places)
    token = tokens[i]
    kind = chance.randrange(10)
    if kind == 0:
        what, tokens[i] = f"without {token}", ""
    elif kind == 1:
        what, tokens[i] = f"twice {token}", token + " " + token
    elif kind == 2:
        sign = chance.choice(SIGNS)
        what, tokens[i] = f"{sign} before {token}", sign + token
    elif kind == 3:
        j = chance.choice(places)
        what = f"{token} and {tokens[j]} swapped"
        tokens[i], tokens[j] = tokens[j], token
    elif kind == 4:
        what, tokens[i] = f"a blank in {token}", token[: len(token) // 2] + " " + token[len(token) // 2 :]
    elif re.match(r"-?\d", token):
        number = chance.choice(NUMBERS)
        what, tokens[i] = f"{number} for {token}", number
    elif re.match(r"[A-Za-z]", token):
        before = next((tokens[j] for j in reversed(places) if j < i), "")
        key = before if before.endswith("=") else ""
        choice = chance.randrange(4)
        if choice == 0:
            word = token[:-1] + "x" + token[-1:]
        elif choice == 1:
            word = token.swapcase()
        else:
            word = chance.choice(known.get(key) or known[""])
        what, tokens[i] = f"{word} for {token}", word
    else:
        sign = chance.choice(SIGNS + NUMBERS[:4])
        what, tokens[i] = f"{sign} for {token}", sign
    return "".join(tokens), what


def of_xla(paths):
    """The verdict of XLA's parser on each text: "" accepts, None: the parser ended."""
    said = []
    while len(said) < len(paths):
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )
        rest = paths[len(said) :]
        # One at a time: what ended the parser is the one that has no answer.
        for path in rest:
            try:
                worker.stdin.write(f"{path}\n")
                worker.stdin.flush()
                line = worker.stdout.readline()
            except BrokenPipeError:
                line = ""
            if not line:
                said.append(None)
                break
            said.append(line[:-1])
        worker.kill()
        worker.wait()
    return said


def of_us(paths):
    result = subprocess.run(
        [PROGRAM, "explain", "--files-from", "-", "--format", "json"],
        input="\n".join(map(str, paths)) + "\n", capture_output=True, text=True, check=False,
    )
    lines = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    assert len(lines) == len(paths), (len(lines), len(paths), result.stderr)
    return ["" if row["ok"] and row.get("instructions") else row.get("error") or "not HLO"
            for row in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("texts", nargs="+", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=20000, help="changed texts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=20000, help="bytes of a text")
    parser.add_argument("--keep", type=pathlib.Path, help="where texts of which they differ go")
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    seeds = {}
    for path in arguments.texts:
        text = path.read_text(errors="replace")
        if len(text) <= arguments.limit:
            seeds[path] = text
    with tempfile.TemporaryDirectory(prefix="xlatrace-against-") as folder:
        place = pathlib.Path(folder)

        def compare(texts):
            paths = []
            for number, text in enumerate(texts):
                path = place / f"t{number}.hlo"
                path.write_text(text)
                paths.append(path)
            return zip(of_xla(paths), of_us(paths))

        whole, _both = [], 0
        for path, (theirs, ours) in zip(seeds, compare(seeds.values())):
            if theirs == "" and ours == "":
                whole.append(path)
            elif (theirs == "") != (ours == ""):
                print(f"unchanged, {'we' if ours else 'XLA'} refuse: {path}: {ours or theirs}")
        print(f"{len(whole)} of {len(seeds)} texts are read by both")
        known = words(seeds[path] for path in whole)
        changed = []
        for _ in range(arguments.count):
            path = chance.choice(whole)
            changed.append((path, *mutate(seeds[path], known, chance)))
        counts = collections.Counter()
        differ = collections.defaultdict(list)
        for (path, text, what), (theirs, ours) in zip(changed, compare(c[1] for c in changed)):
            if theirs is None:
                counts["ended XLA's parser"] += 1
            elif (theirs == "") == (ours == ""):
                counts["both accept" if ours == "" else "both refuse"] += 1
            else:
                side = "we refuse" if ours else "we accept"
                counts[side + " alone"] += 1
                first = re.search(r"error: (.*)", ours or theirs)
                message = first.group(1) if first else ours or theirs
                message = re.sub(r"\d+", "N", re.sub(r"'[^']*'|\"[^\"]*\"", "'..'", message))
                differ[side, message[:50]].append((path, text, what, ours or theirs))
        print(dict(counts))
        for (side, message), cases in sorted(differ.items(), key=lambda row: (row[0][0], -len(row[1]))):
            print(f"{side}, {len(cases)} x: {message}")
            for path, text, what, said in cases[:3]:
                print(f"    {path.name}: {what!r}: {said[:240]!r}")
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            for (side, message), cases in differ.items():
                for number, (path, text, what, said) in enumerate(cases[:20]):
                    name = f"{side.split()[1]}-{abs(hash(message)) % 10**6}-{number}.hlo"
                    (arguments.keep / name).write_text(f"// {path.name}: {what!r}: {said}\n{text}")


if __name__ == "__main__":
    main()
