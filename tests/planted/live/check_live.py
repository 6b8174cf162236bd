#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records programs with a planted cause, and clean ones, and checks the first findings of xlatrace.

    check_live.py --xlatrace build/release/bin/xlatrace [--on cpu|gpu] [--quick] [--only NAME]...

Programs of cpu_programs.py run under `xlatrace record` with XLATRACE_TEST_PYTHON_JAX; those of
gpu_programs.py under the preload library on the fake GPU (XLATRACE_TEST_PYTHON_JAX_CUDA and
XLATRACE_FAKE_GPU). A cause is named when the first or second finding has one of its ids and, where the
program marks lines, one of these lines. A clean program has no finding above 3 % of its step.
Exit status: 0 all are right (`--allow N` of each kind may not be), 1 not, 77 nothing could be run.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
TIMEOUT_S = 600
LOUD_PCT = 3
PRODUCTS = ("gemm*", "cutlass*", "nvjet*", "ampere*", "sm80*")  # Kernel names of the fake's libraries.

sys.path.insert(0, str(HERE))
from registry import programs_of  # noqa: E402, beside this file


class Skip(Exception):
    """A requirement of a program is missing here; the text names it."""


class Broken(Exception):
    """A program did not run, or xlatrace gave no answer."""


def environment_without_ours():
    hidden = ("NO_COLOR", "COLUMNS", "XLA_FLAGS", "JAX_PLATFORMS", "LD_PRELOAD")
    return {
        name: value
        for name, value in os.environ.items()
        if name not in hidden and not name.startswith(("XLATRACE_", "FAKE_GPU_"))
    }


def record_on_cpu(xlatrace, program, run, folder):
    python = os.environ.get("XLATRACE_TEST_PYTHON_JAX")
    if not python:
        raise Skip("XLATRACE_TEST_PYTHON_JAX is not set")
    command = [xlatrace, "record", "-o", run, "--", os.path.abspath(python), program.file,
               program.name]  # fmt: skip
    result = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=TIMEOUT_S, cwd=folder,
        env=environment_without_ours(), check=False,
    )  # fmt: skip
    if result.returncode != 0:
        raise Broken(f"{program.name}: exit {result.returncode}: {result.stderr[-600:]}")


def record_on_gpu(xlatrace, program, run, folder):
    sys.path.insert(0, str(REPOSITORY / "tests" / "fake_gpu" / "jax"))
    import rig  # noqa: PLC0415, below the folder that was just named

    preload = xlatrace.parents[1] / "lib" / "libxlatrace.so"
    try:
        place = rig.Rig()
    except rig.Missing as missing:
        raise Skip(str(missing)) from None
    if not preload.exists():
        raise Skip(f"not built: {preload}")
    more = {"XLATRACE_REC": str(run.with_suffix(".rec"))}
    products = program.settings.get("products", 40)
    slow = [f"{name} {products}" for name in PRODUCTS]
    slow += filter(None, program.settings.get("slow", "").split("; "))
    scenario = [f"kernel {part.replace(' ', ' times ')}\n" for part in slow]
    (folder / "scenario").write_text("".join(scenario))
    more["FAKE_GPU_SCENARIO"] = str(folder / "scenario")
    if "platforms" in program.settings:
        more["JAX_PLATFORMS"] = program.settings["platforms"]
    if "predicates" in program.settings:
        more["FAKE_GPU_PREDICATES"] = str(program.settings["predicates"])
    result = place.run(
        program.file, program.name, devices=program.settings.get("devices", 1),
        graphs=program.settings.get("graphs", True), preload=preload, more=more, cwd=folder,
        timeout=TIMEOUT_S,
    )  # fmt: skip
    if result.returncode != 0:
        raise Broken(f"{program.name}: exit {result.returncode}: {result.stderr[-600:]}")


def ask(xlatrace, *arguments):
    result = subprocess.run(
        [str(xlatrace), *map(str, arguments)], capture_output=True, text=True,
        timeout=TIMEOUT_S, env=environment_without_ours(), check=False,
    )  # fmt: skip
    if result.returncode != 0:
        raise Broken(f"{arguments[0]}: exit {result.returncode}: {result.stderr[-600:]}")
    return json.loads(result.stdout)


def basis_ns(xlatrace, run):
    """How long a steady step lasts, or the run where there is none."""
    rows = ask(xlatrace, "query", run, "--format", "json",
               "SELECT (SELECT avg(end_ns - start_ns) FROM step WHERE typical) AS step,"
               " max(end_ns) - min(start_ns) AS run FROM activity")  # fmt: skip
    row = (rows["rows"] if isinstance(rows, dict) else rows)[0]
    step, run = row.values() if isinstance(row, dict) else row
    return step or run or 1


