# SPDX-License-Identifier: Apache-2.0
"""One number: what the page prints of an op, a layer and a phase is the same text in every place,
and in the terminal, for every public capture. Run by test_page_figures.py."""

import contextlib
import csv
import io
import json
import lzma
import pathlib
import re
import shutil
import tarfile
import tempfile
import unittest

from playwright.sync_api import sync_playwright

import figure_places
import support
from figure_places import in_ms, same

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE_MS = support.HANG_S * 1000  # As in page_browser.py.
READY = '[data-testid="app"][data-ready="1"]'
CAPTURES = (
    "captures/nsys-jax-maxtext-fsdp4-h100",
    "captures/nsys-jax-pax-fsdp4-a100/proc0",
    "captures/nsys-jax-pax-fsdp4-a100/proc1.zip",
    "nsys/h100_2gpu_1s.sqlite",
    "nsys/mfu_2gpu_after.sqlite",
    "nsys/mfu_2gpu_before.sqlite",
    "own/jax-cpu/train-20steps-notracer-py.xplane.pb.xz",
    "xplane/jax08_elementwise.xplane.pb",
    "xplane/jax08_gemm.xplane.pb",
    "xplane/jax_conv_minimal.xplane.pb",
    "xplane/tpu_v6e_jit_f_4chips.xplane.pb",
    "kineto/b200_eager_trace.json.gz",
    "kineto/h100_bert-small.json.gz",
    "kineto/hta_alexnet.json.gz",
    "kineto/hta_cupti_profiler.json.gz",
    "kineto/hta_sampled_rank0.json.gz",
    "kineto/mi300_bert-small.json.gz",
)
# Archives and the profiles in them that are looked at: one of each age and program.
PACKED = {
    "own/tf-cpu/tf-2.21.0-xplane.tar.xz": ("gt_conv", "fit_tfm"),
    "own/jax-eras/xplane.tar.xz": ("prof_jx413", "prof_jx430", "prof_jx102"),
}
# New run, base run, and what they were merged to, if that is looked at.
PAX = ("captures/nsys-jax-pax-fsdp4-a100/proc0", "captures/nsys-jax-pax-fsdp4-a100/proc1.zip")
WITH_BASE = (("nsys/mfu_2gpu_after.sqlite", "nsys/mfu_2gpu_before.sqlite"), PAX)
# Pages change by their address: no load, so that sixteen captures are read in seconds.
GO = """([hash]) => new Promise((done) => {
  location.hash = hash;
  let quiet = setTimeout(done, 30);
  const watch = new MutationObserver(() => { clearTimeout(quiet); quiet = setTimeout(done, 30); });
  watch.observe(document.body, {subtree: true, childList: true, characterData: true, attributes: true});
})"""


