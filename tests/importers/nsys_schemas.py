#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One little workload in the schemas that Nsight Systems' exports have had, counted twice.

Two processes on two GPUs run kernels, copies and memsets under XLA's NVTX ranges. The workload is a list.
A writer per era puts it into tables in the layout of that era's exports. Sources are NVIDIA's
documentation of the SQLite export for 2020 to 2026, and the reports of nsys, which name the tables they
need. The expected figures are counted from the list alone.

usage: nsys_schemas.py --tool build/.../importer_counts
"""

import collections
import sqlite3

import counting

PIDS = (300, 301)
START = 1_700_000_000_000_000_000


def gpid(pid):
    return 1 << 48 | pid << 24


def gtid(pid):
    return gpid(pid) | pid


# ---- the workload ---------------------------------------------------------------------------

class Row:
    def __init__(self, **fields):
        self.__dict__.update(fields)


def workload():
    """Rows of host and device, by kind; times in ns from the session's start."""
    rows = collections.defaultdict(list)
    for pid, ordinal in zip(PIDS, (0, 1)):
        rows['domain'].append(Row(pid=pid, id=3, name='TSL'))
        for run in range(3):
            base = 100_000 * (run + 1) + ordinal * 7
            rows['range'].append(Row(pid=pid, start=base, end=base + 50_000, domain=3,
                                     text='XlaModule:#hlo_module=jit_f,program_id=%d#' % pid))
            for op in range(4):
                start = base + 1000 + 10_000 * op
                rows['range'].append(Row(pid=pid, start=start, end=start + 5000, domain=3,
                                         text='Thunk:#hlo_op=op.%d#' % op))
                correlation = 1 + run * 10 + op
                kind = ('kernel', 'kernel', 'memcpy', 'memset')[op]
                rows['call'].append(Row(pid=pid, start=start + 100, end=start + 900,
                                        correlation=correlation,
                                        name={'kernel': 'cuLaunchKernel', 'memcpy': 'cuMemcpyAsync',
                                              'memset': 'cuMemsetD8Async'}[kind]))
                at = base + 400_000 + 3000 * op  # Overlaps the next one by 500 ns.
                rows[kind].append(Row(pid=pid, device=ordinal, start=at, end=at + 3500 + op,
                                      correlation=correlation, stream=7 + op, op=op,
                                      name='k_%d' % op, mangled='_Z3k_%dv' % op,
                                      demangled='k_%d()' % op, bytes=64 * (op + 1), run=run))
        rows['range'].append(Row(pid=pid, start=900_000, end=None, domain=3, text='unfinished'))
    return rows


# ---- the eras -------------------------------------------------------------------------------

class Export:
    """An export; `nulls`: does the era know NULL, or does it write 0 and '' for what is unknown?"""

    def __init__(self, path, nulls=True, number='', inline=False):
        self.db = sqlite3.connect(path)
        self.nulls, self.number, self.inline = nulls, number, inline
        self.ids = {}
        self.db.execute('CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)')

    def string(self, text):
        if self.inline:
            return text
        if text not in self.ids:
            self.ids[text] = len(self.ids) + 40
            self.db.execute('INSERT INTO StringIds VALUES (?, ?)', (self.ids[text], text))
        return self.ids[text]

    def insert(self, table, **values):
        """Makes the table on its first row; a column is TEXT where the first value is."""
        table += self.number
        if not self.db.execute('SELECT 1 FROM sqlite_master WHERE name = ?', (table,)).fetchone():
            columns = ', '.join(
                '"%s" %s%s' % (name, 'TEXT' if isinstance(value, str) else 'INTEGER',
                               '' if self.nulls else ' NOT NULL')
                for name, value in values.items())
            self.db.execute('CREATE TABLE %s (%s)' % (table, columns))
        if not self.nulls:
            values = {name: 0 if value is None else value for name, value in values.items()}
        self.db.execute('INSERT INTO %s (%s) VALUES (%s)' % (
            table, ', '.join('"%s"' % name for name in values), ', '.join('?' * len(values))),
            list(values.values()))

    def close(self):
        self.db.commit()
        self.db.close()


def write_device_rows(out, rows, mangled=True, extra=None, skip_pid=False):
    extra = extra or {}
    for kind, table in (('kernel', 'KERNEL'), ('memcpy', 'MEMCPY'), ('memset', 'MEMSET')):
        for row in rows[kind]:
            own = {'bytes': row.bytes, 'copyKind': 1} if kind == 'memcpy' else {
                'value': 0, 'bytes': row.bytes} if kind == 'memset' else {
                'demangledName': out.string(row.demangled), 'shortName': out.string(row.name),
                **({'mangledName': out.string(row.mangled)} if mangled else {}),
                'registersPerThread': 32, 'gridX': 8, 'gridY': 1, 'gridZ': 1, 'blockX': 128,
                'blockY': 1, 'blockZ': 1, 'staticSharedMemory': 0, 'dynamicSharedMemory': 1024}
            out.insert('CUPTI_ACTIVITY_KIND_' + table, start=row.start, end=row.end,
                       deviceId=row.device, contextId=1, streamId=row.stream,
                       correlationId=row.correlation,
                       **({} if skip_pid else {'globalPid': gpid(row.pid)}), **own,
                       **{name: value(row) for name, value in extra.items()})


