# SPDX-License-Identifier: Apache-2.0
"""`%%xlatrace` in notebooks that nbconvert runs, and `xlatrace.record` in programs.

Environment beside support.py's:
  XLATRACE_TEST_PYTHON_PEOPLE   an interpreter with jax, nbconvert and ipykernel
  XLATRACE_TEST_PYTHON_BROWSER  an interpreter with Playwright
"""

import json
import os
import textwrap

import browser_cases
import gpu_support
import support
from test_python_api import package_folder

PYTHON = os.environ.get("XLATRACE_TEST_PYTHON_PEOPLE")

STEP = """
def layer(w, x):
    h = x @ w
    return jnp.tanh(h)

@jax.jit
def step(w, x):
    return w - 0.1 * jax.grad(lambda w: layer(w, x).sum())(w)
"""
LOOP = """
w = jnp.ones((128, 128))
for _ in range(12):
    w = step(w, jnp.ones((32, 128)))
print(float(w.sum()))
"""
SETUP = "%load_ext xlatrace\nimport jax, jax.numpy as jnp"


class NotebookCase(support.TestCase):
    def setUp(self):
        super().setUp()
        if not PYTHON:
            self.skipTest("XLATRACE_TEST_PYTHON_PEOPLE is not set")

    def python(self, *arguments, interpreter=None, **environment):
        return support.run_command(
            [interpreter or PYTHON, *arguments],
            cwd=self.folder,
            env=support.environment(
                **{
                    "PYTHONPATH": str(package_folder()),
                    "XLATRACE_BIN": support.PROGRAM,
                    "JAX_PLATFORMS": "cpu",
                    "TMPDIR": str(self.folder),
                    **environment,
                }
            ),
        )

    def execute(self, *cells, code=0):
        """Outputs per cell, as text and as HTML."""
        document = {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}},
            "cells": [
                {"cell_type": "code", "id": f"c{n}", "metadata": {}, "source": cell.strip("\n"),
                 "outputs": [], "execution_count": None}
                for n, cell in enumerate(cells)
            ],
        }  # fmt: skip
        (self.folder / "in.ipynb").write_text(json.dumps(document))
        done = self.python(
            "-m", "jupyter", "nbconvert", "--to", "notebook", "--execute", "in.ipynb", "--output", "out.ipynb"
        )
        self.assertEqual(done.code, code, done)
        if code:
            return done.stderr
        texts, pages = [], []
        for cell in json.loads((self.folder / "out.ipynb").read_text())["cells"]:
            outputs = cell["outputs"]
            data = [output.get("data", {}) for output in outputs]
            streams = [output["text"] for output in outputs if output["output_type"] == "stream"]
            texts.append("".join("".join(text) for text in streams))
            pages.append("".join("".join(d.get("text/html", "")) for d in data))
        return texts, pages

    def ask(self, database, sql):
        result = self.run_program("query", database, sql, "--format", "json")
        self.assertEqual(result.code, 0, result)
        return [tuple(row.values()) for row in json.loads(result.stdout)["rows"]]


