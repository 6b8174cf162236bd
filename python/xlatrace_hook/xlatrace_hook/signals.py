# SPDX-License-Identifier: Apache-2.0
"""Ends the profile when SIGTERM or SIGHUP ends the process, then lets the signal end the process.

Only a default disposition is replaced. A script that has a handler, or sets one later, keeps it;
then exits.py notices the end of the process. Ctrl-C needs no code here: Python raises a
KeyboardInterrupt, which leads to `atexit`.

Python runs handlers in the main thread, between two bytecodes, and the next one may follow a long
compilation. Without the hook the signal would end the process at once, so the watcher thread
handles it too. The C part of Python's handler writes the signal's number to the "wakeup" descriptor
at once. This is a datagram socket that names the sender, because a fork of this process that becomes
a subprocess writes to it as well.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import threading
from collections.abc import Callable

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_CREDENTIALS = struct.Struct("3i")


class Signals:
    def __init__(
        self,
        when_free: Callable[[Callable[[], None]], None],
        finish: Callable[[str], None],
    ) -> None:
        self._when_free = when_free
        self._finish = finish
        self._pid = os.getpid()
        self._handler = self._handle  # one object, to be recognised
        self._installed = False
        self._forking = threading.local()  # .mask: of the forking thread, during a fork
        self._receiver: socket.socket | None = None
        self._sender: socket.socket | None = None
        self._c_signal: Callable[[int, None], object] | None = None

    @staticmethod
    def possible() -> bool:
        """Handlers can be installed by the main thread only."""
        return threading.current_thread() is threading.main_thread()

    def install(self) -> None:
        for number in SIGNALS:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, self._handler)
                self._installed = True
        if self._installed:
            self._install_wakeup()

    def descriptor(self) -> int | None:
        """Readable when a signal has come; None where that cannot be had."""
        return self._receiver.fileno() if self._receiver is not None else None

    def receive(self) -> None:
        """In the watcher thread: acts on the signals that have come."""
        assert self._receiver is not None
        while True:
            try:
                numbers, ancillary, _, _ = self._receiver.recvmsg(
                    64, socket.CMSG_SPACE(_CREDENTIALS.size)
                )
            except BlockingIOError:
                return
            sender = _CREDENTIALS.unpack(ancillary[0][2])[0] if ancillary else None
            for number in numbers if sender == self._pid == os.getpid() else b"":
                if number in SIGNALS and signal.getsignal(number) is self._handler:
                    self._end(number)

    def before_fork(self) -> None:
        """Python forgets a signal that the child gets before it has taken stock: it has to wait."""
        if self._installed:
            self._forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)

    def after_fork(self) -> None:
        mask = self._forking.__dict__.pop("mask", None)
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def forked(self) -> None:
        """In the child of a fork: as if we had never been there."""
        self._pid = os.getpid()
        self._installed = False
        try:
            self._remove_wakeup()
            for number in SIGNALS:
                if signal.getsignal(number) is self._handler:
                    signal.signal(number, signal.SIG_DFL)
        finally:
            self.after_fork()

    def _handle(self, number: int, _frame: object) -> None:
        self._when_free(lambda: self._end(number))

    def _end(self, number: int) -> None:
        try:
            self._finish(signal.Signals(number).name)
        finally:
            if self.possible():
                signal.signal(number, signal.SIG_DFL)
            else:
                assert self._c_signal is not None
                self._c_signal(number, None)
            os.kill(os.getpid(), number)

    def _install_wakeup(self) -> None:
        try:
            import ctypes

            self._c_signal = ctypes.CDLL(None).signal
            self._c_signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
            self._c_signal.restype = ctypes.c_void_p
            receiver, sender = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        except (ImportError, AttributeError, OSError):
            return  # then only the main thread sees the signal
        receiver.setblocking(False)
        sender.setblocking(False)
        previous = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        if previous != -1:  # an event loop of the script uses the descriptor
            signal.set_wakeup_fd(previous)
            return
        self._receiver, self._sender = receiver, sender

    def _remove_wakeup(self) -> None:
        if self._sender is None:
            return
        current = signal.set_wakeup_fd(-1)
        if current not in (-1, self._sender.fileno()):
            signal.set_wakeup_fd(current)
        self._receiver = self._sender = None
