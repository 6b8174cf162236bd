# SPDX-License-Identifier: Apache-2.0
"""Programs that spend most of their time outside the training step."""

from cause import Cause


def evaluation(rng):
    """A second program runs every few steps and takes most of the loop."""
    size, every = rng.randint(900, 1300), rng.randint(4, 8)
    return Cause(x=f"uniform(({size}, {size}))", w=f"uniform(({size}, {size}))", steps=15 * every, level="run",
                 body=f"for _ in range({rng.randint(5, 8)}):\n    x = jnp.tanh(x @ w)  #@hot\nreturn x",
                 kinds=("evaluation", "between_steps", "op", "computation"), where="fn", loop=f"""
y = <fn_step>(y)
if step % {every} == {every - 1}:
    jax.block_until_ready(<fn_jitted>(x, w))""")


def eager_ops(rng):
    """Small ops without jit: the host dispatches one program for each."""
    lines = rng.sample(("x = x + 1.0", "x = jnp.tanh(x)", "x = x * w", "x = x - x.mean()", "x = jnp.abs(x)",
                        "x = x / 2.0", "x = jnp.sqrt(x * x + 1.0)"), 5)
    body = "\n".join(f"{line}  #@hot" for line in lines)
    return Cause(x="uniform((32, 32))", steps=rng.randint(400, 700), body=f"{body}\nreturn x", where="fn",
                 kinds=("dispatch", "host", "idle", "launch", "between_steps", "step", "steps"), part=0.2,
                 loop="x = <fn>(x, w)")
