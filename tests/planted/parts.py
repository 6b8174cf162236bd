# SPDX-License-Identifier: Apache-2.0
"""Common parts of the planted programs: residual blocks, Adam, a loop, sizes.

Every program defines `make(sizes)`, which gives its jitted step, the step's state and one batch. It may
define `run(steps)`, its own loop. As a script it trains on JAX's default device, in small sizes unless
`--large`."""

import argparse
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np


@dataclasses.dataclass
class Sizes:
    tokens: int = 16384
    width: int = 2048
    hidden: int = 8192
    vocabulary: int = 32768
    layers: int = 3
    devices: int = 1


SMALL = Sizes(tokens=256, width=64, hidden=256, vocabulary=512)


def weights(rng, *shape):
    return (rng.standard_normal(shape, np.float32) / np.sqrt(shape[0])).astype(jnp.bfloat16)


def make_layers(rng, sizes):
    return [
        {
            "up": weights(rng, sizes.width, sizes.hidden),
            "down": weights(rng, sizes.hidden, sizes.width),
        }
        for _ in range(sizes.layers)
    ]


def features(rng, sizes):
    """Inputs and labels for a program that needs no embedding."""
    return {
        "x": rng.standard_normal((sizes.tokens, sizes.width), np.float32).astype(jnp.bfloat16),
        "y": rng.integers(0, sizes.vocabulary, (sizes.tokens,)).astype(np.int32),
    }


def block(layer, x):
    return x + jax.nn.gelu(x @ layer["up"]) @ layer["down"]


def mean_square(x):
    return jnp.square(x.astype(jnp.float32)).mean()


def with_moments(params):
    zeros = jax.tree.map(lambda p: np.zeros(p.shape, jnp.bfloat16), params)
    return {"params": params, "m": zeros, "v": zeros}


def adam(state, grads):
    def update(p, m, v, g):
        m = 0.9 * m + 0.1 * g
        v = 0.99 * v + 0.01 * g * g
        return (
            (p - 1e-3 * m / (jnp.sqrt(v) + 1e-4)).astype(p.dtype),
            m.astype(p.dtype),
            v.astype(p.dtype),
        )

    with jax.named_scope("adam"):
        triples = jax.tree.map(update, state["params"], state["m"], state["v"], grads)
    pick = lambda k: jax.tree.map(lambda _, t: t[k], state["params"], triples)
    return {"params": pick(0), "m": pick(1), "v": pick(2)}


def main(make, run=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    sizes = Sizes() if arguments.large else SMALL
    step, state, batch = make(sizes)
    if run is not None:
        run(arguments.steps, step, state, batch)
        return
    state, batch = jax.device_put((state, batch))
    for number in range(arguments.steps):
        state, loss = step(state, batch)
    print("loss", loss)