class Notebooks(NotebookCase):
    def test_record_change_and_diff_name_lines_of_cells(self):
        changed = STEP.replace("jnp.tanh(h)", "jnp.tanh(jnp.sort(h, axis=-1))")
        texts, pages = self.execute(
            SETUP, STEP, "%%xlatrace base.db" + LOOP, changed, "%%xlatrace new.db" + LOOP,
            "%xlatrace diff", "%xlatrace report base.db", "%xlatrace summary --by source",
        )  # fmt: skip
        # Both recordings and the report are pages in a frame; the cells' own output stays.
        for number in (2, 4, 6):
            self.assertIn("<iframe", pages[number])
            self.assertIn("xlatrace report 1", pages[number])
        self.assertGreater(float(texts[2]), 0)
        # The third line of each cell's function, by the number of the cell.
        lines = {line for (line,) in self.ask("base.db", "SELECT DISTINCT source_file||':'||source_line FROM op_time")}
        self.assertIn("cell [2]:2", lines)
        self.assertFalse([line for line in lines if line and "ipykernel" in line])
        ((sort,),) = [self.ask("new.db", "SELECT source_file||':'||source_line FROM op_time WHERE category = 'sort'")[0]]
        self.assertEqual(sort, "cell [4]:3")
        self.assertIn("cell [4]:3", texts[5])
        self.assertIn("cell [4]:3", texts[7])
        # The line of the magic itself is no code of the user; the loop below it is.
        self.assertRegex(texts[7], r"(?m)^cell \[5\]:4 ")
        self.assertNotRegex(texts[7], r"(?m)^cell \[5\]:1 ")

    def test_lines_below_the_magic_keep_their_numbers(self):
        cell = "%%xlatrace run.db\nf = jax.jit(lambda x:\n    jnp.sort(x))\nfor _ in range(5): f(jnp.arange(99.)).block_until_ready()"
        self.execute(SETUP, cell)
        ((line,),) = self.ask("run.db", "SELECT DISTINCT source_file||':'||source_line FROM op_time WHERE category = 'sort'")
        self.assertEqual(line, "cell [2]:3")

    def test_failed_cell_fails_the_notebook_and_keeps_the_recording(self):
        errors = self.execute(
            SETUP, STEP, "%%xlatrace run.db" + LOOP + "\nraise KeyError('planted')", code=1
        )
        self.assertIn("run.db", errors)
        self.assertGreater(self.ask("run.db", "SELECT count(*) FROM activity")[0][0], 0)

    def test_errors_of_magics_are_messages_without_a_traceback(self):
        (self.folder / "run.db").write_text("mine")
        (self.folder / "cells.py").write_text(textwrap.dedent("""
            from IPython.core.interactiveshell import InteractiveShell
            shell = InteractiveShell.instance()
            shell.run_cell("%load_ext xlatrace")
            for cell in ("%%xlatrace run.db\\npass", "%%xlatrace a.db b.db\\npass", "%xlatrace diff", "%xlatrace summary --by source"):
                print("CELL", shell.run_cell(cell).error_in_exec is not None)
        """))
        done = self.python("cells.py")
        results = done.stdout.split("CELL")
        for text, word in zip(results, ("run.db --force", "a.db b.db", "needs 2 recordings", "needs 1 recording")):
            self.assertIn("xlatrace: ", text)
            self.assertIn(word, text)
            self.assertNotIn("Traceback", text)
        self.assertEqual([text.split()[0] for text in results[1:]], ["True"] * 4, done)
        self.assertEqual((self.folder / "run.db").read_text(), "mine")

    def test_page_in_the_frame_follows_its_links(self):
        browser = os.environ.get("XLATRACE_TEST_PYTHON_BROWSER")
        if not browser or not browser_cases.chromium_path():
            self.skipTest("XLATRACE_TEST_PYTHON_BROWSER is not set, or no chromium")
        _, pages = self.execute(SETUP, STEP, "%%xlatrace run.db" + LOOP)
        (self.folder / "page.html").write_text("<!doctype html><title>notebook</title>" + pages[2])
        script = f"""
            from playwright.sync_api import sync_playwright
            errors = []
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path={browser_cases.chromium_path()!r}, args=["--no-sandbox"])
                page = browser.new_page()
                page.on("pageerror", lambda error: errors.append(str(error)))
                page.goto("file://{self.folder}/page.html")
                frame = page.query_selector("iframe").content_frame()
                frame.wait_for_selector("a[href^='#/ops']", state="attached")
                frame.evaluate("document.querySelector(\\"a[href^='#/ops']\\").click()")
                frame.wait_for_function("location.hash.startsWith('#/ops')")
                blocked = frame.evaluate("try {{ parent.document.title }} catch (e) {{ e.name }}")
                print(errors, blocked)
                browser.close()
        """
        path = self.folder / "browse.py"
        path.write_text(textwrap.dedent(script))
        done = support.run_command([browser, path], env=support.environment())
        self.assertEqual(done.stdout.strip(), "[] SecurityError", done)


