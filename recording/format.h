// SPDX-License-Identifier: Apache-2.0

// The recording: append-only files that a traced process writes, one per process, in a folder
// `run.rec/`. This header is the layout on disk; format.md says it in words.
//
// Gets: rows (recording/rows.h) from the collector. Gives: the same rows to the importer.
// Neither CUPTI nor SQLite is known here.

#ifndef XLATRACE_RECORDING_FORMAT_H_
#define XLATRACE_RECORDING_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace xlatrace::recording {

inline constexpr uint32_t kFormatVersion = 1;

// A file is a sequence of segments; segment n starts at n * kSegmentBytes, so that a reader finds
// its way again behind a damaged place. Bytes between the last block of a segment and the next
// segment are a hole (zeros).
inline constexpr uint64_t kSegmentBytes = uint64_t{16} << 20;

inline constexpr uint32_t kBlockMagic = 0x4B424C58;  // "XLBK" in little endian.

// Blocks that are larger cannot be: the reader refuses them before it allocates.
inline constexpr uint32_t kMaxPayloadBytes = 8u << 20;
// Longer texts are cut by the writer and counted (XLA itself cuts at 65,330 bytes).
inline constexpr uint32_t kMaxTextBytes = 4u << 20;

enum class BlockType : uint16_t {
  kSegment = 1,     // First block of every segment: version, identity of the file.
  kFacts = 2,       // Key and value about the process.
  kStrings = 3,     // Permanent string ids.
  kConfigs = 4,     // Launch configurations; ids are valid in this segment only.
  kLanes = 5,       // (device, context, stream); ids are valid in this segment only.
  kActivities = 6,  // Kernels, copies, memsets, graph launches as one row.
  kApiCalls = 7,
  kRanges = 8,
  kGraphNodes = 9,
  kSchemas = 10,   // NVTX payload schemas.
  kPayloads = 11,  // NVTX payload of a registered string, as it was pushed first.
  kDevices = 12,
  kContexts = 13,
  kStreams = 14,
  kThreads = 15,
  kCubins = 16,
  kClocks = 17,
  kStats = 18,      // Counters so far; a later row of a name replaces the earlier.
  kOverheads = 19,  // CUPTI's own cost.
  kFooter = 20,     // The process closed the file: nothing is missing behind it.
  kReserve = 21,    // Room at the file's beginning, for what must be said when the disk is full.
  kStreamNames = 22,
};
inline constexpr uint16_t kLastBlockType = 22;

// Blocks that stand where a kReserve block stood have its sequence number.
inline constexpr uint32_t kReserveBytes = 4096;

inline constexpr uint32_t kDictionaryModulus = 65535;

// Little endian, in front of every payload. Rows in the payload are varints (recording/varint.h).
struct BlockHeader {
  uint32_t magic = kBlockMagic;
  uint32_t payload_bytes = 0;
  BlockType type = BlockType::kSegment;
  // Of kConfigs and kLanes: 1 + the id of its first row modulo kDictionaryModulus, so that a reader
  // that lost such a block gives the later rows the right ids. 0: not told (older writers), and of
  // all other types.
  uint16_t first_id = 0;
  uint32_t rows = 0;
  uint64_t sequence = 0;  // Counts the blocks of the file from 0.
  uint64_t checksum = 0;  // XXH3-64 of the 24 bytes before, then (as seed) of the payload.
};
static_assert(sizeof(BlockHeader) == 32);

uint64_t BlockChecksum(const BlockHeader& header, const uint8_t* payload);

}  // namespace xlatrace::recording

#endif  // XLATRACE_RECORDING_FORMAT_H_
