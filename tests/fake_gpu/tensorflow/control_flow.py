# SPDX-License-Identifier: Apache-2.0
"""A training step as a tf.function with a loop of five turns and a branch that depends on the step."""

import tensorflow as tf

STEPS = 8
w = tf.Variable(tf.random.normal([64, 64]) * 0.1, name="w")
v = tf.Variable(tf.random.normal([64, 64]) * 0.1, name="v")


@tf.function
def train_step(x, i):
    with tf.GradientTape() as tape:
        h = x
        with tf.name_scope("recurrent"):
            for _ in tf.range(5):
                h = tf.tanh(tf.matmul(h, w))
        with tf.name_scope("choice"):
            if i % 2 == 0:
                h = tf.nn.relu(tf.matmul(h, v))
            else:
                h = tf.nn.gelu(h) + 1.0
        with tf.name_scope("loss"):
            loss = tf.reduce_mean(h * h)
    gradients = tape.gradient(loss, [w, v])
    with tf.name_scope("sgd"):
        for gradient, variable in zip(gradients, [w, v]):
            variable.assign_sub(0.01 * gradient)
    return loss


x = tf.random.normal([32, 64])
for i in range(STEPS):
    loss = train_step(x, tf.constant(i))
print("loss", loss.numpy().shape, loss.device)
