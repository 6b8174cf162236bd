# SPDX-License-Identifier: Apache-2.0
"""Keras 3's model.fit of a small convolutional network: convolutions by cuDNN, its algorithms tried in
the first step.
"""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

# It computes axes of reductions on the device, and this device computes nothing.
tf.config.optimizer.set_experimental_options({"layout_optimizer": False})

model = keras.Sequential(
    [
        keras.Input((16, 16, 3)),
        layers.Conv2D(8, 3, padding="same", activation="relu", name="stem"),
        layers.BatchNormalization(name="norm"),
        layers.MaxPooling2D(name="pool"),
        layers.Conv2D(16, 3, strides=2, use_bias=False, name="down"),
        layers.Dropout(0.2),
        layers.GlobalAveragePooling2D(name="mean"),
        layers.Dense(10, name="head"),
    ],
    name="cnn",
)
model.compile(
    optimizer=keras.optimizers.SGD(0.1, momentum=0.9),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    jit_compile=False,
)
x = np.linspace(0, 1, 64 * 16 * 16 * 3).reshape(64, 16, 16, 3).astype("float32")
history = model.fit(x, np.arange(64) % 10, batch_size=16, epochs=3, verbose=0)
print(sorted(history.history))
