#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares XProf, HTA and nsys-ai with xlatrace on the same captures: the table of docs/explanation/other-tools.md.

    bench/other_tools/compare.py --setup TOOLS       # three venvs, pinned releases from PyPI
    bench/other_tools/compare.py --tools TOOLS --captures DATA [--update]

XLATRACE_BIN names the program (default: xlatrace). --update writes the table into the page.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "explanation" / "other-tools.md"
BEGIN, END = "<!-- table begins -->", "<!-- table ends -->"
RELEASES = {
    "xprof": ["xprof==2.24.2"],
    "hta": ["HolisticTraceAnalysis==0.5.0"],
    "nsys-ai": ["nsys-ai==0.3.0", "duckdb==1.5.5", "duckdb-extensions==1.5.5",
                "duckdb-extension-sqlite-scanner==1.5.5"],  # fmt: skip
}
PROGRAM = os.environ.get("XLATRACE_BIN", "xlatrace")


def setup(tools):
    for name, packages in RELEASES.items():
        subprocess.run([sys.executable, "-m", "venv", tools / name], check=True)
        subprocess.run([tools / name / "bin/pip", "install", "-q", *packages], check=True)


def probe(tools, tool, files):
    """File name -> the tool's figures for it."""
    command = [tools / tool / "bin/python", HERE / f"{tool}_probe.py", *files]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return {row.pop("file"): row for row in rows}


