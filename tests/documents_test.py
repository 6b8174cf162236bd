#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Documents name only what is in the tree. Needs nothing built.

Checked are links of all pages, the index docs/README.md, paths and third parties in ARCHITECTURE.md, and paths and
functions in docs/development/life-of-a-kernel.md."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPONENTS = ("base", "model", "recording", "collector", "store", "hlo", "dumps", "importers", "correlator",
         "analysis", "compare", "fleet", "export", "report", "tools", "include", "python")
SOURCES = (".cc", ".h", ".c", ".ts", ".tsx", ".py")
# Files of a run, not of the tree.
OF_A_RUN = {"run.rec/", "run.rec", "run.db", "status.json", "session-N.xplane.pb", "libxlatrace.so"}
# Names of the kernel that life-of-a-kernel.md follows.
OF_THE_STORY = {"loop_add_fusion_3", "loop_add_fusion.3"}


def quoted(text):
    return re.findall(r"`([^`\n]+)`", text)


def is_path(word):
    return "/" in word and not re.search(r"[\s()#]", word) or bool(re.fullmatch(r"[\w*.-]+\.(cc|h|c|py|md|sh)", word))


def is_function(word):
    return bool(re.fullmatch(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*", word)) and word not in OF_THE_STORY


def missing_paths(root, text):
    """Paths that are neither below the root nor, in a row of the table of components, below the component."""
    found = []
    for line in text.splitlines():
        words = quoted(line)
        component = words[0] if line.startswith("| `") else ""
        for word in filter(is_path, words):
            if word in OF_A_RUN:
                continue
            places = [root / word, root / component / word] if component else [root / word]
            # A file without its ending names a source and its header; a pattern, at least one file.
            if not any(place.exists() or list(place.parent.glob(place.name)) or
                       place.with_suffix(".cc").exists() for place in places) and not (
                           "/" not in word and list(root.glob(f"*/{word}"))):
                found.append(word)
    return found


def sources(root):
    for component in COMPONENTS:
        for path in sorted((root / component).rglob("*")):
            if path.suffix in SOURCES and "node_modules" not in path.parts and "dist" not in path.parts:
                yield path.read_text(encoding="utf-8", errors="replace")


def missing_functions(texts, words):
    """Names without a definition. For `A::B`, a file has B, and A as a class, as a namespace or before B."""
    wanted = {word: word.split("::") for word in words}
    for text in texts:
        names = set(re.findall(r"\w+", text))
        for word, (*scope, name) in list(wanted.items()):
            if name not in names:
                continue
            if not scope or re.search(
                    rf"\b(class|struct|namespace|using) (\w+::)*{scope[-1]}\b|\b{scope[-1]}::{name}\b", text):
                del wanted[word]
    return list(wanted)


def anchors(text):
    """Anchors that GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page):
    """Targets of the page's links that are not in the tree."""
    found = []
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text(encoding="utf-8"))):
            found.append(target)
    return found


class PagesTest(unittest.TestCase):
    def test_links_of_all_pages_have_a_target(self):
        pages = [page for pattern in ("*.md", "docs/**/*.md", "bench/*.md", "tests/**/README.md")
                 for page in ROOT.glob(pattern)]
        self.assertGreater(len(pages), 25)
        self.assertEqual({page.relative_to(ROOT): links for page in pages if (links := broken_links(page))}, {})

    def test_pages_named_without_a_link_are_in_the_tree(self):
        done = subprocess.run(
            ["git", "-C", str(ROOT), "grep", "-ohE", r"\bdocs/[A-Za-z0-9_/-]+\.md\b", "--",
             ":!tests/tree_test.py", ":!tests/lint"], capture_output=True, text=True)
        if done.returncode:
            self.skipTest("not a git checkout")
        self.assertEqual([name for name in sorted(set(done.stdout.split())) if not (ROOT / name).exists()], [])

    def test_index_lists_every_page_once(self):
        index = ROOT / "docs" / "README.md"
        listed = re.findall(r"\]\(([^)#]+\.md)\)", index.read_text(encoding="utf-8"))
        pages = [str(page.relative_to(index.parent)) for page in index.parent.glob("**/*.md") if page != index]
        self.assertEqual(sorted(name for name in listed if not name.startswith("..")), sorted(pages))

    def test_titles_of_howto_pages_begin_with_how_to(self):
        for page in sorted(ROOT.glob("docs/how-to/*.md")):
            with self.subTest(page=page.name):
                self.assertRegex(page.read_text(encoding="utf-8"), r"\A# How to ")


