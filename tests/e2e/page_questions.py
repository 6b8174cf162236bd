# SPDX-License-Identifier: Apache-2.0
"""Five questions of a person in front of the page, answered by clicks alone and compared with SQL over the
launches: what costs most, which line is it, why idle, what changed, which rank. Run by
test_page_questions.py; with XLATRACE_QUESTIONS=FILE the answers are written there as a table."""

import contextlib
import os
import pathlib
import shutil
import tarfile
import tempfile
import unittest

from playwright.sync_api import sync_playwright

import page_ranks
import support
from page_browser import CHROMIUM, PATIENCE_MS, READY
from page_figures import in_ms, same

PAX = "captures/nsys-jax-pax-fsdp4-a100"
# name: what is imported, the base's name or none
CAPTURES = {
    "maxtext-h100": ("captures/nsys-jax-maxtext-fsdp4-h100", None),
    "pax1-a100": (f"{PAX}/proc1.zip", "pax0-a100"),
    "pax-job": (("pax0-a100", "pax1-a100"), None),
    "jax-mi300x": ("xplane/jax_conv_minimal.xplane.pb", None),
    "jax-mi300x-gemm": ("xplane/jax08_gemm.xplane.pb", None),
    "jax-tpu-v6e": ("xplane/tpu_v6e_jit_f_4chips.xplane.pb", None),
    "jax-cpu": ("own/jax-cpu/train-20steps-notracer-py.xplane.pb.xz", None),
    "tensorflow-cpu": ("own/tf-cpu/tf-2.21.0-xplane.tar.xz", None),
    "nsys-h100": ("nsys/h100_2gpu_1s.sqlite", None),
    "nsys-after": ("nsys/mfu_2gpu_after.sqlite", "nsys-before"),
    "kineto-rank0": ("kineto/hta_sampled_rank0.json.gz", None),
}
BASES = {"pax0-a100": f"{PAX}/proc0", "nsys-before": "nsys/mfu_2gpu_before.sqlite"}
# What of a launch or a gap lies in a steady step; all of it where there is no such step.
LAUNCHES = "activity a LEFT JOIN step s ON s.device_id = a.device_id AND s.step = a.step"
CAUSES = {
    "unknown": "not known",
    "host": "the host is late",
    "launch_bound": "the host launches too slowly",
    "copy": "a copy is waited for",
    "synchronisation": "the host had waited for the device",
}


