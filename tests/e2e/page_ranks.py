# SPDX-License-Identifier: Apache-2.0
"""The Ranks page in a real browser. The runs have several devices, many processes without a common clock, or
are a merged job. scripts/long runs it with a thousand ranks (XLATRACE_PAGE_RANKS=1000)."""

import collections
import contextlib
import json
import os
import re
import shutil
import sqlite3
import unittest

import browser_quiet
import kept_runs
import page_reader
import support
from page_browser import Browser, words_of

RANKS = int(os.environ.get("XLATRACE_PAGE_RANKS", "60"))
SLOW = RANKS * 617 // 1000


def own_times(db):
    """Ordinal and mean own time in ns per steady step of each device. Own time excludes exposed collective
    time above that of the device with the least of it in that step. The slowest device is first."""
    steps = db.execute(
        "SELECT s.step, d.device_id, d.ordinal, s.end_ns - s.start_ns, coalesce((SELECT sum(wall_ns) FROM step_part p"
        " WHERE p.device_id = s.device_id AND p.step = s.step AND part = 'exposed_collective'), 0)"
        " FROM step s JOIN device d USING (device_id) WHERE s.typical"
    ).fetchall()
    least = {}
    for step, _, _, _, waits in steps:
        least[step] = min(waits, least.get(step, waits))
    of = collections.defaultdict(list)
    for step, device, ordinal, wall, waits in steps:
        of[device, ordinal].append(wall - (waits - least[step]))
    return sorted(((ordinal, sum(own) / len(own)) for (_, ordinal), own in of.items()), key=lambda row: -row[1])


def import_made(name, make, *key):
    """Path of the run.db of the profiles that make(folder) writes; `key`: what they depend on besides this file."""

    def imported(folder):
        profiles = folder / "profiles"
        profiles.mkdir()
        make(profiles)
        result = support.run("import", *sorted(profiles.iterdir()), "-o", f"{name}.db", cwd=folder)
        assert result.code == 0, result

    return kept_runs.made(name, kept_runs.hash_of([__file__, support.__file__], key), imported) / f"{name}.db"


def ranges(page):
    """Buttons of the Timeline that show a step or the whole run: the median step first, the whole run last."""
    return page.get_by_test_id("page-timeline").get_by_role("group", name="Range")


