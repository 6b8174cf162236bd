# SPDX-License-Identifier: Apache-2.0
"""Planted: batches of ever other lengths, each of which is compiled anew."""

import functools

import jax
import numpy as np
import parts


def loss_of(params, batch):
    x = batch["x"]
    for layer in params["layers"]:
        x = parts.block(layer, x)
    return parts.mean_square(x)


@functools.partial(jax.jit, donate_argnums=0)
def train_step(state, batch):
    loss, grads = jax.value_and_grad(loss_of)(state["params"], batch)
    return parts.adam(state, grads), loss


def make(sizes):
    rng = np.random.default_rng(0)
    params = {"layers": parts.make_layers(rng, sizes)}
    return train_step, parts.with_moments(params), parts.features(rng, sizes)


def run(steps, step, state, batch):
    for number in range(steps):
        length = len(batch["x"]) - 8 * number
        state, loss = step(state, {"x": batch["x"][:length], "y": batch["y"][:length]})  # planted


if __name__ == "__main__":
    parts.main(make, run)