class Record(NotebookCase):
    def script(self, text, **options):
        path = self.folder / "script.py"
        path.write_text(textwrap.dedent(text))
        return self.python(path, **options)

    def test_block_of_a_program_is_recorded(self):
        done = self.script(
            "import jax, jax.numpy as jnp, xlatrace\n" + STEP
            + "w = step(jnp.ones((64, 64)), jnp.ones((8, 64)))\n"
            + "with xlatrace.record('run.db') as recording:\n"
            + "    for _ in range(7): w = step(w, jnp.ones((8, 64)))\n"
            + "print(recording.run.modules()['name'])\n"
        )  # fmt: skip
        self.assertEqual(done.code, 0, done)
        rows = self.ask("run.db", "SELECT count(DISTINCT execution_id) FROM execution JOIN module USING (module_id) WHERE name = 'jit_step'")
        self.assertEqual(rows, [(7,)])

    def test_exception_in_the_block_keeps_the_recording(self):
        done = self.script(
            "import jax.numpy as jnp, xlatrace\n"
            "with xlatrace.record('run.db'):\n"
            "    (jnp.ones(300) + 1).block_until_ready()\n"
            "    raise KeyError('planted')\n"
        )
        self.assertEqual(done.code, 1)
        self.assertIn("KeyError: 'planted'", done.stderr)
        self.assertGreater(self.ask("run.db", "SELECT count(*) FROM activity")[0][0], 0)

    def test_mistakes_are_clear_errors(self):
        done = self.script("""
            import os, pathlib, xlatrace
            def refused(word, **options):
                try:
                    with xlatrace.record(**options): print("recorded")
                except xlatrace.XlatraceError as error:
                    print("refused" if word in str(error) else error)
            refused("import jax")
            import jax, jax.numpy as jnp
            pathlib.Path("run.db").write_text("mine")
            refused("force=True")
            refused("nowhere", path="nowhere/run.db")
            with xlatrace.record(force=True):
                jnp.ones(3).block_until_ready()
                refused("run.db", path="other.db")
            jax.profiler.start_trace("mine")
            refused("profiler", path="other.db")
            jax.profiler.stop_trace()
            assert not os.path.exists("other.db")
        """)
        self.assertEqual(done.stdout.split(), ["refused"] * 5, done)
        self.assertGreater(self.ask("run.db", "SELECT count(*) FROM run_info")[0][0], 0)

    def test_tensorflow_is_recorded_by_its_profiler(self):
        if not support.PYTHON_TF:
            self.skipTest("XLATRACE_TEST_PYTHON_TF is not set")
        done = self.script("""
            import tensorflow as tf, xlatrace
            @tf.function(jit_compile=True)
            def step(x): return tf.tanh(x @ x)
            x = step(tf.ones((64, 64)))
            with xlatrace.record("run.db") as recording:
                for _ in range(5): x = step(x)
            print(len(recording.run.activities(["start_ns"])))
        """, interpreter=support.PYTHON_TF)  # fmt: skip
        self.assertEqual(done.code, 0, done)
        self.assertGreaterEqual(int(done.stdout.split()[-1]), 5)

    def test_block_inside_of_a_recorded_program_has_its_own_run(self):
        (self.folder / "script.py").write_text(
            "import jax.numpy as jnp, xlatrace\n"
            "x = jnp.ones((64, 64)) @ jnp.ones((64, 64))\n"
            "with xlatrace.record('block.db'): (x @ x).block_until_ready()\n"
            "(x + x).block_until_ready()\n"
        )
        done = support.run_command(
            [support.PROGRAM, "record", "-o", "all.db", "--", PYTHON, "script.py"],
            cwd=self.folder,
            env=support.environment(
                PYTHONPATH=str(package_folder()), XLATRACE_BIN=support.PROGRAM, JAX_PLATFORMS="cpu"
            ),
        )
        self.assertEqual(done.code, 0, done)
        for database in ("block.db", "all.db"):
            self.assertGreater(self.ask(database, "SELECT count(*) FROM activity")[0][0], 0)


class RecordOnGpu(gpu_support.GpuTestCase):
    def test_run_of_a_block_has_what_the_collector_has_recorded(self):
        done = self.preloaded(
            "# python\nimport sys\nfrom tiny_gpu import *\n"
            f"sys.path.append({str(package_folder())!r})\nimport xlatrace\n"
            "start(); launch('early', 3); sync()\n"
            "with xlatrace.record('block.db') as recording:\n"
            "    launch('late', 4); sync()\n"
            "launch('after', 5); sync()\n"
            "names = recording.run.view('launch', ['kernel_symbol'])['kernel_symbol']\n"
            "print(names.count('late'), names.count('after'))\n",
            XLATRACE_BIN=support.PROGRAM,
        )
        self.assertEqual((done.code, done.stdout), (0, "4 0\n"), done)
        # The recording of the whole process goes on.
        rows = gpu_support.rows_of(self.fold(), "SELECT kernel_symbol FROM launch")
        self.assertEqual(sorted(row["kernel_symbol"] for row in rows), ["after"] * 5 + ["early"] * 3 + ["late"] * 4)
