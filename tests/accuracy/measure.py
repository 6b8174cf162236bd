#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how right the attribution is on every capture there is, and keeps docs/development/accuracy.md.

    measure.py [--update] [--runs FOLDER] [--only table|rows|split]

Captures: recordings of real programs in XLATRACE_SHARED_DATA, and real JAX on the fake GPU.
XLATRACE_TEST_PYTHON_JAX_CUDA, XLATRACE_FAKE_GPU and XLATRACE_PRELOAD define how to run JAX. The measuring
program is XLATRACE_ACCURACY, default build/release/tests/accuracy/attribution_accuracy.
split_of_fusions.py measures the division of fusions and states its requirements."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import split_of_fusions
from split_of_fusions import shared_data

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = REPOSITORY / "docs" / "development" / "accuracy.md"
PARTS = ("table", "rows", "split")  # Each between `<!-- NAME: begin -->` and `<!-- NAME: end -->`.
PROGRAM = os.environ.get(
    "XLATRACE_ACCURACY", str(REPOSITORY / "build/release/tests/accuracy/attribution_accuracy")
)
PROJECTED = "derived/nvtx_gpu_proj_trace.csv.xz"


def recorded():
    """(name, file, modules, simulate) of the captures that lie in the data folder."""
    for folder, name in (
        ("captures/nsys-jax-maxtext-fsdp4-h100", "MaxText, 4 x H100"),
        ("captures/nsys-jax-pax-fsdp4-a100/proc0", "Pax, A100"),
    ):
        place = shared_data.find(folder)
        if place and (place / PROJECTED).exists():
            yield name, place / PROJECTED, place / "dump", True
    for file, name in (
        ("jax08_elementwise", "elementwise, MI300X"),
        ("jax08_gemm", "gemm, MI300X"),
        ("jax_conv_minimal", "convolution, MI300X"),
        ("tpu_v6e_jit_f_4chips", "4 x TPU v6e"),
    ):
        place = shared_data.find(f"xplane/{file}.xplane.pb")
        if place:
            yield name, place, "", False


def on_fake_gpu(folder):
    """The same, of programs that run now."""
    # Predicates that vary: loops on data run, and branches take either side.
    programs = [
        (program, devices, graphs, {"FAKE_GPU_PREDICATES": "7"} if varies else {})
        for program, devices, varies in (
            ("plain_step", 1, False),
            ("rich_step", 1, False),
            ("data_parallel", 2, False),
            ("recurrent_step", 1, True),
            ("table_step", 1, False),
            ("alternating_steps", 1, False),
            ("sharded_step", 4, False),
            ("branching_step", 1, True),
        )
        for graphs in (False, True)
    ]
    sys.path.insert(0, str(REPOSITORY / "tests" / "fake_gpu" / "jax"))
    import rig  # pylint: disable=import-outside-toplevel

    preload = os.environ.get("XLATRACE_PRELOAD")
    for program, devices, graphs, more in programs:
        place = pathlib.Path(folder) / f"{program}-{'graphs' if graphs else 'plain'}"
        if not place.exists():
            if not preload:
                continue
            try:
                bench = rig.Rig()
            except rig.Missing:
                continue
            place.mkdir()
            bench.run(
                f"{program}.py",
                graphs=graphs,
                devices=devices,
                cwd=place,
                log=place / "truth",
                preload=preload,
                more=more,
                xla_flags=f"--xla_dump_to={place / 'dump'} --xla_dump_hlo_as_text"
                " --xla_dump_hlo_as_proto",
            )
        suffix = ", graphs" if graphs else ""
        yield f"{program}{suffix}, fake GPU", place / "run.rec", place / "dump", False


def measure(captures, grade=""):
    rows = []
    for name, file, modules, simulate in captures:
        command = [PROGRAM, "--json", "--grade", grade, *(["--simulate"] if simulate else [])]
        command.append(f"{name}={file}" + (f",{modules}" if modules else ""))
        # A comma ends the file's name, so the capture's own name has none here.
        command[-1] = command[-1].replace(name, name.replace(",", ";"), 1)
        output = subprocess.run(command, capture_output=True, text=True, check=False)
        if output.returncode != 0:
            sys.exit(f"measure: {name}: {output.stderr}")
        for row in json.loads(output.stdout):
            rows.append({**row, "capture": name})
    return rows


def pct(row, *keys):
    whole = row["told_ns"]
    part = 100.0 * sum(row[f"{key}_ns"] for key in keys) / whole if whole else 0.0
    return f"{part:.2f}"


ROWS = "as rows"  # In the names of the grades that make graph-level rows.


def rows_table(rows):
    lines = [
        "| capture | taken away | right instructions | right shares"
        " | cost model, given the instructions | not attributed |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        if ROWS not in row["grade"]:
            continue
        cells = [
            row["capture"],
            row["grade"],
            pct(row, "names"),
            pct(row, "right_exact", "right_inferred"),
            pct(row, "bound"),
            pct(row, "none", "unknown"),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def table(rows):
    lines = [
        "| capture | taken away | right, exact | right, inferred | wrong, exact | wrong, inferred"
        " | not attributed | `unknown` |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [
            row["capture"],
            row["grade"],
            pct(row, "right_exact"),
            pct(row, "right_inferred"),
            pct(row, "wrong_exact"),
            pct(row, "wrong_inferred"),
            pct(row, "none"),
            pct(row, "unknown"),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def split_table(results):
    lines = [
        "| program | fusions | shares | median error, points of the fusion | median error, % of the"
        " measured share | broadcasts counted, too |",
        "|---|---|---|---|---|---|",
    ]
    for row, everything in results:
        lines.append(
            "| {program} | {fusions} | {shares} | {median_points:.1f} | {median_relative_pct:.0f}"
            " | {of_all:.0f} |".format(**row, of_all=everything["median_relative_pct"])
        )
    return "\n".join(lines) + "\n"


def update(part, text):
    begin, end = f"<!-- {part}: begin -->\n", f"<!-- {part}: end -->\n"
    before, rest = DOCUMENT.read_text().split(begin)
    after = rest.split(end)[1]
    DOCUMENT.write_text(before + begin + "\n" + text + "\n" + end + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--update", action="store_true", help="write the tables into the document")
    parser.add_argument("--runs", help="folder for the runs; those in it are used")
    parser.add_argument("--only", choices=PARTS, help="measure this table only")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="xlatrace-accuracy-") as temporary:
        folder = arguments.runs or temporary
        measured = None
        for part in [arguments.only] if arguments.only else PARTS:
            if part != "split" and measured is None:
                grade = ROWS if arguments.only == "rows" else ""
                measured = measure([*recorded(), *on_fake_gpu(folder)], grade)
            if part == "table":
                text = table(measured)
            elif part == "rows":
                text = rows_table(measured)
            else:
                shares = split_of_fusions.measure(folder)
                everything = split_of_fusions.measure(folder, everything=True)
                text = split_table(zip(shares, everything))
            if arguments.update:
                update(part, text)
            else:
                print(text, end="")


if __name__ == "__main__":
    main()
