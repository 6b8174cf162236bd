# SPDX-License-Identifier: Apache-2.0
"""Order of rows, rows that open something, and figures that are the same on every page."""

import collections
import re
import statistics
import unittest

from playwright.sync_api import expect

from page_browser import words_of
from page_clear import KINETO, MI300, Captures, figure
from support import only_long

CPU = "own/jax-cpu/train-20steps-notracer-py.xplane.pb.xz"


class Compared(Captures):
    def test_kernel_with_longer_calls_is_the_first_row(self):
        now, base = self.pair()
        page = self.page(now, "#/compare", base)
        rows = page.get_by_test_id("compare-row")
        rows.first.wait_for()
        # By hand: the calls of a kernel that takes longer than before, times its calls.
        sql = "SELECT name, sum(self_ns), count(*) FROM activity JOIN step USING (device_id, step) WHERE typical AND name LIKE 'ncclDevKernel_SendRecv%'"
        (name, ns, calls), (_, then, before) = (self.ask(db, sql)[0] for db in (now, base))
        self.assertIn(name.split("(")[0], "".join(rows.first.inner_text().split()))
        self.assertIn(f"{ns / calls / (then / before):.2f}×", rows.first.inner_text())
        self.assert_golden_words(page.get_by_test_id("compare-verdict"), page.get_by_test_id("compare-noise"), page.get_by_test_id("compare-unit"))
        # Nothing is known of phases, layers and lines: a view of one row has no information.
        expect(page.get_by_test_id("compare-by").get_by_role("button")).to_have_text(["op", "kind", "kernel"])

    @only_long
    def test_comparison_of_different_devices_opens_by_kind(self):
        now, base = self.imported(MI300), self.imported(KINETO)
        page = self.page(now, "#/compare", base)
        buttons = page.get_by_test_id("compare-by").get_by_role("button")
        expect(buttons).to_have_text(["op", "kind", "kernel"])
        expect(page.get_by_test_id("compare-by").locator("button.on")).to_have_text("kind")
        self.assertGreater(page.get_by_test_id("compare-row").count(), 3)
        # Another is pressed, and none vanishes.
        buttons.last.click()
        expect(buttons).to_have_text(["op", "kind", "kernel"])
        names = page.get_by_test_id("compare-row").locator("td").first
        names.wait_for()
        said = [" ".join(row.inner_text().split()) for row in page.get_by_test_id("compare-row").all()]
        self.assertTrue(any("layer_norm" in text for text in said) and any("indexSelectLargeIndex" in text for text in said), said)
        self.assertFalse([text for text in said if re.search(r"native: ?: [\d.·]", text)])
        buttons.first.click()
        rows = page.get_by_test_id("compare-row")
        attention = rows.filter(has_text="attn_fwd")
        self.assert_golden_words(attention)
        gone = rows.filter(has_text="gone")
        self.assertGreater(gone.count(), 0)
        for row in gone.all():
            self.assertNotRegex(row.inner_text(), r"\b0%")
        # Base, new and the difference are in sight on a phone.
        page.set_viewport_size({"width": 400, "height": 800})
        for by in ("op_kind", "op"):
            self.visit(page, f"#/compare?by={by}")
            page.reload()
            rows.first.wait_for()
            heads = page.locator("table", has=rows.first).locator("thead th").all()
            for head in [h for h in heads if h.inner_text().split()[0:1] in (["base"], ["new"], ["Δ"]) and "call" not in h.inner_text()]:
                box = head.bounding_box()
                self.assertLessEqual(box["x"] + box["width"], 400, (by, head.inner_text()))

    def test_kinds_of_kernels_have_the_names_of_the_verdict(self):
        now, base = self.pair()
        page = self.page(now, "#/verdict", base)
        parts = page.locator("[data-testid^=part-]")
        named = {part.removeprefix("part-").replace(" ", "") for part in parts.evaluate_all("(all) => all.map((e) => e.dataset.testid)")}
        self.assertLess({"fusedattention", "matrixproducts", "copies"}, named)
        self.visit(page, "#/compare?by=op_kind")
        rows = page.get_by_test_id("compare-row")
        rows.first.wait_for()
        self.assertLessEqual({"".join(row.locator("td").first.inner_text().split()) for row in rows.all()}, named)

    @only_long
    def test_rows_that_look_like_buttons_open_a_drawer(self):
        now, base = self.pair()
        page = self.page(now, "#/compare", base)
        rows = page.get_by_test_id("compare-row")
        rows.first.wait_for()
        for i in range(rows.count()):
            if "act-row" not in rows.nth(i).get_attribute("class"):
                continue
            address = page.evaluate("() => location.hash")
            rows.nth(i).locator("td").nth(1).click()
            self.assertNotEqual(page.evaluate("() => location.hash"), address, rows.nth(i).inner_text())
        self.assertIn("act-row", rows.first.get_attribute("class"))


    @only_long
    def test_narrow_comparison_shows_its_first_columns(self):
        now, base = self.pair()
        page = self.page(now, "#/compare", base)
        page.set_viewport_size({"width": 400, "height": 900})
        page.reload()
        table = page.locator("table", has=page.get_by_test_id("compare-row").first)
        # The first columns are visible; other columns scroll sideways: number of calls, and reason.
        expect(table.locator("thead th")).to_have_text(["op", re.compile("^Δ, "), "base", "new", "Δ ms", "calls", "why"])
        expect(table.locator("th[aria-sort]")).to_have_text(re.compile("^Δ, "))
        head = table.locator("th[aria-sort]").bounding_box()
        self.assertLessEqual(head["x"] + head["width"], 400)
        self.assert_golden_words(page.get_by_test_id("compare-row").first)

    @only_long
    def test_long_texts_wrap_to_two_lines_in_small_windows(self):
        now, base = self.pair()
        page = self.page(now, "#/compare", base)
        page.set_viewport_size({"width": 1024, "height": 900})
        page.reload()
        cut = "(all) => all.filter((e) => e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1).length / all.length"
        why = page.get_by_test_id("compare-row").locator(".clamp")
        why.first.wait_for()
        self.assertLess(why.evaluate_all(cut), 0.2)
        # Rows of equal height: the drawn rows follow from the scroll position of the table.
        heights = page.get_by_test_id("compare-row").evaluate_all("(all) => all.map((e) => Math.round(e.getBoundingClientRect().height))")
        self.assertEqual(set(heights), {36})
        self.assertGreater(page.get_by_test_id("compare-row").first.locator(".nm").bounding_box()["width"], 60)
        self.visit(page, "#/idle")
        host = page.get_by_test_id("gap-host")
        host.first.wait_for()
        self.assertLess(host.evaluate_all(cut), 0.5)
        # A phone has them, and the step, under the cause.
        page.set_viewport_size({"width": 400, "height": 900})
        page.reload()
        expect(page.get_by_test_id("gap").first).to_contain_text("aten::addmm (cudaMemsetAsync 5.69 ms)")

    @only_long
    def test_kernels_of_one_template_differ_in_narrow_windows(self):
        now, _ = self.pair()
        page = self.page(now, "#/ops")
        page.set_viewport_size({"width": 400, "height": 900})
        names = page.locator("tr[data-testid^=kernel-] .nm")
        names.first.wait_for()
        tails = names.filter(has_text="vectorized_elementwise_kernel").locator(".tl").all_inner_texts()
        self.assertGreater(len(tails), 3)
        self.assertEqual(len(set(tails)), len(tails), tails)


