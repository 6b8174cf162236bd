# SPDX-License-Identifier: Apache-2.0
"""Help, man pages, completion and the reference page have the same commands, options and words."""

import pathlib
import re
import shutil
import unittest

import support

SHARE = pathlib.Path(support.PROGRAM or "/").parent.parent / "share"
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")


def sections(text):
    """{heading: lines} of a help text."""
    found, lines = {}, []
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z]\w+:", line):
            lines = found.setdefault(line[:-1], [])
        else:
            lines.append(line)
    return found


def help_rows(lines):
    """[(left, text)] of a section of help. A continued text is indented by more than two blanks."""
    rows = []
    for line in lines:
        if re.match(r"  \S", line):
            left, _, text = line.strip().partition("  ")
            rows.append([left, text.strip()])
        elif rows and line.startswith("    "):
            rows[-1][1] = f"{rows[-1][1]} {line.strip()}".strip()
        elif not line.strip():
            continue
        else:
            break
    return rows


class ShellCase(support.TestCase):
    def setUp(self):
        super().setUp()
        self.program_help = sections(self.help_text())
        self.commands = [left for left, _ in help_rows(self.program_help["Subcommands"])]
        self.assertGreater(len(self.commands), 20)

    def help_text(self, *words):
        done = self.run_program(*words, "--help", env=support.environment(COLUMNS="100"))
        self.assertEqual((done.code, done.stderr), (0, ""), done)
        return done.stdout

    def option_rows(self, command):
        """[(names, value, text)] in the help of a command; "" is the program."""
        rows = []
        for left, text in help_rows(sections(self.help_text(*command.split()))["Options"]):
            names, _, value = left.partition(" ")
            rows.append((names.split(","), value.removesuffix(" ...").strip("."), text))
        self.assertTrue(rows)
        return rows

    def options(self, command):
        return {name for names, _, _ in self.option_rows(command) for name in names}


class ManPages(ShellCase):
    def man(self, *words):
        done = self.run_program("man", *words)
        self.assertEqual((done.code, done.stderr), (0, ""), done)
        return done.stdout

    def section(self, page, heading):
        found = re.search(rf"^\.SH {heading}\n(.*?)(?=^\.SH |\Z)", page, re.M | re.S)
        return found[1].replace("\\-", "-").replace("\\e", "\\").replace("\\&", "") if found else ""

    def test_page_of_each_command_has_its_options(self):
        for command in ("", *self.commands):
            with self.subTest(command=command):
                text = self.section(self.man(*command.split()), "OPTIONS")
                blocks = [block.split("\n", 2) for block in text.split(".TP\n")[1:]]
                paged = {}
                for left, meaning, *_ in blocks:
                    for name in re.findall(r"\\fB(\S+?)\\fR", left):
                        paged[name] = meaning
                helped = {name: text for names, _, text in self.option_rows(command) for name in names}
                self.assertEqual(paged, helped)

    def test_page_of_each_command_has_its_examples(self):
        for command in self.commands:
            with self.subTest(command=command):
                helped = re.findall(r"^  (\S.*)$", self.help_text(command).partition("\nExample")[2], re.M)
                self.assertTrue(helped)
                examples = self.section(self.man(command), "(?:EXAMPLES|NOTES)")
                for line in helped:
                    self.assertIn(line, self.man(command).replace("\\-", "-").replace("\\e", "\\"))
                self.assertTrue(examples)

    def test_page_of_the_program_lists_all_commands(self):
        text = self.section(self.man(), "COMMANDS")
        self.assertEqual(re.findall(r"^\\fBxlatrace-(\S+)\\fR\(1\)$", text, re.M), self.commands)

    def test_all_pages_lie_where_man_looks_for_them(self):
        folder = SHARE / "man" / "man1"
        self.assertEqual({page.name for page in folder.iterdir()},
                         {"xlatrace.1", *(f"xlatrace-{command}.1" for command in self.commands)})
        for command in self.commands:
            self.assertEqual((folder / f"xlatrace-{command}.1").read_text(), self.man(command), command)
        written = self.folder / "pages" / "man1"
        self.assertEqual(self.run_program("man", "-o", written).code, 0)
        self.assertEqual(support.snapshot(written), support.snapshot(folder))

    def test_pages_have_no_warning_of_man(self):
        if not shutil.which("man") or not shutil.which("groff"):
            self.skipTest("no man: apt-get install man-db")
        for page in sorted((SHARE / "man" / "man1").iterdir()):
            done = support.run_command(["man", "--warnings", "-l", page],
                                       env=support.environment(MANWIDTH="80", MANPAGER="cat", LC_ALL="C.UTF-8"))
            self.assertEqual((done.code, done.stderr), (0, ""), page)
            self.assertIn("EXIT STATUS", done.stdout)


class ReferencePage(ShellCase):
    def test_reference_page_is_current(self):
        done = self.run_program("man", "--format", "md")
        page = support.REPOSITORY / "docs" / "reference" / "commands.md"
        self.assertEqual(page.read_text(), done.stdout,
                         "write it again: xlatrace man --format md > docs/reference/commands.md")

    def test_reference_page_has_every_option(self):
        text = self.run_program("man", "--format", "md").stdout
        parts = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", text, re.M | re.S))
        self.assertEqual(list(parts), self.commands)
        for command, part in parts.items():
            cells = re.findall(r"^\| (`-.*?`) \|", part, re.M)
            self.assertEqual({name for cell in cells for name in OPTION.findall(cell)},
                             self.options(command), command)


