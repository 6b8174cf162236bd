# SPDX-License-Identifier: Apache-2.0
"""The step of graph_step.py without tf.function: eager_steps.py [STEPS]."""

import sys

import tensorflow as tf

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 3
x = tf.random.normal([64, 128])
w = tf.Variable(tf.random.normal([128, 256]), name="w")
for _ in range(STEPS):
    with tf.GradientTape() as tape:
        y = tf.nn.relu(tf.matmul(x, w))
        loss = tf.reduce_sum(y * y)
    w.assign_sub(0.1 * tape.gradient(loss, w))
print("loss", loss.numpy().shape, loss.device)
