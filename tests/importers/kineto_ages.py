#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One little workload as PyTorch's profilers have written it since 2019, counted twice.

The writers follow torch/autograd/profiler.py (until 1.8: the list form without categories) and libkineto's
output_json.cpp of 2021 to 2026, for CUDA, ROCm and XPU. They differ in names of categories, in numbers or
texts for threads, and in times. Times are whole microseconds, doubles, or three decimals from a base in
nanoseconds. The expected figures are counted from the workload alone.

usage: kineto_ages.py --tool build/.../importer_counts
"""

import gzip
import json

import counting

PID = 4321


def workload(whole_us):
    """(kind, device, stream, start ns, duration ns, correlation, name, bytes) of device rows."""
    rows = []
    for index in range(40):
        kind = ('kernel', 'kernel', 'memcpy', 'memset')[index % 4]
        start = 7000 * index + (0 if whole_us else 137 * index % 1000)
        took = 5000 + (0 if whole_us else 41 * index % 1000)
        name = {'kernel': 'void at::k_%d<float>(float*)' % (index % 8),
                'memcpy': 'Memcpy HtoD (Pageable -> Device)', 'memset': 'Memset (Device)'}[kind]
        rows.append((kind, index % 2, 7 + index % 3, start, took, 100 + index, name,
                     0 if kind == 'kernel' else 64 * index))
    return rows


CATEGORIES_2021 = {'kernel': 'Kernel', 'memcpy': 'Memcpy', 'memset': 'Memset', 'call': 'Runtime',
                   'op': 'Operator'}


def categories(vendor):
    return {'kernel': 'kernel', 'memcpy': 'gpu_memcpy', 'memset': 'gpu_memset',
            'call': vendor + '_runtime', 'op': 'cpu_op'}


def kineto_events(rows, names, us, text_tids, launch='cudaLaunchKernel'):
    """`us`: how the era writes so many ns, as JSON text."""
    def event(**fields):
        out = json.dumps(fields)
        for key in ('ts', 'dur'):  # Numbers as the era writes them, not as Python does.
            out = out.replace('"%s": "%s"' % (key, fields[key]), '"%s": %s' % (key, fields[key]))
        return out

    events = ['{"ph": "M", "name": "process_name", "pid": %d, "args": {"name": "python"}}' % PID]
    for kind, device, stream, start, took, correlation, name, size in rows:
        thread = str(PID) if text_tids else PID
        events.append(event(ph='X', cat=names['op'], name='aten::op', pid=PID, tid=thread,
                            ts=us(start - 900), dur=us(800), args={'External id': correlation}))
        events.append(event(ph='X', cat=names['call'], name=launch, pid=PID, tid=thread,
                            ts=us(start - 800), dur=us(500),
                            args={'cbid': 211, 'correlation': correlation}))
        args = {'device': device, 'context': 1, 'stream': stream, 'correlation': correlation,
                'external id': correlation}
        if kind == 'kernel':
            args.update({'registers per thread': 32, 'shared memory': 0, 'grid': [8, 1, 1],
                         'block': [128, 1, 1]})
        else:
            args.update({'bytes': size, 'memory bandwidth (GB/s)': 1.5})
        events.append(event(ph='X', cat=names[kind], name=name, pid=device,
                            tid='stream %d' % stream if text_tids else stream, ts=us(start),
                            dur=us(took), args=args))
        events.append(json.dumps({'ph': 'f', 'id': correlation, 'pid': device, 'tid': stream, 'ts': 1,
                                  'cat': 'ac2g', 'name': 'ac2g', 'bp': 'e'}))
    events.append(event(ph='X', cat='Trace', name='PyTorch Profiler (0)', pid='Traces', tid='0',
                        ts=us(0), dur=us(10 ** 6), args={'Op count': 1}))
    events.append('{"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 9}')
    return events


class AgesTest(counting.WrittenFileTest):
    def check(self, text, rows, name='trace.json', device_pid=PID, **others):
        def write(path):
            with (gzip.open if name.endswith('.gz') else open)(path, 'wt') as file:
                file.write(text)

        want = counting.Figures()
        for kind, device, _, start, took, _, symbol, _ in rows:
            want.add(kind, 'gpu:%s:%d' % (device_pid, device), start, start + took, symbol)
        return self.check_file(name, write, want, ('event_damaged', 'trace_truncated'), **others)

    def device_rows(self, rows):
        return {'with_api_call': len(rows), 'bytes': sum(row[7] for row in rows)}

    def test_traces_of_2021_are_read(self):
        """Kineto's first year: capital categories, threads as texts, whole microseconds."""
        rows = workload(whole_us=True)

        def us(ns):  # Durations are small numbers, times large ones.
            return str(ns // 1000) if ns in (800, 500, 5000, 10 ** 6) else str(
                1_621_401_187_000_000 + ns // 1000)
        text = '{"schemaVersion": 1, "computeProperties": [{"id": 0, "name": "V100"}],\n' \
               '"traceEvents": [\n%s]}\n' % ',\n'.join(
                   kineto_events(rows, CATEGORIES_2021, us, text_tids=True))
        self.check(text, rows, **self.device_rows(rows))

    def test_traces_of_2022_with_doubles_are_read(self):
        rows = workload(whole_us=False)
        text = '{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "A100"}, ' \
               '{"id": 1, "name": "A100"}], "traceEvents": [%s]}' % ',\n'.join(
                   kineto_events(rows, categories('cuda'), lambda ns: repr(ns / 1000), False))
        got = self.check(text, rows, 'worker0.pt.trace.json.gz', **self.device_rows(rows))
        self.assertEqual(got['info']['gpu'], 'A100')

    def test_traces_of_2024_with_decimals_are_read(self):
        rows = workload(whole_us=False)

        def us(ns):
            return '%d.%03d' % divmod(ns, 1000) if ns >= 0 else '%.3f' % (ns / 1000)
        text = '{"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": ' \
               '1712345678000000000, "distributedInfo": {"backend": "nccl", "rank": 3}, ' \
               '"traceEvents": [%s], "traceName": "x"}' % ','.join(
                   kineto_events(rows, categories('cuda'), us, False))
        self.check(text, rows, **self.device_rows(rows))

    def test_traces_of_rocm_and_xpu_are_read(self):
        rows = workload(whole_us=False)
        for vendor, launch in (('hip', 'hipLaunchKernel'), ('xpu', 'urEnqueueKernelLaunch')):
            with self.subTest(vendor=vendor):
                text = '{"traceEvents": [%s]}' % ',\n'.join(
                    kineto_events(rows, categories(vendor), lambda ns: '%.3f' % (ns / 1000), False,
                                  launch))
                self.check(text, rows, **self.device_rows(rows))

    def test_list_form_of_kineto_is_read(self):
        rows = workload(whole_us=False)
        text = '[\n%s\n]' % ',\n'.join(
            kineto_events(rows, categories('cuda'), lambda ns: '%.3f' % (ns / 1000), False))
        self.check(text, rows, **self.device_rows(rows))

    def test_list_form_of_the_autograd_profiler_is_read(self):
        """Until 2020: no categories, no streams; time on the device by the op that launched it."""
        rows = [row[:2] + (0,) + row[3:] for row in workload(whole_us=False) if row[0] == 'kernel']
        events = []
        for _, device, _, start, took, index, name, _ in rows:
            events.append({'name': 'add', 'ph': 'X', 'ts': start / 1000 - 5, 'dur': 4.0, 'tid': 1,
                           'pid': 'CPU functions', 'args': {}})
            events.append({'name': 'add', 'ph': 's', 'ts': start / 1000 - 5, 'tid': 1, 'cat':
                           'cpu_to_cuda', 'pid': 'CPU functions', 'id': index, 'args': {}})
            events.append({'name': name, 'ph': 'f', 'ts': start / 1000, 'tid': device, 'cat':
                           'cpu_to_cuda', 'pid': 'CUDA functions', 'id': index, 'args': {}})
            events.append({'name': name, 'ph': 'X', 'ts': start / 1000, 'dur': took / 1000,
                           'tid': device, 'pid': 'CUDA functions', 'args': {}})
        self.check(json.dumps(events), rows, device_pid='-')


if __name__ == '__main__':
    counting.main()