class VersionTest(unittest.TestCase):
    def test_schema_page_has_the_schema_version_of_the_code(self):
        code = (ROOT / "store" / "schema.h").read_text(encoding="utf-8")
        version = re.search(r"kSchemaVersion = (\d+);", code)[1]
        self.assertRegex((ROOT / "docs" / "schema.md").read_text(encoding="utf-8"),
                         rf"`PRAGMA user_version` is the schema's version,\s+{version} now")

    def test_citation_has_the_version_of_the_build(self):
        build = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        version = re.search(r"project\(xlatrace VERSION (\S+)", build)[1]
        self.assertIn(f"\nversion: {version}\n", (ROOT / "CITATION.cff").read_text(encoding="utf-8"))


class GlossaryTest(unittest.TestCase):
    def test_glossary_has_each_term_of_the_help_of_the_page(self):
        page = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
        terms = re.findall(r"^\| ([^|]+?) \|", page, re.M)
        self.assertEqual(len([term for term in terms if term != "term"]), len(set(terms) - {"term"}))
        text = (ROOT / "report" / "ui" / "src" / "glossary.ts").read_text(encoding="utf-8")
        wanted = [term for entry in re.findall(r"\[\s*'([^']+)',", text) for term in entry.split(", ")]
        self.assertGreater(len(wanted), 10)
        self.assertEqual([term for term in wanted if term not in terms], [])


class DocumentsTest(unittest.TestCase):
    def test_paths_of_the_architecture_are_in_the_tree(self):
        text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
        self.assertGreater(len([w for w in quoted(text) if is_path(w)]), 60)
        self.assertEqual(missing_paths(ROOT, text), [])

    def test_components_of_the_tree_are_in_the_architecture(self):
        words = set(quoted((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")))
        self.assertEqual([component for component in COMPONENTS if f"{component}/" not in words], [])

    def test_third_parties_of_the_build_are_in_the_architecture(self):
        text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").lower().replace("-", "").replace("::", "")
        text = re.sub(r"[/ ]", "", text)
        build = (ROOT / "cmake" / "XlatraceDependencies.cmake").read_text(encoding="utf-8")
        parties = set(re.findall(r"find_package\((\S+) REQUIRED", build)) - {"PkgConfig", "Threads", "Python3"}
        parties |= set(re.findall(r"pkg_check_modules\((\S+) REQUIRED", build))
        self.assertGreater(len(parties), 8)
        called = {"SQLite3": "sqlite", "GTest": "googletest", "benchmark": "googlebenchmark",
                  "tl-expected": "tlexpected", "nlohmann_json": "nlohmannjson"}
        self.assertEqual([p for p in sorted(parties) if called.get(p, p.lower()) not in text], [])

    def test_names_in_life_of_a_kernel_are_in_the_tree(self):
        text = (ROOT / "docs" / "development" / "life-of-a-kernel.md").read_text(encoding="utf-8")
        self.assertEqual(missing_paths(ROOT, text), [])
        words = [word for word in quoted(text) if not is_path(word) and is_function(word)]
        self.assertGreater(len(words), 35)
        self.assertEqual(missing_functions(sources(ROOT), words), [])

    def test_a_name_that_is_gone_is_seen(self):
        texts = ["class Reader {\n  void Take();\n};", "void Other::Read() {}", "namespace store { void Save(); }"]
        for word in ("Reader::Take", "Other::Read", "store::Save", "Take"):
            self.assertEqual(missing_functions(texts, [word]), [], word)
        for word in ("Reader::Read", "Taken", "Writer::Take", "store::Take"):
            self.assertEqual(missing_functions(texts, [word]), [word])
        self.assertEqual(missing_paths(ROOT, "in `tests/documents_test.py` and `tests/nothing.py`"),
                         ["tests/nothing.py"])
        self.assertEqual(missing_paths(ROOT, "| `hlo/` | `text/`, `wax/` |"), ["wax/"])


if __name__ == "__main__":
    sys.exit(unittest.main())
