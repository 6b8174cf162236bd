# SPDX-License-Identifier: Apache-2.0
"""The description of one host cause: texts with placeholders, and the place of the truth."""

import dataclasses


@dataclasses.dataclass
class Cause:
    """`call` runs once per step. It sets `extra` (an array for the model) if `data` is true.

    `place` is the mark or function that the answer has to name. `other_places` are equally right. `related` takes part
    but is not the answer.
    """

    kinds: tuple
    call: str = ""
    functions: str = ""
    place: str = "fn"
    imports: str = ""
    setup: str = ""
    teardown: str = ""
    data: bool = False
    before: bool = True  # The call precedes the training step.
    work: int = 1000  # First value of the constant that sizes the cause.
    inverse: bool = False  # A larger value costs less.
    in_module: bool = None  # The functions have their own module. None: chance decides.
    wrapped: bool = None  # Another function calls that of the cause. None: chance decides.
    other_places: tuple = ()
    related: tuple = ()
    files: dict = dataclasses.field(default_factory=dict)  # Further modules: name to text.
    cost: str = ""  # Expression for the seconds of the cause; empty: the time of `call`.
    prepare: str = ""  # Statements of the guard, before the training function.
    needs: str = ""  # Module that the interpreter must have.
    busy: int = 0  # Other processes that compute.
    every: int = 1  # The call does its work in one of so many steps.
    model: str = "step"  # "step": the usual step. "shapes": the batch may change its shape.
