# SPDX-License-Identifier: Apache-2.0
"""Memory of a recorded training step: totals, owners, lines and use over time, against XLA's own text.

One recording serves all tests.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import tempfile
import textwrap
import unittest

import support

PROGRAM = textwrap.dedent(
    """\
    import jax
    import jax.numpy as jnp

    def loss_of(params, x, y):
        for layer in params:
            x = jnp.tanh(x @ layer["w"])  # forward
        return jnp.mean((x - y) ** 2)

    def step(state, x, y):
        grads = jax.grad(loss_of)(state["params"], x, y)
        mu = jax.tree.map(lambda m, g: 0.9 * m + g, state["mu"], grads)  # optimizer
        params = jax.tree.map(lambda p, m: p - 0.1 * m, state["params"], mu)
        return {"params": params, "mu": mu}

    params = [{"w": jnp.ones((256, 512))}, {"w": jnp.ones((512, 256))}]
    state = {"params": params, "mu": jax.tree.map(jnp.zeros_like, params)}
    x = jnp.ones((128, 256))
    train = jax.jit(step, donate_argnums=0)
    for _ in range(5):
        state = train(state, x, x)
    jax.block_until_ready(state)
    """
)
WEIGHTS = 2 * 256 * 512 * 4


def allocations(path):
    """Allocations of XLA's text: size, base kind, values (instruction and index, size, offset)."""
    found = []
    for line in path.read_text().splitlines():
        plain = re.sub(r"\|[^|]*\|", "", line)
        head = re.match(r"allocation \d+: size (\d+)(.*)", plain)
        if head:
            kept = re.search(r"parameter|live-out|output shape|constant|thread-local", head[2])
            found.append((int(head[1]), bool(kept), []))
        value = re.match(r" value: <\d+ (.+?) @\d+> \(size=(\d+),offset=(\d+)\)", line)
        if value:
            found[-1][2].append((value[1].removesuffix("{}"), int(value[2]), int(value[3])))
    return found


def live_ranges(path):
    """Schedule, and first and last position of each value."""
    text = path.read_text()
    order = re.findall(r"^    \d+:(.+)$", text.split("BufferLiveRange")[0], re.M)
    ranges = {}
    for name, index, first, last in re.findall(r"^    (.+?)(\{[\d,]*\}):(\d+)-(\d+)$", text, re.M):
        ranges[name + ("" if index == "{}" else index)] = int(first), int(last)
    return order, ranges


