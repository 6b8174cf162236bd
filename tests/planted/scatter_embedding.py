# SPDX-License-Identifier: Apache-2.0
"""Planted: the gradient of an embedding lookup, a scatter-add whose updates collide."""

import functools

import jax
import numpy as np
import parts


def loss_of(params, batch):
    x = params["embedding"][batch["y"]]  # planted
    for layer in params["layers"]:
        x = parts.block(layer, x)
    return parts.mean_square(x)


@functools.partial(jax.jit, donate_argnums=0)
def train_step(state, batch):
    loss, grads = jax.value_and_grad(loss_of)(state["params"], batch)
    return parts.adam(state, grads), loss


def make(sizes):
    rng = np.random.default_rng(0)
    params = {
        "embedding": parts.weights(rng, sizes.vocabulary, sizes.width),
        "layers": parts.make_layers(rng, sizes),
    }
    return train_step, parts.with_moments(params), parts.features(rng, sizes)


if __name__ == "__main__":
    parts.main(make)
