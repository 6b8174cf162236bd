# SPDX-License-Identifier: Apache-2.0
"""Facts that the page shows once and in one way. They are idle time before its causes, one reference for slow
devices, one name per thread, explained words, and labels that cover nothing. Run by test_page_clear.py."""

import collections
import contextlib
import json
import pathlib
import re
import shutil
import unittest

from playwright.sync_api import expect

import kept_runs
import page_reader
import support
from figure_places import same, times_in
from page_browser import Browser, definition, words_of
from support import LONG, only_long

MAXTEXT = "captures/nsys-jax-maxtext-fsdp4-h100"
PAX = "captures/nsys-jax-pax-fsdp4-a100"
# PyTorch's, without any HLO.
CPU = "own/jax-cpu/train-20steps-notracer-py.xplane.pb.xz"
TPU = "xplane/tpu_v6e_jit_f_4chips.xplane.pb"
KINETO = "kineto/h100_bert-small.json.gz"
B200 = "kineto/b200_eager_trace.json.gz"
MI300 = "kineto/mi300_bert-small.json.gz"


def figure(ns):
    """As the page writes a time in ms: three digits, at most three decimals."""
    ms = ns / 1e6
    return f"{ms:.3f}" if ms < 0.9995 else f"{ms:.3g}" if ms < 999.5 else f"{float(f'{ms:.3g}'):,.0f}"


class Captures(Browser):
    """Pages of public captures; runs and pages are made once for all tests (kept_runs.py)."""

    imported = staticmethod(kept_runs.imported_run)

    def page(self, database, fragment, base=None):
        return self.open(fragment, url=kept_runs.page_of(database, base).as_uri())

    @staticmethod
    def data(database):
        """The data in the page of a run."""
        return page_reader.Page.open(kept_runs.page_of(database))

    def command(self, *arguments):
        """The output of a command; the first run is named without its folder."""
        run = next(argument for argument in arguments if isinstance(argument, pathlib.Path))
        result = support.run(*(run.name if argument is run else argument for argument in arguments), cwd=run.parent)
        self.assertEqual(result.code, 0, result)
        return result.stdout

    def ask(self, database, sql):
        with contextlib.closing(support.open_database(database)) as db:
            return db.execute(sql).fetchall()

    def pair(self):
        return self.imported("nsys/mfu_2gpu_after.sqlite"), self.imported("nsys/mfu_2gpu_before.sqlite")

    def maxtext(self):
        return self.imported(MAXTEXT)

    def job(self):
        return kept_runs.merged_run("job", *(self.imported(f"{PAX}/{part}") for part in ("proc0", "proc1.zip")))

    @staticmethod
    def visit(page, fragment):
        page.evaluate("(h) => { location.hash = h; }", fragment)
        page.wait_for_selector(f'[data-testid="page-{re.match(r"#/([a-z]+)", fragment)[1]}"]')


