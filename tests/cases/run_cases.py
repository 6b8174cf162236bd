#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs text cases (README.md beside this file).

Usage:
  tests/cases/run_cases.py                       Runs all cases.
  tests/cases/run_cases.py findings steps        Runs the cases of two areas.
  tests/cases/run_cases.py findings/FILE.txt     Runs one case. --keep keeps its runs.
  tests/cases/run_cases.py --update findings     Writes the actual values into the cases. Review the difference.

The program is XLATRACE_BIN, else build/release/bin/xlatrace. Exit status 0: every case holds.
"""

import argparse
import dataclasses
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

CASES = pathlib.Path(__file__).resolve().parent
ROOT = CASES.parent.parent
sys.path.insert(0, str(CASES / "runner"))
sys.path.insert(0, str(ROOT / "tests/judgement"))
from case_file import CaseError, read_case  # noqa: E402
from checks import CHECKS, Failure  # noqa: E402
from cpu_profile import write_profiles  # noqa: E402
from gpu_recording import write_recording  # noqa: E402
from hook_folder import Log, write_hook_folder  # noqa: E402
from programs import read_program  # noqa: E402
from run_language import Reader, build_timeline, changed  # noqa: E402
from time_trees import violations  # noqa: E402

HANG_S = 60
# Variables of the environment that change colour or width of the output are removed. Variables that
# activate a planted fault (scripts/mutate) are kept.
REMOVED = ("NO_COLOR", "COLUMNS", "LINES", "CLICOLOR_FORCE", "FORCE_COLOR")
KEPT = ("XLATRACE_MUTANT", "XLATRACE_MUTANTS_REACHED")


@dataclasses.dataclass
class Done:
    code: int
    stdout: str
    stderr: str


@dataclasses.dataclass
class Run:
    statements: list
    head: object


class Running:
    """One case in a folder of its own."""

    def __init__(self, case, program, folder):
        self.case, self.program, self.folder = case, program, folder
        self.programs, self.runs = {}, {}
        self.log = None  # The hook's log for the next run.
        self.failures, self.bodies = [], {}  # New lines of the sections that check, by index.
        self.commands = []

    def all(self):
        checks = 0
        for index, section in enumerate(self.case.sections):
            if section.keyword in CHECKS:
                outcome = CHECKS[section.keyword](section, self.run_program)
                self.failures += outcome.failures
                self.bodies[index] = outcome.body
                checks += 1
            elif section.keyword in ("program", "run", "file", "hook"):
                getattr(self, f"make_{section.keyword}")(section)
            else:
                raise section.head.error(
                    f"'{section.keyword}' is no section; there are: program, run, file, hook, rows, $")
        if not checks:
            raise CaseError(f"{self.case.name}:1", "the case checks nothing: add a section `rows` or `$`")
        for name, run in self.runs.items():
            self.failures += [Failure(run.head.place, f"time tree of '{name}': {broken}")
                              for broken in violations(self.folder / f"{name}.db")]

    def run_program(self, arguments):
        self.commands.append(arguments)
        environment = {name: value for name, value in os.environ.items() if name not in REMOVED
                       and (not name.startswith("XLATRACE_") or name in KEPT)}
        done = subprocess.run([self.program, *map(str, arguments)], cwd=self.folder, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=HANG_S, check=False)
        return Done(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    def make_program(self, section):
        """For the runs below. A second program of a name replaces the first."""
        before = self.programs.get(section.rest.split(" ")[0])
        program = read_program(section, before.id if before else len(self.programs) + 1)
        self.programs[program.name] = program

    def make_run(self, section):
        head, _, change = section.rest.partition(",")
        words = head.split()
        sources = words[words.index("from") + 1 :] if "from" in words else []
        other = words[words.index("like") + 1] if "like" in words[:-1] else None
        name = words[0] if words and words[0] not in ("from", "like") else "run"
        if name in self.runs:
            raise section.head.error(f"a second run '{name}'")
        if sources:
            self.runs[name] = Run([], section.head)
            return self.import_run(name, [self.folder / source for source in sources], section)
        reader = Reader(self.programs)
        if other is not None:
            if other not in self.runs:
                raise section.head.error(f"no run '{other}' above")
            lines = [dataclasses.replace(section.head, text=change.strip())] if change else []
            statements = changed(self.runs[other].statements, lines + section.body, reader)
        else:
            statements = reader.statements(section.body)
        self.runs[name] = Run(statements, section.head)
        timeline = build_timeline(statements, self.programs, section.head)
        if self.log is not None:
            return self.fold_run(name, timeline, section)
        if timeline.is_cpu:
            source = self.folder / f"{name}.profile"
            write_profiles(timeline, source)
        else:
            source = self.folder / f"{name}.rec"
            write_recording(timeline, source)
        self.import_run(name, [source], section, "cpu" if timeline.is_cpu else "sm_9.0_gpu")

    def make_hook(self, section):
        self.log = Log(section.body)

    def fold_run(self, name, timeline, section):
        """The program makes the run.db of a recording folder when it first reads it."""
        if not timeline.is_cpu or timeline.ranks != 1:
            raise section.head.error("a run with a section `hook` has the device cpu and one rank")
        write_hook_folder(timeline, self.log, self.folder / f"{name}.rec")
        self.log = None
        done = self.run_program(["summary", f"{name}.db"])
        if done.code != 0:
            raise section.head.error(f"unreadable recording: {done.stderr.strip()}")

    def import_run(self, name, sources, section, target="sm_9.0_gpu"):
        """Through the program itself, with the case's programs as XLA dumps them."""
        arguments = ["import", *sources, "-o", f"{name}.db"]
        if self.programs:
            dumps = self.folder / f"{name}.dumps"
            dumps.mkdir()
            for program in self.programs.values():
                file = f"module_{program.id:04d}.{program.name}.{target}_after_optimizations.txt"
                (dumps / file).write_text(program.text)
            arguments += ["--modules", dumps]
        done = self.run_program(arguments)
        if done.code != 0:
            raise section.head.error(f"the import fails: {done.stderr.strip()}")

    def make_file(self, section):
        if "/" in section.rest or not section.rest:
            raise section.head.error("expected `file NAME`")
        path = self.folder / section.rest
        if path.suffix == ".sqlite":
            database = sqlite3.connect(path)
            try:
                database.executescript(section.text())
            except sqlite3.Error as error:
                raise section.head.error(f"SQL: {error}") from None
            finally:
                database.close()
        else:
            path.write_text(section.text())


