#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of `xlatrace merge` for 10, 100 and 1,000 ranks: both per rank should be flat.

  bench/merge_bench.py BUILD [--ranks 10,100,1000] [--steps 20] [--kernels 400] [--shard 8] [--runs 5]
  bench/merge_bench.py BUILD --ranks 4,8 --kernels 50000        # a million launches each

BUILD holds bin/xlatrace and tests/fleet/fleet_ranks, which writes the ranks. Prints a Markdown table.
Columns: CPU and wall seconds per rank, peak memory, sizes of job.db and of the page, and the time until
the page is usable. The last is measured as in bench/page_bench.py: wall time and CPU time of its main thread,
the median of RUNS fresh contexts, from file://. It needs Playwright and Debian's chromium; without
them, or with --runs 0, it is left out."""

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path


def measured(command: list[str]) -> tuple[float, float, int]:
    """CPU and wall seconds and peak memory (MB) of a child."""
    began = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"failed: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - began, usage.ru_maxrss // 1024


def usable(page: Path, runs: int) -> str:
    """Wall and CPU milliseconds until the page can be used, for the table."""
    try:
        from playwright.sync_api import sync_playwright

        import page_bench
    except ImportError:
        runs = 0
    if runs == 0:
        return "- | -"
    wall, cpu = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--disable-gpu", "--no-sandbox"]
        )
        for _ in range(runs):
            context = browser.new_context(viewport={"width": 1440, "height": 900})
            tab = context.new_page()
            devtools = context.new_cdp_session(tab)
            devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
            begin = page_bench.main_thread(devtools)
            tab.goto(page.as_uri(), wait_until="commit")
            wall.append(tab.evaluate(page_bench.READY))
            cpu.append(page_bench.main_thread(devtools) - begin)
            context.close()
        browser.close()
    return f"{statistics.median(wall):.0f} | {statistics.median(cpu):.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--ranks", default="10,100,1000")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--kernels", type=int, default=400)
    parser.add_argument("--shard", type=int, default=0, help="FSDP in groups of so many and DP across; 0: one group")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    print("| ranks | launches per rank | CPU s per rank | wall s per rank | peak MB | job.db MB | page MB | "
          "page usable, ms | its main thread, CPU ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    for ranks in map(int, options.ranks.split(",")):
        folder = Path(tempfile.mkdtemp(prefix="merge_bench."))
        try:
            (folder / "ranks").mkdir()
            subprocess.run([options.build / "tests/fleet/fleet_ranks", folder / "ranks", str(ranks),
                            str(options.steps), str(options.kernels), "3", str(options.shard)], check=True)
            program = str(options.build / "bin/xlatrace")
            job = folder / "job.db"
            seconds, wall, peak = measured([program, "merge", str(folder / "ranks"), "-o", str(job)])
            page = folder / "job.html"
            measured([program, "report", str(job), "-o", str(page)])
            print(f"| {ranks} | {options.steps * (options.kernels + 2 + (options.shard > 0))} | {seconds / ranks:.4f} | "
                  f"{wall / ranks:.4f} | {peak} | {job.stat().st_size / 1e6:.2f} | "
                  f"{page.stat().st_size / 1e6:.2f} | {usable(page, options.runs)} |", flush=True)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