class Idle(Captures):
    def test_headline_names_the_largest_part_of_run_or_step(self):
        run = self.imported("kineto/hta_sampled_rank0.json.gz")
        document = json.loads(self.command("summary", run, "--format", "json"))
        answer = document["answer"]["run"] or document["answer"]["step"]
        shares = {f"{100 * part['ns'] / answer['whole_ns']:.1f}%" for part in answer["path"][1:]}
        page = self.page(run, "#/verdict")
        sentence, lede = page.get_by_test_id("verdict-sentence"), page.get_by_test_id("verdict-lede")
        self.assertTrue(shares & set(re.findall(r"[\d.]+%", sentence.inner_text())), sentence.inner_text())
        shown = page_reader.in_ascii(f"{sentence.inner_text()} {lede.inner_text()}")
        self.assertIn(" ".join(document["verdict"]["sentence"].split()), " ".join(shown.split()))

    def test_idle_sum_equals_its_tile_if_there_are_no_steps(self):
        run, _ = self.pair()
        (idle,), = self.ask(run, "SELECT sum(end_ns - start_ns) FROM gap")
        (wall,), = self.ask(run, "SELECT sum(end_ns - start_ns) FROM busy_time")
        page = self.page(run, "#/verdict")
        self.assertIn(f"{100 * idle / wall:.1f}%", page.get_by_test_id("fact-idle").inner_text())
        self.assertIn(f"{figure(idle)} ms", page.get_by_test_id("fact-idle").inner_text())

    @only_long
    def test_thread_has_the_same_name_as_on_the_timeline(self):
        page = self.page(self.maxtext(), "#/idle")
        gaps = page.get_by_test_id("gap")
        gaps.first.wait_for()
        names = {row.locator("td").last.inner_text() for row in gaps.all()[:40]} - {""}
        self.assertTrue(names)
        for name in names:
            self.assertRegex(name, r"^thread \d+$")

    def test_thread_with_a_hash_as_id_gets_a_number(self):
        run = self.imported(CPU)
        ids = {id for id, in self.ask(run, "SELECT DISTINCT thread_id FROM range")}
        self.assertGreater(max(map(abs, ids)), 2**53)  # No double holds them exactly.
        page = self.page(run, "#/idle")
        threads = page.get_by_test_id("gap-thread")
        threads.first.wait_for()
        told = dict(threads.evaluate_all("(all) => all.map((e) => [e.title, e.innerText])"))
        for title, text in told.items():
            if title:
                said, id = re.fullmatch(r"(.*?\b\d{1,4}\)?), id (-?\d+)", title).groups()
                self.assertEqual(text, said)
                self.assertIn(int(id), ids)
        self.assertEqual(len(told), len(set(told.values())))

    @only_long
    def test_columns_of_gaps_are_filled_and_headings_uncut(self):
        fits = "(all) => all.map((e) => [e.innerText, e.scrollWidth <= e.clientWidth])"
        captures = (TPU, "xplane/jax08_elementwise.xplane.pb", MAXTEXT)
        for run in map(self.imported, captures if LONG else captures[1:2]):
            page = self.page(run, "#/idle")
            page.get_by_test_id("gap").first.wait_for()
            table = page.locator("table", has=page.get_by_test_id("gap").first)
            heads = table.locator("th").evaluate_all(fits)
            self.assertEqual([text for text, whole in heads if not whole], [], run)
            cells = [row.locator("td").all_inner_texts() for row in page.get_by_test_id("gap").all()[:200]]
            for (head, _), column in zip(heads, zip(*cells)):
                self.assertNotEqual(set(column), {""}, (run, head))

    @only_long
    def test_finding_is_listed_only_at_causes_that_it_explains(self):
        crumbs = 0
        for run in (self.imported("kineto/hta_sampled_rank0.json.gz"), self.imported(CPU)):
            page = self.page(run, "#/idle")
            page.get_by_test_id("cause-total").wait_for()
            causes = dict(self.ask(run, "SELECT cause, sum(g.end_ns - g.start_ns) FROM gap g JOIN step s ON s.device_id = g.device_id AND s.typical"
                                        " AND g.start_ns >= s.start_ns AND g.start_ns < s.end_ns GROUP BY 1"))
            (steps,), = self.ask(run, "SELECT count(*) FROM step WHERE typical")
            for cause, ns in causes.items():
                row = page.get_by_test_id(f"cause-{cause}")
                for f in self.data(run).meta["findings"]:
                    part = sum(e["value"] for e in f["evidence"] if e.get("cause") == cause and e["unit"] == "ns") * steps
                    if not part:
                        continue
                    named = row.locator("a.h", has_text=re.compile(f"^{f['handle']}$")).count()
                    self.assertEqual(named, int(part >= 0.05 * ns), (run, cause, f["handle"]))
                    crumbs += not named
                    if not named and cause == "unknown":
                        self.assertNotIn(f["title"], page.get_by_test_id("idle-why").inner_text())
        self.assertGreater(crumbs, 0)


