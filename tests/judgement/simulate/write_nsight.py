# SPDX-License-Identifier: Apache-2.0
"""Writes a recording as Nsight Systems' SQLite export has it (schema 3.24)."""

import sqlite3

from events import CALL, COMPILE, COPY, MODULE, THUNK, TO_HOST

PID = 300
GLOBAL_PID = 1 << 48 | PID << 24
START_UNIX_NS = 1_700_000_000_000_000_000
TSL_DOMAIN = 3
# Ids of the only graph and of its first node.
GRAPH, NODE = 9, 1000
TABLES = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, computeMajor INTEGER, computeMinor INTEGER,
  smCount INTEGER, threadsPerWarp INTEGER, maxWarpsPerSm INTEGER, clockRate INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
  text TEXT, textId INTEGER, globalTid INTEGER, domainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER, shortName INTEGER, mangledName INTEGER, registersPerThread INTEGER,
  gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,
  staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER, graphId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
  graphId INTEGER, graphExecId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER);
"""


def tsl_text(frame):
    if frame.kind == MODULE:
        return f"XlaModule:#hlo_module={frame.program.name},program_id={frame.program.id}#"
    if frame.kind == THUNK:
        return f"Thunk:#hlo_op={frame.name}#"
    return f"XlaCompile:#module={frame.name},program_id={frame.program.id}#"


def write_nsight(recording, path):
    db = sqlite3.connect(path)
    db.executescript(TABLES)
    ids, pid = {}, GLOBAL_PID + (recording.process.rank << 24)

    def insert(table, *values):
        db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)

    def string(text):
        if text not in ids:
            ids[text] = len(ids) + 1
            insert("StringIds", ids[text], text)
        return ids[text]

    insert("META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION", "3.24.0")
    insert("TARGET_INFO_SESSION_START_TIME", START_UNIX_NS)
    for device in range(recording.process.devices):
        insert("TARGET_INFO_GPU", device, "NVIDIA H100 80GB HBM3", 9, 0, 132, 32, 64, 1980000000)
    insert("NVTX_EVENTS", 0, None, 75, "TSL", None, pid + 100, TSL_DOMAIN)
    for frame in recording.frames:
        thread = pid + frame.thread
        if frame.kind == CALL:
            insert("CUPTI_ACTIVITY_KIND_RUNTIME", frame.start, frame.end, thread, frame.correlation,
                   string(f"{frame.name}_v7000"), 0)
        elif frame.kind in (MODULE, THUNK, COMPILE):
            insert("NVTX_EVENTS", frame.start, frame.end, 59, None, string(tsl_text(frame)), thread, TSL_DOMAIN)
        else:
            insert("NVTX_EVENTS", frame.start, frame.end, 59, None, string(frame.name), thread, 0)
    for work in recording.work:
        place = (work.start, work.end, work.device, 1, work.stream, work.call and work.call.correlation, pid)
        if work.kind == COPY:
            insert("CUPTI_ACTIVITY_KIND_MEMCPY", *place, work.bytes, 2 if work.direction == TO_HOST else 1)
        elif work.graph and work.name == "graph":
            insert("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", *place, GRAPH, GRAPH + 1)
        else:
            name = string(work.name)
            node = (NODE + int(work.key.split("/")[1]), GRAPH) if work.graph else (None, None)
            insert("CUPTI_ACTIVITY_KIND_KERNEL", *place, name, name, name, 32, 64, 1, 1, 128, 1, 1, 0, 0, *node)
    db.commit()
    db.close()
