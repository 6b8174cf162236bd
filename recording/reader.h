// SPDX-License-Identifier: Apache-2.0

// Reads one recording file, even if it is still growing, was killed at any byte, or is damaged.
//
// No content of a file makes it crash, hang or use more memory than one block (8 MB). It skips
// unreadable parts to the next good block and counts them. Rows that refer to a lost dictionary
// block are omitted, not guessed. Thread-safety: one thread per object.

#ifndef XLATRACE_RECORDING_READER_H_
#define XLATRACE_RECORDING_READER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "recording/format.h"
#include "recording/rows.h"

namespace xlatrace::recording {

// Receives the rows of a file in file order. Override the functions for the needed rows.
class RowSink {
 public:
  virtual ~RowSink() = default;
  // Rows of other types are not decoded, only their checksum is verified. This makes it cheap to
  // read one file several times for different rows.
  virtual bool Accepts(BlockType) const { return true; }
  // Called at the start of a segment: configurations and lanes are new from here on. The identity
  // is empty if its block was lost.
  virtual void OnSegment(uint64_t /*number*/, std::string_view /*identity*/) {}
  // `config` and `lane` are those of the row's segment.
  virtual void OnActivity(const ActivityRow&, const ConfigRow&, const LaneRow&) {}
  virtual void OnApiCall(const ApiCallRow&) {}
  virtual void OnRange(const RangeRow&) {}
  virtual void OnGraphNode(const GraphNodeRow&) {}
  virtual void OnString(const StringRow&) {}
  virtual void OnSchema(const SchemaRow&) {}
  virtual void OnPayload(const PayloadRow&) {}
  virtual void OnDevice(const DeviceRow&) {}
  virtual void OnContext(const ContextRow&) {}
  virtual void OnStream(const StreamRow&) {}
  virtual void OnThread(const ThreadRow&) {}
  virtual void OnStreamName(const StreamNameRow&) {}
  virtual void OnCubin(const CubinRow&) {}
  virtual void OnClock(const ClockRow&) {}
  virtual void OnOverhead(const OverheadRow&) {}
  virtual void OnStat(const StatRow&) {}
  virtual void OnFact(const FactRow&) {}
};

struct ReadOutcome {
  bool complete = false;    // The footer exists, and no block before it is damaged.
  uint64_t bytes_read = 0;  // End of the last good block; reading of a growing file continues here.
  uint64_t file_bytes = 0;  // Size when it was opened, at most `max_bytes`.
  uint64_t blocks = 0;
  uint64_t damaged_blocks = 0;  // Number of places with bytes that are not a good block.
  uint64_t damaged_bytes = 0;   // Bytes from such a place to the next good block.
  uint64_t unnamed_rows = 0;    // Activities whose configuration or lane was in a lost block.
  uint64_t missing_blocks = 0;  // Gaps in the numbering of blocks.
  uint64_t unknown_blocks = 0;  // Blocks with types of a newer writer.
  uint64_t first_damage_offset = 0;
};

// Reads the rows of the first `max_bytes` of `path` into `sink`. To read the same rows of a growing
// file twice, pass `bytes_read` of the first reading to the second. Fails if the file cannot be
// opened, is not a recording, or has a newer format ("... written by a newer xlatrace").
Result<ReadOutcome> ReadRecording(const std::string& path, RowSink& sink,
                                  uint64_t max_bytes = UINT64_MAX);

}  // namespace xlatrace::recording

#endif  // XLATRACE_RECORDING_READER_H_
