# SPDX-License-Identifier: Apache-2.0
"""Trains on the GPU and in parallel on the CPU, prints each loss of the CPU's, and ends as requested:
endings.py HOW.

This GPU computes nothing, the CPU does: its losses are those of a training, to the last bit.
"""

import os
import signal
import sys

import numpy as np
import tensorflow as tf

# Sums in one order.
tf.config.threading.set_intra_op_parallelism_threads(1)
STEPS = 6


def trained_on(device):
    with tf.device(device):
        x = tf.constant(np.linspace(-1, 1, 16 * 32).reshape(16, 32), tf.float32)
        w = tf.Variable(np.linspace(-0.3, 0.4, 32 * 8).reshape(32, 8).astype("float32"))

    @tf.function
    def step():
        with tf.device(device):
            with tf.GradientTape() as tape, tf.name_scope("model"):
                loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - 0.25))
            w.assign_sub(0.5 * tape.gradient(loss, w))
            return loss

    return step


class Broken(Exception):
    pass


def broken():
    raise Broken("what the program itself says")


def failed_op():
    with tf.device("CPU:0"):
        tf.debugging.assert_equal(tf.constant(1), tf.constant(2), message="not the same")


ENDINGS = {
    "return": lambda: None,
    "exit": lambda: sys.exit(3),
    "exception": broken,
    "failed_op": failed_op,
    "underscore_exit": lambda: os._exit(7),
    "terminated": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "abort": os.abort,
}
on_gpu, on_cpu = trained_on("GPU:0"), trained_on("CPU:0")
for _ in range(STEPS):
    loss = on_gpu()
    print("loss", float(on_cpu().numpy()).hex(), flush=True)
print("on", loss.numpy().shape, loss.device, flush=True)
ENDINGS[sys.argv[1]]()
