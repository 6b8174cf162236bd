# SPDX-License-Identifier: Apache-2.0
"""Keras 3's model.fit of a small transformer, functional, with AdamW: transformer.py [jit]."""

import sys

import keras
import numpy as np
from keras import layers

JIT = "jit" in sys.argv
VOCABULARY, LENGTH, WIDTH = 97, 16, 32


def block(x, number):
    attended = layers.MultiHeadAttention(4, 8, name=f"attention_{number}")(x, x)
    x = layers.Add(name=f"add_{2 * number}")([x, attended])
    x = layers.LayerNormalization(name=f"norm_{2 * number}")(x)
    y = layers.Dense(64, activation="gelu", name=f"up_{number}")(x)
    y = layers.Dense(WIDTH, name=f"down_{number}")(y)
    x = layers.Add(name=f"add_{2 * number + 1}")([x, y])
    return layers.LayerNormalization(name=f"norm_{2 * number + 1}")(x)


tokens = keras.Input((LENGTH,), dtype="int32", name="tokens")
x = layers.Embedding(VOCABULARY, WIDTH, name="embedding")(tokens)
for number in range(2):
    x = block(x, number)
model = keras.Model(tokens, layers.Dense(VOCABULARY, name="head")(x), name="lm")
model.compile(
    optimizer=keras.optimizers.AdamW(1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    jit_compile=JIT,
)
x = (np.arange(128 * LENGTH) % VOCABULARY).reshape(128, LENGTH).astype("int32")
model.fit(x, (x + 1) % VOCABULARY, batch_size=16, epochs=2, verbose=0)
print("jit", model.jit_compile)
