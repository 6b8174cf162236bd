# SPDX-License-Identifier: Apache-2.0
"""Run by every Python interpreter that has this folder on PYTHONPATH.

It installs the xlatrace hook, then runs the `sitecustomize` that would have run without us: the
next one on `sys.path` after this folder. `site` reports an error in that one as usual. An error in
ours is silent here; xlatrace_hook leaves a note in the folder of the recording.
"""

import os
import sys


def _install_hook():
    try:
        from xlatrace_hook.install import install
    except Exception:  # a broken installation must not be the script's problem
        return
    install()


def _path_after_this_folder():
    """The entries of sys.path that come after (the last mention of) this folder."""
    here = os.path.realpath(os.path.dirname(os.path.abspath(__file__)))
    ours = [
        index
        for index, entry in enumerate(sys.path)
        if isinstance(entry, str) and os.path.realpath(entry or os.curdir) == here
    ]
    return sys.path[ours[-1] + 1 :] if ours else []


def _run_next_sitecustomize():
    # As importlib.machinery and importlib.util, which take milliseconds to load.
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder

    spec = PathFinder.find_spec("sitecustomize", _path_after_this_folder())
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    # `import sitecustomize` must give that module from now on, not this one.
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_install_hook()
_run_next_sitecustomize()
