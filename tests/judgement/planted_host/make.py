#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a training program with one planted host cause, runs it, and writes its truth.

`make.py --list` prints the causes. `make.py --cause lock --seed 3 --out DIR` writes DIR/program.py, its modules and
DIR/truth.json.
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from build import CAUSES, MAX_SHARE, MIN_SHARE, Plan  # noqa: E402
from planted.running import has_module, jax_python, measured  # noqa: E402

TRIAL_STEPS = 9
MAX_TRIES = 5


class Unavailable(Exception):
    """The interpreter lacks a module that the cause needs."""


def scaled(value, factor, low, high):
    return max(low, min(high, round(value * factor)))


def next_sizes(plan, figures, work, batch):
    """Sizes that bring the shares of the last run to those of the plan."""
    step_s = plan.seconds / plan.steps
    cause_s = max(figures["cause_s"] / figures["steps"], 1e-5)
    device_s = max((figures["loop_s"] - figures["cause_s"]) / figures["steps"], 1e-4)
    factor = step_s * plan.share / cause_s
    work = scaled(work, 1 / factor if plan.cause.inverse else factor, 1, 20_000_000)
    return work, scaled(batch, min(20.0, step_s * (1 - plan.share) / device_s), 8, 16384)


def make(name, seed, out, python, *, control=False):
    """Writes the program and returns its truth."""
    plan = Plan(name, seed)
    if plan.cause.needs and not has_module(python, plan.cause.needs):
        raise Unavailable(f"{python} has no module {plan.cause.needs}")
    out.mkdir(parents=True, exist_ok=True)
    work, batch = plan.cause.work, 256

    def run(steps):
        made, names = plan.sources(steps=steps, work=work, batch=batch)
        made.write(out)
        return plan.truth(made, names), measured(python, out, busy=plan.cause.busy)

    _, figures = run(TRIAL_STEPS * (2 if plan.cause.every > 1 else 1) + 2)
    for _ in range(MAX_TRIES):
        work, batch = next_sizes(plan, figures, work, batch) if not plan.cause.busy else (100_000, 512)
        truth, figures = run(plan.steps)
        share = figures["cause_s"] / figures["loop_s"]
        if plan.cause.busy or MIN_SHARE <= share <= MAX_SHARE and 0.6 < figures["loop_s"] / plan.seconds < 1.7:
            break
    else:
        raise RuntimeError(f"{name} {seed}: the cause has {share:.0%} of the loop after {MAX_TRIES} runs")
    truth.update(figures, share=round(share, 3), work=work, batch=batch,
                 cause_ms_per_step=round(1e3 * figures["cause_s"] / figures["steps"], 3),
                 step_ms=round(1e3 * figures["loop_s"] / figures["steps"], 3))
    if control:
        without, _ = plan.sources(steps=plan.steps, work=work, batch=batch, control=True)
        (out / "control").mkdir(exist_ok=True)
        without.write(out / "control")
        figures = measured(python, out / "control")
        truth["control_loop_s"] = figures["loop_s"]
    (out / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
    return truth


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the causes")
    parser.add_argument("--cause", choices=CAUSES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--python", default=jax_python())
    parser.add_argument("--control", action="store_true", help="also run the program without its cause")
    options = parser.parse_args()
    if options.list:
        print("\n".join(CAUSES))
        return
    if not options.cause or not options.out:
        parser.error("--cause and --out are required")
    try:
        truth = make(options.cause, options.seed, options.out.resolve(), options.python, control=options.control)
    except Unavailable as error:
        sys.exit(f"make.py: {error}")
    print(json.dumps(truth))


if __name__ == "__main__":
    main()
