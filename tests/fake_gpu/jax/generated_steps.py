# SPDX-License-Identifier: Apache-2.0
"""A random training loop: jitted functions of random operations, called in a random order that recurs.

    generated_steps.py SEED [--rounds N]

The functions share kernels by chance, because XLA names a kernel after its operation. The same seed
is the same program.
"""

import argparse
import random

import jax
import jax.numpy as jnp
import numpy as np

WIDTH = 32
UNARY = (jnp.tanh, jnp.sin, jnp.exp, jnp.cos, jax.nn.relu, jax.nn.softmax)


def random_function(choose):
    """A function of weights and a batch; what it does is fixed here, not when it is traced."""
    parts = [
        choose.choices(
            ("dot", "unary", "scale", "reduce", "sort", "scan", "cumsum"),
            (4, 4, 2, 2, 1, 1, 1),
        )[0]
        for _ in range(choose.randint(2, 9))
    ]
    numbers = [choose.randrange(len(UNARY)) for _ in parts]
    trips = choose.randint(2, 4)
    trains = choose.random() < 0.6

    def forward(weights, x):
        for part, number in zip(parts, numbers, strict=True):
            unary = UNARY[number]
            if part == "dot":
                x = x @ weights
            elif part == "unary":
                x = unary(x)
            elif part == "scale":
                x = x * 0.5 + weights[0]
            elif part == "reduce":
                x = x - x.mean(1, keepdims=True)
            elif part == "sort":
                x = jnp.sort(x, 1)
            elif part == "cumsum":
                x = jnp.cumsum(x, 1)
            else:
                x = jax.lax.scan(lambda h, _, f=unary: (f(h @ weights), None), x, None, trips)[0]
        return jnp.square(x).mean()

    def train(weights, x):
        loss, gradient = jax.value_and_grad(forward)(weights, x)
        return weights - 0.1 * gradient, loss

    def evaluate(weights, x):
        return weights, forward(weights, x)

    return jax.jit(train if trains else evaluate)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("seed", type=int)
    arguments.add_argument("--rounds", type=int, default=12)
    options = arguments.parse_args()
    choose = random.Random(options.seed)
    functions = [random_function(choose) for _ in range(choose.randint(1, 4))]
    order = [(choose.randrange(len(functions)), choose.randint(1, 3)) for _ in range(4)]
    order.insert(choose.randint(0, 4), (0, 1))
    weights = jax.device_put(np.ones((WIDTH, WIDTH), np.float32))
    batches = [jax.device_put(np.ones((8 * n, WIDTH), np.float32)) for n in (1, 2)]
    waits = choose.random() < 0.5
    for number in range(options.rounds):
        for function, times in order:
            for _ in range(times):
                weights, loss = functions[function](weights, batches[0])
        if waits and number % 3 == 2:
            loss.block_until_ready()
    weights.block_until_ready()
    print("done", flush=True)


if __name__ == "__main__":
    main()
