# SPDX-License-Identifier: Apache-2.0
"""Builds xlatrace for pip: the wheel of this machine, and the sdist (PEP 517).

    pip install xlatrace-0.2.0.tar.gz                      # needs the packages under "# build" in scripts/packages.txt
    pip install xlatrace-0.2.0.tar.gz -C downloads=off     # without files from Debian's mirror and PyPI
    pip install xlatrace-0.2.0.tar.gz -C cmake=-DXLATRACE_STATIC=OFF    # an option of CMake

Downloads: simdjson's source, the stubs of glibc 2.28, and CUDA's headers. Without simdjson's source, the program needs
the shared library. Without CUDA's headers, the collector for NVIDIA GPUs is not built. Each is optional.
"""

import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ("xlatrace", "xlatrace_preload", "xlatrace_stacks", "xlatrace_hook", "xlatrace_python")
DOWNLOADS = ("simdjson", "glibc_stubs", "cuda_headers")
# They make a build faster, or serve a checkout.
NOT_NEEDED = {"ccache", "git"}
# Programs of the packages, for systems without dpkg.
PROGRAMS = ("cmake", "ninja", "c++", "pkg-config")
# Folders that a build adds: below the root, and in any folder.
GENERATED_BELOW_ROOT = {"build", "dist", ".cuda", ".simdjson", ".glibc"}
GENERATED_ANYWHERE = {"node_modules", "__pycache__"}
LOG_LINES = 15


def _wheel_script():
    loader = SourceFileLoader("xlatrace_wheel", str(ROOT / "scripts" / "wheel"))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def fail(message, hint):
    print(f"xlatrace: error: {message}\nhint: {hint}", file=sys.stderr)
    sys.exit(1)


def build_packages():
    """Debian packages that a build needs."""
    text = (ROOT / "scripts" / "packages.txt").read_text()
    names = text.partition("# build\n")[2].partition("\n#")[0].split()
    return [name for name in names if name not in NOT_NEEDED]


def check_packages():
    """Fails with the list of missing packages."""
    packages = build_packages()
    if shutil.which("dpkg-query"):
        done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Package}\n", *packages],
                              capture_output=True, text=True)
        installed = {line.split()[-1] for line in done.stdout.splitlines() if line.startswith("ii")}
        missing = [name for name in packages if name not in installed]
        if missing:
            fail(f"these packages are missing: {' '.join(missing)}", f"apt-get install {' '.join(missing)}")
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        fail(f"these programs are missing: {' '.join(missing)}",
             f"install what corresponds to these packages of Debian: {' '.join(packages)}")


def run_logged(command, log, what):
    env = {**os.environ, "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
    with open(log, "ab") as file:
        code = subprocess.run([str(word) for word in command], cwd=ROOT, env=env, stdout=file,
                              stderr=subprocess.STDOUT).returncode
    if code != 0:
        lines = Path(log).read_text(errors="replace").splitlines()
        errors = [line for line in lines if "error" in line.lower()] or lines
        print("\n".join(errors[:LOG_LINES]), file=sys.stderr)
        fail(f"{what} failed", f"a build needs these packages of Debian 12: {' '.join(build_packages())}")


def settings_of(config_settings):
    settings = dict(config_settings or {})
    options = settings.get("cmake", [])
    return settings.get("downloads", "on"), [options] if isinstance(options, str) else options


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    downloads, cmake_options = settings_of(config_settings)
    check_packages()
    script = _wheel_script()
    build = ROOT / "build" / "wheel"
    build.mkdir(parents=True, exist_ok=True)
    log = build / "build.log"
    log.write_bytes(b"")
    if downloads != "off":
        for name in DOWNLOADS:
            done = subprocess.run([str(ROOT / "scripts" / name)], capture_output=True, text=True)
            if done.returncode != 0:
                print(f"xlatrace: scripts/{name} failed, and the build continues without its files", file=sys.stderr)
    run_logged(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DXLATRACE_TESTS=OFF",
                "-DXLATRACE_WERROR=OFF", *cmake_options], log, "cmake")
    has_collector = "XLATRACE_CUDA_INCLUDE:PATH=" in (build / "CMakeCache.txt").read_text() or (
        build / "collector" / "generated").exists()
    targets = [*TARGETS, "xlatrace_collector"] if has_collector else TARGETS
    run_logged(["cmake", "--build", build, "--target", *targets], log, "the build")
    prefix = build / "prefix"
    shutil.rmtree(prefix, ignore_errors=True)
    run_logged(["cmake", "--install", build, "--prefix", prefix, "--strip"], log, "the installation")
    return script.write(build, prefix, None, Path(wheel_directory)).name


def source_files():
    """Paths of the sdist, relative to the root: those that git tracks; without git, all of an unpacked sdist."""
    if (ROOT / ".git").exists():
        done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
        return sorted(name for name in done.stdout.decode().split("\0") if name and (ROOT / name).is_file())
    files = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return sorted(str(path) for path in files if path.parts[0] not in GENERATED_BELOW_ROOT
                  and not GENERATED_ANYWHERE & set(path.parts) and str(path) != "PKG-INFO")


def build_sdist(sdist_directory, config_settings=None):
    script = _wheel_script()
    version = script.project_version()
    name = f"xlatrace-{version}"
    path = Path(sdist_directory) / f"{name}.tar.gz"
    seconds = script.timestamp_seconds()

    def add(archive, member, data, executable):
        info = tarfile.TarInfo(f"{name}/{member}")
        info.size, info.mtime, info.mode = len(data), seconds, 0o755 if executable else 0o644
        archive.addfile(info, io.BytesIO(data))

    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, seconds) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            add(archive, "PKG-INFO", script.metadata(version, "Apache-2.0", ["LICENSE"]).encode(), False)
            for member in source_files():
                source = ROOT / member
                add(archive, member, source.read_bytes(), os.access(source, os.X_OK))
    return path.name
