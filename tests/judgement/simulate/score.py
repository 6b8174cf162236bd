# SPDX-License-Identifier: Apache-2.0
"""Compares the tree of the product with the truth, node by node."""

SHARE_LIMIT = 0.02  # A part of the root.
TYPICAL_LIMIT = 0.01  # A part of the typical step.
# The largest child must be right where it is this many times the next.
CLEAR_FACTOR = 1.5
# Where the truth has the kernels of graphs, without their names.
GRAPH_OPS = "steps/computation/"
STEP_PARTS = ("steps/computation", "steps/exposed_collective", "steps/exposed_copy", "steps/idle")


def class_of(path):
    """The row of the table in which a node counts: names are left out."""
    parts = path.split("/")
    if path.startswith("steps/computation/"):
        return "steps/computation/OP"
    if path.startswith("steps/idle/") and len(parts) > 3:
        return "/".join([*parts[:3], "nothing recorded" if parts[3] == "nothing recorded" else "NAME"])
    return path


def compare(truth, product):
    """{check: passed}. Checks are classes of nodes, and `root`, `count`, `typical`, `largest ...`."""
    root = max(truth["root_ns"], 1)
    checks = {"root": abs(product.root_ns - root) <= SHARE_LIMIT * root}
    checks |= compare_trees(truth["process"], product.tree, root, product.has_tree)
    checks["count"] = abs(truth["step_count"] - product.step_count) <= 1
    if truth["typical_ns"]:
        checks["typical"] = (product.typical_ns is not None and
                             abs(product.typical_ns - truth["typical_ns"]) <= TYPICAL_LIMIT * truth["typical_ns"])
    return checks


def compare_trees(expected, actual, root, has_tree=True):
    checks = {}
    for path in sorted(set(expected) | set(actual)):
        if path.endswith("/") or not (expected.get(path, 0) or actual.get(path, 0)):
            continue
        right = abs(expected.get(path, 0) - actual.get(path, 0)) <= SHARE_LIMIT * root
        if path.count("/") == 3 and path not in expected:
            continue  # Names of calls and framework ranges are children that the truth does not list.
        if path.startswith("steps/computation/") and not has_tree:
            continue
        if path.startswith(GRAPH_OPS) and path not in expected and GRAPH_OPS in expected:
            continue
        name = class_of(path)
        checks[name] = checks.get(name, True) and right
    for name, paths in (("largest part", STEP_PARTS), ("largest leaf", leaves(expected))):
        clear = largest(expected, paths)
        if clear:
            checks[name] = largest(actual, leaves(actual) if name == "largest leaf" else paths, 1) == clear
    return checks


def leaves(tree):
    """The parts of the step, with idle time divided by kind."""
    return [p for p in tree if p in STEP_PARTS[:3] or (p.startswith("steps/idle/") and p.count("/") == 2)]


def largest(tree, paths, factor=CLEAR_FACTOR):
    """The largest of the nodes, if it is clear."""
    values = sorted(((tree.get(path, 0), path) for path in paths), reverse=True)
    if not values or values[0][0] <= 0:
        return None
    return values[0][1] if len(values) < 2 or values[0][0] >= factor * values[1][0] else None
