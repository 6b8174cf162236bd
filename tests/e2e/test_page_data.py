# SPDX-License-Identifier: Apache-2.0
"""The data inside the page (docs/development/page-data.md), read by an independent reader. It equals run.db
by SQL, sums up to the nanosecond, and no name leaves its string."""

import base64
import collections
import hashlib
import json
import pathlib
import re
import shutil
import tempfile
import unittest

import kept_runs
import page_reader
import support

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "-->]]>",
    "\"'><img src=x onerror=alert(1)>",
    "\u202egnp.exe",
    "zero\u200bwidth\ufeff",
    "a\u2028b\u2029c",
    "${alert(1)}`",
    "\\u003cscript\\u003e",
    "x" * 1_000_000 + ".7",
]


def big_run(folder, launches, *options):
    """A copy, in `folder`, of a synthetic run of a transformer with its trace and module; `--after`: after
    a change of the program."""
    kept = kept_runs.synthetic_run(launches, *options)
    shutil.copytree(kept.parent, folder, dirs_exist_ok=True)
    return pathlib.Path(folder) / kept.name


def report(database, *options):
    page = pathlib.Path(database).with_suffix(".html")
    result = support.run("report", database, "-o", page, "--force", *options, cwd=page.parent)
    assert result.code == 0, result
    return page_reader.Page.open(page)


