# SPDX-License-Identifier: Apache-2.0
"""Names of constants and tests."""

import re
from pathlib import Path

from lint_rules import sources
from lint_rules.sources import Violation

# A test name states a condition and a result. These words start names that hide the subject.
_RIDDLE = re.compile(r"^(What|Who|Whoever|Whatever|Of|That|Nothing|Nobody|Somebody|None|Such|It|Those)(?=[A-Z_]|$)")
MAX_TEST_NAME_WORDS = 10
MIN_TEST_NAME_WORDS = 2
_CPP_TEST = re.compile(r"^\s*TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.MULTILINE)
_PY_TEST = re.compile(r"^\s+def test_(\w+)\(", re.MULTILINE)
_TS_TEST = re.compile(r"""^\s*(?:it|test)\(\s*["'`](.*?)["'`]""", re.MULTILINE)

# kMost alone had 14 meanings.
_VAGUE = re.compile(r"\bk(Most|Least|Fewest|Few|Many|Much|Enough|Long|Short|Far|Near|Large|Small)[A-Z\d]?\w*\b")
_CONSTANT = re.compile(
    r"^\s*(?:inline |static )*constexpr (?:double|float|u?int\d*(?:_t)?|size_t|std::size_t|std::u?int\d+_t|int64_t)\s+"
    r"(k\w+)\s*[={]",
    re.MULTILINE,
)
# A number's name has a unit or a role.
_ROLE = re.compile(
    r"(Ns|Us|Ms|S|Seconds|Minutes|Hours|Hz|Bytes|Bits|KiB|MiB|GiB|Pct|Percent|Ratio|Share|Factor|Fraction|Scale"
    r"|Max|Min|Limit|Count|Size|Width|Column|Height|Depth|Length|Capacity|Default|Version|Threshold|Offset|Index|Shift|Mask|Flag"
    r"|Id|Ids|Rows|Columns|Lines|Words|Characters|Digits|Levels|Steps|Launches|Level|Code|Status|Number|Tag|Field|Type"
    r"|Seed|Magic|Tries|Threads|Rank|Position|Weight|Cost|Page|Batch|Block|Epsilon|Tolerance|Quantile|Percentile)(?=[A-Z\d]|$)"
)


def check_constants(root, files):
    """kMost and the like, and numbers whose name has neither a unit nor a role."""
    for file in files:
        if not file.endswith((".cc", ".h")) or sources.component_of(file) == "tests":
            continue
        text = (Path(root) / file).read_text(errors="replace")
        component = sources.component_of(file)
        for match in _CONSTANT.finditer(text):
            name, line = match[1], text.count("\n", 0, match.start(1)) + 1
            if _VAGUE.fullmatch(name):
                message = f"{name}: name the role and unit, for example kMinGapNs or kMaxSiblingOverlap"
                yield Violation("vague_constants", component, file, line, message)
            elif not _ROLE.search(name):
                message = f"{name}: the name of a number needs a unit or a role (Ns, Bytes, Max, Ratio ...)"
                yield Violation("constant_names", component, file, line, message)


def words_of(name):
    if "_" in name or name.islower():
        return [word for word in name.split("_") if word]
    return re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+", name)


def fault_of_test_name(name):
    """Why a test name is not plain; None if it is."""
    words = words_of(name)
    if _RIDDLE.match(name) or _RIDDLE.match(name[:1].upper() + name[1:]):
        return "starts without a subject"
    if len(words) > MAX_TEST_NAME_WORDS:
        return f"has {len(words)} words, at most {MAX_TEST_NAME_WORDS}"
    if len(words) < MIN_TEST_NAME_WORDS:
        return "does not state condition and result"
    return None


def check_tests(root, files):
    for file in files:
        path = Path(root) / file
        if file.startswith("tests/") and file.endswith(".cc"):
            pattern = _CPP_TEST
        elif file.startswith("tests/") and file.endswith(".py"):
            pattern = _PY_TEST
        else:
            continue
        text = path.read_text(errors="replace")
        for match in pattern.finditer(text):
            name = match.group(match.lastindex)
            fault = fault_of_test_name(name)
            if fault:
                line = text.count("\n", 0, match.start(match.lastindex)) + 1
                yield Violation("test_names", _area_of(file), file, line, f"{name}: {fault}")


def _area_of(file):
    """Tests are counted by the component that they mirror: tests/report."""
    return "/".join(file.split("/")[:2]) if file.count("/") > 1 else "tests"
