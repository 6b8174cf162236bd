# SPDX-License-Identifier: Apache-2.0
"""What axe says of every page, light and dark, with and without the drawer. Run by test_page_axe.py."""

import unittest

import page_browser
from page_browser import AXE, EXTRA, PAGES, Browser


# Of a long table twenty rows say as much as all: axe compares the colours of each element. The dark theme
# has other colours and the same elements.
RUN = """(scheme) => {
  document.querySelectorAll('main tbody tr:nth-child(n+21)').forEach((row) => { row.hidden = true; });
  const rules = scheme === 'dark' ? {runOnly: ['color-contrast', 'link-in-text-block']}
                                  : {rules: {'label-content-name-mismatch': {enabled: true}}};
  return axe.run(document, {resultTypes: ['violations'], preload: false, ...rules});
}"""


def said_of(page, scheme):
    """(rule, element) of each violation."""
    return [(v["id"], v["nodes"][0]["html"][:200]) for v in page.evaluate(RUN, scheme)["violations"]]


@unittest.skipUnless(AXE, "axe-playwright-python is not installed")
class EveryPage(Browser):
    def test_axe_finds_nothing_at_all(self):
        source = AXE.read_text(encoding="utf-8")
        for scheme in ("light", "dark"):
            page = self.open(color_scheme=scheme)
            page.evaluate(source)
            for name in (*PAGES, "idle", "memory"):
                selections = ("", "?sel=o1") if scheme == "light" or name == "ops" else ("",)
                for sel in (*selections, "?cp=1") if name == "timeline" else selections:
                    page.evaluate("(h) => { location.hash = h; }", f"#/{name}{sel}")
                    page.wait_for_selector(f'[data-testid="page-{name}"]')
                    self.assertEqual(said_of(page, scheme), [], f"{name}{sel}, {scheme}")


@unittest.skipUnless(AXE, "axe-playwright-python is not installed")
class PagesThatFewRunsHave(Browser):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        capture = page_browser.support.require_data("captures/nsys-jax-maxtext-fsdp4-h100")
        arguments = (("import", capture, "-o", "mt.db"), ("report", "mt.db", "--base", "mt.db"))
        for each in arguments:
            result = page_browser.support.run(*each, cwd=cls.work)
            assert result.code == 0, result
        cls.url = (cls.work / "mt.html").as_uri()

    def test_axe_finds_nothing_on_the_pages_that_few_runs_have(self):
        source = AXE.read_text(encoding="utf-8")
        for scheme in ("light", "dark"):
            page = self.open(color_scheme=scheme)
            page.evaluate(source)
            for name in EXTRA:
                page.get_by_test_id(f"tab-{name}").click()
                page.wait_for_selector(f'[data-testid="page-{name}"]')
                self.assertEqual(said_of(page, scheme), [], f"{name}, {scheme}")


@unittest.skipUnless(AXE, "axe-playwright-python is not installed")
class ComparisonsAndJobs(Browser):
    """Compare with changes and refused; Ranks of a merged job and of a run without steps."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        data = page_browser.support.require_data
        pax = "captures/nsys-jax-pax-fsdp4-a100"
        for each in (
            ("import", data("nsys/mfu_2gpu_before.sqlite"), "-o", "before.db"),
            ("import", data("nsys/mfu_2gpu_after.sqlite"), "-o", "after.db"),
            ("report", "after.db", "--base", "before.db", "-o", "changed.html"),
            ("import", data("xplane/jax08_gemm.xplane.pb"), "-o", "gemm.db"),
            ("report", "gemm.db", "--base", "before.db", "-o", "refused.html"),
            ("import", data(f"{pax}/proc0"), "-o", "p0.db"),
            ("import", data(f"{pax}/proc1.zip"), "-o", "p1.db"),
            ("merge", "p0.db", "p1.db", "-o", "job.db"),
            ("report", "job.db"),
        ):
            result = page_browser.support.run(*each, cwd=cls.work)
            assert result.code == 0, result

    def test_names_can_be_read_in_a_window_of_400_pixels(self):
        for file, names in (("changed", ("compare", "ranks", "idle", "verdict")), ("job", ("ranks", "idle", "memory", "verdict"))):
            page = self.open(url=(self.work / f"{file}.html").as_uri())
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

    def test_the_base_has_a_name_of_its_own_and_kernels_alone_are_not_called_unmatched(self):
        said = self.open(url=(self.work / "changed.html").as_uri()).get_by_test_id("base-verdict").inner_text()
        self.assertIn("The base is before.db.", said)  # Both runs are of a script called python3.
        self.assertNotIn("matched", said)  # Instructions are matched; these runs have kernels.

    def test_axe_finds_nothing_on_compare_and_ranks_of_all_sorts(self):
        source = AXE.read_text(encoding="utf-8")
        for file, names in (
            ("changed", ("compare", "ranks", "idle", "verdict")),
            ("refused", ("compare", "verdict")),
            ("job", ("ranks", "memory", "idle")),
        ):
            for scheme in ("light", "dark"):
                page = self.open(url=(self.work / f"{file}.html").as_uri(), color_scheme=scheme)
                page.evaluate(source)
                for name in names:
                    page.get_by_test_id(f"tab-{name}").click()
                    page.wait_for_selector(f'[data-testid="page-{name}"]')
                    self.assertEqual(said_of(page, scheme), [], f"{file}, {name}, {scheme}")


if __name__ == "__main__":
    unittest.main()
