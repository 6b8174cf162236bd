// SPDX-License-Identifier: Apache-2.0
#include "recording/writer.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace xlatrace::recording {
namespace {

// Size at which a block is appended. A kill loses at most one flush period.
constexpr size_t kBlockTarget = 256 << 10;
// Definitions come before the rows that refer to them.
constexpr BlockType kOrder[] = {
    BlockType::kFacts,       BlockType::kStrings,   BlockType::kSchemas, BlockType::kPayloads,
    BlockType::kDevices,     BlockType::kContexts,  BlockType::kStreams, BlockType::kThreads,
    BlockType::kStreamNames, BlockType::kCubins,    BlockType::kClocks,  BlockType::kGraphNodes,
    BlockType::kRanges,      BlockType::kApiCalls,  BlockType::kConfigs, BlockType::kLanes,
    BlockType::kActivities,  BlockType::kOverheads, BlockType::kStats};

// Ids of these are valid in their segment only.
constexpr BlockType kBound[] = {BlockType::kConfigs, BlockType::kLanes, BlockType::kActivities};
// Rows that a ring drops. Other rows are needed to interpret the remaining ones.
constexpr BlockType kRingRows[] = {BlockType::kConfigs,  BlockType::kLanes,  BlockType::kActivities,
                                   BlockType::kApiCalls, BlockType::kRanges, BlockType::kOverheads,
                                   BlockType::kClocks};
// Rows whose times define the age of a segment. Clocks and CUPTI's overheads do not count, because
// a hanging program produces them, too.
constexpr BlockType kRowsThatCount[] = {BlockType::kActivities, BlockType::kApiCalls,
                                        BlockType::kRanges};
// Upper bound for a config without its name, a lane and an activity.
constexpr size_t kMaxConfigBytes = 512;

uint64_t Hash(const ConfigRow& config) {
  // Numbers only, copied field by field, because padding is undefined.
  const uint64_t numbers[] = {
      static_cast<uint64_t>(config.kind),
      (uint64_t{config.grid[0]} << 32) | config.grid[1],
      (uint64_t{config.grid[2]} << 32) | config.block[0],
      (uint64_t{config.block[1]} << 32) | config.block[2],
      (uint64_t{config.cluster[0]} << 32) | config.cluster[1],
      (uint64_t{config.cluster[2]} << 32) | config.registers_per_thread,
      (uint64_t{config.shared_memory_static_bytes} << 32) | config.shared_memory_dynamic_bytes,
      (uint64_t{config.shared_memory_executed_bytes} << 32) | config.shared_memory_limit_config,
      (uint64_t{config.local_memory_per_thread_bytes} << 32) | config.launch_type,
      config.local_memory_total_bytes,
      (uint64_t{config.copy_kind} << 32) | config.source_kind,
      (uint64_t{config.destination_kind} << 32) | config.flags,
      (uint64_t{config.source_device} << 32) | config.destination_device,
      config.max_active_clusters};
  const uint64_t seed = XXH3_64bits(config.name.data(), config.name.size());
  return XXH3_64bits_withSeed(numbers, sizeof(numbers), seed);
}

uint64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

Writer::Writer(int fd, std::string identity, uint64_t max_file_bytes, bool check)
    : fd_(fd), identity_(std::move(identity)), max_file_bytes_(max_file_bytes), check_(check) {
  struct stat status {};
  if (check_ && fstat(fd_, &status) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  StartSegment(main_);
  WriteReserve();
}

void Writer::KeepLast(uint64_t ns, uint64_t (*clock)()) {
  ring_ns_ = std::max<uint64_t>(ns, 1);
  clock_ = clock == nullptr ? &MonotonicNs : clock;
  definitions_ = main_;
  StartSegment(main_);
}

void Writer::set_max_file_bytes(uint64_t bytes, std::string reason) {
  max_file_bytes_ = bytes;
  limit_reason_ = std::move(reason);
}

Writer::Cursor& Writer::CursorOf(BlockType type) {
  if (ring_ns_ == 0 ||
      std::find(std::begin(kRingRows), std::end(kRingRows), type) != std::end(kRingRows)) {
    return main_;
  }
  return definitions_;
}

Writer::~Writer() {
  if (fd_ >= 0) close(fd_);
}

void Writer::Abandon(bool has_copy) {
  if (fd_ >= 0 && has_copy && StillOurs()) close(fd_);
  fd_ = -1;
  stop_errno_ = EBADF;
}

template <typename Row>
void Writer::AddPlain(BlockType type, const Row& row, size_t size_hint) {
  Block& block = At(type);
  if (block.bytes.size() + size_hint > kMaxPayloadBytes - 4096) Flush();
  const size_t before = block.bytes.size();
  try {
    Put(block.bytes, row);
  } catch (...) {  // Out of memory: half a row would invalidate the whole block.
    block.bytes.CutTo(before);
    throw;
  }
  AfterAdd(block);
}

template <typename Row>
void Writer::AddChained(BlockType type, const Row& row) {
  Block& block = At(type);
  const size_t before = block.bytes.size();
  try {
    Put(block.bytes, row, block.before);  // Last, because it changes the previous row of the block.
  } catch (...) {
    block.bytes.CutTo(before);
    throw;
  }
  AfterAdd(block);
}

void Writer::AfterAdd(Block& block) {
  ++block.rows;
  if (block.bytes.size() >= kBlockTarget) Flush();
}

void Writer::AddActivity(const ActivityRow& row, const ConfigRow& config, const LaneRow& lane) {
  // Activities must fit into the segment of their dictionaries.
  if (BoundBytes() + config.name.size() + kMaxConfigBytes > SegmentRoom(main_)) {
    Flush();
    if (SegmentRoom(main_) < 2 * kBlockTarget + config.name.size()) StartSegment(main_);
  }
  ActivityRow stored = row;
  stored.config = ConfigId(config);
  stored.lane = LaneId(lane);
  AddChained(BlockType::kActivities, stored);
  // Names may be long, so that the dictionary grows faster than its rows.
  if (At(BlockType::kConfigs).bytes.size() >= kBlockTarget) Flush();
}

void Writer::Add(const ApiCallRow& row) { AddChained(BlockType::kApiCalls, row); }
void Writer::Add(const RangeRow& row) { AddChained(BlockType::kRanges, row); }
void Writer::Add(const GraphNodeRow& row) { AddChained(BlockType::kGraphNodes, row); }

void Writer::Add(const StringRow& row) {
  StringRow cut = row;
  cut.full_bytes = std::max<uint64_t>(row.full_bytes, row.text.size());
  cut.text = row.text.substr(0, kMaxTextBytes);
  AddPlain(BlockType::kStrings, cut, cut.text.size());
}

void Writer::Add(const PayloadRow& row) {
  PayloadRow cut = row;
  cut.bytes = row.bytes.substr(0, kMaxTextBytes);
  AddPlain(BlockType::kPayloads, cut, cut.bytes.size());
}

void Writer::Add(const SchemaRow& row) { AddPlain(BlockType::kSchemas, row, row.name.size()); }
void Writer::Add(const DeviceRow& row) { AddPlain(BlockType::kDevices, row, row.name.size()); }
void Writer::Add(const ContextRow& row) { AddPlain(BlockType::kContexts, row, 0); }
void Writer::Add(const StreamRow& row) { AddPlain(BlockType::kStreams, row, 0); }
void Writer::Add(const ThreadRow& row) { AddPlain(BlockType::kThreads, row, row.name.size()); }
void Writer::Add(const StreamNameRow& row) {
  AddPlain(BlockType::kStreamNames, row, row.name.size());
}
void Writer::Add(const CubinRow& row) { AddPlain(BlockType::kCubins, row, 0); }
void Writer::Add(const ClockRow& row) { AddPlain(BlockType::kClocks, row, 0); }
void Writer::Add(const OverheadRow& row) { AddPlain(BlockType::kOverheads, row, 0); }
void Writer::Add(const StatRow& row) { AddPlain(BlockType::kStats, row, row.name.size()); }
void Writer::Add(const FactRow& row) {
  FactRow cut = row;
  cut.value = row.value.substr(0, kMaxTextBytes);
  AddPlain(BlockType::kFacts, cut, cut.value.size());
}

void Writer::Flush() { FlushRows(true); }

void Writer::NoteNewRows() {
  const bool any = std::any_of(std::begin(kRowsThatCount), std::end(kRowsThatCount),
                               [&](BlockType type) { return At(type).rows != 0; });
  if (!any) return;
  newest_rows_ns_ = clock_();
  if (main_.rows_ns == 0) main_.rows_ns = newest_rows_ns_;
}

void Writer::FlushRows(bool rotate) {
  if (ring_ns_ != 0) NoteNewRows();
  if (PendingBytes(main_) > SegmentRoom(main_)) {
    // Rows that refer to this segment's dictionaries still fit (AddActivity ensures this). Others
    // go to a new segment.
    for (const BlockType type : kBound) WriteBlock(type, At(type));
    StartSegment(main_);
    if (ring_ns_ != 0) NoteNewRows();
  }
  if (ring_ns_ != 0 && PendingBytes(definitions_) > SegmentRoom(definitions_)) {
    StartSegment(definitions_);
  }
  for (const BlockType type : kOrder) WriteBlock(type, At(type));
  // A segment covers a quarter of the kept time, so that at most this much more is kept. A segment
  // is dropped as a whole, so calls and their activities are in one segment.
  if (rotate && ring_ns_ != 0 && main_.rows_ns != 0 &&
      newest_rows_ns_ - main_.rows_ns >= ring_ns_ / 4) {
    StartSegment(main_);
  }
}

void Writer::Finish() {
  FlushRows(false);
  if (failed()) {
    UseReserve();
    return;
  }
  Block footer;
  Cursor& cursor = CursorOf(BlockType::kFooter);
  if (SegmentRoom(cursor) < sizeof(BlockHeader) + 16) StartSegment(cursor);
  footer.bytes.Number(sequence_);
  footer.rows = 1;
  WriteBlock(BlockType::kFooter, footer);
}

std::string Writer::StopReason() const {
  if (!failed()) return {};
  if (stop_errno_ == EFBIG) {
    if (!limit_reason_.empty()) return limit_reason_;
    return "the file has reached its limit of " + std::to_string(max_file_bytes_) + " bytes";
  }
  char text[128] = "";
  // The GNU variant, which may return a different string.
  return strerror_r(stop_errno_, text, sizeof(text));
}

void Writer::WriteReserve() {
  reserve_offset_ = main_.offset;
  reserve_sequence_ = sequence_;
  Block reserve;
  while (reserve.bytes.size() < kReserveBytes) reserve.bytes.Number(0);
  reserve.rows = 1;
  WriteBlock(BlockType::kReserve, reserve);
}

// The space of the reserve is already on the disk, so writing there needs no free space. First the
// losses, then the footer, then a smaller reserve that fills the remaining space.
void Writer::UseReserve() {
  if (fd_ < 0 || reserve_offset_ == 0 || !StillOurs()) return;
  std::vector<uint8_t> place;
  const auto append = [&](BlockType type, const Encoder& bytes, uint32_t rows) {
    BlockHeader header;
    header.payload_bytes = static_cast<uint32_t>(bytes.size());
    header.type = type;
    header.rows = rows;
    header.sequence = reserve_sequence_;
    header.checksum = BlockChecksum(header, bytes.data());
    const auto* at = reinterpret_cast<const uint8_t*>(&header);
    place.insert(place.end(), at, at + sizeof(header));
    place.insert(place.end(), bytes.data(), bytes.data() + bytes.size());
  };
  const std::string reason = StopReason();
  const std::string lost = std::to_string(lost_rows_);
  Encoder facts;
  Put(facts, FactRow{"writing_stopped", reason});
  Put(facts, FactRow{"rows_lost", lost});
  const std::string activities = std::to_string(lost_activities_);
  Put(facts, FactRow{"activities_lost", activities});
  append(BlockType::kFacts, facts, 3);
  Encoder footer;
  footer.Number(sequence_);
  append(BlockType::kFooter, footer, 1);
  Encoder rest;
  while (place.size() + sizeof(BlockHeader) + rest.size() < sizeof(BlockHeader) + kReserveBytes) {
    rest.Number(0);
  }
  append(BlockType::kReserve, rest, 1);
  const int before = stop_errno_;
  WriteAll(place.data(), place.size(), reserve_offset_);
  stop_errno_ = before;
}

uint64_t Writer::PendingBytes(const Cursor& cursor) {
  uint64_t bytes = 0;
  for (const BlockType type : kOrder) {
    const Block& block = At(type);
    if (block.rows != 0 && &CursorOf(type) == &cursor) {
      bytes += block.bytes.size() + sizeof(BlockHeader);
    }
  }
  return bytes;
}

uint64_t Writer::BoundBytes() const {
  uint64_t bytes = 0;
  for (const BlockType type : kBound) {
    bytes += blocks_[static_cast<size_t>(type)].bytes.size() + sizeof(BlockHeader);
  }
  return bytes;
}

uint64_t Writer::SegmentRoom(const Cursor& cursor) {
  const uint64_t end = (cursor.segment + 1) * kSegmentBytes;
  return end - std::min(end, cursor.offset);
}

// Takes the next segment of the file. In a ring, takes a segment that is old enough, or the oldest
// segment if the file may not grow.
void Writer::TakeSlot(Cursor& cursor) {
  const bool rows = &cursor == &main_;
  if (ring_ns_ != 0 && rows && cursor.segment != definitions_.segment) {
    full_.push_back({cursor.segment, cursor.blocks, newest_rows_ns_});
  }
  const auto drop_oldest = [&] {
    free_.push_back(full_.front().segment);
    ring_blocks_dropped_ += full_.front().blocks;
    full_.pop_front();
  };
  cursor.reused = false;
  if (ring_ns_ != 0 && rows) {
    const uint64_t before = ring_blocks_dropped_;
    while (!full_.empty() && full_.front().newest_ns + ring_ns_ <= newest_rows_ns_) drop_oldest();
    if (free_.empty() && (segments_ + 1) * kSegmentBytes > max_file_bytes_ && !full_.empty()) {
      drop_oldest();
    }
    if (ring_blocks_dropped_ != before) {
      // Written before the blocks are dropped, so that a reader does not count them as missing.
      Add(StatRow{"ring_blocks_dropped", ring_blocks_dropped_});
      if (SegmentRoom(definitions_) < kBlockTarget + sizeof(BlockHeader)) {
        StartSegment(definitions_);
      }
      WriteBlock(BlockType::kStats, At(BlockType::kStats));
    }
    if (!free_.empty()) {
      cursor.segment = free_.front();
      free_.pop_front();
      cursor.reused = true;
      const uint8_t nothing[sizeof(BlockHeader)] = {};
      if (stop_errno_ == 0) {
        WriteAll(nothing, sizeof(nothing), cursor.segment * kSegmentBytes);
      }
    }
  }
  if (!cursor.reused) cursor.segment = segments_++;
  cursor.offset = cursor.segment * kSegmentBytes;
  cursor.rows_ns = 0;
  cursor.blocks = 0;
}

void Writer::StartSegment(Cursor& cursor) {
  TakeSlot(cursor);
  if (&cursor == &main_) {
    configs_.clear();
    config_slots_.assign(1024, 0);
    lanes_.clear();
    last_config_ = 0;
  }
  Block block;
  block.bytes.Number(kFormatVersion);
  block.bytes.Number(cursor.segment);
  block.bytes.Text(identity_);
  block.rows = 1;
  AppendBlock(cursor, BlockType::kSegment, block);
}

void Writer::WriteBlock(BlockType type, Block& block) { AppendBlock(CursorOf(type), type, block); }

void Writer::AppendBlock(Cursor& cursor, BlockType type, Block& block) {
  if (block.rows == 0) return;
  BlockHeader header;
  header.payload_bytes = static_cast<uint32_t>(block.bytes.size());
  header.type = type;
  header.rows = block.rows;
  header.sequence = sequence_;
  if (type == BlockType::kConfigs || type == BlockType::kLanes) {
    const size_t ids = type == BlockType::kConfigs ? configs_.size() : lanes_.size();
    header.first_id = static_cast<uint16_t>(1 + (ids - block.rows) % kDictionaryIdModulus);
  }
  header.checksum = BlockChecksum(header, block.bytes.data());
  const uint64_t total = sizeof(header) + block.bytes.size();
  if (stop_errno_ == 0 && cursor.offset + total > max_file_bytes_) stop_errno_ = EFBIG;
  if (stop_errno_ == 0 && !StillOurs()) {
    stop_errno_ = EBADF;
    fd_ = -1;  // The descriptor belongs to another file and is not closed.
  }
  if (stop_errno_ == 0 && cursor.reused) {
    // Overwrites older bytes, so that the following place is empty.
    const uint8_t nothing[sizeof(BlockHeader)] = {};
    const uint64_t room = (cursor.segment + 1) * kSegmentBytes - (cursor.offset + total);
    WriteAll(nothing, std::min<uint64_t>(sizeof(nothing), room), cursor.offset + total);
  }
  // The header is written last: a reader between the two writes sees an empty place.
  if (stop_errno_ == 0 &&
      WriteAll(block.bytes.data(), block.bytes.size(), cursor.offset + sizeof(header)) &&
      WriteAll(reinterpret_cast<const uint8_t*>(&header), sizeof(header), cursor.offset)) {
    cursor.offset += total;
    ++cursor.blocks;
    ++sequence_;
    end_ = std::max(end_, cursor.offset);
  } else {
    if (type != BlockType::kReserve) lost_rows_ += block.rows;
    if (type == BlockType::kActivities) lost_activities_ += block.rows;
  }
  block.bytes.Clear();
  block.before = {};
  block.rows = 0;
}

bool Writer::StillOurs() const {
  struct stat status {};
  return !check_ ||
         (fstat(fd_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_);
}

bool Writer::WriteAll(const uint8_t* data, size_t size, uint64_t offset) {
  while (size > 0) {
    const ssize_t written = pwrite(fd_, data, size, static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      stop_errno_ = errno;
      return false;
    }
    if (written == 0) {
      stop_errno_ = ENOSPC;
      return false;
    }
    data += written;
    size -= static_cast<size_t>(written);
    offset += static_cast<uint64_t>(written);
  }
  return true;
}

uint32_t Writer::ConfigId(const ConfigRow& config) {
  // Consecutive launches often have the same kernel.
  if (last_config_ < configs_.size() && configs_[last_config_].row == config) return last_config_;
  const uint64_t hash = Hash(config);
  size_t mask = config_slots_.size() - 1;
  size_t slot = hash & mask;
  for (; config_slots_[slot] != 0; slot = (slot + 1) & mask) {
    const uint32_t id = config_slots_[slot] - 1;
    if (configs_[id].hash == hash && configs_[id].row == config) return last_config_ = id;
  }
  const auto id = static_cast<uint32_t>(configs_.size());
  if ((configs_.size() + 1) * 2 > config_slots_.size()) {
    std::vector<uint32_t> larger(config_slots_.size() * 2, 0);
    mask = larger.size() - 1;
    for (uint32_t i = 0; i < configs_.size(); ++i) {
      size_t free_slot = configs_[i].hash & mask;
      while (larger[free_slot] != 0) free_slot = (free_slot + 1) & mask;
      larger[free_slot] = i + 1;
    }
    config_slots_.swap(larger);
    slot = hash & mask;
    while (config_slots_[slot] != 0) slot = (slot + 1) & mask;
  }
  Block& block = At(BlockType::kConfigs);
  const size_t before = block.bytes.size();
  try {
    Put(block.bytes, config);
    configs_.push_back({config, std::string(config.name), hash});
  } catch (...) {
    block.bytes.CutTo(before);
    throw;
  }
  ++block.rows;
  configs_.back().row.name = configs_.back().name;  // The deque element does not move again.
  config_slots_[slot] = id + 1;
  return last_config_ = id;
}

uint32_t Writer::LaneId(const LaneRow& lane) {
  const auto found = std::find(lanes_.begin(), lanes_.end(), lane);
  const auto id = static_cast<uint32_t>(found - lanes_.begin());
  if (found != lanes_.end()) return id;
  Block& block = At(BlockType::kLanes);
  const size_t before = block.bytes.size();
  try {
    Put(block.bytes, lane);
    lanes_.push_back(lane);
  } catch (...) {
    block.bytes.CutTo(before);
    throw;
  }
  ++block.rows;
  return id;
}

}  // namespace xlatrace::recording
