# SPDX-License-Identifier: Apache-2.0
"""The wheel: made from this build, installed where people install, and its needs of a machine."""

import base64
import configparser
import csv
import email
import hashlib
import io
import os
import pathlib
import re
import shlex
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
import unittest
import zipfile

import gpu_support
import support
import tiers
from test_python_api import interpreters

SCRIPT = support.REPOSITORY / "scripts" / "wheel"
RUN = "run.db"
# PEP 600 names the glibc. The preload library is in all programs that a shell starts, also older ones.
PROMISED = {"libxlatrace.so": (2, 17)}
STUBS = support.REPOSITORY / ".glibc" / os.uname().machine / "source"  # scripts/glibc_stubs
PROMISED_ELSE = (2, 28) if STUBS.exists() else (2, 34)
PRESENT_EVERYWHERE = re.compile(r"(libc|libm|libdl|libpthread|librt)\.so\.\d|ld-linux-.*")


def elf_facts(path):
    """(sonames it needs, glibc versions it requires)"""
    headers = subprocess.run(["objdump", "-p", path], capture_output=True, text=True).stdout
    symbols = subprocess.run(["objdump", "-T", path], capture_output=True, text=True).stdout
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", symbols + headers.split("Version References")[-1])
    return set(re.findall(r"NEEDED\s+(\S+)", headers)), {tuple(map(int, v)) for v in versions}


