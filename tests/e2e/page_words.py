# SPDX-License-Identifier: Apache-2.0
"""Words and names beside figures: the whole of a share, the sum of a folded row, uncut numbers, and names
that keep both ends."""

import re
import unittest

import kept_runs
from page_browser import Browser, words_of
from support import LONG, only_long

MAXTEXT = "captures/nsys-jax-maxtext-fsdp4-h100"
PAX = "captures/nsys-jax-pax-fsdp4-a100/proc0"


class OfCapture(Browser):
    """One page of a public capture for all tests of a class."""

    CAPTURE = MAXTEXT

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.capture_url = kept_runs.page_of(kept_runs.imported_run(cls.CAPTURE)).as_uri()

    def page(self, fragment, width=1440, **options):
        page = self.open(fragment, url=self.capture_url, **options)
        if width != 1440:
            page.set_viewport_size({"width": width, "height": 900})
        return page

    def visit(self, page, fragment):
        """Another address of the same file, once it has been drawn."""
        page.evaluate("(h) => { location.hash = h; }", fragment)
        name = re.match(r"#/(\w+)", fragment)[1]
        page.wait_for_selector(f'[data-testid="page-{name}"]')
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


class Shares(OfCapture):
    @only_long
    def test_titles_of_shares_name_their_whole(self):
        page = self.page("#/model")
        found = set()
        for term in ("", "phase:backward"):
            for fragment in ("model", "ops", "ops?v=kernel"):
                self.visit(page, f"#/{fragment}{'&' if '?' in fragment else '?'}f={term}")
                heads = page.locator("main [role=tabpanel]:not([hidden]) th.num").filter(has_text=re.compile(r"^%( [▼▲])?$"))
                (title,) = heads.evaluate_all("(all) => all.map((e) => e.title)")
                if fragment == "model":
                    words = title.removeprefix("% ")
                    self.assertNotIn(words, found)  # The two terms have two wholes.
                    found.add(words)
                self.assertEqual(title, f"% {words}", (fragment, term))
            self.visit(page, f"#/model?f={term}")
            for title in page.locator(".icicle title").all_text_contents():
                self.assertRegex(title, rf"% {words}[\n,]")
            self.visit(page, f"#/source?f={term}")
            self.assertRegex(page.locator("#p-source .bar-h .cap").first.inner_text(), rf"\d% {words} ")
            self.assertRegex(page.locator(".srchead").inner_text(), rf"\d% {words}")
        self.assert_golden_text("\n".join(sorted(found)))


    def test_occupancy_names_the_whole_of_its_shares(self):
        page = self.open("#/occupancy")  # Launch configurations are in the synthetic run.
        caps = []
        for term in ("", "phase:backward"):
            self.visit(page, f"#/occupancy?f={term}")
            caps.append(words_of(page.locator("#p-occupancy .bar-h .cap").first.inner_text()))
        self.assert_golden_text("\n---\n".join(caps))


class Folded(OfCapture):
    def folded(self):
        """The row of Ops with most copies: its handle, how many and what all of them take, in ms."""
        page = self.page("#/ops")
        rows = page.locator('[data-testid="page-ops"] tr[data-key]').evaluate_all(
            """(all) => all.map((r) => ({handle: r.dataset.key, ns: Number(r.dataset.ns),
                 n: Number((/×(\\d+)/.exec(r.innerText) ?? [0, 0])[1])}))"""
        )
        row = max(rows, key=lambda r: r["n"])
        self.assertGreater(row["n"], 1)
        return page, row

    def test_graph_and_palette_show_the_time_of_all_copies(self):
        page, row = self.folded()
        steps = self.page_divisor(page)
        wanted = re.compile(rf"×{row['n']}\D* {row['ns'] / steps / 1e6:.3g} ms")
        page.keyboard.press("Control+k")
        page.get_by_test_id("palette").locator("input").fill(row["handle"] + " ")
        first = page.get_by_test_id("palette").locator("li .x").first
        self.assertRegex(first.inner_text(), wanted)
        page.keyboard.press("Escape")
        name = self.name_of(page, row["handle"])
        self.visit(page, f"#/graph?sel={row['handle']}~{name}")
        node = page.get_by_test_id(f"graph-node-{name}")
        self.assertRegex(node.text_content(), wanted)

    @staticmethod
    def page_divisor(page):
        """Steady steps times devices: the copied figure of the first row over the row's own."""
        first = page.locator('[data-testid="page-ops"] tr[data-key] .cellbar').first
        shown = float(first.inner_text())
        ns = float(page.locator('[data-testid="page-ops"] tr[data-key]').first.get_attribute("data-ns"))
        return round(ns / 1e6 / shown)

    @staticmethod
    def name_of(page, handle):
        return page.locator(f'[data-testid="op-{handle}"] .nm').first.get_attribute("title")

    def test_source_shows_the_share_of_an_op_per_line(self):
        page = self.page("#/source")
        table = page.locator("#p-source .secs table").first
        # A line of which some fusion is a part only: looked for from the largest on.
        keys = page.locator("#p-source .code [data-testid=row]").evaluate_all(
            "(all) => all.sort((a, b) => b.dataset.ns - a.dataset.ns).slice(0, 12).map((e) => e.dataset.key)"
        )
        for key in keys:
            page.locator(f'#p-source .code [data-key="{key}"]').click()
            tags = table.locator(".tag").all_inner_texts()
            if tags:
                self.assert_golden_text("\n".join(tags))
                return
        self.fail("no partial op in 12 lines")

    def test_worst_roofline_dot_shows_its_distance_to_the_roof(self):
        page = self.page("#/roofline")
        rows = page.locator('[data-testid="page-roofline"] tr[data-key]')
        handle = rows.first.get_attribute("data-key")  # By waste, the largest first.
        label = page.get_by_test_id(f"dot-label-{handle}")
        self.assert_golden_text(label.text_content())
        # Beside its dot and inside the drawing.
        dot, words = page.get_by_test_id(f"dot-{handle}").bounding_box(), label.bounding_box()
        self.assertTrue(dot["y"] - 8 <= words["y"] + words["height"] / 2 <= dot["y"] + dot["height"] + 16, (dot, words))
        self.assertLessEqual(min(abs(words["x"] - dot["x"] - dot["width"]), abs(words["x"] + words["width"] - dot["x"])), 40)