class Escape(Captures):
    def test_escape_closes_the_menu_and_unpresses_align(self):
        page = self.page(self.maxtext(), "#/ops")
        menu = page.locator(".menu")
        for leave in (lambda: page.keyboard.press("Escape"), lambda: page.get_by_test_id("op-o34").click(position={"x": 200, "y": 8})):
            menu.locator("summary").click()
            expect(menu.locator(".pop")).to_be_visible()
            leave()
            expect(menu.locator(".pop")).to_be_hidden()
            self.assertNotIn("sel=", page.evaluate("() => location.hash"))
        page.get_by_test_id("op-o34").click(position={"x": 200, "y": 8})
        expect(page.get_by_test_id("inspector")).to_be_visible()
        page.keyboard.press("Escape")
        self.visit(page, "#/timeline")
        page.get_by_test_id("align").click()
        expect(page.get_by_test_id("align")).to_have_attribute("aria-pressed", "true")
        page.keyboard.press("Escape")
        expect(page.get_by_test_id("align")).to_have_attribute("aria-pressed", "false")
        (start, end) = self.ask(self.maxtext(), "SELECT min(start_ns), min(end_ns) FROM step WHERE typical")[0]
        self.visit(page, f"#/timeline?a={start},{end}")
        page.keyboard.press("Escape")
        page.wait_for_function("() => !/[?&]a=/.test(location.hash)")

    @only_long
    def test_escape_clears_the_filter_when_nothing_else_is_left(self):
        page = self.page(self.maxtext(), "#/ops?f=gemm&sel=o34")
        address = "() => location.hash"
        page.keyboard.press("Escape")
        self.assertEqual(page.evaluate(address), "#/ops?f=gemm")
        page.keyboard.press("Escape")
        self.assertEqual(page.evaluate(address), "#/ops")
        (start, end) = self.ask(self.maxtext(), "SELECT min(start_ns), min(end_ns) FROM step WHERE typical")[0]
        self.visit(page, f"#/timeline?a={start},{end}&f=gemm")
        page.keyboard.press("Escape")
        page.wait_for_function("() => location.hash === '#/timeline?f=gemm'")
        page.keyboard.press("Escape")
        page.wait_for_function("() => location.hash === '#/timeline'")

    def drawn(self, run, fragment):
        """A page of the run, and the texts that the canvas of its timeline draws at an address."""
        page = self.page(run, "#/run")
        page.evaluate(
            "() => { window.drawn = []; const old = CanvasRenderingContext2D.prototype.fillText;"
            " CanvasRenderingContext2D.prototype.fillText = function (text, ...more) { window.drawn.push(text); old.call(this, text, ...more); }; }"
        )
        self.visit(page, fragment)
        page.get_by_test_id("timeline-canvas").wait_for()
        page.wait_for_function("() => window.drawn.length > 20 && (window.was === window.drawn.length || !(window.was = window.drawn.length))", polling=100)
        return page, page.evaluate("() => window.drawn")

    def test_host_threads_can_be_read(self):
        run = self.imported("nsys/mfu_2gpu_after.sqlite")
        # The longest call, which the timeline must show.
        start, end, name = self.ask(run, "SELECT start_ns, end_ns, name FROM api_call ORDER BY end_ns - start_ns DESC LIMIT 1")[0]
        self.assertRegex(name, r"_v\d+$")
        plain = re.sub(r"_v\d+$", "", name)
        self.assertIn(plain, self.drawn(run, f"#/timeline?hosts=1&t={start},{end}")[1])
        page, said = self.drawn(run, "#/timeline?hosts=1")
        self.assertFalse([text for text in said if re.search(r"_v\d+$|…\d+$", text)])
        self.assertTrue([text for text in said if text.startswith(plain[:4]) and text.endswith("…")])
        # A thread has one row of calls, and one name for its rows of ranges above.
        for thread in (148, 149):
            times = said.count(f"python3 ({thread}), calls")
            self.assertGreater(times, 0)
            self.assertEqual(said.count(f"python3 ({thread}), ranges"), times)
        self.visit(page, f"#/timeline?hosts=1&t={start},{end}")
        box = page.get_by_test_id("timeline-canvas").bounding_box()
        for y in range(int(box["height"]) - 4, 20, -3):
            page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + y)
            if page.locator(".tip", has_text=name).count():
                break
        expect(page.locator(".tip")).to_contain_text(re.compile(rf"{name}\s+{(end - start) / 1e6:.3g}0* ms"))
        colour = page.get_by_test_id("timeline-canvas").evaluate(
            "(c, y) => [...c.getContext('2d').getImageData(c.width * 0.6, (y - 6) * c.height / c.clientHeight, 1, 1).data]", y
        )
        self.assertLess(max(colour[:3]), 225)

    @only_long
    def test_timeline_has_a_row_of_collectives_if_there_are_any(self):
        run = self.imported("xplane/tpu_v6e_jit_f_4chips.xplane.pb")
        self.assertEqual(tuple(self.ask(run, "SELECT count(*), count(step) FROM activity WHERE op_kind = 'collective'")[0]), (12, 0))
        self.assertNotIn("collectives", self.drawn(run, "#/timeline")[1])
        self.assertIn("collectives", self.drawn(self.maxtext(), "#/timeline")[1])

    def test_the_palette_lists_ops_before_kernels_by_time(self):
        page = self.page(self.maxtext(), "#/ops")
        for word, first in (("gemm", r"^op\s*o"), ("o1", r"^op\s*o1 "), ("verdict", "^page")):
            page.keyboard.press("Control+k")
            page.get_by_test_id("palette").locator("input").fill(word)
            hits = page.locator("#palette-list [role=option]")
            expect(hits.first).to_have_text(re.compile(first))
            if word == "gemm":
                handles = [int(re.search(r"\bo(\d+)", text)[1]) for text in hits.all_inner_texts()]
                self.assertEqual(handles, sorted(handles))
            page.keyboard.press("Escape")

    def test_roofline_and_ops_show_the_same_bound(self):
        run = self.maxtext()
        bound = dict(self.ask(run, "SELECT handle, bound_by FROM op_time WHERE handle IN ('o1', 'o34', 'o31')"))
        self.assertEqual(bound["o1"], "latency")
        page = self.page(run, "#/roofline")
        for handle, word in bound.items():
            expect(page.get_by_test_id(f"op-{handle}").locator("td").last).to_have_text(word)
        expect(page.get_by_test_id("page-roofline").locator("thead th").last).to_have_text("bound")

    @only_long
    def test_no_empty_note_is_drawn(self):
        page = self.page(self.imported("kineto/mi300_bert-small.json.gz"), "#/occupancy")
        page.get_by_test_id("page-occupancy").locator("h2").first.wait_for()
        self.assertNotIn("", page.locator("p.note").all_inner_texts())


