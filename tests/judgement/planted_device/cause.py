# SPDX-License-Identifier: Apache-2.0
"""The description of one device cause: texts with placeholders, and how an answer may name it."""

import dataclasses


@dataclasses.dataclass
class Cause:
    """`body` is the function `<fn>(x, w)`, whose lines with the mark `hot` hold the cause.

    `x` and `w` are expressions for its arrays. `words` are the kinds of ops that an answer may name instead of the line.
    """

    body: str
    x: str
    w: str = "jnp.float32(0.5)"
    words: tuple = ()
    steps: int = 30
    part: float = 0.5  # Least share of one op of the cause in the step. The whole cause has at least 0.6.
    loop: str = ""  # Statements of the loop; empty: one call of the training step.
    level: str = "step"  # "run": the cause is between steps.
    kinds: tuple = ("op", "computation")
    where: str = "hot"  # Mark or function of the right lines.
