# SPDX-License-Identifier: Apache-2.0
"""Nothing planted: two devices with so much work each that summing gradients hardly counts."""

import exposed_all_reduce
import jax
import numpy as np
import parts

DEVICES = 2


def make(sizes, mesh=None):
    if mesh is None:
        mesh = jax.make_mesh((len(jax.devices()),), ("data",))
    rng = np.random.default_rng(0)
    sizes.tokens *= 8
    params = {"layers": parts.make_layers(rng, sizes)}
    return (
        exposed_all_reduce.make_step(mesh),
        parts.with_moments(params),
        parts.features(rng, sizes),
    )


if __name__ == "__main__":
    parts.main(make)
