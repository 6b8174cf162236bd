# SPDX-License-Identifier: Apache-2.0
"""The description of one compile cause: texts with placeholders, and the places of the truth."""

import dataclasses


@dataclasses.dataclass
class Cause:
    """`functions` are at module level, `body` is inside the function that runs the cause.

    `body` adds the seconds of each call to `fresh` (the cause was at work) or `usual` (it was not).
    """

    words: tuple  # Expressions, one of which names the kind of the cause or difference.
    functions: str = ""
    body: str = ""
    function: str = "fn"  # Placeholder of the function that the answer names.
    places: tuple = ("fn", "call")  # Functions and marks whose lines are right.
    other_functions: tuple = ()  # Placeholders or names of functions that are equally right.
    argument: str = ""  # Path of the argument, name of the flag or variable; may be empty.
    other_arguments: tuple = ()
    imports: str = ""
    before_imports: str = ""  # Statements before JAX is imported.
    after_imports: str = ""
    in_module: bool = None  # The functions have their own module. None: chance decides.
    files: dict = dataclasses.field(default_factory=dict)  # Further files: name to text.
    data: str = ""  # Program that writes data before the measured run.
    earlier: dict = None  # Replacements in the program of an earlier run, which fills the cache.
    earlier_folder: str = ""  # Folder of the earlier run, if it is another one.
    baseline: str = ""  # Expression for the seconds that each fresh call needs without the cause.
    counts: str = "len(fresh)"  # Expression for the number of compilations or events of the cause.
