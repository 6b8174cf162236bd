# SPDX-License-Identifier: Apache-2.0
"""Planted: momentum lives in host memory and comes to the device in every step."""

import functools

import jax
import numpy as np
import parts

DEVICE, HOST = jax.memory.Space.Device, jax.memory.Space.Host


def loss_of(params, batch):
    x = batch["x"]
    for layer in params["layers"]:
        x = parts.block(layer, x)
    return parts.mean_square(x)


@functools.partial(jax.jit, donate_argnums=0)
def train_step(state, batch):
    loss, grads = jax.value_and_grad(loss_of)(state["params"], batch)

    def update(p, m, g):
        m = 0.9 * jax.device_put(m, DEVICE) + 0.1 * g  # planted
        return p - 1e-3 * m, jax.device_put(m, HOST)  # planted (and back)

    pairs = jax.tree.map(update, state["params"], state["momentum"], grads)
    pick = lambda k: jax.tree.map(lambda _, pair: pair[k], state["params"], pairs)
    return {"params": pick(0), "momentum": pick(1)}, loss


def make(sizes):
    rng = np.random.default_rng(0)
    params = {"layers": parts.make_layers(rng, sizes)}
    momentum = parts.with_moments(params)["m"]
    return train_step, {"params": params, "momentum": momentum}, parts.features(rng, sizes)


def run(steps, step, state, batch):
    on_host = jax.sharding.SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")
    state = {
        "params": jax.device_put(state["params"]),
        "momentum": jax.device_put(state["momentum"], on_host),
    }
    for _ in range(steps):
        state, loss = step(state, batch)
    print("loss", loss)


if __name__ == "__main__":
    parts.main(make, run)
