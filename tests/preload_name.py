# SPDX-License-Identifier: Apache-2.0
"""Names of libraries for LD_PRELOAD, for tests in Python that preload one from the build.

The loader has no quotes (ld.so(8)): a blank or a colon in a path ends it. A checkout may lie in a folder
whose name has one.
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
    """A path to `library` that LD_PRELOAD can name, as text: its own, or one through a link to its folder,
    so that what lies beside the library lies beside this name, too."""
    folder, name = os.path.split(os.path.abspath(library))
    return os.path.join(_link_to(folder) if re.search(r"[\s:]", folder) else folder, name)