class Run:
    """A capture as xlatrace reads it."""

    def __init__(self, folder, capture):
        self.path = pathlib.Path(folder) / (capture.name + ".db")
        command = [PROGRAM, "import", capture, "-o", self.path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.error = done.stderr.splitlines()[0] if done.returncode else None

    def one(self, sql):
        command = [PROGRAM, "query", self.path, sql, "--format", "json"]
        rows = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        rows = rows["rows"] if isinstance(rows, dict) else rows
        return next(iter(rows[0].values()))


def pct(value):
    # Never rounded to all or nothing.
    return "none" if value == 0 else f"{min(value, 99.9):.1f}%" if value < 100 else "all"


def nsys_ai(tools, capture, folder):
    copy = shutil.copy(capture, folder)
    command = [tools / "nsys-ai/bin/nsys-ai"]
    summary = subprocess.run([*command, "summary", copy], capture_output=True, text=True).stdout
    iterations = subprocess.run([*command, "iters", copy], capture_output=True, text=True).stdout
    used = [float(x) for x in re.findall(r"Util: ([\d.]+)%", summary)]
    found = len(re.findall(r"^\s*iter\s+\d+", iterations, re.M))
    return sum(used) / len(used), found


def rows_of_xprof(tools, data, folder):
    files = sorted((data / "xplane").glob("*.xplane.pb"))
    for name, other in probe(tools, "xprof", files).items():
        run = Run(folder, data / "xplane" / name)
        if other["answer"] is None or run.error:
            ours = (run.error or "read").split("profile: ")[-1]
            yield (name, "a damaged file", "prints nothing, exit status 0", f"error: {ours}",
                   "")  # fmt: skip
            continue
        names = run.one("SELECT 100.0 * sum(self_ns) / (SELECT sum(self_ns) FROM op_time"
                        " WHERE handle IS NOT NULL) FROM op_time WHERE op_name IS NOT NULL")
        yield (name, "time with an op_name (`op_time`)", pct(other["named_pct"]), pct(names),
               "names inside fusions, of operands and of users count")  # fmt: skip
        unknown = run.one("SELECT 100.0 * sum(CASE WHEN bound_by IS NULL OR bound_by = 'unknown'"
                          " THEN self_ns ELSE 0 END) / sum(self_ns) FROM op_time"
                          " WHERE handle IS NOT NULL")
        yield (name, "time of ops whose bound is unknown (`op_time.bound_by`)",
               pct(other["bound_unknown_pct"]), pct(unknown),
               "peaks of TPUs are not in our table" if unknown > other["bound_unknown_pct"]
               else "library calls get their operations from the HLO")  # fmt: skip
        bytes_per_s = run.one("SELECT max(memory_bandwidth_bytes_per_s) FROM device") or 0
        yield (name, "memory bandwidth, GB/s (`device`)", f"{other['peak_gbytes']:,.0f}",
               f"{bytes_per_s / 1e9:,.0f}",
               "profiles of these GPUs report half of the data sheet")  # fmt: skip
        kernel_us = run.one("SELECT sum(self_ns) / 1e3 FROM op_time WHERE handle IS NOT NULL")
        yield (name, "device time of ops, ms", f"{other['op_us'] / 1e3:,.3f}",
               f"{kernel_us / 1e3:,.3f}", "not looked into")  # fmt: skip
        steps = run.one("SELECT count(DISTINCT step) FROM step WHERE steady")
        yield (name, "steady steps (`step`)", other["statement"].split(".")[0] or "-", f"{steps}",
               "steps are the executions of the main module")  # fmt: skip
        findings = run.one("SELECT count(*) FROM finding")
        yield (name, "advice (`finding`)", "none", f"{findings}", "")


def rows_of_hta(tools, data, folder):
    files = sorted((data / "kineto").glob("*.json.gz"))
    for name, other in probe(tools, "hta", files).items():
        run = Run(folder, data / "kineto" / name)
        busy = run.one("SELECT coalesce(sum(busy_ns), 0) FROM busy_time") / 1e3
        if other["answer"] is None:
            yield (name, "GPU busy, us (`busy_time`)", other["error"][:60], f"{busy:,.3f}",
                   "a trace without any GPU record")  # fmt: skip
            continue
        change = 100 * (other["busy_us"] - busy) / busy
        why = "HTA rounds each record down to microseconds"
        if change > 0:
            why += ", and counts waiting (`cuda_sync`) as busy"
        if change < -25:
            why += ", and leaves out the last profiler step"
        yield (name, "GPU busy, us (`busy_time`)", f"{other['busy_us']:,.0f} ({change:+.1f}%)",
               f"{busy:,.3f}", why)  # fmt: skip


def rows_of_nsys_ai(tools, data, folder):
    for capture in sorted((data / "nsys").glob("*.sqlite")):
        run = Run(folder, capture)
        used, iterations = nsys_ai(tools, capture, folder)
        busy = run.one("SELECT 100.0 * sum(busy_ns) / sum(end_ns - start_ns) FROM busy_time")
        computing = run.one("SELECT 100.0 * sum(compute_ns) / sum(end_ns - start_ns)"
                            " FROM busy_time")
        yield (capture.name, "GPU utilisation (`busy_time`)", f"{used:.1f}%",
               f"{busy:.1f}% busy, {computing:.1f}% computing",
               "copies do not count as work there")  # fmt: skip
        steps = run.one("SELECT count(DISTINCT step) FROM step")
        yield (capture.name, "iterations (`step`)", f"{iterations or 'none'}",
               f"{steps or 'none'}", "no marker and no HLO: nothing to count")  # fmt: skip


def table_of(tools, data):
    lines = ["| capture | question (our view) | other tool | xlatrace | why they differ |",
             "|---|---|---|---|---|"]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for tool, rows in (("XProf", rows_of_xprof), ("HTA", rows_of_hta),
                           ("nsys-ai", rows_of_nsys_ai)):  # fmt: skip
            for capture, question, theirs, ours, why in rows(tools, data, folder):
                why = "" if theirs == ours else why
                lines.append(f"| `{capture}` | {question} | {tool}: {theirs} | {ours} | {why} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--setup", type=pathlib.Path, metavar="TOOLS")
    parser.add_argument("--tools", type=pathlib.Path)
    parser.add_argument("--captures", type=pathlib.Path,
                        default=os.environ.get("XLATRACE_SHARED_DATA"))  # fmt: skip
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    if options.setup:
        setup(options.setup.resolve())
        return
    if not options.tools or not options.captures:
        parser.error("--tools and --captures (or XLATRACE_SHARED_DATA) are needed")
    table = table_of(options.tools.resolve(), pathlib.Path(options.captures))
    print(table)
    if options.update:
        page = PAGE.read_text()
        before, rest = page.split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
