# SPDX-License-Identifier: Apache-2.0
"""Five questions about a run, answered by clicks alone and compared with SQL over the launches: largest cost,
its line, idle cause, change, and rank. With XLATRACE_QUESTIONS=FILE the results are written there as a
table, with XLATRACE_TEST_TIER=long for all captures."""

import contextlib
import os
import pathlib
import re
import unittest

import kept_runs
import page_ranks
import support
import tiers
from figure_places import in_ms, same
from page_clear import Captures
from page_figures import imported_part

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
# The part of a launch or a gap inside a steady step; all of it if there is no such step.
LAUNCHES = "activity a LEFT JOIN step s ON s.device_id = a.device_id AND s.step = a.step"
CAUSES = {"unknown", "host", "launch_bound", "copy", "synchronisation"}
# Each part of the page has one of these that has it: a GPU with a base run, a CPU, kernels without HLO, a job.
FIRST_TIER = {"pax1-a100", "nsys-after"}


class Questions(Captures):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
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
        source = CAPTURES[name][0] if name in CAPTURES else BASES[name]
        if isinstance(source, tuple):
            return kept_runs.merged_run("job", *map(self.run_db, source))
        if source.endswith(".tar.xz"):
            return imported_part(source, "fit_tfm")
        return self.imported(source)

    def ask_all(self, name):
        run, base = self.run_db(name), CAPTURES[name][1] and self.run_db(CAPTURES[name][1])
        with contextlib.closing(support.open_database(run)) as db:
            self.run_database = db
            self.steps = self.one("SELECT count(*) FROM step WHERE typical")
            self.shown = self.page(run, "", base)
            answers = [self.costs(), self.line(), self.idle(), self.changed(base), self.rank()]
            self.table.append([name, *answers])
            self.assert_golden_text("\n".join(answers))

    def one(self, sql):
        return self.run_database.execute(sql).fetchone()[0]

    def tab(self, name):
        """One click; False where the run has no such page."""
        tab = self.shown.get_by_test_id(f"tab-{name}")
        if tab.count() == 0:
            return False
        tab.click()
        self.shown.wait_for_selector(f'[data-testid="page-{name}"]')
        return True

    @support.only_long
    def test_time_columns_are_visible_in_a_window_of_400_pixels(self):
        page = self.page(self.maxtext(), "")
        page.set_viewport_size({"width": 400, "height": 800})
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
        (title, per_step, per_run) = self.run_database.execute(
            "SELECT title, saves_high_ns_per_step, saves_high_ns_per_run FROM finding ORDER BY rank LIMIT 1"
        ).fetchone()
        first = self.shown.locator(".acts > li").first.inner_text()
        self.assertIn(title.replace(" us", " µs"), first)
        saves = per_step if per_step is not None else per_run
        if saves is None:
            self.assertNotRegex(self.shown.locator(".acts > li .save").first.inner_text(), r"\d")
            return f"{self.shown.get_by_test_id('verdict-sentence').inner_text()} → {title} (0)"
        self.assertRegex(first, r"\n(≤ )?[\d.,]+")
        shown = self.shown.locator(".acts > li .save").first.inner_text().splitlines()[0].removeprefix("≤ ")
        figure = f"{shown} ms" if shown[-1].isdigit() else shown  # The heading has the unit, or the figure.
        self.assertTrue(same(in_ms(figure), saves / 1e6), (shown, saves))
        return f"{self.shown.get_by_test_id('verdict-sentence').inner_text()} → {title} (0)"

    def line(self):
        """Ops, its first instruction, its drawer: the largest by launches, and its file and line."""
        where = "WHERE s.typical" if self.steps else ""
        row = self.run_database.execute(
            f"SELECT a.instruction, a.source_file, a.source_line, sum(a.self_ns) AS ns FROM {LAUNCHES} {where}"
            f" {'AND' if where else 'WHERE'} a.instruction IS NOT NULL GROUP BY a.module_id, a.instruction"
            " ORDER BY ns DESC LIMIT 1"
        ).fetchone()
        self.assertTrue(self.tab("ops"))
        if row is None:
            self.assertEqual(self.shown.locator('[data-testid^="op-o"]').count(), 0)
            return "absent (1)"
        instruction, file, number, ns = row
        clicks = 2
        fold = self.shown.locator("#p-ops label.pick input")
        if fold.count():
            fold.click()
            clicks += 1
        first = self.shown.locator('[data-testid^="op-o"]').first
        first.locator("td").nth(1).click()
        drawer = self.shown.locator('[data-testid="inspector-title"]')
        self.assertEqual(drawer.inner_text(), instruction)
        shown = self.shown.get_by_test_id("op-ms").locator("b").first.inner_text()
        self.assertTrue(same(in_ms(shown), self.per_step(ns)), (shown, ns))
        if not file:
            return f"{instruction}: absent ({clicks})"
        said = f"{pathlib.PurePosixPath(file).name}:{number}"
        chips = self.shown.locator("aside .srcl").all_inner_texts()
        self.assertIn(said, [chip.replace("\n", "") for chip in chips])
        # A frame of the framework is no place in the model, and looks like none.
        library = "-packages/" in file
        self.assertEqual(self.shown.locator("aside .srcl.lib").count() > 0, library)
        return f"{instruction}: {said}{', of a library' if library else ''} ({clicks})"

    def idle(self):
        where = (
            "JOIN step s ON s.device_id = g.device_id AND g.start_ns >= s.start_ns"
            " AND g.end_ns <= s.end_ns WHERE s.typical" if self.steps else ""
        )  # fmt: skip
        row = self.run_database.execute(
            "SELECT g.cause, sum(g.end_ns - g.start_ns) AS ns, max(g.end_ns - g.start_ns) FROM gap g"
            f" {where} GROUP BY g.cause ORDER BY ns DESC LIMIT 1"
        ).fetchone()
        self.assertTrue(self.tab("idle"))
        cause, ns, longest = row
        self.assertIn(cause, CAUSES)
        first = self.shown.get_by_test_id(f"cause-{cause}")
        # Gaps that cross the end of a step belong to it with a part: 1 % of tolerance.
        self.assertAlmostEqual(int(first.get_attribute("data-ns")), ns, delta=max(0.01 * ns, 2000))
        self.assertIn(f"{longest / 1e3:.3g}" if longest < 1e6 else f"{longest / 1e6:.3g}"[:1], first.inner_text())
        sentence = self.shown.get_by_test_id("page-idle").locator("p").first.inner_text()
        words = first.locator("td").first.inner_text().split(" · ")[0].strip()
        # For an unknown cause the sentence has only the last words.
        self.assertIn(" ".join(words.split()[-2:]) if cause == "unknown" else words, sentence)
        # Where a finding is about the gaps of unknown cause, it is named beside them.
        about = self.shown.get_by_test_id("cause-unknown").locator("a.h") if cause == "unknown" else None
        if about and about.count():
            title = self.one(f"SELECT title FROM finding WHERE handle = '{about.first.inner_text()}'")
            self.assertIn(title, sentence)
        return f"{sentence.rstrip('.')} (1)"

    def changed(self, base):
        if not base:
            # The tab is dim, and shows the command to type.
            self.assertEqual(self.shown.get_by_test_id("tab-compare").get_attribute("class"), "off")
            self.assertTrue(self.tab("compare"))
            self.assertIn("--base", self.shown.get_by_test_id("page-compare").locator("code").inner_text())
            return "-"
        self.assertTrue(self.tab("compare"))
        said = self.shown.get_by_test_id("compare-verdict").inner_text()
        sql = (
            "SELECT per_step_ns FROM time_tree WHERE kind = 'steps' AND process_id IS NULL AND device_id IS NULL" if self.steps
            else "SELECT sum(self_ns) FROM activity WHERE kind <> 'range'"
        )  # fmt: skip
        with contextlib.closing(support.open_database(base)) as db:
            then = db.execute(sql).fetchone()[0]
        # Device time of whole recordings shows the amount of work: it is below the slower kernels.
        noise = self.shown.get_by_test_id("compare-noise")
        times = said if self.steps or not noise.count() else noise.inner_text()
        self.assertIn(f"{then / 1e6:.3g} ms → {self.one(sql) / 1e6:.3g} ms", times)
        return f"{said.split(':')[0]} (1)"

    def rank(self):
        """The device that others wait for or that computes longest, or a note that none can be named. A
        single device has no page."""
        devices = self.one("SELECT count(DISTINCT device_id) FROM activity")
        self.assertEqual(self.tab("ranks"), devices > 1)
        if devices < 2:
            return "one device"
        said = self.shown.get_by_test_id("rank-sentence").inner_text()
        rows = self.shown.locator('[data-testid="page-ranks"] tr[data-ns]').all()
        if self.one("SELECT count(*) FROM rank"):
            return f"{said} (1)"  # A merged job's answer is run.db's (page_ranks.py).
        parts = "p.part NOT IN ('idle', 'exposed_collective', 'exposed_copy')"
        coupled = self.one("SELECT count(*) FROM step_part WHERE part = 'exposed_collective' AND wall_ns > 0")
        wanted = page_ranks.own_times(self.run_database) if self.steps and coupled else self.run_database.execute(
            "SELECT d.ordinal, sum(p.wall_ns) * 1.0 / count(DISTINCT s.step) AS ns FROM step_part p JOIN step s"
            f" USING (device_id, step) JOIN device d USING (device_id) WHERE s.typical AND {parts}"
            " GROUP BY d.device_id ORDER BY ns DESC" if self.steps else
            "SELECT d.ordinal, b.compute_ns FROM busy_time b JOIN device d USING (device_id)"
            " ORDER BY b.compute_ns DESC"
        ).fetchall()  # fmt: skip
        self.assertEqual(len(rows), len(wanted))
        for row, (ordinal, ns) in zip(rows, wanted):
            self.assertAlmostEqual(int(row.get_attribute("data-ns")), ns, delta=1)
            self.assertRegex(row.inner_text(), rf"\w+ {ordinal}\b")
        # A sentence that names a device names first the one that all wait for, or that computes longest.
        named = re.findall(r"\b(?:GPU|TPU|device) (\d+)", said)
        self.assertEqual(named[:1], [str(wanted[0][0])][: len(named)], said)
        return f"{said} (1)"


def _add_captures():
    for name in CAPTURES:
        if tiers.IS_LONG or name in FIRST_TIER:
            test = f"test_answers_of_{name.replace('-', '_')}_equal_sql"
            setattr(Questions, test, lambda self, name=name: self.ask_all(name))


_add_captures()

if __name__ == "__main__":
    unittest.main()
