#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares how the time of fusions is split over op_names with the same ops run one by one.

    split_of_fusions.py FUSED.db UNFUSED.db AFTER_OPTIMIZATIONS.txt[.xz] [MODULE]

FUSED.db and UNFUSED.db are runs of one program on XLA:CPU, the second with
XLA_FLAGS=--xla_disable_hlo_passes=fusion,cpu-instruction-fusion,multi_output_fusion, where XLA wraps
every op alone (`wrapped_add`). The text is the first one's optimised HLO. An op's own time is the
shortest of its runs; a fusion counts where each of its ops was found with the same opcode, shape and
op_name. Printed: how many shares were compared, and the median error, in points and relative to what
was measured.
"""

import collections
import lzma
import re
import sqlite3
import statistics
import sys

FREE = {"parameter", "constant", "bitcast", "tuple", "get-tuple-element"}


def plain(shape):
    return re.sub(r"\{.*?\}", "", shape or "")


def read_bodies(path):
    """Computation -> [(opcode, shape, op_name)], and fusion -> computation."""
    opened = lzma.open(path, "rt") if path.endswith(".xz") else open(path, encoding="utf-8")
    bodies, calls, current = {}, {}, None
    with opened as file:
        for line in file.read().splitlines():
            head = re.match(r"^(?:ENTRY )?%(\S+) \(", line)
            if head and line.endswith("{"):
                current = bodies.setdefault(head.group(1), [])
                continue
            op = re.match(r"^\s+(?:ROOT )?%(\S+) = (\S+) ([a-z-]+)\(", line)
            if op is None or current is None:
                continue
            name = re.search(r'op_name="([^"]*)"', line)
            text = name.group(1).replace("\\", "") if name else ""
            current.append((op.group(3), plain(op.group(2)), text))
            callee = re.search(r"fusion\(.*calls=%([^,\s]+)", line)
            if callee:
                calls[op.group(1)] = callee.group(1)
    return bodies, calls


def module_of(database, name):
    row = database.execute("SELECT module_id FROM module WHERE name LIKE ?", (name + "%",))
    return row.fetchone()[0]


def own_times(database, module):
    times = collections.defaultdict(list)
    rows = database.execute(
        "SELECT i.instruction, i.opcode, i.shape, i.op_name, o.min_ns FROM op_time o JOIN instruction"
        " i USING (module_id, instruction) WHERE o.module_id = ?",
        (module,),
    )
    for instruction, opcode, shape, op_name, nanoseconds in rows:
        wrapped = re.match(r"wrapped_(.+?)(\.\d+)?(\.clone.*)?$", instruction)
        if opcode == "fusion":
            if wrapped is None:
                continue
            opcode = wrapped.group(1)
        times[opcode, plain(shape), op_name or ""].append(nanoseconds)
    return {key: statistics.mean(values) for key, values in times.items()}


def main():
    fused, unfused = (sqlite3.connect(f"file:{p}?mode=ro", uri=True) for p in sys.argv[1:3])
    bodies, calls = read_bodies(sys.argv[3])
    name = sys.argv[4] if len(sys.argv) > 4 else "jit_train_step"
    module = module_of(fused, name)
    times = own_times(unfused, module_of(unfused, name))
    points, relative, compared = [], [], 0
    for fusion, computation in calls.items():
        shares = dict(
            fused.execute(
                "SELECT op_name, sum(share) FROM instruction_share WHERE module_id = ? AND"
                " instruction = ? GROUP BY 1",
                (module, fusion),
            )
        )
        work = [op for op in bodies.get(computation, []) if op[0] not in FREE]
        if len(shares) < 2 or any(op not in times or not op[2] for op in work):
            continue
        measured = collections.Counter()
        for op in work:
            measured[op[2]] += times[op]
        if set(measured) != set(shares):
            continue
        compared += 1
        whole = sum(measured.values())
        for op_name, share in shares.items():
            truth = measured[op_name] / whole
            points.append(abs(share - truth))
            relative.append(abs(share - truth) / truth)
    if not points:
        sys.exit("split_of_fusions: nothing to compare")
    print(
        f"{compared} fusions, {len(points)} shares: median error"
        f" {100 * statistics.median(points):.0f} points,"
        f" {100 * statistics.median(relative):.0f} % of the measured share"
    )


if __name__ == "__main__":
    main()
