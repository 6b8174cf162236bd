# SPDX-License-Identifier: Apache-2.0
"""Planted: activations change their layout in memory between blocks."""

import functools

import jax
import numpy as np
import parts

HEADS = 16


def mix(x):
    tokens, width = x.shape
    heads = x.reshape(tokens // 64, 64, HEADS, width // HEADS)
    return heads.transpose(3, 2, 0, 1).reshape(tokens, width)  # planted


def loss_of(params, batch):
    x = batch["x"]
    for layer in params["layers"]:
        x = parts.block(layer, mix(x))
    return parts.mean_square(x)


@functools.partial(jax.jit, donate_argnums=0)
def train_step(state, batch):
    loss, grads = jax.value_and_grad(loss_of)(state["params"], batch)
    return parts.adam(state, grads), loss


def make(sizes):
    rng = np.random.default_rng(0)
    sizes.hidden = sizes.width // 2
    params = {"layers": parts.make_layers(rng, sizes)}
    return train_step, parts.with_moments(params), parts.features(rng, sizes)


if __name__ == "__main__":
    parts.main(make)