def libraries_beside_python():
    """Files of the libraries that conda's Python brings along, as this Python has them."""
    script = ("import ctypes, sqlite3, zlib\n"
              "ctypes.CDLL('libstdc++.so.6')\n"
              "print(open('/proc/self/maps').read())")
    maps = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout
    pattern = r"/\S+/lib(?:stdc\+\+|gcc_s|sqlite3|z|python[\d.]+)\.so\S*"
    found = {path: os.path.basename(path) for path in re.findall(pattern, maps)}
    # Under the requested name: libz.so.1.2.13 is found as libz.so.1.
    return {
        path: re.sub(r"(\.so\.\d+).*", r"\1", name) for path, name in found.items()
    }


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.require_program()
        build = pathlib.Path(support.PROGRAM).resolve().parents[1]
        cache = (build / "CMakeCache.txt").read_text()
        if "XLATRACE_STATIC:BOOL=ON" not in cache:
            raise unittest.SkipTest("this build links shared libraries (XLATRACE_STATIC=OFF)")
        if not (build / "lib" / "libxlatrace_collector.so").exists():
            raise unittest.SkipTest("the collector is not built")
        if "libsimdjson" in "".join(elf_facts(support.PROGRAM)[0]):
            raise unittest.SkipTest("simdjson's source was not to be had (scripts/simdjson)")
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-wheel-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name in ("dist", "again") if tiers.IS_LONG else ("dist",):
            done = support.run_command(
                [SCRIPT, "--build", build, "-o", cls.folder / name],
                env=support.environment(SOURCE_DATE_EPOCH="1700000000"))
            assert done.code == 0, done
        (cls.wheel,) = (cls.folder / "dist").iterdir()
        cls.content = cls.folder / "content"
        with zipfile.ZipFile(cls.wheel) as wheel:
            wheel.extractall(cls.content)

    def elf_files(self):
        files = [p for p in self.content.rglob("*") if p.is_file()
                 and p.read_bytes()[:4] == b"\x7fELF"]
        self.assertLessEqual({"xlatrace", "libxlatrace.so", "libxlatrace_collector.so"},
                             {p.name for p in files})
        return files

    def test_platform_tag_fits_the_symbols(self):
        machine = os.uname().machine
        self.assertRegex(self.wheel.name,
                         rf"^xlatrace-[\d.]+-py3-none-manylinux_2_{PROMISED_ELSE[1]}_{machine}\.whl$")
        for path in self.elf_files():
            with self.subTest(path.name):
                _, versions = elf_facts(path)
                self.assertLessEqual(max(versions), PROMISED.get(path.name, PROMISED_ELSE))

    def test_third_parties_and_the_runtime_are_inside(self):
        for path in self.elf_files():
            with self.subTest(path.name):
                needed, _ = elf_facts(path)
                self.assertEqual({n for n in needed if not PRESENT_EVERYWHERE.fullmatch(n)}, set())

    def test_audit_lists_each_file_and_refuses_a_newer_glibc(self):
        done = support.run_command([SCRIPT, "--audit", self.wheel])
        self.assertEqual(done.code, 0, done)
        self.assertEqual(len(done.stdout.splitlines()), len(self.elf_files()) + 1, done)
        wrong = self.folder / self.wheel.name.replace(f"2_{PROMISED_ELSE[1]}_", "2_17_")
        shutil.copy(self.wheel, wrong)
        self.assertEqual(support.run_command([SCRIPT, "--audit", wrong]).code, 1)

    def test_metadata_names_the_licence_of_each_notice(self):
        (metadata,) = self.content.glob("*.dist-info/METADATA")
        head = email.message_from_string(metadata.read_text())
        expression = head["License-Expression"]
        for licence in ("Apache-2.0", "BSD-2-Clause", "LGPL-3.0-or-later", "GCC-exception-3.1", "MIT", "Zlib"):
            self.assertIn(licence, expression)
        self.assertEqual(expression.count("("), expression.count(")"))
        (licences,) = self.content.glob("*.dist-info/licenses")
        files = {str(p.relative_to(licences)) for p in licences.rglob("*") if p.is_file()}
        self.assertEqual(set(head.get_all("License-File")), files)

    def test_notice_of_each_linked_library_is_inside(self):
        """Libraries of which CMake found an archive or headers."""
        (notices,) = self.content.glob("*.dist-info/licenses/third-party")
        names = " ".join(p.name for p in notices.iterdir())
        for library in ("archive", "bz2", "cli11", "expected", "fmt", "lz4", "lzma", "nettle",
                        "nlohmann", "preact", "protozero", "re2", "simdjson", "sqlite3", "stdc++", "xxhash",
                        "zlib1g", "zstd"):
            self.assertIn(library, names)

    def test_pytest_finds_the_plugin(self):
        (file,) = self.content.glob("*.dist-info/entry_points.txt")
        points = configparser.ConfigParser()
        points.read(file)
        module = points["pytest11"]["xlatrace"]
        self.assertTrue((self.content / (module.replace(".", "/") + ".py")).is_file())

    def test_record_lists_every_file_with_its_hash(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = set(wheel.namelist())
            (record,) = [n for n in names if n.endswith(".dist-info/RECORD")]
            rows = list(csv.reader(io.StringIO(wheel.read(record).decode())))
            self.assertEqual({row[0] for row in rows}, names)
            for name, digest, size in rows:
                if name == record:
                    continue
                data = wheel.read(name)
                expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
                self.assertEqual((digest, size), ("sha256=" + expected.decode(), str(len(data))))
            mode = wheel.getinfo("xlatrace/_prefix/bin/xlatrace").external_attr >> 16
            self.assertTrue(stat.S_IMODE(mode) & stat.S_IXUSR)
            self.assertTrue(any(n.endswith("/licenses/LICENSE") for n in names))
            self.assertTrue(any("/licenses/third-party/" in n for n in names))

    @tiers.long_tier
    def test_the_same_build_gives_the_same_bytes(self):
        (again,) = (self.folder / "again").iterdir()
        self.assertEqual(again.read_bytes(), self.wheel.read_bytes())

    def test_no_path_of_the_build_is_inside(self):
        for path in self.elf_files():
            self.assertNotIn(str(support.REPOSITORY).encode(), path.read_bytes(), path.name)

    # --- installed ------------------------------------------------------------------------------

    def installed(self, interpreter=sys.executable, name="env"):
        """bin folder of a new virtual environment with the wheel."""
        place = self.folder / name
        if not place.exists():
            # With the pip that this Python brings, if it does: another's may be too old for it.
            own = support.run_command([interpreter, "-m", "ensurepip", "--version"]).code == 0
            pip = ([place / "bin" / "python", "-m", "pip"] if own else
                   [sys.executable, "-m", "pip", "--python", place / "bin" / "python"])
            for command in (
                [interpreter, "-m", "venv", *([] if own else ["--without-pip"]), place],
                [*pip, "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps",
                 "--no-compile", self.wheel],
            ):
                done = support.run_command(command)
                if b"No module named pip" in done.stderr_bytes:
                    self.skipTest("no pip in this Python")
                self.assertEqual(done.code, 0, done)
        return place / "bin"

    def test_installs_and_answers_in_the_oldest_and_newest_python(self):
        versions = sorted(interpreters().items(), key=lambda item: int(item[0].split(".")[1]))
        for version, interpreter in {versions[0], versions[-1]}:
            with self.subTest(python=version):
                bin_folder = self.installed(interpreter, f"env-{version}")
                done = support.run_command([bin_folder / "xlatrace", "--version"])
                self.assertRegex(done.stdout, r"^xlatrace \d+\.\d+")
                done = support.run_command(
                    [bin_folder / "python", "-c",
                     "import xlatrace; print(xlatrace.__version__, xlatrace.library())"])
                self.assertEqual(done.code, 0, done)
                version_text, library = done.stdout.split()
                self.assertIn(version_text, self.wheel.name)
                self.assertTrue(pathlib.Path(library).is_file())
                self.assertTrue(library.startswith(str(self.folder)), library)

    def test_man_pages_and_completion_lie_below_the_prefix(self):
        share = self.installed().parent / "share"
        for name in ("man/man1/xlatrace.1", "man/man1/xlatrace-record.1", "zsh/site-functions/_xlatrace",
                     "bash-completion/completions/xlatrace", "fish/vendor_completions.d/xlatrace.fish"):
            self.assertGreater((share / name).stat().st_size, 500, name)

    def unpacked_program(self):
        program = self.content / "xlatrace" / "_prefix" / "bin" / "xlatrace"
        program.chmod(0o755)  # as pip does it; zipfile does not
        return program

    @tiers.long_tier
    def test_runs_under_every_python_of_this_machine(self):
        """Nothing is compiled for a version: what pip unpacks is what each of them imports."""
        self.unpacked_program()
        for version, interpreter in interpreters().items():
            with self.subTest(python=version):
                done = support.run_command(
                    [interpreter, "-m", "xlatrace", "--version"],
                    env=support.environment(PYTHONPATH=str(self.content)))
                self.assertEqual(done.code, 0, done)
                self.assertIn(done.stdout.split()[1], self.wheel.name)

    @tiers.long_tier
    def test_libraries_of_an_environment_do_not_matter(self):
        """conda has its own libstdc++ and other libraries in the library path, of any version."""
        libraries = self.folder / "conda-lib"
        libraries.mkdir()
        for name in ("libstdc++.so.6", "libgcc_s.so.1", "libsqlite3.so.0", "libz.so.1",
                     "libzstd.so.1", "libsimdjson.so.14"):
            (libraries / name).write_text("no library: whoever loads it fails")
        done = support.run_command(
            [self.unpacked_program(), "--version"],
            env=support.environment(LD_LIBRARY_PATH=str(libraries)))
        self.assertEqual((done.code, done.stderr), (0, ""), done)

    def gpu_environment(self, bin_folder, **changes):
        if not gpu_support.FAKE_GPU:
            self.skipTest("no fake GPU in this build (no CUDA headers)")
        env = {k: v for k, v in support.environment().items()
               if not gpu_support.JOB_VARIABLES.match(k)}
        env.update(LD_LIBRARY_PATH=gpu_support.FAKE_GPU, PATH=f"{bin_folder}:{env['PATH']}", **changes)
        return env

    def test_wheel_runs_the_commands_of_the_readme(self):
        bin_folder = self.installed()
        env = self.gpu_environment(bin_folder)
        workload = shlex.join([f"{gpu_support.FAKE_GPU}/fake_workload", "-e", "launch a x 5; sync"])
        for number, line in enumerate((
            f"xlatrace record -- {workload}",
            f"python -m xlatrace record -- {workload}",
            f"LD_PRELOAD=$(xlatrace lib) {workload}",
        )):
            with self.subTest(line):
                work = self.folder / f"work{number}"
                work.mkdir()
                done = support.run_command(
                    ["bash", "-c", f"{line} && xlatrace report {RUN}"], cwd=work, env=env)
                self.assertEqual(done.code, 0, done)
                self.assertTrue((work / "run.html").exists(), done)
                done = support.run_command(
                    [bin_folder / "python", "-c",
                     "import xlatrace; print(len(xlatrace.open('run.db').launches()))"], cwd=work)
                self.assertEqual(done.stdout.strip(), "5", done)

    def test_uv_installs_and_runs_it(self):
        uv = os.environ.get("XLATRACE_TEST_UV") or shutil.which("uv")
        if not uv:
            self.skipTest("no uv: XLATRACE_TEST_UV is not set")
        place = self.folder / "uv"
        place.mkdir()
        env = self.gpu_environment(place, UV_NO_CONFIG="1", UV_OFFLINE="1",
                                   UV_CACHE_DIR=str(place / "cache"))
        workload = [f"{gpu_support.FAKE_GPU}/fake_workload", "-e", "launch a x 5; sync"]
        for command in (
            ["venv", "--python", sys.executable, ".venv"],
            ["pip", "install", "--no-index", self.wheel],
            ["run", "--no-project", "xlatrace", "record", "--", *workload],
            ["run", "--no-project", "xlatrace", "report", "run.db"],
        ):
            done = support.run_command([uv, *command], cwd=place, env=env)
            self.assertEqual(done.code, 0, f"uv {command}\n{done}")
        # The other way round: the launcher under record.
        xlatrace = place / ".venv" / "bin" / "xlatrace"
        done = support.run_command([xlatrace, "record", "--", uv, "run", "--no-project", *workload],
                                   cwd=place, env=env)
        self.assertEqual(done.code, 0, done)
        self.assertEqual(gpu_support.scalar(place / "run.db", "SELECT count(*) FROM launch"), 5)
        self.assertEqual(gpu_support.scalar(place / "run.old.db", "SELECT count(*) FROM launch"), 5)

    def conda_environment(self):
        """The prefix of a conda environment, without conda, with packages from its own channels only. It has
        an interpreter with its own prefix (no venv), the libraries of its build, and the effects of `conda
        activate`."""
        prefix = self.folder / "conda" / "envs" / "train"
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        library = prefix / "lib" / version
        (library / "site-packages").mkdir(parents=True)
        standard = pathlib.Path(sysconfig.get_path("stdlib"))
        for entry in standard.iterdir():
            if entry.name not in ("site-packages", "dist-packages", "EXTERNALLY-MANAGED"):
                (library / entry.name).symlink_to(entry)
        (prefix / "bin").mkdir()
        shutil.copy(os.path.realpath(sys.executable), prefix / "bin" / "python")
        for file, name in libraries_beside_python().items():
            shutil.copy(file, prefix / "lib" / name)
        (prefix / "conda-meta").mkdir()
        (prefix / "conda-meta" / "history").write_text("")
        hooks = prefix / "etc" / "conda" / "activate.d"
        hooks.mkdir(parents=True)
        (hooks / "libraries.sh").write_text(
            'export LD_LIBRARY_PATH="$CONDA_PREFIX/lib:$LD_LIBRARY_PATH"\n'
            'export SSL_CERT_DIR="$CONDA_PREFIX/ssl/certs" PYTHONNOUSERSITE=1\n')
        (prefix.parent / "activate").write_text(
            f"export CONDA_PREFIX={prefix} CONDA_DEFAULT_ENV=train CONDA_SHLVL=1\n"
            f'export PATH="{prefix}/bin:$PATH"\n. {hooks}/libraries.sh\n')
        asked = support.run_command([prefix / "bin" / "python", "-c", "import sys; print(sys.prefix)"])
        if (asked.code, asked.stdout.strip()) != (0, str(prefix)):
            self.skipTest(f"this interpreter cannot be moved: {asked}")
        return prefix

    @tiers.long_tier
    def test_conda_environment(self):
        prefix = self.conda_environment()
        done = support.run_command(
            [sys.executable, "-m", "pip", "--python", prefix / "bin" / "python", "install", "-q",
             "--no-index", "--no-deps", "--no-compile", self.wheel])
        if b"No module named pip" in done.stderr_bytes:
            self.skipTest("no pip in this Python")
        self.assertEqual(done.code, 0, done)
        (program,) = [p for p in prefix.rglob("bin/xlatrace") if "_prefix" not in p.parts]
        work = self.folder / "conda-work"
        work.mkdir()
        (work / "tiny_gpu.py").write_text(gpu_support.TINY_GPU)
        (work / "train.py").write_text("from tiny_gpu import *\nlaunch('k', 5); sync()\n")
        train = "python ../train.py"
        for number, line in enumerate((
            f"xlatrace record -- {train}",
            f"python -m xlatrace record -- {train}",
            f"LD_PRELOAD=$(xlatrace lib) {train}",
        )):
            with self.subTest(line):
                place = work / str(number)
                place.mkdir()
                done = support.run_command(
                    ["bash", "-ec", f". {prefix.parent}/activate\n{line}\n"
                     f"xlatrace report {RUN}\nxlatrace --version\n"
                     "python -c 'import xlatrace; print(len(xlatrace.open(\"run.db\").launches()),"
                     " xlatrace.library())'"], cwd=place, env=self.gpu_environment(program.parent))
                self.assertEqual(done.code, 0, done)
                launches, library = done.stdout.split()[-2:]
                self.assertEqual(launches, "5", done)
                self.assertTrue(library.startswith(str(prefix)), done)
                self.assertTrue((place / "run.html").exists(), done)

    def test_api_opens_a_recording_that_no_command_has_folded(self):
        bin_folder = self.installed()
        work = self.folder / "unfolded"
        work.mkdir()
        workload = [f"{gpu_support.FAKE_GPU}/fake_workload", "-e", "launch a x 3; sync"]
        library = support.run_command([bin_folder / "xlatrace", "lib"]).stdout.strip()
        env = self.gpu_environment(bin_folder, LD_PRELOAD=library)
        self.assertEqual(support.run_command(workload, cwd=work, env=env).code, 0)
        self.assertFalse((work / "run.db").exists())
        for name in ("run.rec", "run.db"):
            done = support.run_command(
                [bin_folder / "python", "-c",
                 f"import xlatrace; print(len(xlatrace.open('{name}').launches()))"], cwd=work)
            self.assertEqual(done.stdout.strip(), "3", done)

    def test_the_hook_is_found_where_there_is_no_gpu(self):
        bin_folder = self.installed()
        work = self.folder / "hook"
        work.mkdir()
        done = support.run_command(
            [bin_folder / "xlatrace", "record", "--", bin_folder / "python", "-c", "print('ran')"],
            cwd=work, env=support.environment(XLATRACE_FORCE_COLLECTOR="0"))
        self.assertEqual((done.code, done.stdout), (0, "ran\n"), done)
        self.assertNotIn("sitecustomize", done.stderr)


if __name__ == "__main__":
    unittest.main()
