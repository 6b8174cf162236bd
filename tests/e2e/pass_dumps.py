# SPDX-License-Identifier: Apache-2.0
"""Dumps of passes of our own making, that fit a run of our own making."""

import re

BEFORE = "priority-fusion"
# The instruction before any pass, and the fusion that the first pass made of it.
SINGLE, WAS = "add.77777", "fusion.77777"


def write(folder, module, fusion, number="0005", extra=""):
    """Pass dumps of the module text of bench/big_run.py: `fusion` was an add, which one pass fused, the next
    renamed.

    `extra` is part of a file name, a pipeline."""
    text = module.read_text()
    line = re.search(rf"^ *%{re.escape(fusion)} = (\S+) fusion\((.*?)\), kind=kLoop, calls=%(\S+?), (metadata.*)$", text, re.M)
    shape, operands, body, metadata = line.groups()
    fused = re.sub(rf"%{re.escape(fusion)}\b(?![.\d])", f"%{WAS}", text)
    alone = re.sub(rf"^%{re.escape(body)} \(.*?^}}\n", "", text, flags=re.M | re.S)
    alone = alone.replace(line.group(0), f"  %{SINGLE} = {shape} add({operands}), {metadata}")
    alone = re.sub(rf"%{re.escape(fusion)}\b(?![.\d])", f"%{SINGLE}", alone)
    folder.mkdir(exist_ok=True)
    name = f"module_{number}.jit_train_step"
    pipeline = f"fusion{extra}"
    for rest, content in (
        ("before_optimizations.txt", alone),
        (f"0000.{pipeline}.after_pipeline-start.before_{BEFORE}.txt", alone),
        (f"0001.{pipeline}.after_{BEFORE}.before_rename_fusions.txt", fused),
        (f"0002.{pipeline}.after_rename_fusions.before_cse.txt", text),
        ("sm_9.0_gpu_after_optimizations.txt", text),
    ):
        (folder / f"{name}.{rest}").write_text(content)
