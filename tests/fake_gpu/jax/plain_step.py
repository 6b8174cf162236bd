# SPDX-License-Identifier: Apache-2.0
"""A plain training step: two transformer layers, cross entropy, Adam. One jitted function.

More than a hundred thunks, no loop, no branch; parameters are made on the host, so that hardly
anything but the step is compiled. Prints a line per step: on a fake GPU there is no loss to print.
"""

import argparse
import functools

import jax
import jax.numpy as jnp
import numpy as np

VOCABULARY, LENGTH, WIDTH, HEADS, HIDDEN, BATCH = 256, 32, 64, 2, 128, 4


def put(tree):
    """To the device one by one: JAX's own transfers run side by side, in an order of their own."""
    return jax.tree.map(lambda leaf: jax.device_put(leaf).block_until_ready(), tree)


def make_parameters(generator):
    def weights(*shape):
        return (generator.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

    parameters = {"embedding": weights(VOCABULARY, WIDTH), "head": weights(WIDTH, VOCABULARY)}
    for layer in range(2):
        parameters[f"layer_{layer}"] = {
            "query": weights(WIDTH, WIDTH),
            "key": weights(WIDTH, WIDTH),
            "value": weights(WIDTH, WIDTH),
            "output": weights(WIDTH, WIDTH),
            "up": weights(WIDTH, HIDDEN),
            "down": weights(HIDDEN, WIDTH),
            "scale": np.ones(WIDTH, np.float32),
        }
    return parameters


def normalise(x, scale):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale


def attention(layer, x):
    def heads(y):
        return y.reshape(BATCH, LENGTH, HEADS, WIDTH // HEADS)

    query, key, value = (heads(x @ layer[name]) for name in ("query", "key", "value"))
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / np.sqrt(WIDTH // HEADS)
    mask = np.tril(np.ones((LENGTH, LENGTH), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9))
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, value)
    return mixed.reshape(BATCH, LENGTH, WIDTH) @ layer["output"]


def loss_of(parameters, tokens, targets):
    with jax.named_scope("embed"):
        x = parameters["embedding"][tokens]
    for number in range(2):
        layer = parameters[f"layer_{number}"]
        with jax.named_scope(f"layer_{number}"):
            with jax.named_scope("attention"):
                x = x + attention(layer, normalise(x, layer["scale"]))
            with jax.named_scope("mlp"):
                x = x + jax.nn.gelu(x @ layer["up"]) @ layer["down"]
    with jax.named_scope("loss"):
        log_probabilities = jax.nn.log_softmax(x @ parameters["head"])
        picked = jnp.take_along_axis(log_probabilities, targets[..., None], -1)
        return -picked.mean()


def adam(parameters, gradients, state, step):
    def update(parameter, gradient, first, second):
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * jnp.square(gradient)
        rate = 1e-3 * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        return parameter - rate * first / (jnp.sqrt(second) + 1e-8), first, second

    with jax.named_scope("adam"):
        triples = jax.tree.map(update, parameters, gradients, state["first"], state["second"])

    def pick(place):
        return jax.tree.map(
            lambda triple: triple[place], triples, is_leaf=lambda node: isinstance(node, tuple)
        )

    return pick(0), {"first": pick(1), "second": pick(2)}


@functools.partial(jax.jit, donate_argnums=(0, 1))
def train_step(parameters, state, step, tokens, targets):
    loss, gradients = jax.value_and_grad(loss_of)(parameters, tokens, targets)
    parameters, state = adam(parameters, gradients, state, step)
    return parameters, state, loss


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--steps", type=int, default=5)
    steps = arguments.parse_args().steps

    generator = np.random.default_rng(0)
    parameters = put(make_parameters(generator))
    zeros = jax.tree.map(lambda p: np.zeros(p.shape, p.dtype), parameters)
    state = put({"first": zeros, "second": zeros})
    for step in range(1, steps + 1):
        tokens = generator.integers(0, VOCABULARY, (BATCH, LENGTH), np.int32)
        batch = put((np.float32(step), tokens, np.roll(tokens, -1, 1)))
        parameters, state, loss = train_step(parameters, state, *batch)
        loss.block_until_ready()
        print(f"step {step}: done", flush=True)


if __name__ == "__main__":
    main()
