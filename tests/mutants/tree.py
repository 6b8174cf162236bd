# SPDX-License-Identifier: Apache-2.0
"""A copy of the source tree with every mutant in it, each behind its switch; one build for all."""

import os
import re
import shutil
import subprocess
from pathlib import Path

HEADER = "tests/mutants/mutant.h"
LINKS = (".cuda", ".simdjson")


def inserted(text, spans):
    """`text` with (begin, end, front, behind) around what they span. Those that cross others are
    dropped; returns the text and what was kept, as indices of `spans`."""
    order = sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1]))
    kept, _open_ends = [], []
    pieces, at = [], 0
    closing = []  # (end, text behind), inner last

    def close(until):
        nonlocal at
        while closing and closing[-1][0] <= until:
            end, behind = closing.pop()
            pieces.append(text[at:end])
            pieces.append(behind)
            at = end

    for i in order:
        begin, end, front, behind = spans[i]
        close(begin)
        if closing and closing[-1][0] < end:
            continue
        pieces.append(text[at:begin])
        at = begin
        pieces.append(front)
        closing.append((end, behind))
        kept.append(i)
    close(len(text))
    pieces.append(text[at:])
    return "".join(pieces), kept


def write(path, text):
    """Only where it is another one, so that builds stay small."""
    data = text if isinstance(text, bytes) else text.encode()
    if path.exists() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def fixtures_of(root, name, text):
    """Tests read their files where they are, not in the copy: so that object files of tests are
    those of the ordinary build (ccache), which nothing else here depends on."""
    text = text.decode() if isinstance(text, bytes) else text
    here = (root / name).parent
    text = re.sub(r'(XLATRACE_\w+=")\$\{PROJECT_SOURCE_DIR\}', rf"\g<1>{root}", text)
    return re.sub(r'(XLATRACE_\w+=")\$\{CMAKE_CURRENT_SOURCE_DIR\}', rf"\g<1>{here}", text)


class Tree:
    def __init__(self, root, folder, jobs=1, nice=15, unity=False):
        self.root, self.folder, self.jobs, self.nice = root, folder, jobs, nice
        self.unity = unity  # Also in components with faults; the others always are.
        self.build = folder / "build" / "release"
        # As they are now: whoever edits meanwhile does not disturb.
        self.files = {name: (root / name).read_bytes() for name in self.sources()
                      if (root / name).is_file()}

    def text(self, name):
        return self.files[name].decode()

    def sources(self):
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self.root, check=True, stdout=subprocess.PIPE).stdout
        return [name.decode() for name in listed.split(b"\0") if name]

    def copy(self, changed):
        """`changed`: file -> text in the place of its own."""
        components = {}
        for name in changed:
            if name.endswith(".cc"):
                component, _, rest = name.partition("/")
                components.setdefault(component, []).append(rest)
        for base, _, files in os.walk(self.folder):
            folder = Path(base).relative_to(self.folder)
            if folder.parts[:1] == ("build",):
                continue
            for file in files:
                if str(folder / file) not in self.files and not (Path(base) / file).is_symlink():
                    (Path(base) / file).unlink()
        for name in self.files:
            if name.endswith(".py") and name in changed:
                text = changed[name]
            elif name in changed:
                # Where files are compiled together, each is included by another and may ask for
                # no warnings in this way; alone it has options of its own.
                quiet = "#pragma GCC system_header\n" if self.unity else ""
                text = f'#include "{HEADER}"\n{quiet}#line 1 "{name}"\n{changed[name]}'
            else:
                text = self.files[name]
            component, _, rest = name.partition("/")
            if rest == "CMakeLists.txt" and component in components and not self.unity:
                target = "collector_parts" if component == "collector" else component
                text = text.decode() + (
                    "\nset_source_files_properties(" + " ".join(sorted(components[component])) +
                    " PROPERTIES COMPILE_OPTIONS -Wno-error)\n"
                    f"set_target_properties(xlatrace_{target} PROPERTIES UNITY_BUILD OFF)\n")
            if name == "collector/CMakeLists.txt":
                # The collector compiles them one by one, whatever the preset says.
                alone = [f"../{each}" for each in ("base/masking.cc", "base/shell_word.cc") if each in changed]
                if alone:
                    text = text if isinstance(text, str) else text.decode()
                    text += (f"\nif(TARGET xlatrace_collector)\nset_source_files_properties({' '.join(alone)} "
                             "PROPERTIES COMPILE_OPTIONS -Wno-error)\nendif()\n")
            if rest.endswith("CMakeLists.txt") and component == "tests":
                text = fixtures_of(self.root, name, text)
            write(self.folder / name, text)
        for link in LINKS:
            if (self.root / link).exists() and not (self.folder / link).is_symlink():
                os.symlink((self.root / link).resolve(), self.folder / link)

    def make(self, targets):
        """Empty, or (file, line) of each compiler error."""
        if not (self.build / "build.ninja").exists():
            subprocess.run(["cmake", "--preset", "release"], cwd=self.folder, check=True,
                           stdout=subprocess.DEVNULL)
        # Components without a fault are as the preset builds them: ccache has them from the tree itself.
        environment = dict(os.environ, CCACHE_BASEDIR=str(self.folder), CCACHE_NOHASHDIR="1")
        done = subprocess.run(
            ["nice", "-n", str(self.nice), "ninja", "-C", str(self.build), f"-j{self.jobs}", "-k0", *targets],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace")
        if done.returncode == 0:
            return []
        errors = sorted(set(
            (file, int(line)) for file, line in
            re.findall(r"^(?:\S*/)?((?:\w+/)+\w+\.\w+):(\d+):\d+: (?:fatal )?error", done.stdout, re.M)))
        if not errors:
            raise SystemExit(done.stdout[-4000:])
        self.said = done.stdout
        return errors

    def binary(self, component):
        return self.build / "tests" / component / f"{component}_test"

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
