# SPDX-License-Identifier: Apache-2.0
"""The Ranks page in a real browser: of a run of several devices, of many processes without a common
clock, and of a merged job. Run by test_page_ranks.py; scripts/long runs it with a thousand ranks
(XLATRACE_PAGE_RANKS=1000)."""

import collections
import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import unittest

import browser_quiet
import page_reader
import support
from page_browser import Browser

RANKS = int(os.environ.get("XLATRACE_PAGE_RANKS", "60"))
FLEET = os.environ.get("XLATRACE_FLEET_RANKS", "")
SLOW = RANKS * 617 // 1000


def own_times(db):
    """Ordinal and mean ns per steady step that a device needs by itself: without what it has more of collectives
    that nothing hides than the device with the least of them in that step. The slowest first."""
    steps = db.execute(
        "SELECT s.step, d.device_id, d.ordinal, s.end_ns - s.start_ns, coalesce((SELECT sum(wall_ns) FROM step_part p"
        " WHERE p.device_id = s.device_id AND p.step = s.step AND part = 'exposed_collective'), 0)"
        " FROM step s JOIN device d USING (device_id) WHERE s.steady"
    ).fetchall()
    least = {}
    for step, _, _, _, waits in steps:
        least[step] = min(waits, least.get(step, waits))
    of = collections.defaultdict(list)
    for step, device, ordinal, wall, waits in steps:
        of[device, ordinal].append(wall - (waits - least[step]))
    return sorted(((ordinal, sum(own) / len(own)) for (_, ordinal), own in of.items()), key=lambda row: -row[1])


