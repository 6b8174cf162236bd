# SPDX-License-Identifier: Apache-2.0
"""`with xlatrace.record("run.db"):` records the block with the profiler of JAX or TensorFlow.

On an NVIDIA GPU the collector of xlatrace records, which the driver loads when the process starts. So the
process must have been started with it (`xlatrace record`, or LD_PRELOAD). The run then has all that was
recorded since the process began.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterator, Optional, Union

from xlatrace import marks, places
from xlatrace.errors import XlatraceError
from xlatrace.run import Run

Place = Union[str, "os.PathLike[str]"]


class Recording:
    """The result of `record`. `run` is the finished Run, and None inside of the block."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.run: Optional[Run] = None

    def __repr__(self) -> str:
        return f"<xlatrace recording {self.path}{'' if self.run else ', not finished'}>"

    def _repr_html_(self) -> Optional[str]:
        return self.run._repr_html_() if self.run else None


_recording: Optional[Recording] = None


@contextlib.contextmanager
def record(path: Place = "run.db", *, force: bool = False) -> Iterator[Recording]:
    """Records the block into `path`. An existing file is an error, unless `force` is true.

    The recording is written when the block ends, also by an exception.
    """
    global _recording
    if _recording is not None:
        raise XlatraceError(f"'{_recording.path}' is being recorded in this process", "end that block first")
    output = os.fspath(path)
    if os.path.exists(output) and not force:
        raise XlatraceError(f"the file '{output}' exists already", f"xlatrace.record({output!r}, force=True)")
    if not Path(output).absolute().parent.is_dir():
        raise XlatraceError(f"there is no folder '{Path(output).absolute().parent}'")
    places.program()  # Before the work, not after it.
    if "IPython" in sys.modules:
        from xlatrace import notebook

        notebook.name_cells()
    profiler = _profiler()
    recording = _recording = Recording(output)
    try:
        with tempfile.TemporaryDirectory(prefix="xlatrace-record-") as folder:
            profiler.start(folder)
            try:
                yield recording
            except BaseException:
                # The error of the block is the one to show.
                with contextlib.suppress(Exception):
                    profiler.stop()
                    profiler.write(output, force)
                raise
            profiler.stop()
            profiler.write(output, force)
        recording.run = Run(output)
    finally:
        _recording = None


class _Profiler:
    """A framework's own profiler, which writes into a folder."""

    folder = ""

    def start(self, folder: str) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def write(self, output: str, force: bool) -> None:
        """Makes the run.db."""
        pattern = os.path.join(glob.escape(self.folder), "plugins", "profile", "*", "*.xplane.pb")
        found = glob.glob(pattern)
        if not found:
            raise XlatraceError("the profiler wrote no profile", "run something on the device in the block")
        places.call("import", *found, "-o", output, *(["--force"] if force else []))


class _JaxProfiler(_Profiler):
    def __init__(self, jax: Any) -> None:
        self._jax = jax

    def start(self, folder: str) -> None:
        self.folder = folder
        self._wait()
        options = self._jax.profiler.ProfileOptions() if hasattr(self._jax.profiler, "ProfileOptions") else None
        try:
            if options is None:
                self._jax.profiler.start_trace(folder)
            else:
                options.python_tracer_level = 0  # It records every call of Python: 40 times the events.
                options.host_tracer_level = 2
                self._jax.profiler.start_trace(folder, profiler_options=options)
        except RuntimeError as error:
            raise XlatraceError(f"JAX's profiler cannot start: {error}", "stop the profile that is running")

    def stop(self) -> None:
        self._wait()
        self._jax.profiler.stop_trace()

    def _wait(self) -> None:
        """Calls return before their work is done: work of calls in the block belongs to the block."""
        with contextlib.suppress(Exception):  # An error of that work is raised where it is read.
            self._jax.block_until_ready(self._jax.live_arrays())
            self._jax.effects_barrier()


class _TensorFlowProfiler(_Profiler):
    def __init__(self, tensorflow: Any) -> None:
        self._profiler = tensorflow.profiler.experimental

    def start(self, folder: str) -> None:
        self.folder = folder
        options = self._profiler.ProfilerOptions(host_tracer_level=2, python_tracer_level=0)
        try:
            self._profiler.start(folder, options=options)
        except Exception as error:  # Errors of TensorFlow have many types.
            raise XlatraceError(
                f"TensorFlow's profiler cannot start: {error}", "stop the profile that is running"
            )

    def stop(self) -> None:
        self._profiler.stop()


class _Collector(_Profiler):
    """Records since the process began; the run has all of it."""

    def start(self, folder: str) -> None:
        self.folder = folder
        self._place = os.environ["XLATRACE_REC"]

    def stop(self) -> None:
        places.call("control", self._place, "flush")

    def write(self, output: str, force: bool) -> None:
        # A copy: the process goes on recording into the folder.
        copy = os.path.join(self.folder, "run.rec")
        shutil.copytree(self._place, copy, symlinks=True)
        places.call("query", copy, "SELECT 1", "--format", "csv")
        shutil.move(os.path.join(self.folder, "run.db"), output)


def _profiler() -> _Profiler:
    """The one for the device that this process uses."""
    if marks.is_recording() and "XLATRACE_REC" in os.environ:
        return _Collector()
    jax, tensorflow = sys.modules.get("jax"), sys.modules.get("tensorflow")
    if jax is not None:
        device = jax.devices()[0]
        if device.platform == "gpu" and "cuda" in str(device.client.platform_version).lower():
            raise _no_collector()
        return _JaxProfiler(jax)
    if tensorflow is not None:
        if tensorflow.config.list_physical_devices("GPU"):
            raise _no_collector()
        return _TensorFlowProfiler(tensorflow)
    raise XlatraceError(
        "neither JAX nor TensorFlow is imported in this process", "import jax, then xlatrace.record(...)"
    )


def _no_collector() -> XlatraceError:
    return XlatraceError(
        "this process uses an NVIDIA GPU, and it was started without the collector of xlatrace",
        'LD_PRELOAD="$(xlatrace lib)" python SCRIPT, or the same before jupyter lab',
    )
