# SPDX-License-Identifier: Apache-2.0
"""A program under TensorFlow's own profiler: profiled.py FOLDER PROGRAM [ARGUMENT...]."""

import runpy
import sys

import tensorflow as tf

folder, *sys.argv = sys.argv[1:]
tf.profiler.experimental.start(folder)
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    tf.profiler.experimental.stop()
