# SPDX-License-Identifier: Apache-2.0
"""A pair of programs, before and after a real change, and the arguments of `what-if` for this change.

The change is written as SQL over the views of run.db, because handles differ from run to run. The factor
of an op comes from the op itself in both runs, so the test concerns the prediction of the step."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Op:
    """Ops that take another time: `where` over op_time of the run before, `after` of the run after."""

    where: str
    after: str | None = None  # Equal to `before` by default.


@dataclasses.dataclass(frozen=True)
class Without:
    """Ops that are gone."""

    where: str


@dataclasses.dataclass(frozen=True)
class Flag:
    """A change with its own option: "--no-gaps"."""

    words: str


Change = Op | Without | Flag


@dataclasses.dataclass(frozen=True)
class Side:
    """One of the two programs of a pair."""

    program: str  # A script of fake_workload, or the name of a function of the programs.
    settings: dict[str, object] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Pair:
    name: str
    kind: str  # workload, jax_gpu, jax_cpu
    about: str
    before: Side
    after: Side
    changes: tuple[Change, ...]
    # The recording does not show which of several outcomes will happen: the interval must contain the actual
    # one.
    undecided: bool = False
    host: bool = False  # The host's own time is in the step: measured several times.
    quick: bool = False  # Deterministic and short: for every commit.
