# SPDX-License-Identifier: Apache-2.0
"""A TensorFlow program on the fake GPU ends and prints as without tracing, its losses to the last bit.
Requirements: tensorflow_case.py."""

import unittest

from tensorflow_case import (
    ENDINGS,
    PROGRAMS,
    TensorFlowCase,
    recorded,
    setUpModule,
    start,
    tearDownModule,
)

__all__ = ["setUpModule", "tearDownModule"]

SAYS = {
    "exception": "Broken: what the program itself says",
    "failed_op": "InvalidArgumentError",
}


class Exits(TensorFlowCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        start("plain", tuple(PROGRAMS["ends_return"]))
        for how in ENDINGS:
            recorded(f"ends_{how}")

    def test_status_and_output_equal_the_untraced_run(self):
        plain, _ = start("plain", tuple(PROGRAMS["ends_return"])).result()
        self.assertEqual(plain.returncode, 0, plain.stderr[-4000:])
        lines = plain.stdout.splitlines()
        losses = [float.fromhex(line.split()[1]) for line in lines if line.startswith("loss ")]
        # The training on the CPU is one: had nothing been computed, all of this would be in vain.
        self.assertEqual(len(losses), 6)
        self.assertEqual(losses, sorted(losses, reverse=True))
        self.assertEqual(len(set(losses)), 6)
        self.assertIn("GPU:0", lines[-1])
        for how, status in ENDINGS.items():
            with self.subTest(how=how):
                process, _ = recorded(f"ends_{how}").result()
                self.assertEqual(process.returncode, status, process.stderr[-4000:])
                self.assertEqual(process.stdout, plain.stdout)
                if how in SAYS:
                    self.assertIn(SAYS[how], process.stderr)

    def test_orderly_exits_lose_no_record(self):
        for how in ENDINGS:
            if how == "abort":
                continue
            with self.subTest(how=how):
                _, place = recorded(f"ends_{how}").result()
                named = 0
                for label, activity in self.compared(place):
                    if op := (label + "|||").split("|")[3]:
                        named += 1
                        self.assertEqual(f"{activity['op_name']}:{activity['op_type']}", op)
                self.assertGreater(named, 6)


if __name__ == "__main__":
    unittest.main()
