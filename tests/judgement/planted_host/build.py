# SPDX-License-Identifier: Apache-2.0
"""Makes the sources and the truth of a host cause for a seed, without running them."""

import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import computing  # noqa: E402
import frequent  # noqa: E402
import waiting  # noqa: E402
from planted.names import Names  # noqa: E402
from skeleton import program  # noqa: E402

CAUSES = {
    "tokenizer": computing.python_tokenizer,
    "numpy_preprocessing": computing.numpy_preprocessing,
    "image_decode": computing.image_decode,
    "pillow_decode": computing.pillow_decode,
    "slow_disk_read": waiting.slow_disk_read,
    "network_wait": waiting.network_wait,
    "time_sleep": waiting.time_sleep,
    "gc_explicit": waiting.gc_explicit,
    "gc_automatic": waiting.gc_automatic,
    "lock": waiting.lock,
    "gil": waiting.gil,
    "logging": computing.logging_each_step,
    "float_loss": frequent.float_loss,
    "checkpoint": computing.checkpoint,
    "starved_loader": waiting.starved_loader,
    "too_few_workers": waiting.too_few_workers,
    "grain_pipeline": waiting.grain_pipeline,
    "tfdata_map": waiting.tfdata_map,
    "groupby": computing.groupby,
    "pandas_groupby": computing.pandas_groupby,
    "recompilation": frequent.recompilation,
    "host_metrics": computing.host_metrics,
    "busy_machine": waiting.busy_machine,
}
MIN_SHARE, MAX_SHARE = 0.3, 0.8


class Plan:
    """A cause and a seed. `sources` gives the same program for the same sizes."""

    def __init__(self, name, seed):
        self.name, self.seed = name, seed
        rng = random.Random(f"host {name} {seed}")
        self.share = rng.uniform(0.36, 0.74)
        self.seconds = rng.uniform(2.5, 4.5)
        self.steps = rng.randint(20, 60)
        self.cause, self.source_seed = CAUSES[name](rng), rng.random()

    def sources(self, *, steps, work, batch, control=False):
        """(Sources, names) of the program."""
        rng = random.Random(self.source_seed)
        names = Names(rng)
        made, _ = program(self.cause, rng, names, steps=steps, work=work, batch=batch, control=control)
        return made, names

    def truth(self, made, names):
        """The answers that are right, each with function, file and lines."""
        def place(key):
            if key.startswith("fn"):
                function, (file, first, last) = names[key], made.of_function(names[key])
            elif key == "step_call":
                function, (file, first, last) = names["fn_step"], made.at_mark(key)
            else:
                function, (file, first, last) = names["fn"], made.at_mark(key)
            return {"function": function, "file": file, "first_line": first, "last_line": last}

        cause = self.cause
        answers = [place(key) for key in (cause.place, *cause.other_places) if key]
        functions = sorted(value for key, value in names.given.items() if key.split("_")[0] in ("fn", "cls"))
        return {"cause": self.name, "seed": self.seed, "kinds": list(cause.kinds), "answers": answers,
                "related": [names[key] for key in cause.related], "busy": cause.busy,
                "functions": [function for function in functions if not function.startswith("<")]}
