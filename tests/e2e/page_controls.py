# SPDX-License-Identifier: Apache-2.0
"""Controls of the page, in a real browser. Run by test_page_controls.py."""

import collections
import contextlib
import itertools
import re
import shutil
import sqlite3
import unittest

import browser_quiet
import kept_runs
import page_reader
import support
from figure_places import same, times_in
from page_browser import PAGES, Browser, words_of
from support import LONG, only_long


class Controls(Browser):
    def test_each_column_of_the_menu_can_be_shown(self):
        page = self.open("#/ops")
        # Columns that a narrow window hides are no choices, so only selectable ones are counted.
        more = page.locator(".menu summary").inner_text()
        page.locator(".menu summary").click()
        boxes = page.locator(".menu .pop input")
        self.assertEqual(more.split()[0], str(boxes.count()))
        self.assertGreater(boxes.count(), 10)
        for i in range(boxes.count()):
            boxes.nth(i).click()  # Refused where something else lies above it.
            self.assertTrue(boxes.nth(i).is_checked(), i)
        self.assert_golden_words(page.locator(".menu summary"))

    HEADINGS = "(all) => all.map((e) => e.innerText.replace(/ [▼▲]/, ''))"

    @only_long
    def test_chosen_column_does_not_hide_another(self):
        page = self.open("#/ops")
        heads = page.locator("#p-ops thead th")
        before = heads.evaluate_all(self.HEADINGS)
        self.assertIn("source", before)
        page.locator(".menu summary").click()
        boxes = page.locator(".menu .pop input")
        for box in boxes.all():
            box.click()
        after = heads.evaluate_all(self.HEADINGS)
        self.assertEqual(after[: len(before)], before)
        self.assertEqual(len(after), len(before) + boxes.count())
        # They scroll in their box; what names a row keeps a width to be read in.
        widths = page.locator("#p-ops .tbox").evaluate("(e) => [e.scrollWidth, e.clientWidth, document.documentElement.scrollWidth]")
        self.assertGreater(widths[0], widths[1])
        self.assertLessEqual(widths[2], 1440)
        self.assertGreater(heads.nth(1).bounding_box()["width"], 150)

    @only_long
    def test_narrow_window_offers_its_hidden_columns(self):
        page = self.open("#/ops")
        page.set_viewport_size({"width": 400, "height": 800})
        heads = page.locator("#p-ops thead th")
        self.assertNotIn("source", heads.evaluate_all(self.HEADINGS))
        page.locator(".menu summary").click()
        # Read in the window, not beside it.
        source = page.locator(".menu label", has_text="source info")
        self.assertGreaterEqual(source.bounding_box()["x"], 0)
        source.click()
        self.assertIn("source", heads.evaluate_all(self.HEADINGS))
        self.assertTrue(source.locator("input").is_checked())

    @only_long
    def test_many_filter_chips_stay_within_the_window(self):
        page = self.open("#/ops?f=src:model.py+dur>1us+ms>0.001+-kind:sort+calls>0+-opcode:fft+layer:0")
        self.assertGreaterEqual(page.get_by_test_id("filter-chip").count(), 6)
        for part in page.get_by_test_id("filter-chip").all() + [page.get_by_test_id("filter-sum")]:
            box = part.bounding_box()
            self.assertLessEqual(box["x"] + box["width"], 1440)
        for chip in page.get_by_test_id("filter-chip").all()[:1]:
            chip.click()
        self.assertNotIn("src:", browser_quiet.address(page))

    def test_filter_word_without_match_lists_existing_values(self):
        page = self.open("#/ops?f=kind:nonsense")
        notes = words_of(page.get_by_test_id("filter-notes").inner_text())
        self.assertIn("kind:nonsense", notes)
        self.assertIn("gemm", notes)
        page = self.open("#/ops?f=knd:gemm")
        self.assert_golden_text(f"{notes}\n---\n{words_of(page.get_by_test_id('filter-notes').inner_text())}")
        self.assertEqual(self.open("#/ops?f=kind:gemm").get_by_test_id("filter-notes").count(), 0)

    def test_filter_term_without_match_lists_existing_values(self):
        kernel = self.sql("SELECT name FROM activity GROUP BY name ORDER BY sum(self_ns) DESC LIMIT 1")
        steps = self.db.execute("SELECT min(step), max(step) FROM step").fetchone()
        evidence = self.sql("SELECT evidence FROM activity WHERE evidence IS NOT NULL GROUP BY 1 ORDER BY sum(self_ns) DESC LIMIT 1")
        page = self.open("#/ops")
        told = []
        for term, answer in (
            ("kernel:nonsense", kernel[:12]),
            ("step:999", f"{steps[0]}"),
            ("dev:77", "0"),
            ("stream:nonsense", "stream"),
            ("stream:", "stream"),
            ("evidence:nonsense", evidence),
            ("dur>1000s", "dur"),
            ("-dur>0us", "dur"),
            ("regs>9999", "regs"),
            ("-kind:*", "gemm"),
        ):
            page.evaluate("(f) => { location.hash = `#/ops?f=${encodeURIComponent(f)}`; }", term)
            page.wait_for_function(
                "(t) => document.querySelector('[data-testid=\"filter-notes\"]')?.innerText.includes(t)", arg=term
            )
            notes = page.get_by_test_id("filter-notes")
            self.assertIn(answer, notes.inner_text(), term)
            told.append(f"{term}\n{words_of(notes.inner_text())}")
        self.assert_golden_text("\n---\n".join(told))
        for fine in ("kernel:gemm", "step:1", "dev:0", "dur>1us", "-kind:gemm"):
            page.evaluate("(f) => { location.hash = `#/ops?f=${encodeURIComponent(f)}`; }", fine)
            page.wait_for_function("(f) => decodeURIComponent(location.hash).endsWith(f)", arg=fine)
            page.get_by_test_id("filter-notes").wait_for(state="detached")

    def test_words_are_completed_while_typing(self):
        page = self.open("#/ops")
        page.keyboard.press("/")
        page.keyboard.type("pha")
        offers = page.get_by_test_id("completions").locator("li")
        offers.first.wait_for()
        self.assertIn("phase:", offers.first.inner_text())
        page.keyboard.press("Tab")
        page.keyboard.type("back")
        page.get_by_test_id("completions").locator("li", has_text="phase:backward").wait_for()
        page.keyboard.press("Tab")
        wanted = self.sql("SELECT sum(steady_ns) FROM op_time WHERE phase = 'backward'")
        page.wait_for_function(
            "(n) => document.querySelector('[data-testid=\"filter-sum\"]').dataset.ns === n", arg=str(wanted)
        )

    def test_filter_applies_to_verdict_and_graph(self):
        page = self.open("#/verdict?f=phase:optimizer")
        wanted = self.sql("SELECT sum(steady_ns) FROM op_time WHERE phase = 'optimizer'")
        self.assertIn("phase:optimizer", page.get_by_test_id("verdict-filter").inner_text())
        shown = [self.ns(r) for r in page.locator(".largest tbody tr[data-ns]").all()]
        self.assertLessEqual(sum(shown), wanted)
        self.assertGreater(len(shown), 0)
        page.keyboard.press("6")
        page.wait_for_selector('[data-testid="page-graph"] .gnode')
        centre = page.locator(".gnode.centre").get_attribute("data-testid").removeprefix("graph-node-")
        self.assertEqual(
            self.sql(f"SELECT phase FROM op_time WHERE instruction = '{centre}' LIMIT 1"), "optimizer"
        )
        page = self.open("#/graph?f=handle:o1&sel=o1")
        self.assertGreater(page.locator(".gnode.out").count(), 0)
        self.assertEqual(page.locator(".gnode.centre.out").count(), 0)

    def test_keys_o_r_and_t_work_on_every_page(self):
        page = self.open("#/verdict?sel=o2")
        for name in PAGES if LONG else ("verdict", "source"):
            page.evaluate("(h) => { location.hash = h; }", f"#/{name}?sel=o2")
            page.wait_for_selector(f'[data-testid="page-{name}"]')
            for key, to in (("o", "graph"), ("r", "roofline"), ("t", "timeline")):
                page.locator("body").click(position={"x": 3, "y": 300})
                page.keyboard.press(key)
                page.wait_for_selector(f'[data-testid="page-{to}"]')
                self.assertIn("sel=o2", browser_quiet.address(page), f"{key} on {name}")
                page.evaluate("(h) => { location.hash = h; }", f"#/{name}?sel=o2")
                page.wait_for_selector(f'[data-testid="page-{name}"]')

    def test_key_o_opens_the_row_marked_by_keys(self):
        page = self.open("#/ops")
        page.keyboard.press("j")
        row = page.locator("tr.cur").get_attribute("data-key")
        page.keyboard.press("o")
        page.wait_for_selector('[data-testid="page-graph"]')
        self.assertIn(f"sel={row}~", browser_quiet.address(page))

    @only_long
    def test_keys_of_tabs_open_their_pages_from_every_page(self):
        page = self.open("#/timeline")
        keys = {}
        for tab in page.locator("[role=tab]").all():
            small = tab.locator("small")
            if small.count():
                keys[small.text_content()] = tab.get_attribute("data-testid")[4:]
        self.assertEqual(len(keys), 10)
        self.assertEqual(keys["0"], "idle")
        for start in ("timeline", "graph", "ops") if LONG else ("timeline",):
            for key, name in keys.items():
                page.evaluate("(h) => { location.hash = h; }", f"#/{start}")
                page.wait_for_selector(f'[data-testid="page-{start}"]')
                page.keyboard.press(key)
                page.wait_for_selector(f'[data-testid="page-{name}"]')

    def test_key_z_shows_the_whole_timeline(self):
        page = self.open("#/timeline")
        page.get_by_test_id("timeline-selection").wait_for()
        page.keyboard.press("w")
        page.wait_for_function("() => /[?&]t=/.test(location.hash)")
        page.keyboard.press("z")
        page.wait_for_function("() => !/[?&]t=/.test(location.hash)")
        self.assertIn("#/timeline", browser_quiet.address(page))

    def visible(self, page):
        return [int(n) for n in re.search(r"[?&]t=(-?\d+)(?:,|%2C)(-?\d+)", browser_quiet.address(page)).groups()]

    def test_timeline_from_a_drawer_zooms_to_the_op(self):
        page = self.open("#/ops?sel=o1")
        page.get_by_test_id("to-timeline").click()
        page.wait_for_function("() => /[?&]t=/.test(location.hash)")
        begin, end = self.visible(page)
        inside = self.sql(
            "SELECT count(*) FROM activity a JOIN op_time o USING (module_id, instruction)"
            f" WHERE o.handle = 'o1' AND a.start_ns >= {begin} AND a.end_ns <= {end}"
        )
        self.assertGreaterEqual(inside, 1)
        longest = self.sql(
            "SELECT max(a.duration_ns) FROM activity a JOIN op_time o USING (module_id, instruction)"
            " WHERE o.handle = 'o1'"
        )
        self.assertLess(end - begin, 6 * longest)

    def test_key_f_zooms_to_the_selection_and_z_back(self):
        begin, end = self.db.execute("SELECT start_ns, end_ns FROM step WHERE typical ORDER BY step LIMIT 1").fetchone()
        a, b = begin + (end - begin) // 4, begin + (end - begin) // 2
        page = self.open(f"#/timeline?a={a},{b}")
        page.get_by_test_id("timeline-selection").wait_for()
        page.keyboard.press("f")
        page.wait_for_function("() => /[?&]t=/.test(location.hash)")
        left, right = self.visible(page)
        self.assertLess(abs(left - a), (b - a) / 10)
        self.assertLess(abs(right - b), (b - a) / 10)
        zoomed = browser_quiet.address(page)
        page.keyboard.press("f")
        self.assertEqual(browser_quiet.address(page), zoomed)
        page.keyboard.press("z")
        page.wait_for_function("() => !/[?&]t=/.test(location.hash)")

    @only_long
    def test_tooltip_disappears_when_its_element_moves(self):
        page = self.open("#/timeline")
        page.get_by_test_id("timeline-selection").wait_for()
        canvas = page.get_by_test_id("timeline-canvas").bounding_box()
        for x in range(300, 1400, 20):
            page.mouse.move(canvas["x"] + x, canvas["y"] + 30)
            if page.locator(".tip").count():
                break
        self.assertEqual(page.locator(".tip").count(), 1)
        page.keyboard.press("]")
        page.locator(".tip").wait_for(state="detached")

    @only_long
    def test_text_columns_can_be_sorted(self):
        page = self.open("#/ops")
        page.get_by_role("button", name="instruction", exact=True).click()
        names = [t.split("\n")[0] for t in page.locator('[data-testid^="op-o"] td:nth-child(2)').all_inner_texts()][:8]
        stems = [re.sub(r"[.\d]+.*$", "", n).lower() for n in names]
        self.assertEqual(stems, sorted(stems))
        page = self.open("#/ops?v=launch")
        page.get_by_role("button", name="kernel", exact=True).nth(1).or_(
            page.locator("th button", has_text="kernel")
        ).last.click()
        page.wait_for_function("() => /s=kernel/.test(location.hash)")
        first = self.sql("SELECT min(lower(name)) FROM activity")
        shown = page.locator('[data-testid="row"] td:nth-child(4)').first.inner_text().lower()
        self.assertEqual(shown[:6], first[:6])
        page = self.open("#/run")
        head = page.locator("th button", has_text="module").first
        head.click()
        self.assertEqual(page.locator("th[aria-sort]").first.inner_text().strip(" ▲▼"), "module")

    @only_long
    def test_open_drawer_does_not_move_the_page(self):
        page = self.open()
        for name in PAGES if LONG else ("verdict", "ops"):
            page.evaluate("(h) => { location.hash = h; }", f"#/{name}")
            page.wait_for_selector(f'[data-testid="page-{name}"]')
            where = """() => [...document.querySelectorAll('main :is(h1, h2, table, svg, canvas)')]
              .map((e) => e.getBoundingClientRect()).map((r) => [r.x, r.width].map(Math.round))"""
            before = page.evaluate(where)
            page.evaluate("() => { location.hash += (location.hash.includes('?') ? '&' : '?') + 'sel=m1'; }")
            page.get_by_test_id("inspector").wait_for()
            self.assertEqual(page.evaluate(where), before, name)

    def test_the_graph_zooms_pans_and_fills_the_window(self):
        page = self.open("#/graph")
        box = page.locator(".graphbox")
        self.assertGreater(box.bounding_box()["height"], 600)
        svg = page.locator(".graphbox svg").first
        start = svg.bounding_box()["width"]
        page.get_by_test_id("graph-in").click()
        page.get_by_test_id("graph-in").click()
        page.wait_for_function(
            "(w) => document.querySelector('.graphbox svg').getBoundingClientRect().width > w", arg=1.5 * start
        )
        at = "() => { const e = document.querySelector('.graphbox'); return [e.scrollLeft, e.scrollTop].join(); }"
        before = page.evaluate(at)
        area = box.bounding_box()
        page.mouse.move(area["x"] + 20, area["y"] + area["height"] - 30)
        page.mouse.down()
        page.mouse.move(area["x"] + 80, area["y"] + area["height"] - 90, steps=4)
        page.mouse.up()
        page.wait_for_function(f"(was) => ({at})() !== was", arg=before)
        page.get_by_test_id("graph-fit").click()
        page.wait_for_function(
            """([width, height]) => {
              const whole = document.querySelector('.graphbox svg').getBoundingClientRect();
              return whole.width <= width && whole.height <= height;
            }""",
            arg=[area["width"] + 2, area["height"] + 2],
        )
        # It starts at something that takes time.
        self.assertNotEqual(page.locator(".gnode.centre").get_attribute("data-time"), "")

    def test_idle_time_by_cause_equals_sql_and_opens_its_gaps(self):
        page = self.open("#/idle")
        causes = self.db.execute(
            "SELECT g.cause, sum(g.end_ns - g.start_ns), count(*) FROM gap g JOIN step s ON s.device_id = g.device_id"
            " AND g.start_ns >= s.start_ns AND g.start_ns < s.end_ns WHERE s.typical GROUP BY g.cause"
        ).fetchall()
        for cause, ns, _ in causes:
            self.assertEqual(self.ns(page.get_by_test_id(f"cause-{cause}")), ns, cause)
        idle = self.sql(
            "SELECT sum(p.wall_ns) FROM step_part p JOIN step s USING (device_id, step)"
            " WHERE s.typical AND p.part = 'idle'"
        )
        self.assertEqual(self.ns(page.get_by_test_id("cause-total")), idle)
        longest = self.sql(
            "SELECT max(g.end_ns - g.start_ns) FROM gap g JOIN step s ON s.device_id = g.device_id"
            " AND g.start_ns >= s.start_ns AND g.start_ns < s.end_ns WHERE s.typical"
        )
        first = page.get_by_test_id("gap").first
        self.assertEqual(self.ns(first), longest)
        first.locator("a").first.click()
        page.wait_for_selector('[data-testid="page-timeline"]')
        begin, end = (int(n) for n in re.search(r"[?&]a=(-?\d+)(?:,|%2C)(-?\d+)", browser_quiet.address(page)).groups())
        self.assertEqual(end - begin, longest)
        self.assertEqual(page.get_by_test_id("hosts").get_attribute("aria-pressed"), "true")

    @only_long
    def test_host_column_of_a_gap_equals_its_stored_evidence(self):
        # Gaps of this run are too short for explanations by import, so this test adds some.
        database = self.folder / "told.db"
        shutil.copyfile(self.database, database)
        with contextlib.closing(sqlite3.connect(database)) as db, db:
            db.execute(
                "INSERT OR REPLACE INTO x_gap_evidence SELECT g.next_activity_id, 'cudaStreamSynchronize ' || s.step || '.20 us'"
                " FROM gap g JOIN step s ON s.device_id = g.device_id AND g.start_ns >= s.start_ns AND g.end_ns <= s.end_ns"
                " WHERE s.typical ORDER BY g.end_ns - g.start_ns DESC LIMIT 5"
            )
        result = support.run("report", database, cwd=self.folder)
        self.assertEqual(result.code, 0, result)
        told_db = support.open_database(database)
        self.addCleanup(told_db.close)
        page = self.open("#/idle", url=(self.folder / "told.html").as_uri())
        page.get_by_test_id("gap").first.wait_for()
        spaces = lambda text: " ".join(text.replace("µs", "us").split())  # noqa: E731
        told = untold = 0
        for row in page.get_by_test_id("gap").all()[:40]:
            said = spaces(row.get_by_test_id("gap-host").inner_text())
            begin, end = re.search(r"[?&]a=(-?\d+)(?:,|%2C)(-?\d+)", row.locator("a").first.get_attribute("href")).groups()
            evidence, call = told_db.execute(
                "SELECT g.evidence, c.name FROM gap g LEFT JOIN activity a ON a.activity_id = g.next_activity_id"
                " LEFT JOIN api_call c ON c.api_call_id = a.api_call_id WHERE g.start_ns = ? AND g.end_ns = ?",
                (int(begin), int(end)),
            ).fetchone()
            if evidence:
                self.assertEqual(said, spaces(evidence))
                told += 1
            elif call:
                self.assertIn(call, said)
                untold += 1
        self.assertGreater(told, 0)
        self.assertGreater(untold, 0)

    def test_late_range_in_a_gap_is_shown_with_unexplained_time(self):
        database = self.folder / "late.db"
        shutil.copyfile(self.database, database)
        with contextlib.closing(sqlite3.connect(database)) as db, db:
            gap = db.execute(
                "SELECT g.next_activity_id, g.start_ns, g.end_ns, g.device_id, g.previous_activity_id, g.cause FROM x_gap g"
                " JOIN step s ON s.device_id = g.device_id AND g.start_ns >= s.start_ns AND g.end_ns <= s.end_ns"
                " WHERE s.typical ORDER BY g.end_ns - g.start_ns DESC LIMIT 1"
            ).fetchone()
            next_id, begin, end = gap[:3]
            # The range of the longest gap begins where a tenth of it is left.
            (range_id,) = db.execute("SELECT rowid FROM x_packed_range LIMIT 1").fetchone()
            open_ns = (end - begin) * 9 // 10
            db.execute("UPDATE x_packed_range SET start_ns = ?, duration_ns = ? WHERE rowid = ?", (begin + open_ns, 10 * (end - begin), range_id))
            db.execute("UPDATE x_packed_activity SET gap = NULL WHERE rowid = ?", (next_id,))
            db.execute("DELETE FROM x_other_gap WHERE next_activity_id = ?", (next_id,))
            db.execute(
                "INSERT INTO x_other_gap (next_activity_id, start_ns, end_ns, device_id, previous_activity_id, cause, host_range_id)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)", (*gap, range_id))  # fmt: skip
            (text,) = db.execute("SELECT text FROM range WHERE range_id = ?", (range_id,)).fetchone()
        result = support.run("report", database, cwd=self.folder)
        self.assertEqual(result.code, 0, result)
        page = self.open("#/idle", url=(self.folder / "late.html").as_uri())
        first = page.get_by_test_id("gap").first
        self.assertEqual(self.ns(first), end - begin)
        host = first.get_by_test_id("gap-host")
        self.assertTrue(same(times_in(host.inner_text())[0], open_ns), host.inner_text())
        name = re.search(r"hlo_module=([^,#]+)", text)
        self.assertIn(name[1] if name else text[:20], host.inner_text())
        self.assert_golden_words(host)
        # Only this gap has the note.
        late_db = support.open_database(database)
        self.addCleanup(late_db.close)
        others = 0
        for row in page.get_by_test_id("gap").all()[1:40]:
            at = re.search(r"[?&]a=(-?\d+)(?:,|%2C)(-?\d+)", row.locator("a").first.get_attribute("href")).groups()
            late = late_db.execute(
                "SELECT r.start_ns > g.start_ns AND 2 * (min(g.end_ns, r.end_ns) - r.start_ns) < g.end_ns - g.start_ns"
                " AND g.evidence IS NULL"  # Which was found before the range was moved here.
                " FROM gap g LEFT JOIN range r ON r.range_id = g.host_range_id WHERE g.start_ns = ? AND g.end_ns = ?",
                tuple(map(int, at)),
            ).fetchone()[0]
            others += not late
            has_open_time = bool(re.match(rf"{words_of(host.inner_text()).split()[0]}\b", row.get_by_test_id("gap-host").inner_text()))
            self.assertEqual(has_open_time, bool(late), at)
        self.assertGreater(others, 3)

    def test_host_threads_are_shown_on_request(self):
        page = self.open("#/timeline")
        canvas = page.get_by_test_id("timeline-canvas")
        self.assertEqual(canvas.get_attribute("data-host-rows"), "1")  # Collapsed.
        page.get_by_test_id("hosts").click()
        page.wait_for_function("() => /hosts=1/.test(location.hash)")
        # One thread: as many rows as ranges of a step are open at once, and one of calls.
        most = 0
        for begin, end in self.db.execute("SELECT start_ns, end_ns FROM step WHERE typical").fetchall():
            edges = []
            for a, b in self.db.execute("SELECT start_ns, end_ns FROM range WHERE end_ns >= ? AND start_ns <= ?", (begin, end)):
                edges += [(a, 1), (b, -1)]
            most = max(most, max(itertools.accumulate(change for _, change in sorted(edges)), default=0))
        threads = self.sql("SELECT count(DISTINCT thread_id) FROM api_call")
        self.assertEqual(threads, 1)
        rows = most + threads
        page.wait_for_function(
            "(n) => document.querySelector('[data-testid=\"timeline-canvas\"]').dataset.hostRows === n", arg=str(rows)
        )
        step = int(re.search(r"Step (\d+)", page.get_by_test_id("page-timeline").locator("h2").first.inner_text())[1])
        self.assertRegex(page.get_by_test_id("timeline-hosts").inner_text(), rf"steps? (\d+ and )?{step}\b")
        # The longest call of the step is at its recorded times, on the lowest row.
        begin, end, name = self.db.execute(
            "SELECT c.start_ns, c.end_ns, c.name FROM api_call c, step s WHERE s.step = ? AND c.start_ns >= s.start_ns"
            " AND c.end_ns <= s.end_ns ORDER BY c.end_ns - c.start_ns DESC, c.start_ns LIMIT 1",
            (step,),
        ).fetchone()
        page.evaluate("(h) => { location.hash = h; }", f"#/timeline?hosts=1&t={begin},{end}")
        box = canvas.bounding_box()
        for y in range(int(box["height"]) - 4, 20, -3):
            page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + y)
            tip = page.locator(".tip")
            if tip.count() and name in tip.inner_text():
                break
        self.assertIn(name, page.locator(".tip").inner_text())

    @only_long
    def test_long_names_are_cut_at_slashes_and_line_numbers_kept(self):
        page = self.open("#/ops")
        page.set_viewport_size({"width": 1300, "height": 900})
        for chip in page.locator("a.srcl b").all()[:20]:
            self.assertRegex(chip.inner_text(), r"^:\d+$")
            self.assertLessEqual(chip.evaluate("(e) => e.scrollWidth - e.clientWidth"), 0)
        cut = [t for t in page.locator('[data-testid^="op-o"] .nm').all_inner_texts() if "…" in t]
        for text in cut:
            self.assertRegex(text.replace("\n", ""), r"/…/")


