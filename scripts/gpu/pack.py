# SPDX-License-Identifier: Apache-2.0
"""One archive with all that a GPU machine needs for the checks."""

import os
import pathlib
import re
import subprocess
import tarfile

from gpu.conformance import LAYOUTS, REFERENCE

SCRIPTS = pathlib.Path(__file__).resolve().parents[1]


def pack(prefix, archive):
    """bin, lib, the libraries that bin/xlatrace needs and a machine may lack, and these scripts."""
    prefix = prefix.resolve()
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(SCRIPTS / "gpu_check", "gpu_check/scripts/gpu_check")
        for path in sorted((SCRIPTS / "gpu").rglob("*.py")):
            tar.add(path, f"gpu_check/scripts/{path.relative_to(SCRIPTS)}")
        for name in (
            "bin/xlatrace",
            "lib/libxlatrace.so",
            "lib/libxlatrace_collector.so",
            "fake_gpu/fake_gpu_client.so",
            "share",
        ):
            if (prefix / name).exists():
                tar.add(prefix / name, f"gpu_check/{name}")
        for path in (REFERENCE, LAYOUTS):
            tar.add(path, f"gpu_check/share/{path.name}")
        needed = subprocess.run(
            ["ldd", str(prefix / "bin/xlatrace")], capture_output=True, text=True, check=True
        ).stdout
        for name, path in re.findall(r"(\S+) => (/\S+)", needed):
            if not re.match(r"lib(c|m|dl|pthread|rt)\.so|ld-linux", name):
                tar.add(os.path.realpath(path), f"gpu_check/lib/bundled/{name}")
    size = os.path.getsize(archive)
    print(
        f"{archive}: {size / 1e6:.1f} MB; there: tar xzf {archive}, then "
        "gpu_check/scripts/gpu_check --prefix gpu_check"
    )
    return 0 if size <= 40_000_000 else 1
