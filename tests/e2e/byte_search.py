# SPDX-License-Identifier: Apache-2.0
"""Whether names are in the bytes of files, plain or compressed inside them (gzip, zlib, Zstandard, at any
place and any depth)."""

import ctypes
import ctypes.util
import functools
import os
import re
import subprocess
import tempfile
import zlib

GZIP = b"\x1f\x8b\x08"
ZSTD = b"\x28\xb5\x2f\xfd"
LONGEST = 1 << 30
# In megabytes of packed numbers, four or five letters occur by chance, so shorter names count only in texts.
SHORT = 6
WORDS = re.compile(rb"[\w.*-]+").findall


# To find a library takes a process of its own.
@functools.cache
def _zstd():
    name = ctypes.util.find_library("zstd")
    if not name:
        raise RuntimeError("there is no libzstd to look into compressed pages with")
    library = ctypes.CDLL(name)
    for function in ("ZSTD_findFrameCompressedSize", "ZSTD_decompressBound", "ZSTD_decompress"):
        getattr(library, function).restype = ctypes.c_size_t
    library.ZSTD_decompressBound.restype = ctypes.c_ulonglong
    return library


def _zstd_frames(data):
    library = _zstd()
    for match in re.finditer(re.escape(ZSTD), data):
        rest = data[match.start() :]
        size = library.ZSTD_findFrameCompressedSize(rest, ctypes.c_size_t(len(rest)))
        if library.ZSTD_isError(ctypes.c_size_t(size)):
            continue
        bound = library.ZSTD_decompressBound(rest, ctypes.c_size_t(size))
        if bound > LONGEST:
            continue
        out = ctypes.create_string_buffer(max(int(bound), 1))
        got = library.ZSTD_decompress(
            out, ctypes.c_size_t(len(out)), rest, ctypes.c_size_t(size)
        )
        if not library.ZSTD_isError(ctypes.c_size_t(got)):
            yield out.raw[:got]


def _deflated(data):
    whole = memoryview(data)
    for match in re.finditer(re.escape(GZIP), data):
        yield from _inflated(whole[match.start() :], 31)
    # A zlib stream begins with 0x78 and a second byte that makes the two a multiple of 31.
    for match in re.finditer(b"\x78[\x01\x5e\x9c\xda]", data):
        yield from _inflated(whole[match.start() :], 15)


def _inflated(data, window):
    try:
        text = zlib.decompressobj(window).decompress(data, LONGEST)
    except zlib.error:
        return
    if text:
        yield text


def layers(data, depth=3):
    """`data`, and what is packed inside of it."""
    yield data
    if depth:
        for inner in (*_deflated(data), *_zstd_frames(data)):
            yield from layers(inner, depth - 1)


def _is_text(data):
    try:
        bytes(data).decode()
    except UnicodeDecodeError:
        return False
    return True


class _AnyIn:
    """Whether one of `names` is in the given texts: one pass of grep for all names, to which the texts are
    piped."""

    def __init__(self, names):
        self.wanted = tempfile.NamedTemporaryFile()
        self.wanted.write(b"\n".join(names))
        self.wanted.flush()
        # Without names grep's list would hold one, the empty one, which is everywhere.
        self.grep = names and subprocess.Popen(
            ["grep", "-qaFf", self.wanted.name],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C"},
        )

    def give(self, text):
        if self.grep and not self.grep.stdin.closed:
            try:
                self.grep.stdin.write(text)
                self.grep.stdin.write(b"\n")
            except BrokenPipeError:  # It has found one, and reads no more.
                self.close_input()

    def close_input(self):
        try:
            self.grep.stdin.close()
        except BrokenPipeError:
            pass

    def found(self):
        if not self.grep:
            return False
        self.close_input()
        with self.grep.stderr as stderr:
            error = stderr.read().decode()
        code = self.grep.wait()
        self.wanted.close()
        if code not in (0, 1):
            raise RuntimeError(error)
        return code == 0


def _telling(names):
    """`names` without those that hold another one, in whole words: where they are, that one is, too."""
    return [
        name
        for name in names
        if not any(len(word) >= SHORT and word != name and word in names for word in WORDS(name))
    ]


def found_in(data, names):
    """Those of `names` that the bytes hold somewhere; names under SHORT only in what is text."""
    return {name for _, name in found_in_files(lambda: [("", data)], names)}


def found_in_files(files, names):
    """(file, name) of each of `names` that one of the files holds, sorted; `files()` gives (file, bytes)
    of each. One search for all of them: to make it ready costs more than to read a file."""
    plain = {name.encode() for name in names if name.isascii() and name.isprintable() and name}
    others = {name.encode() for name in names} - plain
    long = {name for name in plain if len(name) >= SHORT}
    in_texts, in_packed = _AnyIn(_telling(plain)), _AnyIn(_telling(long))
    hits = set()
    for file, data in files():
        for text in map(bytes, layers(data)):
            (in_texts if _is_text(text) else in_packed).give(text)
            hits.update((file, name) for name in others if name in text)
    # The names are determined only if one was found.
    if any([in_texts.found(), in_packed.found()]):
        for file, data in files():
            for text in map(bytes, layers(data)):
                hits.update((file, name) for name in (plain if _is_text(text) else long) if name in text)
    return sorted((file, name.decode()) for file, name in hits)
