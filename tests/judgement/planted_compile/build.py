# SPDX-License-Identifier: Apache-2.0
"""Makes the sources and the truth of a compile cause for a seed, without running them."""

import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import again  # noqa: E402
import slow  # noqa: E402
from planted.names import Names  # noqa: E402
from skeleton import program  # noqa: E402

CAUSES = {function.__name__: function for function in (
    again.shape, again.dtype, again.weak_type, again.python_scalar, again.static_argument, again.closure,
    again.new_lambda, again.donation, again.sharding, again.mesh, again.global_flag, again.many_tiny,
    slow.baked_constant, slow.unrolled_loop, slow.large_scan, slow.slow_fusion, slow.slow_tracing, slow.slow_import,
    slow.slow_checkpoint_read, slow.cold_cache, slow.warm_cache, slow.cache_key_path, slow.cache_key_flag)}


class Plan:
    """A cause and a seed."""

    def __init__(self, name, seed):
        self.name, self.seed = name, seed
        rng = random.Random(f"compile {name} {seed}")
        self.cause, self.source_seed = CAUSES[name](rng), rng.random()

    def sources(self, *, control=False):
        """(Sources, names) of the program."""
        rng = random.Random(self.source_seed)
        names = Names(rng)
        return program(self.cause, rng, names, control=control), names

    def truth(self, made, names):
        """Cause, function, right places and argument."""
        def place(key):
            file, first, last = made.of_function(names[key]) if key.startswith("fn") else made.at_mark(key)
            return {"file": file, "first_line": first, "last_line": last}

        def name_of(key):
            return names[key] if key.split("_")[0] in ("fn", "mod", "C") else key

        cause = self.cause
        arguments = [name_of(key) for key in (cause.argument, *cause.other_arguments) if key]
        places = [place(key) for key in cause.places if key.startswith("fn") or key in made.marks]
        return {"cause": self.name, "seed": self.seed, "words": list(cause.words),
                "functions": [name_of(key) for key in (cause.function, *cause.other_functions)],
                "places": places, "arguments": arguments}
