# SPDX-License-Identifier: Apache-2.0
"""Names of models, ops and files that attack: nothing becomes HTML, SQL, a formula or an escape."""

import csv
import html.parser
import io
import json
import os
import re
import shlex
import shutil
import unittest

import support

GROUPINGS = ("op", "phase", "layer", "scope", "source", "kernel", "op_kind", "origin", "module")
GROUPINGS += ("step", "device", "rank")

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\x1b[31mred\x1b]0;title\x07",
    "left\u202egnp.exe",
    "quote\"apostrophe'backtick`",
    "line\nbreak\r\nagain\ttab",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "@SUM(1)",
    "-2+3",
    "semi;colon,comma",
    "\u2028\u2029paragraph",
    "nul\x00inside",
    "\x9b31mC1",
    "<!--<script>",
    "very long " * 400,
]


class PageScanner(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags = []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))


class HostileNames(support.TestCase):
    """Nothing in a name becomes HTML, SQL, a spreadsheet formula or a terminal escape."""

    def setUp(self):
        super().setUp()
        ops = [
            (name, "dot" if index % 2 else "add", f"jit(f)/jvp({name})/{name}", f"/src/{name}.py", 5)
            for index, name in enumerate(HOSTILE)
        ]
        trace = self.folder / "hostile.xplane.pb"
        trace.write_bytes(
            support.xspace("jit_</script><b>\x1b[31m=x\n", ops, host="<host>\x1b[1m")
        )
        self.run_db = self.folder / "hostile.db"
        self.imported = self.run_program("import", trace, "-o", self.run_db)
        self.assertEqual(self.imported.code, 0, self.imported)

    def assert_inert(self, text, what):
        found = support.ESCAPE.search(text)
        self.assertIsNone(
            found, f"{what}: {found and text[max(0, found.start() - 60) : found.end() + 40]!r}"
        )

    def test_import_prints_hostile_names_inert(self):
        self.assert_inert(self.imported.stderr, "import")

    def test_summary_prints_hostile_names_inert(self):
        for by in GROUPINGS:
            for style in ("text", "md"):
                with self.subTest(by=by, format=style):
                    result = self.run_program("summary", self.run_db, "--by", by, "--format", style)
                    self.assertEqual(result.code, 0, result)
                    self.assert_inert(result.stdout, f"{by} {style}")
                    self.assertNotIn("\u2028", result.stdout)
            result = self.run_program("summary", self.run_db, "--by", by, "--width", "100")
            self.assertLessEqual(len(result.stdout.splitlines()), 45)
            self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100)

    def test_summary_markdown_has_no_html(self):
        result = self.run_program("summary", self.run_db, "--format", "md")
        # A code span shows what is in it; elsewhere a bracket is escaped.
        text = re.sub(r"`[^`\n]*`", "", result.stdout)
        self.assertNotRegex(text, r"(?<!\\)<(script|img|b>)")

    def test_hints_quote_the_name_of_the_run(self):
        run_db = self.folder / "$(touch pwned) it's.db"
        shutil.copy(self.run_db, run_db)
        for what in ("o99999", "k99999", "m99999", "f99999", "no/such.py:7"):
            with self.subTest(what=what):
                result = self.run_program("show", what, run_db)
                self.assertNotEqual(result.code, 0, result)
                named = [hint for hint in result.hints if "pwned" in hint]
                for hint in named:
                    command = hint[hint.index("xlatrace ") :]
                    self.assertIn(str(run_db), shlex.split(command), hint)
                if what != "no/such.py:7":
                    self.assertTrue(named, result)

    def test_commands_of_summary_accept_a_leading_dash(self):
        shutil.copy(self.run_db, self.folder / "-x.db")
        result = self.run_program("summary", "--width", "160", "--", "-x.db")
        self.assertEqual(result.code, 0, result)
        commands = [
            shlex.split(command)
            for command in result.stdout.splitlines()[-1].split("|")
            if "xlatrace" in command
        ]
        self.assertTrue(commands, result)
        for command in commands:
            self.assertIn("./-x.db", command)
            self.assertNotIn("-x.db", command)

    def test_modules_and_query_tables(self):
        result = self.run_program("modules", self.run_db)
        self.assertEqual(result.code, 0, result)
        self.assert_inert(result.stdout, "modules")
        result = self.run_program("query", self.run_db, "SELECT * FROM op_time")
        self.assertEqual(result.code, 0, result)
        self.assert_inert(result.stdout, "query table")

    def test_csv_holds_no_formula(self):
        outputs = [
            self.run_program("summary", self.run_db, "--by", by, "--format", "csv")
            for by in GROUPINGS
        ]
        outputs.append(
            self.run_program("query", self.run_db, "SELECT * FROM activity", "--format", "csv")
        )
        for result in outputs:
            self.assertEqual(result.code, 0, result)
            rows = list(csv.reader(io.StringIO(result.stdout, newline="")))
            self.assertEqual({len(row) for row in rows}, {len(rows[0])})
            for row in rows[1:]:
                for cell in row:
                    if cell[:1] in ("=", "+", "@", "\t", "\r", "-"):
                        self.assertRegex(cell, r"^[-+]?\d[\d.e+-]*$", f"formula: {cell!r}")
            self.assertNotIn("\x1b", result.stdout)

    def test_json_parses_and_keeps_names(self):
        result = self.run_program("summary", self.run_db, "--format", "json")
        self.assertEqual(result.code, 0, result)
        self.assertIn("schema_version", json.loads(result.stdout))
        self.assertNotIn("\x1b", result.stdout)
        names = {row["instruction"] for row in support.query(self.run_db, "SELECT instruction FROM op_time")}
        for name in HOSTILE:
            # XLA's names hold no "="; where one does, that op alone may be lost.
            if "\x00" not in name and "=" not in name and len(name) < 1000:
                self.assertIn(name, names)

    def test_page_shows_hostile_names_inert(self):
        result = self.run_program("report", self.run_db, "-o", "page.html")
        self.assertEqual(result.code, 0, result)
        self.assert_inert(result.stderr, "report")
        page = (self.folder / "page.html").read_bytes().decode("utf-8")
        self.assertNotIn("<script>alert", page)
        self.assertNotIn("\x1b", page)
        scanner = PageScanner()
        scanner.feed(page)
        self.assertFalse([tag for tag in scanner.tags if tag[0] == "img"])
        for tag, attributes in scanner.tags:
            self.assertFalse([name for name in attributes if name.startswith("on")], tag)


