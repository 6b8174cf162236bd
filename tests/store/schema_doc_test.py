#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/schema.md names every public view of a run.db and every column of it.

usage: schema_doc_test.py RUN_DB
"""

import re
import sqlite3
import sys
from pathlib import Path

DOC = Path(__file__).resolve().parents[2] / "docs" / "schema.md"


def main():
    text = DOC.read_text(encoding="utf-8")
    sections = {}
    for line in text.splitlines():
        match = re.match(r"\| `(\w+)` \| .*? \| (.*) \|$", line)
        if match:
            sections[match.group(1)] = set(re.findall(r"\w+", match.group(2)))
    sections["launch"] |= sections["activity"]
    database = sqlite3.connect(sys.argv[1])
    views = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type='view'")]
    missing = []
    for view in views:
        columns = [row[1] for row in database.execute(f"PRAGMA table_info('{view}')")]
        if view.startswith('x_'):  # private, like the tables
            continue
        if view != view.lower():  # the Nsight names are documented by name only
            missing += [view] if f"`{view}`" not in text else []
            continue
        missing += [f"{view}.{c}" for c in columns if c not in sections.get(view, set())]
    missing += [view for view in sections if view not in views and view in text.split("## Views")[1]
                and "| `" + view + "` |" in text.split("## Views")[1]]
    print("missing in docs/schema.md:" if missing else "complete:", missing or len(views), "views")
    return 1 if missing or len(views) < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
