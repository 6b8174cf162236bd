// SPDX-License-Identifier: Apache-2.0

// The recording: append-only files in a folder `run.rec/`, one per traced process. This header
// defines the layout on disk; format.md describes it.
//
// The collector writes the rows (recording/rows.h), and the importer reads the same rows. This
// component depends on neither CUPTI nor SQLite.

#ifndef XLATRACE_RECORDING_FORMAT_H_
#define XLATRACE_RECORDING_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace xlatrace::recording {

inline constexpr uint32_t kFormatVersion = 1;

// A file is a sequence of segments. Segment n starts at n * kSegmentBytes, so that a reader can
// continue after a damaged part. Bytes between the last block of a segment and the next segment are
// zeros.
inline constexpr uint64_t kSegmentBytes = uint64_t{16} << 20;

inline constexpr uint32_t kBlockMagic = 0x4B424C58;  // "XLBK" in little endian.

// The reader refuses larger blocks before it allocates memory.
inline constexpr uint32_t kMaxPayloadBytes = 8u << 20;
// The writer cuts longer texts and counts them (XLA itself cuts at 65,330 bytes).
inline constexpr uint32_t kMaxTextBytes = 4u << 20;

enum class BlockType : uint16_t {
  kSegment = 1,     // First block of every segment: version, identity of the file.
  kFacts = 2,       // Key and value about the process.
  kStrings = 3,     // Permanent string ids.
  kConfigs = 4,     // Launch configurations; ids are valid in this segment only.
  kLanes = 5,       // (device, context, stream); ids are valid in this segment only.
  kActivities = 6,  // Kernels, copies and memsets; graph launches as one row.
  kApiCalls = 7,
  kRanges = 8,
  kGraphNodes = 9,
  kSchemas = 10,   // NVTX payload schemas.
  kPayloads = 11,  // NVTX payload of a registered string, as first pushed.
  kDevices = 12,
  kContexts = 13,
  kStreams = 14,
  kThreads = 15,
  kCubins = 16,
  kClocks = 17,
  kStats = 18,      // Counters so far; a later row with the same name replaces the earlier one.
  kOverheads = 19,  // CUPTI's own cost.
  kFooter = 20,     // The process closed the file: the recording is complete.
  kReserve = 21,    // Reserved space at the beginning of the file, for facts that must be written
                    // when the disk is full.
  kStreamNames = 22,
};
inline constexpr uint16_t kLastBlockType = 22;

// Blocks written into the space of a kReserve block have its sequence number.
inline constexpr uint32_t kReserveBytes = 4096;

inline constexpr uint32_t kDictionaryIdModulus = 65535;

// Little endian, before every payload. Rows in the payload are varints (recording/varint.h).
struct BlockHeader {
  uint32_t magic = kBlockMagic;
  uint32_t payload_bytes = 0;
  BlockType type = BlockType::kSegment;
  // For kConfigs and kLanes: 1 + the id of the first row modulo kDictionaryIdModulus. If a block is
  // lost, a reader still gives later rows the right ids. 0: not known (older writers), and for all
  // other types.
  uint16_t first_id = 0;
  uint32_t rows = 0;
  uint64_t sequence = 0;  // Number of the block in the file, from 0.
  uint64_t checksum = 0;  // XXH3-64 of the 24 bytes before, then (as seed) of the payload.
};
static_assert(sizeof(BlockHeader) == 32);

uint64_t BlockChecksum(const BlockHeader& header, const uint8_t* payload);

}  // namespace xlatrace::recording

#endif  // XLATRACE_RECORDING_FORMAT_H_