class Actions(Captures):
    def test_saving_is_an_upper_bound_or_has_a_lower_bound(self):
        pax = self.imported(PAX)
        for run in (pax, self.maxtext(), self.imported(CPU)) if LONG else (pax,):
            page = self.page(run, "#/verdict")
            bounds = set()
            for handle, basis, low, high in self.ask(run, "SELECT handle, basis, saves_low_ns_per_step, saves_high_ns_per_step FROM finding"):
                action = page.get_by_test_id(f"finding-{handle}")
                if high is None or action.count() == 0:
                    continue
                bound = "≤" in action.locator(".save").inner_text()
                bounds.add(bound)
                self.assertEqual(not bound, basis == "replay" and bool(low), (run, handle))
                action.get_by_role("button", name=re.compile("^evidence")).click()
                basis = times_in(action.locator(".more > .dim").inner_text())
                self.assertEqual([same(ns, low) for ns in basis], [True] if low else [], (run, handle))
                self.visit(page, f"#/verdict?sel={handle}")
                stats = page.get_by_test_id("inspector").locator(".stat b").all_inner_texts()
                self.assertEqual(f"≥ {figure(low)}" in stats if low else not any("≥" in stat for stat in stats), True, (run, handle))
                self.visit(page, "#/verdict")
            if run is pax:
                self.assertEqual(bounds, {False, True})
                self.assert_golden_words(page.locator(".acts ~ p.cap"))


class Places(Captures):
    """Ops that represent copies on the Source page, and their colours."""

    def rows(self, run):
        page = self.data(run)
        return page.rows("ops"), page.rows("op_shares")

    def test_source_line_folds_copies_like_the_ops_page(self):
        run = self.imported(PAX)
        page = self.page(run, "#/ops")
        ops, shares = self.rows(run)
        folded = page.locator('#p-ops tr[data-testid^="op-"]').filter(has=page.locator(".tag", has_text="×12")).first.get_attribute("data-testid")
        first = next(op for op in ops if op["handle"] == folded.removeprefix("op-"))
        file, line = first["source_file"], first["source_line"]
        mine = [s for s in shares if (s["source_file"], s["source_line"]) == (file, line) and s["op"] is not None]
        ns = sum(s["ns"] for s in mine if ops[s["op"]]["copies"] == first["copies"])
        self.visit(page, f"#/source?file={file}&line={line}")
        row = page.locator("#p-source").get_by_test_id(folded)
        expect(row.locator(".tag").first).to_have_text("×12")
        self.assertAlmostEqual(self.ns(row), ns, delta=1e-6 * ns)
        expect(page.locator("#p-source .l.hot .tops")).to_contain_text(first["handle"])
        # No two rows are copies of one instruction, and together they are the line.
        names = [e.removeprefix("op-") for e in page.locator('#p-source table tr[data-testid^="op-"]').evaluate_all("(all) => all.map((e) => e.dataset.testid)")]
        of = [op["copies"] for op in ops if op["handle"] in names and op["copies"] is not None]
        self.assertEqual(len(of), len(set(of)))
        self.visit(page, f"#/source?file={file}&line={line}&copies=all")
        expect(page.locator("#p-source").get_by_test_id(folded).locator(".tag", has_text="×12")).to_have_count(0)

    @only_long
    def test_bars_and_letters_are_of_one_colour(self):
        run = self.maxtext()
        page = self.page(run, "#/source")
        ops, shares = self.rows(run)
        page.locator("#p-source .l.has").first.wait_for()
        path = page.locator("#p-source .srchead b").inner_text()
        wanted = {}
        for s in shares:
            op = ops[s["op"]] if s["op"] is not None else None
            if op and s["ns"] and s["source_file"] == path:
                kind = {"memset": "copy"}.get(op["op_kind"], op["op_kind"])
                wanted.setdefault(str(s["source_line"] or 0), set()).add(kind if kind in ("copy", "collective") else s["phase"])
        shown = dict(page.locator("#p-source .l.has").evaluate_all(
            "(all) => all.map((e) => [e.dataset.key, [...e.querySelectorAll('.t i')].map((i) => i.className.slice(2))])"))
        self.assertEqual({line: set(hues) for line, hues in shown.items()}, wanted)
        self.assertTrue(any("collective" in hues for hues in shown.values()))


