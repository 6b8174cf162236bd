# SPDX-License-Identifier: Apache-2.0
"""A small training loop that forks data loaders, sets its own flags, and ends by the given kind of exit.

doors.py [--steps N] [--fork] [--flags XLA_FLAGS] [--mark] [--profile]
         [--leave return|exit|_exit|raise|int|term]
"""

import argparse
import ctypes
import multiprocessing
import os
import signal
import sys

arguments = argparse.ArgumentParser()
arguments.add_argument("--steps", type=int, default=4)
arguments.add_argument("--fork", action="store_true")
arguments.add_argument("--flags")
arguments.add_argument("--mark", action="store_true")
arguments.add_argument("--profile", action="store_true")
arguments.add_argument("--leave", default="return")


def load(queue, number):
    queue.put(number * 2)


def mark(step):
    function = getattr(ctypes.CDLL(None), "xlatrace_mark_step", None)
    if function is not None:
        function(ctypes.c_longlong(step))


def main():
    options = arguments.parse_args()
    if options.flags:  # as scripts do, before JAX is imported
        os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " " + options.flags
    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(weights, batch):
        return jax.tree.map(
            lambda w, g: w - 0.1 * g,
            weights,
            jax.grad(lambda w: jnp.mean(jnp.tanh(batch @ w["a"]) @ w["b"]))(weights),
        )

    weights = {"a": jnp.ones((32, 32)), "b": jnp.ones((32, 8))}
    context = multiprocessing.get_context("fork")
    if options.profile:
        jax.profiler.start_trace("profile")
    for number in range(options.steps):
        value = number * 2
        if options.fork:
            queue = context.Queue()
            process = context.Process(target=load, args=(queue, number))
            process.start()
            value = queue.get(timeout=300)
            process.join(300)
            assert process.exitcode == 0
        if options.mark:
            mark(1000 + number)
        weights = step(weights, jnp.full((16, 32), float(value)))
        jax.block_until_ready(weights)
    if options.profile:
        jax.profiler.stop_trace()
    print("trained", flush=True)
    if options.leave == "exit":
        sys.exit(3)
    if options.leave == "_exit":
        os._exit(4)
    if options.leave == "raise":
        raise RuntimeError("as asked")
    if options.leave in ("int", "term"):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.kill(os.getpid(), signal.SIGINT if options.leave == "int" else signal.SIGTERM)
        signal.pause()


if __name__ == "__main__":
    main()
