# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: Debian's Chromium, driven by Playwright. Run by test_pages_*.py with an
interpreter that has Playwright; the page is opened from file://, as users do."""

import atexit
import contextlib
import csv
import os
import pathlib
import re
import sqlite3
import unittest

from playwright.sync_api import Locator, expect, sync_playwright

import browser_cases
import browser_quiet
import kept_runs
import support
import tiers
import test_page_data

# A test that takes longer hangs; Playwright's own 30 s are over before a busy machine has a browser.
PATIENCE_MS = support.HANG_S * 1000
# Slow-down factor of the page's thread. A test that reads before the page is drawn fails with
# XLATRACE_TEST_BROWSER_SLOWER=15 on an idle machine, too.
SLOWER = int(os.environ.get("XLATRACE_TEST_BROWSER_SLOWER", "0"))
expect.set_options(timeout=PATIENCE_MS)
browser_quiet.watch_locators(Locator)
CHROMIUM = browser_cases.chromium_path()
WINDOW = {"width": 1440, "height": 900}
READY = '[data-testid="app"][data-ready="1"]'
PAGES = "verdict model ops timeline roofline graph occupancy source run".split()
# Pages that only some runs have.
EXTRA = ("idle", "ranks", "memory", "compare")
try:
    import axe_playwright_python  # Brings axe-core's axe.min.js.

    AXE = pathlib.Path(axe_playwright_python.__file__).with_name("axe.min.js")
except ImportError:
    AXE = None


_started = {}


def chromium():
    """The browser of all tests of this process; another one where it has crashed."""
    if "playwright" not in _started:
        _started["playwright"] = sync_playwright().start()
        atexit.register(_stop)
    if "browser" not in _started or not _started["browser"].is_connected():
        _started["browser"] = _started["playwright"].chromium.launch(
            executable_path=CHROMIUM, args=["--disable-gpu", "--no-sandbox"], timeout=PATIENCE_MS
        )
        _started["tab"] = None
    return _started["browser"]


def _stop():
    if "browser" in _started:
        _started["browser"].close()
    _started["playwright"].stop()


