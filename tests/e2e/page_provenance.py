# SPDX-License-Identifier: Apache-2.0
"""Where an op came from, in a real browser. Run by test_page_provenance.py."""

import json
import unittest

import pass_dumps
import support
from page_browser import Browser

HOSTILE = "<img src=x onerror=alert(1)>\u202e"


class Provenance(Browser):
    """The page of setUpClass is without a dump; `told` has one."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (module,) = cls.work.glob("module_*after_optimizations*.txt")
        cls.handle, cls.fusion = cls.db.execute(
            "SELECT handle, instruction FROM op_time WHERE instruction LIKE 'loop_select_fusion%'"
            " ORDER BY steady_ns DESC LIMIT 1"
        ).fetchone()
        cls.names = pass_dumps.write(cls.work / "dump", module, cls.fusion)
        cls.told = cls.page("told.html", cls.work / "dump")

    @classmethod
    def page(cls, name, dump):
        result = support.run("report", cls.database, "--modules", dump, "-o", cls.work / name, cwd=cls.work)
        assert result.code == 0, result
        return (cls.work / name).as_uri()

    def drawer(self, url, handle, **options):
        page = self.open(f"#/ops?sel={handle}", url=url, **options)
        said = page.get_by_test_id("inspector").get_by_test_id("provenance")
        said.wait_for()
        return page, said

    def test_the_passes_are_told_in_order_with_what_it_was_before(self):
        _, said = self.drawer(self.told, self.handle)
        single, was = self.names
        events = said.get_by_test_id("pass-event")
        kinds = [events.nth(i).get_attribute("data-event") for i in range(events.count())]
        self.assertEqual(kinds, ["made", "renamed", "origins"])
        made = events.nth(0).inner_text()
        for part in ("priority-fusion", "dump 1", f"{was} was made of {single}", "model.py"):
            self.assertIn(part, made)
        self.assertIn(f"{was} was renamed {self.fusion}", events.nth(1).inner_text())
        self.assertIn("rename_fusions", events.nth(1).inner_text())
        self.assertIn("1 operation of before_optimizations", events.nth(2).inner_text())

    def test_the_terminal_says_the_same(self):
        _, said = self.drawer(self.told, self.handle)
        result = support.run("show", self.handle, self.database, "--modules", self.work / "dump", "--format", "json")
        self.assertEqual(result.code, 0, result)
        sentences = [event["sentence"] for event in json.loads(result.stdout)["provenance"]["events"]]
        self.assertEqual(len(sentences), 2)
        shown = said.inner_text()
        for sentence in sentences:
            self.assertIn(sentence, shown)

    def test_without_a_dump_one_line_says_what_puts_it_there(self):
        _, said = self.drawer(self.url, self.handle)
        self.assertIn("--xla_dump_hlo_pass_re=.*", said.inner_text())
        self.assertIn("xlatrace report run.db --modules dump", said.inner_text())
        self.assertEqual(said.get_by_test_id("pass-event").count(), 0)

    def test_an_op_beyond_the_costly_ones_has_its_command(self):
        self.assertGreater(self.sql("SELECT count(*) FROM op_time WHERE handle IS NOT NULL"), 60)
        page, said = self.drawer(self.told, "o60")
        self.assertIn("xlatrace show o60 run.db --modules", said.inner_text())
        self.assertIn("50 ops", said.inner_text())

    def test_names_of_dump_files_are_text(self):
        (module,) = self.work.glob("module_*after_optimizations*.txt")
        pass_dumps.write(self.work / "hostile", module, self.fusion, extra=HOSTILE)
        page, said = self.drawer(self.page("hostile_passes.html", self.work / "hostile"), self.handle)
        self.assertIn("onerror=alert(1)", said.inner_text())
        self.assertNotIn("\u202e", said.inner_text())
        self.assertEqual(page.evaluate("() => document.querySelectorAll('#xlatrace-app img').length"), 0)

    def test_a_narrow_window_is_not_widened(self):
        page, _ = self.drawer(self.told, self.handle)
        page.set_viewport_size({"width": 400, "height": 900})
        self.wait_for_width(page, 400)
        page.wait_for_function(
            "() => { const e = document.querySelector('[data-testid=\"inspector\"]'); return e.scrollWidth <= e.clientWidth; }"
        )


class HiddenPages(Browser):
    def test_the_run_page_and_the_palette_say_of_each_page_without_content_why(self):
        page = self.open("#/run")
        page.get_by_test_id("page-run").wait_for()
        tabs = page.evaluate("() => [...document.querySelectorAll('[role=tab]:not(.off)')].map((t) => t.dataset.testid.slice(4))")
        hidden = {"idle", "ranks", "memory", "compare"} - set(tabs)
        self.assertIn("compare", hidden)
        for name in ("idle", "ranks", "memory", "compare"):
            line = page.get_by_test_id(f"hidden-{name}")
            self.assertEqual(line.count(), 1 if name in hidden else 0, name)
        self.assertIn("xlatrace report run.db --base", page.get_by_test_id("hidden-compare").inner_text())
        for name in hidden:
            why = page.get_by_test_id(f"hidden-{name}").inner_text().split(":")[0].strip()
            page.keyboard.press("Control+k")
            page.get_by_test_id("palette").locator("input").fill(name)
            first = page.get_by_test_id("palette").locator("li").first.inner_text()
            self.assertTrue(first.startswith("page") and why[:40] in first, (why, first))
            page.keyboard.press("Escape")


if __name__ == "__main__":
    unittest.main()
