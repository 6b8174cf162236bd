# SPDX-License-Identifier: Apache-2.0
"""The page in Firefox, opened from file://. Every page is drawn without errors, the figures are those of
run.db, and no resource can be loaded. Skips without Firefox."""

import unittest

import firefox
import kept_runs
import support

PAGES = "verdict model ops timeline roofline graph occupancy source run".split()
READY = '[data-testid="app"][data-ready="1"]'


class PageInFirefox(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.require_program()
        if not firefox.PROGRAM:
            raise unittest.SkipTest("no firefox")
        cls.database = kept_runs.synthetic_run(15_000)
        cls.url = kept_runs.page_of(cls.database).as_uri()
        cls.browser = firefox.Firefox()
        cls.addClassCleanup(cls.browser.close)

    def test_every_page_is_drawn_without_errors(self):
        self.look_at(self.url, (*PAGES, "idle"))

    def test_pages_of_several_devices_are_drawn(self):
        run = kept_runs.imported_run("captures/nsys-jax-maxtext-fsdp4-h100")
        self.look_at(kept_runs.page_of(run).as_uri(), ("ranks", "memory", "timeline"))
        self.browser.run("document.querySelector('[data-testid=critical-path]').click()")
        self.browser.wait_for('[data-testid="path-note"]')

    def look_at(self, url, pages):
        browser = self.browser
        browser.console("")
        browser.open(url)
        browser.wait_for(READY)
        for page in pages:
            browser.run("document.querySelector(`[data-testid=tab-${arguments[0]}]`).click()", page)
            browser.wait_for(f'[data-testid="page-{page}"]')
            if page == "timeline":
                browser.wait_for('[data-testid="timeline-canvas"]')
            self.assertEqual(
                browser.run("return document.querySelectorAll('[data-testid=error]').length"), 0, page
            )
            browser.wait_for_text(f'[data-testid="page-{page}"]', 80)
        self.assertEqual(browser.console(url.rpartition("/")[2]), [])

    def test_figures_equal_run_db(self):
        browser = self.browser
        browser.open(self.url + "#/ops?f=phase:optimizer")
        browser.wait_for(READY)
        db = support.open_database(self.database)
        self.addCleanup(db.close)
        wanted = db.execute(
            "SELECT sum(steady_ns) FROM op_time WHERE phase = 'optimizer'"
        ).fetchone()[0]
        self.assertEqual(
            int(browser.run("return document.querySelector('[data-testid=filter-sum]').dataset.ns")),
            wanted,
        )

    def test_policy_blocks_external_resources(self):
        browser = self.browser
        browser.open(self.url)
        browser.wait_for(READY)
        self.assertEqual(
            browser.run("return performance.getEntriesByType('resource').map((e) => e.name)"), []
        )
        refused = browser.call(
            "WebDriver:ExecuteAsyncScript",
            {
                "script": "const done = arguments[0]; const seen = [];"
                " addEventListener('securitypolicyviolation', (e) => {"
                " seen.push(e.effectiveDirective); if (seen.length === 2) done(seen.sort()); });"
                " const image = document.createElement('img');"
                " image.src = 'https://example.invalid/x.png';"
                " const script = document.createElement('script');"
                " script.textContent = 'window.hacked = 1'; document.body.append(image, script);",
                "args": [],
                "scriptTimeout": 60_000,
            },
        )
        self.assertEqual(refused, ["img-src", "script-src-elem"])


if __name__ == "__main__":
    unittest.main()
