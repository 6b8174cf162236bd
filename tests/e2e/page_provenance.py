# SPDX-License-Identifier: Apache-2.0
"""Where an op came from, in a real browser."""

import json
import unittest

import kept_runs
import pass_dumps
import support
from page_browser import Browser

HOSTILE = "<img src=x onerror=alert(1)>\u202e"


class Provenance(Browser):
    """The page of the base class is without a dump; `told` has one."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.handle, cls.fusion = cls.db.execute(
            "SELECT handle, instruction FROM op_time WHERE instruction LIKE 'loop_select_fusion%'"
            " ORDER BY steady_ns DESC LIMIT 1"
        ).fetchone()
        folder = kept_runs.made("passes", kept_runs.hash_of([pass_dumps.__file__, __file__], [cls.database.parent.name]), cls.make)
        cls.dump, cls.told = folder / "dump", (folder / "told.html").as_uri()

    @classmethod
    def make(cls, folder):
        cls.write(folder / "dump", folder / "told.html")

    @classmethod
    def write(cls, dump, page, **options):
        """A page with the passes of `dump`."""
        (module,) = cls.database.parent.glob("module_*after_optimizations*.txt")
        pass_dumps.write(dump, module, cls.fusion, **options)
        result = support.run("report", cls.database, "--modules", dump.name, "-o", page, cwd=dump.parent)
        assert result.code == 0, result

    def drawer(self, url, handle, **options):
        page = self.open(f"#/ops?sel={handle}", url=url, **options)
        said = page.get_by_test_id("inspector").get_by_test_id("provenance")
        said.wait_for()
        return page, said

    def test_passes_are_listed_in_order_with_the_earlier_names(self):
        _, said = self.drawer(self.told, self.handle)
        events = said.get_by_test_id("pass-event")
        kinds = [events.nth(i).get_attribute("data-event") for i in range(events.count())]
        self.assertEqual(kinds, ["made", "renamed", "origins"])
        made, renamed, origins = (event.inner_text() for event in events.all())
        for part in (pass_dumps.BEFORE, "1", pass_dumps.WAS, pass_dumps.SINGLE, "model.py"):
            self.assertIn(part, made)
        for part in ("rename_fusions", pass_dumps.WAS, self.fusion):
            self.assertIn(part, renamed)
        for part in ("1", "before_optimizations"):
            self.assertIn(part, origins)
        self.assert_golden_words(*events.all())

    def test_terminal_has_the_sentences_of_the_page(self):
        _, said = self.drawer(self.told, self.handle)
        result = support.run("show", self.handle, self.database, "--modules", self.dump, "--format", "json")
        self.assertEqual(result.code, 0, result)
        sentences = [event["sentence"] for event in json.loads(result.stdout)["provenance"]["events"]]
        self.assertEqual(len(sentences), 2)
        shown = said.inner_text()
        for sentence in sentences:
            self.assertIn(sentence, shown)

    def test_without_a_dump_one_line_has_the_command_for_one(self):
        _, said = self.drawer(self.url, self.handle)
        self.assertIn("--xla_dump_hlo_pass_re=.*", said.inner_text())
        self.assertEqual(said.get_by_test_id("pass-event").count(), 0)
        self.assert_golden_words(said)

    def test_op_without_stored_passes_has_its_command(self):
        self.assertGreater(self.sql("SELECT count(*) FROM op_time WHERE handle IS NOT NULL"), 60)
        page, said = self.drawer(self.told, "o60")
        self.assertIn("show o60 run.db", said.inner_text())
        self.assertIn("50", said.inner_text())
        self.assert_golden_words(said)

    def test_names_of_dump_files_are_text(self):
        hostile = self.folder / "hostile.html"
        self.write(self.folder / "dump", hostile, extra=HOSTILE)
        page, said = self.drawer(hostile.as_uri(), self.handle)
        self.assertIn("onerror=alert(1)", said.inner_text())
        self.assertNotIn("\u202e", said.inner_text())
        self.assertEqual(page.evaluate("() => document.querySelectorAll('#xlatrace-app img').length"), 0)

    @support.only_long
    def test_passes_fit_a_narrow_window(self):
        page, _ = self.drawer(self.told, self.handle)
        page.set_viewport_size({"width": 400, "height": 900})
        self.wait_for_width(page, 400)
        page.wait_for_function(
            "() => { const e = document.querySelector('[data-testid=\"inspector\"]'); return e.scrollWidth <= e.clientWidth; }"
        )


class HiddenPages(Browser):
    @support.only_long
    def test_run_page_and_palette_explain_hidden_pages(self):
        page = self.open("#/run")
        page.get_by_test_id("page-run").wait_for()
        tabs = page.evaluate("() => [...document.querySelectorAll('[role=tab]:not(.off)')].map((t) => t.dataset.testid.slice(4))")
        hidden = {"idle", "ranks", "memory", "compare"} - set(tabs)
        self.assertIn("compare", hidden)
        for name in ("idle", "ranks", "memory", "compare"):
            line = page.get_by_test_id(f"hidden-{name}")
            self.assertEqual(line.count(), 1 if name in hidden else 0, name)
        self.assert_golden_words(page.get_by_test_id("hidden-compare"))
        for name in hidden:
            why = page.get_by_test_id(f"hidden-{name}").inner_text().split(":")[0].strip()
            page.keyboard.press("Control+k")
            page.get_by_test_id("palette").locator("input").fill(name)
            first = page.get_by_test_id("palette").locator("li").first.inner_text()
            self.assertTrue(first.startswith("page") and why[:40] in first, (why, first))
            page.keyboard.press("Escape")


if __name__ == "__main__":
    unittest.main()