# Numbers that do not fit, and ends of names that are out of sight or begin inside a word.
CUT = """() => {
  const seen = (e) => { const b = e.getBoundingClientRect(); return b.width > 0 && b.height > 0; };
  const numbers = [...document.querySelectorAll('main td.num')].filter(seen)
    .filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent);
  const ends = [...document.querySelectorAll('main td .nm > .tl')].filter((e) => seen(e) && e.textContent !== '').filter((e) => {
    const own = e.getBoundingClientRect(), cell = e.closest('td').getBoundingClientRect();
    const head = e.previousElementSibling?.textContent ?? '';
    const whole = head === '' || !/\\w$/.test(head) || !/^[a-z]/i.test(e.textContent);
    return own.right > cell.right + 1 || !whole;
  }).map((e) => e.parentElement.textContent);
  return {numbers, ends};
}"""


class NothingIsCut(OfCapture):
    PAGES = ("model", "model?g=source", "ops", "ops?v=kernel", "ops?v=launch", "ops?g=phase", "timeline", "timeline?g=op", "timeline?g=kernel",
             "roofline", "source", "run", "ranks", "memory")  # fmt: skip

    def check(self, page, pages):
        for width in (1440, 1024) if LONG else (1024,):
            page.set_viewport_size({"width": width, "height": 900})
            for fragment in pages:
                with self.subTest(page=fragment, width=width):
                    self.visit(page, f"#/{fragment}")
                    page.wait_for_function("() => document.querySelector('main [role=tabpanel]:not([hidden]) td.num') !== null")
                    page.wait_for_function(f"() => ({CUT})().numbers.length === 0", timeout=20_000)
                    self.assertEqual(page.evaluate(CUT), {"numbers": [], "ends": []})

    def test_texts_of_a_public_capture_are_not_cut(self):
        self.check(self.page("#/ops"), self.PAGES if LONG else ("ops", "timeline", "source"))

    @only_long
    def test_numbers_above_a_million_are_not_cut(self):
        # The synthetic run with a thousand times its calls: what matters is how wide the figures are.
        page = self.open("#/ops")
        page.evaluate(
            """() => { for (const td of document.querySelectorAll('main td.num')) {
                 const leaf = td.querySelector('.cellbar') ?? td; if (/^[\\d.,]+$/.test(leaf.textContent)) leaf.firstChild.data = '1,234,567'; } }"""
        )
        page.keyboard.press("j")  # It draws again, and sees what its figures need.
        page.wait_for_function(f"() => ({CUT})().numbers.length === 0", timeout=20_000)


class GraphOfPax(OfCapture):
    CAPTURE = PAX

    def test_graph_does_not_open_on_parameters(self):
        page = self.page("#/graph")
        nodes = page.locator(".gnode")
        parameters = nodes.filter(has=page.locator("text.i2", has_text=re.compile("^parameter$"))).count()
        self.assertGreater(nodes.count(), 6)
        self.assertLessEqual(3 * parameters, nodes.count())


if __name__ == "__main__":
    unittest.main()
