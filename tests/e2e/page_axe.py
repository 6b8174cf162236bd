# SPDX-License-Identifier: Apache-2.0
"""Violations that axe reports on every page, light and dark, with and without the drawer."""

import unittest

import kept_runs
from page_browser import AXE, EXTRA, PAGES, Browser
from support import LONG


# axe compares the colours of each element, so twenty rows of a long table are enough. The dark theme has
# other colours and the same elements.
RUN = """(scheme) => {
  document.querySelectorAll('main tbody tr:nth-child(n+21)').forEach((row) => { row.hidden = true; });
  const rules = scheme === 'dark' ? {runOnly: ['color-contrast', 'link-in-text-block']}
                                  : {rules: {'label-content-name-mismatch': {enabled: true}}};
  return axe.run(document, {resultTypes: ['violations'], preload: false, ...rules});
}"""


def violations_of(page, scheme):
    """(rule, element) of each violation."""
    return [(v["id"], v["nodes"][0]["html"][:200]) for v in page.evaluate(RUN, scheme)["violations"]]


@unittest.skipUnless(AXE, "no axe-playwright-python")
class EveryPage(Browser):
    def test_axe_finds_no_violation_on_any_page(self):
        source = AXE.read_text(encoding="utf-8")
        names = {"light": (*PAGES, "idle", "memory"), "dark": (*PAGES, "idle", "memory")}
        if not LONG:
            names = {"light": ("verdict", "ops"), "dark": ("verdict",)}
        for scheme in ("light", "dark"):
            page = self.open(color_scheme=scheme)
            page.evaluate(source)
            for name in names[scheme]:
                selections = ("", "?sel=o1") if LONG and scheme == "light" or name == "ops" else ("",)
                for sel in (*selections, "?cp=1") if name == "timeline" else selections:
                    page.evaluate("(h) => { location.hash = h; }", f"#/{name}{sel}")
                    page.wait_for_selector(f'[data-testid="page-{name}"]')
                    self.assertEqual(violations_of(page, scheme), [], f"{name}{sel}, {scheme}")


@unittest.skipUnless(AXE, "no axe-playwright-python")
class PagesThatFewRunsHave(Browser):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run = kept_runs.imported_run("captures/nsys-jax-maxtext-fsdp4-h100")
        cls.url = kept_runs.page_of(run, run).as_uri()

    def test_axe_finds_no_violation_on_rare_pages(self):
        source = AXE.read_text(encoding="utf-8")
        for scheme in ("light", "dark") if LONG else ("light",):
            page = self.open(color_scheme=scheme)
            page.evaluate(source)
            for name in EXTRA if LONG else ("ranks",):
                page.get_by_test_id(f"tab-{name}").click()
                page.wait_for_selector(f'[data-testid="page-{name}"]')
                self.assertEqual(violations_of(page, scheme), [], f"{name}, {scheme}")


@unittest.skipUnless(AXE, "no axe-playwright-python")
class ComparisonsAndJobs(Browser):
    """Compare with changes and refused; Ranks of a merged job and of a run without steps."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        before, after = (kept_runs.imported_run(f"nsys/mfu_2gpu_{which}.sqlite") for which in ("before", "after"))
        gemm = kept_runs.imported_run("xplane/jax08_gemm.xplane.pb")
        pax = "captures/nsys-jax-pax-fsdp4-a100"
        job = kept_runs.merged_run("job", *(kept_runs.imported_run(f"{pax}/{part}") for part in ("proc0", "proc1.zip")))
        cls.urls = {
            "changed": kept_runs.page_of(after, before).as_uri(),
            "refused": kept_runs.page_of(gemm, before).as_uri(),
            "job": kept_runs.page_of(job).as_uri(),
        }

    def test_names_are_readable_in_a_window_of_400_pixels(self):
        pages = {"changed": ("compare", "ranks", "idle", "verdict"), "job": ("ranks", "idle", "memory", "verdict")}
        if not LONG:
            pages = {"changed": ("compare",), "job": ("ranks",)}
        for file, names in pages.items():
            page = self.open(url=self.urls[file])
            page.set_viewport_size({"width": 400, "height": 800})
            for name in names:
                page.get_by_test_id(f"tab-{name}").click()
                page.wait_for_selector(f'[data-testid="page-{name}"]')
                page.wait_for_function("() => document.documentElement.scrollWidth <= 400")
                # Not one cell that holds a name is too narrow to be read (tables take their width as they are measured).
                page.wait_for_function(
                    """() => [...document.querySelectorAll('main table.fix tbody tr:first-child td.name')]
                    .every((cell) => cell.offsetParent === null || getComputedStyle(cell).display === 'none' || cell.innerText.trim() === '' || cell.getBoundingClientRect().width >= 60)""",
                )

    def test_base_of_the_same_script_is_named_by_its_file(self):
        # Both runs are of a script called python3. Instructions are matched; these runs have kernels.
        said = self.open(url=self.urls["changed"]).get_by_test_id("base-verdict")
        self.assertIn("mfu_2gpu_before.db", said.inner_text())
        self.assert_golden_words(said)

    def test_axe_finds_no_violation_on_compare_and_ranks(self):
        source = AXE.read_text(encoding="utf-8")
        pages = {"changed": ("compare", "ranks", "idle", "verdict"), "refused": ("compare", "verdict"), "job": ("ranks", "memory", "idle")}
        if not LONG:
            pages = {"changed": ("compare",)}
        for file, names in pages.items():
            for scheme in ("light", "dark") if LONG else ("light",):
                page = self.open(url=self.urls[file], color_scheme=scheme)
                page.evaluate(source)
                for name in names:
                    page.get_by_test_id(f"tab-{name}").click()
                    page.wait_for_selector(f'[data-testid="page-{name}"]')
                    self.assertEqual(violations_of(page, scheme), [], f"{file}, {name}, {scheme}")


if __name__ == "__main__":
    unittest.main()
