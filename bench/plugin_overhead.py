#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cost of the pytest plugin for test suites that do not use it: tests of Flax and Optax with and without it.

    bench/plugin_overhead.py PYTHON PACKAGE [--runs 3] [--sources FOLDER] [--only optax]

PYTHON is an interpreter with pytest, flax==0.12.8 and optax==0.2.8 (with absl-py, chex and parameterized).
PACKAGE is the folder with the package xlatrace, such as build/release/share/xlatrace/python. The tests are in
the source archives of PyPI; `pip download` gets them, or FOLDER has them unpacked.

Prints the outcomes and the medians of wall time and CPU time. Runs with and without the plugin alternate. Exit
status 1: the outcome of a test differs, or the plugin costs more than 20 % of the CPU time.
"""

import argparse
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

MAX_COST = 0.20
SUITES = {
    "flax==0.12.8": [
        "tests/struct_test.py", "tests/traverse_util_test.py", "tests/early_stopping_test.py",
        "tests/linen/linen_activation_test.py", "tests/linen/linen_dtypes_test.py", "tests/linen/linen_meta_test.py",
    ],
    "optax==0.2.8": [
        "optax/_src/combine_test.py", "optax/_src/update_test.py", "optax/transforms/_accumulation_test.py",
        "optax/transforms/_adding_test.py", "optax/transforms/_clipping_test.py",
        "optax/transforms/_constraining_test.py", "optax/transforms/_masking_test.py",
    ],
}  # fmt: skip


def sources(requirement, given, folder):
    """The unpacked source archive."""
    name = requirement.replace("==", "-")
    if given:
        return given / name
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", folder, requirement],
        check=True,
    )
    with tarfile.open(folder / f"{name}.tar.gz") as archive:
        archive.extractall(folder)
    return folder / name


def install(package, folder):
    """The package with its entry point, as pip lays it out."""
    site = folder / "site"
    metadata = site / "xlatrace-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: xlatrace\nVersion: 0\n")
    (metadata / "entry_points.txt").write_text("[pytest11]\nxlatrace = xlatrace.pytest_plugin\n")
    (site / "xlatrace").symlink_to(package.resolve() / "xlatrace")
    return site


def run(python, root, files, site):
    """(outcomes per test, wall seconds, CPU seconds)"""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTHONPATH", None)
    if site:
        environment["PYTHONPATH"] = str(site)
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [python, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "-q", *files],
        cwd=root, env=environment, capture_output=True, text=True,
    )
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    outcomes = re.findall(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (\S+)", done.stdout, re.M)
    if not outcomes:
        sys.exit(done.stdout + done.stderr)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {name: outcome for outcome, name in outcomes}, wall, cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python")
    parser.add_argument("package", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sources", type=pathlib.Path, help="folder with the unpacked source archives")
    parser.add_argument("--only", default="", help="only suites whose name begins so")
    options = parser.parse_args()
    suites = {name: files for name, files in SUITES.items() if name.startswith(options.only)}
    if not suites:
        parser.error(f"no suite begins with '{options.only}': {', '.join(SUITES)}")
    failed = False
    with tempfile.TemporaryDirectory(prefix="xlatrace-plugin-") as temporary:
        folder = pathlib.Path(temporary)
        site = install(options.package, folder)
        for requirement, files in suites.items():
            root = sources(requirement, options.sources, folder)
            taken = {True: [], False: []}
            for _ in range(options.runs):
                for plugin in (False, True):
                    taken[plugin].append(run(options.python, root, files, site if plugin else None))
            before, after = taken[False][0][0], taken[True][0][0]
            wall = [statistics.median(wall for _, wall, _ in taken[plugin]) for plugin in (False, True)]
            cpu = [statistics.median(cpu for _, _, cpu in taken[plugin]) for plugin in (False, True)]
            changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
            passed = sum(outcome == "PASSED" for outcome in after.values())
            print(
                f"{requirement}: {len(after)} tests, {passed} passed; wall {wall[0]:.2f} -> {wall[1]:.2f} s, "
                f"CPU {cpu[0]:.2f} -> {cpu[1]:.2f} s ({100 * (cpu[1] / cpu[0] - 1):+.1f} %), medians of {options.runs}"
            )
            for name in changed:
                print(f"  {name}: {before.get(name)} -> {after.get(name)}")
            failed |= bool(changed) or cpu[1] > cpu[0] * (1 + MAX_COST)
    sys.exit(failed)


if __name__ == "__main__":
    main()
