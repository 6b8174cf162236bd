# SPDX-License-Identifier: Apache-2.0
"""A module in a run.db of a stranger that inflates to gigabytes: refused in a sentence, in every command."""

import resource
import sqlite3
import struct
import unittest

import support

MODULE = """HloModule jit_f, is_scheduled=true

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  ROOT %add.1 = f32[8]{0} add(%x, %x), metadata={op_name="jit(f)/add"}
}
"""
TRACE = ('{"traceEvents":[{"ph":"X","cat":"kernel","name":"add_1","pid":0,"tid":7,"ts":10,"dur":5,'
         '"args":{"stream":7,"device":0,"correlation":2}}]}')
BLOCK = 128 << 10  # The most that a block of a zstd frame may hold (RFC 8878, 3.1.1.2).


def bomb(size):
    """A zstd frame of `size` bytes of 'a', 4 bytes per block."""
    blocks = size // BLOCK
    frame = b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", size)
    for i in range(blocks):
        frame += struct.pack("<I", (i == blocks - 1) | 1 << 1 | BLOCK << 3)[:3] + b"a"
    return frame


class StoredBombs(support.TestCase):
    def test_commands_that_read_modules_reject_a_bomb(self):
        (self.folder / "m.txt").write_text(MODULE)
        (self.folder / "t.json").write_text(TRACE)
        done = self.run_program("import", "t.json", "--modules", "m.txt", "-o", "run.db")
        self.assertEqual(done.code, 0, done)
        database = sqlite3.connect(self.folder / "run.db")
        stored = bomb(2 << 30)
        self.assertLess(len(stored), 70_000)
        self.assertEqual(database.execute("UPDATE x_module SET hlo = ?", (stored,)).rowcount, 1)
        database.commit()
        database.close()
        for command in (["show", "m1", "run.db"], ["show", "%add.1", "run.db"], ["modules", "run.db"],
                        ["report", "run.db", "-o", "page.html"], ["summary", "run.db"],
                        ["export", "run.db", "--to", "xplane", "-o", "out.pb"],
                        ["find", "add", "run.db"], ["diff", "run.db", "run.db"],
                        ["attach", "run.db", "m.txt", "-o", "other.db"]):
            with self.subTest(command=command[0]):
                done = self.run_program(*command, preexec=limit)
                self.assertIn(done.code, (0, 1, 2), done)
                if done.code == 1:
                    self.assertRegex(done.stderr, r"\b400\b")


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


if __name__ == "__main__":
    unittest.main()
