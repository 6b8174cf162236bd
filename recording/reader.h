// SPDX-License-Identifier: Apache-2.0

// Reads one recording file: whole, growing, killed at any byte, or damaged.
//
// Nothing in a file makes it crash, hang or take more memory than one block (8 MB). What cannot be
// read is skipped to the next good block and counted. Rows that refer to a dictionary block that
// was lost are left out, not guessed. Thread-safety: one thread per object.

#ifndef XLATRACE_RECORDING_READER_H_
#define XLATRACE_RECORDING_READER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "recording/format.h"
#include "recording/rows.h"

namespace xlatrace::recording {

// Receives the rows of a file in file order. Override what is wanted.
class RowSink {
 public:
  virtual ~RowSink() = default;
  // Rows of a type that is not wanted are not decoded (their checksum is still looked at): one file
  // can be read several times for the price of what each reading is after.
  virtual bool Wants(BlockType) const { return true; }
  // Configurations and lanes are other ones from here on. The identity is empty when the block that
  // says it was lost.
  virtual void OnSegment(uint64_t /*number*/, std::string_view /*identity*/) {}
  // `config` and `lane` are resolved already: those of the row's segment.
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
  bool complete = false;    // The footer is there and nothing before it was damaged.
  uint64_t bytes_read = 0;  // End of the last good block: a growing file goes on from here.
  uint64_t file_bytes = 0;  // Its size when it was opened, within `max_bytes`.
  uint64_t blocks = 0;
  uint64_t damaged_blocks = 0;  // Places where bytes are there that are not a good block.
  uint64_t damaged_bytes = 0;   // From such a place to where reading went on.
  uint64_t unnamed_rows = 0;    // Activities whose configuration or lane was in a lost block.
  uint64_t missing_blocks = 0;  // Gaps in the numbering of blocks.
  uint64_t unknown_blocks = 0;  // Types that a newer writer knows.
  uint64_t first_damage_offset = 0;
};

// Reads the rows of the first `max_bytes` of `path` into `sink`: a file that grows reads the same
// twice when the second reading is given the first one's `bytes_read`. Fails when the file cannot
// be opened, is no recording, or is of a newer format ("... written by a newer xlatrace").
Result<ReadOutcome> ReadRecording(const std::string& path, RowSink& sink,
                                  uint64_t max_bytes = UINT64_MAX);

}  // namespace xlatrace::recording

#endif  // XLATRACE_RECORDING_READER_H_
