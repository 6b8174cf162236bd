# SPDX-License-Identifier: Apache-2.0
"""Paths for LD_PRELOAD to libraries of the build.

The loader has no quotes (ld.so(8)), so a blank or a colon ends a path. The folder of a checkout may have one.
"""

import atexit
import functools
import os
import re
import shutil
import tempfile


@functools.cache
def _link_to(folder):
    """A link to `folder`, removed when this process ends."""
    place = tempfile.mkdtemp(prefix="xlatrace-preload-")
    owner = os.getpid()
    # A forked child runs the same handlers at its end.
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(place, ignore_errors=True))
    link = os.path.join(place, "lib")
    os.symlink(folder, link)
    return link


def preload_name(library):
    """A path to `library` that LD_PRELOAD can name: its own, or one through a link to its folder.

    The link leads to the folder, because the preload looks for the collector in its own folder."""
    folder, name = os.path.split(os.path.abspath(library))
    return os.path.join(_link_to(folder) if re.search(r"[\s:]", folder) else folder, name)
