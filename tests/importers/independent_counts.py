#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts recorded profiles a second time, with no code in common with the importers.

A protobuf walker of thirty lines and Python's sqlite3 module count launches, sum time and compute unions.
They group by (module, program, instruction). The tool `importer_counts` must print equal figures.

usage: independent_counts.py --tool build/.../importer_counts
Exit status 77 (skipped) when the data is absent.
"""

import collections
import csv
import decimal
import glob
import gzip
import json
import lzma
import os
import re
import sqlite3
import struct
import tarfile
import tempfile
import unittest

import counting


# ---- protobuf -------------------------------------------------------------------------------

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value & (2**64 - 1), at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = data[at:at + 8], at + 8
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        elif kind == 5:
            value, at = data[at:at + 4], at + 4
        else:
            raise ValueError(kind)
        yield key >> 3, value


def signed(value):
    return value - 2**64 if value >= 2**63 else value


def map_entry(data):
    entry = dict(fields(data))
    return entry.get(1, 0), entry.get(2, b'')


class Plane:
    def __init__(self, data):
        self.name = ''
        self.lines = []
        self.events = {}
        self.stat_names = {}
        raw_stats = []
        for field, value in fields(data):
            if field == 2:
                self.name = value.decode()
            elif field == 3:
                self.lines.append(value)
            elif field == 4:
                key, message = map_entry(value)
                name, stats = '', []
                for f, v in fields(message):
                    if f == 2:
                        name = v.decode('utf8', 'replace')
                    elif f == 5:
                        stats.append(v)
                self.events[key] = (name, stats)
            elif field == 5:
                key, message = map_entry(value)
                self.stat_names[key] = dict(fields(message)).get(2, b'').decode()
            elif field == 6:
                raw_stats.append(value)
        self.stats = self.read_stats(raw_stats)

    def read_stats(self, raw):
        out = {}
        for data in raw:
            name, value = '', None
            for field, v in fields(data):
                if field == 1:
                    name = self.stat_names.get(v, '')
                elif field == 2:
                    value = struct.unpack('<d', v)[0]
                elif field in (3, 4):
                    value = signed(v)
                elif field == 5:
                    value = v.decode('utf8', 'replace')
                elif field == 6:
                    value = bytes(v)
                elif field == 7:
                    value = self.stat_names.get(v, '')
            out[name] = value
        return out

    def read_line(self, data):
        name, timestamp, events = '', 0, []
        for field, value in fields(data):
            if field == 2:
                name = value.decode()
            elif field == 3:
                timestamp = signed(value)
            elif field == 4:
                meta = offset = duration = 0
                stats = []
                for f, v in fields(value):
                    if f == 1:
                        meta = v
                    elif f == 2:
                        offset = signed(v)
                    elif f == 3:
                        duration = signed(v)
                    elif f == 4:
                        stats.append(v)
                start = timestamp * 1000 + offset  # All in ps: Python's ints do not overflow.
                event_name, meta_stats = self.events.get(meta, ('', []))
                events.append((start // 1000, (start + duration) // 1000, event_name,
                               self.read_stats(stats), meta_stats,
                               start, start + duration))
        return name, events


# Calls that wait, allocate, release or load; docs/schema.md, view api_call.
BLOCKING = re.compile('Synchronize|Malloc|Alloc|Free|Register|Load|Instantiate|nvrtc')

# ---- figures --------------------------------------------------------------------------------

def self_times(intervals):
    """Each elementary interval belongs to the one that started last, of those the shortest."""
    points = sorted({p for interval in intervals for p in interval})
    own = [0] * len(intervals)
    order = sorted(range(len(intervals)), key=lambda i: intervals[i][0])
    active, next_one = [], 0
    for left, right in zip(points, points[1:]):
        while next_one < len(order) and intervals[order[next_one]][0] <= left:
            active.append(order[next_one])
            next_one += 1
        active = [i for i in active if intervals[i][1] > left]
        if active:
            owner = max(active, key=lambda i: (intervals[i][0], -intervals[i][1], i))
            own[owner] += right - left
    return own


class Figures(counting.Figures):
    def __init__(self):
        super().__init__()
        self.runs = collections.defaultdict(set)
        self.correlations = []
        self.calls = set()
        self.bytes = 0
        self.steps = []
        self.modules = []
        self.devices = 0
        self.start = None


def text(value):
    return '' if value is None else str(value)


def op_key(stats, instruction=None):
    return '|'.join((text(stats.get('hlo_module')), text(stats.get('program_id')),
                     instruction or text(stats.get('hlo_op'))))


DERIVED = {'XLA Modules', 'XLA Ops', 'Steps', 'Framework Ops', 'Source code',
           'TensorFlow Name Scope', 'Launch Stats'}


def detail(details, key):
    for token in details.split():
        if token.startswith(key + ':'):
            return token[len(key) + 1:]
    return None


def count_xplane(data):
    out = Figures()
    planes = [Plane(v) for f, v in fields(data) if f == 1]
    cpu_devices = set()
    pid = next((str(p.stats['process_id']) for p in planes if 'process_id' in p.stats), '-')
    for plane in planes:
        if plane.name == 'Task Environment':
            out.start = plane.stats.get('profile_start_time')
        for name, meta_stats in plane.events.values():
            stats = plane.read_stats(meta_stats)
            if 'Hlo Proto' in stats:
                program = stats.get('program_id')
                head, _, tail = name.rpartition('(')
                if program is None:
                    program = signed(int(tail[:-1]))
                out.modules.append([head, program, len(stats['Hlo Proto'])])
        if plane.name.startswith('/device:GPU:'):
            out.devices += 1
            device = 'gpu:%s:%s' % (pid, plane.name[12:])
            for raw in plane.lines:
                line, events = plane.read_line(raw)
                if line in DERIVED:
                    continue
                for start, end, name, stats, *_ in events:
                    kind = 'kernel'
                    if 'memcpy_details' in stats:
                        kind = 'memcpy'
                        out.bytes += int(detail(stats['memcpy_details'], 'size'))
                    out.add(kind, device, start, end, name, op_key(stats))
                    out.correlations.append(stats.get('correlation_id'))
        elif plane.name.startswith('/device:TPU:'):
            out.devices += 1
            device = 'tpu:%s:%s' % (pid, plane.name[12:])
            lines = dict(plane.read_line(raw) for raw in plane.lines)
            runs = lines['XLA Modules']
            ops = lines['XLA Ops']
            own = self_times([(e[0], e[1]) for e in ops])
            for (start, end, name, _, meta_stats, *ps), own_ns in zip(ops, own):
                stats = plane.read_stats(meta_stats)
                inside = [i for i, r in enumerate(runs) if r[5] <= ps[0] < r[6]]
                assert len(inside) == 1, (name, start, end, inside)
                stats['hlo_module'] = runs[inside[0]][2].rpartition('(')[0]
                instruction = name[1:].split(' = ')[0]
                out.runs[device].add(inside[0])
                out.add('op', device, start, end, instruction, op_key(stats, instruction), own_ns)
        elif plane.name.startswith('/host:') and plane.name != '/host:metadata':
            for raw in plane.lines:
                _, events = plane.read_line(raw)
                ops = []
                for event in events:
                    stats = event[3]
                    if 'correlation_id' in stats:
                        out.calls.add(stats['correlation_id'])
                    elif 'hlo_op' in stats:
                        ops.append(event)
                    elif 'step_num' in stats:
                        out.steps.append([stats['step_num'], event[0], event[1]])
                own = self_times([(e[0], e[1]) for e in ops])
                for (start, end, name, stats, *_), own_ns in zip(ops, own):
                    ordinal = max(stats['device_ordinal'], 0)
                    device = 'cpu:%s:%d' % (pid, ordinal)
                    cpu_devices.add(ordinal)
                    if stats['run_id'] != -1:
                        out.runs[device].add((stats['program_id'], stats['run_id']))
                    out.add('op', device, start, end, name, op_key(stats), own_ns)
    out.devices += len(cpu_devices)
    return out


def count_nsys(path):
    """Joins that SQLite makes itself, nothing remembered between rows."""
    out = Figures()
    db = sqlite3.connect('file:%s?mode=ro&immutable=1' % path, uri=True)
    out.start, = db.execute('SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME').fetchone()
    copy_names = {0: 'Memcpy', 1: 'MemcpyH2D', 2: 'MemcpyD2H', 8: 'MemcpyD2D', 10: 'MemcpyP2P'}
    queries = {
        'kernel': '''SELECT start, end, deviceId, globalPid, correlationId, 0, s.value, contextId, streamId
                     FROM CUPTI_ACTIVITY_KIND_KERNEL k LEFT JOIN StringIds s
                     ON s.id = coalesce(k.mangledName, k.demangledName)''',
        'memcpy': '''SELECT start, end, deviceId, globalPid, correlationId, bytes, copyKind, contextId, streamId
                     FROM CUPTI_ACTIVITY_KIND_MEMCPY''',
        'memset': '''SELECT start, end, deviceId, globalPid, correlationId, bytes, 'Memset', contextId, streamId
                     FROM CUPTI_ACTIVITY_KIND_MEMSET''',
    }
    devices = set()
    rows = [(*row, kind) for kind, query in queries.items() for row in db.execute(query)]
    ends = {}  # End of the latest work per stream: the earlier kernel owns an overlap.
    for start, end, ordinal, gpid, correlation, size, name, context, stream, kind in sorted(rows, key=lambda r: r[:2]):
        pid = gpid // 2**24 % 2**24
        devices.add((pid, ordinal))
        out.bytes += size
        out.correlations.append((gpid, correlation))
        lane = (pid, ordinal, context, stream)
        own = max(0, end - max(start, ends.get(lane, 0)))
        ends[lane] = max(end, ends.get(lane, 0))
        out.add(kind, 'gpu:%d:%d' % (pid, ordinal), start, end,
                copy_names[name] if kind == 'memcpy' else name, '||', own)
    waits = set()
    for gtid, correlation, took, name in db.execute(
            '''SELECT globalTid, correlationId, end - start, value FROM CUPTI_ACTIVITY_KIND_RUNTIME
               JOIN StringIds ON id = nameId'''):
        out.calls.add((gtid - gtid % 2**24, correlation))
        if took >= (1000 if BLOCKING.search(name) else 100_000):
            waits.add((gtid - gtid % 2**24, correlation))
    out.api_calls = len(out.calls & set(out.correlations) | waits)
    out.devices = len(devices)
    out.ranges, = db.execute(
        'SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 59 AND end IS NOT NULL').fetchone()
    return out


KINETO_KINDS = {'kernel': 'kernel', 'gpu_memcpy': 'memcpy', 'gpu_memset': 'memset'}


def count_kineto(path):
    """Decimals as decimals: floor of the exact microseconds times 1000."""
    with gzip.open(path) as file:
        trace = json.load(file, parse_float=decimal.Decimal)
    events = trace['traceEvents'] if isinstance(trace, dict) else trace
    out = Figures()
    base = trace.get('baseTimeNanoseconds', 0) if isinstance(trace, dict) else 0
    pids = collections.Counter(e['pid'] for e in events if str(e.get('cat')).endswith(
        ('_runtime', '_driver')) and e.get('ph') == 'X')
    pid = pids.most_common(1)[0][0]
    launching, lengths = set(), {}
    out.ranges = 0
    devices = set()
    first = None
    # Python's calls, but PyTorch's own and built-in ones, of threads that run ops or call the driver.
    of_thread = collections.Counter()
    working = set()
    for event in events:
        category = str(event.get('cat'))
        thread = event.get('pid'), event.get('tid')
        if event.get('ph') == 'X' and category == 'python_function':
            of_thread[thread] += not event['name'].startswith(('<', 'torch/'))
        elif event.get('ph') == 'X' and (category in ('user_annotation', 'cpu_op')
                                         or category.endswith(('_runtime', '_driver'))):
            working.add(thread)
        is_call = category.endswith(('_runtime', '_driver'))
        is_range = category in ('user_annotation', 'cpu_op')
        if event.get('ph') != 'X' or not (is_call or is_range or category in KINETO_KINDS):
            continue
        start = int(decimal.Decimal(event['ts']) * 1000 // 1)
        end = int((decimal.Decimal(event['ts']) + decimal.Decimal(event['dur'])) * 1000 // 1)
        if first is None:
            first = start
        args = event.get('args', {})
        if is_call:
            out.calls.add(args.get('correlation'))
            if end - start >= (1000 if BLOCKING.search(event['name']) else 100_000):
                lengths[args.get('correlation')] = end - start
        elif is_range:
            out.ranges += 1
            if event['name'].startswith('ProfilerStep#'):
                out.steps.append([int(event['name'][13:]), start - first, end - first])
        else:
            kind = KINETO_KINDS[category]
            devices.add(args['device'])
            launching.add(args['correlation'])
            out.correlations.append(args['correlation'])
            if kind != 'kernel':
                out.bytes += args['bytes']
            out.add(kind, 'gpu:%d:%d' % (pid, args['device']), start, end, event['name'], '||')
    out.start = base + first
    out.devices = len(devices)
    out.api_calls = len(launching & out.calls | set(lengths))
    out.python_calls = sum(n for thread, n in of_thread.items() if thread in working)
    return out


def count_nsys_jax(path):
    """From the CSV that was converted from the Parquet file with another program."""
    with lzma.open(path, 'rt') as file:
        rows = list(csv.DictReader(file))
    by_id = {row['RangeId']: row for row in rows if row['RangeId']}
    parents = {row['ParentId'] for row in rows}
    out = Figures()
    main = rows[0]['PID']
    workers = sorted({int(r['TID']) for r in rows if r['Name'].startswith(('TSL:Thunk', 'TSL:XlaModule'))}
                     - {int(main)})
    children = collections.defaultdict(list)

    def around(row, prefix):
        while row['ParentId']:
            row = by_id[row['ParentId']]
            if row['Name'].startswith(prefix):
                return row
        return None

    thunks = [r for r in rows if r['Name'].startswith('TSL:Thunk:')]
    for row in thunks:
        outer = around(row, 'TSL:Thunk:')
        if outer:
            start = int(row['Projected Start'])
            children[outer['RangeId']].append((start, start + int(row['Projected Duration'])))
    devices = set()
    for row in rows:
        is_thunk = row['Name'].startswith('TSL:Thunk:')
        module = around(row, 'TSL:XlaModule:')
        if not is_thunk and (not row['Name'] or row['Name'].startswith('TSL:XlaModule:') or module or
                             row['RangeId'] in parents or int(row['NumGPUOps']) == 0 or
                             around(row, 'TSL:Thunk:')):
            continue
        start = int(row['Projected Start'])
        end = start + int(row['Projected Duration'])
        inside = [(max(a, start), min(b, end)) for a, b in children[row['RangeId']]]
        own = end - start - counting.union([i for i in inside if i[1] > i[0]])
        ordinal = workers.index(int(row['TID'])) if int(row['TID']) in workers else 0
        device = 'gpu:%s:%d' % (main, ordinal)
        devices.add(ordinal)
        op = '||'
        symbol = row['Name'].split(':')[1]
        if is_thunk:
            symbol = re.search(r'hlo_op=([^,#]+)', row['Name']).group(1)
            found = module and re.search(r'hlo_module=([^,#]+)', module['Name'])
            program = module and re.search(r'program_id=(\d+)', module['Name'])
            op = '|'.join((found.group(1) if found else '', program.group(1) if program else '',
                           symbol))
            if module:
                out.runs[device].add(module['RangeId'])
        out.add('range', device, start, end, symbol, op, own)
    out.devices = len(devices)
    return out


# ---- tests ----------------------------------------------------------------------------------

class CountsTest(unittest.TestCase):
    maxDiff = None

    def check(self, path, want):
        code, got = counting.run_tool(path)
        self.assertEqual(code, 0, got)
        self.assertEqual(got['kinds'] or {}, dict(want.kinds))
        self.assertEqual(got['self_ns'] or {}, dict(want.self_ns))
        self.assertEqual(got.get('busy_ns') or {}, want.busy_ns())
        self.assertEqual(got.get('runs') or {}, {d: len(r) for d, r in want.runs.items()})
        self.assertEqual(got.get('ops') or {}, dict(want.ops))
        self.assertEqual(got.get('symbols') or {}, dict(want.symbols))
        self.assertEqual(sorted(got['steps']), sorted(want.steps))
        if want.modules is not None:
            self.assertEqual(sorted(got['modules']), sorted(want.modules))
        self.assertEqual(got['devices'], want.devices)
        self.assertEqual(got['bytes'], want.bytes)
        self.assertEqual(got['start_unix_ns'], want.start)
        self.assertEqual(got['with_api_call'],
                         sum(1 for c in want.correlations if c in want.calls))
        for stat in ('damaged_line', 'event_time_invalid', 'event_without_time'):
            self.assertNotIn(stat, got.get('stats') or {})
        return got

    def check_xplane(self, path, data=None):
        if data is None:
            with open(path, 'rb') as file:
                data = file.read()
        return self.check(path, count_xplane(data))

    def test_recorded_xplanes(self):
        paths = sorted(glob.glob(counting.DATA + '/xplane/*.xplane.pb'))
        paths = [p for p in paths if 'CORRUPT' not in p]
        self.assertGreaterEqual(len(paths), 4)
        for path in paths:
            with self.subTest(path=os.path.basename(path)):
                self.check_xplane(path)

    def test_compressed_cpu_xplane(self):
        path, = glob.glob(counting.DATA + '/own/jax-cpu/*.xplane.pb.xz')
        with lzma.open(path) as file:
            got = self.check_xplane(path, file.read())
        # Known from the program that was recorded: 20 steps of 298 ops.
        self.assertEqual(sum(n for op, (n, _) in got['ops'].items()
                             if op.startswith('jit_train_step|52|')), 20 * 298)
        self.assertEqual([s[0] for s in got['steps']], list(range(20)))
        runs = [row for row in got['compiles'] if row[0] == 'CpuCompiler::RunBackend']
        self.assertEqual(len(runs), 27)  # As many as modules. The others are stages and passes.

    def test_xplanes_of_many_versions(self):
        seen = 0
        for archive in ('own/jax-eras/xplane.tar.xz', 'own/tf-cpu/tf-2.21.0-xplane.tar.xz'):
            with tempfile.TemporaryDirectory() as folder:
                with tarfile.open(os.path.join(counting.DATA, archive)) as tar:
                    tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Not in 3.11.2.
                    tar.extractall(folder)
                for path in glob.glob(folder + '/**/*.xplane.pb', recursive=True):
                    with self.subTest(path=path[len(folder):]):
                        self.check_xplane(path)
                        seen += 1
        self.assertEqual(seen, 6)

    def test_nsys_exports(self):
        paths = sorted(glob.glob(counting.DATA + '/nsys/*.sqlite'))
        self.assertEqual(len(paths), 3)
        for path in paths:
            with self.subTest(path=os.path.basename(path)):
                want = count_nsys(path)
                got = self.check(path, want)
                self.assertEqual(got['ranges'], want.ranges)
                self.assertEqual(got['api_calls'], want.api_calls)

    def test_kineto_traces(self):
        paths = sorted(glob.glob(counting.DATA + '/kineto/*.json.gz'))
        self.assertGreaterEqual(len(paths), 6)
        for path in paths:
            with self.subTest(path=os.path.basename(path)):
                want = count_kineto(path)
                got = self.check(path, want)
                self.assertEqual(got['ranges'], want.ranges)
                self.assertEqual(got['python_calls'], want.python_calls)
                self.assertEqual(got['api_calls'], want.api_calls)
                for stat in ('event_damaged', 'trace_truncated', 'event_oversized'):
                    self.assertNotIn(stat, got['stats'])

    def test_nsys_jax_captures(self):
        for capture, table in (
                ('nsys-jax-maxtext-fsdp4-h100', 'derived/nvtx_gpu_proj_trace.csv.xz'),
                ('nsys-jax-pax-fsdp4-a100/proc0', 'derived/nvtx_gpu_proj_trace.csv.xz')):
            with self.subTest(capture=capture):
                path = os.path.join(counting.DATA, 'captures', capture)
                want = count_nsys_jax(os.path.join(path, table))
                want.modules = None
                got = self.check(path, want)
                dumped = glob.glob(path + '/dump/*after_optimizations.hlo.pb.xz')
                self.assertEqual(len(got['modules']), len(dumped))
                with lzma.open(glob.glob(path + '/report_nvtx_pushpop_trace.csv.xz')[0], 'rt') as f:
                    self.assertEqual(got['ranges'], sum(1 for _ in csv.DictReader(f)))

    def test_zipped_capture_is_like_the_folder(self):
        code, got = counting.run_tool(counting.DATA + '/captures/nsys-jax-pax-fsdp4-a100/proc1.zip')
        self.assertEqual(code, 0)
        self.assertEqual(len(got['modules']), 17)
        self.assertEqual(got['devices'], 1)
        self.assertGreater(got['kinds']['range'], 13000)

    def test_garbage_registers_are_dropped_and_counted(self):
        _, got = counting.run_tool(counting.DATA + '/xplane/jax_conv_minimal.xplane.pb')
        self.assertEqual(got['stats']['impossible_registers'], 25)

    def test_mangled_file_is_refused_with_the_count_of_replaced_characters(self):
        path, = glob.glob(counting.DATA + '/xplane/CORRUPT*.xplane.pb')
        with open(path, 'rb') as file:
            count = file.read().count(b'\xef\xbf\xbd')
        code, got = counting.run_tool(path)
        self.assertEqual(code, 1)
        self.assertIn(os.path.basename(path), got['error'])
        self.assertIn(' %d ' % count, got['hint'])


if __name__ == '__main__':
    counting.main(recordings='xplane')
