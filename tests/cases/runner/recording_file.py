# SPDX-License-Identifier: Apache-2.0
"""Writes a recording of xlatrace's collector (recording/format.md): one file per process.

Rows are dictionaries; a missing field is 0 or empty. Times are nanoseconds of the wall clock.
This is a second implementation of the format on purpose, so that the program reads files of another writer.
"""

import struct

from xxh3 import xxh3_64

VERSION = 1
MAGIC = 0x4B424C58  # "XLBK" in little endian.
# Block types, in the order in which the collector writes them: definitions come before their references.
SEGMENT, FACTS, STRINGS, CONFIGS, LANES, ACTIVITIES, API_CALLS, RANGES = range(1, 9)
DEVICES, CONTEXTS, THREADS, FOOTER = 12, 13, 15, 20

KERNEL, MEMCPY, MEMCPY_PEER, MEMSET, GRAPH = range(5)
DRIVER_DOMAIN = 0

DEVICE_FIELDS = (
    "device", "name", "uuid", "compute_major", "compute_minor", "sm_count", "core_clock_khz",
    "memory_bandwidth_kb_per_s", "memory_bytes", "l2_bytes", "warp_size", "max_warps_per_sm",
    "max_blocks_per_sm", "max_threads_per_block", "registers_per_sm", "registers_per_block",
    "shared_memory_per_sm_bytes", "shared_memory_per_block_bytes", "shared_memory_per_block_optin_bytes",
    "shared_memory_reserved_per_block_bytes")
DEVICE_TEXTS = ("name", "uuid")
KERNEL_FIELDS = (
    "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "cluster_x", "cluster_y", "cluster_z",
    "registers_per_thread", "shared_memory_static_bytes", "shared_memory_dynamic_bytes",
    "shared_memory_executed_bytes", "shared_memory_limit_config", "local_memory_per_thread_bytes",
    "local_memory_total_bytes", "launch_type", "max_active_clusters")
COPY_FIELDS = ("copy_kind", "source_kind", "destination_kind", "flags", "source_device", "destination_device")


def number(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value):
    return number(value << 1 if value >= 0 else (-value << 1) - 1)


def text(value):
    data = value.encode()
    return number(len(data)) + data


class RecordingFile:
    """Collects the rows of one process; `data()` is the file."""

    def __init__(self, identity):
        self.identity = identity  # "token.host.pid.start", as in the file's name.
        self.strings = {}
        self.facts, self.devices, self.contexts, self.threads = [], [], [], []
        self.ranges, self.calls, self.activities = [], [], []
        self.configs, self.lanes = {}, {}

    def string(self, value):
        """The permanent id of a text, from 1."""
        return self.strings.setdefault(value, len(self.strings) + 1)

    def fact(self, key, value):
        self.facts.append(text(key) + text(str(value)))

    def device(self, **row):
        self.devices.append(b"".join(
            text(row.get(name, "")) if name in DEVICE_TEXTS else number(row.get(name, 0))
            for name in DEVICE_FIELDS))

    def context(self, context, device, null_stream):
        self.contexts.append(number(context) + number(device) + number(null_stream))

    def thread(self, thread, name):
        self.threads.append(number(thread) + text(name))

    def range(self, **row):
        self.ranges.append(row)

    def call(self, **row):
        self.calls.append(row)

    def activity(self, kind, config, lane, **row):
        """`config`: the launch configuration; `lane`: (device, context, stream)."""
        encoded = number(kind) + text(config.get("name", ""))
        if kind != GRAPH:
            fields = KERNEL_FIELDS if kind == KERNEL else COPY_FIELDS
            encoded += b"".join(number(config.get(name, 0)) for name in fields)
        row["kind"] = kind
        row["config"] = self.configs.setdefault(encoded, len(self.configs))
        row["lane"] = self.lanes.setdefault(b"".join(map(number, lane)), len(self.lanes))
        self.activities.append(row)

    def data(self):
        strings = [number(id_) + number(0) * 3 + text(value) + number(0) + number(len(value.encode()))
                   for value, id_ in self.strings.items()]
        blocks = [
            (SEGMENT, [number(VERSION) + number(0) + text(self.identity)]), (FACTS, self.facts),
            (STRINGS, strings), (DEVICES, self.devices), (CONTEXTS, self.contexts),
            (THREADS, self.threads), (RANGES, encoded_ranges(self.ranges)),
            (API_CALLS, encoded_calls(self.calls)), (CONFIGS, list(self.configs)),
            (LANES, list(self.lanes)), (ACTIVITIES, encoded_activities(self.activities))]
        blocks = [(kind, rows) for kind, rows in blocks if rows]
        blocks.append((FOOTER, [number(len(blocks))]))
        return b"".join(block(kind, rows, sequence) for sequence, (kind, rows) in enumerate(blocks))


def block(kind, rows, sequence):
    payload = b"".join(rows)
    first_id = 1 if kind in (CONFIGS, LANES) else 0
    head = struct.pack("<IIHHIQ", MAGIC, len(payload), kind, first_id, len(rows), sequence)
    return head + struct.pack("<Q", xxh3_64(payload, xxh3_64(head))) + payload


class Delta:
    """Numbers as differences from the row before."""

    def __init__(self):
        self.last = {}

    def same(self, name, value):
        return self.last.get(name, 0) == value

    def number(self, name, value):
        self.last[name] = value
        return number(value)

    def delta(self, name, value):
        difference = value - self.last.get(name, 0)
        self.last[name] = value
        return signed(difference)


def encoded_ranges(rows):
    before, encoded = Delta(), []
    for row in rows:
        thread, domain = row["thread"], row.get("domain", 0)
        run, start, end = row.get("module_run", 0), row["start_ns"], row["end_ns"]
        out = number(before.same("thread", thread) | before.same("domain", domain) << 1 | bool(run) << 2)
        for name, value in (("thread", thread), ("domain", domain)):
            if not before.same(name, value):
                out += before.number(name, value)
        out += before.delta("text", row["text"]) + before.delta("start", start) + signed(end - start)
        out += number(row.get("depth", 0))
        if run:
            out += before.delta("run", run)
        encoded.append(out)
    return encoded


def encoded_calls(rows):
    before, encoded = Delta(), []
    for row in rows:
        thread, function, run, thunk = (row["thread"], row["function"], row.get("module_run", 0),
                                        row.get("thunk", 0))
        out = number(before.same("thread", thread) << 1 | before.same("function", function) << 2 |
                     before.same("run", run) << 3 | bool(thunk) << 4)
        for name, value in (("thread", thread), ("function", function)):
            if not before.same(name, value):
                out += before.number(name, value)
        out += before.delta("correlation", row["correlation"]) + before.delta("start", row["start_ns"])
        out += signed(row["end_ns"] - row["start_ns"])
        if thunk:
            out += before.delta("thunk", thunk)
        if not before.same("run", run):
            out += before.delta("run", run)
        encoded.append(out)
    return encoded


def encoded_activities(rows):
    before, encoded = Delta(), []
    for row in rows:
        lane, correlation = row["lane"], row["correlation"]
        out = number(row["kind"] | before.same("lane", lane) << 3 |
                     before.same("correlation", correlation) << 4)
        if not before.same("lane", lane):
            out += before.number("lane", lane)
        out += number(row["config"]) + before.delta("start", row["start_ns"])
        out += signed(row["end_ns"] - row["start_ns"])
        if not before.same("correlation", correlation):
            out += before.delta("correlation", correlation)
        if row["kind"] not in (KERNEL, GRAPH):
            out += number(row.get("bytes", 0))
        encoded.append(out)
    return encoded
