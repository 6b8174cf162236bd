# SPDX-License-Identifier: Apache-2.0
"""Pages of runs without HLO: what is there instead of instructions, layers and lines, what is not known
and why, words that find host ranges."""

import collections
import re
import unittest
import urllib.parse

from playwright.sync_api import expect

from figure_places import times_in
from page_browser import definition
from page_clear import B200, KINETO, MI300, Captures, figure
from support import LONG, only_long


class Bare(Captures):
    def test_pages_of_instructions_lead_to_the_ranges_that_launched_kernels(self):
        run = self.imported(KINETO)
        page = self.page(run, "#/source")
        (steps,) = self.ask(run, "SELECT count(*) FROM step WHERE typical")[0]
        for name in ("source", "graph", "roofline", "model"):
            self.visit(page, f"#/{name}")
            shown = page.get_by_test_id(f"page-{name}")
            by_python = {"source": r"\.py\(\d+\): \w+", "model": r"^BertAttention_\* > "}.get(name)
            self.assertEqual(shown.get_by_test_id("instead").count(), 0 if by_python else 1)
            self.assert_golden_words(shown.locator(".bar-h").first if by_python else shown.get_by_test_id("instead").locator(".."))
            first = shown.get_by_test_id("place").first
            self.assertRegex(first.inner_text(), by_python or r"aten::")
            # The ranges of steady steps hold at most the device time, and each row is of some of it.
            sums = [float(ns) for ns in shown.get_by_test_id("place").evaluate_all("(all) => all.map((e) => e.dataset.ns)")]
            (device,) = self.ask(run, "SELECT sum(self_ns) FROM activity JOIN step USING (device_id, step) WHERE typical")[0]
            self.assertEqual(steps, 1)
            self.assertAlmostEqual(sum(sums), device, delta=0.05 * device)
            if not by_python:
                shown.get_by_test_id("instead").get_by_role("link").first.click()
                expect(page.get_by_test_id("ops-view").locator("button.on")).to_have_text("kernel")
        self.visit(page, "#/source")
        page.get_by_test_id("place").first.click(position={"x": 4, "y": 8})
        expect(page.get_by_test_id("inspector").get_by_test_id("launched-in")).to_contain_text("aten::")

    # Launches and copies, each with what the page calls its kernel.
    LAUNCHES = (
        "(SELECT kernel_symbol AS kernel, kernel_name AS name, self_ns, step, device_id, registers_per_thread AS regs FROM launch"
        " UNION ALL SELECT name, name, self_ns, step, device_id, NULL FROM activity WHERE kind NOT IN ('kernel', 'graph'))"
    )

    def filtered(self, run, page, term, having):
        """Launches that the term leaves, after all views of them were looked at; `having`: the term in SQL."""
        steady = "WHERE (step, device_id) IN (SELECT step, device_id FROM step WHERE typical)"
        (steps,) = self.ask(run, "SELECT count(*) FROM step WHERE typical")[0]
        basis, per = (steady, steps) if steps else ("", 1)
        (whole,) = self.ask(run, f"SELECT sum(self_ns) FROM {self.LAUNCHES} {basis}")[0]
        kernels = f"SELECT kernel, avg(self_ns) AS dur, sum(self_ns) / 1e6 / {per} AS ms, count(*) * 1.0 / {per} AS calls, 100.0 * sum(self_ns) / {whole} AS pct FROM {self.LAUNCHES} {basis} GROUP BY kernel"
        rows = f"{self.LAUNCHES} JOIN ({kernels}) USING (kernel) {basis} {'AND' if basis else 'WHERE'} {having}"
        ns, calls, left = self.ask(run, f"SELECT sum(self_ns), count(*), count(DISTINCT kernel) FROM {rows}")[0]
        asked = term.replace(" ", "+")
        self.visit(page, f"#/ops?f={asked}")
        self.expect_ns(page.get_by_test_id("filter-sum"), ns)
        table = page.get_by_test_id("page-ops")
        expect(table.locator(".bar-h .cap").first).to_contain_text(re.compile(rf"^{left} kernels? "))
        expect(table.locator("tr[data-testid^=kernel-]")).to_have_count(left)
        shown = table.locator("tr[data-testid^=kernel-]").evaluate_all("(all) => all.map((e) => Number(e.dataset.ns))")
        self.assertEqual(sum(shown), ns, term)
        expect(page.get_by_test_id("filter-sum")).to_contain_text(f"{figure(ns / per)} ")
        if not steps:
            self.visit(page, f"#/ops?f={asked}&v=launch")
            expect(table.locator(".bar-h .cap").first).to_contain_text(re.compile(rf"^{calls:,} launches "))
        return calls

    def test_filter_applies_to_kernels_if_the_run_has_no_hlo(self):
        for run, cases in (
            (self.imported("nsys/mfu_2gpu_after.sqlite"), (
                ("flash", "name LIKE '%flash%'"), ("-flash", "name NOT LIKE '%flash%'"), ("regs>200", "regs > 200"),
                ("pct>10", "pct > 10"), ("ms>100", "ms > 100"), ("dur>100us", "dur > 1e5"), ("dur>1ms", "dur > 1e6"),
                ("calls>500", "calls > 500"), ("elementwise dur<50us", "name LIKE '%elementwise%' AND dur < 5e4"),
                ("flash dev:0", "name LIKE '%flash%' AND device_id = (SELECT device_id FROM device WHERE ordinal = 0)"),
            )),
            (self.imported(KINETO), (
                ("gemm", "kernel LIKE '%gemm%'"), ("-gemm", "kernel NOT LIKE '%gemm%'"), ("pct>5", "pct > 5"), ("ms>0.03", "ms > 0.03"),
                ("dur>9us", "dur > 9e3"), ("calls>=10", "calls >= 10"), ("regs<=32", "regs <= 32"),
            )),
        ):
            page = self.page(run, "#/ops")
            for term, having in cases if LONG else cases[:3]:
                self.assertGreater(self.filtered(run, page, term, having), 0, (run, term))
        self.visit(page, "#/ops?f=dur>1s")
        (low,), (high,) = (self.ask(run, f"SELECT avg(self_ns) AS dur FROM {self.LAUNCHES} GROUP BY kernel ORDER BY dur {order} LIMIT 1")[0] for order in ("", "DESC"))
        notes = page.get_by_test_id("filter-notes")
        asked, *ends = times_in(notes.inner_text())
        self.assertEqual(asked, 1e9)
        for end, wanted in zip(ends, (low, high), strict=True):
            self.assertAlmostEqual(end, wanted, delta=0.005 * wanted)
        self.assert_golden_words(notes)

    # Open frames on a thread of the host: ranges, and Python calls if they were recorded.
    HOST = (
        "(SELECT process_id, thread_id, text, start_ns, end_ns FROM range"
        " UNION ALL SELECT process_id, thread_id, text, start_ns, end_ns FROM python_call)"
    )

    def launched_under(self, run, word):
        """ns and number of the launches (of steady steps, where there are any) whose call lies in a range of its thread with the word."""
        steps = {tuple(row) for row in self.ask(run, "SELECT step, device_id FROM step WHERE typical")}
        ranges = collections.defaultdict(list)
        for process, thread, *span in self.ask(run, f"SELECT process_id, thread_id, start_ns, end_ns FROM {self.HOST} WHERE text LIKE '%{word}%'"):
            ranges[process, thread].append(span)
        calls = "SELECT c.process_id, c.thread_id, c.start_ns, self_ns, step, device_id FROM activity JOIN api_call c USING (api_call_id)"
        found = [
            ns for process, thread, at, ns, step, device in self.ask(run, calls)
            if (not steps or (step, device) in steps) and any(start <= at < end for start, end in ranges[process, thread])
        ]
        return sum(found), len(found)

    @only_long
    def test_filter_words_match_the_ranges_around_launches(self):
        for run, words, elsewhere in (
            (self.imported(B200), ("moe_forward", "aten::addmm", "all_reduce", "aten::copy_"), False),
            (self.imported("nsys/h100_2gpu_1s.sqlite"), ("aten::linear", "FSDP::pre_forward"), True),
            # One whose colon looks like that of a key, and one that is left out of the paths that are shown.
            (self.imported("kineto/hta_sampled_rank0.json.gz"), ("nccl:all_reduce", "## forward"), True),
        ):
            page = self.page(run, "#/ops")
            for word in words if LONG else words[:1]:
                ns, _ = self.launched_under(run, word)
                self.assertGreater(ns, 0, word)
                for term in (f'"{word}"', f'op:"{word}"', f'scope:"{word}"'):
                    self.visit(page, f"#/ops?f={urllib.parse.quote(term)}")
                    self.expect_ns(page.get_by_test_id("filter-sum"), ns)
                notes = page.get_by_test_id("filter-notes")
                expect(notes).to_have_count(int(elsewhere))
                self.visit(page, "#/ops?f=" + urllib.parse.quote(f'-"{word}"'))
                whole = self.ask(run, "SELECT sum(self_ns) FROM activity" + (" JOIN step USING (step, device_id) WHERE typical" if self.ask(run, "SELECT 1 FROM step WHERE typical") else ""))[0][0]
                self.expect_ns(page.get_by_test_id("filter-sum"), whole - ns)
        # As it is written: the word needs no quotes.
        self.visit(page, "#/ops?f=nccl:all_reduce")
        self.expect_ns(page.get_by_test_id("filter-sum"), self.launched_under(run, "nccl:all_reduce")[0])
        self.assert_golden_words(page.get_by_test_id("filter-notes"))
        expect(page.get_by_test_id("filter-chip")).to_contain_text("nccl:all_reduce")

    def test_occupancy_names_both_limiters_and_unknown_bounds(self):
        run = self.imported(B200)
        page = self.page(run, "#/occupancy")
        shown = page.get_by_test_id("page-occupancy")
        expect(shown.locator("p.note")).to_have_count(1)
        expect(shown.locator("p.note.good")).to_have_count(0)
        # Registers and shared memory hold it together: neither alone does.
        (limiter,) = self.ask(run, "SELECT occupancy_limiter FROM launch WHERE kernel_name LIKE 'bmm_MxE4m3%' LIMIT 1")[0]
        self.assertEqual(limiter, "registers, shared_memory")
        # A grid of four blocks on 148 multiprocessors of 16 each.
        small = shown.locator("tr", has_text="routingIndicesHistogramKernel")
        expect(small).to_contain_text("0.1%")
        both = shown.locator("tr", has_text="bmm_MxE4m3").first
        self.assert_golden_words(shown.locator("p.note"), both, page.get_by_test_id("occupancy-detail"), small)
        # One kind of its shared memory is recorded; the drawer and the table of kernels show it, too.
        (dynamic,) = self.ask(run, "SELECT shared_memory_dynamic_bytes FROM launch WHERE kernel_name LIKE 'bmm_MxE4m3%' LIMIT 1")[0]
        self.visit(page, "#/ops?sel=k1")
        kb = f"{dynamic / 1000:.0f}"
        expect(page.get_by_test_id("inspector").locator("table.mini-t tbody td").nth(3)).to_have_text(kb)
        expect(page.get_by_test_id("kernel-k1")).to_contain_text(kb)

    def test_amd_gpu_has_the_reason_for_missing_occupancy(self):
        page = self.page(self.imported(MI300), "#/occupancy")
        self.assert_golden_words(page.get_by_test_id("page-occupancy").locator("p.note"))
        expect(page.get_by_test_id("page-occupancy").locator("thead")).not_to_contain_text("smem")
        self.visit(page, "#/run")
        run = page.get_by_test_id("page-run")
        expect(run).to_contain_text("gfx942, 304 CUs")
        day = (r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "<date>")  # In the time zone of the machine.
        self.assert_golden_words(definition(run, "recorded"), definition(run, "HLO text"), masks=[day])

    def test_filter_keeps_actions_without_ops_by_their_subject(self):
        page = self.page(self.imported(B200), "#/verdict?f=kind:collective")
        kept = page.get_by_test_id("verdict-filter")
        actions = page.get_by_test_id("page-verdict").locator("li.act")
        expect(actions).to_have_count(1)
        # Idle time, which no filter narrows, is what f1 is about.
        ids = dict(self.ask(self.imported(B200), "SELECT handle, id FROM finding"))
        expect(page.get_by_test_id("finding-f2")).to_have_count(1)
        self.assertEqual(ids["f2"], "exposed_collective")
        self.assert_golden_words(kept)
        self.visit(page, "#/verdict?f=kind:copy")
        expect(actions).to_have_count(0)
        self.assert_golden_words(kept)

    def test_python_stacks_show_lines_and_modules(self):
        page = self.page(self.imported(KINETO), "#/source")
        source = page.get_by_test_id("page-source")
        self.assert_golden_words(source.locator(".bar-h").first)
        # By the trace: the vocabulary's projection is one launch of 41.28 us.
        expect(source.get_by_role("row").filter(has_text="modeling_bert.py(786): forward")).to_contain_text("0.041")
        self.visit(page, "#/model")
        expect(page.get_by_test_id("page-model")).to_contain_text("BertSdpaSelfAttention_* > Linear_*")

    def test_keys_of_empty_pages_show_why_they_are_empty(self):
        page = self.page(self.imported(B200), "#/ops")
        for key, name in (("o", "graph"), ("r", "roofline")):
            page.keyboard.press("j")
            expect(page.get_by_test_id("key-note")).to_have_count(0)
            page.keyboard.press(key)
            note = page.get_by_test_id("key-note")
            expect(note).to_contain_text(name)
            self.assert_golden_words(note)
            self.assertRegex(page.evaluate("() => location.hash"), "^#/ops")

    def test_launches_before_the_recording_have_their_own_place(self):
        run = self.imported("nsys/h100_2gpu_1s.sqlite")
        page = self.page(run, "#/ops?sel=k1")
        first = "SELECT device_id, stream_id, min(start_ns) AS first FROM activity WHERE api_call_id IS NOT NULL GROUP BY 1, 2"
        symbol = "SELECT kernel_symbol FROM launch WHERE kind = 'kernel' GROUP BY 1 ORDER BY sum(self_ns) DESC LIMIT 1"
        ((ns,),) = self.ask(run, f"SELECT sum(self_ns) FROM launch JOIN ({first}) USING (device_id, stream_id) WHERE api_call_id IS NULL AND start_ns < first AND kernel_symbol = ({symbol})")
        places = page.get_by_test_id("launched-in")
        expect(places.locator(f'li[data-ns="{ns}"]')).to_have_count(1)
        self.assert_golden_words(places)

    def test_largest_kernels_of_the_verdict_open_their_drawer(self):
        run = self.imported("nsys/h100_2gpu_1s.sqlite")
        page = self.page(run, "#/verdict")
        page.locator(".largest tbody tr").first.locator("td").last.click()
        expect(page.get_by_test_id("inspector-title")).to_have_text("MemcpyH2D")

    def test_run_with_one_step_has_one_step_button(self):
        page = self.page(self.imported(KINETO), "#/timeline")
        buttons = page.get_by_role("group", name="Range").get_by_role("button")
        expect(buttons).to_have_count(2)
        self.assert_golden_words(*buttons.all())
        expect(buttons.first).to_have_attribute("aria-pressed", "true")

    def test_gap_shows_the_position_of_the_host_in_the_step(self):
        run = self.imported(KINETO)
        page = self.page(run, "#/idle")
        # By hand, of the longest gap: of what covers most of it the last that began.
        start, end = self.ask(run, "SELECT start_ns, end_ns FROM gap ORDER BY end_ns - start_ns DESC LIMIT 1")[0]
        covered = f"min(end_ns, {end}) - max(start_ns, {start})"
        (text,) = self.ask(run, f"SELECT text FROM {self.HOST} WHERE 2 * ({covered}) > {end - start} ORDER BY start_ns DESC LIMIT 1")[0]
        host = page.get_by_test_id("gap-host")
        self.assertTrue(host.first.inner_text().startswith(text.rsplit("/")[-1]), (host.first.inner_text(), text))
        self.assertNotIn("ProfilerStep#6", [text.strip() for text in host.all_inner_texts()[:20]])


if __name__ == "__main__":
    unittest.main()
