# SPDX-License-Identifier: Apache-2.0
"""Planted: a vocabulary of 50,257, which no tensor core tile divides."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import parts

VOCABULARY = 50257


def loss_of(params, batch):
    x = batch["x"]
    for layer in params["layers"]:
        x = parts.block(layer, x)
    logits = x @ params["head"]  # planted
    picked = jnp.take_along_axis(logits, batch["y"][:, None], -1).astype(jnp.float32)
    return (jax.nn.logsumexp(logits.astype(jnp.float32), -1) - picked[:, 0]).mean()


@functools.partial(jax.jit, donate_argnums=0)
def train_step(state, batch):
    loss, grads = jax.value_and_grad(loss_of)(state["params"], batch)
    return parts.adam(state, grads), loss


def make(sizes):
    rng = np.random.default_rng(0)
    params = {
        "layers": parts.make_layers(rng, sizes),
        "head": parts.weights(rng, sizes.width, VOCABULARY),
    }
    return train_step, parts.with_moments(params), parts.features(rng, sizes)


if __name__ == "__main__":
    parts.main(make)
