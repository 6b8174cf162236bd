#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the planted programs for an H100, without one, and writes what XLA made of them.

    python compile_for_gpu.py [FOLDER [PROGRAM...]]

Needs jax with its CUDA plugin (tests/fake_gpu/jax/requirements.txt has the releases). Writes one
NAME.hlo.pb.zst per program, the scheduled module after optimisation without its large parts; the
recompiling program gives two, of two batches.
"""

import copy
import glob
import importlib
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = sorted(
    path.stem
    for path in HERE.glob("*.py")
    if path.stem not in ("parts", "compile_for_gpu") and "def make(" in path.read_text()
)


def compile_one(name):
    """In a process of its own: XLA reads its flags once."""
    os.environ.setdefault("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")
    import jax
    import parts
    from jax._src import source_info_util
    from jax.experimental import topologies
    from jax.sharding import NamedSharding, PartitionSpec

    # The stack of an op has the program's own frames only.
    source_info_util.register_exclusion(__file__)
    # Paths in what is written begin with this folder's name, wherever it lies.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/(?=planted/)")
    program = importlib.import_module(name)
    devices = getattr(program, "DEVICES", 1)
    topology = topologies.get_topology_desc(
        platform="cuda",
        topology_name="h100",
        target_config=(HERE / "h100.txtpb").read_text(),
        topology=f"1x1x{devices}",
    )
    mesh = topologies.make_mesh(topology, (devices,), ("data",))
    whole = NamedSharding(mesh, PartitionSpec())
    by_rows = NamedSharding(mesh, PartitionSpec("data"))
    on_host = jax.sharding.SingleDeviceSharding(topology.devices[0], memory_kind="pinned_host")
    alone = jax.sharding.SingleDeviceSharding(topology.devices[0])

    def described(tree, sharding):
        return jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding), tree
        )

    # Only shapes matter: no weights are drawn.
    import numpy as np

    class Shapes:
        def standard_normal(self, shape, dtype):
            return np.broadcast_to(dtype(1), shape)

        def integers(self, low, high, shape):
            return np.broadcast_to(np.int64(1), shape)

    np.random.default_rng = lambda seed: Shapes()
    np.zeros = lambda shape, dtype: np.broadcast_to(np.array(0, dtype), shape)
    np.stack = lambda leaves: np.broadcast_to(leaves[0], (len(leaves), *leaves[0].shape))
    parts.weights = lambda rng, *shape: np.broadcast_to(np.array(0, jax.numpy.bfloat16), shape)

    sizes = copy.copy(parts.Sizes())
    if devices > 1:
        step, state, batch = program.make(sizes, mesh)
        arguments = described(state, whole), described(batch, by_rows)
    elif name == "copy_in_step":
        step, state, batch = program.make(sizes)
        momentum = described(state["momentum"], on_host)
        arguments = (
            {"params": described(state["params"], alone), "momentum": momentum},
            described(batch, alone),
        )
    else:
        step, state, batch = program.make(sizes)
        arguments = described(state, alone), described(batch, alone)
    if name == "copy_in_step" or not hasattr(program, "run"):
        step.lower(*arguments).compile()
        return

    # The program's own loop calls the step, so that XLA records this call site.
    def ahead_of_time(state, batch):
        step.lower(described(state, alone), described(batch, alone)).compile()
        return state, 0

    program.run(2 if name == "recompile" else 1, ahead_of_time, state, batch)


def main(folder, names):
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    for name in names:
        with tempfile.TemporaryDirectory() as dump:
            environment = dict(os.environ)
            environment["XLA_FLAGS"] = (
                f"--xla_dump_to={dump} --xla_dump_hlo_as_proto --xla_dump_hlo_module_re=train_step "
                "--xla_gpu_enable_command_buffer="
            )
            environment["JAX_PLATFORMS"] = "cpu"
            done = subprocess.run(
                [sys.executable, __file__, "--one", name],
                env=environment,
                stderr=subprocess.PIPE,
                text=True,
            )
            files = sorted(glob.glob(f"{dump}/*after_optimizations.hlo.pb"))
            print(f"{name}: {len(files)} modules", flush=True)
            if not files or done.returncode != 0:
                print(done.stderr[-2000:])
            for number, file in enumerate(files):
                target = folder / (name + (f".{number}" if number else "") + ".hlo.pb.zst")
                subprocess.run(["zstd", "-q", "-f", "-19", file, "-o", str(target)], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        compile_one(sys.argv[2])
    else:
        main(sys.argv[1] if len(sys.argv) > 1 else HERE / "hlo", sys.argv[2:] or PROGRAMS)
