# SPDX-License-Identifier: Apache-2.0
"""Writes a simulated run as text cases (tests/cases/README.md): the input, and the truth as rows."""

import pathlib
import sqlite3
import tempfile

from machine import simulate
from recording import KINETO, NSIGHT
from score import SHARE_LIMIT
from simulate import write_format

# Formats that a text case can hold.
TEXT_FORMATS = (KINETO, NSIGHT)
# Nodes of the truth and the rows of `time_tree` that hold them.
BELOW = "parent_id in (select node_id from time_tree where kind in ({}))"
STEP_KINDS = "'steps', 'step', 'call', 'between_calls'"
PROCESS = "where process_id = (select min(process_id) from process) and device_id isnull"
INDENT = "  "


def input_lines(path):
    if path.suffix == ".json":
        return path.read_text(encoding="utf-8").replace("}, {", "},\n{").splitlines()
    db = sqlite3.connect(path)
    lines = [line for line in db.iterdump() if not line.startswith(("BEGIN", "COMMIT"))]
    db.close()
    return lines


def rows_of(node, ns, root_ns):
    """A query that must give 1, because the node's time is within the limit of its true time."""
    parts = node.split("/")
    where = f"kind = '{parts[-1]}'"
    if node.startswith("steps/idle/"):
        where = f"kind = '{parts[2]}' and " + BELOW.format("'idle'")
        if len(parts) > 3:
            where += f" and name = '{parts[3]}'"
    elif node.startswith("steps/"):
        where += " and " + BELOW.format("'exposed_collective'" if len(parts) > 2 else STEP_KINDS)
    source = f"select total(ns) as ns from time_tree {PROCESS} and {where}"
    return ["", f"rows from ({source})", f"{INDENT}abs(ns - {int(ns)}) <= {int(SHARE_LIMIT * root_ns)} as is_near",
            f"{INDENT}1"]


def keep(seed, folder, most_iterations):
    """Makes a file per text format. Returns their paths."""
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    out = []
    for format in TEXT_FORMATS:
        with tempfile.TemporaryDirectory() as work:
            paths, truth = write_format(simulate(seed, most_iterations=most_iterations), format, work)
            lines = [f"# The time tree of simulated run {seed} is within {SHARE_LIMIT:.0%} of the truth.", ""]
            for path in paths:
                lines += [f"file {path.name}", *(INDENT + line for line in input_lines(path)), ""]
            lines.append(f"run from {' '.join(path.name for path in paths)}")
            one = truth["processes"][0]
            for node, ns in one["process"].items():
                if node.startswith("steps/computation/") or node.endswith("/") or ns < SHARE_LIMIT * one["root_ns"]:
                    continue
                lines += rows_of(node, ns, one["root_ns"])
        path = pathlib.Path(folder) / f"simulated_{seed}_{format}.txt"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        out.append(path)
    return out
