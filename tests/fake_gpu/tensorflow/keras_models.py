# SPDX-License-Identifier: Apache-2.0
"""Six models of Keras 3, each trained for a few steps without XLA: keras_models.py MODEL.

tests/e2e/keras_models.labels has the phase and layer of their ops, by hand."""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

# It computes axes of reductions on the device, too.
tf.config.optimizer.set_experimental_options({"layout_optimizer": False})
STEPS, BATCH = 4, 8


def ramp(*shape):
    return np.linspace(0, 1, int(np.prod(shape))).reshape(shape).astype("float32")


def classes(count):
    return (np.arange(STEPS * BATCH) % count).astype("int32")


# Only known shapes: other shapes are computed on the device, and this device computes nothing.
def fit(model, x, y):
    batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH, drop_remainder=True)
    model.fit(batches, epochs=1, verbose=0)


# A sequential convolutional network, its layers with Keras's own names.
def digits():
    digits = keras.Sequential(
        [
            keras.Input((16, 16, 1)),
            layers.Conv2D(4, 3, padding="same", activation="relu"),
            layers.BatchNormalization(),
            layers.MaxPooling2D(),
            layers.Conv2D(8, 3, activation="relu"),
            layers.Flatten(),
            layers.Dropout(0.3),
            layers.Dense(16, activation="relu"),
            layers.Dense(10),
        ],
        name="digits",
    )
    digits.compile(
        keras.optimizers.SGD(0.1, momentum=0.9),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=False,
    )
    fit(digits, ramp(STEPS * BATCH, 16, 16, 1), classes(10))


# A functional convolutional network with residual blocks.
def residual():
    image = keras.Input((16, 16, 3))
    x = layers.Conv2D(8, 3, padding="same", use_bias=False, name="stem")(image)
    for number in range(2):
        y = layers.Conv2D(8, 3, padding="same", use_bias=False, name=f"block_{number}_conv")(x)
        y = layers.BatchNormalization(name=f"block_{number}_norm")(y)
        y = layers.Activation("relu", name=f"block_{number}_relu")(y)
        x = layers.Add(name=f"block_{number}_add")([x, y])
    x = layers.GlobalAveragePooling2D(name="pool")(x)
    residual = keras.Model(image, layers.Dense(5, name="head")(x), name="residual")
    residual.compile(
        keras.optimizers.Adam(1e-3),
        keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1),
        jit_compile=False,
    )
    fit(residual, ramp(STEPS * BATCH, 16, 16, 3), np.eye(5, dtype="float32")[classes(5)])


# A sequential perceptron with a regulariser and clipped gradients.
def perceptron():
    perceptron = keras.Sequential(
        [
            keras.Input((32,)),
            layers.Dense(64, activation="gelu", kernel_regularizer=keras.regularizers.L2(1e-4)),
            layers.LayerNormalization(),
            layers.Dense(64, activation="tanh"),
            layers.Dense(1),
        ],
        name="perceptron",
    )
    perceptron.compile(
        keras.optimizers.RMSprop(1e-3, clipnorm=1.0), "mean_squared_error", jit_compile=False
    )
    fit(perceptron, ramp(STEPS * BATCH, 32), ramp(STEPS * BATCH, 1))


# A functional transformer.
def language():
    tokens = keras.Input((12,), dtype="int32")
    x = layers.Embedding(50, 16, name="embedding")(tokens)
    for number in range(2):
        attended = layers.MultiHeadAttention(2, 8, name=f"attention_{number}")(x, x)
        x = layers.LayerNormalization(name=f"norm_{number}")(layers.Add()([x, attended]))
        x = layers.Dense(16, activation="relu", name=f"mlp_{number}")(x)
    language = keras.Model(tokens, layers.Dense(50, name="head")(x), name="language")
    language.compile(
        keras.optimizers.AdamW(1e-3),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=False,
    )
    text = (np.arange(STEPS * BATCH * 12) % 50).reshape(STEPS * BATCH, 12).astype("int32")
    fit(language, text, (text + 1) % 50)


# A subclassed model of two submodels, and a loss of its own.
def autoencoder():
    class Half(keras.Model):
        def __init__(self, width, out, **options):
            super().__init__(**options)
            self.hidden = layers.Dense(width, activation="relu", name="hidden")
            self.out = layers.Dense(out, name="out")

        def call(self, x):
            return self.out(self.hidden(x))

    class Autoencoder(keras.Model):
        def __init__(self, **options):
            super().__init__(**options)
            self.encoder = Half(32, 8, name="encoder")
            self.decoder = Half(32, 32, name="decoder")

        def call(self, x):
            code = self.encoder(x)
            return self.decoder(ops.tanh(code) * 0.5)

    def reconstruction(expected, got):
        return ops.mean(ops.abs(expected - got), axis=-1)

    autoencoder = Autoencoder(name="autoencoder")
    autoencoder.compile(keras.optimizers.Adagrad(1e-2), reconstruction, jit_compile=False)
    fit(autoencoder, ramp(STEPS * BATCH, 32), ramp(STEPS * BATCH, 32))


# A subclassed recurrent model in a training loop of its own.
def sequence():
    class Sequence(keras.Model):
        def __init__(self, **options):
            super().__init__(**options)
            self.recurrent = layers.GRU(16, use_cudnn=False, name="recurrent")
            self.readout = layers.Dense(1, name="readout")

        def call(self, x):
            return self.readout(self.recurrent(x))

    sequence = Sequence(name="sequence")
    error = keras.losses.MeanSquaredError()
    optimizer = keras.optimizers.Nadam(1e-3)
    x, y = tf.constant(ramp(BATCH, 6, 4)), tf.constant(ramp(BATCH, 1))
    sequence(x)
    optimizer.build(sequence.trainable_variables)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = error(y, sequence(x, training=True))
        gradients = tape.gradient(loss, sequence.trainable_variables)
        optimizer.apply(gradients, sequence.trainable_variables)
        return loss

    for _ in range(STEPS):
        train_step(x, y)


{model.__name__: model for model in (digits, residual, perceptron, language, autoencoder, sequence)}[
    sys.argv[1]
]()
print(sys.argv[1])
