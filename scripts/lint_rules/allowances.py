# SPDX-License-Identifier: Apache-2.0
"""Numbers of earlier violations per component and rule (allowances.txt). They may only shrink.

A count above its allowance fails, because a violation was added. A count below fails, too, until
`scripts/lint --lower` has written the smaller number, so that the allowance never hides a new one.
"""

from collections import Counter
from pathlib import Path

FILE = Path(__file__).with_name("allowances.txt")
_HEAD = "# Old violations of scripts/lint: component, rule, number. Written by `scripts/lint --lower`.\n"


def read(path=FILE):
    allowed = Counter()
    if path.exists():
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                component, rule, number = line.split()
                allowed[component, rule] = int(number)
    return allowed


def write(allowed, path=FILE):
    rows = [f"{c} {rule} {n}\n" for (c, rule), n in sorted(allowed.items()) if n > 0]
    path.write_text(_HEAD + "".join(rows))


def counted(violations):
    return Counter((violation.component, violation.rule) for violation in violations)


def compared(found, allowed):
    """({key: excess}, {key: slack}) of counts against allowances."""
    keys = set(found) | set(allowed)
    excess = {key: found[key] - allowed[key] for key in keys if found[key] > allowed[key]}
    slack = {key: allowed[key] - found[key] for key in keys if found[key] < allowed[key]}
    return excess, slack


def lowered(found, allowed):
    """Allowances that never exceed the earlier ones."""
    return Counter({key: min(number, found[key]) for key, number in allowed.items()})