def write_host_rows(out, rows, event_class=False):
    for row in rows['call']:
        out.insert('CUPTI_ACTIVITY_KIND_RUNTIME', start=row.start, end=row.end,
                   **({'eventClass': 1} if event_class else {}), globalTid=gtid(row.pid),
                   correlationId=row.correlation, nameId=out.string(row.name), returnValue=0)


def write_nvtx(out, rows, registered, domains=True):
    """`registered`: texts are ids of strings, as XLA registers its own; otherwise the texts are in the row."""
    def insert(pid, start, end, kind, text, domain):
        by_id = {'text': None if out.nulls else '', 'textId': out.string(text)}
        inline = {'text': text, 'textId': None}
        out.insert('NVTX_EVENTS', start=start, end=end, eventType=kind, rangeId=None, color=None,
                   **(by_id if registered else inline), globalTid=gtid(pid), domainId=domain)

    for row in rows['domain'] if domains else ():
        insert(row.pid, 0, None, 75, row.name, row.id)
    for row in rows['range']:
        insert(row.pid, row.start, row.end, 59, row.text, row.domain)


def write_facts(out, meta, gpus):
    out.insert('TARGET_INFO_SESSION_START_TIME', utcEpochNs=START)
    for name, value in (('EXPORT_SCHEMA_VERSION', '2.9.1'), ('EXPORT_PRODUCT_VERSION', '2021.1')):
        out.insert(meta, name=name, value=value)
    for ordinal in (0, 1):
        if gpus == 'TARGET_INFO_CUDA_GPU':
            out.insert(gpus, deviceId=ordinal, name='A100', computeCapabilityMajor=8,
                       computeCapabilityMinor=0, numMultiprocessors=108, numThreadsPerWarp=32,
                       maxWarpsPerMultiprocessor=64, coreClockRate=1410000)
        else:
            out.insert(gpus, id=ordinal, name='A100', computeMajor=8, computeMinor=0, smCount=108,
                       threadsPerWarp=32, maxWarpsPerSm=64, clockRate=1410000000)


def early_2021(path, rows):
    out = Export(path, nulls=False)
    write_facts(out, 'EXPORT_META_DATA', 'TARGET_INFO_CUDA_GPU')
    write_device_rows(out, rows, mangled=False, extra={'graphNodeId': lambda row: 0})
    write_host_rows(out, rows)
    write_nvtx(out, rows, registered=True)
    out.close()


def inline_names(path, rows):
    out = Export(path, inline=True)
    write_facts(out, 'EXPORT_META_DATA', 'TARGET_INFO_GPU')
    write_device_rows(out, rows, mangled=False)
    write_host_rows(out, rows)
    write_nvtx(out, rows, registered=False)
    out.close()


def interned_2022(path, rows):
    out = Export(path)
    write_facts(out, 'META_DATA_EXPORT', 'TARGET_INFO_GPU')
    write_device_rows(out, rows)
    write_host_rows(out, rows, event_class=True)
    write_nvtx(out, rows, registered=True)
    out.close()


def modern(path, rows, number='', domains=True):
    out = Export(path, number=number)
    write_facts(out, 'META_DATA_EXPORT', 'TARGET_INFO_GPU')
    write_device_rows(out, rows, extra={'graphNodeId': lambda row: None,
                                        'graphId': lambda row: None,
                                        'greenContextId': lambda row: None})
    write_host_rows(out, rows, event_class=True)
    write_nvtx(out, rows, registered=True, domains=domains)
    for pid in PIDS:
        out.insert('PROCESSES', globalPid=gpid(pid), pid=pid, name='python')
        out.insert('ThreadNames', nameId=out.string('launcher'), priority=None, globalTid=gtid(pid))
        out.insert('TARGET_INFO_CUDA_DEVICE', gpuId=pid - PIDS[0], cudaId=pid - PIDS[0], pid=pid)
    out.close()


def numbered_tables(path, rows):
    modern(path, rows, number='_V3')