class Completion(ShellCase):
    """All completions of one shell come from `completions(words)`, the last of which is unfinished."""

    shell = None

    def setUp(self):
        super().setUp()
        if self.shell is None:
            self.skipTest("a base class")
        done = self.run_program("completion", self.shell)
        self.assertEqual((done.code, done.stderr), (0, ""), done)
        self.script = done.stdout
        self.script_file = self.folder / "completion"
        self.script_file.write_text(self.script)
        (self.folder / "run.db").write_text("")

    def require_shell(self):
        if not shutil.which(self.shell):
            self.skipTest(f"no {self.shell}: apt-get install {self.shell}")

    def shell_output(self, *arguments):
        done = support.run_command([self.shell, *arguments], cwd=self.folder,
                                   env=support.environment(HOME=str(self.folder)))
        self.assertEqual((done.code, done.stderr), (0, ""), done)
        return done.stdout

    def check_completions(self):
        """Every option of every command, and every word of a listed value."""
        asked = {("",): set(self.commands)}
        for command in ("", *self.commands):
            words = tuple(command.split())
            asked[(*words, "--")] = {name for name in self.options(command) if name.startswith("--")}
            for names, value, _ in self.option_rows(command):
                if value.startswith("{"):
                    asked[(*words, names[-1], "")] = set(value.strip("{}").split(","))
        asked[("summary", "--by", "")] = {"op", "tree", "compile", "stack"}
        asked[("control", "run.rec", "st")] = {"start", "stop", "status"}
        asked[("export", "--to", "p")] = {"perfetto", "pprof", "pgle", "parquet"}
        asked[("show", "o1", "r")] = {"run.db"}
        for words, expected in asked.items():
            with self.subTest(shell=self.shell, words=words):
                offered = self.completions(words)
                self.assertLessEqual(expected, offered)
                if words[-1] == "--":
                    self.assertEqual(offered - {"--"}, expected)


class Bash(Completion):
    shell = "bash"

    def completions(self, words):
        lines = [f"source {self.script_file}", f"COMP_WORDS=(xlatrace {' '.join(w or chr(39) * 2 for w in words)})",
                 f"COMP_CWORD={len(words)}", "_xlatrace", 'printf "%s\\n" "${COMPREPLY[@]}"']
        return set(self.shell_output("-c", "\n".join(lines)).split())

    def test_bash_completes_every_option_and_word(self):
        self.check_completions()

    def test_value_after_an_equals_sign(self):
        self.assertEqual(self.completions(("summary", "--sort", "=", "c")), {"calls"})
        self.assertLessEqual({"time", "calls"}, self.completions(("summary", "--sort", "=")))

    def test_number_has_no_completion(self):
        self.assertEqual(self.completions(("summary", "--top", "")), set())

    def test_program_to_record_is_completed_as_a_command(self):
        self.assertIn("python3", self.completions(("record", "--", "pytho")))


class Zsh(Completion):
    shell = "zsh"

    def test_zsh_accepts_the_script(self):
        self.require_shell()
        self.shell_output("-n", str(self.script_file))

    def test_zsh_script_has_every_option_of_every_command(self):
        parts = dict(re.findall(r"^      '(\S+)'\)\n(.*?)^        ;;$", self.script, re.M | re.S))
        self.assertEqual(list(parts), self.commands)
        for command, part in parts.items():
            with self.subTest(command=command):
                specs = re.findall(r"^        '(?:\*|\([^)]*\))(-[\w-]+)=?\[(.*?[^\\])\](.*)' \\$", part, re.M)
                self.assertEqual({name for name, _, _ in specs}, self.options(command))
                values = {name: rest for name, _, rest in specs}
                for names, value, _ in self.option_rows(command):
                    if value.startswith("{"):
                        self.assertTrue(values[names[-1]].endswith(f":({value.strip('{}').replace(',', ' ')})"))

    def test_zsh_completes_in_a_terminal(self):
        """zsh completes only in its line editor: zpty runs one."""
        self.require_shell()
        lines = ["zmodload zsh/zpty", "zpty z zsh -f -i",
                 r"zpty -w z 'PS1=; unsetopt beep; autoload -Uz compinit && compinit -u -D; "
                 f"source {self.script_file}; LISTMAX=1000; print rea''dy'",
                 "zpty -r -m z line '*ready*'",
                 r"zpty -w -n z $'xlatrace export --share\t ok\C-a: \n'",
                 "zpty -r -m z line '*--share-safe*ok*'", "print -r -- $line", "zpty -d z"]
        self.assertIn("--share-safe", self.shell_output("-f", "-c", "\n".join(lines)))


class Fish(Completion):
    shell = "fish"

    def completions(self, words):
        line = " ".join(("xlatrace", *words))
        self.require_shell()
        out = self.shell_output("--no-config", "-c", f"source {self.script_file}; complete -C '{line}'")
        return {row.partition("\t")[0] for row in out.splitlines()}

    def test_fish_completes_every_option_and_word(self):
        self.check_completions()


class InstalledFiles(ShellCase):
    def test_completion_lies_where_shells_look_for_it(self):
        for shell, path in (("bash", "bash-completion/completions/xlatrace"),
                            ("zsh", "zsh/site-functions/_xlatrace"),
                            ("fish", "fish/vendor_completions.d/xlatrace.fish")):
            done = self.run_program("completion", shell)
            self.assertEqual((SHARE / path).read_text(), done.stdout, shell)


if __name__ == "__main__":
    unittest.main()
