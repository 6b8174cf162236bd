# SPDX-License-Identifier: Apache-2.0
"""A copy of the source tree with every fault in it, each behind its switch; one build for all."""

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
    kept = []
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
    """Tests read their files in place, not in the copy. So object files of tests are those of the ordinary
    build (ccache), which does not depend on this copy."""
    text = text.decode() if isinstance(text, bytes) else text
    here = (root / name).parent
    text = re.sub(r'(XLATRACE_\w+=")\$\{PROJECT_SOURCE_DIR\}', rf"\g<1>{root}", text)
    return re.sub(r'(XLATRACE_\w+=")\$\{CMAKE_CURRENT_SOURCE_DIR\}', rf"\g<1>{here}", text)


def planted_cmake(components, users):
    """CMake code that compiles files with faults beside the libraries, in front of which executables
    find them. The libraries stay as they are, and with them their entries in the compiler's cache. It
    holds because functions with external linkage are compiled with -fPIC: calls of them are not inlined
    across files, although files are compiled together."""
    lines = []
    for component, files in sorted(components.items()):
        lines += [f"add_library(planted_{component} OBJECT {' '.join(sorted(files))})",
                  "foreach(property IN ITEMS LINK_LIBRARIES COMPILE_OPTIONS COMPILE_DEFINITIONS INCLUDE_DIRECTORIES)",
                  f"  get_target_property(value xlatrace_{component} ${{property}})",
                  f"  if(value)\n    set_property(TARGET planted_{component} PROPERTY ${{property}} \"${{value}}\")\n  endif()",
                  "endforeach()",
                  f"target_compile_options(planted_{component} PRIVATE -O1 -w)",
                  f"set_target_properties(planted_{component} PROPERTIES UNITY_BUILD OFF)"]
        for user in users(component):
            lines += [f"if(TARGET {user})",
                      f"  target_sources({user} PRIVATE $<TARGET_OBJECTS:planted_{component}>)",
                      f"  target_link_libraries({user} PRIVATE xlatrace_{component})",
                      f"  target_link_options({user} PRIVATE -Wl,-z,muldefs)", "endif()"]
    return "\n".join(lines) + "\n"


class Tree:
    """`users(component)`: the executables that a fault of the component is planted in."""

    def __init__(self, root, folder, users, jobs=1, nice=15):
        self.root, self.folder, self.users, self.jobs, self.nice = root, folder, users, jobs, nice
        self.build = folder / "build" / "release"
        # The present content, so that later edits have no effect.
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
        wanted, beside = dict(self.files), {}
        for name, text in changed.items():
            component, _, rest = name.partition("/")
            if name.endswith((".py", ".c")):
                wanted[name] = text
            elif name.endswith(".cc") and component != "collector":
                place = f"planted/{component}/{rest.replace('/', '__')}"
                wanted[place] = f'#include "{HEADER}"\n#line 1 "{name}"\n{text}'
                beside.setdefault(component, []).append(place)
            else:
                # Headers, and the collector, whose functions are hidden and may be inlined. A unit includes
                # the file, and switches warnings off in this way.
                wanted[name] = f'#include "{HEADER}"\n#pragma GCC system_header\n#line 1 "{name}"\n{text}'
        wanted["planted/planted.cmake"] = planted_cmake(beside, self.users)
        wanted["CMakeLists.txt"] = self.text("CMakeLists.txt") + "include(planted/planted.cmake)\n"
        for base, _, files in os.walk(self.folder):
            folder = Path(base).relative_to(self.folder)
            if folder.parts[:1] == ("build",):
                continue
            for file in files:
                if str(folder / file) not in wanted and not (Path(base) / file).is_symlink():
                    (Path(base) / file).unlink()
        for name, text in wanted.items():
            if name.endswith("CMakeLists.txt") and name.startswith("tests/"):
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
