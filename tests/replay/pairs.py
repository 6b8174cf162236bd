# SPDX-License-Identifier: Apache-2.0
"""What a pair of programs is: before and after a change that is really made, and how `what-if` is told of it.

The change is said in SQL over the views of run.db, not in handles, which differ from run to run. The factor
of an op is the one found for the op itself in both runs, so what is judged is the prediction of the step.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Op:
    """Ops that take another time: `where` over op_time of the run before, `after` of the run after."""

    where: str
    after: str | None = None  # The same unless said.


@dataclasses.dataclass(frozen=True)
class Without:
    """Ops that are gone."""

    where: str


@dataclasses.dataclass(frozen=True)
class Flag:
    """A change that is said as it is: "--no-gaps"."""

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
    # The recording does not tell which of several things will happen: the range must hold what did.
    undecided: bool = False
    host: bool = False  # The host's own time is in the step: measured several times.
    quick: bool = False  # Deterministic and short: for every commit.