class OneRun(Browser):
    def test_time_of_each_rank_equals_sql(self):
        run = kept_runs.imported_run("captures/nsys-jax-maxtext-fsdp4-h100")
        self.run_url = kept_runs.page_of(run).as_uri()
        page = self.open("#/ranks", url=self.run_url)
        db = support.open_database(run)
        self.addCleanup(db.close)
        wanted = own_times(db)
        self.assertEqual(len(wanted), 4)
        rows = page.locator('[data-testid="page-ranks"] tr[data-ns]').all()
        self.assertEqual(len(rows), 4)
        for row, (ordinal, ns) in zip(rows, wanted):
            self.assertLessEqual(abs(self.ns(row) - ns), 1)
            self.assertIn(f"GPU {ordinal}", row.inner_text())
        middle = sorted(ns for _, ns in wanted)[(len(wanted) - 1) // 2]
        for row, (_, ns) in zip(rows, wanted):
            more = (ns - middle) / 1e6
            self.assertIn(f"\t{f'{more:+.3g}'.replace('-', '−') if more else 0}\t", row.inner_text())
        self.check_one_lag(page, run, db, *wanted[0], middle)
        self.check_who_comes_last(page, db)
        page.get_by_test_id("tab-ranks").click()
        for width in (1024, 800, 400, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            self.wait_for_width(page, width)
        page.get_by_test_id("rank-measure").locator('[data-value="waiting"]').click()
        page.wait_for_function("() => /m=waiting/.test(location.hash)")
        self.assertEqual(page.get_by_test_id("clocks").count(), 0)  # One process, one clock.
        page.locator("[data-testid=rankmap] canvas").click(position={"x": 400, "y": 8})
        page.wait_for_selector('[data-testid="page-timeline"]')
        self.assertRegex(browser_quiet.address(page), r"f=dev:\d")
        # A run of one device has no such page.
        self.assertEqual(self.open().get_by_test_id("tab-ranks").count(), 0)


    def check_one_lag(self, page, run, db, ordinal, own, middle):
        """The delay of other devices by a device: one figure in one wording at every place."""
        lag, device = f"{(own - middle) / 1e6:#.3g} ms", f"GPU {ordinal}"
        (title, evidence, action, handle), = db.execute(
            "SELECT title, evidence, action, handle FROM finding WHERE id = 'arrival_skew'"
        )
        items = json.loads(evidence)
        (first,) = (e for e in items if e["unit"] == "ns" and abs(e["value"] - (own - middle)) <= 1)
        # Time by which the op of title and action takes longer on this device.
        op = next(e for e in items if e["handle"] and e["unit"] == "ns")
        ((name,),) = db.execute("SELECT instruction FROM op_time WHERE handle = ?", (op["handle"],))
        self.assertIn(f"{name} on {device} ", title)
        self.assertTrue(op["text"].startswith(f"{name} "), op)
        (times,) = ((int(re.search(r"\d+", e["text"])[0]), e["value"]) for e in items if e["unit"] == "count" and device in e["text"])
        of_op = f"{op['value'] / 1e6:#.3g} ms"
        self.assertIn(of_op, action)
        self.assertIn(device, action)
        sentence = page.get_by_test_id("rank-sentence")
        self.assertRegex(sentence.inner_text(), rf"{device}\b[^;]* {lag}")
        cost = page.get_by_test_id("rank-cost")
        cost.locator(".mono").wait_for()  # The op: known when the launches are read.
        self.assertRegex(cost.inner_text(), rf" {times[1]} \w+ {times[0]} .* {of_op}")
        self.assert_golden_words(sentence, cost)
        row = page.locator('[data-testid="page-ranks"] tr[data-ns]').first.inner_text()
        self.assertIn(f"\t+{lag.removesuffix(' ms')}\t", row)
        self.assertIn(f"+{of_op}", row)
        # No other column is a lateness or a median.
        self.assert_golden_text("\n".join(map(words_of, page.locator('[data-testid="page-ranks"] thead th').all_inner_texts())))
        evidence = f"{first['text']}: {lag}"
        terminal = support.run("show", handle, run).stdout
        self.assertIn(evidence, " ".join(terminal.split()))
        page.get_by_test_id("tab-verdict").click()
        found = page.get_by_test_id(f"finding-{handle}")
        # Evidence is a table on the page: text, value.
        self.assertIn(f"{first['text']} {lag}", " ".join(found.inner_text().split()))
        self.assert_golden_words(found)
        page.get_by_test_id("tab-ranks").click()
        page.get_by_test_id("rankmap").wait_for()

    def check_who_comes_last(self, page, db):
        """The Timeline's sentence: who comes last in the step in sight, and who does in most steps."""
        own = {}
        for step, ordinal, ns in db.execute(
            "SELECT s.step, d.ordinal, s.end_ns - s.start_ns - (SELECT sum(wall_ns) FROM step_part p WHERE"
            " p.device_id = s.device_id AND p.step = s.step AND part = 'exposed_collective')"
            " FROM step s JOIN device d USING (device_id) WHERE s.typical"
        ):
            own.setdefault(step, {})[ordinal] = ns
        last = {step: max(of, key=of.get) for step, of in own.items()}
        most, times = collections.Counter(last.values()).most_common(1)[0]
        self.assertGreater(len(set(last.values())), 1)  # Otherwise this test distinguishes no cases.
        texts = []
        for step, ordinal in last.items():
            page.evaluate("(h) => { location.hash = h; }", f"#/timeline?step={step}")
            said = words_of(page.get_by_test_id("timeline-skew").inner_text())
            devices = re.findall(r"GPU \d+", said)[1:]  # After the one that waits.
            self.assertEqual(devices, [f"GPU {ordinal}"] + [f"GPU {most}"] * (ordinal != most), said)
            self.assertRegex(said, rf" {times} \w+ {len(last)} ")
            texts.append(said)
        gaps = db.execute("SELECT count(*) FROM gap g JOIN step s ON s.device_id = g.device_id AND g.start_ns >= s.start_ns"
                          " AND g.end_ns <= s.end_ns WHERE s.step = ?", (step,)).fetchone()[0]  # fmt: skip
        self.assertRegex(page.get_by_test_id("timeline-note").inner_text(), r"\b4 ")
        self.assertGreater(gaps, 0)
        self.assert_golden_text("\n---\n".join(texts))
        self.assert_golden_words(page.get_by_test_id("timeline-note"))
        self.assertEqual(page.get_by_test_id("timeline-clocks").count(), 0)
        self.assertEqual(page.get_by_test_id("timeline-whose").count(), 0)


class WithoutCollectives(Browser):
    def test_copies_have_a_column_if_there_are_no_collectives(self):
        run = kept_runs.imported_run("xplane/tpu_v6e_jit_f_4chips.xplane.pb")
        with contextlib.closing(support.open_database(run)) as db:
            exposed = db.execute("SELECT count(*) FROM step_part WHERE part = 'exposed_collective' AND wall_ns > 0")
            self.assertEqual(exposed.fetchone()[0], 0)
            copies = [
                row[0]
                for row in db.execute(
                    "SELECT sum(p.wall_ns) / 1e6 / count(DISTINCT s.step) FROM step_part p JOIN step s"
                    " USING (device_id, step) WHERE s.typical AND p.part = 'exposed_copy' GROUP BY p.device_id"
                )
            ]
        page = self.open("#/ranks", url=kept_runs.page_of(run).as_uri())
        sentence = page.get_by_test_id("rank-sentence")
        self.assertRegex(sentence.inner_text(), rf" {min(copies):.3g} \w+ {max(copies):.3g} ms")
        self.assert_golden_words(sentence, page.get_by_test_id("rank-cost"))
        shown = page.locator('[data-testid="page-ranks"] tr[data-ns]').all_inner_texts()
        self.assertEqual(len(shown), len(copies))
        for each in copies:
            self.assertTrue(any(f"\t{each:.3g}\t" in row for row in shown), (each, shown))
        measures = page.get_by_test_id("rank-measure").locator("[data-value]").evaluate_all("(all) => all.map((e) => e.dataset.value)")
        self.assertEqual(measures, ["compute", "copies", "idle", "wall"])
        for width in (1024, 800, 400, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            self.wait_for_width(page, width)


class ManyRanks(Browser):
    """Processes of one device each, with unknown clocks. One computes 150 us longer in every step, and waits
    that much less in the all-reduce at its end."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        ops = [
            ("dot.1", "dot", "jit(step)/jvp(layers_0)/mlp/dot_general", "/m/model.py", 10),
            ("add.2", "add", "jit(step)/transpose(jvp(layers_0))/mlp/add", "/m/model.py", 11),
            ("all-reduce.3", "all-reduce", "jit(step)/psum", "/m/train.py", 5),
        ]

        def make(folder):
            for rank in range(RANKS):
                dot = 400_000 + (rank * 7919) % 5_000 + (150_000 if rank == SLOW else 0)
                lasts = {"dot.1": dot, "add.2": 300_000, "all-reduce.3": 570_000 - dot}
                space = support.xspace("jit_step", ops, executions=12, host=f"host{rank:04}", op_ns=lasts)
                (folder / f"host{rank:04}.xplane.pb").write_bytes(space)

        cls.many = import_made("many", make, RANKS)
        cls.many_html = kept_runs.page_of(cls.many)

    def test_slow_rank_is_named_in_a_small_page(self):
        self.assertLessEqual(self.many_html.stat().st_size, 6_000_000)
        page = self.open("#/ranks", url=self.many_html.as_uri())
        # One host is named: the slow one.
        self.assertEqual(re.findall(r"host\d+", page.get_by_test_id("rank-sentence").inner_text()), [f"host{SLOW:04}"])
        if RANKS == 60:
            self.assert_golden_words(page.get_by_test_id("rank-sentence"))
        first = page.locator('[data-testid="page-ranks"] tr[data-ns]').first
        with contextlib.closing(support.open_database(self.many)) as db:
            self.assertAlmostEqual(self.ns(first), own_times(db)[0][1], delta=1)
        # A rank takes two pixels; what does not fit scrolls in its own box.
        box = page.get_by_test_id("rankmap")
        self.assertLessEqual(box.bounding_box()["height"], 600)
        self.assertGreater(box.evaluate("(e) => e.scrollHeight"), 2 * RANKS - 1)
        drawn = page.locator('[data-testid="page-ranks"] tr').count()
        self.assertLess(drawn, 200)  # Only the visible rows of a thousand.

    def test_late_rank_is_found_without_common_clocks(self):
        page = self.open("#/ranks", url=self.many_html.as_uri())
        self.assert_golden_words(page.get_by_test_id("clocks"))
        first = page.locator('[data-testid="page-ranks"] tr[data-ns]').first.inner_text()
        # 150 us more computation than a typical rank, up to 2.5 us of spread: so much less waiting.
        said = [float(n) for n in re.findall(r"\+(0\.1[45]\d)", first)]
        self.assertGreaterEqual(len(said), 1, first)
        for value in said:
            self.assertAlmostEqual(value, 0.150, delta=0.004)


class ClocksApart(Browser):
    """Two processes of one run, whose clocks are ten seconds apart."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        ops = [("dot.1", "dot", "jit(step)/dot_general", "/m/model.py", 10), ("add.2", "add", "jit(step)/add", "/m/model.py", 11)]

        def make(folder):
            for rank, at_ns in ((0, 5_000_000), (1, 10_005_000_000)):
                lasts = {"dot.1": 300_000 + 20_000 * rank, "add.2": 200_000}
                space = support.xspace("jit_step", ops, executions=12, host=f"host{rank}", op_ns=lasts, at_ns=at_ns)
                (folder / f"host{rank}.xplane.pb").write_bytes(space)

        run = import_made("apart", make)
        cls.url = kept_runs.page_of(run).as_uri()
        cls.apart = support.open_database(run)
        cls.addClassCleanup(cls.apart.close)
        cls.devices = cls.apart.execute(
            "SELECT d.device_id, p.host FROM device d JOIN process p USING (process_id) ORDER BY p.host"
        ).fetchall()
        assert len(cls.devices) == 2, cls.devices

    def numbers(self, page):
        """The name of each device in `dev:`, by host."""
        options = page.get_by_label("device").locator("option").all()
        return {host: o.get_attribute("value") for _, host in self.devices for o in options if host in o.inner_text()}

    def check_step(self, page, device):
        """The step that is shown is one of the device's own, and all of its work is in sight."""
        heading = page.get_by_test_id("page-timeline").locator("h2").first
        step = int(re.search(r"Step (\d+)", heading.inner_text())[1])
        wanted = self.apart.execute("SELECT device_ns FROM step WHERE device_id = ? AND step = ?", (device, step)).fetchone()[0]
        self.assertGreater(wanted, 0)
        page.wait_for_function(
            "(n) => document.querySelector('[data-testid=\"timeline-selection\"]')?.dataset.ns === n", arg=str(wanted)
        )

    def test_timeline_shows_the_steps_of_its_process(self):
        page = self.open("#/timeline")
        numbers = self.numbers(page)
        self.assertEqual(len(numbers), 2)
        for device, host in self.devices:
            page.evaluate("(h) => { location.hash = h; }", f"#/timeline?f=dev:{numbers[host]}")
            self.check_step(page, device)
            # The links, too.
            median, whole = (ranges(page).get_by_role("button").nth(i) for i in (0, -1))
            whole.click()
            median.click()
            self.check_step(page, device)

    def test_timeline_of_unknown_clocks_names_the_device_of_its_steps(self):
        page = self.open("#/timeline")
        # A step is another time on the other clock: steps and gaps are those of the device that is drawn first.
        note = page.get_by_test_id("timeline-note")
        hosts = [host for _, host in self.devices]
        self.assertIn(hosts[0], page.get_by_test_id("timeline-whose").inner_text())
        self.assertEqual(set(re.findall(r"host\d", note.inner_text())), {hosts[0]})
        self.assertEqual(page.get_by_test_id("timeline-clocks").count(), 1)
        self.assertEqual(page.get_by_test_id("timeline-skew").count(), 0)
        self.assert_golden_words(note)
        # A single process has no reference.
        number = self.numbers(page)[self.devices[1][1]]
        page.evaluate("(h) => { location.hash = h; }", f"#/timeline?f=dev:{number}")
        page.get_by_test_id("timeline-selection").locator("h3").filter(has_text=self.devices[1][1]).wait_for()
        self.assertEqual(page.get_by_test_id("timeline-clocks").count(), 0)

    def test_a_cell_of_the_rank_map_opens_its_step(self):
        page = self.open("#/ranks")
        canvas = page.locator("[data-testid=rankmap] canvas")
        for y in (9, 27):
            page.evaluate("() => { location.hash = '#/ranks'; }")
            canvas.wait_for()
            canvas.click(position={"x": 400, "y": y})
            page.wait_for_selector('[data-testid="page-timeline"]')
            number = re.search(r"f=dev:(\d+)", browser_quiet.address(page))[1]
            host = next(h for h, n in self.numbers(page).items() if n == number)
            self.check_step(page, next(d for d, h in self.devices if h == host))

    @support.only_long
    def test_a_gap_is_shown_on_its_own_device(self):
        page = self.open("#/idle")
        seen = set()
        page.get_by_test_id("gap").first.wait_for()
        rows = page.get_by_test_id("gap").all()
        hrefs = [row.locator("a").first.get_attribute("href") for row in rows]
        for href in hrefs:
            begin, end = (int(n) for n in re.search(r"[?&]a=(-?\d+)(?:,|%2C)(-?\d+)", href).groups())
            host = self.apart.execute(
                "SELECT p.host FROM gap g JOIN device d USING (device_id) JOIN process p USING (process_id)"
                " WHERE g.start_ns = ? AND g.end_ns = ?", (begin, end)).fetchone()[0]  # fmt: skip
            if host in seen:
                continue
            seen.add(host)
            page.evaluate("(h) => { location.hash = h; }", href)
            heading = page.get_by_test_id("timeline-selection").locator("h3")
            heading.filter(has_text=host).wait_for()
            # No filter of all pages is set for it: the device is drawn first, and its own steps are shown.
            self.assertNotIn("f=", browser_quiet.address(page))
            self.assertEqual(page.get_by_test_id("filter-chip").count(), 0)
            self.assertIn(host, page.get_by_test_id("timeline-whose").inner_text())
        self.assertEqual(len(seen), 2)
        # Not even by the filter that leaves it out; leaving the gap, the order is the run's again.
        number = next(n for h, n in self.numbers(page).items() if h != host)
        page.evaluate("(h) => { location.hash = h; }", f"{href}&f=dev:{number}")
        page.get_by_test_id("timeline-selection").locator("h3").filter(has_text=host).wait_for()
        ranges(page).get_by_role("button").first.click()
        self.assertNotRegex(browser_quiet.address(page), r"[?&](top|a)=")


class WholeRuns(Browser):
    """Without steps: totals, device by device, and the finding names the devices by the same names."""

    def test_late_device_is_named_if_there_are_no_steps(self):
        run = kept_runs.imported_run("nsys/mfu_2gpu_before.sqlite")
        with contextlib.closing(support.open_database(run)) as db:
            rows = db.execute(
                "SELECT 'GPU ' || d.ordinal, b.compute_ns, b.exposed_collective_ns FROM busy_time b"
                " JOIN device d USING (device_id) ORDER BY b.compute_ns DESC"
            ).fetchall()
            (title,), = db.execute("SELECT title FROM finding WHERE id = 'arrival_skew'").fetchall()
            idle = {
                name: dict(db.execute(
                    "SELECT cause, sum(end_ns - start_ns) FROM gap JOIN device d USING (device_id)"
                    " WHERE 'GPU ' || d.ordinal = ? GROUP BY cause", (name,)))
                for name, _, _ in rows
            }  # fmt: skip
        page = self.open("#/ranks", url=kept_runs.page_of(run).as_uri())
        shown = page.locator('[data-testid="page-ranks"] tr[data-ns]').all()
        self.assertEqual([self.ns(row) for row in shown], [compute for _, compute, _ in rows])
        self.assertEqual([row.inner_text().split("\t")[0].strip() for row in shown], [name for name, _, _ in rows])
        late, waits = (f(rows, key=lambda row: row[2]) for f in (min, max))
        # The late device was idle instead, for the cause that differs most between the two.
        more = {c: ns - idle[waits[0]].get(c, 0) for c, ns in idle[late[0]].items()}
        self.assertEqual(max(more, key=more.get), "synchronisation", more)
        longer = sum(idle[late[0]].values()) - sum(idle[waits[0]].values())
        sentence = page.get_by_test_id("rank-sentence")
        shown = [(waits[2] - late[2]) / 1e6, longer / 1e6]
        self.assertEqual(re.findall(r"[\d.]+(?= ms)", sentence.inner_text()), [f"{ms:.3g}" for ms in shown])
        self.assertEqual(re.findall(r"GPU \d", sentence.inner_text()), [waits[0], late[0], late[0]])
        self.assert_golden_words(sentence)
        self.assertTrue(title.endswith(f"on {waits[0]}"), title)
        self.check_colours(page, run)

    def check_colours(self, page, run):
        """Launches thinner than a pixel: of the whole run in sight the colours take what their time does."""
        with contextlib.closing(support.open_database(run)) as db:
            copies, others = db.execute(
                "SELECT sum(CASE WHEN kind IN ('memcpy', 'memset') THEN duration_ns END), sum(CASE WHEN kind = 'kernel' AND"
                " name NOT LIKE '%nccl%' THEN duration_ns END) FROM activity"
            ).fetchone()
        page.evaluate("() => { location.hash = '#/timeline'; }")
        page.get_by_test_id("timeline-selection").wait_for()
        seen = page.get_by_test_id("timeline-canvas").evaluate(
            """(canvas) => {
              const css = getComputedStyle(canvas), rgb = (name) => [1, 3, 5].map((i) => parseInt(css.getPropertyValue(name).trim().slice(i, i + 2), 16));
              const wanted = [rgb('--ph-copy'), rgb('--ph-unknown')], found = [0, 0];
              const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
              for (let i = 0; i < data.length; i += 4)
                wanted.forEach((c, k) => { if (c.every((v, j) => Math.abs(v - data[i + j]) < 3)) ++found[k]; });
              return found;
            }"""
        )
        self.assertGreater(seen[1], 10_000)
        self.assertGreater(seen[0], 0)
        self.assertLess(seen[0] / seen[1], 3 * copies / others, (seen, copies, others))


class Job(Browser):
    """A merged job: eight ranks of which one has stretched kernels; launches of four are in the file."""

    STEPS = 24
    COUNT = 8 if RANKS < 1000 else RANKS

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.slow = cls.COUNT * 5 // 8
        cls.job = kept_runs.fleet_job(cls.COUNT, cls.STEPS, 5, cls.slow)
        cls.job_html = kept_runs.page_of(cls.job)
        cls.job_url = cls.job_html.as_uri()
        cls.job_db = support.open_database(cls.job)
        cls.addClassCleanup(cls.job_db.close)

    def ask(self, text):
        return self.job_db.execute(text).fetchall()

    def test_collectives_of_the_job_show_the_last_rank(self):
        page = self.open("#/ranks", url=self.job_url)
        row = page.get_by_test_id("collective-0").inner_text()
        # The generator's exchange takes 2 ms; the slow rank is 10 ms late in every step, and nothing
        # computes beside a collective.
        self.assertIn("all-reduce", row)
        self.assertIn(f"rank {self.slow}, 100%", row)
        exposed, wait, exchange, skew = (float(x.replace(",", "")) for x in re.findall(r"[\d,.]+", row)[1:5])
        self.assertAlmostEqual(exchange, 2000, delta=50)
        self.assertAlmostEqual(skew, 10_000, delta=1_000)
        self.assertAlmostEqual(exposed, wait + exchange / 1e3, delta=0.05)

    def test_slow_rank_is_named_with_its_cost(self):
        page = self.open("#/ranks", url=self.job_url)
        sentence = page.get_by_test_id("rank-sentence").inner_text()
        said = self.ask("SELECT value FROM run_info WHERE key = 'job'")[0][0]
        self.assertEqual(sentence.lower().replace("µs", "us"), said.split("; ", 1)[1].lower())
        self.assertIn(f" rank {self.slow} ", sentence)
        # From the first step on that counts: the map shows the ones before, too.
        self.assertRegex(sentence, r"[\d.]+ ms \w+ \w+ [\d.]+ ms")
        cost = words_of(page.get_by_test_id("rank-cost").inner_text())
        page.get_by_test_id("tab-verdict").click()
        # The first sentence is about the largest part of a step. The rank is named below it.
        begin = page.get_by_test_id("verdict-sentence").inner_text()
        self.assertIn(f" rank {self.slow} ", page.get_by_test_id("verdict-job").inner_text())
        if self.COUNT == 8:
            self.assert_golden_text("\n---\n".join(map(words_of, (sentence, cost, begin, page.get_by_test_id("verdict-job").inner_text()))))
        context = self.new_context(java_script_enabled=False)
        plain = context.new_page()
        plain.goto(self.job_url)
        static = plain.inner_text("#xlatrace-static")
        self.assertIn(begin.replace("µs", "us").split(": ")[0], static)
        self.assertNotIn("`", static)
        if self.COUNT == 8:
            self.assert_golden_words(plain.locator("#xlatrace-static header, #xlatrace-static h1").first)

    def test_step_time_of_the_job_is_equal_everywhere(self):
        steps = sorted(row[0] / 1e6 for row in self.ask(
            "SELECT max(step_ns) FROM rank_step GROUP BY step HAVING min(steady)"))
        step = f"{steps[(len(steps) - 1) // 2]:#.3g} ms"
        page = self.open("#/verdict", url=self.job_url)
        def numbers(place):
            return re.findall(r"\d[\d,.]*", place.inner_text())

        sentence, tile = page.get_by_test_id("verdict-sentence"), page.get_by_test_id("fact-step")
        facts = [page.get_by_test_id(name) for name in ("job-step", "job-ranks")]
        self.assertEqual(numbers(facts[0]), [step.split()[0], str(len(steps))])
        self.assertEqual(numbers(facts[1]), [f"{self.COUNT:,}", f"{self.COUNT // 2:,}"])
        self.assertEqual([n for n in numbers(tile) if n in (step.split()[0], str(len(steps)), f"{self.COUNT:,}")],
                         [step.split()[0], str(len(steps)), f"{self.COUNT:,}"])
        self.assertIn(f" {step} ", sentence.inner_text())
        verdict = page.get_by_test_id("page-verdict").inner_text()
        if self.COUNT == 8:
            self.assert_golden_words(*facts, tile, page.get_by_test_id("fact-device"), sentence, page.get_by_test_id("page-verdict").locator(".acthead"))
        # The cost is shown in the headline, the finding, the drawer, Ranks and the terminal.
        (ns,), = self.ask("SELECT value FROM run_info WHERE key = 'job_cost_ns_per_step'")
        cost = f"{int(ns) / 1e6:#.3g}"
        (handle,), = self.ask("SELECT handle FROM finding WHERE id = 'job_slow_gpu'")
        self.assertRegex(sentence.inner_text(), rf" {cost} ms \w+ \w+ {step} ")
        self.assertIn(f"≤ {cost}", page.get_by_test_id(f"finding-{handle}").locator(".save").inner_text())
        self.assertIn("ms/step", verdict)
        page.get_by_test_id(f"finding-{handle}").get_by_role("link", name=handle).click()
        drawer = page.get_by_test_id("inspector").inner_text()
        self.assertIn(f"≤ {cost}", drawer)
        self.assertNotIn("_ns", drawer)
        page = self.open("#/run", url=self.job_url)
        job_steps = page.get_by_test_id("job-steps")
        self.assertIn(f" {step}", job_steps.inner_text())
        # Neither the figure of run.db in ns nor the id of the finding.
        run = page.get_by_test_id("page-run").inner_text()
        for word in (ns, "slow_gpu"):
            self.assertNotIn(word, run)
        if self.COUNT == 8:
            self.assert_golden_words(job_steps)
        self.assertIn(f"{cost} ms ", self.open("#/ranks", url=self.job_url).get_by_test_id("rank-cost").inner_text())
        terminal = support.run("summary", self.job).stdout
        self.assertIn(f"step {step} (", terminal)
        self.assertRegex(terminal, rf"\n *1 .* {cost} ms high")

    @support.only_long
    def test_sentences_of_run_db_are_shown_with_unicode_units(self):
        # A finding that speaks of microseconds: run.db writes "us".
        database = self.folder / "glyphs.db"
        shutil.copyfile(self.job, database)
        with contextlib.closing(sqlite3.connect(database)) as db, db:
            columns = [row[1] for row in db.execute("PRAGMA table_info(x_finding)")]
            evidence = next(c for c in columns if c.startswith("evidence"))
            db.execute(f"UPDATE x_finding SET title = 'Waits 41.0 us', {evidence} = ?", ('[{"text": "gaps take 41.0 us"}]',))
            db.execute("UPDATE x_run_info SET value = 'rank 3 comes 12.0 us later' WHERE key = 'job_path'")
        result = support.run("report", database, cwd=self.folder)
        self.assertEqual(result.code, 0, result)
        (handle,), = self.ask("SELECT handle FROM finding WHERE id = 'job_slow_gpu'")
        for address in ("#/verdict", "#/ranks", f"#/ranks?sel={handle}", "#/run"):
            page = self.open(address, url=(self.folder / "glyphs.html").as_uri())
            text = page.locator("body").inner_text()
            self.assertNotRegex(text, r"\d us\b", address)
            if address != "#/run":
                self.assertIn("12.0 µs" if "ranks" in address else "41.0 µs", text)
        self.assertIn("Waits 41.0 µs", self.open(f"#/ranks?sel={handle}", url=(self.folder / "glyphs.html").as_uri()).get_by_test_id("inspector-title").inner_text())

    def test_ranks_are_sorted_by_cost_with_stored_figures(self):
        page = self.open("#/ranks", url=self.job_url)
        page.locator('[data-testid="page-ranks"] tr[data-ns]').first.wait_for()
        wanted = self.ask(
            "SELECT rank, excess_ns_per_step, (SELECT sum(wait_ns) / count(wait_ns) FROM rank_step"
            " WHERE rank_id = r.rank_id AND steady) FROM rank r ORDER BY excess_ns_per_step DESC"
        )
        rows = page.locator('[data-testid="page-ranks"] tr[data-ns]').all()[:8]
        self.assertEqual(len(rows), 8)
        for row, (rank, excess, wait) in zip(rows, wanted):
            self.assertEqual(self.ns(row), excess)
            text = row.inner_text()
            self.assertTrue(re.match(rf"rank {rank}\b", text), text)
            if wait >= 1_000_000:
                self.assertRegex(text, rf"\b{wait / 1e6:.3g}\b")
        self.assertEqual(wanted[0][0], self.slow)

    def test_rank_map_has_every_rank_in_every_step(self):
        data = page_reader.Page.open(self.job_html)
        ranks = data.rows("ranks")
        found = sorted(
            (ranks[r["rank"]]["rank"], r["step"], r["step_ns"], r["wait_ns"], r["gemm_ns"],
             r["other_ns"], r["idle_ns"], r["steady"])
            for r in data.rows("rank_steps")
        )
        wanted = self.ask(
            "SELECT r.rank, s.step, s.step_ns, s.wait_ns, s.gemm_ns, s.other_ns, s.idle_ns, s.steady"
            " FROM rank_step s JOIN rank r USING (rank_id) ORDER BY 1, 2"
        )
        self.assertEqual(found, [tuple(row) for row in wanted])
        page = self.open("#/ranks", url=self.job_url)
        page.get_by_test_id("rankmap").wait_for()
        page.get_by_test_id("rank-measure").locator('[data-value="wait"]').click()
        page.wait_for_function("() => /m=wait/.test(location.hash)")

    @support.only_long
    def test_hosts_are_sorted_by_the_excess_of_their_ranks(self):
        page = self.open("#/ranks", url=self.job_url)
        hosts = page.get_by_test_id("job-hosts")
        hosts.wait_for()
        if self.COUNT > 16:  # Closed where there are many.
            hosts.locator("summary").click()
        first = hosts.locator("tbody tr[data-testid]").first
        first.wait_for()
        text = first.inner_text()
        # Two ranks a host; only the products of the slow one are longer.
        self.assertTrue(re.match(rf"host{self.slow // 2}\b", text), text)
        means = self.ask("SELECT r.rank, sum(gemm_ns) / count(*) FROM rank_step s JOIN rank r USING"
                         " (rank_id) WHERE steady GROUP BY r.rank ORDER BY 2")  # fmt: skip
        middle = means[(len(means) - 1) // 2][1]
        of_host = [mean for rank, mean in means if rank // 2 == self.slow // 2]
        more = sum(mean - middle for mean in of_host) / len(of_host)
        self.assertIn(f"{more / 1e6:.3g}"[:4], text)

    def test_rank_map_without_waiting_times_has_other_measures(self):
        database = self.folder / "untold.db"
        shutil.copyfile(self.job, database)
        with contextlib.closing(sqlite3.connect(database)) as db, db:
            db.execute("UPDATE x_rank_step SET wait_ns = NULL, transfer_ns = NULL")
        result = support.run("report", database, cwd=self.folder)
        self.assertEqual(result.code, 0, result)
        page = self.open("#/ranks", url=(self.folder / "untold.html").as_uri())
        page.wait_for_selector('[data-testid="rankmap"] canvas')
        measures = page.get_by_test_id("rank-measure").locator("[data-value]").evaluate_all("(all) => all.map((e) => e.dataset.value)")
        self.assertNotIn("wait", measures)
        self.assertNotIn("own", measures)
        self.assertIn("gemm", measures)
        text = page.get_by_test_id("page-ranks").inner_text()
        for word in ("NaN", "Infinity"):
            self.assertNotIn(word, text)

    def test_click_on_the_rank_map_opens_or_locates_launches(self):
        page = self.open("#/ranks", url=self.job_url)
        canvas = page.locator("[data-testid=rankmap] canvas")
        canvas.wait_for()
        here = {row[0] for row in self.ask("SELECT rank FROM rank WHERE device_id IS NOT NULL")}
        self.assertIn(self.slow, here)
        order = [row[0] for row in self.ask("SELECT rank FROM rank ORDER BY excess_ns_per_step DESC")]
        if self.COUNT <= 64:
            elsewhere = next(i for i, rank in enumerate(order) if rank not in here)
            canvas.hover(position={"x": 400, "y": elsewhere * 18 + 9})
            tip = words_of(page.locator(".rankmap .tip").inner_text())
            self.assertEqual(canvas.evaluate("(e) => getComputedStyle(e).cursor"), "default")
            canvas.click(position={"x": 400, "y": elsewhere * 18 + 9})
            name = f"rank {order[elsewhere]}"
            notice = page.get_by_test_id("rank-elsewhere")
            self.assertIn(name, notice.inner_text())
            if self.COUNT == 8:
                self.assert_golden_text(f"{tip}\n---\n{words_of(notice.inner_text())}")
            row = page.locator('[data-testid="page-ranks"] tr[data-ns]').nth(elsewhere)
            self.assertNotIn("act-row", row.get_attribute("class"))
            row.locator("td").first.click()
            self.assertIn("/ranks", browser_quiet.address(page))
            self.assertIn("act-row", page.locator('[data-testid="page-ranks"] tr[data-ns]').first.get_attribute("class"))
        canvas.click(position={"x": 400, "y": 1 if self.COUNT > 64 else 9})
        page.wait_for_selector('[data-testid="page-timeline"]')
        # Its launches have no steps: the job has the time of the step.
        self.assertEqual(self.ask("SELECT count(*) FROM step")[0][0], 0)
        at = re.search(r"t=(-?\d+)(?:,|%2C)(-?\d+)", browser_quiet.address(page))
        steps = self.ask(f"SELECT start_ns, start_ns + step_ns FROM rank_step JOIN rank USING (rank_id) WHERE rank = {self.slow}")
        self.assertIn((int(at[1]), int(at[2])), [tuple(row) for row in steps])
        self.assertRegex(browser_quiet.address(page), r"f=dev:\d")

    @support.only_long
    def test_narrow_windows_scroll_the_table_not_the_page(self):
        page = self.open("#/ranks", url=self.job_url)
        page.get_by_test_id("rankmap").wait_for()
        for width in (1280, 1024, 800, 400):
            page.set_viewport_size({"width": width, "height": 900})
            self.wait_for_width(page, width)

    def test_page_of_a_job_stays_small(self):
        self.assertLessEqual(self.job_html.stat().st_size, 6_000_000)

    @support.only_long
    def test_rank_map_of_a_long_job_keeps_its_longest_steps(self):
        path = self.folder / "long.db"
        if self.COUNT > 64:
            self.skipTest("of a small job")
        path.write_bytes(self.job.read_bytes())
        with sqlite3.connect(path) as db:
            # 40,000 steps more of every rank, one of which is ten times as long.
            ids = [row[0] for row in db.execute("SELECT rank_id FROM rank")]
            columns = [row[1] for row in db.execute("PRAGMA table_info(x_rank_step)")]
            first = dict(zip(columns, db.execute("SELECT * FROM x_rank_step").fetchone()))
            db.executemany(
                f"INSERT INTO x_rank_step VALUES({','.join('?' * len(columns))})",
                ([{**first, "rank_id": i, "step": 1000 + s, "step_ns": first["step_ns"] * (10 if s == 777 else 1) + s % 7}[c]
                  for c in columns] for i in ids for s in range(40_000)),
            )
        db.close()
        result = support.run("report", "long.db", cwd=self.folder)
        self.assertEqual(result.code, 0, result)
        data = page_reader.Page.open(self.folder / "long.html")
        rows = data.rows("rank_steps")
        self.assertLessEqual(len(rows), 100_000)
        self.assertIn(1777, {row["step"] for row in rows})
        left = next(l for l in data.meta["left_out"] if l["what"] == "rank_steps")
        self.assertEqual(left["rows"] + len(rows), self.COUNT * (40_000 + self.STEPS))
        page = self.open("#/ranks", url=(self.folder / "long.html").as_uri())
        page.get_by_test_id("rankmap").wait_for()
        # Its rows that were left out.
        self.assertIn(f"{left['rows']:,}", page.get_by_test_id("page-ranks").inner_text())


if __name__ == "__main__":
    unittest.main()
