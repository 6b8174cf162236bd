# SPDX-License-Identifier: Apache-2.0
"""A small training program with one change at a time, for test_diff_planted.py.

usage: planted_train.py CHANGE       (or: base)
"""

import sys
import time

import jax
import jax.numpy as jnp

CHANGE = sys.argv[1]
LAYERS = 4 if CHANGE == "layer" else 3
BATCH = 128 if CHANGE == "batch" else 64
WIDTH = 128
TYPE = jnp.bfloat16 if CHANGE == "dtype" else jnp.float32
ROUNDS = 12 if CHANGE == "iterations" else 4


def block(w, x, number):
    with jax.named_scope(f"layer_{number}"):
        with jax.named_scope("up"):
            h = x @ w["up"]
        if CHANGE == "split" and number == 1:
            h = jax.lax.optimization_barrier(h + 1.0) - 1.0
        if CHANGE == "op" and number == 1:
            with jax.named_scope("act"):
                h = jnp.sort(h, axis=-1)
        with jax.named_scope("act"):
            h = jnp.tanh(h) * jnp.exp(-h * h)
        with jax.named_scope("down"):
            if CHANGE == "layout" and number == 1:
                h = jax.lax.optimization_barrier(h.T.reshape(h.shape[1], h.shape[0]) + 0.0).T
            return x + h @ w["down"]


def forward(params, x):
    for number, w in enumerate(params):
        step = jax.checkpoint(block, static_argnums=2) if CHANGE == "remat" else block
        x = step(w, x, number)
    with jax.named_scope("smooth"):
        x = jax.lax.fori_loop(0, ROUNDS, lambda i, y: jnp.sin(y) + 0.1 * y, x)
    return x


def loss(params, x, y):
    with jax.named_scope("loss"):
        return jnp.mean((forward(params, x) - y) ** 2)


@jax.jit
def train_step(params, x, y):
    gradients = jax.grad(loss)(params, x, y)
    with jax.named_scope("sgd"):
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients)


@jax.jit
def metrics(params):
    with jax.named_scope("metrics"):
        return sum(jnp.linalg.norm(leaf) for leaf in jax.tree.leaves(params))


keys = jax.random.split(jax.random.PRNGKey(0), LAYERS)
wide = 512 if CHANGE == "wider" else 256
params = [{"up": jax.random.normal(k, (WIDTH, wide if i == 1 else 256), TYPE) * 0.05,
           "down": jax.random.normal(k, (wide if i == 1 else 256, WIDTH), TYPE) * 0.05}
          for i, k in enumerate(keys)]
x = jnp.ones((BATCH, WIDTH), TYPE)
y = jnp.zeros((BATCH, WIDTH), TYPE)
for step in range(30):
    params = train_step(params, x, y)
    if CHANGE == "metrics":
        metrics(params).block_until_ready()
    jax.block_until_ready(params)
    if CHANGE == "stall":
        time.sleep(0.02)
