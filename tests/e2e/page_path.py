# SPDX-License-Identifier: Apache-2.0
"""The critical path on the page, in a real browser."""

import re
import unittest

from page_browser import Browser, words_of
from support import only_long

DRAWN = """() => document.querySelector('[data-testid="timeline-canvas"]').toDataURL()"""


class CriticalPath(Browser):
    def note(self, page):
        note = page.get_by_test_id("path-note")
        note.wait_for()
        return note

    def test_critical_path_on_request_sums_to_the_step(self):
        page = self.open("#/timeline")
        page.get_by_test_id("timeline-selection").wait_for()
        self.assertEqual(page.get_by_test_id("path-note").count(), 0)
        before = page.evaluate(DRAWN)
        page.get_by_test_id("critical-path").click()
        # The step in sight is the median one; where it was replayed its parts fill it.
        step = int(re.search(r"Step (\d+)", page.get_by_test_id("page-timeline").locator("h2").first.inner_text())[1])
        wanted = self.sql(f"SELECT sum(end_ns - start_ns) FROM critical_path WHERE step = {step}")
        length = self.sql(f"SELECT end_ns - start_ns FROM step WHERE step = {step}")
        self.assertEqual(wanted, length)
        page.wait_for_function(
            "(n) => document.querySelector('[data-testid=\"path-note\"]')?.dataset.ns === n", arg=str(wanted)
        )
        self.assert_golden_words(self.note(page))
        page.wait_for_function(f"(n) => ({DRAWN})() !== n", arg=before)
        page.keyboard.press("c")
        page.get_by_test_id("path-note").wait_for(state="detached")
        page.wait_for_function(f"(n) => ({DRAWN})() === n", arg=before)

    @only_long
    def test_held_key_pans_until_it_is_released(self):
        page = self.open("#/timeline")
        page.get_by_test_id("timeline-selection").wait_for()
        begin, end = self.db.execute("SELECT start_ns, end_ns FROM step WHERE typical LIMIT 1").fetchone()
        page.evaluate("(h) => { location.hash = h; }", f"#/timeline?t={begin},{(begin + end) // 2}")
        page.keyboard.down("d")
        # No other key event comes: what is in sight changes with the frames all the same.
        page.evaluate(
            """() => new Promise((done) => {
              const seen = new Set();
              const look = () => {
                seen.add(document.querySelector('[data-testid="timeline-canvas"]').getAttribute('aria-label'));
                seen.size > 8 ? done() : requestAnimationFrame(look);
              };
              look();
            })"""
        )
        page.keyboard.up("d")

    def test_selection_shows_what_limits_it(self):
        begin, end = self.db.execute(
            "SELECT start_ns, end_ns FROM critical_path WHERE kind = 'kernel' ORDER BY end_ns - start_ns DESC"
        ).fetchone()
        page = self.open(f"#/timeline?a={begin},{end}&cp=1")
        page.wait_for_function(
            "(n) => document.querySelector('[data-testid=\"path-note\"]')?.dataset.ns === n", arg=str(end - begin)
        )
        self.assertRegex(self.note(page).inner_text(), r" [\d.]+ µs\.$")
        self.assert_golden_words(self.note(page))

    def test_op_has_its_share_of_the_critical_path(self):
        texts = []
        for order in ("critical_pct DESC, self_ns DESC", "critical_pct, self_ns DESC"):
            handle, part = self.db.execute(
                f"SELECT handle, critical_pct FROM op_time WHERE critical_pct IS NOT NULL ORDER BY {order}"
            ).fetchone()
            page = self.open(f"#/ops?sel={handle}")
            said = page.get_by_test_id("op-critical")
            said.wait_for()
            self.assertEqual(float(said.get_attribute("data-pct")), part)
            self.assertEqual("%" in said.inner_text(), part > 0)
            texts.append(words_of(said.inner_text()))
            self.assertIn(f"--op {handle}=0.5x", page.get_by_test_id("inspector").inner_text())
        self.assert_golden_text("\n---\n".join(texts))

    def test_step_time_without_all_findings_equals_run_db(self):
        step, together = self.db.execute("SELECT step_ns, all_findings_step_ns FROM replay").fetchone()
        said = self.open().get_by_test_id("together")
        # A single finding has the figure itself.
        if self.sql("SELECT count(*) FROM finding") < 2 or together is None or together >= step:
            self.assertEqual(said.count(), 0)
        else:
            self.assertEqual(self.ns(said), together)


if __name__ == "__main__":
    unittest.main()
