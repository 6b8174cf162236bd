# SPDX-License-Identifier: Apache-2.0
"""Reads the time tree of a run.db as paths, as truth.py writes them.

A run.db without the view `time_tree` is read through `step`, `step_part` and `gap`.
"""

import collections
import dataclasses
import re
import sqlite3

PARTS = ("computation", "exposed_collective", "exposed_copy", "idle")
# No rule of the idle division yields these kinds (README.md, reading 21).
KINDS_OF_HOST = {"input", "io", "lock", "gc", "sleep", "data"}
# Stages of a compilation. A source that has no stages has `compile` only.
KINDS_OF_COMPILE = {"compile", "trace", "lower", "passes", "codegen", "autotune"}
COPY_PARTS = {"exposed_collective", "exposed_copy", "idle"}
KINDS_OF_GAP_CAUSES = {"launch_bound": "launch", "synchronisation": "sync", "copy": "copy_wait"}
# "train.py(20): env.step" of Kineto, "$train.py:20 env.step" of an XPlane.
PLACE = re.compile(r"^(\$?[\w./<>-]+\.py(\(\d+\):|:\d+) )")


@dataclasses.dataclass
class Product:
    root_ns: int
    step_count: int
    typical_ns: float
    tree: dict
    has_tree: bool


def plain_name(text):
    return PLACE.sub("", text or "")


def read_product(path, process=None):
    """`process`: the rank; None: the only one."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    views = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'")}
    ids = [row[0] for row in db.execute("SELECT process_id FROM process ORDER BY rank, process_id")]
    id_ = ids[process or 0] if ids else None
    if "time_tree" in views:
        return read_time_tree(db, id_)
    return read_older_views(db, id_)


def read_job(path):
    """The tree of the job, or None where the run.db has none."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    if not db.execute("SELECT 1 FROM sqlite_master WHERE type = 'view' AND name = 'time_tree'").fetchone():
        return None
    return read_time_tree(db, None)


def step_rows(db, process):
    return db.execute("SELECT * FROM step WHERE process_id IS ? ORDER BY device_id, step", (process,)).fetchall()


def count_of(rows):
    return len({row["step"] for row in rows})


# --- the view time_tree ---


def read_time_tree(db, process):
    rows = db.execute("SELECT * FROM time_tree WHERE process_id IS ?", (process,)).fetchall()
    mean = [row for row in rows if row["device_id"] is None] or rows
    by_id = {row["node_id"]: row for row in mean}
    tree, root_ns = collections.Counter(), 0
    for row in mean:
        chain = [row]
        while chain[-1]["parent_id"] in by_id:
            chain.append(by_id[chain[-1]["parent_id"]])
        chain.reverse()
        if len(chain) == 1:
            root_ns = row["ns"]
        else:
            add_node(tree, chain[1:], row)
    steps = [row for row in step_rows(db, process) if not row["first_execution"]]
    return Product(root_ns, count_of(steps), typical_of(steps), dict(tree), True)


def typical_of(steps):
    """The mean of the typical steps, each the mean over its devices; None where no step is typical."""
    by_number = collections.defaultdict(list)
    for row in steps:
        if row["typical"]:
            by_number[row["step"]].append(row["end_ns"] - row["start_ns"])
    means = [sum(devices) // len(devices) for devices in by_number.values()]
    return sum(means) // len(means) if means else None


def add_node(tree, chain, row):
    """Adds a node with its ancestors below the root. Each nanosecond counts once per path."""
    kinds = [node["kind"] for node in chain]
    ns = row["ns"]
    if len(chain) == 1:
        tree[kinds[0]] += ns
    elif kinds[0] == "startup" and len(chain) == 2 and kinds[1] in KINDS_OF_COMPILE:
        tree["startup/compile"] += ns
    elif kinds in (["startup", "first_execution"], ["between_steps", "pause"]):
        tree["/".join(kinds)] += ns
    if kinds[0] != "steps":
        return
    at = next((i for i, kind in enumerate(kinds) if kind in PARTS), None)
    if at is None:
        return
    part, below = kinds[at], chain[at + 1 :]
    if not below:
        tree[f"steps/{part}"] += ns
    elif part == "computation":
        if kinds[-1] == "op":
            tree[f"steps/computation/{row['instruction'] or row['name']}"] += ns
    elif part == "idle":
        kind = "host" if below[0]["kind"] in KINDS_OF_HOST else below[0]["kind"]
        if len(below) == 1:
            tree[f"steps/idle/{kind}"] += ns
        name = plain_name(row["name"])
        if name and name not in [plain_name(node["name"]) for node in below[:-1]]:
            tree[f"steps/idle/{kind}/{name}"] += ns
    elif part == "exposed_collective" and len(below) == 1:
        tree[f"steps/{part}/{kinds[-1]}"] += ns


# --- the views before time_tree ---


def read_older_views(db, process):
    steps = step_rows(db, process)
    devices = sorted({row["device_id"] for row in steps})
    windows = db.execute("SELECT start_ns, end_ns FROM window WHERE process_id = ?", (process,)).fetchall()
    begin, end = min((w[0] for w in windows), default=0), max((w[1] for w in windows), default=0)
    tree = collections.Counter()
    for device in devices:
        own = [row for row in steps if row["device_id"] == device]
        first, last = own[0]["start_ns"], max(row["end_ns"] for row in own)
        whole = sum(row["end_ns"] - row["start_ns"] for row in own)
        tree["startup"] += first - begin
        tree["steps"] += whole
        tree["between_steps"] += last - first - whole
        tree["shutdown"] += end - last
        add_step_parts(tree, db, device)
        add_gaps(tree, db, device, own)
    count = max(1, len(devices))
    durations = [row["end_ns"] - row["start_ns"] for row in steps if row["steady"]]
    return Product(end - begin, count_of(steps), sum(durations) / len(durations) if durations else None,
                   {path: ns / count for path, ns in tree.items()}, False)


def add_step_parts(tree, db, device):
    for row in db.execute("SELECT part, SUM(wall_ns) AS ns FROM step_part WHERE device_id = ? GROUP BY part", (device,)):
        tree[f"steps/{row['part'] if row['part'] in COPY_PARTS else 'computation'}"] += row["ns"]


def add_gaps(tree, db, device, steps):
    rows = db.execute("SELECT g.start_ns, g.end_ns, g.cause, r.text FROM gap g LEFT JOIN range r "
                      "ON r.range_id = g.host_range_id WHERE g.device_id = ?", (device,))
    for row in rows:
        ns = sum(max(0, min(row["end_ns"], s["end_ns"]) - max(row["start_ns"], s["start_ns"])) for s in steps)
        if not ns:
            continue
        kind = KINDS_OF_GAP_CAUSES.get(row["cause"], row["cause"])
        kind = "host" if kind in KINDS_OF_HOST else kind
        tree[f"steps/idle/{kind}"] += ns
        if row["text"]:
            tree[f"steps/idle/{kind}/{plain_name(row['text'])}"] += ns
