// SPDX-License-Identifier: Apache-2.0

// Writes one recording file. Rows are collected per kind and appended as checksummed blocks; what
// has been flushed survives any end of the process.
//
// Memory: at most about 2 MB whatever the number of rows, and the dictionaries of one segment.
// Errors: the first failure (disk full, limit reached) stops the writing for good; failed() and
// stop_errno() say so, further rows are counted by lost_rows(). Nothing throws but bad_alloc.
// Thread-safety: one thread.

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
  // Takes over `fd`, a regular file that is empty and open for writing. `identity` (token, host,
  // pid, start: the file's name) is repeated in every segment.
  // With `check`, every block makes sure that `fd` is still that file: in a process that may close
  // descriptors which are not its own, the number can come to mean another file. It stops then.
  Writer(int fd, std::string identity, uint64_t max_file_bytes, bool check = false);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  // Closes the file; writes nothing.
  ~Writer();

  // Before the first row: of activities, API calls and ranges, at least the last `ns` before the
  // newest of them are kept and the file stays small: segments that are older are written over. So
  // the end of what a program did stays, however long it hangs afterwards. Definitions stay in
  // segments of their own. The size limit shortens the time rather than ending the recording.
  // `clock`: nanoseconds that never go back; nullptr: CLOCK_MONOTONIC.
  void KeepLast(uint64_t ns, uint64_t (*clock)() = nullptr);
  // A new limit, for instance because others share the room.
  void set_max_file_bytes(uint64_t bytes, std::string reason);

  // The row's `config` and `lane` are ignored: they are found or made from the rows given.
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

  // Appends everything that was added. Costs a write() per kind of row.
  void Flush();
  // Flush, then the footer: the file is complete.
  void Finish();
  // A forked child lets go of the file without touching it. It closes its copy of the descriptor,
  // unless it has none: that of a thread with a table of its own is another file's number there.
  void Abandon(bool has_copy = true);

  bool failed() const { return stop_errno_ != 0; }
  int stop_errno() const { return stop_errno_; }  // EFBIG: the limit given was reached.
  // "the file has reached its limit of 4,294,967,296 bytes"; empty when it has not failed.
  std::string StopReason() const;
  uint64_t lost_rows() const { return lost_rows_; }
  // The activities among the lost rows.
  uint64_t lost_activities() const { return lost_activities_; }
  // End of what is in the file.
  uint64_t bytes_written() const { return end_; }

 private:
  struct Block {
    Encoder bytes;
    BlockContext before;
    uint32_t rows = 0;
  };

  // Where blocks are appended. Without a ring there is one; with one, rows and definitions have
  // segments of their own.
  struct Cursor {
    uint64_t segment = 0;
    uint64_t offset = 0;
    uint64_t blocks = 0;   // In this segment.
    uint64_t rows_ns = 0;  // Ring only: when its first rows that count came; 0: none yet.
    bool reused = false;   // Blocks of an older segment lie behind.
  };
  struct FullSegment {
    uint64_t segment = 0;
    uint64_t blocks = 0;
    uint64_t newest_ns = 0;  // No row in it is younger.
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
  uint64_t device_ = 0;  // Of the file, when it is checked.
  uint64_t inode_ = 0;
  std::string limit_reason_;
  Cursor main_;         // Everything; with a ring: rows.
  Cursor definitions_;  // With a ring.
  uint64_t ring_ns_ = 0;
  uint64_t (*clock_)() = nullptr;
  uint64_t newest_rows_ns_ = 0;   // When activities, calls or ranges came last.
  std::deque<FullSegment> full_;  // Segments of rows, oldest first.
  // Segments that may be written over, oldest first: what can still be read is the end, with no
  // hole.
  std::deque<uint64_t> free_;
  uint64_t ring_blocks_dropped_ = 0;
  uint64_t segments_ = 0;  // Of the file.
  uint64_t end_ = 0;
  uint64_t sequence_ = 0;
  uint64_t lost_rows_ = 0;
  uint64_t lost_activities_ = 0;
  int stop_errno_ = 0;
  uint64_t reserve_offset_ = 0;
  uint64_t reserve_sequence_ = 0;
  Block blocks_[kLastBlockType + 1];

  // Dictionaries of the segment. Names are compared by content, through their hash first.
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
