# SPDX-License-Identifier: Apache-2.0
"""The places of figures on a page and their expected values. These are the places of page_figures.py that are
tables of their own (kernels, the static part, Roofline, Source, Occupancy, Model's phases, the base).

Each comparison is counted by its place. Each difference is kept with both figures, so that one run reports
all of them. check_places() fails at the end. It also fails if a capture compared fewer figures at a place
than its minimum."""

import collections
import csv
import html.parser
import io
import re

UNITS = {"ns": 1e-6, "µs": 1e-3, "us": 1e-3, "ms": 1.0, "s": 1e3, "min": 6e4}


def in_ms(text):
    """"50.8 ms" -> 50.8; "9 min 20 s" -> 560000."""
    total = 0.0
    for number, unit in re.findall(r"(<?[\d.,]+)\s*(ns|µs|us|ms|min|s)\b", text):
        value = float(number.replace(",", "").lstrip("<"))
        total += (value / 2 if number[0] == "<" else value) * UNITS[unit]
    return total


def times_in(text):
    """Times of a text in ns, in their order."""
    return [in_ms(match[0]) * 1e6 for match in re.finditer(r"[\d.,]*\d\s*(?:ns|µs|us|ms|min|s)\b", text)]


def same(a, b):
    """Two roundings to three significant digits in their own units. They are equal up to the last digit of
    the coarser one; a figure in ms has at most three decimals."""
    return abs(a - b) <= max(0.0051 * max(abs(a), abs(b)), 0.00051)


def share_of(row):
    """The share of device time of a copied row, whose heading begins with a percent sign."""
    return next(cell for heading, cell in row.items() if heading.startswith("%"))


