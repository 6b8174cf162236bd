# SPDX-License-Identifier: Apache-2.0
"""One archive with all that a GPU machine needs for the checks."""

import os
import pathlib
import re
import subprocess
import tarfile
import tempfile
import zipfile

from gpu.conformance import LAYOUTS, REFERENCE

SCRIPTS = pathlib.Path(__file__).resolve().parents[1]


MAX_BYTES = 40_000_000
MAX_WHEEL_BYTES = 20_000_000  # CUPTI wheels have 11 to 13 MB.


def add_cuptis(tar, wheels):
    """libcupti of each wheel, in a folder that has the name of the wheel."""
    count = 0
    for wheel in sorted(wheels.glob("*cupti*.whl")):
        with zipfile.ZipFile(wheel) as inside, tempfile.TemporaryDirectory() as folder:
            for name in inside.namelist():
                if re.fullmatch(r".*/libcupti\.so\.\d+", name):
                    release = "-".join(wheel.name.split("-")[:2])
                    path = inside.extract(name, folder)
                    tar.add(path, f"gpu_check/cupti/{release}/{os.path.basename(name)}")
                    count += 1
    return count


def pack(prefix, archive, wheels=None):
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
        releases = add_cuptis(tar, wheels) if wheels else 0
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
    return 0 if size <= MAX_BYTES + releases * MAX_WHEEL_BYTES else 1
