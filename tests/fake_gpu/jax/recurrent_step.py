# SPDX-License-Identifier: Apache-2.0
"""Loops in loops, and branches in them.

A gated recurrent cell scanned over time, whose gradient scans back. Other parts are a loop with a
data-dependent end inside a scan that occurs twice, a counted loop, and branches of two and three. With
FAKE_GPU_PREDICATES the loops run and the branches differ."""

import argparse
import functools

import jax
import jax.numpy as jnp
import numpy as np

TIME, BATCH, WIDTH = 12, 32, 96


def put(tree, sharding=None):
    """To the device one by one: JAX's own transfers run side by side, in an order of their own."""
    return jax.tree.map(lambda leaf: jax.device_put(leaf, sharding).block_until_ready(), tree)


def cell(parameters, state, x):
    with jax.named_scope("gru"):
        update = jax.nn.sigmoid(x @ parameters["wz"] + state @ parameters["uz"])
        reset = jax.nn.sigmoid(x @ parameters["wr"] + state @ parameters["ur"])
        new = jnp.tanh(x @ parameters["wn"] + (reset * state) @ parameters["un"])
        return (1 - update) * state + update * new


def refine(state):
    def improve(carry):
        value, _, count = carry
        better = jnp.sin(value) * 0.5 + value * 0.5
        return better, jnp.max(jnp.abs(better - value)), count + 1

    def unfinished(carry):
        return (carry[1] > 1e-3) & (carry[2] < 50)

    return jax.lax.while_loop(unfinished, improve, (state, jnp.float32(1), 0))[0]


def loss_of(parameters, sequence, targets):
    def step(state, x):
        state = cell(parameters, state, x)
        state = jax.lax.cond(
            jnp.sum(state) > 0,
            lambda s: jnp.tanh(s) @ parameters["mix"],
            lambda s: jnp.flip(s, 1) * 2 + jnp.roll(s, 3, 0),
            state,
        )
        return state, state.mean(1)

    state, means = jax.lax.scan(step, jnp.zeros((BATCH, WIDTH)), sequence)
    return jnp.square(state @ parameters["out"] - targets).mean() + means.sum()


@functools.partial(jax.jit, donate_argnums=0)
def train_step(parameters, sequence, targets, kind):
    loss, gradients = jax.value_and_grad(loss_of)(parameters, sequence, targets)

    def step(state, x):
        state = refine(state + x @ parameters["mix"])
        branches = [
            lambda s: jnp.cos(s) @ parameters["mix"],
            lambda s: jnp.exp(-s * s),
            lambda s: jnp.cumsum(s, 1),
        ]
        state = jax.lax.switch(kind, branches, state)
        return state, jnp.argmax(state, 1)

    state, first = jax.lax.scan(step, jnp.ones((BATCH, WIDTH)), sequence)
    state, second = jax.lax.scan(step, state, sequence[::-1])
    counted = jax.lax.fori_loop(0, 7, lambda _, s: jnp.sqrt(jnp.abs(s)) + jnp.roll(s, 1), state)
    parameters = jax.tree.map(lambda p, g: p - 1e-2 * g, parameters, gradients)
    return parameters, loss, first, second, counted


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--steps", type=int, default=5)
    steps = arguments.parse_args().steps

    generator = np.random.default_rng(3)

    def weights(*shape):
        return (generator.standard_normal(shape) / 10).astype(np.float32)

    names = ("wz", "uz", "wr", "ur", "wn", "un", "mix", "out")
    parameters = put({name: weights(WIDTH, WIDTH) for name in names})
    for step in range(steps):
        batch = put((weights(TIME, BATCH, WIDTH), weights(BATCH, WIDTH), np.int32(step % 3)))
        parameters, *rest = train_step(parameters, *batch)
        jax.block_until_ready(rest)
        print(f"step {step + 1}: done", flush=True)


if __name__ == "__main__":
    main()
