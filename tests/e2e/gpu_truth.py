# SPDX-License-Identifier: Apache-2.0
"""The fake driver's log as the truth, and the comparison of a run.db with it."""

import pathlib
import re
import struct

import support


def read_truths(folder):
    """{pid: activities in order of issue}. The log of a killed process may end in zeros.

    The last line of such a log may be cut. A process that has called exec has two logs, of two prefixes.
    """
    truths = {}
    for path in sorted(pathlib.Path(folder).glob("*.tsv")):
        lines = path.read_bytes().split(b"\0", 1)[0].decode("utf-8", "replace").split("\n")
        header, rows = lines[0].split("\t"), []
        for line in lines[1:-1]:  # the last one has no line end, or is empty
            rows.append(dict(zip(header, line.split("\t"))))
        truths.setdefault(int(path.name.split(".")[-2]), []).extend(rows)
    return truths


COPY_KINDS = {
    1: "host_to_device",
    2: "device_to_host",
    3: "host_to_device",
    4: "device_to_host",
    5: "device_to_device",
    6: "device_to_device",
    7: "device_to_device",
    8: "device_to_device",
    9: "host_to_host",
    10: "peer_to_peer",
}


def expected_row(row):
    """One line of the truth in the words of run.db."""
    number = lambda name: int(row[name])
    expected = {
        "kind": row["what"],
        "start": number("start_ns"),
        "end": number("end_ns"),
        "context_id": number("context"),
        "correlation_id": number("correlation"),
        "graph_id": number("graph") or None,
        "graph_node_id": number("node") or None,
        "thread_id": number("thread"),
        "api": row["api"],
    }
    if row["what"] == "kernel":
        grid, block = (tuple(map(int, row[name].split("x"))) for name in ("grid", "block"))
        expected |= {
            "kernel_symbol": row["name"],
            "grid": grid,
            "block": block,
            "shared_memory_dynamic_bytes": number("dynamic_smem"),
            "shared_memory_static_bytes": number("static_smem"),
            "registers_per_thread": number("registers"),
        }
    else:
        expected["bytes"] = number("bytes")
    if row["what"] == "memcpy":
        expected["copy_kind"] = COPY_KINDS[number("copy_kind")]
    return expected


RECORDED = """
SELECT p.pid, d.ordinal, a.stream_id, a.kind, a.start_ns, a.end_ns, a.duration_ns, a.context_id,
       a.correlation_id, a.graph_id, a.graph_node_id, c.thread_id, c.name AS api, l.kernel_symbol,
       l.grid_x, l.grid_y, l.grid_z, l.block_x, l.block_y, l.block_z,
       l.shared_memory_dynamic_bytes, l.shared_memory_static_bytes, l.registers_per_thread,
       a.bytes, a.copy_kind, a.instruction, a.module, a.program_id, a.confidence, a.evidence,
       a.unattributed_reason, c.start_ns AS api_start_ns, c.end_ns AS api_end_ns
FROM activity a JOIN process p USING (process_id) JOIN device d USING (device_id)
LEFT JOIN api_call c ON c.api_call_id = a.api_call_id
LEFT JOIN launch l ON l.launch_id = a.activity_id
ORDER BY a.activity_id
"""


def recorded_rows(database):
    with support.open_database(database) as connection:
        info = dict(connection.execute("SELECT key, value FROM run_info").fetchall())
        rows = [dict(row) for row in connection.execute(RECORDED)]
    connection.close()
    base = int(info["start_unix_ns"]) if rows else 0
    for row in rows:
        for name in ("start", "end"):  # NULL where CUPTI gave no time
            row[name] = None if row[name + "_ns"] is None else row[name + "_ns"] + base
        row["grid"] = (row["grid_x"], row["grid_y"], row["grid_z"])
        row["block"] = (row["block_x"], row["block_y"], row["block_z"])
    return rows


def by_stream(rows, key):
    streams = {}
    for row in rows:
        streams.setdefault(key(row), []).append(row)
    return streams


def differences(database, truths, limit=20):
    """Differences between run.db and the fake driver: sentences, none if they agree.

    Compared per stream in order: count, kind, name, launch configuration, bytes, times, graph and
    node, correlation id, and the host call with its thread.
    """
    told = []
    expected = {}
    for pid, rows in truths.items():
        for key, stream in by_stream(
            rows, lambda row: (pid, int(row["device"]), int(row["stream"]))
        ).items():
            expected[key] = sorted(map(expected_row, stream), key=lambda row: row["start"])
    recorded = by_stream(
        recorded_rows(database), lambda row: (row["pid"], row["ordinal"], row["stream_id"])
    )
    for key in sorted(expected.keys() | recorded.keys()):
        want, have = (
            expected.get(key, []),
            sorted(recorded.get(key, []), key=lambda row: row["start"] or 0),
        )
        place = "pid %d device %d stream %d" % key
        if len(want) != len(have):
            told.append(f"{place}: {len(have)} activities, the driver executed {len(want)}")
        for index, (wanted, found) in enumerate(zip(want, have)):
            for name, value in wanted.items():
                if name == "api":
                    same = found["api"] is not None and plain_name(found["api"]) == plain_name(
                        value
                    )
                else:
                    same = found[name] == value
                if not same:
                    told.append(f"{place} #{index} {name}: {found[name]!r}, the driver: {value!r}")
            if None in (found["start_ns"], found["end_ns"], found["duration_ns"]):
                continue  # Its times differ from the driver's: reported above.
            if found["duration_ns"] != found["end_ns"] - found["start_ns"]:
                told.append(f"{place} #{index}: duration_ns is not end - start")
            if found["api"] is not None and not (
                found["api_start_ns"] <= found["api_end_ns"]
                and found["api_start_ns"] <= found["start_ns"]
            ):
                told.append(f"{place} #{index}: before its host call began")
            if len(told) > limit:
                return told + ["..."]
    return told


