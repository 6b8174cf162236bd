#!/usr/bin/env python3
"""Time and memory of `xlatrace merge` for 10, 100 and 1,000 ranks: both per rank should be flat.

  bench/merge_bench.py BUILD [--ranks 10,100,1000] [--steps 20] [--kernels 400]

BUILD holds bin/xlatrace and tests/fleet/fleet_ranks, which writes the ranks. Prints a Markdown table:
seconds of CPU per rank, largest memory, sizes of job.db and of the page."""

import argparse
import os
import shutil
import subprocess
import tempfile
from pathlib import Path


def measured(command: list[str]) -> tuple[float, int]:
    """CPU seconds and peak memory (MB) of a child."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"failed: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--ranks", default="10,100,1000")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--kernels", type=int, default=400)
    options = parser.parse_args()
    print("| ranks | launches per rank | CPU s per rank | peak MB | job.db MB | page MB |")
    print("|---|---|---|---|---|---|")
    for ranks in map(int, options.ranks.split(",")):
        folder = Path(tempfile.mkdtemp(prefix="merge_bench."))
        try:
            (folder / "ranks").mkdir()
            subprocess.run([options.build / "tests/fleet/fleet_ranks", folder / "ranks", str(ranks),
                            str(options.steps), str(options.kernels), "3"], check=True)
            program = str(options.build / "bin/xlatrace")
            job = folder / "job.db"
            seconds, peak = measured([program, "merge", str(folder / "ranks"), "-o", str(job)])
            page = folder / "job.html"
            measured([program, "report", str(job), "-o", str(page)])
            print(f"| {ranks} | {options.steps * (options.kernels + 2)} | {seconds / ranks:.4f} | "
                  f"{peak} | {job.stat().st_size / 1e6:.2f} | {page.stat().st_size / 1e6:.2f} |",
                  flush=True)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
