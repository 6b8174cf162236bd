# SPDX-License-Identifier: Apache-2.0
"""GPUs that a case can name, with the facts that the driver reports of them.

Sources: NVIDIA's data sheets; the CUDA C++ Programming Guide, table "Technical Specifications per Compute
Capability".
"""

KIB, MIB = 1024, 1024 * 1024


def gpu(name, capability, sms, mhz, memory_mib, gb_per_s, l2_mib, warps, blocks, shared_kib):
    major, minor = map(int, capability.split("."))
    return {
        "name": name, "compute_major": major, "compute_minor": minor, "sm_count": sms,
        "core_clock_khz": mhz * 1000, "memory_bytes": memory_mib * MIB,
        "memory_bandwidth_kb_per_s": gb_per_s * 1_000_000, "l2_bytes": l2_mib * MIB, "warp_size": 32,
        "max_warps_per_sm": warps, "max_blocks_per_sm": blocks, "max_threads_per_block": 1024,
        "registers_per_sm": 65_536, "registers_per_block": 65_536,
        "shared_memory_per_sm_bytes": shared_kib * KIB, "shared_memory_per_block_bytes": 48 * KIB,
        # One KiB of each block is the system's.
        "shared_memory_per_block_optin_bytes": (shared_kib - 1) * KIB,
        "shared_memory_reserved_per_block_bytes": KIB,
    }


GPUS = {
    "A100": gpu("NVIDIA A100-SXM4-80GB", "8.0", 108, 1410, 81_920, 2039, 40, 64, 32, 164),
    "H100": gpu("NVIDIA H100 80GB HBM3", "9.0", 132, 1980, 81_559, 3352, 50, 64, 32, 228),
    "L4": gpu("NVIDIA L4", "8.9", 58, 2040, 23_034, 300, 48, 48, 24, 100),
    "B200": gpu("NVIDIA B200", "10.0", 148, 1965, 183_359, 7672, 126, 64, 32, 228),
}
