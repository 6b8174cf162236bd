# SPDX-License-Identifier: Apache-2.0
"""Planted: the step writes into a large buffer that it was not given for good, so XLA copies it."""

import jax
import numpy as np
import parts


def loss_of(params, batch):
    x = batch["x"]
    for layer in params["layers"]:
        x = parts.block(layer, x)
    return parts.mean_square(x)


@jax.jit  # planted (no donate_argnums)
def train_step(state, batch):
    loss, grads = jax.value_and_grad(loss_of)(state["train"]["params"], batch)
    replay = jax.lax.dynamic_update_slice(state["replay"], batch["x"], (0, 0))  # planted
    return {"train": parts.adam(state["train"], grads), "replay": replay}, loss


def make(sizes):
    rng = np.random.default_rng(0)
    params = {"layers": parts.make_layers(rng, sizes)}
    batch = parts.features(rng, sizes)
    replay = np.zeros((64 * sizes.tokens, sizes.width), batch["x"].dtype)
    return train_step, {"train": parts.with_moments(params), "replay": replay}, batch


if __name__ == "__main__":
    parts.main(make)
