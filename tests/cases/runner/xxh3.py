# SPDX-License-Identifier: Apache-2.0
"""XXH3-64, the checksum of blocks in a recording, so that cases need no package beside Python.

Written from the specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md, section XXH3).
"""

import struct

MASK = (1 << 64) - 1
PRIME32_1, PRIME32_2, PRIME32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
PRIME64_1, PRIME64_2, PRIME64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
PRIME64_4, PRIME64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
PRIME_MX1, PRIME_MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
STRIPE_BYTES = 64
STRIPES_PER_BLOCK = (len(SECRET) - STRIPE_BYTES) // 8


def u32(data, at):
    return int.from_bytes(data[at : at + 4], "little")


def u64(data, at):
    return int.from_bytes(data[at : at + 8], "little")


def rotl(value, bits):
    return (value << bits | value >> (64 - bits)) & MASK


def fold(a, b):
    product = a * b
    return (product & MASK) ^ (product >> 64)


def avalanche(h):
    h = ((h ^ h >> 37) * PRIME_MX1) & MASK
    return h ^ h >> 32


def avalanche64(h):
    h = ((h ^ h >> 33) * PRIME64_2) & MASK
    h = ((h ^ h >> 29) * PRIME64_3) & MASK
    return h ^ h >> 32


def mix16(data, at, secret_at, seed):
    low = u64(SECRET, secret_at) + seed & MASK
    high = u64(SECRET, secret_at + 8) - seed & MASK
    return fold(u64(data, at) ^ low, u64(data, at + 8) ^ high)


def up_to_16(data, seed):
    size = len(data)
    if size > 8:
        low = u64(data, 0) ^ ((u64(SECRET, 24) ^ u64(SECRET, 32)) + seed & MASK)
        high = u64(data, size - 8) ^ ((u64(SECRET, 40) ^ u64(SECRET, 48)) - seed & MASK)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return avalanche(size + swapped + high + fold(low, high) & MASK)
    if size >= 4:
        seed ^= int.from_bytes((seed & 0xFFFFFFFF).to_bytes(4, "little"), "big") << 32
        flip = (u64(SECRET, 8) ^ u64(SECRET, 16)) - seed & MASK
        h = (u32(data, size - 4) + (u32(data, 0) << 32)) ^ flip
        h ^= rotl(h, 49) ^ rotl(h, 24)
        h = h * PRIME_MX2 & MASK
        h ^= (h >> 35) + size
        h = h * PRIME_MX2 & MASK
        return h ^ h >> 28
    if size > 0:
        combined = data[0] << 16 | data[size >> 1] << 24 | data[size - 1] | size << 8
        return avalanche64(combined ^ ((u32(SECRET, 0) ^ u32(SECRET, 4)) + seed & MASK))
    return avalanche64(seed ^ u64(SECRET, 56) ^ u64(SECRET, 64))


def up_to_240(data, seed):
    size = len(data)
    sum_ = size * PRIME64_1
    if size <= 128:
        for i in range((size - 1) // 32, -1, -1):
            sum_ += mix16(data, 16 * i, 32 * i, seed)
            sum_ += mix16(data, size - 16 * (i + 1), 32 * i + 16, seed)
        return avalanche(sum_ & MASK)
    for i in range(8):
        sum_ += mix16(data, 16 * i, 16 * i, seed)
    sum_ = avalanche(sum_ & MASK)
    for i in range(8, size // 16):
        sum_ += mix16(data, 16 * i, 16 * (i - 8) + 3, seed)
    return avalanche(sum_ + mix16(data, size - 16, 136 - 17, seed) & MASK)


def seeded_secret(seed):
    pairs = struct.unpack(f"<{len(SECRET) // 8}Q", SECRET)
    return struct.pack(f"<{len(pairs)}Q",
                       *(value + (-seed if i % 2 else seed) & MASK for i, value in enumerate(pairs)))


def accumulate(lanes, data, at, secret, secret_at):
    values = struct.unpack_from("<8Q", data, at)
    keys = struct.unpack_from("<8Q", secret, secret_at)
    for i in range(8):
        key = values[i] ^ keys[i]
        lanes[i ^ 1] += values[i]
        lanes[i] += (key & 0xFFFFFFFF) * (key >> 32)
    for i in range(8):
        lanes[i] &= MASK


def long_input(data, seed):
    size = len(data)
    secret = seeded_secret(seed) if seed else SECRET
    lanes = [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1]
    stripes = (size - 1) // STRIPE_BYTES
    for n in range(stripes):
        accumulate(lanes, data, n * STRIPE_BYTES, secret, n % STRIPES_PER_BLOCK * 8)
        if n % STRIPES_PER_BLOCK == STRIPES_PER_BLOCK - 1:
            keys = struct.unpack_from("<8Q", secret, len(secret) - STRIPE_BYTES)
            for i in range(8):
                lanes[i] = (lanes[i] ^ lanes[i] >> 47 ^ keys[i]) * PRIME32_1 & MASK
    accumulate(lanes, data, size - STRIPE_BYTES, secret, len(secret) - STRIPE_BYTES - 7)
    sum_ = size * PRIME64_1
    for i in range(4):
        sum_ += fold(lanes[2 * i] ^ u64(secret, 11 + 16 * i), lanes[2 * i + 1] ^ u64(secret, 19 + 16 * i))
    return avalanche(sum_ & MASK)


def xxh3_64(data, seed=0):
    if len(data) <= 16:
        return up_to_16(data, seed)
    return up_to_240(data, seed) if len(data) <= 240 else long_input(data, seed)