class RowKeys(Browser):
    """`j`, then `o`, `r` or `t`: what opens is what the marked row shows, on every page that has a table."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.after = kept_runs.synthetic_run(15_000, "--after")
        cls.url = kept_runs.page_of(cls.after, cls.database).as_uri()

    def after_keys(self, fragment, key, to, downs=2):
        """The marked row's handles, and the address that the key leads to."""
        page = self.open(fragment)
        page.get_by_test_id("table").first.wait_for()
        for _ in range(downs):
            page.keyboard.press("j")
        row = page.locator("tr.cur")
        row.wait_for()
        shown = [h.inner_text() for h in row.locator("a.h").all()]
        text = row.inner_text()
        page.keyboard.press(key)
        page.wait_for_selector(f'[data-testid="page-{to}"]')
        return shown, text, page

    def test_the_marked_row_opens_on_every_page(self):
        fragments = ("#/ops", "#/ops?v=launch", "#/roofline", "#/occupancy", "#/compare?s=-now", "#/idle", "#/timeline?g=op")
        for fragment in fragments if LONG else ("#/ops", "#/idle"):
            for key, to in (("o", "graph"), ("r", "roofline")) if LONG else (("o", "graph"),):
                if to == fragment[2:]:
                    continue
                shown, text, page = self.after_keys(fragment, key, to)
                found = re.search(r"[?&]sel=(o\d+)~", browser_quiet.address(page))
                self.assertIsNotNone(found, (fragment, key, text, browser_quiet.address(page)))
                # For a gap, the late op is the last one that its row names.
                self.assertEqual(found.group(1), shown[-1] if fragment == "#/idle" else shown[0], (fragment, text))

    @only_long
    def test_keys_on_a_row_of_many_ops_set_the_filter(self):
        _, text, page = self.after_keys("#/model", "r", "roofline", downs=3)
        kept = page.get_by_test_id("filter-sum")
        self.assertIn("f=scope:", browser_quiet.address(page), text)
        self.assertGreater(self.ns(kept), 0)
        _, text, page = self.after_keys("#/compare?by=phase", "o", "graph", downs=1)
        self.assertIn(f"f=phase:{text.split()[0]}", browser_quiet.address(page))
        _, text, page = self.after_keys("#/compare?by=kernel&s=-now", "t", "timeline", downs=1)
        self.assertRegex(browser_quiet.address(page), r"[?&]sel=k\d+~", text)

    @only_long
    def test_key_t_on_a_gap_opens_it_on_the_timeline(self):
        _, _, page = self.after_keys("#/idle", "t", "timeline", downs=1)
        begin, end = (int(n) for n in re.search(r"[?&]a=(-?\d+)(?:,|%2C)(-?\d+)", browser_quiet.address(page)).groups())
        with contextlib.closing(support.open_database(self.after)) as db:
            found = db.execute("SELECT count(*) FROM gap WHERE start_ns = ? AND end_ns = ?", (begin, end)).fetchone()
        self.assertEqual(found[0], 1)