class Figures(figure_places.Places, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.require_program()
        if not CHROMIUM:
            raise unittest.SkipTest("no chromium")
        support.require_data("captures")
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-figures-"))
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        cls.made = set()
        playwright = sync_playwright().start()
        cls.addClassCleanup(playwright.stop)
        cls.browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--disable-gpu", "--no-sandbox"], timeout=PATIENCE_MS
        )
        cls.addClassCleanup(cls.browser.close)

    @staticmethod
    def name_of(capture):
        return re.sub(r"\W+", "_", capture)

    def run_of(self, capture, source=None):
        source = source or support.require_data(capture)
        name = self.name_of(capture)
        if name in self.made:
            return name
        if source.suffix == ".xz":
            unpacked = self.work / f"{name}.xplane.pb"
            unpacked.write_bytes(lzma.decompress(source.read_bytes()))
            source = unpacked
        self.made.add(name)
        for arguments in (("import", source, "-o", f"{name}.db"), ("report", f"{name}.db")):
            result = support.run(*arguments, cwd=self.work)
            self.assertEqual(result.code, 0, result)
        return name

    def terminal(self, *arguments):
        result = support.run(*arguments, cwd=self.work)
        self.assertEqual(result.code, 0, result)
        return result.stdout

    def page_of(self, name):
        context = self.browser.new_context(viewport={"width": 1600, "height": 1000})
        self.addCleanup(context.close)
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.goto((self.work / f"{name}.html").as_uri())
        page.wait_for_selector(READY)
        return page

    def go(self, page, hash_):
        page.evaluate(GO, [hash_])

    def copied(self, page, how):
        page.evaluate(
            "() => { window.copied = ''; navigator.clipboard.writeText = async (t) => { window.copied = t; }; }"
        )
        page.get_by_test_id(f"copy-{how}").first.click()
        return page.wait_for_function("() => window.copied").json_value()

    def markdown(self, page):
        lines = [l for l in self.copied(page, "md").splitlines() if l.startswith("|")]
        cells = [[c.strip() for c in re.split(r"(?<!\\)\|", l)[1:-1]] for l in lines]
        return [dict(zip(cells[0], row)) for row in cells[2:]]

    def filter_sum(self, page, text):
        self.go(page, f"#/ops?f={text}")
        words = page.get_by_test_id("filter-sum").inner_text()
        return re.match(r"(.*?) (?:ms/step|ms|a step)\b", words)[1], words

    def test_every_capture(self):
        for capture in CAPTURES:
            with self.subTest(capture):
                self.check(self.run_of(capture))

    def test_profiles_in_archives(self):
        for archive, chosen in PACKED.items():
            with tarfile.open(support.require_data(archive)) as tar:
                profiles = [m for m in tar.getmembers() if m.name.endswith(".xplane.pb")]
                for part in chosen:
                    with self.subTest(f"{archive}: {part}"):
                        member = next(m for m in profiles if f"{part}/" in m.name)
                        source = self.work / f"{part}.xplane.pb"
                        source.write_bytes(tar.extractfile(member).read())
                        self.check(self.run_of(part, source))

    def test_with_a_base(self):
        for capture, base in WITH_BASE:
            with self.subTest(f"{capture} --base {base}"):
                name, then = self.run_of(capture), self.run_of(base)
                self.start_places()
                self.terminal("report", f"{name}.db", "--base", f"{then}.db", "-o", f"{name}_base.html")
                page = self.page_of(f"{name}_base")
                unit = self.unit_of(page)
                self.with_base(page, name, then, unit)
                self.kernels_with_base(page, then, unit)
                self.ops(page, name, unit)
                self.check_places()

    def kernels_with_base(self, page, then, unit):
        """Compare's kernels against the table of each run's own page, by names that are one kernel's in both:
        Compare sums what only a number or arguments of a template tell apart."""
        def times(of):
            self.go(of, "#/ops?v=kernel")
            rows = [(row["kernel name"].strip(), row[unit]) for row in self.markdown(of)]
            names = sorted(name for name, _ in rows)
            # Names that begin alike stand together: the next one tells whether a name is one kernel's.
            shared = {name for name, after in zip(names, names[1:]) if after.startswith(name)}
            return {name: time for name, time in rows if name not in shared}

        now, base_page = times(page), self.page_of(then)
        base = times(base_page)
        base_page.context.close()
        self.go(page, "#/compare?by=kernel")
        rows = [row for row in self.markdown(page) if row["kernel"] in now and row["kernel"] in base][:5]
        if rows:
            self.need("kernel: base in Compare", 1)
        for row in rows:
            self.compare("kernel: base in Compare", f"{row['kernel']} base", row["base ms"], base[row["kernel"]])
            self.compare("kernel: base in Compare", f"{row['kernel']} new", row["new ms"], now[row["kernel"]])

    def test_a_merged_job(self):
        runs = [f"{self.run_of(capture)}.db" for capture in PAX]
        self.terminal("merge", *runs, "-o", "job.db")
        self.terminal("report", "job.db")
        self.check("job")

    def unit_of(self, page):
        unit = page.get_by_test_id("filter-sum").inner_text().split()[1]
        self.assertIn(unit, ("ms", "ms/step"))
        return unit

    def check(self, name):
        self.start_places()
        page = self.page_of(name)
        unit = self.unit_of(page)
        html = (self.work / f"{name}.html").read_text(encoding="utf-8")
        static = figure_places.StaticRows(html[html.index("<main>"):html.index("</main>")])
        self.headline(page, unit)
        self.ops(page, name, unit)
        self.kernels(page, name, unit, static)
        self.op_tables(page, unit, static)
        self.layers(page, name, unit)
        self.model_phases(page, name, unit)
        self.phases(page, name, unit)
        self.check_places()
        self.phase_bar(page, name)
        self.idle(page, name)
        page.context.close()

    def row(self, page, selector):
        """Cells of a row of Ops by their headings."""
        return page.evaluate(
            """(s) => { const tr = document.querySelector(s); if (!tr) return null;
            const heads = [...tr.closest('table').querySelectorAll('th')].map((h) => h.innerText.replace(/[▼▲]/g, '').trim());
            return Object.fromEntries([...tr.children].map((td, i) => [heads[i], td.innerText.trim()])); }""",
            selector,
        )

    def headline(self, page, unit):
        """The sentence, the step's bar and the list below the actions name an op by its own time."""
        self.go(page, "#/verdict")
        sentence = page.get_by_test_id("verdict-sentence").inner_text()
        if page.get_by_test_id("verdict-lede").count():
            sentence += " " + page.get_by_test_id("verdict-lede").inner_text()
        # One line each, at the width that the page is drawn for.
        page.set_viewport_size({"width": 1440, "height": 1000})
        for name in ("verdict-sentence", "verdict-lede"):
            line = page.get_by_test_id(name)
            if line.count():
                height, one = line.evaluate(
                    "(e) => [e.getBoundingClientRect().height, parseFloat(getComputedStyle(e).lineHeight)]"
                )
                self.assertLess(height, 1.6 * one, line.inner_text())
        page.set_viewport_size({"width": 1600, "height": 1000})
        said = re.search(r"(\S+) takes? ([\d.,]+ (?:ms|µs|s))\b", sentence)
        bar = re.findall(r"\b(o\d+)  ?([\d.,]+)", " ".join(page.locator(".stepbar svg text").all_text_contents()))
        largest = [
            (r.get_attribute("data-testid")[3:], r.locator("td.num").first.inner_text())
            for r in page.locator('.largest [data-testid^="op-o"]').all()[:3]
        ]
        self.go(page, "#/ops?v=hlo")
        for handle, time in largest:
            self.compare("op: Largest", handle, time, self.row(page, f'[data-testid="op-{handle}"]')[unit])
        # Without steady steps a finding speaks of one device, tables of all of them.
        if said and unit == "ms/step":
            row = page.locator('[data-testid^="op-o"]').filter(has_text=said[1]).first
            if row.count():
                time = self.row(page, f'[data-testid="{row.get_attribute("data-testid")}"]')[unit]
                self.compare_ms("headline", sentence, in_ms(said[2]), in_ms(f"{time} ms"))
                # What it is of the step, too, as the drawer has it.
                percent = re.search(r"([\d.]+)% of (?:the|every|each) step", sentence[said.start():])
                if percent:
                    self.go(page, f"#/ops?v=hlo&copies=all&sel={row.get_attribute('data-testid')[3:]}")
                    of_step = page.locator(".stat div", has_text="of the step").locator("b").first.inner_text()
                    self.places["headline: % of the step"] += 1
                    if abs(float(percent[1]) - float(of_step.rstrip("%"))) > (0.55 if "." not in percent[1] else 0.11):
                        self.wrong.append(f"headline, {sentence}: {percent[1]}%, in the drawer {of_step}")
                    self.go(page, "#/ops?v=hlo")
        for handle, time in bar:
            self.go(page, f"#/ops?v=hlo&copies=all&sel={handle}")
            self.compare("op: step's bar", handle, time, self.row(page, f'[data-testid="op-{handle}"]')[unit])

    def ops(self, page, name, unit):
        self.go(page, "#/ops?v=hlo")
        rows = page.locator('[data-testid="page-ops"] [data-testid^="op-o"]')
        handles = [rows.nth(i).get_attribute("data-testid")[3:] for i in range(min(2, rows.count()))]
        # One that is folded, if there is one in sight.
        folded = page.evaluate(
            """() => [...document.querySelectorAll('[data-testid="page-ops"] [data-testid^="op-o"]')]
            .filter((r) => [...r.querySelectorAll('.tag')].some((t) => /^×/.test(t.innerText))).map((r) => r.dataset.testid.slice(3))[0]"""
        )
        if folded and folded not in handles:
            handles.append(folded)
        markdown = {row["op"]: row for row in self.markdown(page)} if handles else {}
        table = {row["op"]: row for row in csv.DictReader(io.StringIO(self.copied(page, "csv")))} if handles else {}
        terminal = self.terminal("summary", f"{name}.db", "--top", "30", "--width", "200")
        for handle in handles:
            self.go(page, "#/ops?v=hlo")
            row = self.row(page, f'[data-testid="op-{handle}"]')
            time, share = row[unit], row["%"]
            count = re.search(r"×(\d+)", row["instruction"])
            # Copied tables.
            self.compare("op: Markdown", handle, markdown[handle][unit], time)
            self.compare("op: Markdown", f"{handle} %", markdown[handle]["% of device time"], share)
            self.compare_ms("op: CSV", handle, float(table[handle][unit]), in_ms(f"{time} ms"))
            # The terminal's row.
            line = re.search(rf"^\[?{handle}\b.*$", terminal, re.M)
            if line:
                self.compare("op: terminal's row", f"{handle} {line[0]}", f" {time} " in line[0], True)
                self.compare("op: terminal's row", f"{handle} {line[0]}", f" {share} " in line[0], True)
            # The filter's sum, of a row without copies.
            if not count:
                self.need("op: filter", 1)
                self.compare("op: filter", handle, self.filter_sum(page, f"handle:{handle}")[0], time)
            # The drawer: of the row, and of this one instruction.
            self.go(page, f"#/ops?v=hlo&copies=all&sel={handle}")
            own = self.row(page, f'[data-testid="op-{handle}"]')
            drawer = page.get_by_test_id("inspector")
            self.compare_ms("op: drawer", handle, in_ms(drawer.get_by_test_id("op-ms").locator("b").inner_text()),
                            in_ms(f"{own[unit]} ms"))
            self.compare("op: drawer", f"{handle} %", drawer.get_by_test_id("op-ms-share").locator("b").inner_text(), f"{own['%']}%")
            self.assertIn("of device time", drawer.get_by_test_id("op-ms-share").inner_text())
            together = drawer.get_by_test_id("copies-ms")
            self.assertEqual(together.count(), 1 if count else 0, handle)
            if count:
                self.compare("op: drawer", f"{handle} with copies", together.locator("b").inner_text(), f"{time} ms")
                self.assertIn(f"×{count[1]}", together.inner_text())
            # The terminal's sheet.
            sheet = self.terminal("show", handle, f"{name}.db")
            line = re.search(r"^  per step +(.*)$" if unit == "ms/step" else r"^  whole run +(.*)$", sheet, re.M)[1]
            figure, percent = re.match(r"(.*?) = ([<\d.]+)% of", line).groups()
            self.compare_ms("op: sheet", f"{handle} {line}", in_ms(figure), in_ms(f"{own[unit]} ms"))
            self.compare("op: sheet", f"{handle} %", percent, own["%"])
            if count:
                line = re.search(r"with alike +(.*)$", sheet, re.M)[1]
                self.compare_ms("op: sheet", f"{handle} {line}", in_ms(line.split(" per ")[0].split(" in ")[0]),
                                in_ms(f"{time} ms"))
            # The graph's node.
            self.go(page, f"#/graph?sel={handle}")
            node = page.locator(".gnode.centre")
            if node.count():
                said = node.get_attribute("data-time")
                self.assertIn(said, node.text_content())
                self.compare_ms("op: graph", handle, in_ms(said), in_ms(f"{own[unit]} ms"))
        for place in ("Markdown", "CSV", "drawer", "sheet"):
            self.need(f"op: {place}", len(handles))
        if handles:
            self.need("op: terminal's row", 1)
            if self.has(page, "graph"):
                self.need("op: graph", 1)

    def layers(self, page, name, unit):
        self.go(page, "#/model")
        # A run without instructions has what launched its kernels there.
        rows = self.markdown(page) if page.get_by_test_id("copy-md").count() else []
        tree = bool(rows) and "scope" in rows[0]
        model = {row["scope"].strip(): row for row in rows} if tree else {}
        self.go(page, "#/ops?v=hlo&g=scope")
        groups = page.evaluate(
            """() => [...document.querySelectorAll('[data-testid="page-ops"] [data-testid="group"]')].slice(0, 3).map((r) => {
              const heads = [...r.closest('table').querySelectorAll('th')];
              const cells = [...r.children];
              return {name: r.querySelector('.tree').innerText.replace(/^[▸▾]\\s*/, ''), ms: cells.map((c) => c.innerText)}; })"""
        )
        terminal = self.terminal("summary", f"{name}.db", "--by", "layer", "--format", "csv", "--top", "100000")
        rows = list(csv.DictReader(l for l in io.StringIO(terminal) if not l.startswith("#")))
        for group in groups:
            layer = re.sub(r"\s+[\d,]+ (?:rows?|instructions?)$", "", group["name"].replace("\xa0", " ")).strip()
            if layer == "no layer known":
                continue
            time = group["ms"][1]
            match = [r for r in rows if r.get("layer_group", r.get("layer")) == layer]
            if match:
                key = next(k for k in ("ns_per_step", "ns") if match[0].get(k))
                self.compare_ms("layer: terminal", layer, float(match[0][key]) / 1e6, in_ms(f"{time} ms"))
                self.need("layer: terminal", 1)
            if layer in model:
                self.compare("layer: Model", layer, model[layer][f"total, {unit}"], time)

    def phases(self, page, name, unit):
        self.go(page, "#/ops?v=hlo&g=phase")
        groups = page.evaluate(
            """() => [...document.querySelectorAll('[data-testid="page-ops"] [data-testid="group"]')].map((r) =>
              [r.querySelector('.tree').innerText.replace(/^[▸▾]\\s*/, ''), r.children[1].innerText, r.children[2].innerText])"""
        )
        terminal = self.terminal("summary", f"{name}.db", "--by", "phase", "--width", "160")
        for text, time, share in groups:
            phase = re.search(r"(forward|loss|recompute|backward|optimizer|other|no phase)", text)[1]
            sum_, words = self.filter_sum(page, f"phase:{phase.replace('no phase', 'unknown')}")
            self.compare("phase: filter", phase, sum_, time)
            self.compare("phase: filter", f"{phase}: {words}", f"{share}% of device time" in words, True)
            line = re.findall(rf"^{phase} .*$", terminal.split("all device time")[0], re.M)
            if line:
                self.compare("phase: terminal", f"{phase} {line[-1]}", f" {time} " in line[-1] + " ", True)
        self.need("phase: filter", 2 * len(groups))
        self.need("phase: terminal", min(1, len(groups)))

    def phase_bar(self, page, name):
        """Without steady steps: copies of no phase are copies there, not time that nothing is known of."""
        self.go(page, "#/verdict")
        bar = page.evaluate(
            """() => [...document.querySelectorAll('.phasebar [data-ns]')].map((i) =>
              [i.dataset.testid.replace('part-', ''), Number(i.dataset.ns)])"""
        )
        if not bar:
            return
        self.assertEqual(len({words for words, _ in bar}), len(bar))
        bar = dict(bar)
        with contextlib.closing(support.open_database(self.work / f"{name}.db")) as db:
            # What copies by its kind, or is known as a transfer only by its name (copyBuffer of ROCm).
            (wanted,), = db.execute(
                "SELECT coalesce(sum(self_ns), 0) FROM activity WHERE coalesce(phase, 'unknown') = 'unknown'"
                " AND (op_kind IN ('copy', 'memset') OR unattributed_reason = 'transfer')"
            ).fetchall()
            (device,), = db.execute("SELECT sum(self_ns) FROM activity").fetchall()
        self.assertEqual(sum(ns for words, ns in bar.items() if words.startswith("copies")), wanted)
        self.assertEqual(sum(bar.values()), device)
        # The terminal says the same, with the same words.
        copies = re.search(r"^copies(?:, no phase)? +(\S+) ", self.terminal("summary", f"{name}.db"), re.M)
        if wanted:
            self.assertTrue(same(in_ms(f"{copies[1]} ms"), wanted / 1e6), copies[0])
        else:
            self.assertIsNone(copies)

    def idle(self, page, name):
        """Idle time: of the step's bar, of Idle, of the terminal, and of each finding, by the same causes."""
        self.go(page, "#/idle")
        with contextlib.closing(support.open_database(self.work / f"{name}.db")) as db:
            steps, part = db.execute(
                "SELECT count(*), (SELECT sum(p.wall_ns) FROM step_part p JOIN step s USING (device_id, step)"
                " WHERE s.steady AND p.part = 'idle') FROM step WHERE steady"
            ).fetchone()
            wanted = {
                cause: (ns, count)
                for cause, ns, count in db.execute(
                    "SELECT cause, sum(g.end_ns - g.start_ns), count(*) FROM gap g WHERE ?1 = 0 OR EXISTS (SELECT 1"
                    " FROM step s WHERE s.steady AND s.device_id = g.device_id AND g.start_ns >= s.start_ns"
                    " AND g.start_ns < s.end_ns) GROUP BY cause",
                    (steps,),
                )
            }
            findings = db.execute("SELECT handle, title, evidence FROM finding").fetchall()
        if not page.get_by_test_id("idle-sentence").count():
            self.assertEqual(wanted, {})
            return
        in_gaps = sum(ns for ns, _ in wanted.values())
        whole = part if steps else in_gaps
        headline = page.get_by_test_id("idle-sentence")
        self.assertEqual(int(headline.get_attribute("data-ns")), whole)
        rows = page.evaluate(
            """() => [...document.querySelectorAll('.idlegrid section:first-child tr[data-testid^="cause-"]')].map((r) =>
              [r.dataset.testid.slice(6), Number(r.dataset.ns), ...[...r.children].slice(0, 2).map((c) => c.innerText)])"""
        )
        # Behind the words: how much of it was too short to be judged.
        shown = {cause: (ns, words.split(" · ")[0], time) for cause, ns, words, time in rows}
        self.assertEqual({c: shown[c][0] for c in wanted}, {c: ns for c, (ns, _) in wanted.items()})
        self.assertEqual(set(shown) - set(wanted), {"total"} | ({"shorter"} if whole > in_gaps else set()))
        self.assertEqual(shown["total"][0], whole)
        self.assertEqual(sum(ns for c, (ns, _, _) in shown.items() if c != "total"), whole)
        said = re.match(r"Idle (.*?)(?: a step| in the whole run)[,;]", headline.inner_text())[1]
        self.assertTrue(same(in_ms(said), whole / max(steps, 1) / 1e6), said)
        # The same words in the terminal, and the same digits.
        terminal = self.terminal("summary", f"{name}.db", "--width", "300")
        if steps:
            line = re.search(r"^idle +(\S+) ", terminal, re.M)
            self.assertEqual(f"{line[1]} ms", said)
            self.assertIn(re.search(r"([\d.,]+) gaps?/step", terminal)[1], headline.inner_text())
            self.go(page, "#/verdict")
            self.assertIn(f"idle {said} a step", page.get_by_test_id("fact-busy").inner_text())
        else:
            line = re.search(r"^  idle (.*?) \([^)]*\) in ([\d,]+) gaps?, longest [^:]*: (.*)$", terminal, re.M)
            self.assertTrue(same(in_ms(line[1]), in_ms(said)), line[0])
            self.assertEqual(line[2], f"{sum(n for _, n in wanted.values()):,}")
            for cause in sorted(wanted, key=lambda c: -wanted[c][0])[:3]:
                time = re.search(rf"{shown[cause][1]}(?: \([^)]*\))? ([^,]*)", line[3])
                self.assertTrue(time and same(in_ms(time[1]), wanted[cause][0] / 1e6), line[0])
        # A finding calls the time of its gaps by their causes, and claims no more than there is.
        causes = {words: cause for cause, (_, words, _) in shown.items()}
        for handle, title, evidence in findings:
            of = {}
            for item in json.loads(evidence):
                named = re.match(r"(idle|of these gaps), (.*?)(?: per step| in the run.*|, per step)$", item["text"])
                if not named:
                    self.assertNotIn("this cause", item["text"], title)
                    continue
                cause = causes[named[2].rstrip(",")]
                mean = wanted[cause][0] / max(steps, 1)
                if named[1] == "idle":
                    self.assertAlmostEqual(item["value"], mean, delta=0.006 * mean + 1, msg=title)
                else:
                    self.assertLessEqual(item["value"], mean + 1, title)
                of[cause] = item["value"]
            self.go(page, "#/verdict")
            link = page.get_by_test_id(f"gaps-{handle}")
            self.assertEqual(link.count(), 1 if of else 0, title)
            if of:
                link.click()
                heading = page.locator(".idlegrid section:last-child h2").inner_text()
                for cause in of:
                    self.assertIn(shown[cause][1], heading)
                    # A crumb of a cause's time is no reason to name the finding there.
                    named = handle in page.get_by_test_id(f"cause-{cause}").inner_text().split()
                    self.assertEqual(named, of[cause] >= 0.05 * wanted[cause][0] / max(steps, 1), (handle, cause))


if __name__ == "__main__":
    unittest.main()