class Idle(Captures):
    def test_idle_cause_has_the_time_of_its_finding(self):
        run = self.imported("xplane/jax08_gemm.xplane.pb")
        page = self.page(run, "#/idle")
        (claimed,) = self.ask(
            run, "SELECT json_extract(e.value, '$.value') FROM finding, json_each(finding.evidence) e WHERE json_extract(e.value, '$.cause') = 'host'"
        )[0]
        (idle,) = self.ask(run, "SELECT sum(end_ns - start_ns) FROM gap WHERE cause = 'host'")[0]
        self.assertLess(claimed, idle / 2)
        cell = page.get_by_test_id("cause-host").locator("td").last
        expect(cell).to_contain_text(f"{figure(claimed)} ")
        self.assert_golden_words(cell)

    def test_idle_page_explains_work_of_other_cpu_threads(self):
        run = self.imported(CPU)
        ((text,),) = self.ask(run, "SELECT text FROM ruled_out WHERE id = 'hidden_products' AND verdict = 'withheld'")
        page = self.page(run, "#/idle")
        expect(page.get_by_test_id("idle-why")).to_contain_text(text)
        self.visit(page, "#/verdict")
        expect(page.get_by_test_id("page-verdict")).to_contain_text(text)

    def test_each_idle_cause_is_explained(self):
        run = self.maxtext()
        page = self.page(run, "#/idle")
        inside = "g.start_ns BETWEEN s.start_ns AND s.end_ns - 1"
        causes = {cause for (cause,) in self.ask(run, f"SELECT DISTINCT cause FROM gap g JOIN step s USING (device_id) WHERE s.typical AND {inside}")}
        self.assertGreater(len(causes), 1)
        meanings = set()
        for cause in causes:
            # "" is in a title that was forgotten; ", 99.9% of that" was one.
            title = page.get_by_test_id(f"cause-{cause}").locator("td").first.locator("[title]").get_attribute("title")
            self.assertRegex(title, r"^[A-Z][^.]+\.$")
            meanings.add(title)
        self.assertEqual(len(meanings), len(causes))
        legend = page.get_by_test_id("causes")
        legend.locator("summary").click()
        for meaning in meanings:
            expect(legend).to_contain_text(meaning)
        self.assertIn(page.get_by_test_id("gap").first.locator("td").nth(3).locator("[title]").get_attribute("title"), meanings)


