#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a large Kineto trace out of a small one: its events N times, one after the other.

usage: make_kineto.py SMALL.json[.gz] LARGE.json.gz --events 1300000

Times, correlation ids and flow ids of each copy are moved behind those of the one before.
"""

import argparse
import gzip
import json


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('small')
    parser.add_argument('large')
    parser.add_argument('--events', type=int, default=1_300_000)
    args = parser.parse_args()
    with (gzip.open if args.small.endswith('.gz') else open)(args.small) as file:
        trace = json.load(file)
    events = trace.pop('traceEvents')
    copies = -(-args.events // len(events))
    times = [e for e in events if 'ts' in e]
    first = min(e['ts'] for e in times)
    span = int(max(e['ts'] + e.get('dur', 0) for e in times) - first) + 10
    ids = 1 + max((e['args']['correlation'] for e in events
                   if 'correlation' in e.get('args', {})), default=0)
    written = 0
    with gzip.open(args.large, 'wt', compresslevel=3) as out:
        out.write('{' + json.dumps(trace)[1:-1] + (',' if trace else '') + '"traceEvents":[\n')
        for i in range(copies):
            for event in events:
                if i and event.get('ph') == 'M':
                    continue
                copy = dict(event)
                if 'ts' in event:
                    copy['ts'] = round(event['ts'] + i * span, 3)
                if isinstance(event.get('id'), int):
                    copy['id'] = event['id'] + i * ids
                if 'correlation' in event.get('args', {}):
                    copy['args'] = dict(event['args'])
                    copy['args']['correlation'] += i * ids
                out.write((',\n' if written else '') + json.dumps(copy))
                written += 1
        out.write(']}')
    print('%d events' % written)


if __name__ == '__main__':
    main()
