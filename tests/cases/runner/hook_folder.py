# SPDX-License-Identifier: Apache-2.0
"""Section `hook`: the log of the Python hook before a run on a CPU, and the recording folder that holds both.

The statements follow each other without a pause, and the profile starts at the end of the last one. So the log has a
process of the length of all its statements.
"""

import json
import re

from case_file import blocks
from cpu_profile import START_UNIX_NS, write_profiles
from run_language import BYTES, NS, OPTION, quantity

PLACE = re.compile(r"\s+(at|of)\s+(\S+):(\d+)$")
STAGES = ("trace", "lower", "compile")
PID = 4242
FOLDER = f"{PID}-1"


def read_places(text):
    """(text without its places, {"at": (file, line), "of": (file, line)})."""
    places = {}
    while found := PLACE.search(text):
        places[found[1]] = (found[2], int(found[3]))
        text = text[: found.start()]
    return text, places


def read_detail(line):
    """`KIND [name=TEXT] [before=TEXT] [after=TEXT] [value=NUMBER or SIZE] [at FILE:LINE]`"""
    text, places = read_places(line.text)
    detail = {}
    while found := OPTION.search(text):
        detail[found[1]] = found[2].strip('"')
        text = text[: found.start()]
    if unknown := detail.keys() - {"name", "before", "after", "value"}:
        raise line.error(f"a fact has no {unknown.pop()}")
    if "value" in detail:
        found = re.fullmatch(r"([\d_.]+)([A-Za-z]*)", detail["value"])
        units = {"": 1, **NS, **BYTES}
        detail["value"] = quantity(detail["value"], units, line, "number or size") if found else None
    if "at" in places:
        detail["file"], detail["line"] = places["at"]
    return {"kind": text, **detail}


class Log:
    """Lines of compile.jsonl, with times from the start of the process."""

    def __init__(self, lines):
        self.entries, self.now_ns, self.compilations = [], 0, 0
        for block in blocks(lines):
            verb, _, rest = block.line.text.partition(" ")
            if verb not in ("import", "backend_start", "compile"):
                raise block.line.error(f"'{verb}' is no statement; there are: import, backend_start, compile")
            getattr(self, f"read_{verb}")(rest.strip(), block)

    def add(self, stage, name, ns, places, **more):
        file, line = places.get("at", (None, None))
        self.entries.append({"stage": stage, "name": name, "start": self.now_ns, "end": self.now_ns + ns,
                             "thread": PID, "file": file, "line": line, **more})
        self.now_ns += ns

    def read_named(self, rest, block):
        rest, places = read_places(rest)
        name, _, time = rest.partition(" ")
        return name, quantity(time, NS, block.line, "time"), places

    def read_import(self, rest, block):
        self.add("import", *self.read_named(rest, block))

    def read_backend_start(self, rest, block):
        self.add("backend_start", *self.read_named(rest, block))

    def read_compile(self, rest, block):
        is_operation, is_unfinished = False, False
        if rest.endswith(" operation"):
            rest, is_operation = rest.removesuffix(" operation"), True
        if rest.endswith(" unfinished"):
            rest, is_unfinished = rest.removesuffix(" unfinished"), True
        name, ns, places = self.read_named(rest, block)
        self.compilations += 1
        facts, again, details, stages = {"id": self.compilations}, None, [], {}
        for child in block.body:
            text = child.line.text
            first, _, tail = text.partition(" ")
            if first in STAGES[:2]:
                stages[first] = quantity(tail, NS, child.line, "time")
                continue
            is_again = first == "again"
            detail = read_detail(child.line)
            if is_again:
                detail["kind"] = detail["kind"].removeprefix("again ")
                again = [*(again or []), detail["kind"]]
            details.append(detail)
        for stage, part in stages.items():
            self.add(stage, name, part, places, **facts)
        function = {"operation": is_operation, "library": is_operation}
        if "of" in places:
            function["file"], function["line"] = places["of"]
        self.add("compile", name, ns - sum(stages.values()), places, function=function, again=again, details=details,
                 **facts)
        if is_unfinished:
            del self.entries[-1]["end"]

    def text(self):
        """Ends at the start of the profile."""
        lines = [{"stage": "process", "name": "python", "start": 0, "end": 0}, *self.entries]
        begin_ns = START_UNIX_NS - self.now_ns
        for entry in lines:
            for key in {"start", "end"} & entry.keys():
                entry[key] += begin_ns
        return "".join(json.dumps(line) + "\n" for line in lines)


def end_of(timeline):
    return max(event.end_ns for event in [*timeline.work, *timeline.host])


def write_hook_folder(timeline, log, folder):
    """Makes `folder` as the hook leaves it for one process that ended well."""
    write_profiles(timeline, folder)
    process = folder / FOLDER
    process.mkdir()
    (folder / "rank0.xplane.pb").rename(process / "session-1.xplane.pb")
    (process / "compile.jsonl").write_text(log.text())
    status = {"schema_version": 1, "pid": PID, "argv": ["train.py"], "python_version": "3.11.7", "framework": "jax",
              "framework_version": "0.10.2", "jaxlib_version": "0.10.2", "started": True, "stopped": True,
              "stop_reason": "exit", "exit": {"kind": "exit"},
              "sessions": [{"xplane": "session-1.xplane.pb", "stop_reason": "exit",
                            "stop_unix_ns": START_UNIX_NS + end_of(timeline)}]}
    (process / "status.json").write_text(json.dumps(status))
