#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs xlatrace on each recording that has a key beside this file, and compares the results.

    check_answers.py --xlatrace build/release/bin/xlatrace [--only NAME]... [--keep DIR]

Environment: XLATRACE_SHARED_DATA (recordings), XLATRACE_TEST_PYTHON_JAX, XLATRACE_TEST_PYTHON_TF (the
demos), XLATRACE_TEST_PYTHON_JAX_CUDA and XLATRACE_FAKE_GPU (programs on the fake GPU). README.md describes
a key. Exit status: 0 all pass, 1 one fails, 77 no recording."""

import argparse
import dataclasses
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import shared_data  # noqa: E402
import tiers  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
TIMEOUT_S = 1200
PLACES = ("headline", "findings", "summary", "import", "diff")
ENTRIES = {
    "figure": {"name", "sql", "json", "value", "tolerance_pct", "tolerance"},
    "must": {"text", "where", "rank_max", "id", "any_of", "all_of", "why"},
    "should": {"text", "where", "rank_max", "id", "any_of", "all_of", "why"},
    "never": {"text", "where", "rank_max", "id", "any_of", "why"},
}
TOP = {"recording", "base", "program", "runner", "arguments", "devices", "import_fails", "about"}
FINDINGS_PAGE = REPOSITORY / "docs" / "reference" / "findings.md"
STEPS = {"count", "none", "allowed", "devices", "marked", "why"}


class Skip(Exception):
    """A requirement of a key is missing; the text names it."""


class Broken(Exception):
    """A key cannot be read, or xlatrace did not answer."""


@dataclasses.dataclass
class Line:
    """One line of an answer key, with the result of its check."""

    kind: str
    name: str
    passed: bool
    expected: str
    got: str


# --- keys -----------------------------------------------------------------------------------


def check_key(key):
    """Raises Broken for what README.md does not describe: a misspelt key would pass for ever."""
    for name in key:
        if name not in TOP | set(ENTRIES) | {"steps"}:
            raise Broken(f"unknown entry '{name}'")
    if ("recording" in key) == ("program" in key):
        raise Broken("needs either 'recording' or 'program'")
    for kind, allowed in ENTRIES.items():
        for entry in key.get(kind, []):
            for name in entry:
                if name not in allowed:
                    raise Broken(f"unknown '{name}' in [[{kind}]]")
            if kind == "figure":
                if ("sql" in entry) == ("json" in entry) or "value" not in entry:
                    raise Broken(f"figure '{entry.get('name')}' needs sql or json, and value")
                continue
            wanted = {"id", "any_of", "all_of"} & set(entry)
            if not wanted or {"any_of", "all_of"} <= wanted:
                raise Broken(f"'{entry.get('text')}' needs id, or either any_of or all_of")
            if "id" in entry and "findings" not in entry["where"].split("|"):
                raise Broken(f"'{entry.get('text')}' has an id, but is not judged in findings")
            for name in entry.get("id", []):
                if name not in known_findings():
                    raise Broken(f"there is no finding '{name}'")
            for place in entry["where"].split("|"):
                if place not in PLACES:
                    raise Broken(f"unknown place '{place}'")
            for pattern in entry.get("any_of", []) + entry.get("all_of", []):
                try:
                    re.compile(pattern)
                except re.error as error:
                    raise Broken(f"expression '{pattern}': {error}") from None
    for name in key.get("steps", {}):
        if name not in STEPS:
            raise Broken(f"unknown '{name}' in [steps]")


@functools.cache
def known_findings():
    """Ids of findings, as the page about them has them: an entry about an unknown id could never match."""
    return set(re.findall(r"`([a-z][a-z_0-9]+)`", FINDINGS_PAGE.read_text()))


def numbers_of(allowed):
    """[0, 4] and "0 or 28..40" as a set of numbers."""
    if isinstance(allowed, list):
        return set(allowed)
    result = set()
    for part in allowed.split(" or "):
        low, _, high = part.partition("..")
        result.update(range(int(low), int(high or low) + 1))
    return result


# --- queries ---------------------------------------------------------------------------------


class Answers:
    """The output of xlatrace for one recording."""

    def __init__(self, program, folder):
        self.program = str(program)
        self.folder = folder
        self.run = folder / "run.db"
        self.texts = {"headline": "", "findings": [], "summary": "", "import": "", "diff": ""}
        self.ids = []  # Ids of findings, by rank.
        self.document = {}
        self.imported = True

    def ask(self, *arguments, environment=None, fine=(0,)):
        command = [self.program, *map(str, arguments)]
        result = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S,
            cwd=self.folder, env=environment or clean_environment(), check=False,
        )  # fmt: skip
        if result.returncode not in fine:
            raise Broken(f"{' '.join(command)}: exit {result.returncode}: {result.stderr[-400:]}")
        return result

    def take(self, key):
        if "program" in key:
            self.record(key)
        else:
            self.read(recording_of(key["recording"]), self.run)
            if "base" in key:
                base = self.folder / "base.db"
                self.read(recording_of(key["base"]), base)
                diff = self.ask("diff", base, self.run, fine=range(10))
                self.texts["diff"] = diff.stdout + diff.stderr
        if not self.imported or key.get("import_fails"):
            return
        self.texts["summary"] = self.ask("summary", self.run, "--width", 100).stdout
        self.document = json.loads(self.ask("summary", self.run, "--format", "json").stdout)
        self.texts["headline"] = headline_of(self.document)
        # Savings per step and savings of the run are two lists; the ranks of answers are about steps.
        rows = self.query(
            "SELECT id, title, where_op, where_layer, where_source, evidence, action FROM finding"
            " ORDER BY saves_high_ns_per_run IS NOT NULL, rank")  # fmt: skip
        self.texts["findings"] = [text_of(row) for row in rows]
        self.ids = [row["id"] for row in rows]

    def read(self, path, run):
        result = self.ask("import", path, "-o", run, fine=(0, 1))
        self.texts["import"] += result.stdout + result.stderr
        self.imported = self.imported and result.returncode == 0

    def record(self, key):
        program = REPOSITORY / key["program"]
        arguments = key.get("arguments", [])
        runner = key["runner"]
        if runner in ("record_jax", "record_tf"):
            variable = "XLATRACE_TEST_PYTHON_" + runner.removeprefix("record_").upper()
            python = os.environ.get(variable)
            if not python:
                raise Skip(f"{variable} is not set")
            command = [os.path.abspath(python), program, *arguments]
            result = self.ask("record", "-o", self.run, "--", *command)
        elif runner == "fake_gpu":
            result = run_on_fake_gpu(self.program, self.folder, program, arguments, key)
        else:
            raise Broken(f"unknown runner '{runner}'")
        self.texts["import"] += result.stdout + result.stderr

    def query(self, sql):
        rows = json.loads(self.ask("query", self.run, sql, "--format", "json").stdout)
        return rows["rows"] if isinstance(rows, dict) else rows

    def scalar(self, sql):
        rows = self.query(sql)
        row = rows[0] if rows else None
        return next(iter(row.values() if isinstance(row, dict) else row), None) if row else None


def clean_environment():
    hidden = ("NO_COLOR", "COLUMNS", "LINES", "CLICOLOR_FORCE", "FORCE_COLOR")
    return {
        name: value
        for name, value in os.environ.items()
        if name not in hidden and not name.startswith("XLATRACE_")
    }


def recording_of(relative):
    path = shared_data.find(relative)
    if path is None:
        raise Skip(shared_data.reason(relative))
    return path


def run_on_fake_gpu(xlatrace, folder, program, arguments, key):
    sys.path.insert(0, str(REPOSITORY / "tests" / "fake_gpu" / "jax"))
    import rig  # noqa: PLC0415, below the folder that was just named

    preload = pathlib.Path(xlatrace).resolve().parents[1] / "lib" / "libxlatrace.so"
    if not preload.exists():
        raise Skip(f"not built: {preload}")
    try:
        place = rig.Rig()
    except rig.Missing as missing:
        raise Skip(str(missing)) from None
    result = place.run(program, *arguments, devices=key.get("devices", 1), preload=preload,
                       cwd=folder, timeout=TIMEOUT_S)  # fmt: skip
    if result.returncode != 0:
        raise Broken(f"{program.name}: exit {result.returncode}: {result.stderr[-400:]}")
    return result


def headline_of(document):
    """The sentences of the verdict, also if the verdict is withheld."""
    verdict = document.get("verdict", "")
    if isinstance(verdict, dict):
        verdict = " ".join(str(verdict.get(name) or "") for name in ("sentence", "lede", "text"))
    return verdict


def text_of(row):
    """A finding as one text, with its evidence in words."""
    parts = [row[name] for name in ("title", "where_op", "where_layer", "where_source")]
    for item in json.loads(row["evidence"] or "[]"):
        parts.append(" ".join(str(item.get(name)) for name in ("text", "value", "unit")
                              if item.get(name) is not None))  # fmt: skip
    parts.append(row["action"])
    return " | ".join(part for part in parts if part)


# --- judging --------------------------------------------------------------------------------


def same(value, got, entry):
    if isinstance(value, str) or got is None or isinstance(got, str):
        return got is not None and str(got) == str(value)
    slack = abs(value) * entry.get("tolerance_pct", 0) / 100 + entry.get("tolerance", 0)
    return abs(got - value) <= slack


def inside(document, path):
    for step in path.split("."):
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


def judge_figure(answers, entry):
    try:
        got = answers.scalar(entry["sql"]) if "sql" in entry else inside(
            answers.document, entry["json"])  # fmt: skip
    except (Broken, KeyError, IndexError, TypeError, ValueError) as error:
        return Line("figure", entry["name"], False, str(entry["value"]), f"no answer: {error}")
    slack = f" +- {entry['tolerance_pct']} %" if "tolerance_pct" in entry else ""
    return Line("figure", entry["name"], same(entry["value"], got, entry),
                f"{entry['value']}{slack}", str(got))  # fmt: skip


def judge_steps(answers, steps):
    lines = []
    allowed = {0} if steps.get("none") and "allowed" not in steps else set()
    allowed |= numbers_of(steps.get("allowed", []))
    if "count" in steps:
        allowed.add(steps["count"])
    devices = steps.get("devices", 1)
    rows = answers.query(
        "SELECT device_id, count(*) AS n FROM step WHERE steady = 1 GROUP BY device_id")
    found = sorted(row["n"] if isinstance(row, dict) else row[1] for row in rows)
    fine = bool(allowed) and (
        (not found and 0 in allowed) or (bool(found) and set(found) <= allowed))
    if found and "devices" in steps:
        fine = fine and len(found) == devices
    expected = " or ".join(map(str, sorted(allowed))) + f" on {devices} device(s)"
    if len(allowed) > 3:
        expected = f"{min(allowed)} to {max(allowed)}, not all between" + f" on {devices} device(s)"
    lines.append(Line("steps", "steady steps of each device", fine, expected, str(found or 0)))
    if "marked" in steps:
        got = answers.scalar("SELECT count(DISTINCT step) FROM step WHERE how = 'marked'")
        lines.append(
            Line("steps", "marked steps", got == steps["marked"], str(steps["marked"]), str(got)))
    return lines


def found_in(text, entry, finding_id=None):
    """The first piece of text that matches, or None. `finding_id`: of the finding that the text is about."""
    if finding_id in entry.get("id", []) and all(
        re.search(pattern, text, re.IGNORECASE) for pattern in entry.get("all_of", [])
    ):
        return f"{finding_id}: {text[:60]}"
    if "any_of" in entry:
        matches = (re.search(pattern, text, re.IGNORECASE) for pattern in entry["any_of"])
        first = next((match for match in matches if match), None)
        return text[max(0, first.start() - 30) : first.end() + 30] if first else None
    if "id" in entry:
        return None
    matches = [re.search(pattern, text, re.IGNORECASE) for pattern in entry["all_of"]]
    return text[matches[0].start() : matches[0].start() + 60] if all(matches) else None


def claim_in(answers, entry):
    """Where the claim was found, or None."""
    for place in entry["where"].split("|"):
        texts = answers.texts[place]
        if place == "findings":
            texts = texts[: entry.get("rank_max", len(texts))]
        else:
            texts = [texts]
        for number, text in enumerate(texts, 1):
            flat = text if place == "summary" else " ".join(text.split())
            finding_id = answers.ids[number - 1] if place == "findings" else None
            piece = found_in(flat, entry, finding_id)
            if piece is not None:
                rank = f" {number}" if place == "findings" else ""
                return f"{place}{rank}: ...{' '.join(piece.split())}..."
    return None


def judge(key, answers):
    lines = []
    if key.get("import_fails"):
        lines.append(Line("import", "is refused", not answers.imported, "exit 1",
                          "exit 0" if answers.imported else "exit 1"))  # fmt: skip
    elif answers.imported:
        lines += [judge_figure(answers, entry) for entry in key.get("figure", [])]
        if "steps" in key:
            lines += judge_steps(answers, key["steps"])
    first = answers.texts["headline"] or "(no headline)"
    for kind in ("must", "should", "never"):
        for entry in key.get(kind, []):
            where = claim_in(answers, entry)
            wanted = kind != "never"
            ranked = f" (first {entry['rank_max']})" if "rank_max" in entry else ""
            got = where or ("not said; headline: " + first[:160] if wanted else "not said")
            expected = ("said in " if wanted else "not in ") + entry["where"] + ranked
            lines.append(
                Line(kind, entry["text"], (where is not None) == wanted, expected, got))
    judged_by_import = any("import" in entry["where"] for entry in key.get("must", []))
    if not answers.imported and not judged_by_import:
        lines.append(Line("import", "is read", False, "exit 0", answers.texts["import"][-200:]))
    return lines


def passes(lines):
    should = [line for line in lines if line.kind == "should"]
    others = all(line.passed for line in lines if line.kind != "should")
    return others and 2 * sum(line.passed for line in should) >= len(should)


# --- printing -------------------------------------------------------------------------------


def print_lines(name, lines, details):
    for line in lines:
        word = "pass" if line.passed else "FAIL" if line.kind != "should" else "miss"
        print(f"{word}  {name}  {line.kind}: {line.name}")
        if line.passed and details and line.kind in ("must", "should"):
            print(f"        {line.got}")
        if not line.passed:
            print(f"        expected {line.expected}\n        got      {line.got}")


def count(lines, kinds):
    chosen = [line for line in lines if line.kind in kinds]
    return f"{sum(line.passed for line in chosen)}/{len(chosen)}" if chosen else "-"


# One key of each kind of source; scripts/long checks all of them.
FIRST_TIER = (
    "jax_cpu_20_steps", "kineto_h100_bert_small", "maxtext_fsdp4_h100", "nsys_mfu_2gpu_diff", "xplane_tpu_v6e",
    "fake_gpu_rich_step",
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--xlatrace", required=True, type=pathlib.Path, help="the program")
    parser.add_argument("--only", action="append", help="keys whose name contains this")
    parser.add_argument("--details", action="store_true", help="show also where a claim was found")
    parser.add_argument("--keep", type=pathlib.Path, help="write the outputs of xlatrace to this folder")
    arguments = parser.parse_args()

    program = arguments.xlatrace.resolve()
    only = arguments.only or (None if tiers.IS_LONG else FIRST_TIER)
    table = []
    failed = asked = False
    for path in sorted(HERE.glob("*.toml")):
        name = path.stem
        if only and not any(part in name for part in only):
            continue
        folder = pathlib.Path(tempfile.mkdtemp(prefix=f"xlatrace-answer-{name}-"))
        answers = Answers(program, folder)
        try:
            key = tomllib.loads(path.read_text())
            check_key(key)
            answers.take(key)
            lines = judge(key, answers)
        except Skip as skip:
            print(f"skip  {name}: {skip}")
            table.append((name, "skipped", "-", "-", "-", "-"))
            continue
        except (Broken, tomllib.TOMLDecodeError, subprocess.TimeoutExpired) as error:
            lines = [Line("import", "an answer", False, "one", str(error))]
        finally:
            if arguments.keep:
                keep(answers, arguments.keep / name)
            shutil.rmtree(folder, ignore_errors=True)
        asked = True
        print_lines(name, lines, arguments.details)
        fine = passes(lines)
        failed = failed or not fine
        kinds = (("figure", "steps", "import"), ("must",), ("should",), ("never",))
        counts = [count(lines, kind) for kind in kinds]
        table.append((name, "pass" if fine else "FAIL", *counts))
        sys.stdout.flush()

    head = ("key", "answer", "figures", "must", "should", "never")
    widths = [max(len(row[i]) for row in [head, *table]) for i in range(len(head))]
    print()
    for row in [head, *table]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    passed = sum(row[1] == "pass" for row in table)
    print(f"\n{passed} of {sum(row[1] != 'skipped' for row in table)} pass")
    return 1 if failed else 0 if asked else 77


def keep(answers, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for place in ("summary", "import", "diff", "headline"):
        (folder / f"{place}.txt").write_text(answers.texts[place])
    (folder / "findings.txt").write_text("\n\n".join(answers.texts["findings"]))
    (folder / "summary.json").write_text(json.dumps(answers.document, indent=1))
    if answers.run.exists():
        shutil.copyfile(answers.run, folder / "run.db")


if __name__ == "__main__":
    sys.exit(main())
