# SPDX-License-Identifier: Apache-2.0
"""Replaces the table of scripts/long in a document: long_table.py TABLE DOCUMENT TITLE

The table lies between the lines "<!-- scripts/long -->" and "<!-- end of scripts/long -->".
"""

import sys
from pathlib import Path

BEGIN, END = "<!-- scripts/long -->", "<!-- end of scripts/long -->"


def replaced(document, table, title):
    """`document` with `title` and the rows of `table` between the marks."""
    before, _, rest = document.partition(BEGIN)
    if not rest or END not in rest:
        raise ValueError(f"no lines {BEGIN!r} and {END!r}")
    rows = "\n".join(line for line in table.splitlines() if line.startswith("|"))
    return f"{before}{BEGIN}\n{title}\n\n{rows}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    source, target, heading = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    target.write_text(replaced(target.read_text(), source.read_text(), heading))