def graph_nodes(path, rows):
    """Every run is a graph launch: nodes are made under the thunks, launched under the module."""
    out = Export(path)
    write_facts(out, 'META_DATA_EXPORT', 'TARGET_INFO_GPU')
    node = {row: 1 + row.op + 10 * row.pid for kind in ('kernel', 'memcpy', 'memset')
            for row in rows[kind]}
    launches = {(row.pid, row.run): 500 + row.run for row in node}
    for row in node:
        row.correlation = launches[row.pid, row.run]
    write_device_rows(out, rows, extra={'graphNodeId': lambda row: node[row]})
    for (pid, run), correlation in launches.items():
        start = 100_000 * (run + 1) + 48_000 + 7 * (pid - PIDS[0])
        out.insert('CUPTI_ACTIVITY_KIND_RUNTIME', start=start, end=start + 50, globalTid=gtid(pid),
                   correlationId=correlation, nameId=out.string('cuGraphLaunch'), returnValue=0)
    for row, number in node.items():
        if row.run == 0:
            start = 100_000 + 1000 + 10_000 * row.op + 7 * (row.pid - PIDS[0]) + 200
            out.insert('CUDA_GRAPH_NODE_EVENTS', start=start, end=start + 10, globalTid=gtid(row.pid),
                       graphNodeId=number, originalGraphNodeId=None)
    write_nvtx(out, rows, registered=True)
    out.close()


def trimmed(path, rows):
    """A window of time: half of the calls, and the rows that name domains, lie outside."""
    modern(path, {**rows, 'call': [row for row in rows['call'] if row.start >= 200_000]},
           domains=False)


def bare(path, rows):
    """Kernels and nothing else, as scripts that thin exports leave them."""
    out = Export(path)
    for row in rows['kernel']:
        out.insert('CUPTI_ACTIVITY_KIND_KERNEL', start=row.start, end=row.end, deviceId=row.device,
                   streamId=row.stream, shortName=out.string(row.name))
    out.close()


# ---- what must come out ---------------------------------------------------------------------

def expected(rows, kinds=('kernel', 'memcpy', 'memset'), symbol=lambda row: row.mangled,
             pids=True, known=lambda row: True):
    want = counting.Figures()
    for kind in kinds:
        for row in rows[kind]:
            name = symbol(row) if kind == 'kernel' else {'memcpy': 'MemcpyH2D', 'memset': 'Memset'}[kind]
            want.add(kind, 'gpu:%s:%d' % (row.pid if pids else '-', row.device), row.start, row.end,
                     name, 'jit_f|%d|op.%d' % (row.pid, row.op) if known(row) else '||')
    return want


class SchemasTest(counting.WrittenFileTest):
    def check(self, writer, want, ranges=None, **others):
        if ranges is not None:
            others['ranges'] = ranges
        got = self.check_file('export.sqlite', lambda path: writer(path, workload()), want,
                              ('table_damaged',), **others)
        if ranges is not None:
            self.assertEqual(got['stats']['range_not_finished'], 2)
        return got

    ALL = 2 * 3 * 4  # Activities, and as many calls and thunk ranges.
    RANGES = 2 * 3 * 5

    def test_zeros_of_early_2021_mean_unknown(self):
        got = self.check(early_2021, expected(workload(), symbol=lambda row: row.demangled),
                         self.RANGES, with_api_call=self.ALL, devices=2, start_unix_ns=START)
        self.assertEqual(got['info']['gpu'], 'A100')
        self.assertEqual(got['info']['nsys_version'], '2021.1')
        self.assertEqual(got['range_domains'], {'TSL': self.RANGES})

    def test_schema_with_inline_names_is_read(self):
        self.check(inline_names, expected(workload(), symbol=lambda row: row.demangled),
                   self.RANGES, with_api_call=self.ALL)

    def test_schema_with_string_ids_is_read(self):
        self.check(interned_2022, expected(workload()), self.RANGES, with_api_call=self.ALL)

    def test_current_schema_is_read(self):
        got = self.check(modern, expected(workload()), self.RANGES, with_api_call=self.ALL, devices=2,
                         processes=2)
        self.assertEqual(got['info']['gpu'], 'A100')

    def test_tables_with_a_version_in_their_names_are_read(self):
        self.check(numbered_tables, expected(workload()), self.RANGES, with_api_call=self.ALL)

    def test_graph_nodes_have_the_ranges_of_their_creation(self):
        self.check(graph_nodes, expected(workload()), self.RANGES, with_api_call=self.ALL)

    def test_export_of_a_time_window_is_read(self):
        # The calls of the first run are missing: its activities stay, without a known owner.
        self.check(trimmed, expected(workload(), known=lambda row: row.run > 0), self.RANGES,
                   with_api_call=self.ALL * 2 // 3)

    def test_export_with_only_kernels_is_read(self):
        self.check(bare, expected(workload(), kinds=('kernel',), symbol=lambda row: row.name,
                                  pids=False, known=lambda row: False), with_api_call=0)


if __name__ == '__main__':
    counting.main()
