# SPDX-License-Identifier: Apache-2.0
"""Makes the sources and the truth of a device cause for a seed, without running them."""

import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import loops  # noqa: E402
import ops  # noqa: E402
from planted.names import Names  # noqa: E402
from planted.source import Sources, block, joined  # noqa: E402

CAUSES = {function.__name__: function for function in (
    ops.gemm, ops.elementwise, ops.reduction, ops.softmax, ops.sort, ops.scatter, ops.gather, ops.convolution, ops.scan,
    ops.cumulative_sum, ops.fourier, ops.random_bits, loops.evaluation, loops.eager_ops)}
TITLES = ("Trains a small model.", "Updates a state many times.", "A small numerical experiment.")
LIGHT = ("jnp.tanh(y @ y) * 0.1", "y * 0.99 + jnp.sin(y) * 0.01", "jax.nn.relu(y @ y - 0.5)", "(y - y.mean()) * 0.5")


class Plan:
    """A cause and a seed."""

    def __init__(self, name, seed):
        self.name, self.seed = name, seed
        rng = random.Random(f"device {name} {seed}")
        self.cause, self.source_seed = CAUSES[name](rng), rng.random()

    def sources(self):
        """(Sources, names) of the program."""
        rng = random.Random(self.source_seed)
        names, cause = Names(rng), self.cause
        light = [f"def <fn_light{n}>(y):\n    return {text}" for n, text in enumerate(rng.sample(LIGHT, 2))]
        heavy = f"def <fn>(x, w):\n{block(cause.body, 1)}"
        functions = [*light, heavy]
        rng.shuffle(functions)
        lines = ["y = <fn_light0>(y)", "y = <fn_light1>(y)"]
        own = not cause.loop
        if own:
            lines.insert(rng.randint(0, 2), "out = <fn>(x, w)")
        given, returned = ("x, w, y", "y, out") if own else ("y", "y")
        step = f"@jax.jit\ndef <fn_step>({given}):\n{block(chr(10).join(lines), 1)}\n    return {returned}"
        jitted = "<fn_jitted> = jax.jit(<fn>)" if "<fn_jitted>" in cause.loop else ""
        loop = cause.loop or "y, out = <fn_step>(x, w, y)\njax.block_until_ready(out)"
        main = f"""
def uniform(shape):
    return jax.random.uniform(jax.random.key({rng.randint(0, 99)}), shape)


def places(count, size):
    return jax.random.randint(jax.random.key(1), (count,), 0, size)


def <fn_main>():
    x, w, y = {cause.x}, {cause.w}, jnp.ones(({rng.randint(16, 64)},) * 2)
    for step in range({cause.steps}):
{block(loop, 2)}
    jax.block_until_ready(y)
"""
        head = f'"""{rng.choice(TITLES)}"""\n\nimport jax\nimport jax.numpy as jnp'
        text = joined(head, *functions, step, jitted, main, 'if __name__ == "__main__":\n    <fn_main>()')
        return Sources({"program.py": names.fill(text)}), names

    def truth(self, made, names):
        """Level, kinds, words, function and right lines."""
        cause = self.cause
        _, first, last = made.of_function(names["fn"]) if cause.where == "fn" else made.at_mark(cause.where)
        return {"cause": self.name, "seed": self.seed, "level": cause.level, "kinds": list(cause.kinds),
                "words": list(cause.words), "function": names["fn"], "first_line": first, "last_line": last,
                "part": cause.part}
