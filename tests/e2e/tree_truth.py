# SPDX-License-Identifier: Apache-2.0
"""Times that the time tree of a random job (random_job.py) must have, counted instant by instant."""

import collections

import job_truth as truth
from random_job import COLLECTIVE


def computed(works):
    """{instruction: nanoseconds} of one device. Ops that run at the same instant share it equally."""
    computations = [work for work in works if work.op and work.op.kind != COLLECTIVE]
    edges = sorted({time for work in computations for time in (work.start, work.end)})
    out = collections.Counter()
    for left, right in zip(edges, edges[1:]):
        running = [work for work in computations if work.start <= left and work.end >= right]
        for work in running:
            out[work.op.name] += (right - left) / len(running)
    return out


def exposed(works):
    """(collectives, copies): nanoseconds of one device in which nothing of the kinds before them runs."""
    def length(some):
        return sum(end - start for start, end in truth.merged((work.start, work.end) for work in some))

    computations = [work for work in works if work.op and work.op.kind != COLLECTIVE]
    without_copies = [work for work in works if work.op]
    return length(without_copies) - length(computations), length(works) - length(without_copies)
