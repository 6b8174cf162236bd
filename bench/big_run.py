#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a trace of a transformer's training with a given number of launches, for measurements.

    bench/big_run.py LAUNCHES FOLDER [--after]

writes FOLDER/trace.sqlite (an Nsight Systems export, 2 streams, 2,500 launches a step) and
FOLDER/module_0005.jit_train_step.sm_9.0_gpu_after_optimizations.txt (its module, 1,500 instructions).
With --after the same program after a change: no masks, a softmax that is 1.5 times slower. Then:

    xlatrace import FOLDER/trace.sqlite --modules FOLDER -o FOLDER/run.db
    xlatrace report FOLDER/run.db

Nothing is random: the same arguments give the same bytes. Durations are log-normal, with a median of
12 us and 3 % jitter from step to step. Gaps take 0.4 to 20 us; every 37th step has a stall of the host.
"""

import math
import pathlib
import random
import sqlite3
import sys

LAUNCHES_PER_STEP = 2500
INSTRUCTIONS = 1500
LAYERS = 24
PARTS = [  # Parts of a layer: scope, work, kernel, source line.
    ("attention/query", "dot_general", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64", 88),
    ("attention/scores", "dot_general", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", 97),
    ("attention/softmax", "exp", "input_reduce_fusion", 131),
    ("attention/mask", "select_n", "loop_select_fusion", 140),
    ("mlp/wi", "dot_general", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64", 210),
    ("mlp/gelu", "tanh", "loop_multiply_fusion", 214),
    ("mlp/wo", "dot_general", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64", 221),
    ("norm", "rsqrt", "input_multiply_reduce_fusion", 55),
]
TABLES = """
PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
  contextId INTEGER, greenContextId INTEGER, streamId INTEGER, correlationId INTEGER,
  globalPid INTEGER, demangledName INTEGER, shortName INTEGER, mangledName INTEGER,
  launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER, gridX INTEGER,
  gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,
  staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER,
  localMemoryTotal INTEGER, gridId INTEGER, sharedMemoryExecuted INTEGER, graphNodeId INTEGER,
  sharedMemoryLimitConfig INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER,
  callchainId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER,
  category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER,
  textId INTEGER, domainId INTEGER);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, smCount INTEGER, clockRate INTEGER,
  memoryBandwidth INTEGER, totalMemory INTEGER, uuid TEXT, computeMajor INTEGER,
  computeMinor INTEGER);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);
INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 80GB HBM3', 132, 1980000000, 3352320000000,
  85045870592, 'GPU-0', 9, 0);
