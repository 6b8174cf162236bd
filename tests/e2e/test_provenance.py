# SPDX-License-Identifier: Apache-2.0
"""Passes that made an op: `report --modules` and `show --modules` on dumps made here and on those of JAX."""

import json
import os
import shutil
import subprocess
import unittest

import page_reader
import support

NAME = "module_0003.jit_step"
OPS = support.OPS
# The same program before a pass called the dot otherwise, and before another one made the add.
RENAMED = [("dot.9", *OPS[0][1:]), OPS[1]]
FIRST = [("dot.9", *OPS[0][1:]), ("multiply.4", "multiply", *OPS[1][2:])]


class Provenance(support.TestCase):
    """A CPU profile of two ops, and the dump of the passes of its program."""

    def setUp(self):
        super().setUp()
        self.dump = self.folder / "dump"
        self.dump.mkdir()
        (self.folder / "t.xplane.pb").write_bytes(support.xspace("jit_step", OPS))
        self.ok("import", "t.xplane.pb", "-o", "run.db")
        self.write("before_optimizations.hlo.pb", FIRST)
        self.write("0001.simplification.after_algsimp.before_cse.hlo.pb", RENAMED)
        self.write("0002.post.after_rename-instructions.before_dce.hlo.pb", OPS)
        self.write("cpu_after_optimizations.hlo.pb", OPS)

    def write(self, rest, ops, name=NAME):
        (self.dump / f"{name}.{rest}").write_bytes(support.hlo_proto("jit_step", 3, ops))

    def ok(self, *arguments):
        result = self.run_program(*arguments)
        self.assertEqual(result.code, 0, result)
        return result

    def assert_refused(self, arguments=("report", "run.db", "--modules", "dump"), code=1):
        result = self.run_program(*arguments)
        self.assertEqual((result.code, len(result.errors), len(result.hints)), (code, 1, 1), result)
        self.assert_golden_text(result.stderr)
        self.assertFalse((self.folder / "run.html").exists())

    def told(self, what, *more):
        result = self.ok("show", what, "run.db", "--modules", "dump", "--format", "json", *more)
        return json.loads(result.stdout)["provenance"]

    def test_show_lists_events_pass_by_pass(self):
        told = self.told("add.2")
        # The number differs from that of the profile: modules are matched by content.
        self.assertEqual(
            [(e["event"], e["pass"], e["dump"], e["name"]) for e in told["events"]],
            [("replaces", "algsimp", 1, "add.2")],
        )
        (was,) = told["events"][0]["before"]
        self.assertEqual((was["instruction"], was["opcode"]), ("multiply.4", "multiply"))
        self.assertEqual((was["source_file"], was["source_line"]), (OPS[1][3], OPS[1][4]))
        renamed = self.told("dot.1")["events"]
        self.assertIn(("renamed", "rename-instructions"), [(e["event"], e["pass"]) for e in renamed])
        text = self.ok("show", "dot.1", "run.db", "--modules", "dump").stdout
        self.assert_golden_text(text)

    def test_without_the_option_show_reads_no_dump(self):
        sheet = json.loads(self.ok("show", "dot.1", "run.db", "--format", "json").stdout)
        self.assertIsNone(sheet.get("provenance"))
        text = self.ok("show", "dot.1", "run.db").stdout
        self.assertNotIn("rename-instructions", text)
        self.assertIn("dot.1", text)

    def test_the_page_holds_the_same_sentences(self):
        self.ok("report", "run.db", "--modules", "dump")
        page = page_reader.Page.open(self.folder / "run.html")
        rows = page.rows("provenance")
        for name in ("dot.1", "add.2"):
            (op,) = [i for i, row in enumerate(page.rows("ops")) if row["instruction"] == name]
            told = self.told(name)
            mine = [r for r in rows if r["op"] == op and r["event"] not in ("origins", "operands")]
            self.assertEqual([r["sentence"] for r in mine], [e["sentence"] for e in told["events"]])
        self.assertEqual(page.meta["provenance"]["ops"], 2)

    def test_run_with_modules_of_a_dump_finds_it(self):
        self.ok("attach", "run.db", "--modules", "dump")
        self.ok("report", "run.db")
        page = page_reader.Page.open(self.folder / "run.html")
        with support.open_database(self.folder / "run.db") as db:
            known = db.execute("SELECT count(*) FROM module WHERE source = 'dump'").fetchone()[0]
        self.assertEqual(page.meta["provenance"] is not None, known > 0)

    def test_a_folder_beside_the_run_is_found_where_it_fits(self):
        shutil.copytree(self.dump, self.folder / "run.dump")
        result = self.ok("report", "run.db")
        self.assertIn("run.dump", result.stderr)
        self.assertEqual(page_reader.Page.open(self.folder / "run.html").meta["provenance"]["ops"], 2)
        # A folder that does not match is no dump of this run, and it was not given by the user.
        for path in (self.folder / "run.dump").iterdir():
            path.write_bytes(support.hlo_proto("jit_step", 3, [("other.1", "negate", "a", "b", 1)]))
        result = self.ok("report", "run.db")
        self.assertNotIn("run.dump", result.stderr)
        self.assertIsNone(page_reader.Page.open(self.folder / "run.html").meta["provenance"])

    def test_a_dump_without_passes_is_refused(self):
        for path in self.dump.glob("*.000*"):
            path.unlink()
        self.assert_refused()

    def test_a_dump_of_another_program_is_refused(self):
        other = [("negate.1", "negate", "jit(step)/neg", "/a/model.py", 3)]
        for path in self.dump.iterdir():
            path.write_bytes(support.hlo_proto("jit_step", 3, other))
        self.assert_refused()

    def test_missing_dump_folder_is_refused(self):
        self.assert_refused(arguments=("report", "run.db", "--modules", "missing"))

    def test_passes_of_a_module_are_refused(self):
        self.assert_refused(arguments=("show", "m1", "run.db", "--modules", "dump"), code=2)

    def test_broken_dump_of_a_pass_is_reported_and_skipped(self):
        broken = self.dump / f"{NAME}.0001.simplification.after_algsimp.before_cse.hlo.pb"
        broken.write_bytes(b"\x00\xff\xff")
        told = self.told("add.2")
        self.assertTrue(any("0001.simplification" in note for note in told["notes"]), told["notes"])
        # Its effect is detected one dump later.
        self.assertEqual([(e["event"], e["dump"]) for e in told["events"]], [("replaces", 2)])

    def test_module_of_equal_number_and_other_content_is_skipped(self):
        other = [("negate.1", "negate", "jit(step)/neg", "/a/model.py", 3)]
        for rest in ("before_optimizations.hlo.pb", "0001.a.after_b.before_c.hlo.pb", "cpu_after_optimizations.hlo.pb"):
            self.write(rest, other, "module_0007.jit_step")  # 7: the profile's number of the program.
        self.assertEqual(self.told("add.2")["events"][0]["before"][0]["instruction"], "multiply.4")