class PageOfARun(support.TestCase):
    """One synthetic run of 15,000 launches; the checks hold for every run (see below)."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        cls.database = big_run(cls.work, 15_000)
        cls.page = report(cls.database)
        cls.db = support.open_database(cls.database)
        cls.addClassCleanup(cls.db.close)

    def sql(self, text):
        return [dict(row) for row in self.db.execute(text)]

    def test_sums_equal_the_device_time(self):
        check_sums(self, self.page, self.db)

    def test_launches_are_those_of_the_run(self):
        check_launches(self, self.page, self.db)

    def test_steps_and_parts_equal_the_views(self):
        devices = [row["device_id"] for row in self.page.rows("devices")]
        steps = [dict(row, device_id=devices[row.pop("device")]) for row in self.page.rows("steps")]
        self.assertEqual(
            steps,
            self.sql(
                "SELECT step, start_ns, end_ns, device_ns, busy_ns, steady, how, typical, device_id FROM step"
                " ORDER BY device_id, start_ns"
            ),
        )
        parts = collections.Counter()
        for row in self.page.rows("step_parts"):
            parts[row["part"]] += row["wall_ns"]
        self.assertEqual(
            dict(parts),
            {r["part"]: r["n"] for r in self.sql(
                "SELECT part, sum(wall_ns) AS n FROM step_part GROUP BY part")},
        )

    def test_ops_equal_op_time(self):
        modules = [row["module_id"] for row in self.page.rows("modules")]
        wanted = {
            (r["module_id"], r["instruction"]): r
            for r in self.sql("SELECT * FROM op_time WHERE instruction IS NOT NULL")
        }
        ops = [op for op in self.page.rows("ops") if op["instruction"] is not None]
        self.assertEqual(len(ops), len(wanted))
        for op in ops:
            row = wanted[modules[op["module"]], op["instruction"]]
            for column in (
                "handle,op_kind,category,phase,layer,layer_group,op_name,source_file,source_line,"
                "self_ns,total_ns,occurrences,min_ns,max_ns,flops,bytes,wasted_ns,bound_by,"
                "confidence,estimated,mixed,critical_pct,slack_ns"
            ).split(","):
                self.assertEqual(op[column], row[column], f"{op['instruction']} {column}")
            self.assertEqual(op["ns"], row["steady_ns"])
        self.assertEqual([op["ns"] for op in ops], sorted((op["ns"] for op in ops), reverse=True))

    def test_gaps_name_what_runs_before_and_after(self):
        sites, kernels = self.page.rows("sites"), self.page.rows("kernels")
        wanted = self.sql(
            "SELECT g.start_ns, g.end_ns, g.cause, g.evidence, p.name AS before, n.name AS after FROM gap g"
            " LEFT JOIN activity p ON p.activity_id = g.previous_activity_id"
            " LEFT JOIN activity n ON n.activity_id = g.next_activity_id ORDER BY g.start_ns"
        )
        def name(site):
            return None if site is None else kernels[sites[site]["kernel"]]["name"]

        self.assertGreater(len(wanted), 10)
        self.assertEqual(
            [
                {"start_ns": g["start_ns"], "end_ns": g["end_ns"], "cause": g["cause"],
                 "evidence": page_reader.in_ascii(g["evidence"]), "before": name(g["previous_site"]), "after": name(g["next_site"])}
                for g in self.page.rows("gaps")
            ],
            wanted,
        )
        sums = collections.Counter()
        for row in self.page.rows("gap_sums"):
            sums[row["cause"]] += row["ns"]
        for row in self.sql("SELECT cause, sum(end_ns - start_ns) AS n FROM gap GROUP BY cause"):
            self.assertEqual(sums[row["cause"]], row["n"])

    def test_the_critical_path_is_that_of_run_db(self):
        self.assertGreater(check_path(self, self.page, self.db), 1000)
        (wanted,) = self.sql("SELECT * FROM replay")
        replay = self.page.meta["replay"]
        self.assertEqual(
            {k: replay[k] for k in wanted if k != "assumptions"},
            {k: v for k, v in wanted.items() if k != "assumptions"},
        )
        self.assertEqual(replay["assumptions"], json.loads(wanted["assumptions"] or "[]"))

    def test_the_graph_is_that_of_the_module(self):
        instructions = self.page.rows("instructions")
        names = [row["name"] for row in instructions]
        operands = collections.defaultdict(list)
        for edge in self.page.rows("edges"):
            operands[names[edge["user"]]].append(names[edge["operand"]])
        for row in self.sql("SELECT instruction, operands FROM instruction WHERE opcode = 'fusion'"):
            self.assertEqual(", ".join(operands[row["instruction"]]), row["operands"])
        computations = self.page.rows("computations")
        called = {
            names[c["instruction"]]: computations[c["computation"]]["name"]
            for c in self.page.rows("calls")
        }
        self.assertEqual(called["loop_select_fusion.3"], "fused_computation.3")
        self.assertEqual(
            [c["name"] for c in computations if c["entry"]], ["main"]
        )
        at = names.index("loop_select_fusion.3")
        self.assertEqual(instructions[at]["output_bytes"], 1024 * 1024 * 2)
        op = self.page.rows("ops")[instructions[at]["op"]]
        self.assertEqual(op["instruction"], "loop_select_fusion.3")
        self.assertEqual(op["instruction_row"], at)

    def test_hlo_text_holds_hot_instructions_without_metadata(self):
        names = [row["name"] for row in self.page.rows("instructions")]
        texts = {names[row["instruction"]]: row["text"] for row in self.page.rows("hlo_text")}
        self.assertEqual(
            texts["loop_select_fusion.3"],
            "%loop_select_fusion.3 = bf16[1024,1024]{1,0} fusion(%input_reduce_fusion.2,"
            " %cublas-gemm.1), kind=kLoop, calls=%fused_computation.3",
        )
        self.assertIn("add.fused_computation.3", texts)
        none = report(self.database, "--hlo-text", "none")
        self.assertEqual(none.rows("hlo_text"), [])
        self.assertEqual(len(none.rows("instructions")), len(names))

    def test_figures_are_those_of_summary(self):
        result = self.run_program("summary", self.database, "--format", "json")
        summary = json.loads(result.stdout)
        rows = summary["table"].pop("rows")
        embedded = json.loads(json.dumps(self.page.summary))
        self.assertEqual(embedded["table"]["rows"], rows[: len(embedded["table"]["rows"])])
        del embedded["table"], summary["table"]
        self.assertEqual(embedded, summary)
        basis = self.page.meta["basis"]
        self.assertEqual(basis["typical_ns"], summary["steps"]["typical_ns"])
        self.assertEqual(basis["busy_ns"], summary["steps"]["busy_ns"])
        by_handle = {op["handle"]: op for op in self.page.rows("ops")}
        for row in rows:
            if row.get("handle"):
                self.assertEqual(by_handle[row["handle"]]["ns"], row["ns"])
                self.assertEqual(by_handle[row["handle"]]["calls"], row["calls"])

    def test_thinned_timelines_say_so_and_keep_whole_steps(self):
        page = report(self.database, "--max-launches", "9000")
        launches = page.meta["launches"]
        self.assertEqual(launches["in_run"], 15_000)
        self.assertEqual(launches["how"], "steps")
        self.assertLessEqual(launches["in_page"], 9000)
        steps = collections.Counter(row["step"] for row in page.rows("launches"))
        wanted = {r["step"]: r["n"] for r in self.sql(
            "SELECT step, count(*) AS n FROM activity GROUP BY step")}
        self.assertEqual(sorted(steps), launches["steps"])
        for step, count in steps.items():
            self.assertEqual(count, wanted[step])
        # The sums over time hold everything, to the rounding of each bin.
        bins = sum(row["self_ns"] for row in page.rows("bins"))
        device = self.sql("SELECT sum(self_ns) AS n FROM activity")[0]["n"]
        self.assertLess(abs(bins - device), len(page.rows("bins")))
        # Nothing else is thinned.
        self.assertEqual(page.rows("sites"), self.page.rows("sites"))

    def test_only_our_scripts_may_run(self):
        hashes = re.findall(r"'sha256-([^']+)'", self.page.policy)
        scripts = [
            base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            for text in self.page.code
        ]
        self.assertEqual(sorted(hashes), sorted(scripts))
        self.assertEqual(len(scripts), 2)
        directives = {d.split()[0]: d.split()[1:] for d in self.page.policy.split(";") if d.strip()}
        self.assertEqual(directives["default-src"], ["'none'"])
        self.assertEqual([s[:8] for s in directives["script-src"]], ["'sha256-"] * 2)
        app = (support.REPOSITORY / "report/ui/dist/app.js").read_text(encoding="utf-8")
        self.assertEqual(self.page.code[1], app)
        for never in ("</script", "<!--"):
            self.assertNotIn(never, app.lower())

    def test_the_same_run_gives_the_same_bytes(self):
        report(self.database)
        first = self.database.with_suffix(".html").read_bytes()
        report(self.database)
        self.assertEqual(self.database.with_suffix(".html").read_bytes(), first)


class HostileNames(support.TestCase):
    def test_hostile_names_stay_text(self):
        ops = [
            (f"{name[:2000]}.{i}", "add", f"jit(step)/{name}/add", f"/{name}", i + 1)
            for i, name in enumerate(HOSTILE)
        ]
        trace = self.folder / "t.xplane.pb"
        trace.write_bytes(support.xspace(HOSTILE[0], ops, executions=4))
        result = self.run_program("import", trace, "-o", "run.db")
        self.assertEqual(result.code, 0, result)
        page = report(self.folder / "run.db")
        text = (self.folder / "run.html").read_text(encoding="utf-8")
        self.assertLess(len(text), 1_500_000 + sum(map(len, page.code)))
        self.assertEqual(len(page.code), 2)
        lower = text.lower()
        self.assertEqual(lower.count("<script"), lower.count("</script"))
        self.assertEqual(lower.count("<!--"), 1)  # Our own marker.
        for control in "\u202e\u200b\ufeff\u2028\x00":
            self.assertNotIn(control, text)
        check_sums(self, page, support.open_database(self.folder / "run.db"))
        names = {op["op_name"] for op in page.rows("ops")}
        self.assertIn("jit(step)/</script><script>alert(1)</script>/add", names)
        self.assertIn("jit(step)/[U+202E]gnp.exe/add", names)
        longest = max(names, key=lambda name: len(name or ""))
        # A cut name has its whole length in the middle.
        self.assertRegex(longest, rf"\[{len('jit(step)//add') + len(HOSTILE[-1]):,} [^]]*\]")
        for string in page.strings():
            self.assertLess(len(string.encode()), 20_000)
            self.assertFalse(support.ESCAPE.search(string), string[:100])


def check_sums(test, page, db):
    """Device time from every table that should contain all of it."""
    basis = page.meta["basis"]
    ops, shares, sites = page.rows("ops"), page.rows("op_shares"), page.rows("sites")
    for rows in (ops, shares):
        test.assertEqual(sum(row["ns"] for row in rows), basis["device_ns"])
    device = db.execute("SELECT coalesce(sum(self_ns), 0) FROM activity").fetchone()[0]
    for rows in (ops, shares, sites, page.rows("kernels")):
        test.assertEqual(sum(row["self_ns"] for row in rows), device)
    test.assertEqual(sum(row["calls"] for row in sites), basis["activities"])
    by_op = collections.Counter()
    for share in shares:
        by_op[share["op"]] += share["ns"]
    for number, op in enumerate(ops):
        test.assertEqual(by_op[number], op["ns"])
    # Unattributed time, by reason.
    reasons = collections.Counter()
    for op in ops:
        if op["instruction"] is None:
            reasons[op["unattributed_reason"]] += op["self_ns"]
    wanted = db.execute(
        "SELECT unattributed_reason, sum(self_ns) FROM activity WHERE instruction IS NULL GROUP BY 1"
    )
    test.assertEqual(dict(reasons), {reason: ns for reason, ns in wanted})
    # By phase they equal phase_time up to the rounding of one op's shares.
    phases = collections.Counter()
    for share in shares:
        phases[share["phase"]] += share["ns"]
    for row in page.meta["phases"]:
        test.assertLessEqual(abs(phases[row["phase"]] - row["ns"]), len(shares), row)


def check_launches(test, page, db):
    """Every launch of the page, decoded by hand, is a row of `activity`, and none is missing."""
    streams, sites = page.rows("streams"), page.rows("sites")
    ops, kernels = page.rows("ops"), page.rows("kernels")
    handles = db.execute(
        "SELECT handle, kernel_symbol FROM kernel WHERE kernel_symbol IS NOT NULL"
    ).fetchall()
    named = {(k["handle"], k["symbol"]) for k in kernels if k["handle"] is not None}
    if all(len(symbol) < 2000 for _, symbol in handles):  # Longer ones are cut in the page.
        test.assertEqual(named, set(map(tuple, handles)))
    # The page distinguishes kernels of one name (report/kernel_names.h); the handle identifies the kernel.
    recorded = dict(db.execute("SELECT handle, kernel_name FROM kernel"))
    devices = [row["device_id"] for row in page.rows("devices")]
    found = []
    for chunk, columns in page.chunks("launches"):
        at = 0
        for run in chunk["runs"]:
            stream = streams[run["stream"]]
            end = run["start_ns"]
            for i in range(at, at + run["rows"]):
                start = end + columns["gap_ns"][i]
                duration = columns["duration_ns"][i]
                end = start + duration
                site = sites[columns["site"][i]]
                self_ns = columns.get("self_ns", {i: None})[i]
                found.append((
                    devices[stream["device"]], stream["stream_id"], start, duration,
                    duration if self_ns is None else self_ns, columns["step"][i],
                    ops[site["op"]]["instruction"],
                    recorded.get(kernels[site["kernel"]]["handle"], kernels[site["kernel"]]["name"]),
                    site["confidence"], site["kind"],
                ))
            at += run["rows"]
    wanted = db.execute(
        "SELECT a.device_id, a.stream_id, a.start_ns, a.duration_ns, a.self_ns, a.step,"
        " a.instruction, a.name, a.confidence, a.kind FROM activity a"
    ).fetchall()
    # Ids of CPU threads go beyond what a double holds exactly; the page rounds them.
    wanted = [(row[0], row[1] and float(row[1]), *row[2:]) for row in wanted]
    found = [(row[0], row[1] and float(row[1]), *row[2:]) for row in found]
    found, wanted = collections.Counter(found), collections.Counter(wanted)
    test.assertEqual(list((found - wanted).items())[:5], [])
    test.assertEqual(list((wanted - found).items())[:5], [])


def check_path(test, page, db):
    """The parts of the critical path, each on the stream of its activity; their number."""
    devices = [row["device_id"] for row in page.rows("devices")]
    streams = page.rows("streams")
    found, end = [], 0
    for row in page.rows("critical_path"):
        begin = end + row["gap_ns"]
        end = begin + row["duration_ns"]
        stream = None if row["stream"] is None else streams[row["stream"]]
        if stream is not None:
            test.assertEqual(stream["device"], row["device"])
        number = stream and stream["stream_id"] and float(stream["stream_id"])
        found.append((devices[row["device"]], row["step"], begin, end, row["kind"], number))
    wanted = db.execute(
        "SELECT c.device_id, c.step, c.start_ns, c.end_ns, c.kind, CASE WHEN c.kind IN"
        " ('host', 'gap') THEN NULL ELSE CAST(a.stream_id AS REAL) END FROM critical_path c"
        " LEFT JOIN activity a USING (activity_id) ORDER BY c.device_id, c.start_ns, c.end_ns"
    ).fetchall()
    test.assertEqual(sorted(found, key=str), sorted(map(tuple, wanted), key=str))
    return len(found)


def check_memory(test, page, db):
    """The purposes of a module's memory sum to its total; values at its peak are part of it."""
    modules = page.rows("modules")
    parts, alive = collections.Counter(), collections.Counter()
    for row in page.rows("memory"):
        if row["kind"] in ("parameters", "results", "constants", "temporary"):
            parts[row["module"]] += row["bytes"]
        elif row["kind"] == "alive":
            alive[row["module"]] += row["bytes"]
    for module, size in parts.items():
        handle = modules[module]["handle"]
        wanted = db.execute("SELECT peak_memory_bytes FROM module WHERE handle = ?", (handle,))
        test.assertEqual(size, wanted.fetchone()[0], handle)
        test.assertLessEqual(alive[module], size, handle)


class PagesOfRealRecordings(unittest.TestCase):
    """The same invariants on every recording at hand."""

    def check(self, relative):
        database = kept_runs.imported_run(relative)
        page = page_reader.Page.open(kept_runs.page_of(database))
        db = support.open_database(database)
        self.addCleanup(db.close)
        check_sums(self, page, db)
        check_launches(self, page, db)
        check_memory(self, page, db)
        check_path(self, page, db)


def _add_recordings():
    for relative in support.XPLANES + support.NSYS:
        name = re.sub(r"\W+", "_", pathlib.Path(relative).name)
        setattr(
            PagesOfRealRecordings,
            f"test_{name}",
            lambda self, relative=relative: self.check(relative),
        )


_add_recordings()

if __name__ == "__main__":
    unittest.main()
