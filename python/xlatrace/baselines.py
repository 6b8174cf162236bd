# SPDX-License-Identifier: Apache-2.0
"""Baselines of `same_as`: two files beside the test, for the repository.

    __xlatrace__/test_model/test_step.main.json    figures and versions, to be read in a review
    __xlatrace__/test_model/test_step.main.zip     the programs, and the source they were made from
"""

from __future__ import annotations

import io
import json
import re
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Dict, List

from xlatrace import program_changes, program_text
from xlatrace.errors import XlatraceError
from xlatrace.program_changes import Baseline
from xlatrace.programs import Program

FOLDER = "__xlatrace__"
FORMAT = 1
# The earliest time of a zip file: the same programs give the same bytes.
_TIME = (1980, 1, 1, 0, 0, 0)
_MAX_PART_BYTES = 1 << 30


def place(test_file: Path, test_name: str, name: str) -> Path:
    """Path without its suffix. Parameters of a test are part of its name."""
    if not re.fullmatch(r"[\w.-]+", name):
        raise XlatraceError(f"the baseline name '{name}' has a character that is not allowed", "letters, digits, '.', '_' and '-' are allowed")
    safe = re.sub(r"[^\w.-]+", "_", test_name)
    return test_file.parent / FOLDER / test_file.stem / f"{safe}.{name}"


def exists(path: Path) -> bool:
    return _json(path).is_file() and _zip(path).is_file()


def write(path: Path, programs: List[Program], environment: Dict[str, str]) -> None:
    document = {
        "format": FORMAT,
        "programs": [{"name": p.name, "figures": p.figures()} for p in programs],
        "environment": environment,
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, program in enumerate(programs):
            sources = program_changes.sources_of(program)
            _add(archive, f"{number}/lowered.hlo.pb", program.lowered_proto)
            _add(archive, f"{number}/compiled.hlo.txt", program.hlo.encode())
            _add(archive, f"{number}/sources.json", json.dumps(sources, sort_keys=True).encode())
    path.parent.mkdir(parents=True, exist_ok=True)
    _zip(path).write_bytes(content.getvalue())
    _json(path).write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")


def read(path: Path) -> List[Baseline]:
    try:
        document = json.loads(_json(path).read_text())
        if document["format"] != FORMAT:
            raise XlatraceError(
                f"'{_json(path)}' has format {document['format']}; this xlatrace reads {FORMAT}",
                "pytest --xlatrace-update",
            )
        with zipfile.ZipFile(_zip(path)) as archive, tempfile.TemporaryDirectory() as folder:
            found = []
            for number, entry in enumerate(document["programs"]):
                parts = {
                    name: _part(archive, f"{number}/{name}")
                    for name in ("lowered.hlo.pb", "compiled.hlo.txt", "sources.json")
                }
                for name, content in parts.items():
                    (Path(folder) / name).write_bytes(content)
                found.append(
                    Baseline(
                        entry["name"],
                        entry["figures"],
                        program_text.read(Path(folder) / "lowered.hlo.pb"),
                        program_text.read(Path(folder) / "compiled.hlo.txt"),
                        parts["compiled.hlo.txt"].decode(),
                        document["environment"],
                        json.loads(parts["sources.json"]),
                    )
                )
            return found
    except (OSError, EOFError, KeyError, ValueError, TypeError, zipfile.BadZipFile, zlib.error) as error:
        raise XlatraceError(
            f"the baseline '{_json(path)}' cannot be read: {error}", "pytest --xlatrace-update"
        )


def _json(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _zip(path: Path) -> Path:
    return path.with_name(path.name + ".zip")


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, _TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, content)


def _part(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > _MAX_PART_BYTES:
        raise ValueError(f"{name} is larger than {_MAX_PART_BYTES:,} bytes")
    return archive.read(name)
