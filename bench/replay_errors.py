#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors of replay, one row of a Markdown table per file (docs/development/replay-accuracy.md).

    replay_errors.py --xlatrace build/release/bin/xlatrace [RUN.db | RECORDING]...

Without files: the shared recordings (XLATRACE_SHARED_DATA), and the programs of tests/replay before their
change, recorded now on the fake GPU (XLATRACE_FAKE_GPU; those of JAX: XLATRACE_TEST_PYTHON_JAX_CUDA).
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "replay"))
import frameworks  # noqa: E402, tests/replay
import workloads  # noqa: E402
from recording import Broken, Recorder, Skip  # noqa: E402

SHARED = (
    "captures/nsys-jax-maxtext-fsdp4-h100", "captures/nsys-jax-pax-fsdp4-a100",
    "nsys/h100_2gpu_1s.sqlite", "nsys/mfu_2gpu_before.sqlite", "nsys/mfu_2gpu_after.sqlite",
    "kineto/h100_bert-small.json.gz", "kineto/mi300_bert-small.json.gz",
    "kineto/b200_eager_trace.json.gz", "kineto/hta_alexnet.json.gz",
    "kineto/hta_sampled_rank0.json.gz", "xplane/jax08_elementwise.xplane.pb",
    "xplane/jax08_gemm.xplane.pb", "xplane/jax_conv_minimal.xplane.pb",
    "xplane/tpu_v6e_jit_f_4chips.xplane.pb",
)  # fmt: skip


def row(xlatrace: str, path: pathlib.Path, folder: pathlib.Path, name: str = "") -> str:
    run = path
    name = name or path.name
    if path.suffix != ".db":
        run = folder / (path.name + ".db")
        subprocess.run(
            [xlatrace, "import", str(path), "-o", str(run), "--force"], check=True,
            capture_output=True,
        )  # fmt: skip
    result = subprocess.run(
        [xlatrace, "what-if", str(run), "--format", "json"], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if result.returncode != 0:
        return f"| {name} | - | - | - | - |"
    answer = json.loads(result.stdout)
    of = "whole run" if answer["whole_run"] else f"{answer['steps']} steps"
    figures = (answer["replay_error_pct"], answer["largest_replay_error_pct"])
    error, largest = ("-" if value is None else f"{value:.2f}" for value in figures)
    return f"| {name} | {of} | {answer['recorded_step_ns'] / 1e6:.2f} | {error} | {largest} |"


def fake_gpu_rows(xlatrace: str, folder: pathlib.Path) -> None:
    """Programs that several pairs begin with are recorded once."""
    recorder = Recorder(pathlib.Path(xlatrace).resolve())
    seen = []
    for pair in workloads.pairs() + frameworks.gpu_pairs():
        if pair.before in seen:
            continue
        seen.append(pair.before)
        try:
            run = recorder.record(pair.kind, pair.before, folder / pair.name)
        except Skip as skip:
            print(f"skip {pair.name}: {skip}", file=sys.stderr)
            continue
        except Broken as broken:
            print(f"{pair.name}: {broken}", file=sys.stderr)
            print(f"| {pair.name} (fake GPU) | - | - | - | - |", flush=True)
            continue
        print(row(xlatrace, run.file, folder, f"{pair.name} (fake GPU)"), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Replay errors as a table.")
    parser.add_argument("--xlatrace", default="build/release/bin/xlatrace")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    shared = os.environ.get("XLATRACE_SHARED_DATA")
    files = options.files or [pathlib.Path(shared) / name for name in SHARED if shared]
    print("| recording | of | ms | error % | largest % |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            print(row(options.xlatrace, path, pathlib.Path(folder)), flush=True)
        if not options.files:
            fake_gpu_rows(options.xlatrace, pathlib.Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
