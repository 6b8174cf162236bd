# SPDX-License-Identifier: Apache-2.0
"""Devices that need not be present: a TPU slice by name, a GPU by XLA's description of it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Dict, Tuple

from xlatrace import programs
from xlatrace.errors import XlatraceError

# "v5e:2x2": jax.experimental.topologies has the names.
_TPU = re.compile(r"(?:tpu[:-]?)?(v\d+\w*:\d+x\d+(?:x\d+)?)")


def arguments_for(
    target: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]
) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    """The arguments as shapes on the target's devices; with them JAX compiles for the target."""
    jax = programs.jax_module()
    topology = _topology(target) if isinstance(target, (str, os.PathLike)) else target
    from jax.experimental import topologies  # type: ignore[import-not-found,unused-ignore]
    from jax.sharding import NamedSharding, PartitionSpec  # type: ignore[import-not-found,unused-ignore]

    mesh = topologies.make_mesh(topology, (len(topology.devices),), ("devices",))
    replicated = NamedSharding(mesh, PartitionSpec())
    here = set(jax.devices())

    def described(leaf: Any) -> Any:
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            return leaf
        sharding = getattr(leaf, "sharding", None)
        if sharding is None or set(sharding.device_set) & here:
            sharding = replicated
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)

    return jax.tree_util.tree_map(described, (args, kwargs))  # type: ignore[no-any-return]


def _topology(target: Any) -> Any:
    from jax.experimental import topologies  # type: ignore[import-not-found,unused-ignore]

    text = os.fspath(target)
    tpu = _TPU.fullmatch(text)
    try:
        if tpu:
            # Without these libtpu waits for the cloud's metadata server.
            os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
            os.environ.setdefault("TPU_ACCELERATOR_TYPE", "v5litepod-4")
            os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")
            return topologies.get_topology_desc(platform="tpu", topology_name=tpu.group(1))
        if text.endswith((".txtpb", ".pbtxt")):
            os.environ.setdefault("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")
            return topologies.get_topology_desc(
                platform="cuda",
                topology_name=Path(text).stem,
                target_config=Path(text).read_text(),
                topology="1x1x1",
            )
    except OSError as error:
        raise XlatraceError(f"the target '{text}' cannot be read: {error}")
    except Exception as error:  # Each plugin of JAX raises its own.
        needed = "pip install libtpu" if tpu else 'pip install "jax[cuda13]"'
        raise XlatraceError(f"JAX cannot compile for '{text}' here: {error}", needed)
    raise XlatraceError(f"'{text}' is not a target", "use a TPU slice such as 'v5e:2x2', or the path of a GPU's description (.txtpb)")
