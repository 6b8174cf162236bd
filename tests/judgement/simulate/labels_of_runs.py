# SPDX-License-Identifier: Apache-2.0
"""Labels for simulated runs of one process: the largest part of run and step, from the truth of the simulation."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from machine import simulate  # noqa: E402
from score import largest, leaves  # noqa: E402
from simulate import write_format  # noqa: E402

STEP_MS_LIMIT = 0.01  # A part of the typical step.
PCT_LIMIT = 10  # The shares of the typical step differ a little from those of all steps.
CLEAR_FACTOR = 1.5
HOST = ["host", "input", "io", "lock", "gc", "sleep"]
OUTSIDE = ("startup", "between_steps", "shutdown")
KINDS = {"steps/computation": ["op", "computation"], "steps/exposed_copy": ["exposed_copy"],
         "steps/exposed_collective": ["exposed_collective", "wait", "transfer"], "steps/idle/host": HOST}


def pct_range(part, whole):
    share = 100 * part / whole
    return [max(0, share - PCT_LIMIT), min(100, share + PCT_LIMIT)]


def step_label(truth):
    """The right node of the step; None where two leaves are about equal."""
    tree = truth["process"]
    leaf = largest(tree, leaves(tree), CLEAR_FACTOR)
    if not leaf or not truth["typical_ns"]:
        return None
    typical = truth["typical_ns"] / 1e6
    computation = leaf == "steps/computation"
    # Computation may be named by one of its ops, whose share is smaller.
    pct = [5, 100] if computation else pct_range(tree[leaf], tree["steps"])
    return {"kinds": KINDS.get(leaf, [leaf.rsplit("/", 1)[-1]]), "pct": pct,
            "step_ms": [(1 - STEP_MS_LIMIT) * typical, (1 + STEP_MS_LIMIT) * typical]}


def run_label(truth):
    tree, root = truth["process"], truth["root_ns"]
    part = largest(tree, [path for path in OUTSIDE if path in tree], CLEAR_FACTOR)
    return {"kinds": [part], "pct": pct_range(tree[part], root)} if part else None


def simulated(seed, format, folder):
    """(label, inputs) of a run; None for a job, or if nothing is clearly the largest."""
    run = simulate(seed)
    if len(run.processes) > 1:
        return None
    paths, truth = write_format(run, format, folder)
    truth = truth["processes"][0]
    label, share = {"forbidden": ["NaN"]}, truth["process"].get("steps", 0) / truth["root_ns"]
    step = step_label(truth)
    if step:
        label["step"] = step
    if share > 0.5:
        label["no_run"] = True
    elif run_label(truth) and share < 0.45:
        label["run"] = run_label(truth)
    return (label, paths) if "step" in label or "run" in label else None
