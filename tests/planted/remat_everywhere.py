# SPDX-License-Identifier: Apache-2.0
"""Planted: every block is computed a second time in the backward pass."""

import functools

import jax
import numpy as np
import parts


def loss_of(params, batch):
    x = batch["x"]
    for layer in params["layers"]:
        x = jax.checkpoint(parts.block)(layer, x)  # planted
    return parts.mean_square(x)


@functools.partial(jax.jit, donate_argnums=0)
def train_step(state, batch):
    loss, grads = jax.value_and_grad(loss_of)(state["params"], batch)
    return parts.adam(state, grads), loss


def make(sizes):
    rng = np.random.default_rng(0)
    params = {"layers": parts.make_layers(rng, sizes)}
    return train_step, parts.with_moments(params), parts.features(rng, sizes)


if __name__ == "__main__":
    parts.main(make)