class OneRun(Browser):
    def test_each_rank_has_the_time_that_sql_gives_it(self):
        capture = support.require_data("captures/nsys-jax-maxtext-fsdp4-h100")
        for arguments in (("import", capture, "-o", "ranks.db"), ("report", "ranks.db")):
            result = support.run(*arguments, cwd=self.work)
            self.assertEqual(result.code, 0, result)
        page = self.open("#/ranks", url=(self.work / "ranks.html").as_uri())
        db = support.open_database(self.work / "ranks.db")
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
        self.check_one_lag(page, db, *wanted[0], middle)
        self.check_who_comes_last(db)
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


    def check_one_lag(self, page, db, ordinal, own, middle):
        """By how much a device holds the others up: one figure in one set of words, wherever it is said."""
        lag, device = f"{(own - middle) / 1e6:#.3g} ms", f"GPU {ordinal}"
        (title, evidence, action, handle), = db.execute(
            "SELECT title, evidence, action, handle FROM finding WHERE id = 'arrival_skew'"
        )
        said = {e["text"].split(",")[0]: e for e in json.loads(evidence)}
        first = said[f"{device} needs more by itself than the median device"]
        self.assertAlmostEqual(first["value"], own - middle, delta=1)
        op = next(e for text, e in said.items() if text.endswith("takes longer there than on the median device"))
        times = next((int(m[1]), e["value"]) for text, e in said.items() if (m := re.match(rf"steps of (\d+) in which {device} comes last", text)))
        self.assertRegex(title, rf"they wait for o\d+ on {device}$")
        of_op = f"{op['value'] / 1e6:#.3g} ms"
        self.assertIn(f"takes {of_op} longer on {device} than on the median device", action)
        sentence = page.get_by_test_id("rank-sentence").inner_text()
        self.assertIn(f"Everyone waits for {device}: it needs {lag} more by itself than the median device", sentence)
        cost = page.get_by_test_id("rank-cost")
        cost.locator(".mono").wait_for()  # The op: known when the launches are read.
        self.assertIn(f"It comes last in {times[1]} of {times[0]} steps.", cost.inner_text())
        self.assertIn(f"takes most longer there than on the median device: {of_op}", cost.inner_text())
        row = page.locator('[data-testid="page-ranks"] tr[data-ns]').first.inner_text()
        self.assertIn(f"\t+{lag.removesuffix(' ms')}\t", row)
        self.assertIn(f"+{of_op}", row)
        # Nothing else of the page is a figure of the same kind: no other median, no other lateness.
        for word in ("late ms", "median 1", "since step"):
            self.assertNotIn(word, page.get_by_test_id("page-ranks").inner_text())
        terminal = support.run("show", handle, "ranks.db", cwd=self.work).stdout
        self.assertIn(f"{device} needs more by itself than the median device, per step: {lag}", " ".join(terminal.split()))
        page.get_by_test_id("tab-verdict").click()
        found = page.get_by_test_id(f"finding-{handle}").inner_text()
        self.assertIn(f"{device} needs more by itself than the median device, per step: {lag}", found)
        self.assertIn("they wait for", found)
        page.get_by_test_id("tab-ranks").click()
        page.get_by_test_id("rankmap").wait_for()

    def check_who_comes_last(self, db):
        """The Timeline's sentence: who comes last in the step in sight, and who does in most steps."""
        own = {}
        for step, ordinal, ns in db.execute(
            "SELECT s.step, d.ordinal, s.end_ns - s.start_ns - (SELECT sum(wall_ns) FROM step_part p WHERE"
            " p.device_id = s.device_id AND p.step = s.step AND part = 'exposed_collective')"
            " FROM step s JOIN device d USING (device_id) WHERE s.steady"
        ):
            own.setdefault(step, {})[ordinal] = ns
        last = {step: max(of, key=of.get) for step, of in own.items()}
        most, times = collections.Counter(last.values()).most_common(1)[0]
        self.assertGreater(len(set(last.values())), 1)  # Or nothing is told apart here.
        for step, ordinal in last.items():
            page = self.open(f"#/timeline?step={step}", url=(self.work / "ranks.html").as_uri())
            said = page.get_by_test_id("timeline-skew").inner_text().strip()
            self.assertIn(f"because GPU {ordinal} comes last", said)
            general = f"in {times} of {len(last)} steps."
            self.assertTrue(
                said.endswith(f", as {general}" if ordinal == most else f" in step {step}; GPU {most} comes last {general}"),
                (said, last),
            )
        gaps = db.execute("SELECT count(*) FROM gap g JOIN step s ON s.device_id = g.device_id AND g.start_ns >= s.start_ns"
                          " AND g.end_ns <= s.end_ns WHERE s.step = ?", (step,)).fetchone()[0]  # fmt: skip
        note = page.get_by_test_id("timeline-note").inner_text()
        self.assertIn("in sight, of 4 devices together, hold", note)
        self.assertGreater(gaps, 0)
        self.assertEqual(page.get_by_test_id("timeline-clocks").count(), 0)
        self.assertEqual(page.get_by_test_id("timeline-whose").count(), 0)


