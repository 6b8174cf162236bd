# SPDX-License-Identifier: Apache-2.0
"""Runs a program under JAX's own profiler: profiled.py FOLDER PROGRAM.py [ARGUMENT...]

XLA's CUPTI tracer is then the client of the fake CUPTI, a witness independent of xlatrace."""

import runpy
import sys

import jax


def main():
    folder, program, *arguments = sys.argv[1:]
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    jax.profiler.start_trace(folder, profiler_options=options)
    sys.argv = [program, *arguments]
    try:
        runpy.run_path(program, run_name="__main__")
    finally:
        jax.profiler.stop_trace()


if __name__ == "__main__":
    main()
