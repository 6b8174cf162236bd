#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One little GPU workload as XSpace files of TensorFlow and JAX have held it since 2020, counted twice.

The recordings of other tests are of AMD GPUs, CPUs and a TPU. These files are NVIDIA's, with one writer
per age. Times of lines are absolute (2020, 2021) or relative to the profile's start; texts are in the
event or referred to. Names of stats and derived lines are those of each age (xprof's xplane_schema.cc and
XLA's cupti_collector.cc through the years). The expected figures are counted from the workload alone.

usage: xplane_ages.py --tool build/.../importer_counts
"""

import collections
import gzip
import pathlib
import sys

import counting

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'e2e'))
from support import field  # noqa: E402  Protobuf by hand.

START = 1_600_000_000_000_000_000


class Plane:
    """A plane being written; `refs`: are texts of stats entries of a table, as from 2021 on?"""

    def __init__(self, name, refs):
        self.name, self.refs = name, refs
        self.names, self.stats, self.lines = {}, {}, b''

    def id_of(self, table, name):
        return table.setdefault(name, len(table) + 1)

    def stat(self, name, value):
        data = field(1, self.id_of(self.stats, name))
        if isinstance(value, int):
            return data + field(4, value)
        return data + (field(7, self.id_of(self.stats, value)) if self.refs else field(5, value))

    def line(self, number, name, start_ns, events):
        """events: (name, start ps from the line's start, duration ps, {stat: value})."""
        data = field(1, number) + field(2, name) + field(3, start_ns)
        for event, start, took, stats in events:
            data += field(4, field(1, self.id_of(self.names, event)) + field(2, start) +
                          field(3, took) + b''.join(field(4, self.stat(*s)) for s in stats.items()))
        self.lines += field(3, data)

    def bytes(self, **stats):
        own = b''.join(field(6, self.stat(*s)) for s in stats.items())
        tables = b''.join(
            field(number, field(1, key) + field(2, field(1, key) + field(2, name)))
            for number, table in ((4, self.names), (5, self.stats)) for name, key in table.items())
        return field(1, field(2, self.name) + self.lines + tables + own)


# ---- the workload ---------------------------------------------------------------------------

Row = collections.namedtuple('Row', 'kind gpu stream start took correlation name op')


def workload():
    """Times in ps from the profile's start: no whole nanoseconds, and streams that overlap."""
    rows = []
    for index in range(24):
        kind = ('kernel', 'kernel', 'kernel', 'memcpy', 'memset')[index % 5]
        name = {'kernel': 'fusion_%d' % (index % 4), 'memcpy': 'MemcpyH2D', 'memset': 'Memset'}[kind]
        rows.append(Row(kind, index % 2, 13 + index % 3, 1_000_000_137 + 4_000_333 * index,
                        6_000_777 + 1000 * index, 900 + index, name, 'fusion.%d' % (index % 4)))
    return rows


def ns(row):
    return row.start // 1000, (row.start + row.took) // 1000


def details(row, occupancy=''):
    if row.kind == 'kernel':
        return {'kernel_details': 'regs:32 static_shared:0 dynamic_shared:1024 grid:8,1,1 '
                                  'block:128,1,1' + occupancy}
    if row.kind == 'memcpy':
        return {'memcpy_details': 'kind_src:host kind_dst:device size:64 dest:0 async:1'}
    return {'Memset_details': 'kind:device num_bytes:64 async:1'}


def write(path, rows, refs, absolute, stats_of, derived, calls='/host:CPU', environment=True,
          stream='Stream #%d(Compute)', zipped=False):
    """The file. `stats_of(row)`: stats of an activity in this age, besides its details."""
    line_ns = START if absolute else 0
    space = b''
    if environment:
        plane = Plane('Task Environment', refs)
        space += plane.bytes(profile_start_time=START, profile_stop_time=START + 10 ** 9)
    host = Plane(calls, refs)
    host.line(55, 'python3', line_ns, [
        ('cuLaunchKernel', row.start - 700_000, 500_000, {'correlation_id': row.correlation})
        for row in rows])
    space += host.bytes()
    for gpu in (0, 1):
        plane = Plane('/device:GPU:%d' % gpu, refs)
        mine = [row for row in rows if row.gpu == gpu]
        for number in sorted({row.stream for row in mine}):
            plane.line(number, stream % number, line_ns, [
                (row.name, row.start, row.took,
                 {'correlation_id': row.correlation, **details(row), **stats_of(row)})
                for row in mine if row.stream == number])
        for number, name in enumerate(derived):  # The same time once more: never to be counted.
            plane.line(1000 + number, name, line_ns, [
                (row.name, row.start, row.took, {}) for row in mine])
        space += plane.bytes(core_count=108, compute_cap_major=8, compute_cap_minor=0)
    space += field(4, 'gpu-host')
    with (gzip.open if zipped else open)(path, 'wb') as file:
        file.write(space)


class AgesTest(counting.WrittenFileTest):
    def check(self, op_of, name='host.xplane.pb', **age):
        """`op_of(row)`: (module, program id, instruction) of a kernel in this age."""
        rows = workload()
        want = counting.Figures()
        for row in rows:
            want.add(row.kind, 'gpu:-:%d' % row.gpu, *ns(row), row.name, '|'.join(op_of(row)))
        got = self.check_file(
            name, lambda path: write(path, rows, **age), want, ('damaged_line', 'impossible_registers'),
            with_api_call=len(rows), start_unix_ns=START, devices=2,
            bytes=64 * sum(row.kind != 'kernel' for row in rows))
        self.assertEqual(got['stats'].get('derived_line'), 2 * len(age['derived']))

    def test_tensorflow_2020(self):
        self.check(lambda row: ('', '', ''), refs=False, absolute=True, environment=False,
                   stats_of=lambda row: {'tf_op': 'model/dense/MatMul:MatMul'}
                   if row.kind == 'kernel' else {},
                   derived=('Steps', 'TensorFlow Name Scope', 'TensorFlow Ops', 'Launch Stats'),
                   calls='/host:CUPTI')

    def test_jax_2021_texts_in_the_event(self):
        self.check(lambda row: ('jit_f.7', '', row.op) if row.kind == 'kernel' else ('', '', ''),
                   refs=False, absolute=True,
                   stats_of=lambda row: {'hlo_op': row.op, 'hlo_module': 'jit_f.7'}
                   if row.kind == 'kernel' else {},
                   derived=('Steps', 'XLA Modules', 'XLA Ops', 'TensorFlow Name Scope',
                            'TensorFlow Ops', 'Source code'))

    def test_jax_2024_references_and_program_ids(self):
        self.check(lambda row: ('jit_f', '52', row.op), refs=True, absolute=False,
                   stats_of=lambda row: {'hlo_op': row.op, 'hlo_module': 'jit_f', 'program_id': 52,
                                         'name': 'dot', 'prefix': 'jit(f)/jit(main)'},
                   derived=('Steps', 'XLA Modules', 'XLA Ops', 'Framework Name Scope',
                            'Framework Ops', 'Source code'))

    def test_jax_2026_gz_with_graph_nodes(self):
        self.check(lambda row: ('jit_f', '52', row.op), refs=True, absolute=False, zipped=True,
                   name='host.xplane.pb.gz',
                   stats_of=lambda row: {'hlo_op': row.op, 'hlo_module': 'jit_f', 'program_id': 52,
                                         'cuda_graph_id': 3, 'cuda_graph_node_id': row.correlation},
                   derived=('Steps', 'XLA Modules', 'XLA Ops', 'Framework Name Scope', 'Source',
                            'XLA TraceMe'), stream='Stream #%d(Compute,MemcpyH2D)')


if __name__ == '__main__':
    counting.main()