class Compared(Captures):
    @only_long
    def test_thread_of_a_comparison_has_the_name_in_its_run(self):
        now, _ = self.pair()
        known = {f"{name} ({thread})" for thread, name in self.ask(now, "SELECT thread_id, name FROM thread")}
        page = self.page(now, "#/idle")
        gaps = page.get_by_test_id("gap")
        gaps.first.wait_for()
        names = {row.locator("td").last.inner_text() for row in gaps.all()[:40]} - {""}
        self.assertTrue(names)
        self.assertLessEqual(names, known)

    def test_less_time_of_fewer_executions_is_not_marked_as_gain(self):
        now, base = self.pair()
        page = self.page(now, "#/compare", base)
        rows = page.get_by_test_id("compare-row")
        rows.first.wait_for()
        marks = rows.locator(".dbar").evaluate_all("(all) => all.map((e) => e.className)")
        calls = [row.locator("td").nth(-2).inner_text() for row in rows.all()]
        self.assertEqual(len(marks), len(calls))
        self.assertTrue(any("→" in text for text in calls), calls)
        for mark, text in zip(marks, calls):
            self.assertEqual("other" in mark.split(), "→" in text, (mark, text))
        # Two differences of a row; the note defines both.
        unit = words_of(page.get_by_test_id("compare-unit").inner_text())
        told = rows.filter(has_text="ncclDevKernel").first.locator("td").all_inner_texts()
        (was, n), (is_now, m) = (self.ask(db, "SELECT sum(self_ns), count(*) FROM activity WHERE name LIKE 'ncclDevKernel_SendRecv%'")[0] for db in (base, now))
        heads = page.locator("table", has=rows.first).locator("th").all_inner_texts()
        self.assertEqual(told[heads.index("Δ ms")], f"+{figure(is_now - was)}")
        (alike,) = (i for i, head in enumerate(heads) if head.startswith("Δ, "))
        self.assertEqual(told[alike].split()[0], f"+{figure(is_now - was * m / n)}")
        # By hand: from one long flash kernel to the next, which each block has once. (Blocks are 17 and 15: a
        # recording counts one more or less at its borders.)
        spacing = "SELECT (max(start_ns) - min(start_ns)) / (count(*) - 1.0) FROM activity" \
            " WHERE name LIKE 'flash_fwd%' AND end_ns - start_ns > 1000000 GROUP BY device_id"
        then, since = (sum(ns for (ns,) in self.ask(db, spacing)) for db in (base, now))
        longer = 100 * (since / then - 1)
        verdict = page.get_by_test_id("compare-verdict").inner_text()
        self.assertAlmostEqual(float(re.search(r"([\d.]+)%", verdict)[1]), longer, delta=0.6)
        self.assert_golden_text(f"{unit}\n---\n{words_of(verdict)}")
        # The page gives the reason once; the figure of less device time is never bold.
        self.visit(page, "#/verdict")
        said = page.get_by_test_id("base-verdict")
        expect(said.locator("b")).to_have_text(verdict.splitlines()[0])
        self.assertNotIn("−", said.inner_text())
        expect(said.get_by_test_id("to-compare")).to_have_count(1)

    @only_long
    def test_without_a_match_no_page_shows_a_difference_of_ops(self):
        now, base = self.pair()
        page = self.page(now, "#/model", base)
        for fragment in ("#/model", "#/occupancy", "#/roofline"):
            self.visit(page, fragment)
            self.assertEqual(page.locator("main th").filter(has_text="Δ").count(), 0, fragment)

    @only_long
    def test_mark_of_an_equal_base_is_at_the_bar_end(self):
        run = self.maxtext()
        page = self.page(run, "#/ops?v=hlo", run)
        bars = page.locator('[data-testid="page-ops"] .cellbar.was')
        bars.first.wait_for()
        # The same run: every mark is at the end of its bar.
        for bar, mark in bars.evaluate_all("(all) => all.map((e) => [e.style.getPropertyValue('--w'), e.style.getPropertyValue('--b')])")[:20]:
            self.assertAlmostEqual(float(bar.rstrip("%")), float(mark.rstrip("%")), delta=0.5)

    @only_long
    def test_comparison_shows_changes_in_a_window_of_400_pixels(self):
        now, base = self.pair()
        page = self.page(now, "#/compare", base)
        page.set_viewport_size({"width": 400, "height": 800})
        page.wait_for_function(
            """() => { const tr = document.querySelector('[data-testid="compare-row"]');
            const b = tr && tr.querySelector('td.num b'); return b && b.getBoundingClientRect().right <= 400; }"""
        )


