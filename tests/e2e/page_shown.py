# SPDX-License-Identifier: Apache-2.0
"""More gaps than the file holds, paper, the height of Timeline and Source, a row for collectives, and the
memory that recomputation would free."""

import json
import pathlib
import re
import sqlite3
import unittest

import kept_runs
import support
from figure_places import same, times_in
from page_browser import Browser, words_of

GAPS_IN_FILE = 20_000


class Shown(Browser):
    def made(self, name):
        """A folder for a run of its own."""
        folder = self.folder / name
        folder.mkdir()
        return folder

    def imported(self, folder, *arguments):
        for each in (("import", *arguments, "-o", "run.db"), ("report", "run.db")):
            result = support.run(*each, cwd=folder)
            self.assertEqual(result.code, 0, result)
        return folder / "run.db", (folder / "run.html").as_uri()

    def test_idle_sums_include_gaps_that_are_not_stored(self):
        # One launch every 10 us that takes 5 us: as many gaps of 5 us, which is above the least of 1 us.
        folder = self.made("gaps")
        launches = GAPS_IN_FILE + 2_500
        write_trace(folder / "trace.json", ((f"kernel_{n}", 7, 10 * n, 5) for n in range(launches)))
        database, url = self.imported(folder, "trace.json")
        connection = sqlite3.connect(database)
        count, total = connection.execute("SELECT count(*), sum(end_ns - start_ns) FROM gap").fetchone()
        connection.close()
        self.assertEqual((count, total), (launches - 1, (launches - 1) * 5_000))
        page = self.open("#/idle", url=url)
        whole = page.get_by_test_id("cause-total")
        self.assertEqual(self.ns(whole), total)
        self.assertEqual(self.ns(page.get_by_test_id("idle-sentence")), total)
        sentence = page.get_by_test_id("idle-sentence")
        self.assertTrue(same(times_in(sentence.inner_text())[0], total), sentence.inner_text())
        cut = page.locator(".idlegrid .cap", has_text=f"{GAPS_IN_FILE:,}")
        self.assertIn(f"{count:,}", cut.inner_text())
        texts = [words_of(sentence.inner_text()), words_of(cut.inner_text())]
        # The same on the first page, and on the timeline the heading of a sum that has not all of them.
        page.get_by_test_id("tab-verdict").click()
        fact = page.get_by_test_id("fact-idle").inner_text()
        self.assertIn(f"{count:,} gaps", fact)
        self.assertEqual(self.ns(page.get_by_test_id("fact-idle"), "data-value"), total)
        page.get_by_test_id("tab-timeline").click()
        page.get_by_test_id("timeline-selection").wait_for()
        titles = page.get_by_test_id("timeline-selection").locator("th").evaluate_all("(all) => all.map((e) => e.title)")
        texts += [title for title in titles if "1 µs" in title]
        self.assertEqual(len(texts), 3)
        self.assert_golden_text("\n---\n".join(texts))

    def test_no_omission_is_reported_if_all_gaps_are_stored(self):
        page = self.open("#/idle")
        page.get_by_test_id("cause-total").wait_for()
        self.assertLess(self.sql("SELECT count(*) FROM gap"), GAPS_IN_FILE)
        self.assertNotIn(f"{GAPS_IN_FILE:,}", page.locator(".idlegrid").inner_text())
        self.assert_golden_words(*page.locator(".idlegrid .cap").all())

    def test_printed_page_has_evidence_and_checks_of_findings(self):
        self.check_paper(self.open("#/verdict"), self.db)

    @support.only_long
    def test_printed_page_of_a_recording_has_the_evidence(self):
        database = kept_runs.imported_run("captures/nsys-jax-maxtext-fsdp4-h100")
        url = kept_runs.page_of(database).as_uri()
        connection = support.open_database(database)
        self.addCleanup(connection.close)
        self.assertGreaterEqual(self.check_paper(self.open("#/verdict", url=url), connection), 2)

    def check_paper(self, page, database):
        findings = database.execute("SELECT handle, title, evidence, action, how_to_check FROM finding").fetchall()
        first = page.get_by_test_id(f"finding-{findings[0]['handle']}")
        self.assertEqual(first.locator(".more").count(), 0, "on the screen after a click only")
        page.emulate_media(media="print")
        page.evaluate("() => { dispatchEvent(new Event('beforeprint')); }")  # As a browser does that prints.
        page.wait_for_function("() => document.querySelector('.acts .more')")
        checked = 0
        for finding in findings:
            box = page.get_by_test_id(f"finding-{finding['handle']}")
            if not box.count():
                continue
            evidence = json.loads(finding["evidence"])
            items = box.locator(".evid li")
            self.assertEqual(items.count(), len(evidence), finding["title"])
            for item, shown in zip(evidence, items.all()):
                self.assertTrue(shown.is_visible())
                self.assertGreater(shown.bounding_box()["height"], 8)
                self.assertIn(plain(item["text"]), plain(shown.inner_text()))
            words = plain(box.inner_text())
            for text in (finding["how_to_check"], finding["action"]):
                self.assertIn(plain(text or ""), words)
            checked += 1
        self.assertEqual(checked, page.locator(".acts > li").count())
        self.assertGreaterEqual(checked, 1)
        return checked

    @support.only_long
    def test_source_text_extends_to_the_bottom_of_the_window(self):
        lines = 200
        folder = self.made("lines")
        (folder / "module_0001.jit_step.sm_9.0_gpu_after_optimizations.txt").write_text(module(
            [fusion(n, 10 + n, f"jit(step)/jvp(layer_0)/op{n}", ["p" if n == 1 else f"fusion.{n - 1}"])
             for n in range(1, lines + 1)]))
        write_trace(folder / "trace.json", ((f"fusion_{n}", 7, 100_000 * step + 20 * n, 10)
                                            for step in range(3) for n in range(1, lines + 1)))
        _, url = self.imported(folder, "trace.json", "--modules", folder)
        page = self.open("#/source?file=model.py", url=url)
        for height in (700, 1300):
            page.set_viewport_size({"width": 1440, "height": height})
            page.wait_for_function(
                "(h) => { const b = document.querySelector('.code').getBoundingClientRect();"
                " return b.bottom > 0.9 * h && b.bottom <= h && b.height > 0.6 * h; }", arg=height)
        self.assertEqual(page.locator(".code .l.has").count(), lines)

    def test_timeline_height_follows_the_window(self):
        page = self.open("#/timeline")
        canvas = page.get_by_test_id("timeline-canvas")
        canvas.wait_for()
        heights = []
        for height in (700, 1300):
            page.set_viewport_size({"width": 1440, "height": height})
            page.wait_for_function("(h) => document.documentElement.scrollHeight <= h && innerHeight === h", arg=height)
            if heights:
                page.wait_for_function(
                    "(h) => document.querySelector('[data-testid=\"timeline-canvas\"]').getBoundingClientRect().height > h",
                    arg=1.5 * heights[0])
            heights.append(canvas.bounding_box()["height"])
        self.assertGreater(heights[1], 1.5 * heights[0])

    @support.only_long
    def test_collectives_have_a_row_of_their_own(self):
        folder = self.made("collectives")
        ops = [("dot.1", "dot", "jit(step)/jvp(layer_0)/dot_general", "/a/model.py", 12),
               ("all-reduce.2", "all-reduce", "jit(step)/jvp(layer_0)/psum", "/a/model.py", 13),
               ("add.3", "add", "jit(step)/jvp(layer_0)/add", "/a/model.py", 14)]
        for name, of_it in (("with", ops), ("without", [ops[0], ops[2]])):
            place = folder / name
            place.mkdir()
            (place / "t.xplane.pb").write_bytes(support.xspace("jit_step", of_it, executions=5))
            _, url = self.imported(place, "t.xplane.pb")
            page = self.open("#/timeline", url=url)
            page.get_by_test_id("timeline-canvas").wait_for()
            # The names of rows are drawn: what is drawn after a change of the window is kept.
            page.evaluate(
                """() => { window.drawn = []; const draw = CanvasRenderingContext2D.prototype.fillText;
                CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) { window.drawn.push(text); return draw.call(this, text, ...rest); }; }""")
            page.set_viewport_size({"width": 1300, "height": 800})
            page.wait_for_function("() => window.drawn.some((t) => /XLAEigen|step/.test(t))")
            drawn = page.evaluate("() => window.drawn")
            self.assertEqual("collectives" in drawn, name == "with", sorted(set(drawn)))

    def test_memory_that_recomputation_would_free_is_reported(self):
        """Computed by hand: two values of 4 MB each are made in the forward pass of layer_0 and read by the
        backward pass. No other value of that size is alive across the peak."""
        folder = self.made("memory")
        (folder / "module_0001.jit_step.sm_9.0_gpu_after_optimizations.txt").write_text(MODULE)
        names = ("fusion_1", "fusion_2", "fusion_3", "fusion_4", "fusion_5")
        write_trace(folder / "trace.json", ((name, 7, 1_000 * step + 20 * k, 10)
                                            for step in range(4) for k, name in enumerate(names)))
        _, url = self.imported(folder, "trace.json", "--modules", folder)
        page = self.open("#/memory", url=url)
        frees = page.get_by_test_id("memory-frees")
        # 2 x 1,048,576 x 4 bytes, all of them of layer_0.
        self.assertEqual(re.findall(r"[\d.]+ MB", frees.inner_text()).count("8.39 MB"), 2, frees.inner_text())
        self.assertRegex(frees.inner_text(), r"8\.39 MB [^.]*layer_0")
        self.assertIn("jax.checkpoint", frees.inner_text())
        self.assert_golden_words(frees)


