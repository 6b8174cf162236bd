# SPDX-License-Identifier: Apache-2.0
"""Whether names are anywhere in the bytes of files: as they are, and in whatever is compressed inside
them (gzip, zlib, Zstandard, at any place and any depth)."""

import ctypes
import ctypes.util
import re
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


def _fours(text):
    """Each four bytes that follow each other, as numbers: made without a loop of Python's."""
    found = set()
    for start in range(4):
        part = memoryview(text)[start:]
        found.update(part[: len(part) // 4 * 4].cast("I"))
    return found


def _is_text(data):
    try:
        bytes(data).decode()
    except UnicodeDecodeError:
        return False
    return True


def found_in(data, names):
    """Those of `names` that the bytes hold somewhere; names under SHORT only in what is text."""
    plain = {name for name in names if name.isascii() and name.isprintable()}
    others = [(name, name.encode()) for name in names if name not in plain]
    hits, in_texts, in_others = set(), set(), set()
    for text in layers(data):
        # Printable runs are few, however long the file.
        runs = re.findall(rb"[\x20-\x7e]{4,}", text)
        (in_texts if _is_text(text) else in_others).update(runs)
        hits.update(name for name, wanted in others if wanted in text)
    for runs, least in ((in_texts, 0), (in_others, SHORT)):
        # A name is there only if each four characters of it are.
        joined = b"\n".join(runs)
        fours = _fours(joined)
        for name in plain:
            wanted = name.encode()
            if len(wanted) >= least and _fours(wanted) <= fours and wanted in joined:
                hits.add(name)
    return hits
