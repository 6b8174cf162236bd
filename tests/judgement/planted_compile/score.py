#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records planted compile programs with xlatrace and counts the right answers.

An answer is right if one place has the function, one of its lines, the kind of the cause, and its argument. A place is
the sentences of `summary`, or a row of `summary --by compile`.
"""

import argparse
import collections
import json
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from build import CAUSES, Plan  # noqa: E402
from make import cache_of, make, prepare  # noqa: E402
from planted.product import Answers, all_rows, names_function, names_line, names_text, names_word  # noqa: E402
from planted.running import folder_of, jax_python  # noqa: E402

MAX_ROWS = 10  # per table


def seeds_of(text):
    """`2`, or `2:7` for the seeds 2 to 6."""
    first, _, end = text.partition(":")
    return range(int(first), int(end) if end else int(first) + 1)


def found_in(truth, part):
    """The facts of the truth that a sentence or row has."""
    facts = set()
    if any(names_function(part, name) for name in truth["functions"]):
        facts.add("function")
    if any(names_line(part, p["file"], p["first_line"], p["last_line"]) for p in truth["places"]):
        facts.add("line")
    if names_word(part, truth["words"]):
        facts.add("kind")
    if not truth["arguments"] or any(names_text(part, text) for text in truth["arguments"]):
        facts.add("argument")
    return facts


FACTS = ("function", "line", "kind", "argument")


def judged(truth, answers):
    """(right, facts of the best part, its place)."""
    parts = [("sentence", answers.sentences)]
    parts += [(f"row {number + 1}", row) for rows in all_rows(answers.table) for number, row in enumerate(rows[:MAX_ROWS])]
    best = max(parts, key=lambda part: len(found_in(truth, part[1])))
    facts = found_in(truth, best[1])
    return len(facts) == len(FACTS) and not answers.status, facts, best[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--xlatrace", required=True)
    parser.add_argument("--causes", nargs="+", default=list(CAUSES), choices=CAUSES)
    parser.add_argument("--seeds", type=seeds_of, default=range(2), help="A:B; 0 and 1 are for development")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for programs and recordings, used again if present")
    parser.add_argument("--python", default=jax_python())
    parser.add_argument("--require", type=float, default=0.0, help="least percentage of right answers")
    parser.add_argument("--counts", action="store_true", help="print hits per cause and no program")
    options = parser.parse_args()
    xlatrace = str(pathlib.Path(options.xlatrace).resolve())
    root = options.keep.resolve() if options.keep else pathlib.Path(tempfile.mkdtemp(prefix="planted_compile."))
    count, hits = collections.Counter(), collections.Counter()
    for cause in options.causes:
        begun = count["all"]
        for seed in options.seeds:
            folder = folder_of(root, cause, seed)
            if (folder / "truth.json").exists():
                truth = json.loads((folder / "truth.json").read_text())
                prepare(Plan(cause, seed), folder, options.python)
            else:
                truth = make(cause, seed, folder, options.python)
            answers = Answers(xlatrace, options.python, folder, "compile", environment=cache_of(folder))
            right, facts, where = judged(truth, answers)
            count["all"] += 1
            count["right"] += right
            hits[cause] += right
            count.update(facts)
            if options.counts:
                continue
            lacks = ", ".join(fact for fact in FACTS if fact not in facts)
            places = ", ".join(f"{p['file']}:{p['first_line']}" for p in truth["places"])
            print(f"{cause} {seed}: {'right' if right else 'WRONG'}, {where}{', lacks ' + lacks if lacks else ''}"
                  f"{', exit status ' + str(answers.status) if answers.status else ''}; truth: {truth['functions'][0]} "
                  f"({places}) {' or '.join(truth['arguments'])}, at least {truth['at_least_s']:.2f} s", flush=True)
        if options.counts:
            print(f"{cause}: {hits[cause]} of {count['all'] - begun} right", flush=True)
    percent = 100 * count["right"] / max(count["all"], 1)
    print(f"{count['right']} of {count['all']} right ({percent:.0f} %); "
          + ", ".join(f"{fact} {count[fact]}" for fact in FACTS))
    if not options.keep:
        shutil.rmtree(root)
    sys.exit(percent < options.require)


if __name__ == "__main__":
    main()
