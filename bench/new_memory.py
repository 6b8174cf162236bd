#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast the system hands out new memory, beside memory that the process has already.

    bench/new_memory.py

Fills eight arrays of 16 MiB that were just mapped, then the same again. `donation_missing` (docs/reference/findings.md)
takes the first as 1.8 GB/s.
"""

import ctypes
import mmap
import time

ARRAYS, BYTES, ROUNDS = 8, 16 << 20, 20


def main():
    fresh = again = 0.0
    for _ in range(ROUNDS):
        arrays = [mmap.mmap(-1, BYTES) for _ in range(ARRAYS)]
        views = [ctypes.c_char.from_buffer(array) for array in arrays]
        for first in (True, False):
            start = time.perf_counter()
            for view in views:
                ctypes.memset(ctypes.addressof(view), 1, BYTES)
            taken = time.perf_counter() - start
            fresh, again = (fresh + taken, again) if first else (fresh, again + taken)
        del views, view
        for array in arrays:
            array.close()
    written = ROUNDS * ARRAYS * BYTES / 1e9
    print(f"new {written / fresh:.2f} GB/s, again {written / again:.2f} GB/s")


if __name__ == "__main__":
    main()
