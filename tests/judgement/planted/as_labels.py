# SPDX-License-Identifier: Apache-2.0
"""Labels for planted programs: the same form as in labels.toml, made from the truth of a generator."""

import importlib.util
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parents[1]
DEVELOP_SEEDS = (0, 1)
# A planted compilation is the largest part of a run only if it takes more than this part of the process.
MIN_COMPILE_SHARE = 0.5
COMPILE_KINDS = ["compile", "recompilation", "codegen", "passes", "trace", "lower", "startup", "load", "cache"]
# Wrong as the first finding of a step whose only cost is one op. No input can be donated, and the host does nothing.
NOT_FIRST = ["donation_missing", "host_gap", "pauses"]
_makers = {}


def _make(generator):
    """The module make.py of a generator. Each generator has its own modules of the same names."""
    if generator not in _makers:
        names = ("build", "cause", "skeleton", "make", "ops", "loops", "computing", "waiting", "frequent", "again", "slow",
                 "signatures")
        for name in names:
            sys.modules.pop(name, None)
        sys.path.insert(0, str(HERE / generator))
        spec = importlib.util.spec_from_file_location("make", HERE / generator / "make.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.path.remove(str(HERE / generator))
        for name in names:
            sys.modules.pop(name, None)
        _makers[generator] = module
    return _makers[generator]


def programs(entry):
    """(id, generator, cause, seed, half) of each program of an entry `planted` of labels.toml."""
    first, end = entry["seeds"]
    for cause in entry.get("causes") or list(_make(entry["generator"]).CAUSES):
        for seed in range(first, end):
            half = "develop" if seed in DEVELOP_SEEDS else "held_out"
            yield f"{entry['generator']} {cause} {seed}", entry["generator"], cause, seed, half


def truth_of(generator, cause, seed, folder, python):
    """The truth of a program in `folder`, which is made if it is not there."""
    kept = folder / "truth.json"
    if kept.exists():
        return json.loads(kept.read_text())
    module = _make(generator)
    if generator == "planted_device":
        return module.make(cause, seed, folder)
    return module.make(cause, seed, folder, python)


def _lines(file, first, last):
    return rf"{re.escape(file)}:({'|'.join(str(line) for line in range(first, last + 1))})\b"


def device_label(truth):
    lines = _lines("program.py", truth["first_line"], truth["last_line"])
    words = [*truth["words"], rf"\b{truth['function']}\b", rf"jit_{truth['function']}", lines]
    wanted = {"kinds": truth["kinds"], "name": "|".join(words), "pct": [80 * truth["part"], 100]}
    if truth["level"] == "step" and truth["cause"] != "eager_ops":
        return {"step": wanted, "line": lines, "not_first": NOT_FIRST, "forbidden": ["No verdict", "NaN", "recompil"]}
    wanted.pop("name")
    return {"either": wanted, "forbidden": ["No verdict", "NaN"]}


def host_label(truth):
    names = [rf"\b{answer['function']}\b" for answer in truth["answers"]]
    names += [rf"\b{function}\b" for function in truth["related"]]
    return {"either": {"name": "|".join(names), "pct": [15, 100]}, "forbidden": ["No verdict", "NaN"]}


def compile_label(truth):
    label = {"forbidden": ["No verdict", "NaN"]}
    if truth["seconds"] > MIN_COMPILE_SHARE * truth["process_s"]:
        label["run"] = {"kinds": COMPILE_KINDS, "pct": [25, 100]}
    return label


def label_of(generator, truth):
    """The label of a truth; None if it has no place in the time tree."""
    if generator == "planted_host" and not truth["answers"]:
        return None
    return {"planted_device": device_label, "planted_host": host_label, "planted_compile": compile_label}[generator](truth)
