# SPDX-License-Identifier: Apache-2.0
"""The figure of an op, a kernel, a layer or a phase is equal at every place of the page and in the terminal.
Checked for some public captures, with XLATRACE_TEST_TIER=long for all of them."""

import contextlib
import csv
import io
import json
import pathlib
import re
import tarfile
import tempfile
import unittest

import figure_places
import kept_runs
import support
import tiers
from figure_places import in_ms, same, share_of, times_in
from page_clear import Captures

# A CPU with steps, a GPU without steps, kernels without HLO.
FIRST_TIER = (
    "own/jax-cpu/train-20steps-notracer-py.xplane.pb.xz",
    "xplane/jax08_gemm.xplane.pb",
    "kineto/h100_bert-small.json.gz",
)
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

def imported_part(archive, part):
    """Path of the run.db of the profile in folder `part` of an archive of the shared data."""
    packed = support.require_data(archive)
    with tarfile.open(packed) as tar:
        member = next(m for m in tar.getmembers() if m.name.endswith(".xplane.pb") and f"{part}/" in m.name)
        with tempfile.TemporaryDirectory(prefix="xlatrace-e2e-") as folder:
            source = pathlib.Path(folder) / f"{part}.xplane.pb"
            source.write_bytes(tar.extractfile(member).read())
            return kept_runs.import_once(f"run.{part}", source)


