# SPDX-License-Identifier: Apache-2.0
"""Golden text whose test does not exist any more."""

import re
from pathlib import Path

from lint_rules.sources import Violation


def check(root, files):
    for file in files:
        if "/golden_text/" not in file or not file.endswith(".txt"):
            continue
        folder = Path(root) / Path(file).parent.parent
        known = _tests_in(folder, Path(file).stem)
        if known is None:
            continue
        for number, line in enumerate((Path(root) / file).read_text().splitlines(), 1):
            name = re.sub(r" #\d+$", "", line[3:])
            if line.startswith("== ") and name not in known:
                message = f"no test '{name}' asks for this section; remove it"
                yield Violation("golden_sections", "tests", file, number, message)


def _tests_in(folder, suite):
    """Names of tests as golden files name them: of C++ suite `suite`, or of Python module `suite`.

    None if the module makes its tests when it runs, so that its text does not have their names.
    """
    module = folder / f"{suite}.py"
    if module.exists():
        # Test methods may be inherited from another module, so only the name of the method counts.
        names = set()
        for path in folder.glob("*.py"):
            names.update(re.findall(r"def (test_\w+)", path.read_text()))
        text = module.read_text()
        if "setattr(" in text:
            return None
        classes = re.findall(r"^\s*class (\w+)", text, re.MULTILINE)
        return {f"{c}.{name}" for c in classes for name in names}
    names = set()
    plain = suite.split(".")[-1]
    for path in folder.glob("*.cc"):
        text = path.read_text()
        names.update(re.findall(rf"TEST(?:_F)?\(\s*{re.escape(plain)}\s*,\s*(\w+)", text))
        for name in re.findall(rf"TEST_P\(\s*{re.escape(plain)}\s*,\s*(\w+)", text):
            names.update(f"{name}.{i}" for i in range(1000))
    return names
