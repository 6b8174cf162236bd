#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clocks of real ranks are shifted, drift and come in another order. They are found again within the stated
error, and groups without a common collective are rejected (real_clocks.cc defines both).

  tests/fleet/check_clocks.py --xlatrace build/release/bin/xlatrace \\
      --tool build/release/tests/fleet/fleet_real_clocks [--data DIR] [--cases 100] [--seed 1]

The ranks: two of the four processes of nsys-jax-pax-fsdp4-a100 (those in DIR), each with its own clock.
The others are four devices of nsys-jax-maxtext-fsdp4-h100 with one common clock. Prints a Markdown table.
Exit status 1 if a result is wrong, 77 if DIR lacks the captures."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import shared_data  # noqa: E402, in the folder of the components

SOURCES = {
    "Pax, A100": ("captures/nsys-jax-pax-fsdp4-a100/proc0", "captures/nsys-jax-pax-fsdp4-a100/proc1.zip"),
    "MaxText, H100": ("captures/nsys-jax-maxtext-fsdp4-h100",),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--xlatrace", type=Path, required=True)
    parser.add_argument("--tool", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=shared_data.FOLDER)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    missing = [path for paths in SOURCES.values() for path in paths
               if not options.data or not (options.data / path).exists()]
    if missing:
        print(f"skipped: {shared_data.reason(missing[0])}")
        return 77
    failed = 0
    header = True
    for name, paths in SOURCES.items():
        with tempfile.TemporaryDirectory() as folder:
            runs = []
            for path in paths:
                runs.append(f"{folder}/{len(runs)}.db")
                subprocess.run([options.xlatrace, "import", options.data / path, "-o", runs[-1]],
                               check=True, capture_output=True)
            said = subprocess.run([options.tool, str(options.cases), str(options.seed), *runs],
                                  capture_output=True, text=True, check=False)
        failed += said.returncode != 0
        lines = said.stdout.splitlines()
        if header and lines:
            print(f"| recording {lines[0]}\n|---{lines[1]}")
            header = False
        for line in lines[2:]:
            print(f"| {name} {line}", flush=True)
        sys.stdout.write(said.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
