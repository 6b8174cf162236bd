#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Growth of a lake per rank and day of continuous profiling (docs/development/fleet-measurements.md).

    bench/lake_bench.py BUILD [--steps 10] [--every 600]

Rows are those of bench/big_run.py (2,500 launches per step, 1,500 instructions). Two runs with different
numbers of steps give the size of a run and of each of its steps. A day is one run with a window of
STEPS steps every EVERY seconds. Prints a Markdown table."""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LAUNCHES_PER_STEP = 2500


def lake_bytes(build: Path, folder: Path, steps: int) -> int:
    made, program, lake = folder / f"made{steps}", build / "bin/xlatrace", folder / f"lake{steps}"
    for command in (
        [sys.executable, ROOT / "bench/big_run.py", steps * LAUNCHES_PER_STEP, made],
        [program, "import", made / "trace.sqlite", "--modules", made, "-o", made / "run.db"],
        [program, "export", made / "run.db", "--to", "parquet", "--layout", "lake", "-o", lake,
         "--date", "2026-03-01"],
    ):  # fmt: skip
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return sum(file.stat().st_size for file in lake.rglob("*.parquet"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--every", type=float, default=600)
    options = parser.parse_args()
    build = options.build.resolve()
    folder = Path(tempfile.mkdtemp(prefix="lake_bench."))
    try:
        few, many = 20, 100
        of_few, of_many = lake_bytes(build, folder, few), lake_bytes(build, folder, many)
        step = (of_many - of_few) / (many - few)
        steps = options.steps * 86_400 / options.every
        print("| a run, kB | each recorded step, kB | steps a day | per rank and day, MB |\n|---|---|---|---|")
        print(f"| {(of_few - few * step) / 1e3:.0f} | {step / 1e3:.2f} | {steps:.0f} |"
              f" {(of_few + (steps - few) * step) / 1e6:.2f} |")  # fmt: skip
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