class Devices(Captures):
    def test_slow_devices_are_measured_against_the_median_device_everywhere(self):
        run = self.maxtext()
        page = self.page(run, "#/ranks")
        cost = page.get_by_test_id("rank-cost")
        cost.wait_for()
        # The title has a hint, and no second reference.
        texts = [cost.inner_text(), cost.get_attribute("title"), page.get_by_test_id("rank-sentence").inner_text()]
        self.visit(page, "#/verdict")
        (handle,) = self.ask(run, "SELECT handle FROM finding WHERE id = 'arrival_skew'")[0]
        texts.append(page.get_by_test_id(f"finding-{handle}").inner_text())
        self.assert_golden_text("\n---\n".join(map(words_of, texts)))

    @only_long
    def test_ranks_page_shows_collectives_in_a_window_of_400_pixels(self):
        page = self.page(self.maxtext(), "#/ranks")
        page.set_viewport_size({"width": 400, "height": 800})
        page.wait_for_function(
            """() => { const th = [...document.querySelectorAll('#p-ranks th')].find((e) => e.innerText.startsWith('waits, moves'));
            return th && th.getBoundingClientRect().right <= 400; }"""
        )

    def test_job_without_a_culprit_has_no_other_sentence_of_waiting(self):
        job = self.job()
        page = self.page(job, "#/verdict")
        # run.db of the first recording has a sentence of waiting, which neither the page nor the terminal repeats.
        ((waiting,),) = self.ask(job, "SELECT text FROM ruled_out WHERE id = 'arrival_skew'")
        subject = waiting.split(":")[0]
        for said in (page.get_by_test_id("page-verdict").inner_text(), self.command("summary", job, "--width", "400")):
            self.assertNotIn(subject, " ".join(said.split()))
        self.assert_golden_words(page.get_by_test_id("verdict-job"))

    @only_long
    def test_kernels_named_as_collectives_are_drawn_as_collectives(self):
        run, _ = self.pair()
        page = self.page(run, "#/ops?v=kernel")
        row = page.locator('[data-testid^="kernel-k"]').filter(has_text="ncclDevKernel").first
        expect(row.locator(".ltr.p-collective")).to_have_count(1)
        expect(page.get_by_test_id("phase-collective")).to_be_visible()
        (ns,), = self.ask(run, "SELECT sum(self_ns) FROM activity WHERE name LIKE '%nccl%'")
        page.get_by_test_id("phase-collective").click()
        self.expect_ns(page.get_by_test_id("filter-sum"), ns)


class Words(Captures):
    WORDS = ("steady step", "self time", "device time", "idle", "exposed", "replay", "occupancy",
             "exact, inferred", "waste", "critical path")  # fmt: skip

    def test_help_and_run_page_have_the_same_glossary(self):
        page = self.open("#/run")
        page.keyboard.press("?")
        box = page.get_by_test_id("glossary")
        box.wait_for()
        read = "(all) => all.map((e) => [e.innerText, e.nextElementSibling.innerText])"
        told = dict(box.locator("dt").evaluate_all(read))
        for word in self.WORDS:
            self.assertGreater(len(told.get(word, "")), 20, word)
        there = dict(page.locator("#p-run dt").evaluate_all(read))
        for word, meaning in told.items():
            self.assertEqual(there.get(word), meaning, word)

    def test_ratio_of_backward_to_forward_names_its_time(self):
        run = self.maxtext()
        page = self.page(run, "#/model")
        times = dict(self.ask(run, "SELECT phase, sum(self_ns) FROM phase_time JOIN step USING (device_id, step) WHERE typical GROUP BY phase"))
        said = page.get_by_test_id("model-ratio")
        whole = (times["backward"] + times["recompute"]) / times["forward"]
        expect(said).to_contain_text(f" {whole:.3g}×")
        self.assert_golden_words(said)

    def test_show_of_a_kernel_has_the_figures_of_the_page(self):
        run = self.maxtext()
        sheet = self.command("show", "k1", run)
        page = self.page(run, "#/ops?v=kernel")
        row = page.locator('[data-testid="kernel-k1"]')
        per_step = row.locator("td.bar").inner_text()
        (ns, launches), = self.ask(run, "SELECT self_ns, launches FROM kernel WHERE handle = 'k1'")
        self.assertRegex(sheet, rf"(?m)^  .* {ns / 1e9:.3g} s \D*{launches}\b.*\n  .* {re.escape(per_step)} ms ")


