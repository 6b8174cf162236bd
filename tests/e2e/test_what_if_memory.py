# SPDX-License-Identifier: Apache-2.0
"""`what-if --no-recompute` names the price in memory, as the finding does, and only where it is known."""

import json
import unittest

import support

CAPTURE = "captures/nsys-jax-maxtext-fsdp4-h100"


class Memory(support.TestCase):
    def setUp(self):
        super().setUp()
        capture = support.require_data(CAPTURE)
        self.run_db = self.folder / "run.db"
        done = self.run_program("import", capture, "-o", self.run_db)
        self.assertEqual(done.code, 0, done.stderr)

    def what_if(self, *words):
        done = self.run_program("what-if", self.run_db, "--format", "json", *words)
        self.assertEqual(done.code, 0, done.stderr)
        return json.loads(done.stdout)

    def test_memory_now_is_what_xla_assigned_and_then_is_more(self):
        memory = self.what_if("--no-recompute")["memory"]
        self.assertEqual(memory["from"], "buffer_assignment")
        database = support.sqlite3.connect(self.run_db)
        (evidence,) = database.execute("SELECT evidence FROM finding WHERE id = 'recompute'").fetchone()
        database.close()
        assigned = next(item["value"] for item in json.loads(evidence) if item["unit"] == "bytes")
        self.assertEqual(assigned, memory["now_bytes"])
        self.assertGreater(memory["at_most_bytes"], memory["now_bytes"])
        self.assertNotIn("memory", self.what_if("--no-gaps"))

    def test_evidence_of_a_damaged_file_gives_no_memory(self):
        database = support.sqlite3.connect(self.run_db)
        (evidence,) = database.execute("SELECT evidence FROM finding WHERE id = 'recompute'").fetchone()
        texts = [{"text": item["text"]} for item in json.loads(evidence)]
        for evidence in (json.dumps([1, {}, *texts]), "{", "null"):
            with database:
                database.execute("UPDATE x_finding SET evidence = ? WHERE id = 'recompute'", [evidence])
            self.assertNotIn("memory", self.what_if("--no-recompute"))
        database.close()


if __name__ == "__main__":
    unittest.main()