def identity(pid, device, stream, correlation, node, start, end):
    return (
        int(pid),
        int(device),
        int(stream),
        int(correlation),
        int(node or 0),
        int(start),
        int(end),
    )


def compare_sets(database, truths):
    """(activities that the driver executed and run.db lacks, those of run.db that never were).

    For killed programs: the present rows must be right and unique, and some rows are missing. Work that
    still ran when the process ended has no end (NULL), and is right without one."""
    executed, timeless = {}, {}
    for pid, rows in truths.items():
        for r in rows:
            key = identity(
                pid, *(r[n] for n in "device stream correlation node start_ns end_ns".split())
            )
            executed[key] = r
            timeless.setdefault(key[:5], []).append(key)
    invented = []
    for r in recorded_rows(database):
        key = identity(
            r["pid"],
            r["ordinal"],
            r["stream_id"],
            r["correlation_id"],
            r["graph_node_id"],
            r["start"] or 0,
            r["end"] or 0,
        )
        if r["duration_ns"] is None and key not in executed:
            key = next((k for k in timeless.get(key[:5], ()) if k in executed), key)
        if executed.pop(key, None) is None:  # never executed, or there twice
            invented.append(key)
    return list(executed.values()), invented


BLOCK = struct.Struct("<IIHHIQQ")  # recording/format.md
BLOCK_MAGIC, SEGMENT_BYTES = 0x4B424C58, 16 << 20
FACTS, ACTIVITIES, CLOCKS, STATS, FOOTER = 2, 6, 17, 18, 20


def blocks(recording):
    """(type, rows, payload) of a recording's whole blocks, in the order in which they were written."""
    found, offset = [], 0
    data = pathlib.Path(recording).read_bytes()
    while offset + BLOCK.size <= len(data):
        magic, size, kind, _, rows, sequence, _ = BLOCK.unpack_from(data, offset)
        if magic != BLOCK_MAGIC:
            offset = (offset // SEGMENT_BYTES + 1) * SEGMENT_BYTES
            continue
        found.append((sequence, kind, rows, data[offset + BLOCK.size : offset + BLOCK.size + size]))
        offset += BLOCK.size + size
    return [block[1:] for block in sorted(found, key=lambda block: block[0])]


def rows_in(recording, wanted=ACTIVITIES):
    """How many rows of a type the file holds by now."""
    return sum(rows for kind, rows, _ in blocks(recording) if kind == wanted)


def varints(payload):
    value = shift = 0
    for byte in payload:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0


def flushed_until(recording):
    """All device work before this moment (ns) is in the file; 0: nothing is required.

    The collector notes the clocks after each flush, and writes them with the data of the flush, not before
    it. So if the file has a later block of clocks, all data of the earlier flush is there, for any kind of
    kill. A flush begins after the clock of the previous one. This holds at any speed of the machine."""
    clocks = [payload for kind, _, payload in blocks(recording) if kind == CLOCKS]
    told = [wall for payload in clocks[:-1] for wall in list(varints(payload))[1::4]]
    return told[-2] if len(told) >= 2 else 0


def plain_name(function):
    """cuMemcpyHtoDAsync_v2 and cuMemcpyHtoDAsync are one function."""
    return re.sub(r"_(v\d+|ptsz|ptds)+$", "", function)


def loss(database):
    """Number of lost records in the run: run stats of severity data_loss and error."""
    rows = run_stats(database, "data_loss", "error")
    return sum(row["value"] or 0 for row in rows)


def run_stats(database, *severities):
    with support.open_database(database) as connection:
        rows = [dict(row) for row in connection.execute("SELECT * FROM run_stat")]
    connection.close()
    return [row for row in rows if row["severity"] in severities]


def scalar(database, sql):
    with support.open_database(database) as connection:
        value = connection.execute(sql).fetchone()[0]
    connection.close()
    return value


def rows_of(database, sql):
    with support.open_database(database) as connection:
        rows = [dict(row) for row in connection.execute(sql)]
    connection.close()
    return rows


def recording_files(folder):
    return sorted(path for path in pathlib.Path(folder).glob("*.rec") if path.is_file())
