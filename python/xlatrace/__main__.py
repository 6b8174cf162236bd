# SPDX-License-Identifier: Apache-2.0
"""`python -m xlatrace ...` and the `xlatrace` command of a wheel: become the program."""

from __future__ import annotations

import os
import sys

from xlatrace.errors import XlatraceError
from xlatrace.places import program


def main() -> None:
    try:
        path = program()
        os.execv(path, ["xlatrace", *sys.argv[1:]])
    except XlatraceError as error:
        print(f"xlatrace: error: {error}", file=sys.stderr)
    except OSError as error:
        print(f"xlatrace: error: cannot run '{path}': {error.strerror}", file=sys.stderr)
    sys.exit(125 if sys.argv[1:2] == ["record"] else 1)


if __name__ == "__main__":
    main()