class Same(Captures):
    def test_work_without_a_phase_has_one_name(self):
        run = self.imported("xplane/jax08_gemm.xplane.pb")
        page = self.page(run, "#/ops?g=phase")
        name = words_of(page.get_by_test_id("phase-unknown").inner_text())
        self.assertNotIn("unknown", name)
        group = page.get_by_test_id("group").last
        expect(group).to_contain_text(name)
        self.assert_golden_words(group)
        self.visit(page, "#/timeline")
        expect(page.get_by_test_id("page-timeline")).not_to_contain_text("unknown")
        said = self.command("summary", "--by", "phase", run)
        self.assertRegex(said, rf"\n{name} +0\.060 +[\d.]+\n  \D+ 0\.060")
        self.assertNotIn("unknown", said)

    def test_bytes_of_a_call_equal_those_of_the_terminal(self):
        run = self.imported("xplane/jax08_gemm.xplane.pb")
        # The cost per run in the terminal: floating-point operations and bytes.
        moved = re.search(r"\b([\d.]+ MB) per\b", self.command("show", "o1", run))[1]
        page = self.page(run, "#/graph?sel=o1")
        expect(page.locator("#p-graph p", has_text=f" {moved}: ")).to_have_count(1)

    @only_long
    def test_instruction_in_several_programs_is_named_with_its_program(self):
        run = self.imported("xplane/jax08_gemm.xplane.pb")
        names = re.findall(r"(?m)^o\d+ +(jit_dot#\d+/custom-call\.1)", self.command("summary", run))
        self.assertGreater(len(names), 3)
        page = self.page(run, "#/verdict")
        for where in ("#/verdict", "#/ops"):
            self.visit(page, where)
            for name in names:
                self.assertEqual(page.get_by_title(name).or_(page.get_by_text(name, exact=True)).count() > 0, True, (where, name))

    @only_long
    def test_sums_of_a_step_equal_those_of_its_device(self):
        page = self.page(self.maxtext(), "#/timeline?step=1")
        for device in range(4):
            self.visit(page, f"#/timeline?step=1&d={device}")
            (count, ns), = self.ask(self.maxtext(), "SELECT count(*), sum(self_ns) FROM activity JOIN device USING (device_id)"
                                                  f" WHERE step = 1 AND ordinal = {device}")
            selection = page.get_by_test_id("timeline-selection")
            expect(selection).to_contain_text(f"GPU {device}")
            expect(selection.locator("tr").last).to_contain_text(f"{count:,}")
            self.assertAlmostEqual(float(selection.get_attribute("data-ns")), ns, delta=2)

    def test_phase_times_of_the_timeline_equal_other_pages(self):
        page = self.page(self.maxtext(), "#/timeline?step=1")
        of = "FROM phase_time JOIN device USING (device_id) WHERE step = 1 AND ordinal = 0"
        phases = dict(self.ask(self.maxtext(), f"SELECT phase, self_ns {of}"))
        selection = page.get_by_test_id("timeline-selection")
        selection.locator("tbody tr[data-key]").first.wait_for()
        shown = collections.Counter()
        # "collectives, forward" is a part of forward.
        for name, ns in selection.locator("tbody tr[data-key]").evaluate_all("(all) => all.map((e) => [e.dataset.key, Number(e.dataset.ns)])"):
            shown[name.split(", ")[-1]] += ns
        self.assertEqual(shown.keys(), phases.keys())
        for phase, ns in phases.items():
            self.assertAlmostEqual(shown[phase], ns, delta=2e-5 * ns + 20)  # Shares are kept in millionths.
        for phase in ("recompute", "backward"):
            self.visit(page, f"#/timeline?step=1&f=phase:{phase}")
            expect(selection.locator("tbody tr").first).to_contain_text(phase)
            self.assertAlmostEqual(float(selection.get_attribute("data-ns")), phases[phase], delta=2e-5 * phases[phase] + 20)

    def test_memory_sentence_has_the_bytes_that_xla_reserves(self):
        run = self.imported("xplane/tpu_v6e_jit_f_4chips.xplane.pb")
        page = self.page(run, "#/memory")
        # The first size of the note is what XLA reserves.
        basis, sentence = page.get_by_test_id("memory-basis"), page.get_by_test_id("memory-sentence")
        reserved = re.search(r"[\d.]+ GB", basis.inner_text())[0]
        expect(sentence).to_contain_text(f" {reserved}")
        self.assert_golden_words(sentence, basis)

    @only_long
    def test_gpu_has_the_same_name_on_every_page(self):
        page = self.page(self.imported("xplane/jax08_gemm.xplane.pb"), "#/roofline")
        expect(page.get_by_role("banner")).to_contain_text("MI300X")
        expect(page.locator("#p-roofline")).to_contain_text("MI300X")


    def test_collective_that_mostly_waits_has_no_roof(self):
        run = self.maxtext()
        (handle,) = self.ask(run, "SELECT handle FROM op_time WHERE bound_by = 'waiting' ORDER BY self_ns DESC LIMIT 1")[0]
        page = self.page(run, f"#/ops?sel={handle}&f=bound:waiting")
        drawer = page.get_by_test_id("inspector")
        expect(drawer).not_to_contain_text("NaN")
        self.assert_golden_words(*drawer.locator("p.sm.dim").all())
        self.expect_ns(page.get_by_test_id("filter-sum"), self.ask(run, "SELECT sum(steady_ns) FROM op_time WHERE bound_by = 'waiting'")[0][0])