class KernelsOnly(Browser):
    """A run without annotations and without a module, as most captures of strangers are."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        database = kept_runs.without_annotations()
        cls.url = kept_runs.page_of(database).as_uri()
        cls.bare = support.open_database(database)
        cls.addClassCleanup(cls.bare.close)
        cls.kernel = cls.bare.execute(
            "SELECT name FROM activity JOIN step USING (device_id, step) WHERE typical GROUP BY name HAVING count(*) BETWEEN 3 AND 500 ORDER BY count(*) LIMIT 1"
        ).fetchone()[0]

    def in_sight(self, page):
        """Starts of the kernel's launches in sight."""
        begin, end = (int(n) for n in re.search(r"[?&]t=(-?\d+)(?:,|%2C)(-?\d+)", browser_quiet.address(page)).groups())
        found = self.bare.execute(
            "SELECT start_ns FROM activity WHERE name = ? AND start_ns >= ? AND end_ns <= ? ORDER BY 1",
            (self.kernel, begin, end),
        ).fetchall()
        return [row[0] for row in found], (begin + end) / 2

    def test_key_n_shows_the_next_launch_of_a_kernel(self):
        page = self.open("#/ops?v=kernel")
        page.locator('[data-testid^="kernel-k"]', has_text=self.kernel).first.click()
        page.get_by_test_id("inspector").get_by_test_id("to-timeline").click()
        page.wait_for_function("() => /[?&]t=/.test(location.hash)")
        first, at = self.in_sight(page)
        self.assertGreaterEqual(len(first), 1)
        self.assertRegex(page.get_by_test_id("next-launch").inner_text(), r"^k\d+ [\d,]+ ›")
        before = browser_quiet.address(page)
        page.keyboard.press("n")
        page.wait_for_function("(u) => location.href !== u", arg=before)
        _, later = self.in_sight(page)
        self.assertGreater(later, at)
        # No launch of it lies between the two that were shown.
        between = self.bare.execute(
            "SELECT count(*) FROM activity WHERE name = ? AND (start_ns + end_ns) / 2 > ? AND (start_ns + end_ns) / 2 < ?",
            (self.kernel, at + 1, later - 1),
        ).fetchone()[0]
        self.assertEqual(between, 0)
        before = browser_quiet.address(page)
        page.keyboard.press("p")
        page.wait_for_function("(u) => location.href !== u", arg=before)
        self.assertLess(abs(self.in_sight(page)[1] - at), 2)

    @only_long
    def test_key_t_on_a_kernel_zooms_to_a_launch(self):
        page = self.open("#/ops?v=kernel")
        page.get_by_test_id("table").first.wait_for()
        page.keyboard.press("j")
        page.keyboard.press("t")
        page.wait_for_function("() => /[?&]t=/.test(location.hash)")
        self.assertRegex(browser_quiet.address(page), r"sel=k\d+~")