TRAIN = """
import jax, jax.numpy as jnp
def loss(p, x, y):
    h = jnp.tanh(x @ p["a"])
    return jnp.mean((h @ p["b"] - y) ** 2)
@jax.jit
def train_step(p, x, y):
    return jax.tree.map(lambda w, d: w - 0.1 * d, p, jax.grad(loss)(p, x, y))
p = {"a": jnp.ones((64, 64)), "b": jnp.ones((64, 64))}
x = jnp.ones((32, 64)); y = jnp.zeros((32, 64))
for _ in range(12):
    p = train_step(p, x, y)
jax.block_until_ready(p)
"""


class RealJax(support.TestCase):
    def test_recorded_run_finds_its_dump_and_passes(self):
        python = support.require_jax()
        (self.folder / "train.py").write_text(TRAIN)
        dump = self.folder / "dump"
        environment = dict(os.environ, JAX_PLATFORMS="cpu",
                           XLA_FLAGS=f"--xla_dump_to={dump} --xla_dump_hlo_pass_re=.*")
        done = subprocess.run(
            [support.PROGRAM, "record", "-o", "run.db", "--", python, "train.py"],
            cwd=self.folder, env=environment, capture_output=True, timeout=support.HANG_S,
        )
        self.assertEqual(done.returncode, 0, done.stderr.decode("utf-8", "replace")[-3000:])
        result = self.run_program("report", "run.db")
        self.assertEqual(result.code, 0, result)
        self.assertIn(str(dump), result.stderr)
        page = page_reader.Page.open(self.folder / "run.html")
        ops, rows = page.rows("ops"), page.rows("provenance")
        fusions = [i for i, op in enumerate(ops) if op["instruction"] and op["instruction"].endswith("fusion")
                   and op["opcode"] == "fusion"]
        self.assertTrue(fusions)
        for op in fusions:
            events = [row["event"] for row in rows if row["op"] == op]
            self.assertTrue({"made", "replaces", "added", "copied"} & set(events), (ops[op]["instruction"], events))
        # The pass that fuses is one of XLA's fusion passes.
        made = {row["pass"] for row in rows if row["event"] == "made"}
        self.assertTrue(any("fusion" in name for name in made), made)
        # `passes`, which follows one instruction, prints the same for the largest fusion.
        name = ops[fusions[0]]["instruction"]
        alone = self.run_program("passes", dump, "train_step", "--instruction", name)
        self.assertEqual(alone.code, 0, alone)
        for row in rows:
            if row["op"] == fusions[0] and row["event"] == "made":
                self.assertIn(f"{row['pass']} (dump {row['dump']})", alone.stdout)


if __name__ == "__main__":
    unittest.main()
