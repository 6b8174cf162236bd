# SPDX-License-Identifier: Apache-2.0
"""Every source file names its licence in one of its first lines."""

from pathlib import Path

from lint_rules import sources
from lint_rules.sources import Violation

LICENCE = "SPDX-License-Identifier: Apache-2.0"
# After a line for the interpreter and one for the encoding.
MAX_LINES_BEFORE = 3


def needs_licence(file):
    return (
        sources.is_c_like(file)
        or file.endswith((".py", ".sh", ".cmake", "CMakeLists.txt"))
        or sources.is_script(file)
    )


def check(root, files):
    for file in files:
        if not needs_licence(file):
            continue
        first = (Path(root) / file).read_text(errors="replace").splitlines()[:MAX_LINES_BEFORE]
        if not any(LICENCE in line for line in first):
            message = f"add '{LICENCE}' as the first comment"
            yield Violation("licence", sources.component_of(file), file, 1, message)
