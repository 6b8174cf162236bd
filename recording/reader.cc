// SPDX-License-Identifier: Apache-2.0
#include "recording/reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "recording/row_codec.h"

namespace xlatrace::recording {
namespace {

class File {
 public:
  File(int fd, uint64_t size) : fd_(fd), size_(size) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(fd_); }

  // Returns the number of bytes read at `offset`; less than `size` only at the end of the file.
  size_t Read(uint8_t* to, size_t size, uint64_t offset) const {
    size = static_cast<size_t>(std::min<uint64_t>(size, size_ - std::min(offset, size_)));
    size_t done = 0;
    while (done < size) {
      const ssize_t got = pread(fd_, to + done, size - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

 private:
  int fd_;
  uint64_t size_;  // Bytes after this are not read.
};

// Rows by id, with holes for rows of lost blocks.
template <typename Row>
struct ById {
  std::vector<std::optional<Row>> rows;
  bool closed = false;  // Later ids are not known.

  const Row* Find(uint64_t id) const { return id < rows.size() && rows[id] ? &*rows[id] : nullptr; }

  // Reserves the places of the block's rows. False if their ids are not known. `lost`: unreadable
  // bytes of the segment, 0 if none.
  bool Place(const BlockHeader& header, uint64_t lost) {
    // The lost bytes contained fewer rows than the modulus; each takes at least eight bytes.
    closed = closed || (lost > 0 && (header.first_id == 0 || lost >= 8 * kDictionaryIdModulus));
    if (closed) return false;
    if (header.first_id == 0) return true;
    const uint64_t before = rows.size() % kDictionaryIdModulus;
    const uint64_t first = header.first_id - 1u;
    const uint64_t hole = (first + kDictionaryIdModulus - before) % kDictionaryIdModulus;
    if (hole > 0 && lost == 0) return false;
    rows.resize(rows.size() + hole);
    return true;
  }
};

// The dictionaries of the current segment. Names are copied, because blocks are temporary.
struct Dictionary {
  std::deque<std::string> names;
  ById<ConfigRow> configs;
  ById<LaneRow> lanes;
};

// Limit on the bytes that are checked after false block headers in a file, so that a search in
// hostile input ends.
constexpr uint64_t kMaxFalseBytes = uint64_t{256} << 20;
constexpr size_t kSearchBytes = size_t{256} << 10;

class FileReader {
 public:
  FileReader(const std::string& path, int fd, RowSink& sink, uint64_t max_bytes,
             uint64_t file_bytes)
      : path_(path),
        file_(fd, max_bytes),
        file_bytes_(std::min(file_bytes, max_bytes)),
        sink_(sink) {}

  Result<ReadOutcome> Run() {
    outcome_.file_bytes = file_bytes_;
    uint64_t offset = 0;
    for (;;) {
      const uint64_t segment_end = (offset / kSegmentBytes + 1) * kSegmentBytes;
      BlockHeader header;
      const size_t got = file_.Read(reinterpret_cast<uint8_t*>(&header), sizeof(header), offset);
      if (got == 0 && AtEnd(offset)) break;
      if (offset == 0 && (got < sizeof(header) || header.magic != kBlockMagic)) {
        return MakeError(fmt::format("'{}' is no recording of xlatrace", path_),
                         "recordings are the .rec files in the folder run.rec");
      }
      if (offset % kSegmentBytes == 0) {
        dictionary_ = {};
        lost_in_segment_ = 0;
        least_sequence_ = 0;
      }
      if (segment_end - offset < sizeof(header)) {  // Too short for a block.
        offset = segment_end;
        continue;
      }
      if (got < sizeof(header) || header.magic != kBlockMagic ||
          !GoodPlace(header, offset, segment_end) || !ReadPayload(header, offset)) {
        // A hole up to the next segment, the end of a killed file, or damage. If a segment of a
        // ring begins with a hole, it was about to be overwritten, and its content had been given
        // up.
        const bool any = got > 0 && AnyByte(header, got);
        const bool given_up = !any && offset % kSegmentBytes == 0;
        const uint64_t next = given_up ? segment_end : NextBlock(header, offset, segment_end);
        if (any || next < segment_end) Damage(offset, next);
        // Blocks after this point still belong to this segment.
        if (offset % kSegmentBytes == 0 && next < segment_end) {
          sink_.OnSegment(offset / kSegmentBytes, {});
        }
        offset = next;
        continue;
      }
      // A block in the space of a reserve has its number.
      if (outcome_.blocks == 0 || header.sequence != last_sequence_) ++numbers_;
      last_sequence_ = header.sequence;
      least_sequence_ = header.sequence;
      highest_sequence_ = std::max(highest_sequence_, header.sequence);
      ++outcome_.blocks;
      const uint64_t end = offset + sizeof(header) + header.payload_bytes;
      XLATRACE_ASSIGN(const bool good, ReadRows(header));
      if (!good) Damage(offset, end);
      offset = end;
      outcome_.bytes_read = offset;
    }
    // Segments of a ring are not in the order of writing.
    if (outcome_.blocks > 0 && highest_sequence_ >= numbers_) {
      const uint64_t gaps = highest_sequence_ - numbers_ + 1;
      outcome_.missing_blocks = gaps - std::min(gaps, ring_dropped_);
    }
    outcome_.complete = footer_ && outcome_.damaged_blocks == 0 && outcome_.missing_blocks == 0;
    return outcome_;
  }

 private:
  bool AtEnd(uint64_t offset) {
    uint8_t byte = 0;
    return file_.Read(&byte, 1, offset) == 0;
  }

  static bool AnyByte(const BlockHeader& header, size_t got) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&header);
    return std::any_of(bytes, bytes + got, [](uint8_t byte) { return byte != 0; });
  }

  bool GoodPlace(const BlockHeader& header, uint64_t offset, uint64_t segment_end) const {
    return header.payload_bytes <= kMaxPayloadBytes &&
           offset + sizeof(header) + header.payload_bytes <= segment_end &&
           // A row takes at least one byte, so the count is verified before it is used.
           header.rows <= header.payload_bytes;
  }

  bool ReadPayload(const BlockHeader& header, uint64_t offset) {
    payload_.resize(header.payload_bytes);
    return file_.Read(payload_.data(), payload_.size(), offset + sizeof(header)) ==
               payload_.size() &&
           header.checksum == BlockChecksum(header, payload_.data());
  }

  // Counts the bytes [offset, end) as lost.
  void Damage(uint64_t offset, uint64_t end) {
    if (outcome_.damaged_blocks++ == 0) outcome_.first_damage_offset = offset;
    const uint64_t bytes = std::min(end, file_bytes_) - std::min(offset, file_bytes_);
    outcome_.damaged_bytes += bytes;
    lost_in_segment_ += bytes;
  }

  // Position after a bad block at which the segment continues: a block with a valid checksum and a
  // number not below the last one. (Blocks of an older round may follow the newest blocks of a
  // ring.) `segment_end` if there is none.
  uint64_t NextBlock(const BlockHeader& broken, uint64_t offset, uint64_t segment_end) {
    // In most cases the length field is intact, so this position is tried first. Texts inside a
    // payload may look like a block.
    const uint64_t told = offset + sizeof(broken) + broken.payload_bytes;
    if (broken.magic == kBlockMagic && broken.payload_bytes <= kMaxPayloadBytes &&
        IsBlock(told, segment_end)) {
      return told;
    }
    constexpr size_t kMagicBytes = sizeof(kBlockMagic);
    for (uint64_t at = offset + 1; at + sizeof(BlockHeader) <= segment_end;) {
      search_.resize(kSearchBytes);
      search_.resize(
          file_.Read(search_.data(), std::min<uint64_t>(kSearchBytes, segment_end - at), at));
      if (search_.size() < sizeof(BlockHeader)) break;
      const std::string_view bytes(reinterpret_cast<const char*>(search_.data()), search_.size());
      const std::string_view magic(reinterpret_cast<const char*>(&kBlockMagic), kMagicBytes);
      for (size_t found = bytes.find(magic); found != std::string_view::npos;
           found = bytes.find(magic, found + 1)) {
        if (IsBlock(at + found, segment_end)) return at + found;
      }
      at += search_.size() - (kMagicBytes - 1);
    }
    return segment_end;
  }

  bool IsBlock(uint64_t offset, uint64_t segment_end) {
    BlockHeader header;
    if (offset + sizeof(header) > segment_end || false_bytes_ > kMaxFalseBytes ||
        file_.Read(reinterpret_cast<uint8_t*>(&header), sizeof(header), offset) < sizeof(header) ||
        header.magic != kBlockMagic || header.sequence < least_sequence_ ||
        !GoodPlace(header, offset, segment_end)) {
      return false;
    }
    if (ReadPayload(header, offset)) return true;
    false_bytes_ += sizeof(header) + header.payload_bytes;
    return false;
  }

  // Calls `on` for each row; false if the bytes are not rows.
  template <typename Row, typename On>
  bool Plain(const BlockHeader& header, On on) {
    Decoder in(payload_.data(), payload_.size());
    for (uint32_t i = 0; i < header.rows; ++i) {
      Row row;
      if (!Get(in, &row)) return false;
      on(row);
    }
    return in.done();
  }

  template <typename Row, typename On>
  bool Chained(const BlockHeader& header, On on) {
    Decoder in(payload_.data(), payload_.size());
    BlockContext before;
    for (uint32_t i = 0; i < header.rows; ++i) {
      Row row;
      if (!Get(in, &row, before)) return false;
      on(row);
    }
    return in.done();
  }

  Result<bool> ReadSegment() {
    Decoder in(payload_.data(), payload_.size());
    const uint64_t version = in.Number();
    const uint64_t number = in.Number();
    const std::string_view identity = in.Text();
    if (!in.ok()) return false;
    if (version > kFormatVersion) {
      return MakeError(fmt::format("'{}' was written by a newer xlatrace (format {}, this one "
                                   "reads up to {})",
                                   path_, version, kFormatVersion),
                       "read it with the xlatrace that recorded it, or a newer one");
    }
    sink_.OnSegment(number, identity);
    return true;
  }

  bool ReadActivities(const BlockHeader& header) {
    bool known = true;
    const bool good = Chained<ActivityRow>(header, [&](const ActivityRow& row) {
      const ConfigRow* config = dictionary_.configs.Find(row.config);
      const LaneRow* lane = dictionary_.lanes.Find(row.lane);
      if (config != nullptr && lane != nullptr) {
        sink_.OnActivity(row, *config, *lane);
      } else if (lost_in_segment_ > 0) {
        ++outcome_.unnamed_rows;
      } else {
        known = false;
      }
    });
    return good && known;
  }

  template <typename Row, typename Keep>
  bool ReadDictionary(const BlockHeader& header, ById<Row>* rows, Keep keep) {
    if (!rows->Place(header, lost_in_segment_)) return lost_in_segment_ > 0;
    if (Plain<Row>(header, [&](const Row& row) { rows->rows.emplace_back(keep(row)); }))
      return true;
    rows->closed = true;
    return false;
  }

  // A ring stores the number of blocks that it dropped.
  void CountDropped(const BlockHeader& header) {
    Plain<StatRow>(header, [&](const StatRow& row) {
      if (row.name == "ring_blocks_dropped") ring_dropped_ = std::max(ring_dropped_, row.value);
    });
  }

  // Dictionaries are needed for activities only.
  bool Accepts(BlockType type) const {
    const bool dictionary = type == BlockType::kConfigs || type == BlockType::kLanes;
    return sink_.Accepts(dictionary ? BlockType::kActivities : type);
  }

  Result<bool> ReadRows(const BlockHeader& h) {
    if (h.type == BlockType::kStats) CountDropped(h);
    if (h.type != BlockType::kSegment && h.type != BlockType::kFooter && !Accepts(h.type)) {
      return true;
    }
    switch (h.type) {
      case BlockType::kSegment:
        return ReadSegment();
      case BlockType::kFacts:
        return Plain<FactRow>(h, [&](const FactRow& row) { sink_.OnFact(row); });
      case BlockType::kStrings:
        return Plain<StringRow>(h, [&](const StringRow& row) { sink_.OnString(row); });
      case BlockType::kConfigs:
        return ReadDictionary(h, &dictionary_.configs, [&](ConfigRow row) {
          row.name = dictionary_.names.emplace_back(row.name);
          return row;
        });
      case BlockType::kLanes:
        return ReadDictionary(h, &dictionary_.lanes, [](LaneRow row) { return row; });
      case BlockType::kActivities:
        return ReadActivities(h);
      case BlockType::kApiCalls:
        return Chained<ApiCallRow>(h, [&](const ApiCallRow& row) { sink_.OnApiCall(row); });
      case BlockType::kRanges:
        return Chained<RangeRow>(h, [&](const RangeRow& row) { sink_.OnRange(row); });
      case BlockType::kGraphNodes:
        return Chained<GraphNodeRow>(h, [&](const GraphNodeRow& row) { sink_.OnGraphNode(row); });
      case BlockType::kSchemas:
        return Plain<SchemaRow>(h, [&](const SchemaRow& row) { sink_.OnSchema(row); });
      case BlockType::kPayloads:
        return Plain<PayloadRow>(h, [&](const PayloadRow& row) { sink_.OnPayload(row); });
      case BlockType::kDevices:
        return Plain<DeviceRow>(h, [&](const DeviceRow& row) { sink_.OnDevice(row); });
      case BlockType::kContexts:
        return Plain<ContextRow>(h, [&](const ContextRow& row) { sink_.OnContext(row); });
      case BlockType::kStreams:
        return Plain<StreamRow>(h, [&](const StreamRow& row) { sink_.OnStream(row); });
      case BlockType::kStreamNames:
        return Plain<StreamNameRow>(h, [&](const StreamNameRow& row) { sink_.OnStreamName(row); });
      case BlockType::kThreads:
        return Plain<ThreadRow>(h, [&](const ThreadRow& row) { sink_.OnThread(row); });
      case BlockType::kCubins:
        return Plain<CubinRow>(h, [&](const CubinRow& row) { sink_.OnCubin(row); });
      case BlockType::kClocks:
        return Plain<ClockRow>(h, [&](const ClockRow& row) { sink_.OnClock(row); });
      case BlockType::kStats:
        return Plain<StatRow>(h, [&](const StatRow& row) { sink_.OnStat(row); });
      case BlockType::kOverheads:
        return Plain<OverheadRow>(h, [&](const OverheadRow& row) { sink_.OnOverhead(row); });
      case BlockType::kReserve:
        return true;
      case BlockType::kFooter:
        footer_ = true;
        return true;
    }
    ++outcome_.unknown_blocks;
    return true;
  }

  const std::string& path_;
  File file_;
  uint64_t file_bytes_;  // Size at opening; a growing file becomes larger.
  RowSink& sink_;
  std::vector<uint8_t> payload_;
  std::vector<uint8_t> search_;
  Dictionary dictionary_;
  ReadOutcome outcome_;
  uint64_t numbers_ = 0;  // Number of different sequence numbers.
  uint64_t last_sequence_ = 0;
  uint64_t highest_sequence_ = 0;
  uint64_t least_sequence_ = 0;   // Minimum sequence number of the next block in this segment.
  uint64_t lost_in_segment_ = 0;  // Bytes.
  uint64_t false_bytes_ = 0;      // Bytes of false block candidates.
  uint64_t ring_dropped_ = 0;
  bool footer_ = false;
};

}  // namespace

Result<ReadOutcome> ReadRecording(const std::string& path, RowSink& sink, uint64_t max_bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return MakeError(fmt::format("cannot open '{}': {}", path, std::strerror(errno)));
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    return MakeError(fmt::format("'{}' is not a regular file", path));
  }
  return FileReader(path, fd, sink, max_bytes, static_cast<uint64_t>(status.st_size)).Run();
}

}  // namespace xlatrace::recording