class Memory(Browser):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run = kept_runs.imported_run("captures/nsys-jax-maxtext-fsdp4-h100")
        page = kept_runs.page_of(run, run)
        cls.url = page.as_uri()
        cls.data = page_reader.Page.open(page)
        cls.values = cls.data.rows("live_values")

    def alive(self, module, position):
        return [v for v in self.values if v["module"] == module and v["first"] <= position <= v["last"]]

    def test_memory_peak_is_within_one_percent_of_xlas_reservation(self):
        modules = self.data.rows("modules")
        train = next(i for i, m in enumerate(modules) if m["name"] == "jit_train_step")
        change = collections.Counter()
        for value in self.values:
            if value["module"] == train:
                change[value["first"]] += value["bytes"]
                change[value["last"] + 1] -= value["bytes"]
        peak = max(itertools.accumulate(change[at] for at in sorted(change)))
        xla = modules[train]["peak_memory_bytes"]
        self.assertLess(abs(peak - xla), 0.01 * xla)
        page = self.open("#/memory")
        self.assertIn(f"{peak / 1e9:.2f} GB", page.get_by_test_id("memory-sentence").inner_text())
        self.assertIn(f"{xla / 1e9:.2f} GB", page.get_by_test_id("memory-basis").inner_text())
        total = page.locator('[data-testid="page-memory"] [data-testid="total"]')
        self.assertEqual(self.ns(total), peak)
        for by in ("layer", "op", "source"):
            page.get_by_test_id("memory-by").locator(f'[data-value="{by}"]').click()
            rows = page.locator('[data-testid="buffer"]').all()
            self.assertEqual(sum(self.ns(r) for r in rows), peak)

    @only_long
    def test_click_shows_memory_at_another_place_of_the_program(self):
        page = self.open("#/memory")
        page.locator('[data-testid="memory-curve"] svg').click(position={"x": 400, "y": 100})
        page.wait_for_function("() => /[?&]at=/.test(location.hash)")
        at = int(re.search(r"at=(\d+)", browser_quiet.address(page)).group(1))
        first = self.data.rows("live_order")[at]["module"]
        total = page.locator('[data-testid="page-memory"] [data-testid="total"]')
        self.assertEqual(self.ns(total), sum(v["bytes"] for v in self.alive(first, at)))
        page.get_by_test_id("page-memory").get_by_role("button").filter(has_text="peak").click()
        page.wait_for_function("() => !/[?&]at=/.test(location.hash)")

    @only_long
    def test_keys_open_the_marked_value_and_the_marked_rank(self):
        for at in ("#/memory", "#/memory?by=layer"):
            page = self.open(at)
            page.get_by_test_id("buffer").first.wait_for()
            page.keyboard.press("j")
            page.locator("tr.cur").wait_for()
            page.keyboard.press("o")
            page.wait_for_selector('[data-testid="page-graph"]')
            self.assertRegex(browser_quiet.address(page), r"[?&]sel=[oi]\d+~")
        page = self.open("#/ranks")
        page.locator('[data-testid="page-ranks"] tr[data-ns]').first.wait_for()
        page.keyboard.press("j")
        number = re.search(r"GPU (\d)", page.locator("tr.cur").inner_text()).group(1)
        page.keyboard.press("t")
        page.wait_for_selector('[data-testid="page-timeline"]')
        self.assertIn(f"f=dev:{number}", browser_quiet.address(page))

    def test_donated_arguments_are_counted(self):
        donated = [v for v in self.values if v["donated"] == 1]
        mine = [v for v in donated if v["module"] == donated[0]["module"]]
        frees = self.open("#/memory").get_by_test_id("memory-frees")
        self.assertRegex(frees.inner_text(), rf"\b{len(mine)}\b.* {sum(v['bytes'] for v in mine) / 1e9:.2f} GB")
        self.assert_golden_words(frees)


class SameWords(Browser):
    def test_static_page_has_the_headline_of_the_app(self):
        shown = self.open()
        context = self.new_context(java_script_enabled=False)
        plain = context.new_page()
        plain.goto(self.url)
        spaces = lambda text: " ".join(text.replace(" us", " µs").split())  # noqa: E731
        self.assertEqual(
            spaces(plain.inner_text("#xlatrace-static h1")),
            spaces(shown.get_by_test_id("verdict-sentence").inner_text()),
        )
        self.assertEqual(
            spaces(plain.inner_text("#xlatrace-static .lede")).replace(" %", "%"),
            spaces(shown.get_by_test_id("verdict-lede").inner_text()),
        )


if __name__ == "__main__":
    unittest.main()