class Starts(Captures):
    @only_long
    def test_source_and_graph_start_at_the_headline(self):
        run = self.imported("captures/nsys-jax-pax-fsdp4-a100/proc0")
        page = self.page(run, "#/verdict")
        file = re.search(r"\b(\w+\.py):\d+\)", page.get_by_test_id("page-verdict").inner_text())[1]
        self.visit(page, "#/source")
        files = page.get_by_label("Files")
        expect(files.locator("tr.on")).to_contain_text(file)
        # Most time is in a helper that all of the model calls.
        self.assertNotIn(file, files.locator("tbody tr").first.inner_text())
        # The path and its largest line are shown and can be opened.
        (path, line) = self.ask(run, "SELECT source_file, source_line FROM op_time WHERE source_line > 0 GROUP BY 1, 2 ORDER BY sum(steady_ns) DESC LIMIT 1")[0]
        largest = page.get_by_test_id("largest-line")
        expect(largest).to_contain_text(f"{path.rsplit('/', 1)[1]}:{line}, ")
        largest.get_by_role("link").click()
        expect(page.locator(".code .hot").first).to_have_attribute("data-key", str(line))
        expect(largest).to_have_count(0)
        (handles,) = self.ask(run, "SELECT evidence FROM finding ORDER BY rowid LIMIT 1")[0]
        self.visit(page, "#/graph")
        handle = page.locator("#p-graph h2").inner_text().split()[1]
        self.assertIn(f'"{handle}"', handles)

    def test_step_difference_is_of_the_device_with_least_waiting(self):
        run = self.maxtext()
        page = self.page(run, "#/verdict")
        # By hand: the fastest and the slowest step; in each the device with the least exposed collectives.
        steps = self.ask(run, "SELECT step, avg(end_ns - start_ns) FROM step WHERE steady GROUP BY step ORDER BY 2")
        (fast, least), (slow, most) = steps[0], steps[-1]
        parts = {}
        for step in (fast, slow):
            awaited = f"SELECT device_id FROM step_part WHERE step = {step} AND part = 'exposed_collective' ORDER BY wall_ns LIMIT 1"
            parts[step] = dict(self.ask(run, f"SELECT part, wall_ns FROM step_part WHERE step = {step} AND device_id = ({awaited})"))
        more = {part: ns - parts[fast][part] for part, ns in parts[slow].items()}
        part = max(more, key=more.get)
        self.assertEqual(part, "backward")
        differ = page.get_by_test_id("steps-differ")
        numbers = [str(slow), f"{(most - least) / 1e6:#.3g}", str(fast), f"{more[part] / 1e6:#.3g}"]
        self.assertEqual(re.findall(r"[\d.]*\d", differ.inner_text()), numbers)
        self.assertIn(part, differ.inner_text())
        self.assert_golden_words(differ)
        expect(page.locator(".side .steps i.p-backward")).to_have_count(len(steps))

    @only_long
    def test_ranks_of_half_a_group_show_the_group_size(self):
        page = self.page(self.imported("captures/nsys-jax-pax-fsdp4-a100"), "#/ranks")
        half = words_of(page.get_by_test_id("rank-cost").inner_text())
        self.assertRegex(half, r"\b4\b.*\b2\b")
        whole = self.page(self.maxtext(), "#/ranks").get_by_test_id("rank-cost")
        self.assert_golden_text(f"{half}\n---\n{words_of(whole.inner_text())}")

    def test_last_step_by_executions_is_left_out_of_the_difference(self):
        run = self.imported("captures/nsys-jax-pax-fsdp4-a100/proc0")
        page = self.page(run, "#/verdict")
        steps = self.ask(run, "SELECT step FROM step WHERE steady AND how = 'execution' GROUP BY step ORDER BY step")
        (last,) = steps[-1]
        self.assertIn(f" {last}", page.get_by_test_id("steps-differ").inner_text())
        self.assert_golden_words(page.get_by_test_id("steps-differ"))
        expect(page.locator(".side .steps .n")).to_have_text([str(step) for (step,) in steps[:-1]])

    def test_list_of_good_results_has_no_tasks(self):
        page = self.page(self.job(), "#/verdict")
        # An action that would gain little is quoted as such.
        quoted = page.locator(".side li").filter(has_text=re.compile('^\\s*"[A-Z]'))
        self.assertGreater(quoted.count(), 0)
        self.assert_golden_words(*quoted.all())

    def test_op_on_one_device_shows_its_time_and_the_mean(self):
        run = self.job()
        page = self.page(run, "#/ops")
        (handle, name, module), = self.ask(run, "SELECT handle, op, module_id FROM op_time WHERE op LIKE 'loop_convert_fusion%' ORDER BY steady_ns DESC LIMIT 1")
        of_it = f"FROM activity JOIN step USING (step, device_id) WHERE typical AND instruction = '{name}' AND module_id = {module}"
        (ns, calls, devices), = self.ask(run, f"SELECT sum(self_ns), count(*), count(DISTINCT device_id) {of_it}")
        (there,), = self.ask(run, f"SELECT count(*) FROM step WHERE typical AND device_id IN (SELECT device_id {of_it})")
        (steps,), = self.ask(run, "SELECT count(*) FROM step WHERE typical")
        self.assertEqual((devices, there * 2), (1, steps))
        self.visit(page, f"#/ops?sel={handle}")
        mean, on_one = page.get_by_test_id("op-ms"), page.get_by_test_id("op-ms-there")
        expect(mean.locator("b")).to_have_text(f"{figure(ns / steps)} ms")
        expect(on_one.locator("b")).to_have_text(f"{figure(ns / there)} ms")
        self.assertIn(str(calls // there), page.get_by_test_id("inspector").locator(".stat b").all_inner_texts())
        self.assert_golden_words(mean, on_one)
        # The frames lead to the line of the row, which is that of the largest part of the fusion.
        (file, line), = self.ask(run, f"SELECT source_file, source_line FROM op_time WHERE handle = '{handle}'")
        frames = page.get_by_test_id("inspector").locator(".stack li")
        expect(frames.first).to_have_text(re.compile(rf"^{re.escape(file.split('/')[-1])}:{line} "))
        self.visit(page, f"#/ops?copies=all&f=handle:{handle}")
        tag = page.get_by_test_id(f"op-{handle}").get_by_text("1 of 2 devices")
        self.assertIn(f" {figure(ns / there)} ms ", tag.get_attribute("title"))
        self.assert_golden_text(tag.get_attribute("title"))
        # The run's name has its place in a window of 1,024 pixels.
        page.set_viewport_size({"width": 1024, "height": 800})
        title = page.locator(".facts .trunc").first
        self.assertLessEqual(*title.evaluate("(e) => [e.scrollWidth, e.clientWidth]"))

    @only_long
    def test_names_at_source_lines_keep_80_pixels(self):
        page = self.page(self.imported("captures/nsys-jax-pax-fsdp4-a100/proc0"), "#/source")
        for width in (400, 1024, 1280, 1440, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            page.reload()
            page.locator(".code .nm").first.wait_for()
            for shown, whole in page.locator(".code .l:not(.wide) .nm").evaluate_all("(all) => all.slice(0, 20).map((e) => [e.clientWidth, e.title.length * 6.2])"):
                self.assertGreater(shown, min(80, 0.9 * whole), width)

    def test_terminal_and_page_show_the_same_step_quartiles(self):
        run = self.imported(CPU)
        times = sorted(ns for (ns,) in self.ask(run, "SELECT avg(end_ns - start_ns) FROM step WHERE steady GROUP BY step"))
        low, _, high = (f"{ns / 1e6:.3g}" for ns in statistics.quantiles(times, n=4, method="inclusive"))
        page = self.page(run, "#/verdict")
        expect(page.get_by_test_id("fact-step")).to_contain_text(re.compile(rf"half of {len(times)} steps.*: {low} to {high} ms"))
        self.assertIn(f"(half of {len(times)} steps: {low} to {high})", self.command("summary", run))
        page = self.page(self.maxtext(), "#/verdict")
        self.assert_golden_words(page.get_by_test_id("fact-step"), page.locator(".side ul.q"))

    def test_attributed_shares_of_steps_and_recording_are_shown(self):
        run = self.maxtext()
        ((of_all,),) = self.ask(run, "SELECT 100.0 * sum(self_ns * (confidence <> 'none')) / sum(self_ns) FROM activity")
        self.assertLess(of_all, 99)
        page = self.page(run, "#/run")
        def percentages(locator):
            return re.findall(r"[\d.]+(?=%)", locator.inner_text())

        badge = page.get_by_test_id("app").locator(".facts .badge").first
        self.assertEqual(percentages(badge), ["100", f"{of_all:.1f}"])
        self.assertIn(f"{of_all:.1f}", percentages(page.get_by_test_id("page-run")))
        both = words_of(badge.inner_text())
        self.visit(page, "#/verdict")
        self.assertEqual(percentages(page.get_by_test_id("fact-attributed"))[-1], f"{of_all:.1f}")
        # Where both are the same, one is enough.
        self.page(self.imported(CPU), "#/run")
        self.assertEqual(percentages(badge), ["100"])
        self.assert_golden_text(f"{both}\n---\n{words_of(badge.inner_text())}")

    def test_share_on_the_critical_path_is_of_the_device(self):
        page = self.page(self.maxtext(), "#/ops?sel=o1")
        critical = page.get_by_test_id("op-critical")
        (part,) = self.ask(self.maxtext(), "SELECT critical_pct FROM op_time WHERE handle = 'o1'")[0]
        self.assertEqual(float(critical.get_attribute("data-pct")), part)
        self.assert_golden_words(critical)

    @only_long
    def test_notes_of_graph_nodes_stay_within_the_node(self):
        page = self.page(self.maxtext(), "#/graph?sel=o1")
        notes = page.locator("[data-testid=graph-users], [data-testid=graph-ports]")
        notes.first.wait_for()
        self.assertGreater(notes.count(), 5)
        for name in ("graph-users", "graph-ports"):
            self.assertGreater(page.get_by_test_id(name).count(), 0)
        # Within the card, and over no other line of it.
        outside = "(all) => all.filter((e) => { const a = e.getBoundingClientRect(), b = e.parentNode.querySelector('rect').getBoundingClientRect(); return a.left < b.left || a.right > b.right || a.top < b.top || a.bottom > b.bottom; }).length"
        self.assertEqual(notes.evaluate_all(outside), 0)
        over = "(all) => all.filter((e) => { const a = e.getBoundingClientRect(); return [...e.parentNode.querySelectorAll(':scope > text')].some((o) => { const b = o.getBoundingClientRect(); return o !== e && a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom; }); }).length"
        self.assertEqual(notes.evaluate_all(over), 0)

    @only_long
    def test_confidence_of_an_action_is_shown_in_narrow_windows(self):
        page = self.page(self.maxtext(), "#/verdict")
        page.set_viewport_size({"width": 400, "height": 900})
        for action in page.get_by_test_id("page-verdict").locator(".act").all():
            saves, sure = (action.locator(c).first.bounding_box() for c in (".save", ".sure"))
            # Right below what it saves.
            self.assertLess(abs(sure["y"] - saves["y"] - saves["height"]), 24)

    @only_long
    def test_folded_graph_node_has_its_time_and_the_sum(self):
        run = self.imported("xplane/tpu_v6e_jit_f_4chips.xplane.pb")
        page = self.page(run, "#/graph")
        steady = "FROM activity JOIN step USING (device_id, step) WHERE typical AND name"
        node = page.get_by_test_id("graph-node-copy-done.3")
        (own,) = self.ask(run, f"SELECT avg(self_ns) {steady} = 'copy-done.3'")[0]
        # Three copies go to the host's memory, space 5. One of them has its own row, because it takes 175 ms
        # and the others no time.
        to_host = "activity.instruction IN (SELECT instruction FROM instruction WHERE shape LIKE '%S(5)%') AND activity.instruction != 'copy-done.5'"
        (together,) = self.ask(run, f"SELECT sum(self_ns) / count(DISTINCT device_id || '/' || step) {steady} LIKE 'copy-done%' AND {to_host}")[0]
        self.assertEqual(node.get_attribute("data-time"), f"{own:.0f} ns")
        expect(node).to_contain_text("×2 together")
        self.assertLess(together, 500)
        expect(node.get_by_test_id("graph-fold")).to_have_text("<0.001 ms")

    def test_recomputation_is_not_suggested_where_memory_is_free(self):
        page = self.page(self.maxtext(), "#/memory")
        frees = page.get_by_test_id("memory-frees")
        self.assert_golden_words(frees)
        link = frees.get_by_role("link", name=re.compile(r"^f\d+$"))
        (id,) = self.ask(self.maxtext(), f"SELECT id FROM finding WHERE handle = '{link.inner_text()}'")[0]
        self.assertEqual(id, "recompute")
        (title,) = self.ask(self.maxtext(), f"SELECT title FROM finding WHERE handle = '{link.inner_text()}'")[0]
        link.click()
        expect(page.get_by_test_id("inspector-title")).to_contain_text(title.split("(")[0].strip())

    @only_long
    def test_cut_tab_bar_shows_that_tabs_follow(self):
        page = self.page(self.maxtext(), "#/verdict")
        tabs = page.get_by_role("tablist")
        expect(tabs).not_to_have_class(re.compile("more"))
        page.set_viewport_size({"width": 400, "height": 800})
        expect(tabs).to_have_class(re.compile("more"))
        # The last one is not under the fade, nor is any that was opened.
        for name in ("source", "compare"):
            self.visit(page, f"#/{name}")
            edge = tabs.evaluate("(e) => e.getBoundingClientRect().right - e.querySelector('[aria-selected=true]').getBoundingClientRect().right")
            self.assertGreaterEqual(edge, 50 if name == "source" else 0)
        expect(tabs).not_to_have_class(re.compile("more"))

    @only_long
    def test_labels_of_the_roofline_do_not_overlap(self):
        page = self.page(self.imported("xplane/jax08_gemm.xplane.pb"), "#/roofline")
        page.locator("[data-testid^=dot-label-]").first.wait_for()
        boxes = "(all) => all.map((e) => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; })"
        labels = page.locator("[data-testid^=dot-label-] text").evaluate_all(boxes)
        dots = [b for b in page.locator(".rdot").evaluate_all(boxes) if b[2] - b[0] > 16]
        self.assertGreater(len(dots), 2)
        for k, a in enumerate(labels):
            for b in dots + labels[: k - k % 2]:
                self.assertFalse(a[0] < b[2] - 3 and a[2] > b[0] + 3 and a[1] < b[3] - 3 and a[3] > b[1] + 3, (a, b))


if __name__ == "__main__":
    unittest.main()
