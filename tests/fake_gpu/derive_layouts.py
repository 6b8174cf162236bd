#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Derives layouts.json, where the fields of CUPTI's records are, from NVIDIA's own headers, and shows
that cupti/layout.cc agrees, release by release.

usage: derive_layouts.py [--write] WHEEL_FOLDER...

layouts.json holds numbers only; tests compare the fake and the collector with it (test_layouts.py).

Each folder is an unpacked nvidia-cuda-cupti wheel (`pip download --no-deps nvidia-cuda-cupti==V`,
`nvidia-cuda-cupti-cu12==V`, `-cu11`; then `python3 -m zipfile -e`). cuda.h comes from .cuda/include
(scripts/cuda_headers). A release writes the newest struct of a kind in its header. For releases whose
iterator works without a driver (up to 13.1), tests check that too. Prints one line per release and
difference; exit status 1 if there is one."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
STRUCTS = {1: "Memcpy", 2: "Memset", 3: "Kernel", 4: "API", 5: "API", 8: "Device", 9: "Context",
           10: "Kernel", 11: "Name", 12: "Marker", 13: "MarkerData", 17: "Overhead", 20: "Environment",
           22: "MemcpyPtoP", 26: "Function", 27: "Module", 28: "DeviceAttribute", 36: "CudaEvent",
           37: "Stream", 38: "Synchronization", 39: "ExternalCorrelation", 45: "Memory", 46: "Pcie",
           51: "GraphTrace", 52: "Jit", 53: "DeviceGraphTrace"}
SEPARATE = {49: ("Memory", 2), 50: ("MemoryPool", 1)}  # kind 49 begins with CUpti_ActivityMemory2
INCLUDES = ("cuda.h", "cupti_result.h", "cupti_version.h", "cupti_activity.h")


def table():
    text = (HERE / "cupti" / "layout.cc").read_text(encoding="utf-8")
    versions = [int(v) for v in re.search(r"kVersions\[\] = \{([^}]*)\}", text).group(1).split(",")]
    rows = re.findall(r"\{(\d+),\s*\{([\d,\s]+)\}\}", text)
    return versions, {int(kind): [int(s) for s in sizes.split(",")] for kind, sizes in rows}


def members():
    """The fields that the collector reads: kind -> [(member, "kernel::kStart")].

    record_layout_check.cc lacks fields that are newer than the headers of the build."""
    text = (HERE.parent.parent / "collector" / "record_layout_check.cc").read_text(encoding="utf-8")
    kind_of = {"Kernel": 10, "Memcpy": 1, "Peer": 22, "Memset": 2, "Graph": 51,
               "Device": 8, "Context": 9, "Stream": 37, "Overhead": 17}
    found = {}
    for alias, member, field in re.findall(
            r"XLATRACE_SAME\(\s*(\w+),\s*([\w.]+),\s*([\w:]+)\)", text):
        if alias in kind_of:
            found.setdefault(kind_of[alias], []).append((member, field))
    for kind, space in ((10, "kernel"), (1, "memcpy_record"), (2, "memset_record")):
        found[kind].append(("sourceGraphNodeId", f"{space}::kSourceNode"))
    return found


def newest(header, name, first=0):
    found = {int(n or 1): f"CUpti_Activity{name}{n}"
             for n in re.findall(rf"\}} CUpti_Activity{name}(\d*);", header)}
    found = {number: full for number, full in found.items() if number >= first}
    return found[max(found)] if found else None


def measure(folder):
    include = next(Path(folder).rglob("cupti_activity.h")).parent
    header = (include / "cupti_activity.h").read_text(encoding="utf-8", errors="replace")
    lines, kinds = [], []
    for kind, name in STRUCTS.items():
        # CUpti_ActivityMemory2 and its later versions describe another kind.
        kinds.append((kind, "CUpti_ActivityMemory" if kind == 45 else newest(header, name)))
    for kind, (name, first) in SEPARATE.items():
        kinds.append((kind, newest(header, name, first)))
    read = members()
    for kind, struct in kinds:
        if not struct:
            continue
        lines.append(f'printf("{kind} %zu\\n", sizeof({struct}));')
        end = header.index("} " + struct + ";")
        body = header[header.rindex("typedef struct", 0, end):end]
        for member, _ in read.get(kind, ()):
            if re.search(rf"\b{member}\b", body):
                lines.append(f'printf("{kind} {member} %zu\\n", offsetof({struct}, {member}));')
    program = "".join(f"#include <{name}>\n" for name in INCLUDES) + \
        "#include <stddef.h>\n#include <stdio.h>\nint main() { printf(\"%d\\n\", CUPTI_API_VERSION);\n" + "\n".join(lines) + "\nreturn 0; }\n"
    with tempfile.TemporaryDirectory() as scratch:
        binary = Path(scratch) / "sizes"
        subprocess.run(["cc", "-w", "-xc", "-", "-o", str(binary), f"-I{include}",
                        f"-I{HERE.parent.parent / '.cuda' / 'include'}"], input=program, text=True, check=True)
        out = subprocess.run([str(binary)], capture_output=True, text=True, check=True).stdout.split("\n")
    kinds = {}
    for words in (line.split() for line in out[1:] if line):
        if len(words) == 2:
            kinds[int(words[0])] = {"bytes": int(words[1]), "offsets": {}}
        else:
            kinds[int(words[0])]["offsets"][words[1]] = int(words[2])
    return int(out[0]), kinds


def main():
    versions, ours = table()
    wrong = 0
    write = "--write" in sys.argv
    derived = {}
    for folder in [word for word in sys.argv[1:] if word != "--write"]:
        api, kinds = measure(folder)
        derived[str(api)] = {str(kind): told for kind, told in sorted(kinds.items())}
        sizes = {kind: told["bytes"] for kind, told in kinds.items()}
        if api not in versions:
            print(f"{folder}: API {api} is not in the table")
            continue
        column = versions.index(api)
        differences = [f"kind {kind}: {size} in the header, {ours[kind][column]} in the table"
                       for kind, size in sorted(sizes.items()) if kind in ours and ours[kind][column] != size]
        print(f"{folder}: API {api}, {len(sizes)} kinds, {len(differences)} differences")
        for difference in differences:
            print("  " + difference)
        wrong += len(differences)
    if write:
        lines = []
        for api in sorted(derived, key=int):
            rows = [f'    "{kind}": {json.dumps(told)}' for kind, told in derived[api].items()]
            lines.append(f'  "{api}": {{\n' + ",\n".join(rows) + "\n  }")
        (HERE / "layouts.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