class Figures(figure_places.Places, Captures):
    def page_of(self, database, base=None):
        page = self.page(database, "", base)
        page.set_viewport_size({"width": 1600, "height": 1000})
        return page

    def go(self, page, hash_):
        page.evaluate("(h) => { location.hash = h; }", hash_)

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
        return re.match(r"(.*?) ms", words)[1], words

    def check_with_base(self, capture, base):
        run, then = self.imported(capture), self.imported(base)
        self.start_places()
        page = self.page_of(then)
        kernels = self.kernel_times(page, self.unit_of(page))
        page = self.page_of(run, then)
        unit = self.unit_of(page)
        self.with_base(page, run, then, unit)
        self.kernels_with_base(page, kernels, unit)
        self.ops(page, run, unit)
        self.check_places()

    def kernel_times(self, page, unit):
        """The times of a page's table of kernels, by names that are one kernel's."""
        self.go(page, "#/ops?v=kernel")
        rows = [(row["kernel name"].strip(), row[unit]) for row in self.markdown(page)]
        names = sorted(name for name, _ in rows)
        # Names that begin alike are neighbours: a name that begins the next one is not one kernel's.
        shared = {name for name, after in zip(names, names[1:]) if after.startswith(name)}
        return {name: time for name, time in rows if name not in shared}

    def kernels_with_base(self, page, base, unit):
        """Compare's kernels against the table of each run's own page, by names that mean one kernel in both.
        Compare sums kernels that differ only in a number or in template arguments."""
        now = self.kernel_times(page, unit)
        self.go(page, "#/compare?by=kernel")
        rows = [row for row in self.markdown(page) if row["kernel"] in now and row["kernel"] in base][:5]
        if rows:
            self.need("kernel: base in Compare", 1)
        for row in rows:
            self.compare("kernel: base in Compare", f"{row['kernel']} base", row["base ms"], base[row["kernel"]])
            self.compare("kernel: base in Compare", f"{row['kernel']} new", row["new ms"], now[row["kernel"]])

    def unit_of(self, page):
        unit = page.get_by_test_id("filter-sum").inner_text().split()[1]
        self.assertIn(unit, ("ms", "ms/step"))
        return unit

    def check(self, run):
        self.start_places()
        page = self.page_of(run)
        unit = self.unit_of(page)
        html = kept_runs.page_of(run).read_text(encoding="utf-8")
        static = figure_places.StaticRows(html[html.index("<main>"):html.index("</main>")])
        self.headline(page, unit)
        self.ops(page, run, unit)
        self.kernels(page, run, unit, static)
        self.op_tables(page, unit, static)
        self.layers(page, run, unit)
        self.model_phases(page, run, unit)
        self.phases(page, run, unit)
        self.check_places()
        self.phase_bar(page, run)
        self.idle(page, run)

    def row(self, page, selector):
        """Cells of a row of Ops by their headings."""
        return page.evaluate(
            """(s) => { const tr = document.querySelector(s); if (!tr) return null;
            const heads = [...tr.closest('table').querySelectorAll('th')].map((h) => h.innerText.replace(/[▼▲]/g, '').trim());
            return Object.fromEntries([...tr.children].map((td, i) => [heads[i], td.innerText.trim()])); }""",
            selector,
        )

    def headline(self, page, unit):
        """The sentence and the list below the actions have the time of an op itself."""
        self.go(page, "#/verdict")
        sentence = page.get_by_test_id("verdict-sentence").inner_text()
        if page.get_by_test_id("verdict-lede").count():
            sentence += " " + page.get_by_test_id("verdict-lede").inner_text()
        # One line, and at most two for the reason, at the width that the page is drawn for.
        page.set_viewport_size({"width": 1440, "height": 1000})
        for name, lines in (("verdict-sentence", 1), ("verdict-lede", 2)):
            line = page.get_by_test_id(name)
            if line.count():
                height, one = line.evaluate(
                    "(e) => [e.getBoundingClientRect().height, parseFloat(getComputedStyle(e).lineHeight)]"
                )
                self.assertLess(height, (lines + 0.6) * one, line.inner_text())
        page.set_viewport_size({"width": 1600, "height": 1000})
        # An instruction and its time; what an op that the sentence names takes.
        said = re.search(r"(\S+) \w+ ([\d.,]+ (?:ms|µs|s))\b", sentence)
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
                # The share of the step is also shown, as in the drawer.
                percent = re.search(r"([\d.]+)%", sentence[said.start():].split(".  ")[0])
                if percent:
                    self.go(page, f"#/ops?v=hlo&copies=all&sel={row.get_attribute('data-testid')[3:]}")
                    shares = [text for text in page.locator(".stat b").all_inner_texts() if text.endswith("%")]
                    of_step = min(shares, key=lambda text: abs(float(text.rstrip("%").lstrip("<")) - float(percent[1])))
                    self.places["headline: percent"] += 1
                    if abs(float(percent[1]) - float(of_step.rstrip("%"))) > (0.55 if "." not in percent[1] else 0.11):
                        self.wrong.append(f"headline, {sentence}: {percent[1]}%, drawer: {of_step}")
                    self.go(page, "#/ops?v=hlo")

    def ops(self, page, run, unit):
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
        terminal = self.command("summary", run, "--top", "30", "--width", "200")
        for handle in handles:
            self.go(page, "#/ops?v=hlo")
            row = self.row(page, f'[data-testid="op-{handle}"]')
            time, share = row[unit], row["%"]
            count = re.search(r"×(\d+)", row["instruction"])
            # Copied tables.
            self.compare("op: Markdown", handle, markdown[handle][unit], time)
            self.compare("op: Markdown", f"{handle} %", share_of(markdown[handle]), share)
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
            together = drawer.get_by_test_id("copies-ms")
            self.assertEqual(together.count(), 1 if count else 0, handle)
            if count:
                self.compare("op: drawer", f"{handle} with copies", together.locator("b").inner_text(), f"{time} ms")
                self.assertIn(f"×{count[1]}", together.inner_text())
            # The terminal's sheet.
            sheet = self.command("show", handle, run)
            # The line of the whole run, then that of a step, if there are steps.
            line = re.findall(r"^  \D+? +([<\d].*? = [<\d.]+%.*)$", sheet, re.M)[1 if unit == "ms/step" else 0]
            figure, percent = re.match(r"(.*?) = ([<\d.]+)%", line).groups()
            self.compare_ms("op: sheet", f"{handle} {line}", in_ms(figure), in_ms(f"{own[unit]} ms"))
            self.compare("op: sheet", f"{handle} %", percent, own["%"])
            if count:
                line = re.search(r"^  .*\balike +(.*)$", sheet, re.M)[1]
                self.compare_ms("op: sheet", f"{handle} {line}", times_in(line)[0] / 1e6, in_ms(f"{time} ms"))
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

    def layers(self, page, run, unit):
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
        terminal = self.command("summary", run, "--by", "layer", "--format", "csv", "--top", "100000")
        rows = list(csv.DictReader(l for l in io.StringIO(terminal) if not l.startswith("#")))
        for group in groups:
            layer = re.sub(r"\s+[\d,]+ (?:rows?|instructions?)$", "", group["name"].replace("\xa0", " ")).strip()
            if " " in layer:  # Work without a layer.
                continue
            time = group["ms"][1]
            match = [r for r in rows if r.get("layer_group", r.get("layer")) == layer]
            if match:
                key = next(k for k in ("ns_per_step", "ns") if match[0].get(k))
                self.compare_ms("layer: terminal", layer, float(match[0][key]) / 1e6, in_ms(f"{time} ms"))
                self.need("layer: terminal", 1)
            if layer in model:
                self.compare("layer: Model", layer, model[layer][f"total, {unit}"], time)

    def phases(self, page, run, unit):
        self.go(page, "#/ops?v=hlo&g=phase")
        groups = page.evaluate(
            """() => [...document.querySelectorAll('[data-testid="page-ops"] [data-testid="group"]')].map((r) =>
              [r.querySelector('.tree').innerText.replace(/^[▸▾]\\s*/, ''), r.children[1].innerText, r.children[2].innerText])"""
        )
        terminal = self.command("summary", run, "--by", "phase", "--width", "160")
        for text, time, share in groups:
            known = re.search(r"(forward|loss|recompute|backward|optimizer|other)\b", text)
            phase = known[1] if known else re.search(r"[a-z]+(?: [a-z]+)*", text)[0]
            sum_, words = self.filter_sum(page, f"phase:{known[1] if known else 'unknown'}")
            self.compare("phase: filter", phase, sum_, time)
            self.compare("phase: filter", f"{phase}: {words}", f" {share}% " in words, True)
            line = re.findall(rf"^{phase} .*$", terminal, re.M)  # The last one is of the table of phases.
            if line:
                self.compare("phase: terminal", f"{phase} {line[-1]}", f" {time} " in line[-1] + " ", True)
        self.need("phase: filter", 2 * len(groups))
        self.need("phase: terminal", min(1, len(groups)))

    def phase_bar(self, page, run):
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
        with contextlib.closing(support.open_database(run)) as db:
            # Copies by kind, and transfers that only their name identifies (copyBuffer of ROCm).
            (wanted,), = db.execute(
                "SELECT coalesce(sum(self_ns), 0) FROM activity WHERE coalesce(phase, 'unknown') = 'unknown'"
                " AND (op_kind IN ('copy', 'memset') OR unattributed_reason = 'transfer')"
            ).fetchall()
            (device,), = db.execute("SELECT sum(self_ns) FROM activity").fetchall()
        self.assertEqual(sum(ns for words, ns in bar.items() if words.startswith("copies")), wanted)
        self.assertEqual(sum(bar.values()), device)
        # The terminal prints the same figure with the same words.
        copies = re.search(r"^copies\D* (\S+) ", self.command("summary", run), re.M)
        if wanted:
            self.assertTrue(same(in_ms(f"{copies[1]} ms"), wanted / 1e6), copies[0])
        else:
            self.assertIsNone(copies)

    def idle(self, page, run):
        """Idle time: of the step's bar, of Idle, of the terminal, and of each finding, by the same causes."""
        self.go(page, "#/idle")
        with contextlib.closing(support.open_database(run)) as db:
            steps, part = db.execute(
                "SELECT count(*), (SELECT sum(p.wall_ns) FROM step_part p JOIN step s USING (device_id, step)"
                " WHERE s.typical AND p.part = 'idle') FROM step WHERE typical"
            ).fetchone()
            wanted = {
                cause: (ns, count)
                for cause, ns, count in db.execute(
                    "SELECT cause, sum(g.end_ns - g.start_ns), count(*) FROM gap g WHERE ?1 = 0 OR EXISTS (SELECT 1"
                    " FROM step s WHERE s.typical AND s.device_id = g.device_id AND g.start_ns >= s.start_ns"
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
        said = re.search(r"[\d.,]*\d \w+", headline.inner_text())[0]
        self.assertTrue(same(in_ms(said), whole / max(steps, 1) / 1e6), said)
        # The same words in the terminal, and the same digits.
        terminal = self.command("summary", run, "--width", "300")
        if steps:
            line = re.search(r"^idle +(\S+) ", terminal, re.M)
            self.assertEqual(f"{line[1]} ms", said)
            self.assertIn(re.search(r"([\d.,]+) gaps?/step", terminal)[1], headline.inner_text())
            self.go(page, "#/verdict")
            self.assertIn(f"idle {said} ", page.get_by_test_id("fact-busy").inner_text())
        else:
            line = re.search(r"^  idle (.*?) \([^)]*\) in ([\d,]+) gaps?\b[^:]*: (.*)$", terminal, re.M)
            self.assertTrue(same(in_ms(line[1]), in_ms(said)), line[0])
            self.assertEqual(line[2], f"{sum(n for _, n in wanted.values()):,}")
            for cause in sorted(wanted, key=lambda c: -wanted[c][0])[:3]:
                time = re.search(rf"{shown[cause][1]}(?: \([^)]*\))? ([^,]*)", line[3])
                self.assertTrue(time and same(in_ms(time[1]), wanted[cause][0] / 1e6), line[0])
        # A finding names the causes of its gaps with their time, and claims at most that time.
        for handle, title, evidence in findings:
            of = {}
            for item in json.loads(evidence):
                cause = item.get("cause")
                if cause is None or item["unit"] != "ns":
                    continue
                # Its text has the words of the cause that the page has.
                self.assertIn(shown[cause][1], item["text"], title)
                mean = wanted[cause][0] / max(steps, 1)
                if item["text"].startswith("idle, "):  # All of the cause, not some of its gaps.
                    self.assertAlmostEqual(item["value"], mean, delta=0.006 * mean + 1, msg=title)
                else:
                    self.assertLessEqual(item["value"], mean + 1, title)
                of[cause] = item["value"]
            self.go(page, "#/verdict")
            link = page.get_by_test_id(f"gaps-{handle}")
            self.assertEqual(link.count(), 1 if of else 0, title)
            if of:
                link.click()
                heading = page.locator(".idlegrid h2").last.inner_text()
                for cause in of:
                    self.assertIn(shown[cause][1], heading)
                    # A crumb of a cause's time is no reason to name the finding there.
                    named = handle in page.get_by_test_id(f"cause-{cause}").inner_text().split()
                    self.assertEqual(named, of[cause] >= 0.05 * wanted[cause][0] / max(steps, 1), (handle, cause))


def _add_tests():
    def add(name, check):
        slug = re.sub(r"\W+", "_", name)
        setattr(Figures, f"test_figures_of_{slug}_are_the_same_everywhere", check)

    for capture in CAPTURES if tiers.IS_LONG else FIRST_TIER:
        add(capture, lambda self, capture=capture: self.check(self.imported(capture)))
    for capture, base in WITH_BASE if tiers.IS_LONG else WITH_BASE[:1]:
        add(f"{capture} with base", lambda self, pair=(capture, base): self.check_with_base(*pair))
    if tiers.IS_LONG:
        for archive, parts in PACKED.items():
            for part in parts:
                add(part, lambda self, part=(archive, part): self.check(imported_part(*part)))
        add("merged job", lambda self: self.check(self.job()))


_add_tests()

if __name__ == "__main__":
    unittest.main()
