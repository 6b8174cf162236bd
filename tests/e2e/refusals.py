# SPDX-License-Identifier: Apache-2.0
"""Common parts of the tests of wrong inputs and wrong command lines."""

import support


class RefusalCase(support.TestCase):
    """A folder with one good profile and one good run, and what every refusal has in common."""

    def setUp(self):
        super().setUp()
        self.trace = self.folder / "good.xplane.pb"
        self.trace.write_bytes(support.xspace("jit_step", support.OPS))
        self.run_db = self.folder / "good.db"
        result = self.run_program("import", self.trace, "-o", self.run_db)
        self.assertEqual(result.code, 0, result)

    def assert_refused(self, *arguments, codes=(1, 2), says=(), hint=False, folder=None, **options):
        """Runs and checks the one error line, the code, empty stdout and the untouched folder."""
        folder = folder or self.folder
        before = support.snapshot(folder)
        result = self.run_program(*arguments, **options)
        shown = f"xlatrace {' '.join(map(str, arguments))}\n{result}"
        self.assertIn(result.code, codes, shown)
        self.assertEqual(len(result.errors), 1, shown)
        self.assertEqual(result.stdout, "", shown)
        self.assertNotIn("\x1b", result.stderr, shown)
        for word in ("terminate called", "Traceback", "what():", "Aborted", "Segmentation"):
            self.assertNotIn(word, result.stderr, shown)
        for line in result.stderr.splitlines():
            self.assertRegex(line, r"^(xlatrace: error: |hint: )", shown)
        for text in says:
            self.assertIn(str(text), result.errors[0], shown)
        if hint:
            self.assertTrue(result.hints, "no hint\n" + shown)
        self.assertEqual(sorted(before), sorted(support.snapshot(folder)), shown)
        self.assertEqual(before, support.snapshot(folder), shown)
        return result

    def readers(self, path):
        """Every command that reads a file, given path."""
        yield "import", ("import", path, "-o", "out.db")
        yield "summary", ("summary", path)
        yield "report", ("report", path, "-o", "out.html")
        yield "query", ("query", path, "SELECT 1")
        yield "modules", ("modules", path)

    def run_db_readers(self, path):
        return [entry for entry in self.readers(path) if entry[0] != "import"]

    def assert_all_refused(self, path, only_run_db=False, **expected):
        for command, arguments in self.run_db_readers(path) if only_run_db else self.readers(path):
            with self.subTest(command=command):
                self.assert_refused(*arguments, **{"codes": (1,), **expected})
