# SPDX-License-Identifier: Apache-2.0
"""`--format json` of every command has a schema in share/schemas, and every output is valid.

XLATRACE_TEST_PYTHON_SCHEMAS is an interpreter with jsonschema, which validates the outputs.
"""

import contextlib
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import unittest

import gpu_support
import kept_runs
import shared_data
import support
import tiers
from test_dump_detective import FUSED, STEP, TINY

FOLDER = support.REPOSITORY / "share" / "schemas"
PAGE = support.REPOSITORY / "docs" / "reference" / "json.md"
PYTHON = os.environ.get("XLATRACE_TEST_PYTHON_SCHEMAS")
# First words of the description of a number. They are its unit.
UNITS = re.compile(r"Nanoseconds|Microseconds|Bytes|Percent|Number|Share|Ratio|Id |Process id|Position|Value|Version|Operations")
# Recordings of several tools: XProf on CPU, GPU and TPU, Nsight Systems, nsys-jax, Kineto.
RECORDINGS = (
    "xplane/jax08_gemm.xplane.pb",
    "nsys/mfu_2gpu_before.sqlite",
    "kineto/hta_alexnet.json.gz",
    "captures/nsys-jax-maxtext-fsdp4-h100",
    "xplane/tpu_v6e_jit_f_4chips.xplane.pb",
    "kineto/mi300_bert-small.json.gz",
)
PROVIDES_JSON = re.compile(r"^\| `--format [^`]*\bjson\b", re.M)
# Validates documents: standard input has a JSON list of [schema file, document file, "document" or "lines"].
VALIDATE = """
import itertools, json, sys
from jsonschema import Draft202012Validator
for schema_file, file, form in json.load(sys.stdin):
    schema = json.load(open(schema_file))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    text = open(file, encoding="utf-8").read()
    for part in text.splitlines() if form == "lines" else [text]:
        def refuse(word):
            raise ValueError(word + " is not JSON")
        for error in itertools.islice(validator.iter_errors(json.loads(part, parse_constant=refuse)), 3):
            while error.context:  # The closest alternative.
                error = max(error.context, key=lambda e: (len(e.absolute_path), e.message))
            print(file, error.json_path, error.message[:300])
"""


def schemas():
    """{name: schema} of share/schemas."""
    return {file.name.removesuffix(".schema.json"): json.loads(file.read_text(encoding="utf-8"))
            for file in sorted(FOLDER.glob("*.schema.json"), key=lambda file: file.name.split(".")[0])}


def commands_of(schema):
    return schema["x-xlatrace-commands"]


def properties(schema, path=""):
    """(path, schema) of each property, at any depth."""
    if isinstance(schema, dict):
        for name, value in schema.get("properties", {}).items():
            # A condition names a property of the schema around it.
            if not path.endswith("/if"):
                yield f"{path}/{name}", value
        for key, value in schema.items():
            yield from properties(value, f"{path}/{key}")
    elif isinstance(schema, list):
        for position, value in enumerate(schema):
            yield from properties(value, f"{path}/{position}")


def objects(schema, path=""):
    """(path, schema) of each object with named properties."""
    if isinstance(schema, dict):
        if "object" in schema.get("type", ()) and "properties" in schema:
            yield path, schema
        for key, value in schema.items():
            yield from objects(value, f"{path}/{key}")
    elif isinstance(schema, list):
        for position, value in enumerate(schema):
            yield from objects(value, f"{path}/{position}")


