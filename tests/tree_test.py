#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each tracked file is there on purpose: no file above 512 kB, no unexpected binary, no core file. Reads the
list of tracked files; needs git and no build."""

import re
import subprocess
import sys
import tempfile
import unittest
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LARGEST_BYTES = 512 * 1024

# Folders in which binary files are allowed, and their content.
BINARIES = {
    "docs/*.png": "pictures of README",
    "tests/*/fuzz/*corpus/*": "seeds of fuzz targets",
    "tests/planted/hlo/*": "compressed modules of the planted causes",
}


def is_text(data):
    """The rule of git: no NUL byte in the first 8,000 bytes. The text must also be UTF-8."""
    if b"\0" in data[:8000]:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def is_core(name):
    return name == "core" or name.startswith(("core.", "vgcore."))


def complaints(root, files):
    """Sentences, one per file of `files` (paths below `root`) that should not be tracked."""
    found = []
    for name in files:
        path = root / name
        if path.is_symlink() or not path.is_file():
            continue
        size = path.stat().st_size
        if size > LARGEST_BYTES:
            found.append(f"{name}: {size:,} bytes, more than {LARGEST_BYTES:,}")
        data = path.read_bytes()
        if data[:4] == b"\x7fELF":
            found.append(f"{name}: a program, library or process image; it is built, not kept")
        elif is_core(path.name) and not is_text(data):
            found.append(f"{name}: a process image; it may hold the environment of who made it")
        elif not is_text(data) and not any(fnmatch(name, allowed) for allowed in BINARIES):
            found.append(f"{name}: no text, and not on the list of tests/tree_test.py")
    return found


def tracked(root):
    done = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True)
    if done.returncode != 0:
        raise unittest.SkipTest("not a git checkout")
    return [name.decode() for name in done.stdout.split(b"\0") if name]


class TreeTest(unittest.TestCase):
    def test_tracked_files_obey_the_rules(self):
        self.assertEqual(complaints(ROOT, tracked(ROOT)), [])

    def test_core_files_are_ignored(self):
        tracked(ROOT)
        for name in ("core", "core.4711", "tests/core.1", "vgcore.12"):
            done = subprocess.run(["git", "-C", str(ROOT), "check-ignore", "-q", "--no-index", name])
            self.assertEqual(done.returncode, 0, name)

    def check(self, name, data, fragment):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            found = complaints(Path(folder), [name])
            if fragment is None:
                self.assertEqual(found, [])
            else:
                self.assertEqual(len(found), 1, found)
                self.assertIn(fragment, found[0])

    def test_a_core_is_refused_by_name_and_by_content(self):
        self.check("core.17", b"\0\1\2", "process image")
        self.check("tools/old", b"\x7fELF\2\1\1" + bytes(100), "process image")

    def test_a_large_file_is_refused(self):
        self.check("docs/long.md", b"a" * (LARGEST_BYTES + 1), "bytes, more than")
        self.check("docs/long.md", b"a" * LARGEST_BYTES, None)

    def test_a_binary_is_refused_where_none_belongs(self):
        self.check("report/thing.dat", b"a\0b", "not on the list")
        self.check("report/latin.txt", "é".encode("latin-1"), "not on the list")
        self.check("tests/hlo/fuzz/corpus/seed", b"a\0b", None)


class OldestPython(unittest.TestCase):
    def test_archives_are_unpacked_as_python_3_11_2_does(self):
        """Debian 12's: tarfile.extractall has no filter there."""
        wrong = re.compile(r"extractall\([^)]*\bfilter\s*=")
        for name in tracked(ROOT):
            if name.endswith(".py") and wrong.search((ROOT / name).read_text()):
                self.fail(f"{name}: set archive.extraction_filter instead")


class FilesThatTestsRead(unittest.TestCase):
    def test_goldens_of_the_page_are_where_its_tests_look(self):
        """These tests skip if the glob finds no file, so a golden file that moved would go unnoticed."""
        looked_for = [
            (file.parent / name).resolve()
            for file in (ROOT / "report" / "ui" / "tests").glob("*.ts")
            for name in re.findall(r"import\.meta\.glob\('([^'*]+)'", file.read_text())]
        self.assertTrue(looked_for)
        for path in looked_for:
            self.assertTrue(path.is_file(), path)


if __name__ == "__main__":
    sys.exit(unittest.main())
