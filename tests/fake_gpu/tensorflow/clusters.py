# SPDX-License-Identifier: Apache-2.0
"""A training step for autoclustering (TF_XLA_FLAGS=--tf_xla_auto_jit=2 --tf_xla_min_cluster_size=4). It has
two parts that XLA compiles, and between them one that it does not. XLA has no Dilation2D, and the ops
between two of them are too few for a cluster."""

import tensorflow as tf

STEPS = 8
w = [tf.Variable(tf.random.normal([64, 64]) * 0.1, name=f"w_{i}") for i in range(3)]
mask = tf.zeros([3, 3, 1])


def dilate(image):
    return tf.nn.dilation2d(image, mask, [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1])


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        with tf.name_scope("first"):
            h = tf.nn.gelu(tf.matmul(x, w[0]))
            h = h * tf.nn.sigmoid(h) + 0.5
        with tf.name_scope("dilate"):
            image = dilate(tf.reshape(h, [8, 16, 16, 1]))
            h = tf.reshape(dilate(tf.tanh(image)), [32, 64])
        with tf.name_scope("second"):
            h = tf.nn.gelu(tf.matmul(h, w[1]))
            h = tf.nn.softmax(tf.matmul(h, w[2]))
        with tf.name_scope("loss"):
            loss = tf.reduce_mean(h * h)
    gradients = tape.gradient(loss, w)
    with tf.name_scope("sgd"):
        for gradient, variable in zip(gradients, w):
            variable.assign_sub(0.01 * gradient)
    return loss


x = tf.random.normal([32, 64])
for _ in range(STEPS):
    loss = train_step(x)
print("loss", loss.numpy().shape, loss.device)
