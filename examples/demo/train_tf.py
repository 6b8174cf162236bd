# SPDX-License-Identifier: Apache-2.0
"""Trains a small Keras network to classify the points of interleaved spirals.

    python train_tf.py              # 5 epochs of 20 steps, a few seconds on two CPU cores

`jit_compile=True` has XLA compile the whole training step.
"""

import argparse

import keras
import numpy as np

CLASSES = 3
FEATURES = 16


def make_data(count, seed):
    """Points of CLASSES spirals, turned into FEATURES waves of different length."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(CLASSES, size=count)
    radius = rng.uniform(0.1, 1.0, size=count)
    angle = 4 * radius + 2 * np.pi * labels / CLASSES + rng.normal(scale=0.1, size=count)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    waves = points @ rng.normal(scale=2.0, size=(2, FEATURES))
    return np.sin(waves).astype("float32"), labels.astype("int32")


def make_model():
    model = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.Dense(256, activation="relu", name="hidden_0"),
            keras.layers.LayerNormalization(name="norm"),
            keras.layers.Dense(256, activation="relu", name="hidden_1"),
            keras.layers.Dense(CLASSES, name="head"),
        ],
        name="spirals",
    )
    model.compile(
        optimizer=keras.optimizers.AdamW(3e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        jit_compile=True,
    )
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()

    keras.utils.set_random_seed(0)
    features, labels = make_data(20 * 128, seed=1)
    make_model().fit(features, labels, batch_size=128, epochs=args.epochs, verbose=2)


if __name__ == "__main__":
    main()