class Graph(Captures):
    @only_long
    def test_graph_labels_do_not_overlap(self):
        page = self.page(self.maxtext(), "#/graph")
        page.locator(".gnode.centre").wait_for()
        zoom = page.locator(".gzoom").bounding_box()
        box = page.locator(".graphbox").bounding_box()
        self.assertLessEqual(zoom["y"] + zoom["height"], box["y"])
        labels = page.evaluate(
            """() => [...document.querySelectorAll('.graphbox svg text.halo')].map((e) => {
              const r = e.getBoundingClientRect(); return [e.textContent, r.left, r.top + 2, r.right, r.bottom - 2]; })"""
        )
        self.assertGreater(len(labels), 10)
        for i, (text, left, top, right, bottom) in enumerate(labels):
            for other, l, t, r, b in labels[i + 1:]:
                self.assertFalse(left < r and l < right and top < b and t < bottom, (text, other))


    def test_copies_to_host_memory_have_no_device_rate(self):
        page = self.page(self.imported("xplane/tpu_v6e_jit_f_4chips.xplane.pb"), "#/graph?sel=o1")
        page.get_by_test_id("graph-node-copy-done.2").wait_for()
        self.assertEqual(page.locator(".gedge.bad, .badtext").count(), 0)
        self.assertNotIn("B/s", page.get_by_test_id("page-graph").inner_text())
        self.assert_golden_words(page.locator("#p-graph .note, #p-graph p").first)
        # A run that is of no GPU gets no command that records one.
        page.get_by_test_id("tab-occupancy").click()
        self.assertEqual(page.get_by_test_id("page-occupancy").locator("code").count(), 0)
        self.assert_golden_words(page.get_by_test_id("page-occupancy"))

    def test_a_copy_from_the_host_has_its_rate_and_direction(self):
        run = self.imported(TPU)
        page = self.page(run, "#/ops?sel=o1")
        steady = "FROM activity JOIN step USING (device_id, step) WHERE typical AND name LIKE '%copy-done.2'"
        (ns, calls), = self.ask(run, f"SELECT sum(self_ns), count(*) {steady}")
        size = 5 * 1024 * 1024 * 256 * 4  # f32[5,1024,1024,256]
        drawer = page.get_by_test_id("inspector")
        fact = definition(drawer, "traffic")
        self.assertEqual(re.findall(r"[\d.]*\d (?:G|M)B\S*", fact.inner_text()), [f"{size / 1e9:.3g} GB", f"{size * calls / ns:.3g} GB/s"])
        # The sentence of the bound repeats the fact.
        bound = drawer.locator("p", has_text=fact.inner_text())
        self.assert_golden_words(fact, bound)

    @only_long
    def test_node_and_drawer_have_the_time_of_the_same_devices(self):
        run = self.imported(PAX)
        page = self.page(run, "#/graph")
        data = self.data(run)
        devices = collections.Counter(row["op"] for row in data.rows("op_devices"))
        op = max((op for i, op in enumerate(data.rows("ops")) if devices[i] == 1), key=lambda op: op["ns"])
        handle, name = op["handle"], op["instruction"]
        self.visit(page, f"#/graph?sel={handle}")
        drawer = page.get_by_test_id("inspector")
        mean, there = (float(drawer.get_by_test_id(id).locator("b").inner_text().removesuffix(" ms")) for id in ("op-ms", "op-ms-there"))
        mean, there = (f"{1e3 * ms:.3g} µs" if ms < 0.9995 else f"{ms:.3g} ms" for ms in (mean, there))
        node = page.get_by_test_id(f"graph-node-{name}")
        self.assertEqual(node.get_attribute("data-time"), mean)
        sentence = page.get_by_test_id("page-graph").locator("p", has_text=there)
        expect(sentence).to_contain_text(mean)
        texts = (node.text_content(), sentence.inner_text(), drawer.get_by_test_id("op-ms").inner_text())
        self.assert_golden_text("\n---\n".join(map(words_of, texts)))


