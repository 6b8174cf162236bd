# SPDX-License-Identifier: Apache-2.0
"""Whether names are anywhere in the bytes of files: as they are, and in whatever is compressed inside
them (gzip, zlib, Zstandard, at any place and any depth)."""

import ctypes
import ctypes.util
import os
import re
import subprocess
import tempfile
import zlib

GZIP = b"\x1f\x8b\x08"
ZSTD = b"\x28\xb5\x2f\xfd"
LONGEST = 1 << 30
# In megabytes of packed numbers four or five letters stand by chance: shorter names count in texts.
SHORT = 6


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


def _any_in(texts, names):
    """Whether a name stands anywhere in the texts: one pass over them for all names, by grep."""
    if not texts or not names:
        return False
    with tempfile.NamedTemporaryFile() as wanted:
        wanted.write(b"\n".join(names))
        wanted.flush()
        done = subprocess.run(
            ["grep", "-qaFf", wanted.name],
            input=b"\n".join(texts),
            env={**os.environ, "LC_ALL": "C"},
            stderr=subprocess.PIPE,
        )
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.decode())
    return done.returncode == 0


def _telling(names):
    """`names` without those that hold another one, in whole words: where they are, that one is, too."""
    return [
        name
        for name in names
        if not any(
            word in names and len(word) >= SHORT and word != name for word in re.findall(rb"[\w.*-]+", name)
        )
    ]


def found_in(data, names):
    """Those of `names` that the bytes hold somewhere; names under SHORT only in what is text."""
    return {name for _, name in found_in_files([("", data)], names)}


def found_in_files(files, names):
    """(file, name) of each of `names` that one of the files, (file, bytes), holds, sorted. One search
    for all of them: to make it ready costs more than to read a file."""
    plain = {name.encode() for name in names if name.isascii() and name.isprintable() and name}
    others = {name.encode() for name in names} - plain
    in_texts, in_others = [], []
    for file, data in files:
        for text in layers(data):
            (in_texts if _is_text(text) else in_others).append((file, bytes(text)))
    hits = {(f, name) for name in others for f, text in (*in_texts, *in_others) if name in text}
    for texts, least in ((in_texts, 0), (in_others, SHORT)):
        wanted = {name for name in plain if len(name) >= least}
        # Which, is asked only where there is something to tell.
        if _any_in([text for _, text in texts], _telling(wanted)):
            hits.update((f, name) for name in wanted for f, text in texts if name in text)
    return sorted((file, name.decode()) for file, name in hits)
