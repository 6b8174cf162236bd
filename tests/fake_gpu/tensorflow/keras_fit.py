# SPDX-License-Identifier: Apache-2.0
"""Keras 3's model.fit of a sequential model with Adam: keras_fit.py [jit|nojit|auto]."""

import sys

import keras
import numpy as np

MODE = sys.argv[1] if len(sys.argv) > 1 else "nojit"
model = keras.Sequential(
    [
        keras.layers.Input((128,)),
        keras.layers.Dense(256, activation="relu", name="encoder"),
        keras.layers.LayerNormalization(name="norm"),
        keras.layers.Dense(64, activation="gelu"),
        keras.layers.Dense(64, activation="gelu"),
        keras.layers.Dense(10, name="head"),
    ],
    name="mlp",
)
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    jit_compile={"jit": True, "nojit": False}.get(MODE, "auto"),
)
x = np.linspace(0, 1, 256 * 128).reshape(256, 128).astype("float32")
y = np.arange(256) % 10
model.fit(x, y, batch_size=32, epochs=2, verbose=0)
print("jit", model.jit_compile)
