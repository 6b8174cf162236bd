# SPDX-License-Identifier: Apache-2.0
"""Random signatures of a compiled function, in which one leaf of one argument differs from call to call."""

import dataclasses

KEYS = "alpha beta gamma kernel bias scale inputs targets mask weights state offset".split()
ARGUMENTS = "params batch state carry inputs extra history stats".split()
# `jnp.roll` and a new constant in each line keep the compiler from merging them.
WORK = """
def <fn_work>(leaf):
    values = jnp.ravel(jnp.asarray(leaf)).astype(jnp.float32)
    for number in range({rounds}):
        values = jnp.sin(values) * (number + 1.5) + jnp.roll(values, number + 1)
    return jnp.sum(values)
"""


@dataclasses.dataclass
class Signature:
    """Arguments of a function: names, and the expression of each in a call."""

    names: list
    values: list
    path: str  # Path of the leaf `LEAF` of the calls.
    root: str  # Name of the argument that has the leaf.

    @property
    def parameters(self):
        return ", ".join(self.names)

    @property
    def call(self):
        return ", ".join(self.values)


def signature(rng, leaf="leaf"):
    """A signature of two to four arguments. `leaf` is the expression of the leaf that differs."""
    names = rng.sample(ARGUMENTS, rng.randint(2, 4))
    target, keys = rng.randrange(len(names)), rng.sample(KEYS, 4)
    path, value = rng.choice((
        ("{a}", "{leaf}"),
        ("{a}['{k}']", '{{"{k}": {leaf}, "{l}": other}}'),
        ("{a}['{k}']['{l}']", '{{"{k}": {{"{l}": {leaf}}}, "{m}": other}}'),
        ("{a}[1]", "(other, {leaf})"),
        ("{a}[0]['{k}']", '[{{"{k}": {leaf}, "{m}": other}}, other]'),
    ))
    fields = {"a": names[target], "k": keys[0], "l": keys[1], "m": keys[2], "leaf": leaf}
    others = ("other", f'{{"{keys[3]}": other}}', "(other, other)")
    values = [rng.choice(others) for _ in names]
    values[target] = value.format(**fields)
    return Signature(names, values, path.format(**fields), names[target])


def body(made, static=""):
    """Statements of a function that uses every leaf of its arguments."""
    used = [name for name in made.names if name != static]
    return f"""
    total = 0.0
    for leaf in jax.tree.leaves(({", ".join(used)},)):
        total = total + <fn_work>(leaf)
    return total"""


def timed(call, fresh):
    """A timed call; `fresh` is the condition under which it counts as a new compilation."""
    target = "fresh" if fresh == "True" else f"(fresh if {fresh} else usual)"
    return (f"start = time.perf_counter()\njax.block_until_ready({call})  #@call\n"
            f"{target}.append(time.perf_counter() - start)")


MEDIAN = "sorted(usual)[len(usual) // 2] if usual else 0.0"


def work_text(rng):
    return WORK.format(rounds=rng.randint(5, 9))