"""


def instructions(after):
    """(name, op_name, kernel, source line, median duration in ns, is dot, is collective)."""
    rng = random.Random(7)
    forward = INSTRUCTIONS * 4 // 10
    backward = INSTRUCTIONS * 5 // 10
    rows = []
    for i in range(INSTRUCTIONS):
        scope, work, kernel, line = PARTS[i % len(PARTS)]
        duration = int(rng.lognormvariate(math.log(12_000), 0.9))
        collective = False
        if i < forward:
            layer = i * LAYERS // forward
            name = f"jit(train_step)/jit(main)/jvp(Transformer)/decoder/layer_{layer}/{scope}/{work}"
        elif i < forward + backward:
            layer = LAYERS - 1 - (i - forward) * LAYERS // backward
            name = f"jit(train_step)/jit(main)/transpose(jvp(Transformer))/decoder/layer_{layer}/{scope}/{work}"
            collective = i % 40 == 0
        else:
            name, kernel, line = "jit(train_step)/jit(main)/optimizer/adam/mul", "loop_add_fusion", 310
        if collective:
            kernel, duration = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", duration * 4
        stem = "all-reduce" if collective else kernel if "fusion" in kernel else "cublas-gemm"
        dot = stem == "cublas-gemm"
        if after and work == "select_n":
            continue
        if after and work == "exp":
            duration = duration * 3 // 2
        rows.append((f"{stem}.{i}", name, kernel, line, duration, dot, collective))
    return rows


def write_module(path, rows):
    shape = "bf16[1024,1024]{1,0}"
    lines = ["HloModule jit_train_step, is_scheduled=true", ""]
    for name, op_name, kernel, line, _, dot, collective in rows:
        if dot or collective:
            continue
        body = f"fused_computation.{name.rsplit('.', 1)[1]}"
        lines += [
            f"%{body} (param_0: {shape[:-5]}, param_1: {shape[:-5]}) -> {shape[:-5]} {{",
            f"  %param_0.{body} = {shape} parameter(0)",
            f"  %param_1.{body} = {shape} parameter(1)",
            f'  ROOT %add.{body} = {shape} add(%param_0.{body}, %param_1.{body}), metadata={{op_name="{op_name}"}}',
            "}",
            "",
        ]
    lines += [
        "%sum (a: bf16[], b: bf16[]) -> bf16[] {",
        "  %a = bf16[] parameter(0)",
        "  %b = bf16[] parameter(1)",
        "  ROOT %c = bf16[] add(%a, %b)",
        "}",
        "",
        f"ENTRY %main (p0: {shape[:-5]}, p1: {shape[:-5]}) -> {shape[:-5]} {{",
        f"  %p0 = {shape} parameter(0)",
        f"  %p1 = {shape} parameter(1)",
    ]
    before, last = "p1", "p0"
    for i, (name, op_name, kernel, line, _, dot, collective) in enumerate(rows):
        root = "ROOT " if i + 1 == len(rows) else ""
        meta = f'metadata={{op_name="{op_name}" source_file="/home/user/model.py" source_line={line}}}'
        if dot:
            work = f"custom-call(%{last}, %{before}), custom_call_target=\"__cublas$gemm\""
        elif collective:
            work = f"all-reduce(%{last}), replica_groups={{}}, to_apply=%sum"
        else:
            body = f"fused_computation.{name.rsplit('.', 1)[1]}"
            work = f"fusion(%{last}, %{before}), kind=kLoop, calls=%{body}"
        lines.append(f"  {root}%{name} = {shape} {work}, {meta}")
        before, last = last, name
    lines += ["}", ""]
    path.write_text("\n".join(lines))


def write_trace(path, rows, launches):
    rng = random.Random(11)
    db = sqlite3.connect(path)
    db.executescript(TABLES)
    pid = 1 << 48 | 104 << 24
    tid = pid | 105
    kernels = sorted({row[2] for row in rows})
    kernel_id = {name: i + 1 for i, name in enumerate(kernels)}
    texts = [(i, name) for name, i in kernel_id.items()]
    texts += [(10_000 + i, f"Thunk:#name={r[1]},hlo_op={r[0]}#") for i, r in enumerate(rows)]
    texts += [(9_000, "cuLaunchKernelEx"), (9_001, "XlaModule:#hlo_module=jit_train_step,program_id=5#")]
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", texts)
    db.execute("INSERT INTO NVTX_EVENTS VALUES (0, NULL, 75, NULL, NULL, NULL, 'TSL', ?, NULL, NULL, 2)", (tid,))
    kernel_sql = f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({','.join('?' * 28)})"
    # Which instructions a step launches: all of them, the first ones twice (a loop).
    order = sorted(i % len(rows) for i in range(LAUNCHES_PER_STEP))
    _now, host, done = 1_000_000, 500_000, 0
    free = {7: 0, 20: 0}
    for step in range((launches + LAUNCHES_PER_STEP - 1) // LAUNCHES_PER_STEP):
        kernel_rows, call_rows, range_rows = [], [], []
        begin = host
        if step % 37 == 20:
            host += 3_000_000
        pace = 1 + 0.02 * rng.random()
        for i in order[: launches - done]:
            name, _, kernel, _, duration, dot, collective = rows[i]
            done += 1
            host += 1_800 + rng.randrange(600)
            stream = 20 if collective else 7
            ready = max(free.values()) if collective else free[7]
            start = max(ready, free[stream]) + 400 + int(rng.expovariate(1 / 900))
            start = max(start, host + 4_000)
            end = start + max(800, int(duration * pace * (0.97 + 0.06 * rng.random())))
            start, end = start // 32 * 32, end // 32 * 32
            free[stream] = end
            kernel_rows.append((start, end, 0, 1, None, stream, done, pid, kernel_id[kernel], kernel_id[kernel],
                                kernel_id[kernel], 1, 1, 168 if dot else 32, 132 if dot else 4096, 1, 1,
                                384 if dot else 256, 1, 1, 0, 200_000 if dot else 1024, 0, 0, done, 0, None, 0))
            call_rows.append((host, host + 1_500, 0, tid, done, 9_000, 0, None))
            range_rows.append((host - 300, host + 1_700, 59, None, None, None, None, tid, None, 10_000 + i, 2))
        # Exports list ranges by their start.
        range_rows.insert(0, (begin, host + 1_750, 59, None, None, None, None, tid, None, 9_001, 2))
        host = max(host + 30_000, max(free.values()) - 20_000_000)
        db.executemany(kernel_sql, kernel_rows)
        db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,?,?,?,?,?,?)", call_rows)
        db.executemany("INSERT INTO NVTX_EVENTS VALUES (?,?,?,?,?,?,?,?,?,?,?)", range_rows)
    db.commit()
    db.close()


def main():
    launches, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    rows = instructions("--after" in sys.argv[3:])
    write_module(folder / "module_0005.jit_train_step.sm_9.0_gpu_after_optimizations.txt", rows)
    trace = folder / "trace.sqlite"
    trace.unlink(missing_ok=True)
    write_trace(trace, rows, launches)


if __name__ == "__main__":
    main()
