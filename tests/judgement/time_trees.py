# SPDX-License-Identifier: Apache-2.0
"""Reads the time trees of a run.db and checks that their times add up."""

import collections
import sqlite3

COLUMNS = "node_id, parent_id, process_id, device_id, kind, name, ns, per_step_ns"


def rows_of(database):
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as db:
        db.row_factory = sqlite3.Row
        return db.execute(f"SELECT {COLUMNS} FROM time_tree").fetchall()


def violations(database):
    """A line per broken property."""
    rows = rows_of(database)
    by_id = {row["node_id"]: row for row in rows}
    children, roots, found = collections.defaultdict(list), collections.Counter(), []
    for row in rows:
        if row["parent_id"] is None:
            roots[row["process_id"], row["device_id"]] += 1
            continue
        children[row["parent_id"]].append(row)
        parent = by_id.get(row["parent_id"])
        if parent is None:
            found.append(f"{described(row)} has no parent")
        elif (parent["process_id"], parent["device_id"]) != (row["process_id"], row["device_id"]):
            found.append(f"{described(row)} is in another tree than its parent")
        elif row["ns"] < 0 or row["ns"] > parent["ns"]:
            found.append(f"{described(row)} has {row['ns']} of the {parent['ns']} ns of its parent")
    found += [f"process {p}, device {d} has {n} roots" for (p, d), n in roots.items() if n != 1]
    for parent_id, below in children.items():
        parent = by_id.get(parent_id)
        if parent is None:
            continue
        sums = {"ns": sum(row["ns"] for row in below)}
        if parent["per_step_ns"] is not None:
            sums["per_step_ns"] = sum(row["per_step_ns"] or 0 for row in below)
        found += [f"{described(parent)} has {parent[column]} {column}, its children have {total}"
                  for column, total in sums.items() if parent[column] != total]
    return found


def described(row):
    return f"node {row['node_id']} ({row['kind']} {row['name'] or ''})".replace(" )", ")")


def tree_of(database):
    """Nanoseconds by process, device and path of kinds and names."""
    rows = rows_of(database)
    by_id, tree = {row["node_id"]: row for row in rows}, collections.Counter()
    for row in rows:
        path, node = [], row
        while node is not None:
            path.append((node["kind"], node["name"]))
            node = by_id.get(node["parent_id"])
        key = (row["process_id"], row["device_id"], *reversed(path))
        tree[key] += row["ns"]
    return tree