class HostileFileNames(support.TestCase):
    def test_name_of_the_file(self):
        for name in ("\x1b[31mred.pb", "new\nline.pb", "bidi\u202ebp.pb", "</script>.pb", "-o", "a b'c\".pb"):
            safe = name.replace("/", "_")
            with self.subTest(name=safe):
                path = self.folder / safe
                path.write_bytes(b"")
                result = self.run_program("import", "./" + safe, "-o", "out.db")
                self.assertEqual(result.code, 1, result)
                self.assertIsNone(support.ESCAPE.search(result.stderr), repr(result.stderr))
                self.assertEqual(len(result.errors), 1, result)
                result = self.run_program("summary", "./" + safe)
                self.assertIsNone(support.ESCAPE.search(result.stderr), repr(result.stderr))
                self.assertEqual(len(result.errors), 1, result)

    def test_run_with_a_hostile_file_name(self):
        trace = self.folder / "t.pb"
        trace.write_bytes(support.xspace("jit_step", support.OPS))
        for name in ("\x1b[31m.db", "<script>alert(1)<_script>.db", "%s%n.db", "ünïcode.db", "a?b#c%20.db"):
            with self.subTest(name=name):
                result = self.run_program("import", trace, "-o", name)
                self.assertEqual(result.code, 0, result)
                self.assertNotIn("\x1b", result.stderr)
                result = self.run_program("summary", name)
                self.assertEqual(result.code, 0, result)
                self.assertNotIn("\x1b", result.stdout)
                result = self.run_program("report", name)
                self.assertEqual(result.code, 0, result)
                pages = list(self.folder.glob("*.html"))
                self.assertEqual(len(pages), 1, pages)
                self.assertNotIn("<script>alert(1)", pages[0].read_text("utf-8"))
                pages[0].unlink()

    def test_name_that_is_not_utf8(self):
        raw = os.fsencode(self.folder) + b"/caf\xe9.pb"
        with open(raw, "wb") as file:
            file.write(support.xspace("jit_step", support.OPS))
        result = support.run_command(
            [support.PROGRAM, "import", os.fsdecode(raw), "-o", os.fsdecode(raw + b".db")],
            cwd=self.folder,
        )
        self.assertEqual(result.code, 0, result)
        for arguments in (("summary",), ("summary", "--format", "json"), ("report",)):
            with self.subTest(arguments=arguments):
                result = self.run_program(arguments[0], os.fsdecode(raw + b".db"), *arguments[1:])
                self.assertEqual(result.code, 0, result)
                result.stdout_bytes.decode("utf-8")


class NamesThatAreNotUtf8(support.TestCase):
    def test_import_and_use(self):
        data = support.xspace("jit_step", [("caf\u00e9.1", "dot", "jit(f)/x", "/a.py", 1)])
        data = data.replace("caf\u00e9".encode(), b"caf\xff\xfe")  # as long, not UTF-8
        self.assertIn(b"\xff\xfe", data)
        trace = self.folder / "t.pb"
        trace.write_bytes(data)
        result = self.run_program("import", trace, "-o", "r.db")
        if result.code == 1:
            self.assertEqual(len(result.errors), 1, result)
            return
        self.assertEqual(result.code, 0, result)
        for arguments in (
            ("summary", "r.db"),
            ("summary", "r.db", "--format", "json"),
            ("query", "r.db", "SELECT * FROM activity", "--format", "json"),
            ("modules", "r.db", "--format", "json"),
        ):
            with self.subTest(arguments=arguments):
                result = self.run_program(*arguments)
                self.assertEqual(result.code, 0, result)
                result.stdout_bytes.decode("utf-8")
        result = self.run_program("report", "r.db", "-o", "p.html")
        self.assertEqual(result.code, 0, result)
        (self.folder / "p.html").read_bytes().decode("utf-8")


if __name__ == "__main__":
    unittest.main()