class StaticRows(html.parser.HTMLParser):
    """Tables of the static part, as readers without script have them: lists of rows of cell texts, the
    heading first. Rows with an id are also listed by id."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.by_id = [], {}
        self.row = self.cell = self.row_id = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.row, self.row_id = [], dict(attributes).get("id")
        elif tag in ("td", "th") and self.row is not None:
            self.cell = ""

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self.cell is not None:
            self.row.append(self.cell.strip())
            self.cell = None
        elif tag == "tr" and self.row is not None:
            self.tables[-1].append(self.row)
            if self.row_id:
                self.by_id[self.row_id] = dict(zip(self.tables[-1][0], self.row))
            self.row = None

    def with_heading(self, first):
        """Rows as dictionaries of the table whose first heading is `first`."""
        for table in self.tables:
            if table and table[0][:1] == [first]:
                return [dict(zip(table[0], row)) for row in table[1:]]
        return []


class Places:
    """Mixed into the test case; go, row, copied, markdown, filter_sum and command are its own."""

    def start_places(self):
        self.places = collections.Counter()
        self.wrong = []
        self.least = {}

    def compare(self, place, what, shown, wanted):
        self.places[place] += 1
        if shown != wanted:
            self.wrong.append(f"{place}, {what}: {shown!r}, elsewhere {wanted!r}")

    def compare_ms(self, place, what, shown, wanted):
        """Like `close`, for two figures in ms that may have been rounded in their own units."""
        self.places[place] += 1
        if not same(shown, wanted):
            self.wrong.append(f"{place}, {what}: {shown:g} ms, elsewhere {wanted:g} ms")

    def need(self, place, figures):
        """At least so many figures are to be compared there."""
        self.least[place] = max(figures, self.least.get(place, 0))

    def check_places(self):
        few = [f"{place}: {self.places[place]} figures compared, not {least}"
               for place, least in self.least.items() if self.places[place] < least]
        self.assertEqual(self.wrong + few, [])

    def rows(self, page, selector):
        """Cells by their headings, of each row, with its data-testid, data-key and data-ns."""
        return page.evaluate(
            """(s) => [...document.querySelectorAll(s)].map((tr) => {
              const heads = [...tr.closest('table').querySelectorAll('thead th')].map((h) => h.innerText.replace(/[▼▲]/g, '').trim());
              return {leaf: tr.querySelector('.leafname') !== null, testid: tr.dataset.testid, key: tr.dataset.key, ns: Number(tr.dataset.ns),
                      titles: [...tr.querySelectorAll('[title]')].map((e) => e.title),
                      cells: Object.fromEntries([...tr.children].map((td, i, all) =>
                        [heads[all.slice(0, i).reduce((n, c) => n + c.colSpan, 0)], td.innerText.trim()])),
                      list: [...tr.children].map((td) => td.innerText.trim())}; })""",
            selector,
        )

    def has(self, page, tab):
        return page.get_by_test_id(f"tab-{tab}").count() > 0

    # --- kernels -----------------------------------------------------------------------------

    def kernels(self, page, run, unit, static):
        self.go(page, "#/ops?v=kernel")
        # Copies and memsets are rows without a handle.
        rows = self.rows(page, '[data-testid="page-ops"] [data-testid^="kernel-"]')
        top = [(rank, row) for rank, row in enumerate(rows) if row["testid"] != "kernel-"][:3]
        if not top:
            return
        for place in ("kernel: Markdown", "kernel: CSV", "kernel: terminal's table", "kernel: drawer"):
            self.need(place, 2 * len(top))
        markdown = {row["kernel"]: row for row in self.markdown(page)}
        table = {row["kernel"]: row for row in csv.DictReader(io.StringIO(self.copied(page, "csv")))}
        terminal = self.command("summary", run, "--by", "kernel", "--format", "csv", "--top", "1000")
        ranked = list(csv.DictReader(line for line in io.StringIO(terminal) if not line.startswith("#")))
        recorded = static.with_heading("name")
        if recorded:
            self.need("kernel: static part", 4 * len(top))
        for rank, row in top:
            handle, cells = row["testid"].removeprefix("kernel-"), row["cells"]
            time, share = cells[unit], cells["%"]
            self.compare("kernel: Markdown", handle, markdown[handle][unit], time)
            self.compare("kernel: Markdown", handle, share_of(markdown[handle]), share)
            self.compare_ms("kernel: CSV", handle, float(table[handle][unit]), in_ms(f"{time} ms"))
            self.compare("kernel: CSV", handle, int(table[handle]["device_ns"]), row["ns"])
            key = "ns_per_step" if unit == "ms/step" else "ns"
            self.compare_ms("kernel: terminal's table", handle, float(ranked[rank][key]) / 1e6, in_ms(f"{time} ms"))
            self.compare("kernel: terminal's table", handle, self.percent(float(ranked[rank]["pct"])), share)
            if recorded:
                for column in (unit, "%", "calls", "avg µs"):
                    self.compare("kernel: static part", f"{handle} {column}", recorded[rank][column], cells[column])
            self.go(page, f"#/ops?v=kernel&sel={handle}")
            # A run with steps has its share of the step, too.
            drawer = page.get_by_test_id("inspector").locator(".stat b").all_inner_texts()
            self.compare_ms("kernel: drawer", handle, in_ms(drawer[0]), in_ms(f"{time} ms"))
            self.compare("kernel: drawer", f"{handle} %", page.get_by_test_id("kernel-ms-share").locator("b").inner_text(), f"{share}%")
            self.compare("kernel: drawer", f"{handle} calls", drawer[-2], cells["calls"])
            self.compare_ms("kernel: drawer", f"{handle} average", in_ms(drawer[-1]), in_ms(f"{cells['avg µs']} µs"))
            # The sheet describes the whole run.
            if unit == "ms":
                self.need("kernel: sheet", len(top))
                line = re.search(r"^  \D+? +([<\d].*?) in ([\d,]+) \w", self.command("show", handle, run), re.M)
                self.compare_ms("kernel: sheet", handle, in_ms(line[1]), in_ms(f"{time} ms"))
                self.compare("kernel: sheet", f"{handle} launches", line[2], cells["calls"])
        self.go(page, "#/verdict")
        largest = [r for r in self.rows(page, ".largest tbody tr[data-ns]") if re.match(r"k\d+$", r["list"][0])]
        by_handle = {row["testid"].removeprefix("kernel-"): row for row in rows}
        if largest:
            self.need("kernel: Largest", 4 * min(3, len(largest)))
        for row in largest:
            for column in (unit, "%", "calls", "avg µs"):
                self.compare("kernel: Largest", f"{row['list'][0]} {column}", row["cells"][column],
                             by_handle[row["list"][0]]["cells"][column])

    @staticmethod
    def percent(value):
        """As base/number_format writes a share."""
        return "0" if value == 0 else "<0.1" if value < 0.05 else "100" if value > 99.95 else f"{value:.1f}"

    # --- ops in tables of their own ------------------------------------------------------------

    def op_tables(self, page, unit, static):
        """The static part, Roofline, Source and Occupancy against the rows of Ops."""
        self.go(page, "#/ops?v=hlo")
        folded = {r["testid"].removeprefix("op-"): r
                  for r in self.rows(page, '[data-testid="page-ops"] [data-testid^="op-o"]')}
        self.go(page, "#/ops?v=hlo&copies=all")
        single = {r["testid"].removeprefix("op-"): r
                  for r in self.rows(page, '[data-testid="page-ops"] [data-testid^="op-o"]')}
        named = [h for h in folded if h in static.by_id]
        if folded:
            self.need("op: static part", 2 * min(3, len(folded)))
        for handle in named[:12]:
            for column in (unit, "%", "calls", "avg µs"):
                if column in static.by_id[handle] and folded[handle]["cells"].get(column):
                    self.compare("op: static part", f"{handle} {column}", static.by_id[handle][column],
                                 folded[handle]["cells"][column])
        if self.has(page, "roofline"):
            self.go(page, "#/roofline")
            dots = self.rows(page, '[data-testid="page-roofline"] [data-testid="table"] [data-testid^="op-o"]')
            known = [d for d in dots if d["testid"].removeprefix("op-") in folded]
            if known:
                self.need("op: Roofline", min(2, len(known)))
            for dot in known[:8]:
                handle = dot["testid"].removeprefix("op-")
                cells = folded[handle]["cells"]
                self.compare("op: Roofline", handle, dot["cells"][unit], cells[unit])
                for here, there, sign in (("waste", "waste", ""), ("of bound", "% peak", "%")):
                    if cells.get(there):
                        self.compare("op: Roofline", f"{handle} {here}", dot["cells"][here], cells[there] + sign)
        self.source(page, unit)
        self.occupancy(page, unit, single)

    def source(self, page, unit):
        if not self.has(page, "source"):
            return
        whole = self.filter_sum(page, "")[0]
        self.go(page, "#/source")
        if not page.locator(".srcsplit").count():
            return
        total = self.rows(page, '.srcsplit [data-testid="total"]')[0]
        self.need("Source: total", 1)
        self.compare("Source: total", "sum", total["list"][2], whole)
        files = self.rows(page, '.srcsplit table [data-testid="row"]')[:1]
        for file in files:
            self.go(page, f"#/source?file={file['key'].replace('#', '%23')}")
            lines = page.evaluate(
                """() => [...document.querySelectorAll('.code .l.has')].map((l) =>
                  [l.dataset.key, Number(l.dataset.ns), l.querySelector('.v').innerText])""")
            lines = sorted((l for l in lines if int(l[0]) > 0), key=lambda l: -l[1])[:2]
            if lines:
                self.need("op: Source", 1)
                self.need("Source: line", len(lines))
            for line, _, shown in lines:
                page_of_line = f"file={file['key'].replace('#', '%23')}&line={line}"
                self.go(page, f"#/source?{page_of_line}")
                ops = self.rows(page, '.srcsplit .secs [data-testid^="op-o"]')[:3]
                base = file["key"].rsplit("/", 1)[-1]
                time, words = self.filter_sum(page, f"src:{base}:{line}")
                self.compare("Source: line", f"{base}:{line} ({words})", shown, time)
                # For an op of several lines, Ops under that filter also shows the part of the line; both fold
                # copies.
                self.go(page, f"#/ops?v=hlo&f=src:{base}:{line}")
                parts = {r["testid"].removeprefix("op-"): r["cells"] for r in
                         self.rows(page, '[data-testid="page-ops"] [data-testid^="op-o"]')}
                for op in ops:
                    handle = op["testid"].removeprefix("op-")
                    if handle in parts:
                        self.compare("op: Source", f"{handle} line {line}", op["list"][3], parts[handle][unit])

    def occupancy(self, page, unit, single):
        if not self.has(page, "occupancy"):
            return
        self.go(page, "#/ops?v=kernel")
        kernels = self.rows(page, '[data-testid="page-ops"] [data-testid^="kernel-k"]')
        self.go(page, "#/occupancy?all=1")
        rows = self.rows(page, '[data-testid="page-occupancy"] [data-testid="table"] [data-testid="row"]')
        if not rows:
            return
        by_symbol = collections.Counter()
        for row in rows:
            by_symbol[row["titles"][0] if row["titles"] else ""] += row["ns"]
        symbols = collections.Counter(t for k in kernels for t in k["titles"][:1])
        for kernel in kernels[:5]:
            symbol = kernel["titles"][0] if kernel["titles"] else ""
            if symbols[symbol] == 1 and symbol in by_symbol:
                self.need("kernel: Occupancy", 1)
                self.compare("kernel: Occupancy", kernel["testid"], by_symbol[symbol], kernel["ns"])
        per_op = collections.defaultdict(list)
        for row in rows:
            per_op[row["cells"].get("ops", "").split(" ")[0]].append(row)
        for handle, mine in per_op.items():
            # One configuration, which nothing else runs.
            if len(mine) == 1 and mine[0]["cells"].get("ops") == handle and handle in single:
                self.compare("op: Occupancy", handle, mine[0]["cells"][unit], single[handle]["cells"][unit])

    # --- layers ------------------------------------------------------------------------------

    def model_phases(self, page, run, unit):
        """Each phase of the largest layers, against the filter's sum and the terminal's columns."""
        if not self.has(page, "model"):
            return
        self.go(page, "#/model")
        # Without instructions it has what launched the kernels, or the modules of Python's stacks.
        if page.get_by_test_id("instead").count() or page.get_by_test_id("place").count():
            return
        rows = self.rows(page, '[data-testid="page-model"] [data-testid="table"] tr[data-key]')
        markdown = self.markdown(page)
        terminal = self.command("summary", run, "--by", "layer", "--format", "csv", "--top", "100000")
        layers = {row.get("layer_group", row.get("layer")): row
                  for row in csv.DictReader(line for line in io.StringIO(terminal) if not line.startswith("#"))}
        key = next((k for k in ("ns_per_step", "ns") if any(row.get(k) for row in layers.values())), None)
        phases = ("forward", "loss", "recompute", "backward", "optimizer")
        shown = [p for p in phases if f"{p}, {unit}" in (markdown[0] if markdown else {})]
        taken = 0
        copies = iter(markdown)
        for row in rows:
            path = row["key"].strip("/")
            # Lines that are no rows of the tree lie between them in the copy.
            copied = next(c for c in copies if row["key"].endswith(f"/{c['scope'].strip()}"))
            # The filter has no path for a leaf, which is a kind of op, and for work without a layer.
            if taken == 3 or row["leaf"] or not path or " " in path:
                continue
            taken += 1
            self.compare("layer: Markdown", path, copied[f"total, {unit}"], row["cells"]["total"])
            self.compare("layer: filter", path, self.filter_sum(page, f"scope:{path}*")[0], row["cells"]["total"])
            for phase in shown:
                time = copied[f"{phase}, {unit}"]
                if time in ("", "0", "·"):
                    continue
                self.compare("layer: phase by filter", f"{path} {phase}",
                             self.filter_sum(page, f"scope:{path}*+phase:{phase}")[0], time)
                if path in layers and not any(other.startswith(f"{path}/") for other in layers):
                    # The terminal's phases are of the whole run or of the steady steps, as its `ns` is.
                    part = float(layers[path][f"{phase}_ns"])
                    whole = float(layers[path]["ns"])
                    if whole > 0:
                        self.compare_ms("layer: terminal, by phase", f"{path} {phase}",
                                        part / whole * float(layers[path][key]) / 1e6, in_ms(f"{time} ms"))
        if taken:
            self.need("layer: Markdown", taken)
            self.need("layer: filter", taken)
            self.need("layer: phase by filter", 1 if shown else 0)

    @staticmethod
    def reads(text, ms):
        """Is it the figure, with its sign? Nothing stands for none."""
        if text in ("", "0") or "<" in text or ">" in text:
            return abs(ms) < 0.00051
        return same(float(text.replace(",", "").replace("+", "")), ms)

    # --- a base run --------------------------------------------------------------------------

    def with_base(self, page, run, base, unit):
        """Compare, the columns of Ops, the drawer and the terminal, of the largest changes."""
        answer = self.command("diff", base, run, "--format", "csv")
        told = {}
        for row in csv.DictReader(line for line in io.StringIO(answer) if not line.startswith("#")):
            told.setdefault(row["name"], []).append(row)
        self.go(page, "#/compare?by=op")
        rows = self.rows(page, '[data-testid="compare-row"]')
        self.assertTrue(rows, "Compare is empty")
        first = list(zip(rows, self.markdown(page)))[:6]
        self.need("Compare: terminal", len(first))
        for row, copied in first:
            # Names repeat: one of that name has all three figures.
            shown = [copied["base ms"], copied["new ms"], copied["Δ ms"].replace("−", "-")]
            wanted = [tuple(float(other[key]) / 1e6 for key in ("base_ns", "new_ns", "change_ns"))
                      for other in told.get(copied["op"], [])]
            self.compare("Compare: terminal", f"{copied['op']} {shown}, there {wanted}",
                         any(all(self.reads(text, ms) for text, ms in zip(shown, figures)) for figures in wanted), True)
        self.go(page, "#/ops?v=hlo&copies=all")
        ops = {r["testid"].removeprefix("op-"): r for r in self.rows(page, '[data-testid="page-ops"] [data-testid^="op-o"]')}
        compared = [r for r in rows if r["list"][0] in ops and re.match(r"o\d+$", r["list"][0])]
        if not compared or "Δ ms" not in next(iter(ops.values()))["cells"]:
            return
        self.need("op: base in Compare", 3)
        self.need("op: base, drawer", 1)
        for row in compared[:12]:
            handle, cells, op = row["list"][0], row["cells"], ops[row["list"][0]]["cells"]
            # For a group of rows that were matched together, Compare has the sum.
            if cells["new"] == op[unit]:
                for here, there in (("base", "base"), ("Δ ms", "Δ ms")):
                    self.compare("op: base in Compare", f"{handle} {here}", cells[here], op[there])
        for handle in [r["list"][0] for r in compared[:3]]:
            self.go(page, f"#/ops?v=hlo&copies=all&sel={handle}")
            said = page.get_by_test_id("op-base").inner_text()
            if ops[handle]["cells"]["base"] != "new":
                self.compare_ms("op: base, drawer", f"{handle}: {said}",
                                in_ms(re.search(r"[\d.,<]+ (?:ms|µs|ns|s)", said)[0]),
                                in_ms(f"{ops[handle]['cells']['base']} ms"))
