#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a large Nsight Systems export out of a small one: its rows N times, one after the other.

usage: make_nsys.py SMALL.sqlite LARGE.sqlite --kernels 1000000

Times and correlation ids of each copy are moved behind those of the one before, so that the copies
are one long recording. Everything else stays.
"""

import argparse
import os
import shutil
import sqlite3

TIMED = ('CUPTI_ACTIVITY_KIND_KERNEL', 'CUPTI_ACTIVITY_KIND_MEMCPY', 'CUPTI_ACTIVITY_KIND_MEMSET',
         'CUPTI_ACTIVITY_KIND_RUNTIME', 'CUPTI_ACTIVITY_KIND_SYNCHRONIZATION',
         'CUPTI_ACTIVITY_KIND_GRAPH_TRACE', 'NVTX_EVENTS')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('small')
    parser.add_argument('large')
    parser.add_argument('--kernels', type=int, default=1_000_000)
    args = parser.parse_args()
    if os.path.exists(args.large):
        os.remove(args.large)
    shutil.copyfile(args.small, args.large)
    os.chmod(args.large, 0o644)
    db = sqlite3.connect(args.large)
    db.executescript('PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;')
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    columns = {t: [row[1] for row in db.execute('PRAGMA table_info("%s")' % t)]
               for t in TIMED if t in tables}
    count, = db.execute('SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL').fetchone()
    copies = -(-args.kernels // count)
    first = min(db.execute('SELECT min(start) FROM "%s"' % t).fetchone()[0] or 1 << 62
                for t in columns)
    last = max(db.execute('SELECT max("end") FROM "%s"' % t).fetchone()[0] or 0 for t in columns)
    ids = max(db.execute('SELECT max(correlationId) FROM "%s"' % t).fetchone()[0] or 0
              for t, names in columns.items() if 'correlationId' in names)
    rows = 0
    for table, names in columns.items():
        db.execute('CREATE TEMP TABLE one AS SELECT * FROM "%s" ORDER BY rowid' % table)
        moved = ', '.join('"%s" + ? ' % n if n in ('start', 'end', 'correlationId')
                          else '"%s"' % n for n in names)
        for i in range(1, copies):
            values = [i * (ids + 1) if n == 'correlationId' else i * (last - first + 1000)
                      for n in names if n in ('start', 'end', 'correlationId')]
            db.execute('INSERT INTO "%s" SELECT %s FROM one' % (table, moved), values)
        db.execute('DROP TABLE one')
        rows += db.execute('SELECT count(*) FROM "%s"' % table).fetchone()[0]
    db.commit()
    print('%d kernels, %d rows, %d bytes' % (copies * count, rows, os.path.getsize(args.large)))


if __name__ == '__main__':
    main()