def updated(case, bodies):
    """The text of the case with new lines in the sections that check."""
    lines = list(case.lines)
    for index in sorted(bodies, reverse=True):
        section = case.sections[index]
        first = section.head.number  # Index of the line below the head.
        last = max([line.number for line in section.body], default=first)
        indent = " " * (section.body[0].indent if section.body else 2)
        lines[first:last] = [indent + line for line in bodies[index]]
    return "\n".join(lines) + "\n"


def run_case(path, program, update=False, keep=False):
    """Returns (failures, notes)."""
    try:
        name = str(path.relative_to(ROOT))
    except ValueError:
        name = str(path)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="xlatrace-case-"))
    notes = []
    try:
        case = read_case(path, name)
        running = Running(case, program, folder)
        try:
            running.all()
        finally:
            if keep:
                commands = [" ".join(map(str, ["xlatrace", *words])) for words in running.commands]
                notes += [f"{name}: kept in {folder}", *("  $ " + command for command in commands)]
        if not update:
            return running.failures, notes
        text = updated(case, running.bodies)
        if text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8")
            notes.append(f"{name}: updated")
        return [], notes
    except CaseError as error:
        return [Failure(*str(error).split(": ", 1))], notes
    except Exception as error:  # The other cases run all the same.
        return [Failure(f"{name}:1", f"{type(error).__name__}: {error}")], notes
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def find_cases(names):
    if not names:
        names = sorted(path.name for path in CASES.iterdir() if path.is_dir() and list(path.glob("*.txt")))
    found = []
    for name in names:
        place = next((base / name for base in (CASES, pathlib.Path.cwd()) if (base / name).exists()), None)
        if place is None:
            raise SystemExit(f"no area and no case '{name}' in {CASES}")
        found += sorted(place.glob("*.txt")) if place.is_dir() else [place.resolve()]
    if not found:
        raise SystemExit(f"no case in {' '.join(names)}")
    return found


def find_program():
    program = os.environ.get("XLATRACE_BIN") or ROOT / "build" / "release" / "bin" / "xlatrace"
    if not pathlib.Path(program).is_file():
        raise SystemExit(f"no program at {program}: build it (cmake --build --preset release --target xlatrace), "
                         "or name it in XLATRACE_BIN")
    return str(pathlib.Path(program).resolve())


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="AREA|FILE")
    parser.add_argument("--update", action="store_true", help="write the actual values into the cases; so does "
                        "XLATRACE_UPDATE_GOLDEN=1")
    parser.add_argument("--keep", action="store_true", help="keep each case's folder and print its commands")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="cases at a time")
    options = parser.parse_args(arguments)
    update = options.update or os.environ.get("XLATRACE_UPDATE_GOLDEN") == "1"
    paths, program = find_cases(options.cases), find_program()
    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for failures, notes in pool.map(lambda path: run_case(path, program, update, options.keep), paths):
            for text in [*notes, *map(str, failures)]:
                print(text, flush=True)
            failed += bool(failures)
    print(f"{len(paths)} cases, {failed} failed" if failed else f"{len(paths)} cases hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
