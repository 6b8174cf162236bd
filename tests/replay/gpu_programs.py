#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JAX programs for the fake GPU, each with a change that is made or not: gpu_programs.py NAME SETTINGS.

XLA compiles them for a GPU and launches them; the scenario defines the times of kernels. SETTINGS is JSON,
"changed" selects the side."""

import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

rng = np.random.default_rng(0)


def draw(*shape):
    return jax.device_put(rng.standard_normal(shape, np.float32) * 0.05).block_until_ready()


def square_weights(width, layers):
    return [draw(width, width) for _ in range(layers)]


def mlp_loss(weights, x):
    for w in weights:
        x = jax.nn.relu(x @ w)
    return jnp.mean(x * x)


def descend(loss, weights, *batch):
    value, slopes = jax.value_and_grad(loss)(weights, *batch)
    return jax.tree.map(lambda w, g: w - 1e-3 * g, weights, slopes), value


def scattered(changed):
    """A scatter among products; its kernel's time is the scenario's."""
    del changed
    w, x = draw(256, 256), draw(4096, 256)
    nodes = jax.device_put(rng.integers(0, 300, 4096).astype(np.int32)).block_until_ready()

    def loss(w, x, nodes):
        return jax.ops.segment_sum(x @ w, nodes, num_segments=300).mean()

    step = jax.jit(lambda w, x, nodes: descend(loss, w, x, nodes), donate_argnums=0)
    for _ in range(25):
        w, value = step(w, x, nodes)
    value.block_until_ready()


def reading(changed):
    """As before, and the host reads the loss of every step."""
    del changed
    w, x = draw(256, 256), draw(4096, 256)
    nodes = jax.device_put(rng.integers(0, 300, 4096).astype(np.int32)).block_until_ready()

    def loss(w, x, nodes):
        return jax.ops.segment_sum(x @ w, nodes, num_segments=300).mean()

    step = jax.jit(lambda w, x, nodes: descend(loss, w, x, nodes), donate_argnums=0)
    for _ in range(40):
        w, value = step(w, x, nodes)
        float(value)


def fetching(changed):
    """A batch comes from the host in every step; or it is there already."""
    weights, batch = square_weights(256, 3), rng.standard_normal((8192, 256), np.float32)
    there = jax.device_put(batch).block_until_ready()
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x), donate_argnums=0)
    for _ in range(25):
        x = there if changed else jax.device_put(batch).block_until_ready()
        weights, value = step(weights, x)
    value.block_until_ready()


def sleeping(changed):
    """The host sleeps between steps, and waits for each; or neither."""
    weights, x = square_weights(256, 6), draw(256, 256)
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x), donate_argnums=0)
    for _ in range(25):
        weights, value = step(weights, x)
        if not changed:
            value.block_until_ready()
            time.sleep(0.004)
    value.block_until_ready()


def checkpointed(changed):
    """Every block is computed a second time for its gradients; or not."""
    weights, x = square_weights(256, 6), draw(512, 256)

    def block(w, x):
        return jnp.tanh(jax.nn.relu(x @ w) @ w.T)

    if not changed:
        block = jax.checkpoint(block)

    def loss(weights, x):
        for w in weights:
            x = block(w, x)
        return jnp.mean(x * x)

    step = jax.jit(lambda weights, x: descend(loss, weights, x), donate_argnums=0)
    for _ in range(20):
        weights, value = step(weights, x)
    value.block_until_ready()


def parallel(changed):
    """Two devices sum their gradients; how long that takes is the scenario's."""
    del changed
    mesh = Mesh(np.array(jax.devices()), ("data",))
    whole, rows = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))
    weights = [jax.device_put(w, whole).block_until_ready() for w in square_weights(256, 4)]
    x = jax.device_put(draw(256, 256), rows).block_until_ready()
    step = jax.jit(lambda weights, x: descend(mlp_loss, weights, x), donate_argnums=0)
    for _ in range(20):
        weights, value = step(weights, x)
    value.block_until_ready()


if __name__ == "__main__":
    globals()[sys.argv[1]](json.loads(sys.argv[2]).get("changed", False))
