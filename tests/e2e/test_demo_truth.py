# SPDX-License-Identifier: Apache-2.0
"""The recording of the demo agrees with its script.

Nothing here is weighed by time: a thread that is stopped for some milliseconds makes an op of
microseconds the largest of the run. Ops are weighed by their FLOPs, or counted.
"""

import html.parser
import json
import pathlib
import re
import shutil
import tempfile
import unittest

import support
import tiers

SCRIPT = support.REPOSITORY / "examples" / "demo" / "train.py"
SCRIPT_TF = support.REPOSITORY / "examples" / "demo" / "train_tf.py"


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("src", "srcset", "href", "action", "data", "poster", "background"):
                self.found.append((tag, name, value))


class Demo:
    """Records `script` once; `python` gives the interpreter or skips."""

    script = None
    arguments = ("--steps", "12")

    @classmethod
    def setUpClass(cls):
        support.require_program()
        interpreter = cls.python()
        if not cls.script.exists():
            raise unittest.SkipTest(f"no {cls.script}")
        cls.place = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.run_db = cls.place / "run.db"
        cls.result = support.run(
            "record", "-o", cls.run_db, "--duration", "0",  # all of it, on a slow machine too
            "--", interpreter, cls.script, *cls.arguments, cwd=support.REPOSITORY,
        )  # fmt: skip
        if cls.result.code != 0:
            raise AssertionError(str(cls.result))
        cls.database = support.open_database(cls.run_db)
        cls.addClassCleanup(cls.database.close)

    def rows(self, sql, *arguments):
        return self.database.execute(sql, arguments).fetchall()

    def phases(self):
        return dict(map(tuple, self.rows("SELECT phase, sum(self_ns) FROM phase_time GROUP BY 1")))

    def test_at_least_99_percent_of_activities_are_exact(self):
        total, exact = self.rows("SELECT count(*), sum(confidence = 'exact') FROM activity")[0]
        self.assertGreaterEqual(exact, 0.99 * total)

    def test_record_leaves_only_the_run(self):
        self.assertEqual([path.name for path in self.place.iterdir()], ["run.db"])

    def test_json_equals_sql(self):
        result = support.run("summary", self.run_db, "--format", "json")
        self.assertEqual(result.code, 0, result)
        summary = json.loads(result.stdout)
        self.assertEqual(summary["schema_version"], 1)
        total = self.rows("SELECT sum(self_ns) FROM activity")[0][0]
        self.assertEqual(summary["attribution_whole_run"]["device_ns"], total)
        steady = "step IN (SELECT step FROM step WHERE typical)"
        count = self.rows("SELECT count(*) FROM step WHERE steady")[0][0]
        self.assertEqual(summary["steps"]["steady"], count)
        if count < 2:
            return
        durations = [row[0] for row in self.rows("SELECT duration_ns FROM step WHERE steady ORDER BY duration_ns")]
        middle = durations[count // 4 : count - count // 4]
        self.assertEqual(summary["steps"]["typical_ns"], sum(middle) // len(middle))
        self.assertEqual(
            summary["table"]["device_ns"],
            self.rows(f"SELECT sum(self_ns) FROM activity WHERE {steady}")[0][0],
        )
        self.assertEqual(
            {part["part"]: part["wall_ns"] for part in summary["steps"]["parts"] if part["wall_ns"]},
            dict(
                map(
                    tuple,
                    self.rows(
                        f"SELECT part, sum(wall_ns) FROM step_part WHERE {steady} "
                        "GROUP BY 1 HAVING sum(wall_ns) > 0"
                    ),
                )
            ),
        )
        self.assertEqual(
            {entry["phase"]: entry["ns"] for entry in summary["phases"] if entry["ns"]},
            dict(
                map(
                    tuple,
                    self.rows(
                        f"SELECT phase, sum(self_ns) FROM phase_time WHERE {steady} "
                        "GROUP BY 1 HAVING sum(self_ns) > 0"
                    ),
                )
            ),
        )
        table = {
            (row["module"], row["program_id"], row["instruction"]): row["ns"]
            for row in summary["table"]["rows"]
        }
        own = {
            (row[0], row[1], row[2]): row[3]
            for row in self.rows(
                "SELECT module, program_id, instruction, sum(steady_ns) FROM op_time "
                "WHERE steady_ns > 0 GROUP BY 1, 2, 3"
            )
        }
        self.assertEqual({key: ns for key, ns in table.items() if ns}, own)
        self.assertEqual(
            sum(row["ns"] for row in summary["table"]["rows"]) + summary["table"]["others"]["ns"],
            summary["table"]["device_ns"],
        )

    def test_summary_fits_the_terminal(self):
        for width in (80, 100, 120):
            for by in ("phase", "layer", "op", "kernel", "source"):
                with self.subTest(width=width, by=by):
                    result = support.run("summary", self.run_db, "--width", str(width), "--by", by)
                    lines = result.stdout.splitlines()
                    self.assertLessEqual(max(map(len, lines)), width)
                    if width >= 100:
                        self.assertLessEqual(len(lines), 45)

    def test_page_refers_to_no_address(self):
        page = self.place / "page.html"
        self.addCleanup(page.unlink, missing_ok=True)
        for _ in range(2):  # its own page is replaced
            result = support.run("report", self.run_db, "-o", page)
            self.assertEqual(result.code, 0, result)
        text = page.read_text("utf-8")
        self.assertIn("<!-- xlatrace report", text[:200])
        links = Links()
        links.feed(text)
        for tag, name, value in links.found:
            self.assertTrue(value.startswith(("#", "data:")), (tag, name, value))
        style = "".join(re.findall(r"(?s)<style.*?</style>", text))
        for target in re.findall(r"url\(\s*['\"]?([^)'\"]*)", style):
            self.assertTrue(target.startswith(("data:", "#")), target)
        self.assertNotIn("@import", style)
        outside = re.sub(r"http://www\.w3\.org/\d+/(svg|xlink|xhtml|Math/MathML)", "", text)
        self.assertNotRegex(outside, r"https?://")
        page.write_text("<html>mine</html>")
        result = support.run("report", self.run_db, "-o", page)
        self.assertIn(result.code, (1, 2), result)
        self.assertEqual(page.read_text(), "<html>mine</html>")


class JaxDemo(Demo, unittest.TestCase):
    script = SCRIPT
    python = staticmethod(support.require_jax)

    @tiers.long_tier  # In the first tier, test_record_exits compares the output of smaller scripts.
    def test_output_of_the_script_is_unchanged(self):
        plain = support.run_command([support.require_jax(), SCRIPT, "--steps", "12"])
        clean = [re.sub(r"in [\d.]+ s", "", text) for text in (plain.stdout, self.result.stdout)]
        self.assertEqual(clean[0], clean[1])
        self.assertEqual(plain.code, self.result.code)

    def test_phases_of_jax_have_time(self):
        phases = self.phases()
        for phase in ("forward", "loss", "backward", "recompute", "optimizer"):
            self.assertGreater(phases.get(phase, 0), 0, phase)
        total, unknown = self.rows("SELECT count(*), sum(phase = 'unknown') FROM activity")[0]
        self.assertLess(unknown, 0.01 * total)
        # Two products of the backward pass for each of the forward pass.
        flops = dict(map(tuple, self.rows("SELECT phase, sum(flops) FROM op_time GROUP BY 1")))
        self.assertGreater(flops["backward"], flops["forward"] * 1.8)
        self.assertLess(flops["backward"], flops["forward"] * 2.2)

    def test_recompute_is_only_the_checkpointed_layer(self):
        """And what XLA's fusions compute again beside backward work, which is also done elsewhere."""
        recomputed = self.rows(
            "SELECT layer, op_name FROM scope_time WHERE phase = 'recompute' AND self_ns > 0"
        )
        asked_for = [row for row in recomputed if "remat" in row["op_name"]]
        self.assertTrue(asked_for)
        for row in asked_for:
            self.assertTrue((row["layer"] or "").startswith("layer_1"), tuple(row))
        for row in recomputed:
            if row in asked_for:
                continue
            # The compiler's copies keep their forward names, and are also forward work elsewhere.
            self.assertNotIn("transpose(", row["op_name"])
            others = self.rows(
                "SELECT count(*) FROM instruction WHERE op_name = ? AND phase = 'forward'",
                row["op_name"],
            )
            self.assertGreater(others[0][0], 0, row["op_name"])

    def test_layers_are_named_as_in_the_script(self):
        layers = {
            row[0]
            for row in self.rows(
                "SELECT DISTINCT layer FROM instruction_share s JOIN module m USING (module_id) "
                "WHERE m.role = 'main'"
            )} - {None}
        for layer in (
            "embed", "layer_0/attention", "layer_0/mlp", "layer_1/attention", "layer_1/mlp",
            "layers/attention", "layers/mlp", "head", "loss", "layer_0/attention/layer_norm",
        ):  # fmt: skip
            self.assertIn(layer, layers)
        scopes = set(re.findall(r'named_scope\("([^"]+)"\)', SCRIPT.read_text()))
        words = {word for scope in scopes for word in scope.split("/")}
        for layer in layers:
            for word in layer.split("/"):
                self.assertIn(word, words, f"{layer}: not a scope of the script")

    def test_optimizer_is_adam(self):
        lines = [
            row[0]
            for row in self.rows(
                "SELECT source_line, sum(flops) FROM op_time WHERE phase = 'optimizer' AND "
                "source_file IS NOT NULL GROUP BY 1 ORDER BY 2 DESC LIMIT 3"
            )
        ]
        text = SCRIPT.read_text().splitlines()
        start = next(i for i, line in enumerate(text, 1) if line.startswith("def adam"))
        end = next(i for i, line in enumerate(text, 1) if line.startswith("def init_state"))
        for line in lines:
            self.assertTrue(start < line < end, (line, text[line - 1]))

    def test_source_lines_of_the_products(self):
        """For all large products: XLA may make an op of a few FLOPs from two lines."""
        text = SCRIPT.read_text().splitlines()
        bodies = {
            "attention": ("def attention", "def mlp"),
            "mlp": ("def gelu", "def block"),
            "layer_norm": ("def layer_norm", "def attention"),
            "loss": ("def loss_fn", "# --- parameters"),
            "embed": ("def forward", "def loss_fn"),
            "head": ("def forward", "def loss_fn"),
            "layers": ("def forward", "def loss_fn"),
            # Code between the parts of a block, and the call that checkpoints it.
            "layer_0": ("def gelu", "def loss_fn"),
            "layer_1": ("def gelu", "def loss_fn"),
        }
        products = self.rows(
            "SELECT layer, source_file, source_line, op_name FROM op_time WHERE layer IS NOT NULL "
            "AND phase != 'optimizer' AND flops >= 0.002 * (SELECT sum(flops) FROM op_time)"
        )
        self.assertGreater(len(products), 15)
        for row in products:
            with self.subTest(op_name=row["op_name"]):
                self.assertEqual(pathlib.Path(row["source_file"]), SCRIPT)
                begin, end = bodies[row["layer"].split("/")[-1]]
                first = next(i for i, line in enumerate(text, 1) if line.startswith(begin))
                last = next(i for i, line in enumerate(text, 1) if line.startswith(end))
                in_norm = row["layer"].split("/")[-1] == "layer_norm"
                called = in_norm and "layer_norm(" in text[row["source_line"] - 1]
                self.assertTrue(first < row["source_line"] < last or called, tuple(row))

    def test_twelve_steps_are_found(self):
        self.assertEqual([row[0] for row in self.rows("SELECT step FROM step ORDER BY 1")], list(range(12)))

    def test_run_info_describes_the_command(self):
        info = dict(map(tuple, self.rows("SELECT key, value FROM run_info")))
        self.assertIn("train.py --steps 12", info["command"])
        self.assertIn(support.PYTHON_JAX, info["command"])
        self.assertIn("jaxlib_version", info)

    def test_train_step_is_the_only_main_module(self):
        main = self.rows("SELECT name, framework_function FROM module WHERE role = 'main'")
        self.assertEqual([tuple(row) for row in main], [("jit_train_step", "train_step")])


@tiers.long_tier
class TensorFlowDemo(Demo, unittest.TestCase):
    script = SCRIPT_TF
    arguments = ("--epochs", "3")
    python = staticmethod(support.require_tensorflow)

    def test_phases_of_tensorflow_have_time(self):
        phases = self.phases()
        for phase in ("forward", "backward", "optimizer"):
            self.assertGreater(phases.get(phase, 0), 0, phases)


if __name__ == "__main__":
    unittest.main()
