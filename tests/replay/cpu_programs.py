#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JAX programs for a CPU, each with a change that is made or not: cpu_programs.py NAME SETTINGS.

SETTINGS is JSON; "changed" selects the side. Every step is waited for, because one thread runs all work."""

import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

STEPS = 80
rng = np.random.default_rng(0)


def draw(*shape):
    return jnp.asarray(rng.standard_normal(shape, np.float32) * 0.05)


def descend(loss, weights, *batch):
    value, slopes = jax.value_and_grad(loss)(weights, *batch)
    return jax.tree.map(lambda w, g: w - 1e-3 * g, weights, slopes), value


def train(step, state, *more, after=lambda: None):
    for _ in range(STEPS):
        state, _ = jax.block_until_ready(step(state, *more))
        after()


def mlp(weights, x):
    for w in weights:
        x = jnp.tanh(x @ w)
    return x


def sorting(changed, rows=768):
    """A sort of all scores; with `changed` of a quarter of them."""
    weights, x = [draw(128, 128) for _ in range(3)], draw(rows, 128)

    def loss(weights):
        y = mlp(weights, x)
        some = y[:, :32] if changed else y
        ranked = jnp.sort(jax.lax.stop_gradient(some), axis=0)
        return jnp.mean(y * y) + 1e-6 * ranked[0].sum()

    train(jax.jit(lambda w: descend(loss, w)), weights)


def sort_gone(changed):
    """An unused sort; with `changed` it is absent."""
    weights, x = [draw(128, 128) for _ in range(3)], draw(768, 128)

    def loss(weights):
        y = mlp(weights, x)
        extra = 0.0 if changed else 1e-6 * jnp.sort(jax.lax.stop_gradient(y), axis=0)[0].sum()
        return jnp.mean(y * y) + extra

    train(jax.jit(lambda w: descend(loss, w)), weights)


def sleeping(changed):
    """The host sleeps for 4 ms between steps; with `changed` it does not."""
    weights, x = [draw(256, 256) for _ in range(4)], draw(384, 256)
    step = jax.jit(lambda w: descend(lambda w: jnp.mean(mlp(w, x) ** 2), w))
    train(step, weights, after=lambda: None if changed else time.sleep(0.004))


def decoding(changed):
    """numpy prepares the next batch between steps; with `changed` a part of it."""
    weights, x = [draw(256, 256) for _ in range(4)], draw(384, 256)
    pictures = rng.standard_normal((200, 1000))
    step = jax.jit(lambda w: descend(lambda w: jnp.mean(mlp(w, x) ** 2), w))

    def prepare():
        if not changed:
            np.sort(pictures, axis=1).sum()

    train(step, weights, after=prepare)


def precise(changed):
    """One product in float64; with `changed` in float32."""
    jax.config.update("jax_enable_x64", True)
    a, weights = draw(448, 448), [draw(256, 256) for _ in range(2)]
    x = draw(256, 256)
    wide = a if changed else a.astype(jnp.float64)

    @jax.jit
    def step(weights, wide):
        weights, _ = descend(lambda w: jnp.mean(mlp(w, x) ** 2), weights)
        return weights, (wide @ wide).mean()

    train(step, weights, wide)


def checkpointed(changed):
    """Blocks are computed a second time for their gradients; with `changed` they are not."""
    weights, x = [draw(256, 256) for _ in range(4)], draw(384, 256)

    def block(w, x):
        return jnp.tanh(jax.nn.relu(x @ w) @ w.T)

    if not changed:
        block = jax.checkpoint(block)

    def loss(weights):
        y = x
        for w in weights:
            y = block(w, y)
        return jnp.mean(y * y)

    train(jax.jit(lambda w: descend(loss, w)), weights)


def scanning(changed):
    """A scan over 24 layers; with `changed` they are unrolled."""
    stack, x = draw(24, 128, 128), draw(128, 128)

    def loss(stack):
        y, _ = jax.lax.scan(
            lambda y, w: (jnp.tanh(y @ w), None), x, stack, unroll=24 if changed else 1
        )
        return jnp.mean(y * y)

    train(jax.jit(lambda w: descend(loss, w)), stack)


def transposing(changed):
    """Images are turned and turned back; with `changed` they are not."""
    images, weights = draw(2, 64, 64, 64), [draw(256, 256) for _ in range(3)]
    x = draw(384, 256)

    @jax.jit
    def step(state):
        images, weights = state
        if not changed:
            images = jax.lax.optimization_barrier(jnp.transpose(images, (0, 2, 3, 1)))
            images = jax.lax.optimization_barrier(jnp.transpose(images, (0, 3, 1, 2)))
        weights = descend(lambda w: jnp.mean(mlp(w, x) ** 2), weights)[0]
        return (images, weights), 0.0

    train(step, (images, weights))


def noisy(changed):
    """Noise from threefry; with `changed` of a quarter of the numbers."""
    weights, x, key = [draw(256, 256) for _ in range(3)], draw(384, 256), jax.random.key(0)

    @jax.jit
    def step(weights):
        count = 65_536 if changed else 262_144
        noise = jax.random.normal(key, (count,)).sum()
        weights = descend(lambda w: jnp.mean(mlp(w, x) ** 2), weights)[0]
        return [w + 1e-9 * noise for w in weights], noise

    train(step, weights)


def measuring(changed):
    """A metric by numpy in the middle of the step; with `changed` none."""
    weights, x = [draw(256, 256) for _ in range(4)], draw(384, 256)

    def slow(a):
        time.sleep(0.004)
        return np.float32(a[0, 0])

    def loss(weights):
        y = mlp(weights, x)
        if changed:
            return jnp.mean(y * y)
        spread = jax.pure_callback(
            slow, jax.ShapeDtypeStruct((), np.float32), jax.lax.stop_gradient(y)
        )
        return jnp.mean(y * y) / (1 + 1e-6 * spread)

    train(jax.jit(lambda w: descend(loss, w)), weights)


def two_changes(changed):
    """A sort and a sleep; with `changed` the sort is of a quarter, and no sleep."""
    weights, x = [draw(128, 128) for _ in range(3)], draw(768, 128)

    def loss(weights):
        y = mlp(weights, x)
        some = y[:, :32] if changed else y
        ranked = jnp.sort(jax.lax.stop_gradient(some), axis=0)
        return jnp.mean(y * y) + 1e-6 * ranked[0].sum()

    step = jax.jit(lambda w: descend(loss, w))
    train(step, weights, after=lambda: None if changed else time.sleep(0.004))


def gathering(changed):
    """Rows fetched one by one; with `changed` half of them."""
    table, weights = draw(20_000, 16), [draw(256, 256) for _ in range(3)]
    where = jnp.asarray(rng.integers(0, 20_000, 50_000 if changed else 100_000))
    x = draw(384, 256)

    @jax.jit
    def step(weights, table, where):
        picked = jnp.take(table, where, axis=0).sum()
        weights = descend(lambda w: jnp.mean(mlp(w, x) ** 2), weights)[0]
        return [w + 1e-9 * picked for w in weights], picked

    train(step, weights, table, where)


if __name__ == "__main__":
    globals()[sys.argv[1]](json.loads(sys.argv[2]).get("changed", False))