class SchemaFiles(support.TestCase):
    """The schemas themselves. Needs no recording and no validator."""

    def reference(self):
        """{command: its part of the reference page}"""
        text = self.run_program("man", "--format", "md").stdout
        return dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", text, re.M | re.S))

    def test_every_command_with_json_has_a_schema(self):
        with_json = {command for command, part in self.reference().items() if PROVIDES_JSON.search(part)}
        described = {line.split()[0] for schema in schemas().values() for line in commands_of(schema)} - {"python"}
        self.assertGreater(len(with_json), 10)
        self.assertEqual(described, with_json)

    def test_every_table_of_summary_has_a_schema(self):
        refused = self.run_program("summary", "run.db", "--by", "no such table").stderr
        tables = re.search(r"is not one of ([\w, ]+)", refused)[1].split(", ")
        described = {found[1] for schema in schemas().values() for line in commands_of(schema)
                     if (found := re.search(r"--by (\w+)", line)) and line.startswith("summary")}
        self.assertGreater(len(tables), 15)
        self.assertEqual(described, set(tables))

    def test_every_property_has_a_description_with_its_unit(self):
        for name, schema in schemas().items():
            for path, value in properties(schema):
                with self.subTest(schema=name, path=path):
                    if "$ref" in value and "description" not in value:
                        continue
                    if set(value) <= {"properties", "items"} or "const" in value and len(value) == 1:
                        continue  # A condition.
                    self.assertRegex(value["description"], r"^[A-Z].*\.$")
                    types = value.get("type", ())
                    if "integer" in types or "number" in types:
                        self.assertRegex(value["description"], UNITS)
                    unit = {"ns": "Nanoseconds", "pct": "Percent", "bytes": "Bytes"}.get(path.rsplit("_", 1)[-1])
                    if unit and "array" not in types and "object" not in types:
                        self.assertTrue(value["description"].startswith(unit), value["description"])

    def test_every_object_says_whether_it_has_further_keys(self):
        for name, schema in schemas().items():
            for path, value in objects(schema):
                with self.subTest(schema=name, path=path):
                    if path.endswith(("/if", "/then")) or (not path and "allOf" in schema):
                        continue
                    self.assertIs(value.get("additionalProperties"), False)

    def test_every_document_has_a_version(self):
        for name, schema in schemas().items():
            with self.subTest(schema=name):
                self.assertIn("schema_version", schema["required"])
                self.assertRegex(schema["$id"], rf"^urn:xlatrace:schema:{name}:\d+$")

    def test_every_schema_has_a_command_in_this_file(self):
        text = pathlib.Path(__file__).read_text(encoding="utf-8").partition("class DocumentCase")[2]
        called = set(re.findall(r"\.(?:collect|keep)\(\"([\w-]+)\"", text)) | set(re.findall(r"\(\"\w+\", \"(summary-\w+)\"\)", text))
        self.assertEqual(called, set(schemas()))

    def test_installed_schemas_are_those_of_the_repository(self):
        installed = pathlib.Path(support.PROGRAM).resolve().parents[1] / "share" / "xlatrace" / "schemas"
        self.assertEqual({file.name: file.read_text() for file in installed.iterdir()},
                         {file.name: file.read_text() for file in FOLDER.iterdir()})

    def test_reference_page_lists_every_schema_and_command(self):
        rows = re.findall(r"^\| \[`(.+?)`\]\(\.\./\.\./share/schemas/(.+?)\) \| (.+?) \| (.+?) \|$",
                          PAGE.read_text(encoding="utf-8"), re.M)
        expected = [(f"{name}.schema.json", f"{name}.schema.json",
                     ", ".join(f"`{line}`" for line in commands_of(schema)), schema["description"])
                    for name, schema in schemas().items()]
        self.assertEqual(rows, expected, "write the table again: scripts/json_page")


