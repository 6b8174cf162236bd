#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of CUPTI's buffers and the collector's CPU time per launch, on the fake GPU.

    bench/collector_buffers.py [--prefix build/release] [--collector LIBRARY] [--runs 3]

Prints one row per program, with median and range of the runs. Memory is the largest of a run (run stat
collector_buffer_bytes_mapped). CPU time is that of the collector's threads and callbacks (own_cost_ns of
run_info). --collector measures another build of libxlatrace_collector.so, for comparison.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

# Name, script of fake_workload, scenario. Launches are few enough for a busy machine.
PROGRAMS = (
    ("1 thread, 1,000 launches per second, GPU busy", "rate 1000; repeat 500 { launch a x 10 }; sync", "kernel a times 60\n"),
    ("1 thread, 10,000 launches per second, GPU idle", "rate 10000; repeat 4000 { launch a x 10 }; sync", ""),
    ("8 threads, 400,000 launches at full speed", "threads 8 { repeat 5000 { launch a x 10 on s%t } }; sync", "kernel a times 0.1\n"),
    ("20 launches of a graph of 4,000 nodes", "graph g { " + "launch a; " * 4000 + "}; run g x 20; sync", ""),
)  # fmt: skip


def measure(options, script, scenario):
    """(launches, bytes of buffers, ns per launch) of one run."""
    with tempfile.TemporaryDirectory(prefix="xlatrace-buffers-") as folder:
        work = pathlib.Path(folder)
        (work / "script").write_text(script.replace("; ", "\n").replace("{ ", "{\n"))
        (work / "scenario").write_text(scenario)
        fake = options.prefix / "fake_gpu"
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("XLATRACE_", "FAKE_"))}
        if "XLATRACE_MUTANT" in os.environ:  # scripts/gpu_check_faults
            environment["XLATRACE_MUTANT"] = os.environ["XLATRACE_MUTANT"]
        environment.update(LD_LIBRARY_PATH=str(fake), FAKE_GPU_SCENARIO=str(work / "scenario"), XLATRACE_QUIET="1")
        for variable in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"):
            environment[variable] = str(options.collector)
        subprocess.run([fake / "fake_workload", work / "script"], cwd=work, env=environment, check=True)
        query = (
            "SELECT (SELECT count(*) FROM activity) AS launches, "
            "(SELECT value FROM run_stat WHERE name = 'collector_buffer_bytes_mapped') AS bytes, "
            "(SELECT value FROM run_info WHERE key = 'own_cost_ns') AS cost"
        )
        done = subprocess.run(
            [options.prefix / "bin" / "xlatrace", "query", "run.db", query, "--format", "json"],
            cwd=work, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        row = json.loads(done.stdout)["rows"][0]
        launches = int(row["launches"])
        return launches, int(row["bytes"]), int(row["cost"]) / launches


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--collector", type=pathlib.Path, help="another libxlatrace_collector.so")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    options.prefix = options.prefix.resolve()
    options.collector = (options.collector or options.prefix / "lib" / "libxlatrace_collector.so").resolve()
    print("| program | launches | memory of buffers, median and range | CPU time per launch, median and range |")
    print("|---|---|---|---|")
    for name, script, scenario in PROGRAMS:
        runs = [measure(options, script, scenario) for _ in range(options.runs)]
        launches, sizes, costs = zip(*runs)
        mib = [size / 2**20 for size in sizes]
        print(
            f"| {name} | {launches[0]:,} | {statistics.median(mib):.1f} MiB ({min(mib):.1f} to {max(mib):.1f}) | "
            f"{statistics.median(costs):.0f} ns ({min(costs):.0f} to {max(costs):.0f}) |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