class Tab:
    """A tab that tests use one after the other: a new renderer process costs more than most tests do."""

    def __init__(self, context):
        self.page = context.new_page()
        browser_quiet.watch(self.page)
        if SLOWER:
            context.new_cdp_session(self.page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        self.requests, self.problems, self.failed = [], [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: self.failed.append((request.url, request.failure)))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", self._console)

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def reset(self, color_scheme):
        """As a new tab: no document, nothing stored, the usual window."""
        if self.page.url.startswith("file:"):
            self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        self.page.goto("about:blank")
        self.page.set_viewport_size(WINDOW)
        self.page.emulate_media(media="screen", color_scheme=color_scheme)
        self.page.mouse.move(0, 0)
        self.requests, self.problems, self.failed = [], [], []


def definition(place, term):
    """The definition of a term in a list."""
    name = place.locator("dt", has_text=re.compile(f"^{term}$"))
    return name.locator("xpath=following-sibling::dd[1]")


def words_of(text):
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


class Browser(support.TestCase):
    """A window of the browser, by default with the page of a synthetic run of 15,000 launches."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not CHROMIUM:
            raise unittest.SkipTest("no chromium")
        cls.database = kept_runs.synthetic_run(15_000)
        cls.html = kept_runs.page_of(cls.database)
        cls.url = cls.html.as_uri()
        cls.db = support.open_database(cls.database)
        cls.addClassCleanup(cls.db.close)

    def sql(self, text):
        return self.db.execute(text).fetchone()[0]

    def new_context(self, **options):
        """A window of its own, closed at the end, that waits as long as a busy machine needs."""
        context = chromium().new_context(**options)
        self.addCleanup(context.close)
        context.set_default_timeout(PATIENCE_MS)
        return context

    def open(self, fragment="", url=None, color_scheme="light"):
        """The page at `url` in the tab of all tests, which ends an earlier page of the same test. An error or
        a warning in its console fails the test."""
        browser = chromium()
        if _started["tab"] is None or _started["tab"].page.is_closed():
            context = browser.new_context(viewport=WINDOW)
            context.set_default_timeout(PATIENCE_MS)
            _started["tab"] = Tab(context)
        self.used_tab = _started["tab"]
        self.used_tab.reset(color_scheme)
        page, problems = self.used_tab.page, self.used_tab.problems
        page.goto((url or self.url) + fragment)
        page.wait_for_selector(READY)
        browser_quiet.quiet(page)
        self.addCleanup(lambda: self.assertEqual(problems, []))
        return page

    def assert_golden_words(self, *locators, masks=()):
        """assert_golden_text of the texts that the elements show, with single spaces and no empty lines."""
        texts = [words_of(locator.inner_text()) for locator in locators]
        self.assert_golden_text("\n---\n".join(texts), masks)

    @staticmethod
    def wait_for_width(page, width):
        """The page needs only these resources to be drawn completely."""
        page.wait_for_function("(w) => document.documentElement.scrollWidth <= w", arg=width)

    @staticmethod
    def ns(locator, name="data-ns"):
        return int(locator.get_attribute(name))

    @staticmethod
    def expect_ns(locator, wanted, name="data-ns"):
        """A click is drawn later, so this waits for the number."""
        expect(locator).to_have_attribute(name, str(wanted))


class Offline(Browser):
    def test_page_makes_no_request(self):
        page = self.open()
        for name in PAGES:
            page.get_by_test_id(f"tab-{name}").click()
            page.wait_for_selector(f'[data-testid="page-{name}"]')
            self.assertEqual(page.get_by_test_id("error").count(), 0, name)
            # A page of much data is drawn a moment after its frame.
            page.wait_for_function(
                "(id) => document.querySelector(`[data-testid=${id}]`).innerText.length > 80",
                arg=f"page-{name}",
            )
            shown = page.get_by_test_id(f"page-{name}").inner_text()
            for never in ("[object", "undefined", "NaN"):
                self.assertNotIn(never, shown, name)
        outside = [url for url in self.used_tab.requests if not url.startswith(("data:", "blob:"))]
        self.assertEqual(outside, [self.url])
        self.assertEqual(self.used_tab.problems, [])
        # The browser reports rejected requests later.
        with page.expect_event("requestfailed"):
            page.evaluate(
                """() => {
                  window.refused = [];
                  addEventListener('securitypolicyviolation', (e) => window.refused.push(e.effectiveDirective));
                  fetch('https://example.invalid/').catch(() => {});
                  const image = new Image(); image.src = 'https://example.invalid/x.png';
                  const script = document.createElement('script');
                  script.textContent = 'window.hacked = 1'; document.body.append(script);
                }"""
            )
        page.wait_for_function("() => new Set(window.refused).size >= 3")
        self.assertEqual(
            page.evaluate("() => [...new Set(window.refused)].sort().concat(String(window.hacked))"),
            ["connect-src", "img-src", "script-src-elem", "undefined"],
        )
        self.used_tab.problems.clear()  # The browser's own words about what was refused.
        # Playwright hears of the picture at least, which the policy stopped before it left.
        self.assertEqual({failure for _, failure in self.used_tab.failed}, {"csp"})
        asked = {"https://example.invalid/x.png", "https://example.invalid/"}
        self.assertLessEqual({url for url, _ in self.used_tab.failed}, asked)
        outside = {url for url in self.used_tab.requests if not url.startswith(("data:", "blob:"))}
        self.assertLessEqual(outside, asked | {self.url})

    def test_without_scripts_the_static_part_is_shown(self):
        context = self.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto(self.url)
        expect(page.locator("#xlatrace-static h1")).to_have_count(1)
        self.assert_golden_words(page.locator("#xlatrace-static h1"))
        self.assertEqual(page.inner_text("#xlatrace-app"), "")
        expect(page.locator("#ops table").first).to_be_visible()

    def test_static_part_appears_if_the_app_does_not_start(self):
        text = self.html.read_text(encoding="utf-8")
        path = self.folder / "no_app.html"
        path.write_text(text.replace("/* xlatrace page ", "<broken> /* ", 1), encoding="utf-8")
        page = self.new_context().new_page()
        page.clock.install()
        page.goto(path.as_uri())
        expect(page.locator("#xlatrace-static h1")).to_be_visible()
        expect(page.locator("#ops table").first).to_be_hidden()
        page.clock.run_for(2000)
        expect(page.locator("#ops table").first).to_be_visible()

    def test_hostile_names_are_text_in_every_page(self):
        ops = [
            (f"{name[:500]}.{i}", "add", f"jit(step)/{name[:3000]}/add", f"/{name[:500]}", i + 1)
            for i, name in enumerate(test_page_data.HOSTILE)
        ]
        trace = self.folder / "hostile.xplane.pb"
        trace.write_bytes(support.xspace(test_page_data.HOSTILE[0], ops, executions=4))
        for arguments in (("import", trace, "-o", "hostile.db"), ("report", "hostile.db")):
            result = support.run(*arguments, cwd=self.folder)
            self.assertEqual(result.code, 0, result)
        page = self.open(url=(self.folder / "hostile.html").as_uri())
        for name in PAGES:
            page.get_by_test_id(f"tab-{name}").click()
            page.wait_for_selector(f'[data-testid="page-{name}"]')
            # Nothing that a name could have made: no script, no picture, no handler.
            self.assertEqual(
                page.evaluate(
                    "() => document.querySelectorAll('#xlatrace-app script, #xlatrace-app img,"
                    " #xlatrace-app [onerror], #xlatrace-app [onload]').length"
                ),
                0,
                name,
            )
        self.assertEqual(page.locator("body > script:not([type])").count(), 1)


class Questions(Browser):
    """The first questions of an engineer: at most two clicks, and the result equals SQL."""

    def test_step_time_equals_sql(self):  # 0 clicks
        page = self.open()
        wanted = self.sql("SELECT sum(end_ns - start_ns) / count(*) FROM step WHERE typical")
        self.expect_ns(page.get_by_test_id("fact-step"), wanted, "data-value")

    def test_idle_time_equals_sql(self):  # 0 clicks
        page = self.open()
        wanted = self.sql(
            "SELECT round(1.0 * sum(wall_ns) / (SELECT count(*) FROM step WHERE typical))"
            " FROM step_part JOIN step s USING (device_id, step) WHERE s.typical AND part = 'idle'"
        )
        self.expect_ns(page.get_by_test_id("part-idle").first, int(wanted))

    def test_backward_time_equals_sql(self):  # 1 click
        page = self.open()
        page.get_by_test_id("phase-backward").click()
        wanted = self.sql(
            "SELECT sum(o.steady_ns) FROM op_time o WHERE phase = 'backward'"
            " AND op_kind NOT IN ('collective', 'copy', 'memset')"
        )
        both = self.sql("SELECT sum(o.steady_ns) FROM op_time o WHERE phase = 'backward'")
        expect(page.get_by_test_id("filter-sum")).to_have_attribute(
            "data-ns", re.compile(f"^({wanted}|{both})$")
        )

    def test_largest_instruction_equals_sql(self):  # 2 clicks
        page = self.open()
        page.get_by_test_id("tab-ops").click()
        page.locator("#p-ops label.pick input").uncheck()
        row = page.locator('[data-testid^="op-o"]').first
        handle, ns = self.db.execute(
            "SELECT handle, steady_ns FROM op_time WHERE instruction IS NOT NULL"
            " ORDER BY steady_ns DESC LIMIT 1"
        ).fetchone()
        expect(row).to_have_attribute("data-testid", f"op-{handle}")
        self.expect_ns(row, ns)

    def test_largest_kernel_equals_sql(self):  # 2 clicks
        page = self.open()
        page.get_by_test_id("tab-ops").click()
        page.get_by_role("radio", name="kernel").or_(
            page.get_by_role("button", name="kernel", exact=True)
        ).first.click()
        row = page.locator('[data-testid^="kernel-k"]').first
        name, ns = self.db.execute(
            "SELECT name, sum(self_ns) AS ns FROM activity JOIN step s USING (device_id, step)"
            " WHERE s.typical GROUP BY name ORDER BY ns DESC LIMIT 1"
        ).fetchone()
        self.expect_ns(row, ns)
        expect(row).to_contain_text(name[:12])

    def test_largest_source_line_equals_sql(self):  # 1 click
        page = self.open()
        page.get_by_test_id("tab-source").click()
        row = page.locator('[data-testid="page-source"] [data-testid="row"]').first
        wanted = self.sql(
            "SELECT sum(steady_ns) FROM op_time WHERE source_file = '/home/user/model.py'"
        )
        self.expect_ns(row, wanted)

    def test_attributed_shares_equal_sql(self):  # 0 clicks
        page = self.open()
        wanted = self.sql(
            "SELECT sum(steady_ns) FROM op_time WHERE instruction IS NOT NULL"
        )
        self.expect_ns(page.get_by_test_id("fact-attributed"), wanted, "data-value")

    def test_graph_shows_the_operands_of_an_instruction(self):  # deep link, then 0 clicks
        page = self.open("#/graph?sel=o0~loop_select_fusion.3")
        page.get_by_test_id("tab-graph").click()
        for name in ("input_reduce_fusion.2", "cublas-gemm.1"):  # Its operands.
            expect(page.get_by_test_id("page-graph")).to_contain_text(name)

    def test_kernels_without_modules_are_listed(self):  # 0 and 1 clicks
        database = kept_runs.without_annotations()
        db = support.open_database(database)
        self.addCleanup(db.close)
        labelled = db.execute("SELECT count(*) FROM activity WHERE instruction IS NOT NULL")
        self.assertEqual(labelled.fetchone()[0], 0)
        handle, name = db.execute("SELECT handle, kernel_name FROM kernel ORDER BY self_ns DESC"
                                  " LIMIT 1").fetchone()
        page = self.open(url=kept_runs.page_of(database).as_uri())
        expect(page.get_by_test_id("page-verdict")).to_contain_text(name)
        page.get_by_test_id("tab-ops").click()
        row = page.locator('[data-testid="page-ops"] [data-testid^="kernel-k"]').first
        expect(row).to_have_attribute("data-testid", f"kernel-{handle}")


class Navigation(Browser):
    def test_links_hold_the_state_and_back_restores_it(self):
        page = self.open("#/o1")
        expect(page.get_by_test_id("inspector")).to_be_visible()
        expect(page.get_by_test_id("inspector")).to_contain_text("o1")
        page.get_by_test_id("inspector-close").click()
        page.get_by_test_id("tab-run").click()
        page.wait_for_selector('[data-testid="page-run"]')
        page.wait_for_url(re.compile("#/run"))
        page.go_back()
        page.wait_for_selector('[data-testid="page-run"]', state="detached")

    def test_filter_in_the_link_is_applied_until_removed(self):
        page = self.open("#/ops?f=phase:optimizer")
        wanted = self.sql("SELECT sum(steady_ns) FROM op_time WHERE phase = 'optimizer'")
        self.expect_ns(page.get_by_test_id("filter-sum"), wanted)
        page.keyboard.press("Escape")
        page.get_by_test_id("phase-all").click()
        everything = self.sql("SELECT sum(steady_ns) FROM op_time")
        page.wait_for_selector(f'[data-testid="filter-sum"][data-ns="{everything}"]')

    def test_unknown_handle_in_the_link_is_reported(self):
        page = self.open("#/o999999")
        expect(page.locator("#xlatrace-app")).to_contain_text("o999999")

    def test_keyboard_opens_pages_and_help(self):
        page = self.open()
        for number, name in enumerate(PAGES, start=1):
            page.keyboard.press(str(number))
            page.wait_for_selector(f'[data-testid="page-{name}"]')
        page.keyboard.press("?")
        page.wait_for_selector('[data-testid="help-dialog"]')
        page.keyboard.press("Escape")
        page.wait_for_selector('[data-testid="help-dialog"]', state="detached")
        page.keyboard.press("/")
        page.wait_for_selector('[data-testid="search"]:focus')
        page.keyboard.press("1")  # Typing is no command.
        page.wait_for_selector('[data-testid="page-run"]')

    def test_compare_with_a_base_has_rows_that_link_to_ops(self):
        database = kept_runs.synthetic_run(15_000, "--after")
        page = self.open(url=kept_runs.page_of(database, self.database).as_uri())
        # Under the step lies the base's, at the same scale.
        idle, steps = self.db.execute(
            "SELECT sum(wall_ns), count(*) FROM step_part JOIN step s USING (device_id, step)"
            " WHERE s.typical AND part = 'idle'"
        ).fetchone()
        bar = page.get_by_test_id("base-idle")
        self.expect_ns(bar, round(idle / steps))
        said = bar.get_attribute("title")
        self.assertAlmostEqual(float(re.search(r"([\d.]+) ms", said)[1]), idle / steps / 1e6, delta=0.006 * idle / steps / 1e6)
        own = page.get_by_test_id("part-idle").last
        self.assertAlmostEqual(
            bar.bounding_box()["width"] / own.bounding_box()["width"],
            self.ns(bar) / self.ns(own),
            delta=0.02 * self.ns(bar) / self.ns(own),
        )
        page.get_by_test_id("tab-compare").click()
        page.wait_for_selector('[data-testid="page-compare"]')
        self.assert_golden_words(page.get_by_test_id("compare-verdict"))
        page.get_by_test_id("compare-row").nth(5).wait_for()
        mean_step = "SELECT round(1.0 * sum(end_ns - start_ns) / count(*)) FROM step WHERE typical"
        with contextlib.closing(support.open_database(database)) as db:
            self.expect_ns(page.get_by_test_id("waterfall-new"), int(db.execute(mean_step).fetchone()[0]))
        self.expect_ns(page.get_by_test_id("waterfall-base"), int(self.sql(mean_step)))
        page.get_by_test_id("compare-by").locator('[data-value="phase"]').click()
        page.wait_for_selector('[data-testid="compare-row"]:has-text("backward")')
        page.get_by_test_id("compare-by").locator('[data-value="op"]').click()
        row = page.get_by_test_id("compare-row").filter(has=page.locator("a.h")).first
        row.locator("a.h").click()
        page.get_by_test_id("op-compare").click()
        page.wait_for_selector('[data-testid="page-compare"]')
        page.set_viewport_size({"width": 400, "height": 800})
        self.wait_for_width(page, 400)
        # Without a base its tab is dim, and Ctrl K shows how to add one.
        self.assertNotEqual(page.get_by_test_id("tab-compare").get_attribute("class"), "off")
        without = self.open()
        without.keyboard.press("Control+k")
        without.get_by_test_id("palette").locator("input").fill("compare")
        first = without.get_by_test_id("palette").locator("li").first
        self.assert_golden_words(first)
        without.keyboard.press("Escape")
        self.assertEqual(without.get_by_test_id("tab-compare").get_attribute("class"), "off")
        without.get_by_test_id("tab-compare").click()
        self.assert_golden_words(without.get_by_test_id("page-compare"))

    @support.only_long
    def test_every_op_links_to_compare_if_there_is_a_base(self):
        database = kept_runs.synthetic_run(15_000, "--after")
        page = self.open("#/ops", url=kept_runs.page_of(database, self.database).as_uri())
        with contextlib.closing(support.open_database(database)) as db:
            handles = [row[0] for row in db.execute("SELECT handle FROM op_time WHERE handle LIKE 'o%'")]
        self.assertGreater(len(handles), 10)
        for handle in handles[:: len(handles) // (60 if tiers.IS_LONG else 6) + 1]:
            page.evaluate("(h) => { location.hash = `#/ops?sel=${h}`; }", handle)
            page.wait_for_selector(f'[data-testid="inspector"]:has-text("{handle}")')
            expect(page.get_by_test_id("op-compare"), handle).to_have_count(1)
        page.get_by_test_id("op-compare").click()
        page.wait_for_selector('[data-testid="page-compare"]')
        # Kernels too, which are all there is where no kernel is XLA's.
        page.evaluate("() => { location.hash = '#/ops?sel=k1'; }")
        page.get_by_test_id("kernel-compare").click()
        pressed = page.get_by_test_id("compare-by").locator('[aria-pressed="true"]')
        expect(pressed).to_have_text("kernel")

    @support.only_long
    def test_kernel_lists_the_time_of_each_instruction(self):
        page = self.open("#/ops?sel=k1")
        rows = page.get_by_test_id("kernel-ops").locator("li .num")
        rows.first.wait_for()
        own = [float(text.replace(",", "")) for text in rows.all_inner_texts()]
        whole = page.get_by_test_id("kernel-ms").locator("b").inner_text()
        self.assertEqual(whole.split()[1], "ms")
        self.assertLessEqual(len(own), 21)  # Twenty, and the others together.
        self.assertLessEqual(sum(own), float(whole.split()[0].replace(",", "")) * 1.01 + 0.0005 * len(own))

    def test_refused_base_gives_no_shares_and_no_noise(self):
        other = self.folder / "other"
        other.mkdir(exist_ok=True)
        base = test_page_data.big_run(other, 15_000, "--after")
        with contextlib.closing(sqlite3.connect(base)) as db, db:
            db.execute("UPDATE x_device SET name = 'NVIDIA A100-SXM4-40GB'")
        result = support.run("report", self.database, "--base", base, "-o", other / "run.html")
        self.assertEqual(result.code, 0, str(result))
        page = self.open(url=(other / "run.html").as_uri())
        self.assert_golden_words(page.get_by_test_id("base-verdict"))
        page.get_by_test_id("to-compare").click()
        page.wait_for_selector('[data-testid="page-compare"]')
        # Phases first: which op goes with which is not what such a pair is looked at for.
        pressed = page.get_by_test_id("compare-by").locator('[aria-pressed="true"]')
        expect(pressed).to_have_text("phase")
        for by in ("phase", "op"):
            page.get_by_test_id("compare-by").locator(f'[data-value="{by}"]').click()
            expect(pressed).to_have_text(by)
            page.wait_for_selector('[data-testid="compare-row"]')
            self.assertNotIn("of Δ", page.get_by_test_id("page-compare").inner_text())

    def test_difference_from_one_base_run_is_not_established(self):
        other = self.folder / "slower"
        other.mkdir(exist_ok=True)
        base = test_page_data.big_run(other, 15_000, "--after")
        with contextlib.closing(sqlite3.connect(base)) as db, db:
            # Every step of the base takes half as long and no two differ.
            db.execute("UPDATE x_step SET end_ns = start_ns + (end_ns - start_ns) / 2")
        result = support.run("report", self.database, "--base", base, "-o", other / "run.html")
        self.assertEqual(result.code, 0, str(result))
        page = self.open(url=(other / "run.html").as_uri())
        said = words_of(page.get_by_test_id("base-verdict").inner_text())
        page.get_by_test_id("to-compare").click()
        page.wait_for_selector('[data-testid="page-compare"]')
        self.assert_golden_text(f"{said}\n---\n{words_of(page.get_by_test_id('compare-noise').inner_text())}")

    def test_the_theme_is_kept_and_set_before_the_first_paint(self):
        page = self.open(color_scheme="light")
        page.get_by_test_id("theme").click()
        page.get_by_test_id("theme").click()
        # The third of system, light and dark; stored once it is drawn.
        theme = page.wait_for_function(
            """() => {
              const theme = document.documentElement.dataset.theme;
              const stored = localStorage.getItem('xlatrace-theme');
              return theme && theme === stored && theme;
            }"""
        ).json_value()
        self.assertIn(theme, ("light", "dark"))
        page.reload()
        page.wait_for_selector(READY)
        self.assertEqual(page.evaluate("() => document.documentElement.dataset.theme"), theme)

    def test_printed_page_has_no_controls(self):
        page = self.open()
        page.emulate_media(media="print")
        expect(page.get_by_test_id("verdict-sentence")).to_be_visible()
        expect(page.get_by_test_id("search")).not_to_be_visible()
        self.assertGreater(len(page.pdf()), 10_000)

    @support.only_long
    def test_printed_page_is_light_in_every_theme(self):
        page = self.open(color_scheme="dark")
        ground = "() => getComputedStyle(document.documentElement).getPropertyValue('--bg').trim()"
        page.wait_for_function(f"() => ({ground})() === '#14171c'")
        page.emulate_media(media="print", color_scheme="dark")
        page.wait_for_function(f"() => ['#fff', '#ffffff'].includes(({ground})())")

    @support.only_long
    def test_tables_without_fixed_columns_can_be_copied(self):
        page = self.open("#/run")
        with page.expect_download() as download:
            page.get_by_test_id("page-run").get_by_test_id("copy-csv").first.click(
                modifiers=["Shift"]
            )
        rows = list(csv.reader(download.value.path().read_text(encoding="utf-8").splitlines()))[1:]
        wanted = self.db.execute(
            "SELECT count(*) FROM activity JOIN step s USING (device_id, step) WHERE s.typical"
            " GROUP BY confidence, evidence, unattributed_reason ORDER BY sum(self_ns) DESC"
        ).fetchall()
        self.assertEqual([row[-1] for row in rows], [f"{n:,} records" for (n,) in wanted])


class TwoSteps(Browser):
    def test_difference_of_two_steps_equals_sql(self):
        page = self.open("#/timeline")
        page.get_by_test_id("timeline-selection").wait_for()
        page.get_by_test_id("align").click()
        table = page.get_by_test_id("timeline-difference")
        table.wait_for()
        page.wait_for_url(re.compile(r"al=\d+(?:,|%2C)\d+"))
        first, second = (int(n) for n in re.search(r"al=(\d+)(?:,|%2C)(\d+)", browser_quiet.address(page)).groups())
        slowest = self.sql(
            "SELECT step FROM step WHERE steady ORDER BY end_ns - start_ns DESC, step DESC LIMIT 1"
        )
        self.assertEqual(first, slowest)
        inside = (
            "SELECT sum(min(a.end_ns, s.end_ns) - max(a.start_ns, s.start_ns)) FROM activity a"
            " JOIN step s ON a.start_ns < s.end_ns AND a.end_ns > s.start_ns WHERE s.step = {}"
        )
        wanted = self.sql(inside.format(first)) - self.sql(inside.format(second))
        self.expect_ns(table.get_by_test_id("total").first, wanted)
        page.go_back()
        table.wait_for(state="detached")
        page.get_by_test_id("timeline-selection").wait_for()


class Layout(Browser):
    def test_narrow_windows_scroll_tables_not_the_page(self):
        page = self.open()
        for width in (800, 400) if tiers.IS_LONG else (400,):
            page.set_viewport_size({"width": width, "height": 900})
            page.reload()
            page.wait_for_selector(READY)
            for name in (*PAGES, "idle", "memory"):
                page.get_by_test_id(f"tab-{name}").click()
                page.wait_for_selector(f'[data-testid="page-{name}"]')
                self.wait_for_width(page, width)

    @support.only_long
    def test_tabs_beside_the_search_box_are_not_cut(self):
        page = self.open()
        for width in (1024, 1279, 1440):
            page.set_viewport_size({"width": width, "height": 800})
            page.wait_for_function(
                """() => {
                  const list = document.querySelector('.tablist');
                  const end = document.querySelector('.search').getBoundingClientRect().x + 0.5;
                  const tabs = [...document.querySelectorAll('[role=tab]')];
                  return tabs.length > 0 && list.scrollWidth === list.clientWidth
                    && tabs.every((tab) => tab.getBoundingClientRect().right <= end);
                }"""
            )


class Sizes(Browser):
    def test_app_and_page_are_below_their_size_limits(self):
        app = (support.REPOSITORY / "report/ui/dist/app.js").stat().st_size
        self.assertLessEqual(app, 1_000_000)
        page = self.html.stat().st_size
        # 15,000 launches at 5 bytes, module and static part.
        self.assertLessEqual(page - app, 900_000)

    def test_damaged_block_is_reported_by_its_number(self):
        text = self.html.read_text(encoding="utf-8")
        at = text.index('id="xlatrace-block-1">') + len('id="xlatrace-block-1">') + 60
        path = self.folder / "damaged.html"
        path.write_text(text[:at] + "AAAA" + text[at + 4 :], encoding="utf-8")
        context = self.new_context()
        page = context.new_page()
        page.goto(path.as_uri())
        page.wait_for_selector(READY)  # Block 1 holds launches, which only the timeline needs.
        page.get_by_test_id("tab-timeline").click()
        page.wait_for_selector('[data-testid="error"]')
        self.assertRegex(page.get_by_test_id("error").first.inner_text(), r"\b1\b")
        reason = (r"(?<=: )[A-Z].*", "<reason of the browser>")
        self.assert_golden_words(page.get_by_test_id("error").first, masks=[reason])

    def test_unknown_format_is_rejected_and_the_static_part_stays(self):
        text = self.html.read_text(encoding="utf-8")
        changed = text.replace('{"format":{"major":1,', '{"format":{"major":2,', 1)
        self.assertNotEqual(text, changed)
        path = self.folder / "newer.html"
        path.write_text(changed, encoding="utf-8")
        context = self.new_context()
        page = context.new_page()
        page.goto(path.as_uri())
        page.wait_for_selector('[data-testid="error"]')
        self.assert_golden_words(page.get_by_test_id("error"))
        expect(page.locator("#xlatrace-static h1")).to_be_visible()
        expect(page.locator("#ops table").first).to_be_visible()


if __name__ == "__main__":
    unittest.main()
