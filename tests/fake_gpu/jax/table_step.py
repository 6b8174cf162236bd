# SPDX-License-Identifier: Apache-2.0
"""Typical ops of recommendation and graph programs.

Embeddings pooled by segment, sorts of all kinds, running sums, searches, scatters. They have many kernels
that several instructions share, and loops of XLA's own with a known length."""

import argparse
import functools

import jax
import jax.numpy as jnp
import numpy as np

LOOKUPS, ROWS, WIDTH, SEGMENTS = 4096, 1000, 32, 256


def put(tree, sharding=None):
    """To the device one by one: JAX's own transfers run side by side, in an order of their own."""
    return jax.tree.map(lambda leaf: jax.device_put(leaf, sharding).block_until_ready(), tree)


def loss_of(parameters, indices, segments, targets):
    pooled = []
    for number, table in enumerate(parameters["tables"]):
        with jax.named_scope(f"pool_{number}"):
            rows = table[indices[number]]
            pooled.append(jax.ops.segment_sum(rows, segments, num_segments=SEGMENTS))
    x = jnp.concatenate(pooled, 1)
    for number, layer in enumerate(parameters["layers"]):
        with jax.named_scope(f"layer_{number}"):
            x = jax.nn.relu(x @ layer)
    with jax.named_scope("scans"):
        x = jnp.sort(x, 1)
        sums = jnp.cumsum(x, 0)
        products = jnp.cumprod(jnp.cumsum(x * 2, 1), 1)
        largest = jax.lax.associative_scan(jnp.maximum, x, axis=0)
        top, _ = jax.lax.top_k(x, 8)
    error = jnp.square(sums[:, :8] - targets).mean()
    return error + top.mean() + largest.mean() + products[:, 3].mean()


@functools.partial(jax.jit, donate_argnums=0)
def train_step(parameters, indices, segments, targets):
    loss, gradients = jax.value_and_grad(loss_of)(parameters, indices, segments, targets)
    order = jnp.argsort(indices[0])
    rest = (
        jnp.argsort(indices[1].astype(jnp.float32)),
        jnp.searchsorted(indices[0][order], indices[1]),
        jnp.zeros(ROWS).at[indices[2]].add(1.0),
        jnp.full(ROWS, -1.0).at[indices[0]].max(targets[0, 0]),
        jnp.sort(jnp.tile(targets.reshape(-1), 40)),
        jax.lax.sort((indices[0], indices[1], segments), num_keys=2),
        jnp.digitize(targets, jnp.linspace(0, 1, 20)),
        jnp.nonzero(indices[0] > 3, size=64)[0],
        jnp.quantile(targets, 0.3, axis=0),
        jax.random.permutation(jax.random.PRNGKey(1), indices[0]),
    )
    return jax.tree.map(lambda p, g: p - 1e-2 * g, parameters, gradients), loss, order, rest


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--steps", type=int, default=4)
    steps = arguments.parse_args().steps

    generator = np.random.default_rng(3)

    def weights(*shape):
        return (generator.standard_normal(shape) / 10).astype(np.float32)

    parameters = put(
        {
            "tables": [weights(ROWS, WIDTH) for _ in range(3)],
            "layers": [weights(3 * WIDTH, 64), weights(64, 64), weights(64, 64)],
        }
    )
    for step in range(steps):
        indices = generator.integers(0, ROWS, (3, LOOKUPS), np.int32)
        segments = np.sort(generator.integers(0, SEGMENTS, LOOKUPS, np.int32))
        parameters, *rest = train_step(parameters, *put((indices, segments, weights(SEGMENTS, 8))))
        jax.block_until_ready(rest)
        print(f"step {step + 1}: done", flush=True)


if __name__ == "__main__":
    main()
