#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cuts and bit flips of recorded inputs: each import ends with success or a sentence, never with a
crash, a hang or memory without bound.

usage: damage.py --tool build/.../importer_counts [--cuts 2] [--flips 3] [--jobs 1] [--whole]

--whole takes each input as it is, too (for ThreadSanitizer, which ends the tool with a status of its own).
CI takes the small default; `scripts/long` takes --cuts 200 --flips 2000. Exit status 77 (skipped) when
the data is absent, 1 when something was found (the input is kept beside and named).
"""

import argparse
import concurrent.futures
import glob
import os
import random
import resource
import subprocess
import sys
import tempfile
import zlib

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import shared_data  # noqa: E402, in the folder of the components

INPUTS = ('kineto/*.json.gz', 'nsys/*.sqlite', 'xplane/*.xplane.pb', 'own/jax-cpu/*.xplane.pb.xz',
          'captures/nsys-jax-pax-fsdp4-a100/proc1.zip')
MEMORY_BYTES = 6 << 30
TIMEOUT_S = 120


def damaged(data, seed, cut):
    """Equal damage for equal seeds on every machine; none without a seed."""
    if seed is None:
        return data
    rng = random.Random(seed)
    if cut:
        return data[:rng.randrange(len(data))]
    out = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def check(tool, path, data, seed, cut, sanitized):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, os.path.basename(path))
        with open(file, 'wb') as out:
            out.write(damaged(data, seed, cut))
        try:
            done = subprocess.run([tool, file], capture_output=True, timeout=TIMEOUT_S,
                                  check=False, preexec_fn=None if sanitized else limit)
        except subprocess.TimeoutExpired:
            return 'hangs'
        if done.returncode not in (0, 1) or not done.stdout.startswith(b'{'):
            return 'ends with %d: %s' % (done.returncode, done.stderr[-300:].decode('utf8', 'replace'))
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--tool', required=True)
    parser.add_argument('--data', default=shared_data.FOLDER)
    parser.add_argument('--cuts', type=int, default=2)
    parser.add_argument('--flips', type=int, default=3)
    parser.add_argument('--jobs', type=int, default=1)
    parser.add_argument('--whole', action='store_true', help='each input undamaged, too')
    parser.add_argument('--sanitized', action='store_true', help='no limit of address space')
    args = parser.parse_args()
    data_dir = args.data
    if not data_dir or not os.path.isdir(os.path.join(data_dir, 'xplane')):
        print('skipped: ' + shared_data.reason('xplane'))
        return 77
    found = runs = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for pattern in INPUTS:
            for path in sorted(glob.glob(os.path.join(data_dir, pattern))):
                with open(path, 'rb') as file:
                    data = file.read()
                base = zlib.crc32(os.path.basename(path).encode())
                cases = [(base + i, True) for i in range(args.cuts)]
                cases += [(base + 10_000 + i, False) for i in range(args.flips)]
                cases += [(None, False)] if args.whole else []
                results = [(seed, cut, pool.submit(check, args.tool, path, data, seed, cut,
                                                   args.sanitized)) for seed, cut in cases]
                for seed, cut, result in results:
                    runs += 1
                    if result.result():
                        found += 1
                        print('FOUND: %s, seed %s, %s: %s' % (path, seed, 'cut' if cut else 'flips',
                                                              result.result()))
    print('%d damaged inputs, %d findings' % (runs, found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
