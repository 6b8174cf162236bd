#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/lint passes on a clean checkout and fails on a violation that each external tool must notice.

Each test runs the real script in a small git checkout of its own, with this project's settings.
"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = [".clang-format", ".clang-tidy", ".prettierrc.json", "ruff.toml", "scripts/lint", "scripts/setup.sh"]
PAGE_SETTINGS = ["eslint.config.js", "package.json", "package-lock.json", ".prettierignore", "tsconfig.json"]
CMAKE = """cmake_minimum_required(VERSION 3.25)
project(planted CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
add_library(planted STATIC base/planted.cc)
"""
PRESETS = """{"version": 6, "configurePresets": [
  {"name": "tidy", "generator": "Ninja", "binaryDir": "${sourceDir}/build/tidy"}]}
"""
CLEAN = {
    "base/planted.cc": "int* Nothing() { return nullptr; }\n",
    "scripts/planted.sh": '#!/usr/bin/env bash\necho "$HOME"\n',
    "scripts/planted": "#!/usr/bin/env python3\nimport os\n\nprint(os.name)\n",
    "report/ui/src/planted.ts": "export const planted = 1;\n",
    "report/page/planted.css": "a {\n  color: red;\n}\n",
    "report/page/planted.js": "",
    "tests/e2e/planted.js": "",
}


class ToolsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name) / "checkout"
        for file in SETTINGS + [f"report/ui/{name}" for name in PAGE_SETTINGS]:
            (self.root / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, self.root / file)
        for file, text in CLEAN.items() | {("CMakeLists.txt", CMAKE), ("CMakePresets.json", PRESETS)}:
            self.plant(file, text)
        self.git("init", "-q")
        self.commit()
        # The check of changed C++ files compares with the last commit but one.
        self.commit()

    def plant(self, file, text):
        (self.root / file).parent.mkdir(parents=True, exist_ok=True)
        (self.root / file).write_text(text)

    def git(self, *arguments):
        identity = ["-c", "user.name=planted", "-c", "user.email=planted@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=self.root, check=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "base: plant files")

    def lint(self, check):
        """The exit status and the output of one check."""
        environment = {**os.environ, "XLATRACE_VENVS": os.environ.get("XLATRACE_VENVS", str(ROOT / ".venv"))}
        done = subprocess.run(["scripts/lint", "--only", check], cwd=self.root, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if f"lint: {check}: skipped" in done.stdout:
            self.skipTest(done.stdout.split(f"lint: {check}: skipped", 1)[1].splitlines()[0].lstrip(", :"))
        return done.returncode, done.stdout

    def expect_noticed(self, check, file, text, named):
        """The check passes without `text`. With `text` in `file` it fails and prints `named`."""
        status, output = self.lint(check)
        self.assertEqual(status, 0, output)
        self.plant(file, text)
        self.commit()
        status, output = self.lint(check)
        self.assertEqual(status, 1, output)
        self.assertIn(named, output)

    def use_page_packages(self):
        packages = ROOT / "report/ui/node_modules"
        if not packages.is_dir():
            self.skipTest("the packages of report/ui are not installed")
        (self.root / "report/ui/node_modules").symlink_to(packages)
        self.plant(".gitignore", "node_modules\n")

    def test_clang_format_notices_wrong_indentation(self):
        self.expect_noticed("format", "base/planted.cc", "int*    Nothing() { return nullptr; }\n", "planted.cc")

    def test_clang_tidy_notices_a_null_pointer_written_as_zero(self):
        self.expect_noticed("tidy", "base/planted.cc", "int* Nothing() { return 0; }\n", "modernize-use-nullptr")

    def test_shellcheck_notices_a_variable_that_is_never_used(self):
        self.expect_noticed("shell", "scripts/planted.sh", "#!/usr/bin/env bash\nplanted=1\n", "SC2034")

    def test_ruff_notices_an_import_that_is_never_used(self):
        self.expect_noticed("python", "scripts/planted", "#!/usr/bin/env python3\nimport os\n", "F401")

    def test_prettier_notices_double_quotes(self):
        self.use_page_packages()
        self.expect_noticed("page", "report/ui/src/planted.ts", 'export const planted = "a";\n', "planted.ts")

    def test_eslint_notices_a_variable_that_is_never_used(self):
        self.use_page_packages()
        self.expect_noticed("page", "report/ui/src/planted.ts", "const planted = 1;\n", "no-unused-vars")


if __name__ == "__main__":
    unittest.main()
