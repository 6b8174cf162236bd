# SPDX-License-Identifier: Apache-2.0
"""A training step as a tf.function: three layers of tf.Module, a loss, plain gradient descent.

    graph_step.py [jit] [STEPS]

Without `jit` TensorFlow runs its own kernels, op by op; with it XLA compiles the step.
"""

import sys

import tensorflow as tf

JIT = "jit" in sys.argv
STEPS = next((int(word) for word in sys.argv[1:] if word.isdigit()), 8)


class Layer(tf.Module):
    def __init__(self, inputs, outputs, name):
        super().__init__(name=name)
        with self.name_scope:
            self.kernel = tf.Variable(tf.random.normal([inputs, outputs]), name="kernel")
            self.bias = tf.Variable(tf.zeros([outputs]), name="bias")

    @tf.Module.with_name_scope
    def __call__(self, x):
        return tf.nn.gelu(tf.matmul(x, self.kernel) + self.bias)


layers = [Layer(128, 256, "dense_0"), Layer(256, 256, "dense_1"), Layer(256, 10, "dense_2")]
variables = [v for layer in layers for v in layer.trainable_variables]


@tf.function(jit_compile=JIT)
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = x
        for layer in layers:
            logits = layer(logits)
        with tf.name_scope("loss"):
            loss = tf.reduce_mean(
                tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits)
            )
    gradients = tape.gradient(loss, variables)
    with tf.name_scope("sgd"):
        for gradient, variable in zip(gradients, variables):
            variable.assign_sub(0.01 * gradient)
    return loss


x = tf.random.normal([32, 128])
y = tf.one_hot(tf.range(32) % 10, 10)
for _ in range(STEPS):
    loss = train_step(x, y)
print("loss", loss.numpy().shape, loss.device)