def names_cause(program, finding):
    if finding["id"] not in program.ids:
        return False
    if not program.lines:
        return True
    place, _, line = (finding.get("where_source") or "").rpartition(":")
    return place.endswith(program.file.name) and line.isdigit() and int(line) in program.lines


def share_pct(finding, of_ns):
    """The possible saving of a finding, as a share of its step, or of the run if there are no steps."""
    saves = finding.get("saves_high_ns_per_step") or finding.get("saves_high_ns_per_run") or 0
    return 100 * saves / of_ns


def judge(program, findings, of_ns):
    """(right, rank or number of loud findings). Savings of the run and savings per step are two lists."""
    of_run = [finding for finding in findings if finding.get("saves_high_ns_per_run")]
    of_step = [finding for finding in findings if not finding.get("saves_high_ns_per_run")]
    if program.ids:
        for findings_of_list in (of_step, of_run):
            for rank, finding in enumerate(findings_of_list[:2], 1):
                if names_cause(program, finding):
                    return True, rank
        return False, 0
    # A program starts, imports and compiles, however clean its steps are.
    loud = sum(share_pct(finding, of_ns) > LOUD_PCT for finding in of_step or of_run)
    return loud == 0, loud


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--xlatrace", required=True, type=pathlib.Path)
    parser.add_argument("--on", choices=("cpu", "gpu"), action="append")
    parser.add_argument("--only", action="append", help="program to run, by name")
    parser.add_argument("--quick", action="store_true", help="only programs marked quick (under a minute)")
    parser.add_argument("--allow", type=int, default=0, help="planted programs that may be missed")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the run.db of each program")
    arguments = parser.parse_args()
    xlatrace = arguments.xlatrace.resolve()

    chosen = []
    for place in arguments.on or ("cpu", "gpu"):
        file = HERE / f"{place}_programs.py"
        programs = programs_of(file)
        if arguments.only:
            programs = [program for program in programs if program.name in arguments.only]
        if arguments.quick:
            programs = [program for program in programs if program.settings.get("quick")]
        chosen += [(place, program) for program in programs]

    table, skipped = [], set()
    for place, program in chosen:
        folder = pathlib.Path(tempfile.mkdtemp(prefix=f"xlatrace-live-{program.name}-"))
        run = folder / "run.db"
        begun = time.monotonic()
        try:
            (record_on_cpu if place == "cpu" else record_on_gpu)(xlatrace, program, run, folder)
            document = ask(xlatrace, "summary", run, "--format", "json")
            of_ns = basis_ns(xlatrace, run)
            right, rank = judge(program, document["findings"], of_ns)
            said = [document["verdict"]["sentence"], document["verdict"]["lede"] or ""]
            for number, row in enumerate(document["findings"][:3], 1):
                place = pathlib.Path(row["where_source"] or "").name
                said.append(f"{number} {row['id']} {place} {share_pct(row, of_ns):.0f}% {row['title']}")
        except Skip as skip:
            skipped.add(str(skip))
            continue
        except (Broken, subprocess.TimeoutExpired) as error:
            right, rank, said = False, 0, [str(error)]
        finally:
            if arguments.keep and run.exists():
                arguments.keep.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(run, arguments.keep / f"{program.name}.db")
            shutil.rmtree(folder, ignore_errors=True)
        table.append((place, program, right, rank))
        print(f"{'pass' if right else 'FAIL'} {place} {program.name:26} "
              f"{' '.join(program.ids) or 'clean':40} {rank} {time.monotonic() - begun:5.1f} s")
        if not right or os.environ.get("XLATRACE_PRINT"):
            print("".join(f"       {line}\n" for line in said), end="")
        sys.stdout.flush()

    for reason in sorted(skipped):
        print(f"skip: {reason}")
    if not table:
        return 77
    wrong = {"planted": 0, "clean": 0}
    for kind, causes in (("planted", True), ("clean", False)):
        rows = [row for row in table if bool(row[1].ids) == causes]
        named = sum(row[2] for row in rows)
        wrong[kind] = len(rows) - named
        first = sum(row[3] == 1 for row in rows) if causes else 0
        print(f"{kind}: {named} of {len(rows)} right" + (f", {first} of them first" if causes else ""))
    return 1 if wrong["planted"] > arguments.allow or wrong["clean"] else 0


if __name__ == "__main__":
    sys.exit(main())
