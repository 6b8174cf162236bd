# SPDX-License-Identifier: Apache-2.0
"""Every command of README.md and of five how-to pages works: each block of code is run, in a folder with the files
that it names.

`python` is this interpreter, `train.py` a small program on the fake GPU, `run.db` a small run with
one module, `dump/` a dump folder; `./scripts/wheel` packs the build that is being tested. A block that
is not run here is in ELSEWHERE, with who runs it.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import gpu_support
import support
import test_dump_detective
from test_python_api import PYTHON_TABLES, package_folder

PAGES = ("README.md", *(f"docs/how-to/{name}.md" for name in ("record", "read", "import", "query", "missing")))
LANGUAGES = {"sh", "python", "sql", "text", "c", ""}
# (name, opcode, op_name, file, line)
OPS = [
    ("dot.1", "dot", "jit(train_step)/jvp(mlp)/dot_general", "model.py", 7),
    ("tanh.2", "tanh", "jit(train_step)/jvp(mlp)/tanh", "model.py", 8),
    ("dot.3", "dot", "jit(train_step)/transpose(jvp(mlp))/dot_general", "model.py", 7),
    ("subtract.4", "subtract", "jit(train_step)/optimizer/sub", "train.py", 31),
]
# Commands of a page that run elsewhere, and where they run.
ELSEWHERE = {
    "./scripts/demo": "itself (from nothing, minutes); what it trains by test_demo_truth.py",
    "./scripts/test": "CI: it is what runs this",
}


def blocks():
    """(page, line, language, text) of every fenced block."""
    for page in PAGES:
        text = (support.REPOSITORY / page).read_text()
        for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
            line = text[: match.start()].count("\n") + 1
            yield page, line, match.group(1), match.group(2)


class Readme(gpu_support.GpuTestCase):
    def place(self, number):
        """A folder with everything the pages name."""
        place = self.folder / f"place{number}"
        shutil.copytree(self.template, place)
        return place

    def make_template(self):
        self.template = self.folder / "template"
        self.template.mkdir()
        (self.template / "tiny_gpu.py").write_text(gpu_support.TINY_GPU)
        train = "from tiny_gpu import *\nlaunch('k', 5); sync()\n"
        for name in ("train.py", "train_tf.py"):
            (self.template / name).write_text(train)
        profile = self.template / "trace.xplane.pb"
        profile.write_bytes(support.xspace("jit_train_step", OPS, executions=6))
        for name in ("run.db", "base.db"):
            self.assertEqual(
                support.run("import", profile, "-o", name, cwd=self.template).code, 0)
        dump = self.template / "dump"
        dump.mkdir()
        for name, text in (
            ("before_optimizations", test_dump_detective.STEP),
            ("0000.fusion.after_pipeline-start.before_fusion", test_dump_detective.STEP),
            ("0001.fusion.after_fusion.before_cse", test_dump_detective.FUSED),
            ("sm_9.0_gpu_after_optimizations", test_dump_detective.FUSED),
        ):
            (dump / f"module_0003.jit_train_step.{name}.txt").write_text(
                text.replace("jit_step", "jit_train_step").replace("/m/train.py", "train.py"))
        programs = self.folder / "bin"
        programs.mkdir()
        for name in ("python", "python3"):
            (programs / name).symlink_to(sys.executable)
        (programs / "xlatrace").symlink_to(support.PROGRAM)
        self.programs = programs

    def run_block(self, language, text, place):
        env = self.environment(preload=False, PYTHONPATH=f"{place}:{package_folder()}")
        env["PATH"] = f"{self.programs}:{env['PATH']}"
        if language == "sh":
            commands = [line.split("#")[0].strip() for line in text.splitlines()]
            elsewhere = [c for c in commands if c in ELSEWHERE]
            if elsewhere:
                self.assertEqual(elsewhere, list(filter(None, commands)), "not a block of its own")
                for script in elsewhere:
                    self.assertTrue(os.access(support.REPOSITORY / script, os.X_OK), script)
                return None
            command = ["bash", "-ec", text]
        elif language == "sql":
            command = [support.PROGRAM, "query", "run.db", text]
        elif language == "python":
            wants_tables = re.search(r"\.(?:to_)?(pandas|polars|arrow)\(", text)
            if wants_tables and not PYTHON_TABLES:
                self.skipTest("XLATRACE_TEST_PYTHON_TABLES is not set")
            command = [PYTHON_TABLES if wants_tables else sys.executable, "-c", text]
        else:  # "c" and "text" have tests of their own, below
            return None
        return support.run_command(command, cwd=place, env=env)

    def test_every_block_runs(self):
        self.make_template()
        ran, others = 0, []
        for number, (page, line, language, text) in enumerate(blocks()):
            with self.subTest(f"{page}:{line}"):
                self.assertIn(language, LANGUAGES)
                if language == "sh" and "./scripts/wheel" in text:
                    self.check_wheel_block(text)
                    ran += 1
                    continue
                result = self.run_block(language, text, self.place(number))
                if result is None:
                    others.append((page, language))
                else:
                    self.assertEqual(result.code, 0, f"{text}\n{result}")
                    self.assertEqual([], result.errors, f"{text}\n{result}")
                    ran += 1
        self.assertGreater(ran, 10)
        # The demo and the tests, the sample output, the program in C.
        self.assertEqual(others, [("README.md", "text"), ("README.md", "sh"), ("docs/how-to/record.md", "c")])

    def check_wheel_block(self, text):
        """The command itself, in a fresh virtual environment, with the present build."""
        build = pathlib.Path(support.PROGRAM).resolve().parents[1]
        if not (build / "lib" / "libxlatrace_collector.so").exists():
            self.skipTest("the collector is not built")
        place = self.folder / "wheel"
        (place / "scripts").mkdir(parents=True)
        script = place / "scripts" / "wheel"
        script.write_text(
            f'#!/bin/sh\nexec "{support.REPOSITORY}/scripts/wheel" --build "{build}" -o dist\n')
        script.chmod(0o755)
        environment = place / "environment"
        done = support.run_command(
            [sys.executable, "-m", "venv", "--without-pip", environment])
        self.assertEqual(done.code, 0, done)
        pip = environment / "bin" / "pip"
        pip.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pip --python "{environment}/bin/python" '
                       '"$@" --no-index --no-deps --no-compile -q\n')
        pip.chmod(0o755)
        env = support.environment()
        env["PATH"] = f"{environment}/bin:{env['PATH']}"
        result = support.run_command(["bash", "-ec", text], cwd=place, env=env)
        if re.search("not every Linux has|libsimdjson|No module named pip", result.stderr):
            self.skipTest("this build makes no wheel, or no pip: " + result.stderr)
        self.assertEqual(result.code, 0, result)
        version = support.run_command([environment / "bin" / "xlatrace", "--version"])
        self.assertEqual((version.code, version.stdout), (0, support.run("--version").stdout))

    def test_first_two_commands_leave_run_and_page(self):
        self.make_template()
        first = next(text for page, _, language, text in blocks()
                     if language == "sh" and re.search(r"xlatrace report \S*run\.db", text))
        place = self.place("first")
        (place / "run.db").unlink()
        result = self.run_block("sh", first, place)
        self.assertEqual(result.code, 0, result)
        self.assertTrue((place / "run.html").exists())
        self.assertEqual(gpu_support.scalar(place / "run.db", "SELECT count(*) FROM launch"), 5)

    def test_c_blocks_compile(self):
        header = support.REPOSITORY / "include" / "xlatrace.h"
        programs = [text for _, _, language, text in blocks() if language == "c"]
        if shutil.which("cc") is None or not header.exists():
            self.skipTest("no C compiler, or no xlatrace.h")
        for text in programs:
            (self.folder / "block.c").write_text(text)
            done = subprocess.run(
                ["cc", "-Wall", "-Werror", "-I", header.parent, "block.c", "-o", "block", "-ldl"],
                cwd=self.folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(subprocess.run([self.folder / "block"]).returncode, 0)

    def test_links_refer_to_existing_files(self):
        for page in PAGES:
            text = (support.REPOSITORY / page).read_text()
            for target in re.findall(r"\]\(([^)#:]+)\)", text):
                path = (support.REPOSITORY / page).parent / target
                self.assertTrue(path.exists(), f"{page}: {target}")

    def test_sample_output_is_of_this_version(self):
        text = (support.REPOSITORY / "README.md").read_text()
        version = support.run("--version").stdout.strip()
        sample = re.search(r"<!-- scripts/readme -->\n```text\n(.*?)^```", text, re.M | re.S)
        self.assertIsNotNone(sample)
        self.assertTrue(sample.group(1).startswith(version + "  run.db  train.py"), sample.group(1))


if __name__ == "__main__":
    unittest.main()