class DocumentCase(support.TestCase):
    """A test collects documents of commands, then validates them together."""

    def setUp(self):
        super().setUp()
        if not PYTHON:
            self.skipTest("XLATRACE_TEST_PYTHON_SCHEMAS is not set")
        self.documents = []

    def collect(self, schema, *arguments, codes=(0,), form="document", program=None):
        """Runs a command with --format json and keeps its output for check(). Returns the output."""
        done = self.run_program(*arguments, "--format", "json") if program is None else support.run_command(
            [*program, *arguments, "--format", "json"], cwd=self.folder)
        self.assertIn(done.code, codes, f"{arguments}: {done}")
        self.keep(schema, done.stdout_bytes, arguments, form)
        return done.stdout

    def keep(self, schema, output, arguments, form="document"):
        words = "_".join(re.sub(r"\W+", "-", str(word))[-40:] for word in arguments)
        file = self.folder / f"{len(self.documents)}_{words[:120]}.json"
        file.write_bytes(output)
        self.documents.append((str(FOLDER / f"{schema}.schema.json"), str(file), form))

    def refuse(self, *arguments, codes=(1,)):
        """A command that fails prints no document."""
        done = self.run_program(*arguments, "--format", "json")
        self.assertIn(done.code, codes, f"{arguments}: {done}")
        self.assertEqual(done.stdout, "", arguments)

    def check(self):
        done = subprocess.run([PYTHON, "-c", VALIDATE], input=json.dumps(self.documents), capture_output=True,
                              text=True, timeout=support.HANG_S)
        self.assertEqual((done.stderr, done.stdout, done.returncode), ("", "", 0))

    def collect_run(self, run):
        """All commands that read one run.db."""
        tables = [line.split()[-1] for line in commands_of(schemas()["summary"]) if "--by" in line]
        for table in tables:
            # More than 20 rows: the whole document.
            self.collect("summary", "summary", run, "--by", table, "--top", 21)
        self.collect("summary", "summary", run)
        self.collect("summary", "summary", run, "--top", 5)
        self.collect("summary", "summary", run, "--top", 5, "--by", "layer", codes=(0, 1))
        self.collect("summary", "summary", run, "--phase", "forward")
        self.collect("summary-compile", "summary", run, "--by", "compile")
        with contextlib.closing(sqlite3.connect(f"file:{run}?mode=ro", uri=True)) as db:
            def column(sql):
                return [row[0] for row in db.execute(sql)]
            gpus = column("SELECT 1 FROM device WHERE kind = 'gpu'")
            tree = column("SELECT 1 FROM time_tree LIMIT 1")
            memory = column("SELECT 1 FROM buffer LIMIT 1")
            things = [
                *column("SELECT handle FROM op_time WHERE handle IS NOT NULL ORDER BY self_ns DESC LIMIT 3"),
                *column("SELECT handle FROM kernel LIMIT 2"),
                *column("SELECT handle FROM module WHERE handle IS NOT NULL LIMIT 3"),
                *column("SELECT handle FROM finding LIMIT 3"),
                *column("SELECT layer_group FROM scope_time WHERE layer_group IS NOT NULL GROUP BY 1 ORDER BY"
                        " sum(self_ns) DESC LIMIT 2"),
                *column("SELECT file || ':' || line FROM source_time WHERE inclusive_ns > 0 AND line > 0 LIMIT 2"),
                *column("SELECT instruction FROM instruction WHERE instruction NOT IN (SELECT instruction FROM op_time"
                        " WHERE instruction IS NOT NULL) AND fusion_kind IS NULL LIMIT 1"),
            ]
            replayed = column("SELECT 1 FROM activity WHERE self_ns > 0 LIMIT 1")
        for table, schema in (("tree", "summary-tree"), ("host", "summary-host")):
            if tree:
                self.collect(schema, "summary", run, "--by", table)
            else:
                self.refuse("summary", run, "--by", table)
        if memory:
            self.collect("summary-memory", "summary", run, "--by", "memory")
        else:
            self.refuse("summary", run, "--by", "memory")
        if gpus:
            self.collect("summary-gpu", "summary", run, "--gpu", "h100")
        else:
            self.refuse("summary", run, "--gpu", "h100")
        for thing in things:
            self.collect("show", "show", thing, run)
        for thing in things[:4]:
            if thing[0] in "ok" and gpus:
                self.collect("show", "show", thing, run, "--gpu", "h100")
        self.refuse("show", "no such thing", run)
        self.collect("modules", "modules", run)
        self.collect("find", "find", "convolution|scatter|all-reduce", run, codes=(0, 1))
        self.collect("query", "query", run, "SELECT * FROM activity LIMIT 5")
        self.collect("query", "query", run, "SELECT 1 AS one, 0.5 AS half, NULL AS no_value, 'text' AS text WHERE 0")
        self.refuse("query", run, "SELECT nothing FROM nowhere")
        self.collect("doctor-secrets", "doctor", "--secrets", run, codes=(0, 3))
        if replayed:
            self.collect("what-if", "what-if", run)
            self.collect("what-if", "what-if", run, "--no-gaps", "--op", "phase:backward=0.5x")
        else:
            self.refuse("what-if", run)