class WithoutCollectives(Browser):
    def test_where_no_collective_is_nobody_is_waited_for_and_copies_have_a_column(self):
        capture = support.require_data("xplane/tpu_v6e_jit_f_4chips.xplane.pb")
        for arguments in (("import", capture, "-o", "tpu.db"), ("report", "tpu.db")):
            result = support.run(*arguments, cwd=self.work)
            self.assertEqual(result.code, 0, result)
        with contextlib.closing(support.open_database(self.work / "tpu.db")) as db:
            exposed = db.execute("SELECT count(*) FROM step_part WHERE part = 'exposed_collective' AND wall_ns > 0")
            self.assertEqual(exposed.fetchone()[0], 0)
            copies = [
                row[0]
                for row in db.execute(
                    "SELECT sum(p.wall_ns) / 1e6 / count(DISTINCT s.step) FROM step_part p JOIN step s"
                    " USING (device_id, step) WHERE s.steady AND p.part = 'exposed_copy' GROUP BY p.device_id"
                )
            ]
        page = self.open("#/ranks", url=(self.work / "tpu.html").as_uri())
        self.assertIn("nothing tells whether", page.get_by_test_id("rank-cost").inner_text())
        self.assertNotIn("waits for", page.get_by_test_id("page-ranks").inner_text())
        self.assertIn(f"exposed copies {min(copies):.3g} to {max(copies):.3g} ms", page.get_by_test_id("rank-sentence").inner_text())
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
    """Processes of one device each, whose clocks nobody knows; one computes 150 us
    longer in every step, and waits that much less in the all-reduce that ends it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        ops = [
            ("dot.1", "dot", "jit(step)/jvp(layers_0)/mlp/dot_general", "/m/model.py", 10),
            ("add.2", "add", "jit(step)/transpose(jvp(layers_0))/mlp/add", "/m/model.py", 11),
            ("all-reduce.3", "all-reduce", "jit(step)/psum", "/m/train.py", 5),
        ]
        folder = cls.work / "ranks"
        folder.mkdir()
        for rank in range(RANKS):
            dot = 400_000 + (rank * 7919) % 5_000 + (150_000 if rank == SLOW else 0)
            lasts = {"dot.1": dot, "add.2": 300_000, "all-reduce.3": 570_000 - dot}
            space = support.xspace(
                "jit_step", ops, executions=12, host=f"host{rank:04}", op_ns=lasts
            )
            (folder / f"host{rank:04}.xplane.pb").write_bytes(space)
        files = sorted(folder.iterdir())
        for arguments in (("import", *files, "-o", "many.db"), ("report", "many.db")):
            result = support.run(*arguments, cwd=cls.work)
            assert result.code == 0, result
        cls.many = cls.work / "many.html"

    def test_the_slow_one_is_named_and_the_page_stays_small_and_quick(self):
        self.assertLessEqual(self.many.stat().st_size, 6_000_000)
        page = self.open("#/ranks", url=self.many.as_uri())
        sentence = page.get_by_test_id("rank-sentence").inner_text()
        self.assertRegex(sentence, rf"^Everyone waits for [^:]*host{SLOW:04}[^:]*: it needs ")
        self.assertIn("than the median device", sentence)
        first = page.locator('[data-testid="page-ranks"] tr[data-ns]').first
        with contextlib.closing(support.open_database(self.work / "many.db")) as db:
            self.assertAlmostEqual(self.ns(first), own_times(db)[0][1], delta=1)
        # A rank takes two pixels; what does not fit scrolls in its own box.
        box = page.get_by_test_id("rankmap")
        self.assertLessEqual(box.bounding_box()["height"], 600)
        self.assertGreater(box.evaluate("(e) => e.scrollHeight"), 2 * RANKS - 1)
        drawn = page.locator('[data-testid="page-ranks"] tr').count()
        self.assertLess(drawn, 200)  # Of a thousand rows those in sight.

    def test_unknown_clocks_are_said_and_the_collective_tells_who_is_late(self):
        page = self.open("#/ranks", url=self.many.as_uri())
        self.assertIn("not known to agree", page.get_by_test_id("clocks").inner_text())
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
        files = []
        for rank, at_ns in ((0, 5_000_000), (1, 10_005_000_000)):
            lasts = {"dot.1": 300_000 + 20_000 * rank, "add.2": 200_000}
            path = cls.work / f"host{rank}.xplane.pb"
            path.write_bytes(support.xspace("jit_step", ops, executions=12, host=f"host{rank}", op_ns=lasts, at_ns=at_ns))
            files.append(path)
        for arguments in (("import", *files, "-o", "apart.db"), ("report", "apart.db")):
            result = support.run(*arguments, cwd=cls.work)
            assert result.code == 0, result
        cls.url = (cls.work / "apart.html").as_uri()
        cls.apart = support.open_database(cls.work / "apart.db")
        cls.addClassCleanup(cls.apart.close)
        cls.devices = cls.apart.execute(
            "SELECT d.device_id, p.host FROM device d JOIN process p USING (process_id) ORDER BY p.host"
        ).fetchall()
        assert len(cls.devices) == 2, cls.devices

    def numbers(self, page):
        """What `dev:` calls each device, by host."""
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

    def test_steps_are_those_of_the_process_that_is_drawn(self):
        page = self.open("#/timeline")
        numbers = self.numbers(page)
        self.assertEqual(len(numbers), 2)
        for device, host in self.devices:
            page.evaluate("(h) => { location.hash = h; }", f"#/timeline?f=dev:{numbers[host]}")
            self.check_step(page, device)
            # The links, too.
            page.get_by_role("button", name="whole run").click()
            page.get_by_role("button", name="median step").click()
            self.check_step(page, device)

    def test_the_timeline_says_that_clocks_may_be_apart_and_whose_the_steps_are(self):
        page = self.open("#/timeline")
        self.assertIn("not known to agree", page.get_by_test_id("timeline-clocks").inner_text())
        self.assertRegex(page.get_by_test_id("timeline-whose").inner_text(), rf"^\s*Steps are those of [^;]*{self.devices[0][1]}\.\s*$")
        self.assertNotIn("comes last", page.get_by_test_id("timeline-note").inner_text())
        # A step is another time on the other clock: gaps are counted where it is drawn.
        host = re.escape(self.devices[0][1])
        self.assertRegex(page.get_by_test_id("timeline-note").inner_text(), rf"in sight, of [^.;]*{host}, holds? ")
        # Of one process alone there is nothing to be set against.
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
        page.get_by_role("button", name="median step").click()
        self.assertNotRegex(browser_quiet.address(page), r"[?&](top|a)=")


class WholeRuns(Browser):
    """Without steps: totals, device by device, and the finding names the devices by the same names."""

    def test_devices_of_a_run_without_steps_have_totals_and_the_late_one_is_named(self):
        capture = support.require_data("nsys/mfu_2gpu_before.sqlite")
        for arguments in (("import", capture, "-o", "whole.db"), ("report", "whole.db")):
            result = support.run(*arguments, cwd=self.work)
            self.assertEqual(result.code, 0, result)
        with contextlib.closing(support.open_database(self.work / "whole.db")) as db:
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
        page = self.open("#/ranks", url=(self.work / "whole.html").as_uri())
        shown = page.locator('[data-testid="page-ranks"] tr[data-ns]').all()
        self.assertEqual([self.ns(row) for row in shown], [compute for _, compute, _ in rows])
        self.assertEqual([row.inner_text().split("\t")[0].strip() for row in shown], [name for name, _, _ in rows])
        late, waits = (f(rows, key=lambda row: row[2]) for f in (min, max))
        # What the late one did instead: it stood idle, for the cause that tells the two apart most.
        more = {c: ns - idle[waits[0]].get(c, 0) for c, ns in idle[late[0]].items()}
        self.assertEqual(max(more, key=more.get), "synchronisation", more)
        longer = sum(idle[late[0]].values()) - sum(idle[waits[0]].values())
        sentence = page.get_by_test_id("rank-sentence").inner_text()
        self.assertEqual(
            sentence,
            f"{waits[0]} spends {(waits[2] - late[2]) / 1e6:.3g} ms longer in collectives that nothing hides"
            f" than {late[0]}: {late[0]} comes late, being idle {longer / 1e6:.3g} ms longer"
            " (the host had waited for the device)",
        )
        self.assertTrue(title.endswith(f"on {waits[0]}"), title)
        self.check_colours(page)

    def check_colours(self, page):
        """Launches thinner than a pixel: of the whole run in sight the colours take what their time does."""
        with contextlib.closing(support.open_database(self.work / "whole.db")) as db:
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
        if not FLEET:
            raise unittest.SkipTest("XLATRACE_FLEET_RANKS is not set")
        super().setUpClass()
        cls.slow = cls.COUNT * 5 // 8
        folder = cls.work / "job"
        folder.mkdir()
        arguments = [folder, cls.COUNT, cls.STEPS, 5, cls.slow]
        subprocess.run([FLEET, *map(str, arguments)], check=True, timeout=support.HANG_S)
        for each in (("merge", folder, "-o", "job.db"), ("report", "job.db")):
            result = support.run(*each, cwd=cls.work)
            assert result.code == 0, result
        cls.job_db = support.open_database(cls.work / "job.db")
        cls.addClassCleanup(cls.job_db.close)
        cls.job_url = (cls.work / "job.html").as_uri()

    def ask(self, text):
        return self.job_db.execute(text).fetchall()

    def test_collectives_of_the_job_say_who_comes_last_and_what_the_exchange_takes(self):
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

    def test_who_is_waited_for_what_it_costs_since_when_and_why(self):
        page = self.open("#/ranks", url=self.job_url)
        sentence = page.get_by_test_id("rank-sentence").inner_text()
        said = self.ask("SELECT value FROM run_info WHERE key = 'job'")[0][0]
        self.assertEqual(sentence.lower().replace("µs", "us"), said.split("; ", 1)[1].lower())
        self.assertIn(f"veryone waits for rank {self.slow} ", sentence)
        # From the first step on that counts: the map shows the ones before, too.
        self.assertRegex(sentence, r"[\d.]+ ms of each [\d.]+ ms step;")
        page.get_by_test_id("tab-verdict").click()
        # The launches that are kept have no steps: what the ranks say is the verdict, and said once.
        begin = page.get_by_test_id("verdict-sentence").inner_text()
        self.assertIn(f"Everyone waits for rank {self.slow} ", begin)
        self.assertNotIn("everyone waits", page.get_by_test_id("verdict-job").inner_text())
        context = self.new_context(java_script_enabled=False)
        plain = context.new_page()
        plain.goto(self.job_url)
        static = plain.inner_text("#xlatrace-static")
        self.assertIn(begin.replace("µs", "us").split(": ")[0], static)
        self.assertIn(" steps of the job", static)
        self.assertNotIn("none steady", static)
        self.assertNotIn("`", static)
        page.get_by_test_id("tab-ranks").click()
        why = page.get_by_test_id("rank-cost").inner_text()
        self.assertIn("Try:", why)
        self.assertIn("matrix products", why)

    def test_the_jobs_step_and_what_it_costs_are_the_same_figures_everywhere(self):
        steps = sorted(row[0] / 1e6 for row in self.ask(
            "SELECT max(step_ns) FROM rank_step GROUP BY step HAVING min(steady)"))
        step = f"{steps[(len(steps) - 1) // 2]:#.3g} ms"
        page = self.open("#/verdict", url=self.job_url)
        self.assertEqual(page.get_by_test_id("job-step").inner_text(), f"step {step} ({len(steps)} steps of the job)")
        self.assertEqual(page.get_by_test_id("job-ranks").inner_text(), f"{self.COUNT:,} ranks on {self.COUNT // 2:,} hosts")
        tile = page.get_by_test_id("fact-step").inner_text()
        self.assertIn(step, tile)
        self.assertIn(f"median of {len(steps)} steps of {self.COUNT:,} ranks", tile)
        self.assertIn("ranks in this file", page.get_by_test_id("fact-device").inner_text())
        self.assertIn(f"of each {step} step", page.get_by_test_id("verdict-sentence").inner_text())
        verdict = page.get_by_test_id("page-verdict").inner_text()
        self.assertNotIn("whole run of", verdict)
        self.assertNotIn("20 steps", verdict)
        # What it costs: the headline, the finding, the drawer, Ranks and the terminal.
        (ns,), = self.ask("SELECT value FROM run_info WHERE key = 'job_cost_ns_per_step'")
        cost = f"{int(ns) / 1e6:#.3g}"
        (handle,), = self.ask("SELECT handle FROM finding WHERE id = 'job_slow_gpu'")
        self.assertIn(f"{cost} ms of each {step} step", page.get_by_test_id("verdict-sentence").inner_text())
        self.assertIn(f"≤ {cost}", page.get_by_test_id(f"finding-{handle}").locator(".save").inner_text())
        self.assertIn("ms/step of the job", verdict)
        page.get_by_test_id(f"finding-{handle}").get_by_role("link", name=handle).click()
        drawer = page.get_by_test_id("inspector").inner_text()
        self.assertIn(f"≤ {cost}", drawer)
        self.assertIn("ms/step saved", drawer)
        self.assertNotIn("_ns", drawer)
        page = self.open("#/run", url=self.job_url)
        self.assertIn(f"A step of the job takes {step}", page.get_by_test_id("job-steps").inner_text())
        run = page.get_by_test_id("page-run").inner_text()
        for word in ("No step was found", "no step was steady", "job cost", ns, "slow_gpu"):
            self.assertNotIn(word, run)
        self.assertIn(f"{cost} ms more than the longest of the others", self.open("#/ranks", url=self.job_url).get_by_test_id("rank-cost").inner_text())
        terminal = support.run("summary", "job.db", cwd=self.work).stdout
        self.assertIn(f"step {step} (", terminal)
        self.assertRegex(terminal, rf"1 Everyone waits .* {cost} ms high")

    def test_sentences_of_run_db_have_the_pages_glyphs(self):
        # A finding that speaks of microseconds: run.db writes "us".
        database = self.work / "glyphs.db"
        shutil.copyfile(self.work / "job.db", database)
        with contextlib.closing(sqlite3.connect(database)) as db, db:
            columns = [row[1] for row in db.execute("PRAGMA table_info(x_finding)")]
            evidence = next(c for c in columns if c.startswith("evidence"))
            db.execute(f"UPDATE x_finding SET title = 'Waits 41.0 us', {evidence} = ?", ('[{"text": "gaps take 41.0 us"}]',))
            db.execute("UPDATE x_run_info SET value = 'rank 3 comes 12.0 us later' WHERE key = 'job_path'")
        result = support.run("report", database, cwd=self.work)
        self.assertEqual(result.code, 0, result)
        (handle,), = self.ask("SELECT handle FROM finding WHERE id = 'job_slow_gpu'")
        for address in ("#/verdict", "#/ranks", f"#/ranks?sel={handle}", "#/run"):
            page = self.open(address, url=(self.work / "glyphs.html").as_uri())
            text = page.locator("body").inner_text()
            self.assertNotRegex(text, r"\d us\b", address)
            if address != "#/run":
                self.assertIn("12.0 µs" if "ranks" in address else "41.0 µs", text)
        self.assertIn("Waits 41.0 µs", self.open(f"#/ranks?sel={handle}", url=(self.work / "glyphs.html").as_uri()).get_by_test_id("inspector-title").inner_text())

    def test_ranks_stand_by_what_they_cost_with_the_figures_of_run_db(self):
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

    def test_the_map_has_every_rank_in_every_step(self):
        data = page_reader.Page.open(self.work / "job.html")
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

    def test_hosts_stand_by_what_their_ranks_have_more_of(self):
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

    def test_where_waiting_is_not_known_the_map_shows_what_is(self):
        database = self.work / "untold.db"
        shutil.copyfile(self.work / "job.db", database)
        with contextlib.closing(sqlite3.connect(database)) as db, db:
            db.execute("UPDATE x_rank_step SET wait_ns = NULL, transfer_ns = NULL")
        result = support.run("report", database, cwd=self.work)
        self.assertEqual(result.code, 0, result)
        page = self.open("#/ranks", url=(self.work / "untold.html").as_uri())
        page.wait_for_selector('[data-testid="rankmap"] canvas')
        measures = page.get_by_test_id("rank-measure").inner_text()
        self.assertNotIn("waiting", measures)
        self.assertNotIn("by itself", measures)
        self.assertIn("matrix products", measures)
        text = page.get_by_test_id("page-ranks").inner_text()
        for word in ("NaN", "Infinity"):
            self.assertNotIn(word, text)

    def test_a_click_opens_launches_that_are_here_and_says_where_others_are(self):
        page = self.open("#/ranks", url=self.job_url)
        canvas = page.locator("[data-testid=rankmap] canvas")
        canvas.wait_for()
        here = {row[0] for row in self.ask("SELECT rank FROM rank WHERE device_id IS NOT NULL")}
        self.assertIn(self.slow, here)
        order = [row[0] for row in self.ask("SELECT rank FROM rank ORDER BY excess_ns_per_step DESC")]
        if self.COUNT <= 64:
            elsewhere = next(i for i, rank in enumerate(order) if rank not in here)
            canvas.hover(position={"x": 400, "y": elsewhere * 18 + 9})
            self.assertIn("its launches are in", page.locator(".rankmap .tip").inner_text())
            self.assertEqual(canvas.evaluate("(e) => getComputedStyle(e).cursor"), "default")
            canvas.click(position={"x": 400, "y": elsewhere * 18 + 9})
            name = f"rank {order[elsewhere]}"
            self.assertRegex(page.get_by_test_id("rank-elsewhere").inner_text(), rf"Launches of {name} are not in this file")
            row = page.locator('[data-testid="page-ranks"] tr[data-ns]').nth(elsewhere)
            self.assertNotIn("act-row", row.get_attribute("class"))
            row.locator("td").first.click()
            self.assertIn("/ranks", browser_quiet.address(page))
            self.assertIn("act-row", page.locator('[data-testid="page-ranks"] tr[data-ns]').first.get_attribute("class"))
        canvas.click(position={"x": 400, "y": 1 if self.COUNT > 64 else 9})
        page.wait_for_selector('[data-testid="page-timeline"]')
        # Its launches have no steps: the job knows when the step was.
        self.assertEqual(self.ask("SELECT count(*) FROM step")[0][0], 0)
        at = re.search(r"t=(-?\d+)(?:,|%2C)(-?\d+)", browser_quiet.address(page))
        steps = self.ask(f"SELECT start_ns, start_ns + step_ns FROM rank_step JOIN rank USING (rank_id) WHERE rank = {self.slow}")
        self.assertIn((int(at[1]), int(at[2])), [tuple(row) for row in steps])
        self.assertRegex(browser_quiet.address(page), r"f=dev:\d")

    def test_narrow_windows_scroll_the_table_not_the_page(self):
        page = self.open("#/ranks", url=self.job_url)
        page.get_by_test_id("rankmap").wait_for()
        for width in (1280, 1024, 800, 400):
            page.set_viewport_size({"width": width, "height": 900})
            self.wait_for_width(page, width)

    def test_the_page_stays_small(self):
        self.assertLessEqual((self.work / "job.html").stat().st_size, 6_000_000)

    def test_of_a_long_job_the_longest_steps_stay_in_the_map(self):
        path = self.work / "long.db"
        if self.COUNT > 64:
            self.skipTest("of a small job")
        path.write_bytes((self.work / "job.db").read_bytes())
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
        result = support.run("report", "long.db", cwd=self.work)
        self.assertEqual(result.code, 0, result)
        data = page_reader.Page.open(self.work / "long.html")
        rows = data.rows("rank_steps")
        self.assertLessEqual(len(rows), 100_000)
        self.assertIn(1777, {row["step"] for row in rows})
        left = next(l for l in data.meta["left_out"] if l["what"] == "rank_steps")
        self.assertEqual(left["rows"] + len(rows), self.COUNT * (40_000 + self.STEPS))
        page = self.open("#/ranks", url=(self.work / "long.html").as_uri())
        page.get_by_test_id("rankmap").wait_for()
        self.assertIn("not in this file", page.get_by_test_id("page-ranks").inner_text())


if __name__ == "__main__":
    unittest.main()
