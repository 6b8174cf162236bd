#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records planted host programs with xlatrace and counts the right answers.

An answer is right if the answer sentences or the first two rows of `summary --by host` have the function and a line of
the cause. For a busy machine, they have to name other processes, and the sentences may name no function of the program.
"""

import argparse
import collections
import json
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from build import CAUSES  # noqa: E402
from make import Unavailable, make  # noqa: E402
from planted.product import Answers, names_answer, names_function, names_word  # noqa: E402
from planted.running import folder_of, jax_python  # noqa: E402

ROWS = 2
BUSY_WORDS = ("contention", "other programs", "other processes", "for a CPU", "for the CPU", "for CPU")


def seeds_of(text):
    """`2`, or `2:7` for the seeds 2 to 6."""
    first, _, end = text.partition(":")
    return range(int(first), int(end) if end else int(first) + 1)


def judged(truth, answers):
    """(right, reason) of one program."""
    if answers.status:
        return False, f"exit status {answers.status}"
    parts = {"sentence": answers.sentences, **{f"row {n + 1}": row for n, row in enumerate(answers.rows[:ROWS])}}
    if not truth["answers"]:
        blamed = [name for name in truth["functions"] if names_function(answers.sentences, name)]
        if blamed:
            return False, f"the sentence names {blamed[0]}"
        where = [place for place, part in parts.items() if names_word(part, BUSY_WORDS)]
        return bool(where), ", ".join(where) or "other processes are not named"
    where = [place for place, part in parts.items() if any(names_answer(part, a) for a in truth["answers"])]
    if where:
        return True, ", ".join(where)
    half = [place for place, part in parts.items() if any(names_function(part, a["function"]) for a in truth["answers"])]
    return False, f"the function without its line: {', '.join(half)}" if half else "not named"


def kind_is_right(truth, answers):
    return any(names_word(part, truth["kinds"]) for part in [answers.sentences, *answers.rows[:ROWS]])


def prepared(cause, seed, folder, python):
    """The truth of a program in `folder`, which is made if it is not there."""
    if (folder / "truth.json").exists():
        return json.loads((folder / "truth.json").read_text())
    return make(cause, seed, folder, python)


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
    root = options.keep.resolve() if options.keep else pathlib.Path(tempfile.mkdtemp(prefix="planted_host."))
    count, hits = collections.Counter(), collections.Counter()
    for cause in options.causes:
        begun = count["all"]
        for seed in options.seeds:
            folder = folder_of(root, cause, seed)
            try:
                truth = prepared(cause, seed, folder, options.python)
            except (Unavailable, RuntimeError) as error:  # RuntimeError: the load of the machine changes too much.
                print(f"{cause} {seed}: skipped, {error}", flush=True)
                continue
            answers = Answers(xlatrace, options.python, folder, "host", busy=truth["busy"])
            right, reason = judged(truth, answers)
            count["all"] += 1
            count["right"] += right
            hits[cause] += right
            count["kind"] += kind_is_right(truth, answers)
            if options.counts:
                continue
            places = ", ".join(f"{a['function']} {a['file']}:{a['first_line']}-{a['last_line']}" for a in truth["answers"])
            figures = answers.figures or truth
            share = figures["cause_s"] / max(figures["loop_s"], 1e-9)
            print(f"{cause} {seed}: {'right' if right else 'WRONG'}, {reason}; truth: {places or 'no code'}, "
                  f"{share:.0%} of the loop", flush=True)
        if options.counts:
            print(f"{cause}: {hits[cause]} of {count['all'] - begun} right", flush=True)
    percent = 100 * count["right"] / max(count["all"], 1)
    print(f"{count['right']} of {count['all']} right ({percent:.0f} %), {count['kind']} with the right kind")
    if not options.keep:
        shutil.rmtree(root)
    sys.exit(percent < options.require)


if __name__ == "__main__":
    main()
