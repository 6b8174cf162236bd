#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a JAX program with one planted compile cause, runs it, and writes its truth.

`make.py --list` prints the causes. `make.py --cause shape --seed 3 --out DIR` writes DIR/program.py, its modules and
DIR/truth.json.
"""

import argparse
import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from build import CAUSES, Plan  # noqa: E402
from planted.running import jax_python, measured, run  # noqa: E402

LOWER_BOUND = 0.7  # part of the measured seconds; the rest allows for a slower machine in this run


def cache_of(out):
    """The folder of the persistent cache, for programs that read it from the environment."""
    return {"CACHE_FOLDER": str(out / "cache")}


def prepare(plan, out, python):
    """Sets up the state that the program finds: data files, and an empty or filled persistent cache."""
    made, names = plan.sources()
    shutil.rmtree(out / "cache", ignore_errors=True)
    made.write(out)
    cause = plan.cause
    if cause.data:
        status, _, errors, _ = run([python, "-c", cause.data], out)
        if status:
            raise RuntimeError(f"data of {plan.name} {plan.seed}: {errors[-2000:]}")
    if cause.earlier is not None:
        folder = out / cause.earlier_folder
        folder.mkdir(exist_ok=True)
        made.write(folder)
        text = made.texts["program.py"]
        for now, before in cause.earlier.items():
            if text.count(now) != 1:
                raise LookupError(f"{now} is not once in the program of {plan.name} {plan.seed}")
            text = text.replace(now, before)
        (folder / "program.py").write_text(text)
        measured(python, folder, environment=cache_of(out))
        made.write(out)
    return plan.truth(made, names)


def make(name, seed, out, python, *, control=False):
    """Writes the program and returns its truth. Afterwards the program finds the same state as in this run."""
    plan = Plan(name, seed)
    out.mkdir(parents=True, exist_ok=True)
    truth = prepare(plan, out, python)
    truth.update(measured(python, out, environment=cache_of(out)))
    truth["at_least_s"] = round(LOWER_BOUND * truth["seconds"], 3)
    if control:
        folder = out / "control"
        folder.mkdir(exist_ok=True)
        plan.sources(control=True)[0].write(folder)
        truth["control_process_s"] = measured(python, folder, environment=cache_of(out))["process_s"]
    if (out / "cache").exists():
        prepare(plan, out, python)
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
    truth = make(options.cause, options.seed, options.out.resolve(), options.python, control=options.control)
    print(json.dumps(truth))


if __name__ == "__main__":
    main()
