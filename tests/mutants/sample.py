# SPDX-License-Identifier: Apache-2.0
"""Faults by rule (operators.py) as the mutants that scripts/mutate plants, and samples of them.

A sample is drawn by component, then by place, then by replacement. So components have equal shares for any
size, and places for any number of faults. Equal seeds and equal code give equal samples. An identity is
made of the code around the place, so it stays when other code moves."""

import hashlib
import random

import operators
import records


def mutants_of(tree, components, only=""):
    """Every fault by rule of the product's source files, by component."""
    declared = [name for name in sorted(tree.files) if name.endswith((".h", ".cc")) and
                not name.startswith("tests/")]
    names = operators.Names(tree.text(name) for name in declared)
    found = {component: [] for component in components}
    for name in declared:
        component = name.split("/")[0]
        if component not in found or not name.endswith(".cc"):
            continue
        if not any(part in name for part in only.split("|")):
            continue
        found[component] += of_file(name, tree.text(name), names)
    return found


def of_file(name, text, names=None):
    seen, made = {}, []
    for fault in operators.sweep(text, names):
        code = " ".join(text[fault.begin:fault.end].split())
        mutant = records.Mutant(name, f"{fault.title}: {code[:90]}")
        mutant.span = (fault.begin, fault.end, fault.front, fault.behind)
        mutant.line = text.count("\n", 0, fault.begin) + 1
        mutant.why = fault.rule
        around = text[text.rfind("\n", 0, fault.begin) + 1:text.find("\n", fault.end)]
        shape = "|".join((name, operators.squeezed(around), fault.front, fault.behind, code))
        # Equal lines of one file are distinguished by their order.
        seen[shape] = again = seen.get(shape, 0) + 1
        mutant.identity = hashlib.sha256(f"{shape}|{again}".encode()).hexdigest()[:8]
        made.append(mutant)
    return made


def draw(found, count, seed):
    """(component, its mutants in the order of the draw): more than are needed, because some do not
    compile. The first ones make a sample of `count`: see `shares`."""
    drawn = {}
    for component, mutants in found.items():
        places = {}
        for mutant in mutants:
            places.setdefault((mutant.file, *mutant.span[:2]), []).append(mutant)
        chance = random.Random(f"{seed} {component}")
        order = sorted(places)
        chance.shuffle(order)
        wanted = shares(found, count)[component]
        drawn[component] = [chance.choice(places[place]) for place in order[:wanted + wanted // 2 + 1]]
    return drawn


def shares(found, count):
    """How many faults of a sample each component has."""
    components = [component for component, mutants in found.items() if mutants]
    share, rest = divmod(count, max(1, len(components)))
    return {component: share + (components.index(component) < rest) if component in components else 0
            for component in found}


def kept(drawn, found, count, usable):
    """The sample of a draw: the first usable faults of each component."""
    wanted = shares(found, count)
    return [mutant for component, mutants in drawn.items()
            for mutant in [m for m in mutants if m.identity in usable][:wanted[component]]]
