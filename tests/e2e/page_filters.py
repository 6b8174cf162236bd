# SPDX-License-Identifier: Apache-2.0
"""Sums, units, devices, steps and folded rows under a filter, and the whole that its shares are of."""

import collections
import re
import unittest

from playwright.sync_api import expect

from page_browser import words_of
from page_clear import KINETO, Captures
from support import only_long


class Filtered(Captures):
    def test_shares_under_a_device_filter_are_of_that_device(self):
        page = self.page(self.maxtext(), "#/ops")
        for device in range(4):
            self.visit(page, f"#/ops?f=dev:{device}")
            self.check_whole(page, f"dev:{device}")
            self.visit(page, f"#/ops?f=dev:{device}+phase:backward")
            expect(page.get_by_test_id("filter-sum")).to_contain_text(f"dev:{device}")
            ns = float(page.get_by_test_id("filter-sum").get_attribute("data-ns"))
            said = float(re.search(r"([\d.]+)%", page.get_by_test_id("filter-sum").inner_text())[1])
            whole = "SELECT sum(self_ns) FROM activity JOIN step USING (device_id, step) JOIN device USING (device_id) WHERE typical"
            (all_ns,) = self.ask(self.maxtext(), f"{whole} AND ordinal = {device}")[0]
            self.assertAlmostEqual(said, 100 * ns / all_ns, delta=0.06)
        sums = page.get_by_test_id("filter-sum")
        self.assert_golden_words(sums)
        self.visit(page, "#/verdict?f=step:2")
        self.check_whole(page, "step:2", "verdict-filter")

    def check_whole(self, page, term, place="filter-sum"):
        """The sum is 100 % of what the term leaves."""
        expect(page.get_by_test_id(place)).to_contain_text(re.compile(rf"\b100%.* {re.escape(term)}"))

    def test_time_filter_applies_to_the_sum_of_folded_rows(self):
        run = self.maxtext()
        page = self.page(run, "#/ops")
        ops = [op for op in self.data(run).rows("ops") if op["instruction"]]
        ns = dict(self.ask(run, "SELECT handle, steady_ns FROM op_time WHERE handle IS NOT NULL"))
        (steps,), (whole,) = self.ask(run, "SELECT count(*) FROM step WHERE typical UNION ALL SELECT sum(steady_ns) FROM op_time")
        rows = collections.defaultdict(list)
        for op in ops:
            rows[op["handle"] if op["copies"] is None else op["copies"]].append(op)
        for term, keeps in (
            ("ms>2", lambda ns, calls: ns / steps > 2e6), ("-ms>2", lambda ns, calls: ns / steps <= 2e6),
            ("pct>0.5", lambda ns, calls: ns > 0.005 * whole), ("calls>5", lambda ns, calls: calls / steps > 5),
        ):
            kept = {"fold": 0, "all": 0}
            for row in rows.values():
                sums = [(ns[op["handle"]], op["calls"]) for op in row]
                kept["fold"] += sum(part for part, _ in sums) * keeps(*map(sum, zip(*sums)))
                kept["all"] += sum(part for part, calls in sums if keeps(part, calls))
            self.assertNotEqual(kept["fold"], kept["all"], term)
            for how, sum_ns in kept.items():
                self.visit(page, f"#/ops?f={term}&copies={how}")
                self.expect_ns(page.get_by_test_id("filter-sum"), sum_ns)
        self.visit(page, "#/ops?f=ms>2")
        expect(page.get_by_test_id("op-o34")).to_contain_text("×8")

    def test_pages_without_filter_are_marked_while_one_is_set(self):
        page = self.page(self.maxtext(), "#/idle")
        for name in ("idle", "ranks", "memory"):
            cap = page.get_by_test_id(f"page-{name}").locator(".bar-h .cap").first
            self.visit(page, f"#/{name}?f=phase:bwd")
            filtered = words_of(cap.inner_text())
            self.visit(page, f"#/{name}")
            self.assert_golden_text(f"{filtered}\n---\n{words_of(cap.inner_text())}")

    def test_unit_may_be_separated_by_a_space(self):
        page = self.page(self.maxtext(), "#/ops?f=dur>50us")
        ns = page.get_by_test_id("filter-sum").get_attribute("data-ns")
        self.visit(page, "#/ops?f=dur>50+us")
        expect(page.get_by_test_id("filter-chip")).to_have_text(["dur>50 us×"])
        self.expect_ns(page.get_by_test_id("filter-sum"), ns)
        page.get_by_test_id("filter-chip").click()
        expect(page.get_by_test_id("filter-chip")).to_have_count(0)
        self.assert_golden_words(page.get_by_test_id("filter-sum"))

    def test_contradicting_terms_get_a_suggestion_that_joins_them(self):
        page = self.page(self.maxtext(), "#/ops?f=phase:bwd+phase:fwd")
        notes = page.get_by_test_id("filter-notes")
        expect(notes).to_contain_text("phase:bwd,fwd")
        self.assert_golden_words(notes)
        self.visit(page, "#/ops?f=phase:bwd,fwd")
        expect(notes).to_have_count(0)
        self.visit(page, "#/ops?f=src:%22my")
        self.assert_golden_words(notes)

    @only_long
    def test_example_filter_matches_rows(self):
        for run, term in ((self.maxtext(), "phase:bwd scope:"), (self.imported(KINETO), "cutlass dur>"), (self.imported("nsys/mfu_2gpu_after.sqlite"), "flash dur>50us")):
            page = self.page(run, "#/ops")
            search = page.get_by_test_id("search")
            example = search.get_attribute("placeholder")
            self.assertIn(term, example)
            page.get_by_test_id("help").click()
            expect(page.get_by_test_id("help-dialog")).to_contain_text(example)
            page.keyboard.press("Escape")
            search.fill(example)
            search.press("Enter")
            expect(page.get_by_test_id("filter-sum")).to_contain_text("%")
            self.assertGreater(self.ns(page.get_by_test_id("filter-sum")), 0)
            expect(page.get_by_test_id("filter-notes")).to_have_count(0)

    @only_long
    def test_a_device_is_found_in_every_spelling(self):
        page = self.page(self.maxtext(), "#/ops?f=dev:1")
        shown = page.get_by_test_id("filter-sum")
        self.check_whole(page, "dev:1")
        ns = shown.get_attribute("data-ns")
        for value in ("GPU1", '"GPU 1"', "gpu1"):
            self.visit(page, f"#/ops?f=dev:{value}")
            self.check_whole(page, f"dev:{value}")
            expect(shown).to_have_attribute("data-ns", ns)
            expect(page.get_by_test_id("filter-notes")).to_have_count(0)
        self.visit(page, "#/ops?f=dev:7")
        self.expect_ns(shown, 0)
        expect(page.get_by_test_id("filter-notes")).to_contain_text("0, 1, 2, 3")
        self.assert_golden_words(shown, page.get_by_test_id("filter-notes"))

    def test_rejected_term_makes_no_chip(self):
        page = self.page(self.maxtext(), "#/ops?f=step:two")
        expect(page.get_by_test_id("filter-chip")).to_have_count(0)
        self.assert_golden_words(page.get_by_test_id("filter-notes"), page.get_by_test_id("filter-sum"))

    def test_label_of_a_chip_works_as_filter(self):
        page = self.page(self.maxtext(), "#/ops?f=kind:collective")
        ns = page.get_by_test_id("filter-sum").get_attribute("data-ns")
        self.visit(page, "#/ops?f=phase:collective")
        chip = page.get_by_test_id("phase-collective")
        expect(chip).to_have_attribute("aria-pressed", "true")
        expect(page.get_by_test_id("filter-sum")).to_have_attribute("data-ns", ns)
        chip.click()
        whole = self.ask(self.maxtext(), "SELECT sum(steady_ns) FROM op_time")[0][0]
        self.expect_ns(page.get_by_test_id("filter-sum"), whole)

    def test_slash_and_enter_keep_the_present_filter(self):
        page = self.page(self.maxtext(), "#/ops")
        search = page.get_by_test_id("search")
        page.keyboard.press("/")
        search.press_sequentially("token_embedder")
        for keys in (("Enter",), ("/", "Enter"), ("/", "Enter")):
            for key in keys:
                page.keyboard.press(key)
            expect(search).to_have_value("token_embedder")
            expect(page).to_have_url(re.compile("f=token_embedder$"))
            expect(search).to_be_focused()

    @only_long
    def test_filter_can_be_edited_after_enter(self):
        page = self.page(self.maxtext(), "#/ops")
        search = page.get_by_test_id("search")
        page.keyboard.press("/")
        search.press_sequentially("phase:bw")
        page.keyboard.press("Enter")
        # Letters that are keys of the page elsewhere.
        page.keyboard.press("Backspace")
        page.keyboard.press("Backspace")
        page.keyboard.type("forward -gemm")
        page.keyboard.press("Enter")
        expect(search).to_have_value("phase:forward -gemm")
        expect(page).to_have_url(re.compile(r"#/ops\?f=phase(?::|%3A)forward(?:\+|%20)-gemm$"))
        # Further on "/" is a letter; Escape leaves, and keys are those of the page again.
        page.keyboard.type(" mlp/dot")
        expect(search).to_have_value("phase:forward -gemm mlp/dot")
        page.keyboard.press("Escape")
        expect(search).not_to_be_focused()
        page.keyboard.press("2")
        page.get_by_test_id("page-model").wait_for()
        # A suggestion is still accepted by arrow and Enter, and the focus stays.
        page.keyboard.press("/")
        search.fill("phase:forw")
        page.get_by_test_id("completions").wait_for()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(search).to_have_value("phase:forward")
        expect(search).to_be_focused()

    @only_long
    def test_timeline_opens_the_step_of_the_filter(self):
        page = self.page(self.maxtext(), "#/ops?f=step:2")
        title = page.locator("#p-timeline h2").first
        page.get_by_test_id("tab-timeline").click()
        expect(title).to_have_text("Step 2")
        self.visit(page, "#/timeline?f=step:3-4")
        expect(title).to_have_text("Step 3")
        page.get_by_test_id("step-1").click()
        expect(title).to_have_text("Step 1")


if __name__ == "__main__":
    unittest.main()
