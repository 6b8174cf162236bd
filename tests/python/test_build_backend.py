# SPDX-License-Identifier: Apache-2.0
"""The sdist, and the message of a build without its packages (scripts/build_backend)."""

import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BACKEND = ROOT / "scripts" / "build_backend"


class BuildBackend(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="xlatrace-backend-")
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)

    def call(self, code, **environment):
        return subprocess.run([sys.executable, "-c", f"import xlatrace_build as backend\n{code}"], capture_output=True,
                              text=True, cwd=self.folder, env={"PYTHONPATH": str(BACKEND), "PATH": "/usr/bin:/bin",
                                                               "SOURCE_DATE_EPOCH": "1700000000", **environment})

    def sdist(self, name):
        done = self.call(f"print(backend.build_sdist({name!r}))")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return self.folder / name / done.stdout.strip()

    def test_sdist_has_every_tracked_file_and_the_metadata(self):
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True)
        if listed.returncode:
            self.skipTest("not a git checkout")
        tracked = {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
        version = re.search(r"project\(xlatrace VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
        with tarfile.open(self.sdist("dist")) as archive:
            members = {member.name: member for member in archive.getmembers()}
            self.assertEqual(set(members), {f"xlatrace-{version}/{name}" for name in tracked | {"PKG-INFO"}})
            metadata = archive.extractfile(f"xlatrace-{version}/PKG-INFO").read().decode()
        self.assertIn(f"\nName: xlatrace\nVersion: {version}\n", metadata)
        self.assertTrue(members[f"xlatrace-{version}/scripts/wheel"].mode & 0o100)

    def test_sdist_of_an_unpacked_sdist_has_the_same_bytes(self):
        first = self.sdist("dist")
        with tarfile.open(first) as archive:
            archive.extractall(self.folder / "unpacked")
        (unpacked,) = (self.folder / "unpacked").iterdir()
        again = self.call(f"print(backend.build_sdist({str(self.folder / 'again')!r}))",
                          PYTHONPATH=str(unpacked / "scripts" / "build_backend"))
        self.assertEqual((again.returncode, again.stderr), (0, ""))
        self.assertTrue((self.folder / "again" / first.name).read_bytes() == first.read_bytes(), "other bytes")

    def test_missing_packages_are_named_with_the_command_that_installs_them(self):
        query = self.folder / "dpkg-query"
        # All packages but two are installed.
        query.write_text('#!/bin/sh\nshift 3\nfor p in "$@"; do\n case $p in libre2-dev|nettle-dev) ;; *) echo "ii $p" ;; esac\ndone\n')
        query.chmod(0o755)
        done = self.call("backend.check_packages()", PATH=f"{self.folder}:/usr/bin:/bin")
        self.assertEqual(done.returncode, 1)
        self.assertIn("libre2-dev nettle-dev", done.stderr)
        self.assertIn("apt-get install libre2-dev nettle-dev\n", done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_build_packages_are_those_of_the_list(self):
        done = self.call("print(*backend.build_packages())")
        self.assertTrue({"cmake", "g++", "libarchive-dev", "nlohmann-json3-dev"} <= set(done.stdout.split()))
        self.assertFalse({"ccache", "chromium", "libgtest-dev"} & set(done.stdout.split()))


if __name__ == "__main__":
    unittest.main()