class MemoryOfAStep(support.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        python = support.require_jax()
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-memory-"))
        cls.addClassCleanup(shutil.rmtree, cls.place)
        (cls.place / "step.py").write_text(PROGRAM)
        cls.dump = cls.place / "dump"
        cls.run_db = cls.place / "run.db"
        flags = f"--xla_dump_to={cls.dump} --xla_dump_hlo_as_text --xla_dump_hlo_as_proto"
        done = support.run_command(
            [support.PROGRAM, "record", "-o", cls.run_db, "--", python, "step.py"],
            cwd=cls.place,
            env=support.environment(XLA_FLAGS=flags, JAX_PLATFORMS="cpu"),
        )
        assert done.code == 0, done
        [report] = cls.dump.glob("*jit_step*-memory-usage-report.txt")
        cls.stem = report.name.removesuffix("-memory-usage-report.txt")
        cls.total = int(re.search(r"Total bytes: (\d+)", report.read_text())[1])

    def setUp(self):
        super().setUp()
        self.db = support.open_database(self.run_db)
        self.addCleanup(self.db.close)
        [(self.module,)] = self.db.execute("SELECT module_id FROM module WHERE name = 'jit_step'")

    def text_of(self, kind):
        return self.dump / f"{self.stem}-{kind}.txt"

    def line_of(self, comment):
        lines = PROGRAM.splitlines()
        return next(n for n, line in enumerate(lines, 1) if line.endswith(comment))

    def test_the_peak_is_what_xla_reports(self):
        peak = "SELECT peak_memory_bytes FROM module WHERE module_id = ?"
        parts = "SELECT sum(peak_bytes) FROM buffer WHERE module_id = ? AND memory_space = 'device'"
        for sql in (peak, parts):
            self.assertEqual(self.db.execute(sql, [self.module]).fetchone()[0], self.total, sql)

    def test_dumps_equal_the_reports_of_xla(self):
        script = support.REPOSITORY / "scripts" / "memory_totals"
        done = support.run_command([script, support.PROGRAM, self.dump])
        self.assertEqual(done.code, 0, done)

    def test_owners_are_those_of_the_program(self):
        owners = dict(
            self.db.execute(
                "SELECT owner, sum(buffer.bytes) FROM buffer JOIN instruction USING (module_id, instruction)"
                " WHERE module_id = ? AND opcode = 'parameter' GROUP BY 1",
                [self.module],
            )
        )
        inputs = 128 * 256 * 4
        self.assertEqual(owners["parameters"], WEIGHTS)
        self.assertEqual(owners["optimizer state"], WEIGHTS)
        self.assertIn(owners["inputs"], (inputs, 2 * inputs))

    def test_large_buffers_have_the_line_that_reads_or_writes_them(self):
        rows = self.db.execute(
            "SELECT owner, source_file, source_line, peak_bytes FROM buffer WHERE module_id = ?"
            " AND memory_space = 'device' AND peak_bytes > 0",
            [self.module],
        ).fetchall()
        with_line = sum(size for _, file, line, size in rows if file and line)
        self.assertGreaterEqual(with_line, 0.95 * self.total)
        for owner, comment in (("parameters", "# forward"), ("optimizer state", "# optimizer")):
            lines = collections.Counter()
            for row_owner, file, line, size in rows:
                if row_owner == owner:
                    lines[file and os.path.basename(file), line] += size
            self.assertEqual(lines.most_common(1)[0][0], ("step.py", self.line_of(comment)), owner)

    def test_use_over_time_equals_a_recount_from_xla_text(self):
        order, ranges = live_ranges(self.text_of("live-range"))
        wanted = [0] * len(order)
        for size, kept, values in allocations(self.text_of("buffer-assignment")):
            for position in range(len(order)):
                if kept:
                    wanted[position] += size
                    continue
                used = set()
                for name, bytes_of, offset in values:
                    first, last = ranges[name]
                    if first <= position <= last:
                        used.update(range(offset // 4, (offset + bytes_of) // 4))
                wanted[position] += 4 * len(used)
        rows = self.db.execute(
            "SELECT instruction, bytes FROM memory_over_time WHERE module_id = ? ORDER BY position",
            [self.module],
        ).fetchall()
        self.assertEqual([name for name, _ in rows], order)
        self.assertEqual([size for _, size in rows], wanted)

    def test_instructions_of_the_schedule_have_recorded_times(self):
        [(timed, backwards)] = self.db.execute(
            "SELECT count(start_ns), sum(end_ns < start_ns) FROM memory_over_time WHERE module_id = ?",
            [self.module],
        )
        self.assertGreater(timed, 3)
        self.assertEqual(backwards, 0)

    def test_summary_show_and_modules_give_the_same_peak(self):
        summary = self.run_program("summary", self.run_db, "--by", "memory", "--format", "json")
        self.assertEqual(summary.code, 0, summary)
        program = next(p for p in json.loads(summary.stdout)["programs"] if p["name"] == "jit_step")
        self.assertEqual(program["total_bytes"], self.total)
        self.assertEqual(sum(owner["bytes"] for owner in program["owners"]), self.total)
        shown = self.run_program("show", self.run_db, program["handle"], "--format", "json")
        memory = json.loads(shown.stdout)["memory"]
        self.assertEqual(memory["total_bytes"], self.total)
        self.assertEqual(memory["at_instruction"], program["peak_instruction"])
        listed = self.run_program("modules", self.dump, "--format", "json")
        module = next(m for m in json.loads(listed.stdout)["modules"] if m["module"] == "jit_step")
        self.assertEqual(module["peak_memory_bytes"], self.total)
        self.assertEqual(module["memory"]["peak_instruction"], program["peak_instruction"])
        self.assertEqual(
            module["memory"]["owners"],
            [{"owner": owner["owner"], "bytes": owner["bytes"]} for owner in program["owners"]],
        )
        text = self.run_program("summary", self.run_db, "--by", "memory", "--width", "120")
        self.assertEqual(text.code, 0, text)
        self.assertIn("optimizer state", text.stdout)


if __name__ == "__main__":
    unittest.main()