class Sums(Captures):
    def test_idle_column_of_a_step_is_labelled_as_sum(self):
        run = self.maxtext()
        page = self.page(run, "#/timeline?step=2")
        table = page.get_by_test_id("timeline-selection")
        (ns, longest), = self.ask(run, "SELECT sum(g.end_ns - g.start_ns), max(g.end_ns - g.start_ns) FROM gap g JOIN step s USING (device_id) JOIN device d USING (device_id)"
                                       " WHERE s.step = 2 AND d.ordinal = 0 AND g.start_ns >= s.start_ns AND g.start_ns < s.end_ns")
        titles = table.locator("th").evaluate_all("(all) => all.map((e) => e.title)")
        at = len(titles) - 1 - next(i for i, title in enumerate(reversed(titles)) if "1 µs" in title)
        self.assert_golden_text(f"{words_of(table.locator('th').nth(at).inner_text())}\n{titles[at]}")
        said = float(table.get_by_test_id("total").locator("td").nth(at).inner_text().replace(",", ""))
        self.assertAlmostEqual(said, ns / 1e3, delta=0.005 * ns / 1e3)
        self.assertGreater(ns, 2 * longest)


class Names(Captures):
    @only_long
    def test_narrow_head_omits_the_date_first(self):
        cut = """() => { const date = document.querySelector('[data-testid="run-date"]'), box = date && date.parentElement.getBoundingClientRect();
          return { seen: date !== null && date.getBoundingClientRect().top < box.bottom && date.offsetWidth > 0,
            whole: date !== null && date.scrollWidth <= date.clientWidth + 1 && date.getBoundingClientRect().right <= box.right + 1,
            cut: [...document.querySelectorAll('.facts .trunc')].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.innerText) }; }"""
        seen = set()
        for run in (self.maxtext(), self.imported(PAX), self.pair()[0]) if LONG else (self.maxtext(),):
            page = self.page(run, "#/ops")
            for width in (1800, 1440, 1360, 1290):
                page.set_viewport_size({"width": width, "height": 900})
                self.wait_for_width(page, width)
                head = page.evaluate(cut)
                seen.add(head["seen"])
                if head["seen"]:
                    self.assertTrue(head["whole"], (run, width))
                    self.assertEqual(head["cut"], [], (run, width))
        self.assertIn(True, seen)

    @only_long
    def test_names_of_the_model_fit_at_every_width(self):
        page = self.page(self.imported(PAX), "#/model")
        for width in (1440, 1380, 1320, 1290, 1280, 1200, 1100, 1024) if LONG else (1440, 1290, 1024):
            page.set_viewport_size({"width": width, "height": 900})
            self.wait_for_width(page, width)
            page.wait_for_function(
                "() => document.querySelector('[data-testid=\"page-model\"] tbody tr[data-key] td.name').clientWidth >= 170"
            )

    @only_long
    def test_kernels_of_one_template_have_different_names(self):
        database = self.imported("kineto/h100_bert-small.json.gz")
        page = self.page(database, "#/ops?v=kernel")
        page.get_by_test_id("table").first.wait_for()
        names = page.locator('[data-testid^="kernel-k"] .nm').evaluate_all("(all) => all.map((e) => e.textContent)")
        cutlass = [name for name in names if name.startswith("cutlass::Kernel2<")]
        self.assertGreater(len(cutlass), 1)
        self.assertEqual(len(cutlass), len(set(cutlass)))
        self.assertFalse([name for name in cutlass if "…" in name])
        with contextlib.closing(support.open_database(database)) as db:
            symbols = [row[0] for row in db.execute("SELECT kernel_symbol FROM kernel WHERE kernel_symbol LIKE '%cutlass::Kernel2<%'")]
        for name in cutlass:
            self.assertTrue(any(name in symbol for symbol in symbols), name)
        # No column states for every row that no instruction runs it.
        self.assertNotIn("ops", page.locator("th").all_inner_texts())

    def test_source_page_without_hlo_has_the_attach_command(self):
        page = self.page(self.imported("nsys/mfu_2gpu_before.sqlite"), "#/source")
        instead = page.get_by_test_id("instead")
        self.assertIn("attach mfu_2gpu_before.db", instead.inner_text())
        self.assert_golden_words(instead.locator(".."))

    def test_difference_is_explained_only_if_it_is_shown(self):
        now, base = self.pair()
        page = self.page(now, "#/model", base)
        for name in ("model", "ops", "source", "roofline"):
            page.get_by_test_id(f"tab-{name}").click()
            page.wait_for_selector(f'[data-testid="page-{name}"]')
            shown = page.get_by_test_id(f"page-{name}")
            differences = shown.locator("th", has_text="Δ ms").count()
            self.assertEqual(shown.locator(".warn-text").count(), int(differences > 0), name)

    @only_long
    def test_head_is_short_in_a_small_window(self):
        run = shutil.copy(self.imported(PAX), self.folder / "pax.db")
        self.assertEqual(support.run("report", run.name, cwd=self.folder).code, 0)
        page = self.open("#/ops", url=run.with_suffix(".html").as_uri())
        page.set_viewport_size({"width": 400, "height": 800})
        self.wait_for_width(page, 400)
        self.assertLess(page.get_by_role("banner").bounding_box()["height"], 180)
        # The sum stays in sight, and what the filter could not do is read whole.
        box = page.get_by_test_id("filter-sum").bounding_box()
        self.assertLessEqual(box["x"] + box["width"], 400)
        page.evaluate("() => { location.hash = '#/ops?f=phase:nowhere'; }")
        note = page.locator(".filter .notes")
        note.wait_for()
        self.assertLessEqual(note.bounding_box()["x"] + note.bounding_box()["width"], 400)