class Outputs(DocumentCase):
    def test_outputs_of_imported_recordings_are_valid(self):
        for recording in tiers.representatives(RECORDINGS):
            if shared_data.find(recording) is None:
                self.skipTest(shared_data.reason(recording))
            self.collect_run(kept_runs.imported_run(recording))
        self.check()

    def test_outputs_of_a_synthetic_run_and_its_comparisons_are_valid(self):
        run = kept_runs.synthetic_run(15_000)
        bare = kept_runs.without_annotations()
        self.collect_run(run)
        if tiers.IS_LONG:
            self.collect_run(bare)
        self.collect("diff", "diff", run, bare, codes=(0, 4))
        for table in ("phase", "layer", "op_kind"):
            self.collect("diff", "diff", run, run, "--by", table)
        self.collect("gate", "gate", run, run, codes=(0, 3, 4, 5))
        self.collect("gate", "gate", run, bare, codes=(0, 3, 4, 5))
        self.check()

    def test_outputs_of_a_run_without_device_work_are_valid(self):
        script = "import time; time.sleep(0.1)"
        done = self.run_program("record", "-o", "empty.db", "--", sys.executable, "-c", script)
        self.assertEqual(done.code, 0, done)
        if not (self.folder / "empty.db").exists():
            for words in (("summary", "empty.db"), ("summary", "empty.db", "--by", "tree"), ("show", "o1", "empty.db"),
                          ("diff", "empty.db", "empty.db"), ("gate", "empty.db", "empty.db"),
                          ("what-if", "empty.db"), ("modules", "empty.db"), ("find", "dot", "empty.db")):
                self.refuse(*words)
        profile = self.folder / "empty.xplane.pb"
        profile.write_bytes(support.xspace("jit_step", []))
        done = self.run_program("import", profile, "-o", "nothing.db")
        if done.code == 0:
            self.collect_run(self.folder / "nothing.db")
            self.collect("diff", "diff", "nothing.db", "nothing.db", codes=(0, 4))
            self.collect("gate", "gate", "nothing.db", "nothing.db", codes=(0, 3, 4, 5))
        self.check()

    def test_outputs_of_a_recorded_jax_run_are_valid(self):
        script = self.folder / "train.py"
        script.write_text("import jax, jax.numpy as jnp\n"
                          "step = jax.jit(lambda x: jnp.tanh(x @ x).sum())\n"
                          "for size in (64, 64, 64, 96):\n    step(jnp.ones((size, size))).block_until_ready()\n")
        done = self.run_program("record", "-o", "run.db", "--", support.require_jax(), script,
                                env=support.environment(JAX_PLATFORMS="cpu"))
        self.assertEqual(done.code, 0, done)
        self.collect_run(self.folder / "run.db")
        self.check()

    def test_outputs_about_dumps_are_valid(self):
        dump = self.folder / "dump"
        dump.mkdir()
        for name, text in (("module_0003.jit_step.before_optimizations.txt", STEP),
                           ("module_0003.jit_step.0000.fusion.after_pipeline-start.before_fusion.txt", STEP),
                           ("module_0003.jit_step.0001.fusion.after_fusion.before_cse.txt", FUSED),
                           ("module_0003.jit_step.sm_9.0_gpu_after_optimizations.txt", FUSED),
                           ("module_0003.jit_step.ptx", "// nothing\n"), ("notes.txt", "of the user\n"),
                           ("module_0001.jit_add.before_optimizations.txt", TINY),
                           ("module_0001.jit_add.sm_9.0_gpu_after_optimizations.txt", TINY)):
            (dump / name).write_text(text)
        bad = self.folder / "module_0009.jit_bad.before_optimizations.txt"
        bad.write_text("HloModule m\nENTRY e {\n  ROOT a = f32[] negate(b)\n}\n")
        self.collect("modules", "modules", dump)
        self.collect("explain", "explain", *sorted(dump.iterdir()), bad, self.folder / "missing", codes=(1,), form="lines")
        hlo = dump / "module_0003.jit_step.sm_9.0_gpu_after_optimizations.txt"
        self.collect("explain", "explain", hlo, "--cost", form="lines")
        self.collect("explain-instructions", "explain", hlo, "--instructions", "--cost", form="lines")
        self.collect("explain", "explain", bad, "--instructions", codes=(1,), form="lines")
        self.collect("passes", "passes", dump, "jit_step")
        self.collect("passes", "passes", dump, "jit_step", "--from", "0", "--to", "1")
        self.collect("passes", "passes", dump, "jit_step", "--instruction", "fusion.2")
        self.collect("find", "find", "dot", dump)
        self.collect("find", "find", "tanh", dump, "--context", "2")
        self.collect("find", "find", "no such instruction", dump, codes=(0, 1))
        self.collect("diff-dumps", "diff", dump, dump)
        before = dump / "module_0003.jit_step.before_optimizations.txt"
        self.collect("diff-dumps", "diff", before, hlo)
        empty = self.folder / "empty"
        empty.mkdir()
        self.refuse("passes", empty, "jit_step")
        self.check()

    def test_outputs_about_this_machine_are_valid(self):
        self.collect("doctor", "doctor", codes=(0, 1))
        self.collect("doctor", "doctor", "--python", "no-such-python", codes=(0, 1))
        process = self.folder / "run.rec" / f"{os.getpid()}-0"
        process.mkdir(parents=True)
        for state in ({"started": True}, {"started": True, "stopped": True}, {}, {"start_error": "no memory"}):
            (process / "status.json").write_text(json.dumps({"pid": os.getpid(), "framework": "jax", **state}))
            self.collect("control-profilers", "control", "run.rec", "status")
        self.refuse("control", "nothing.rec", "status")
        self.check()


