# SPDX-License-Identifier: Apache-2.0
"""A training step under MirroredStrategy on two devices: gradients are summed by NCCL."""

import tensorflow as tf

STEPS = 8
strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
with strategy.scope():
    first = tf.Variable(tf.random.normal([64, 64]) * 0.1, name="first")
    second = tf.Variable(tf.random.normal([64, 64]) * 0.1, name="second")


def step(x):
    with tf.GradientTape() as tape:
        with tf.name_scope("model"):
            h = tf.matmul(tf.nn.relu(tf.matmul(x, first)), second)
        with tf.name_scope("loss"):
            loss = tf.reduce_mean(h * h)
    gradients = tape.gradient(loss, [first, second])
    replica = tf.distribute.get_replica_context()
    gradients = replica.all_reduce(tf.distribute.ReduceOp.SUM, gradients)

    def update(_, variable, gradient):
        with tf.name_scope("sgd"):
            strategy.extended.update(
                variable, lambda own, sum: own.assign_sub(0.01 * sum), args=(gradient,)
            )

    for variable, gradient in zip([first, second], gradients):
        replica.merge_call(update, args=(variable, gradient))
    return loss


@tf.function
def train_step(x):
    losses = strategy.run(step, args=(x,))
    return strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)


x = tf.random.normal([32, 64])
for _ in range(STEPS):
    loss = train_step(x)
for op in train_step.get_concrete_function(x).graph.get_operations():
    if op.type.startswith("Collective"):
        print("all_reduce", op.name, op.device[-1])
print("replicas", strategy.num_replicas_in_sync, "loss", loss.numpy().shape)
