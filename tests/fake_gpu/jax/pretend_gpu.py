# SPDX-License-Identifier: Apache-2.0
"""Copied into the environment's site-packages and imported by a .pth file at start-up.

JAX looks for /dev/nvidia* before it tries CUDA, and there is none. The answer is changed when the
module that gives it is imported; sitecustomize stays free for others.
"""

import importlib.abc
import importlib.machinery
import sys

MODULE = "jax._src.hardware_utils"


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def load_and_change(module):
            load(module)
            module.has_visible_nvidia_gpu = lambda: True

        spec.loader.exec_module = load_and_change
        return spec


sys.meta_path.insert(0, Finder())
