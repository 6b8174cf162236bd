#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a program in which one device op dominates, and its truth.

`make.py --cause sort --seed 3 --out DIR` writes DIR/program.py and DIR/truth.json. `make.py --shares 0:4` runs step and
cause of each program with its own clock and prints the share of the cause; it needs JAX.
"""

import argparse
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from build import CAUSES, Plan  # noqa: E402

CALLS = 5


def make(name, seed, out):
    """Writes the program and returns its truth."""
    plan = Plan(name, seed)
    made, names = plan.sources()
    out.mkdir(parents=True, exist_ok=True)
    made.write(out)
    truth = plan.truth(made, names)
    (out / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
    return truth


def share(name, seed):
    """(milliseconds of the step, those of the cause) by the clock of this process."""
    import jax

    plan = Plan(name, seed)
    made, names = plan.sources()
    place = {"__name__": "planted"}
    exec(made.texts["program.py"], place)
    x, w = eval(plan.cause.x, place), eval(plan.cause.w, place)
    y = jax.numpy.ones((64, 64))
    step, part = place[names["fn_step"]], jax.jit(place[names["fn"]])

    def best(call):
        jax.block_until_ready(call())
        spent = []
        for _ in range(CALLS):
            began = time.perf_counter()
            jax.block_until_ready(call())
            spent.append(time.perf_counter() - began)
        return 1e3 * min(spent)

    return best(lambda: step(y) if plan.cause.loop else step(x, w, y)), best(lambda: part(x, w))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the causes")
    parser.add_argument("--cause", choices=CAUSES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--shares", help="A:B, seeds whose shares are measured")
    options = parser.parse_args()
    if options.list:
        print("\n".join(CAUSES))
    elif options.shares:
        first, _, end = options.shares.partition(":")
        for name in CAUSES:
            for seed in range(int(first), int(end or int(first) + 1)):
                whole, part = share(name, seed)
                print(f"{name} {seed}: step {whole:.2f} ms, cause {part:.2f} ms", flush=True)
    elif options.cause and options.out:
        print(json.dumps(make(options.cause, options.seed, options.out.resolve())))
    else:
        parser.error("--cause and --out are required")


if __name__ == "__main__":
    main()
