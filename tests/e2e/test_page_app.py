# SPDX-License-Identifier: Apache-2.0
"""The committed app is the build of its sources: compared by their hash, without node."""

import hashlib
import re
import unittest

import support

UI = support.REPOSITORY / "report" / "ui"


def source_hash():
    """As report/ui/vite.config.ts: of each file by path: path, LF, size, LF, bytes."""
    files = {}
    for path in UI.rglob("*"):
        name = path.relative_to(UI).as_posix()
        if path.is_file() and name.split("/")[0] not in ("dist", "node_modules"):
            files[name] = path
    digest = hashlib.sha256()
    for name in sorted(files, key=str.encode):
        data = files[name].read_bytes()
        digest.update(f"{name}\n{len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


class App(unittest.TestCase):
    def test_is_the_build_of_its_sources(self):
        app = (UI / "dist" / "app.js").read_text(encoding="utf-8")
        first = re.match(r"/\* xlatrace page \d+\.\d+ src-sha256:([0-9a-f]{64}) \*/\n", app)
        self.assertIsNotNone(first, app[:100])
        self.assertEqual(
            first[1], source_hash(), "report/ui has changed: cd report/ui && npm install --no-save && npm run build"
        )

    def test_is_one_script_that_can_stand_in_a_page(self):
        app = (UI / "dist" / "app.js").read_bytes()
        self.assertLessEqual(len(app), 1_000_000)
        for never in (b"</script", b"<!--", b"eval(", b"new Function", b"import(", b"fetch("):
            self.assertNotIn(never, app.lower() if never.islower() else app)
        self.assertEqual(sorted(p.name for p in (UI / "dist").iterdir()), ["app.js"])


if __name__ == "__main__":
    unittest.main()