class Lake(DocumentCase):
    def test_answers_of_a_lake_are_valid(self):
        python = os.environ.get("XLATRACE_TEST_PYTHON_DUCKDB")
        if not python:
            self.skipTest("XLATRACE_TEST_PYTHON_DUCKDB is not set")
        run = kept_runs.synthetic_run(15_000)
        done = self.run_program("export", run, "--to", "parquet", "--layout", "lake", "-o", self.folder / "lake")
        self.assertEqual(done.code, 0, done)
        package = pathlib.Path(support.PROGRAM).resolve().parents[1] / "share" / "xlatrace" / "python"
        program = ["env", f"PYTHONPATH={package}", python, "-m", "xlatrace.fleet", "query"]
        self.collect("fleet-query", self.folder / "lake", "SELECT 1 AS one, DATE '2026-01-01' AS day", program=program)
        self.check()


class Recordings(gpu_support.GpuTestCase, DocumentCase):
    @classmethod
    def setUpClass(cls):
        gpu_support.require_gpu()

    def test_states_of_a_recording_are_valid(self):
        done = support.run_command(self.command("launch k x 3; sync"), cwd=self.work, env=self.environment())
        self.assertEqual(done.code, 0, done)
        status = support.run("control", "run.rec", "status", "--format", "json", cwd=self.work)
        self.assertEqual(status.code, 0, status)
        self.keep("control", status.stdout_bytes, ("ended",))
        self.collect_run(self.folded())
        self.check()

    def folded(self):
        done = support.run("summary", "run.db", cwd=self.work)
        self.assertEqual(done.code, 0, done)
        return self.work / "run.db"


if __name__ == "__main__":
    unittest.main()
