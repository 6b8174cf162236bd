# SPDX-License-Identifier: Apache-2.0
"""Faults by rule (operators.py) as the mutants that scripts/mutate plants, and samples of them.

A sample is drawn by component, then by compilation unit, then by place, then by what the place
becomes. Components count alike, whatever their size; units count by their places, and places alike,
whatever the number of their faults. All faults of a component come from one unit, because compiling a
unit costs more than running tests. The same seed and the same code give the same sample. An identity
is made of the code around the place, so it stays when other code moves.
"""

import hashlib
import random
import re

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
        # Equal lines of one file are told apart by their order.
        seen[shape] = again = seen.get(shape, 0) + 1
        mutant.identity = hashlib.sha256(f"{shape}|{again}".encode()).hexdigest()[:8]
        made.append(mutant)
    return made


def units_of(tree, component):
    """Files that are compiled together, as the component's CMakeLists.txt lists them in batches."""
    units = []
    for call in re.findall(r"\b(?:xlatrace_\w+|add_library)\(.*?\n?\)", tree.text(f"{component}/CMakeLists.txt"), re.S):
        files = [f"{component}/{name}" for name in re.findall(r"(?<![\w./])[\w/]+\.cc\b", call)]
        batch = re.search(r"\bBATCH (\d+)", call)
        size = int(batch.group(1)) if batch else 16
        units += [files[i:i + size] for i in range(0, len(files), size)]
    return units


def draw(found, count, seed, units=None):
    """(component, its mutants in the order of the draw): more than are needed, because some do not
    compile. The first ones make a sample of `count`: see `shares`. `units` by component: all
    faults of a component are of one of them."""
    drawn = {}
    for component, mutants in found.items():
        places = {}
        for mutant in mutants:
            places.setdefault((mutant.file, *mutant.span[:2]), []).append(mutant)
        chance = random.Random(f"{seed} {component}")
        order = sorted(places)
        weights = [sum(place[0] in unit for place in order) for unit in (units or {}).get(component, ())]
        if sum(weights) > 0:
            unit = chance.choices(units[component], weights)[0]
            order = [place for place in order if place[0] in unit]
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
    """Of a draw the sample: the first of each component that are `usable`."""
    wanted = shares(found, count)
    return [mutant for component, mutants in drawn.items()
            for mutant in [m for m in mutants if m.identity in usable][:wanted[component]]]