def plain(text):
    """Words without the glyphs that the page sets and the marks that make code of a part."""
    text = text.replace("`", "").replace("µs", "us").replace("×", "x").replace("→", "->").replace("−", "-")
    return " ".join(text.replace("’", "'").split())


def write_trace(path, launches):
    """A Kineto trace of one GPU: (name, stream, start and length in us)."""
    events = [
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": start, "dur": length,
         "args": {"device": 0, "stream": stream, "correlation": n + 1}}
        for n, (name, stream, start, length) in enumerate(launches)
    ]
    pathlib.Path(path).write_text(json.dumps({"traceEvents": events}))


def fusion(number, source, op_name, operands):
    given = ", ".join(f"%{name}" for name in operands)
    return (f"  %fusion.{number} = f32[1048576]{{0}} fusion({given}), kind=kLoop, calls=%fused.{len(operands)}, "
            f'metadata={{op_name="{op_name}" source_file="model.py" source_line={source}}}')


def fused(arguments):
    names = [f"a{k}" for k in range(arguments)]
    lines = [f"  %{name} = f32[1048576]{{0}} parameter({k})" for k, name in enumerate(names)]
    return "\n".join([
        f"%fused.{arguments} ({', '.join(f'{name}: f32[1048576]' for name in names)}) -> f32[1048576] {{", *lines,
        f"  ROOT %add.{arguments} = f32[1048576]{{0}} add(%{names[0]}, %{names[-1]})", "}", ""])


def module(fusions):
    """HLO text of a scheduled module with these lines, of which the last is the root."""
    last = fusions[-1].replace("  %fusion", "  ROOT %fusion", 1)
    return "\n".join([
        "HloModule jit_step, is_scheduled=true, entry_computation_layout={(f32[1048576]{0})->f32[1048576]{0}}", "",
        fused(1), fused(2), "ENTRY %main (p: f32[1048576]) -> f32[1048576] {",
        "  %p = f32[1048576]{0} parameter(0)", *fusions[:-1], last, "}", ""])


MODULE = module([
    fusion(1, 10, "jit(step)/jvp(layer_0)/tanh", ["p"]),
    fusion(2, 11, "jit(step)/jvp(layer_0)/mul", ["fusion.1"]),
    fusion(3, 20, "jit(step)/jvp(head)/add", ["fusion.2"]),
    fusion(4, 11, "jit(step)/transpose(jvp(layer_0))/mul", ["fusion.3", "fusion.2"]),
    fusion(5, 10, "jit(step)/transpose(jvp(layer_0))/tanh", ["fusion.4", "fusion.1"]),
])


if __name__ == "__main__":
    unittest.main()