class JobColumns(Captures):
    """For a merged job of eight ranks: the delay of the last rank, and its slowest op."""

    def test_rank_that_comes_last_has_its_share_and_its_delay(self):
        slow = 5
        run = kept_runs.fleet_job(8, 24, 5, slow)
        # Collectives without a rank that comes last more often, by their executions.
        rows = self.ask(run, "SELECT arrival_skew_ns, last_times, paired FROM job_collective JOIN rank r ON r.rank_id = last_rank_id"
                                    f" WHERE r.rank = {slow} AND paired > 0")
        times = sum(n for _, n, _ in rows)
        late = sum(skew * n for skew, n, _ in rows) / times
        page = self.page(run, "#/ranks")
        page.set_viewport_size({"width": 1600, "height": 900})
        row = page.locator('#p-ranks tr[data-testid^="rank-"]').filter(has_text=f"rank {slow}").first
        cells = row.locator("td").all_inner_texts
        # An action that only measures has no saving; its confidence is that of the finding.
        self.visit(page, "#/verdict")
        for handle, in self.ask(run, "SELECT handle FROM finding WHERE coalesce(saves_high_ns_per_step, saves_high_ns_per_run) IS NULL"):
            action = page.get_by_test_id(f"finding-{handle}")
            self.assertNotRegex(action.locator(".save").inner_text(), r"\d")
            self.assert_golden_words(action.locator(".save"), action.locator(".sure"))
        self.visit(page, "#/ranks")
        last = re.compile(rf"^{100 * times / sum(n for _, _, n in rows):.3g}% .* {re.escape(figure(late))}$")
        self.assertEqual(len([text for text in cells() if last.match(" ".join(text.split()))]), 1, cells())

    def test_rank_with_launches_names_its_slowest_op(self):
        page = self.page(self.job(), "#/ranks")
        page.set_viewport_size({"width": 1600, "height": 900})
        expect(page.locator("#p-ranks th").filter(has_text="slowest op")).to_have_count(1)
        row = page.locator('#p-ranks tr[data-testid^="rank-"]').first
        expect(row.locator("td.name a.h")).to_have_text(re.compile(r"^o\d+$"))
        expect(row).to_contain_text(re.compile(r"\+[\d.]+ ms"))

    def test_ranks_on_a_slow_host_show_their_longer_exchange(self):
        # Twelve ranks, two to a host, in groups of four; what host 2 takes part in takes five times as long.
        run = kept_runs.fleet_job(12, 14, 25, -1, 4, 2)
        page = self.page(run, "#/ranks")
        slow = [rank for rank, in self.ask(run, "SELECT rank FROM rank WHERE host = 'host2'")]
        self.assertEqual(len(slow), 2)
        for width in (1600, 1024):
            page.set_viewport_size({"width": width, "height": 900})
            for rank in slow:
                row = page.locator('#p-ranks tr[data-testid^="rank-"]').filter(has_text=re.compile(rf"^rank {rank}(?!\d)")).first
                expect(row).to_contain_text(re.compile(r": \+[\d.]+ ms"))


if __name__ == "__main__":
    unittest.main()
