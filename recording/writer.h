// SPDX-License-Identifier: Apache-2.0

// Writes one recording file. Rows are collected per kind and appended as checksummed blocks.
// Flushed rows survive any end of the process.
//
// Memory: at most about 2 MB for any number of rows, plus the dictionaries of one segment. Errors:
// the first failure (disk full, limit reached) stops writing for good. failed() and stop_errno()
// return it, and lost_rows() counts further rows. Only bad_alloc is thrown. Thread-safety: one
// thread.

#ifndef XLATRACE_RECORDING_WRITER_H_
#define XLATRACE_RECORDING_WRITER_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "recording/format.h"
#include "recording/row_codec.h"
#include "recording/rows.h"

namespace xlatrace::recording {

class Writer {
 public:
  // Takes ownership of `fd`, an empty regular file that is open for writing. Every segment repeats
  // `identity` (token, host, pid, start: the name of the file). With `check`, every block verifies
  // that `fd` is still that file. A process may close descriptors of others, so that the number may
  // refer to another file later; writing then stops.
  Writer(int fd, std::string identity, uint64_t max_file_bytes, bool check = false);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  // Closes the file; writes nothing.
  ~Writer();

  // Must precede the first row. Keeps activities, API calls and ranges of at least the last `ns`
  // before the newest of them. Overwrites older segments, so that the file stays small. The end of
  // the recording therefore survives, even if the program hangs for a long time. Definitions have
  // their own segments. The size limit shortens the kept time and does not end the recording.
  // `clock`: monotonic nanoseconds; nullptr: CLOCK_MONOTONIC.
  void KeepLast(uint64_t ns, uint64_t (*clock)() = nullptr);
  // Sets a new limit, for example because other processes share the space.
  void set_max_file_bytes(uint64_t bytes, std::string reason);

  // Ignores `config` and `lane` of the row: their ids are found or created from the given rows.
  void AddActivity(const ActivityRow& row, const ConfigRow& config, const LaneRow& lane);

  void Add(const ApiCallRow& row);
  void Add(const RangeRow& row);
  void Add(const GraphNodeRow& row);
  void Add(const StringRow& row);
  void Add(const SchemaRow& row);
  void Add(const PayloadRow& row);
  void Add(const DeviceRow& row);
  void Add(const ContextRow& row);
  void Add(const StreamRow& row);
  void Add(const ThreadRow& row);
  void Add(const StreamNameRow& row);
  void Add(const CubinRow& row);
  void Add(const ClockRow& row);
  void Add(const OverheadRow& row);
  void Add(const StatRow& row);
  void Add(const FactRow& row);

  // Appends all added rows. Costs one write() per kind of row.
  void Flush();
  // Flush, then the footer: the file is complete.
  void Finish();
  // For a forked child: releases the file without writing. Closes the copy of the descriptor if
  // `has_copy`. A thread with its own descriptor table has no copy; there, the number belongs to
  // another file.
  void Abandon(bool has_copy = true);

  bool failed() const { return stop_errno_ != 0; }
  int stop_errno() const { return stop_errno_; }  // EFBIG: the given limit was reached.
  // "the file has reached its limit of 4,294,967,296 bytes"; empty without a failure.
  std::string StopReason() const;
  uint64_t lost_rows() const { return lost_rows_; }
  // Number of activities among the lost rows.
  uint64_t lost_activities() const { return lost_activities_; }
  // End of the written data.
  uint64_t bytes_written() const { return end_; }

 private:
  struct Block {
    Encoder bytes;
    BlockContext before;
    uint32_t rows = 0;
  };

  // Position at which blocks are appended. A ring has two cursors, because rows and definitions
  // have separate segments; otherwise there is one.
  struct Cursor {
    uint64_t segment = 0;
    uint64_t offset = 0;
    uint64_t blocks = 0;   // Number of blocks in this segment.
    uint64_t rows_ns = 0;  // Ring only: time of its first activity, call or range; 0: none yet.
    bool reused = false;   // Blocks of an older segment follow.
  };
  struct FullSegment {
    uint64_t segment = 0;
    uint64_t blocks = 0;
    uint64_t newest_ns = 0;  // Time of its newest row.
  };
  Cursor& CursorOf(BlockType type);

  template <typename Row>
  void AddPlain(BlockType type, const Row& row, size_t size_hint);
  template <typename Row>
  void AddChained(BlockType type, const Row& row);
  void AfterAdd(Block& block);
  void WriteBlock(BlockType type, Block& block);
  void AppendBlock(Cursor& cursor, BlockType type, Block& block);
  bool StillOurs() const;
  bool WriteAll(const uint8_t* data, size_t size, uint64_t offset);
  void FlushRows(bool rotate);
  void NoteNewRows();
  void StartSegment(Cursor& cursor);
  void TakeSlot(Cursor& cursor);
  void WriteReserve();
  void UseReserve();
  static uint64_t SegmentRoom(const Cursor& cursor);
  uint32_t ConfigId(const ConfigRow& config);
  uint32_t LaneId(const LaneRow& lane);
  uint64_t PendingBytes(const Cursor& cursor);
  uint64_t BoundBytes() const;

  Block& At(BlockType type) { return blocks_[static_cast<size_t>(type)]; }

  int fd_;
  std::string identity_;
  uint64_t max_file_bytes_;
  bool check_;
  uint64_t device_ = 0;  // Device of the file, for `check`.
  uint64_t inode_ = 0;
  std::string limit_reason_;
  Cursor main_;         // All rows; in a ring all except definitions.
  Cursor definitions_;  // Ring only.
  uint64_t ring_ns_ = 0;
  uint64_t (*clock_)() = nullptr;
  uint64_t newest_rows_ns_ = 0;   // Time of the newest activity, call or range.
  std::deque<FullSegment> full_;  // Segments of rows, oldest first.
  // Segments that may be overwritten, oldest first, so that the readable remainder has no hole.
  std::deque<uint64_t> free_;
  uint64_t ring_blocks_dropped_ = 0;
  uint64_t segments_ = 0;  // Number of segments in the file.
  uint64_t end_ = 0;
  uint64_t sequence_ = 0;
  uint64_t lost_rows_ = 0;
  uint64_t lost_activities_ = 0;
  int stop_errno_ = 0;
  uint64_t reserve_offset_ = 0;
  uint64_t reserve_sequence_ = 0;
  Block blocks_[kLastBlockType + 1];

  // Dictionaries of the segment. Names are compared by hash first, then by content.
  struct StoredConfig {
    ConfigRow row;
    std::string name;
    uint64_t hash = 0;
  };
  std::deque<StoredConfig> configs_;
  std::vector<uint32_t> config_slots_;  // Open addressing: index + 1 into configs_, 0 = free.
  std::vector<LaneRow> lanes_;
  uint32_t last_config_ = 0;
};

}  // namespace xlatrace::recording

#endif  // XLATRACE_RECORDING_WRITER_H_