class Questions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.require_program()
        if not CHROMIUM:
            raise unittest.SkipTest("no chromium")
        support.require_data("nsys")
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-questions-"))
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        playwright = sync_playwright().start()
        cls.addClassCleanup(playwright.stop)
        cls.browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--disable-gpu", "--no-sandbox"], timeout=PATIENCE_MS
        )
        cls.addClassCleanup(cls.browser.close)
        cls.table = []
        cls.addClassCleanup(cls.write)

    @classmethod
    def write(cls):
        if os.environ.get("XLATRACE_QUESTIONS"):
            heads = ("capture", "what costs most", "which line", "why idle", "what changed", "which rank")
            lines = [heads, ["---"] * len(heads), *cls.table]
            text = "".join("| " + " | ".join(cells) + " |\n" for cells in lines)
            pathlib.Path(os.environ["XLATRACE_QUESTIONS"]).write_text(text, encoding="utf-8")

    def run_db(self, name):
        path = self.work / f"{name}.db"
        if path.exists():
            return path
        source = CAPTURES[name][0] if name in CAPTURES else BASES[name]
        if isinstance(source, tuple):
            self.call("merge", *(self.run_db(each) for each in source), "-o", path)
            return path
        source = support.require_data(source)
        if str(source).endswith(".tar.xz"):
            with tarfile.open(source) as archive:
                archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Not in 3.11.2.
                archive.extractall(self.work / name)
            (source,) = (self.work / name).rglob("fit_tfm")
        self.call("import", source, "-o", path)
        return path

    def call(self, *arguments):
        result = support.run(*arguments, cwd=self.work)
        self.assertEqual(result.code, 0, result)

    def test_every_capture(self):
        for name, (_, base) in CAPTURES.items():
            with self.subTest(name):
                self.ask(name, base)

    def ask(self, name, base):
        path = self.run_db(name)
        self.call("report", path, *(("--base", self.run_db(base)) if base else ()))
        with contextlib.closing(support.open_database(path)) as db:
            self.db = db
            self.steps = self.one("SELECT count(*) FROM step WHERE steady")
            context = self.browser.new_context(viewport={"width": 1440, "height": 900})
            context.set_default_timeout(PATIENCE_MS)
            with contextlib.closing(context):
                self.page = context.new_page()
                self.page.goto(path.with_suffix(".html").as_uri())
                self.page.wait_for_selector(READY)
                self.table.append(
                    [name, self.costs(), self.line(), self.idle(), self.changed(base), self.rank()]
                )

    def one(self, sql):
        return self.db.execute(sql).fetchone()[0]

    def tab(self, name):
        """One click; False where the run has no such page."""
        tab = self.page.get_by_test_id(f"tab-{name}")
        if tab.count() == 0:
            return False
        tab.click()
        self.page.wait_for_selector(f'[data-testid="page-{name}"]')
        return True

    def test_in_a_window_of_400_pixels_the_time_of_an_op_is_in_sight(self):
        path = self.run_db("maxtext-h100")
        self.call("report", path)
        with contextlib.closing(self.browser.new_context(viewport={"width": 400, "height": 800})) as context:
            page = context.new_page()
            page.set_default_timeout(PATIENCE_MS)
            page.goto(path.with_suffix(".html").as_uri())
            page.wait_for_selector(READY)
            for name, row in (("ops", '[data-testid="op-o1"]'), ("idle", '[data-testid="cause-unknown"]')):
                page.get_by_test_id(f"tab-{name}").click()
                # Tables take their width as they are measured.
                page.wait_for_function(
                    "(s) => document.querySelector(s + ' td.num')?.getBoundingClientRect().right <= 400",
                    arg=row,
                )
            # Why the device is idle is read without scrolling aside: both tables fit.
            page.wait_for_function(
                "() => [...document.querySelectorAll('.idlegrid table')].every((t) => t.getBoundingClientRect().right <= 400)"
            )

    def per_step(self, ns):
        return ns / 1e6 / max(1, self.steps)

    def costs(self):
        """No click: the sentence, and what to do first, with the saving that run.db has."""
        (title, per_step, per_run) = self.db.execute(
            "SELECT title, saves_high_ns_per_step, saves_high_ns_per_run FROM finding ORDER BY rank LIMIT 1"
        ).fetchone()
        first = self.page.locator(".acts > li").first.inner_text()
        self.assertIn(title.replace(" us", " µs"), first)
        saves = per_step if per_step is not None else per_run
        if saves is None:
            self.assertIn("\nno figure\n", first)
            return f"{self.page.get_by_test_id('verdict-sentence').inner_text()} → {title} (0)"
        self.assertRegex(first, r"\n(≤ )?[\d.,]+")
        shown = [line.removeprefix("≤ ") for line in first.splitlines()]
        self.assertTrue(any(line[:1].isdigit() and same(in_ms(f"{line} ms"), saves / 1e6) for line in shown[1:]), (shown, saves))
        return f"{self.page.get_by_test_id('verdict-sentence').inner_text()} → {title} (0)"

    def line(self):
        """Ops, its first instruction, its drawer: the largest by launches, and its file and line."""
        where = "WHERE s.steady" if self.steps else ""
        row = self.db.execute(
            f"SELECT a.instruction, a.source_file, a.source_line, sum(a.self_ns) AS ns FROM {LAUNCHES} {where}"
            f" {'AND' if where else 'WHERE'} a.instruction IS NOT NULL GROUP BY a.module_id, a.instruction"
            " ORDER BY ns DESC LIMIT 1"
        ).fetchone()
        self.assertTrue(self.tab("ops"))
        if row is None:
            self.assertEqual(self.page.locator('[data-testid^="op-o"]').count(), 0)
            return "absent: no kernel has an instruction (1)"
        instruction, file, number, ns = row
        clicks = 2
        fold = self.page.get_by_label("fold copies")
        if fold.count():
            fold.click()
            clicks += 1
        first = self.page.locator('[data-testid^="op-o"]').first
        first.locator("td").nth(1).click()
        drawer = self.page.locator('[data-testid="inspector-title"]')
        self.assertEqual(drawer.inner_text(), instruction)
        shown = self.page.get_by_test_id("op-ms").locator("b").first.inner_text()
        self.assertTrue(same(in_ms(shown), self.per_step(ns)), (shown, ns))
        if not file:
            return f"{instruction}: absent, no line is recorded ({clicks})"
        said = f"{pathlib.PurePosixPath(file).name}:{number}"
        chips = self.page.locator("aside .srcl").all_inner_texts()
        self.assertIn(said, [chip.replace("\n", "") for chip in chips])
        # A frame of the framework is no place in the model, and looks like none.
        library = "-packages/" in file
        self.assertEqual(self.page.locator("aside .srcl.lib").count() > 0, library)
        return f"{instruction}: {said}{', a line of a library' if library else ''} ({clicks})"

    def idle(self):
        where = (
            "JOIN step s ON s.device_id = g.device_id AND g.start_ns >= s.start_ns"
            " AND g.end_ns <= s.end_ns WHERE s.steady" if self.steps else ""
        )  # fmt: skip
        row = self.db.execute(
            "SELECT g.cause, sum(g.end_ns - g.start_ns) AS ns, max(g.end_ns - g.start_ns) FROM gap g"
            f" {where} GROUP BY g.cause ORDER BY ns DESC LIMIT 1"
        ).fetchone()
        self.assertTrue(self.tab("idle"))
        cause, ns, longest = row
        self.assertIn(cause, CAUSES)
        first = self.page.get_by_test_id(f"cause-{cause}")
        self.assertIn(CAUSES[cause], first.inner_text())
        # Gaps that cross the end of a step belong to it with a part: 1 % of tolerance.
        self.assertAlmostEqual(int(first.get_attribute("data-ns")), ns, delta=max(0.01 * ns, 2000))
        self.assertIn(f"{longest / 1e3:.3g}" if longest < 1e6 else f"{longest / 1e6:.3g}"[:1], first.inner_text())
        sentence = self.page.get_by_test_id("page-idle").locator("p").first.inner_text()
        self.assertIn(CAUSES[cause] if "is not known" not in sentence else "not known", sentence)
        # Where a finding is about the gaps of unknown cause, it is named beside them.
        about = self.page.get_by_test_id("cause-unknown").locator("a.h") if cause == "unknown" else None
        if about and about.count():
            title = self.one(f"SELECT title FROM finding WHERE handle = '{about.first.inner_text()}'")
            self.assertIn(title, sentence)
        return f"{sentence.rstrip('.')} (1)"

    def changed(self, base):
        if not base:
            # The tab is dim, and says what to type.
            self.assertEqual(self.page.get_by_test_id("tab-compare").get_attribute("class"), "off")
            self.assertTrue(self.tab("compare"))
            self.assertIn("--base BASE.db", self.page.get_by_test_id("page-compare").inner_text())
            return "-"
        self.assertTrue(self.tab("compare"))
        said = self.page.get_by_test_id("compare-verdict").inner_text()
        sql = (
            "SELECT avg(end_ns - start_ns) FROM step WHERE steady" if self.steps
            else "SELECT sum(self_ns) FROM activity WHERE kind <> 'range'"
        )  # fmt: skip
        with contextlib.closing(support.open_database(self.run_db(base))) as db:
            then = db.execute(sql).fetchone()[0]
        # Device time of whole recordings says how much was done: it stands below what is slower.
        place = "compare-verdict" if self.steps else "compare-noise"
        times = self.page.get_by_test_id(place).inner_text()
        self.assertIn(f"{then / 1e6:.3g} ms → {self.one(sql) / 1e6:.3g} ms", times)
        return f"{said.split(':')[0]} (1)"

    def rank(self):
        """Who is waited for or computes longest, or that it cannot be told; no page where there is one device."""
        devices = self.one("SELECT count(DISTINCT device_id) FROM activity")
        self.assertEqual(self.tab("ranks"), devices > 1)
        if devices < 2:
            return "one device"
        said = self.page.get_by_test_id("rank-sentence").inner_text()
        rows = self.page.locator('[data-testid="page-ranks"] tr[data-ns]').all()
        if self.one("SELECT count(*) FROM rank"):
            return f"{said} (1)"  # A merged job's answer is run.db's (page_ranks.py).
        parts = "p.part NOT IN ('idle', 'exposed_collective', 'exposed_copy')"
        coupled = self.one("SELECT count(*) FROM step_part WHERE part = 'exposed_collective' AND wall_ns > 0")
        wanted = page_ranks.own_times(self.db) if self.steps and coupled else self.db.execute(
            "SELECT d.ordinal, sum(p.wall_ns) * 1.0 / count(DISTINCT s.step) AS ns FROM step_part p JOIN step s"
            f" USING (device_id, step) JOIN device d USING (device_id) WHERE s.steady AND {parts}"
            " GROUP BY d.device_id ORDER BY ns DESC" if self.steps else
            "SELECT d.ordinal, b.compute_ns FROM busy_time b JOIN device d USING (device_id)"
            " ORDER BY b.compute_ns DESC"
        ).fetchall()  # fmt: skip
        self.assertEqual(len(rows), len(wanted))
        for row, (ordinal, ns) in zip(rows, wanted):
            self.assertAlmostEqual(int(row.get_attribute("data-ns")), ns, delta=1)
            self.assertRegex(row.inner_text(), rf"\w+ {ordinal}\b")
        if "Everyone waits" in said:
            self.assertIn(f" {wanted[0][0]}: it needs ", said)
        elif " longe" in said:  # "computes longest", "computes 11.5 ms longer", or waits longer.
            self.assertRegex(said, rf"^\w+ {wanted[0][0]} (computes|spends)")
        return f"{said} (1)"


if __name__ == "__main__":
    unittest.main()
