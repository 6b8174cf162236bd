#include "recording/reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
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

  // Bytes read at `offset`, fewer only at the end of the file.
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
  uint64_t size_;  // Nothing behind is looked at.
};

// The dictionaries of the current segment; names are copied, blocks come and go.
struct Dictionary {
  std::deque<std::string> names;
  std::vector<ConfigRow> configs;
  std::vector<LaneRow> lanes;
};

class FileReader {
 public:
  FileReader(const std::string& path, int fd, RowSink& sink, uint64_t max_bytes)
      : path_(path), file_(fd, max_bytes), sink_(sink) {}

  Result<ReadOutcome> Run() {
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
      if (segment_end - offset < sizeof(header)) {  // No room for a block: what is read is beyond.
        offset = segment_end;
        continue;
      }
      if (got < sizeof(header) || header.magic != kBlockMagic) {
        // A hole up to the next segment, the end of a killed file, or damage.
        if (got > 0 && AnyByte(header, got)) Damage(offset);
        offset = segment_end;
        continue;
      }
      if (!GoodPlace(header, offset, segment_end) || !ReadPayload(header, offset)) {
        Damage(offset);
        offset = segment_end;
        continue;
      }
      // What stands in the place of a reserve has its number.
      if (outcome_.blocks == 0 || header.sequence != last_sequence_) ++numbers_;
      last_sequence_ = header.sequence;
      highest_sequence_ = std::max(highest_sequence_, header.sequence);
      ++outcome_.blocks;
      XLATRACE_ASSIGN(const bool good, ReadRows(header));
      if (!good) {  // A dictionary that is not whole is worth nothing.
        Damage(offset);
        offset = segment_end;
        continue;
      }
      offset += sizeof(header) + header.payload_bytes;
      outcome_.bytes_read = offset;
    }
    // Segments of a ring are not in the order in which they were written.
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
           // A row takes at least a byte; the count is not believed before that is checked.
           header.rows <= header.payload_bytes;
  }

  bool ReadPayload(const BlockHeader& header, uint64_t offset) {
    payload_.resize(header.payload_bytes);
    return file_.Read(payload_.data(), payload_.size(), offset + sizeof(header)) ==
               payload_.size() &&
           header.checksum == BlockChecksum(header, payload_.data());
  }

  void Damage(uint64_t offset) {
    if (outcome_.damaged_blocks++ == 0) outcome_.first_damage_offset = offset;
  }

  // Calls `on` for each row; false when the bytes are not rows.
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
    dictionary_ = {};
    sink_.OnSegment(number, identity);
    return true;
  }

  bool ReadActivities(const BlockHeader& header) {
    bool known = true;
    const bool good = Chained<ActivityRow>(header, [&](const ActivityRow& row) {
      if (row.config >= dictionary_.configs.size() || row.lane >= dictionary_.lanes.size()) {
        known = false;
        return;
      }
      sink_.OnActivity(row, dictionary_.configs[row.config], dictionary_.lanes[row.lane]);
    });
    return good && known;
  }

  // A ring tells how many blocks it has let go of.
  void CountDropped(const BlockHeader& header) {
    Plain<StatRow>(header, [&](const StatRow& row) {
      if (row.name == "ring_blocks_dropped") ring_dropped_ = std::max(ring_dropped_, row.value);
    });
  }

  // Dictionaries are needed for activities only.
  bool Wants(BlockType type) const {
    const bool dictionary = type == BlockType::kConfigs || type == BlockType::kLanes;
    return sink_.Wants(dictionary ? BlockType::kActivities : type);
  }

  Result<bool> ReadRows(const BlockHeader& h) {
    if (h.type == BlockType::kStats) CountDropped(h);
    if (h.type != BlockType::kSegment && h.type != BlockType::kFooter && !Wants(h.type)) {
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
        return Plain<ConfigRow>(h, [&](ConfigRow row) {
          row.name = dictionary_.names.emplace_back(row.name);
          dictionary_.configs.push_back(row);
        });
      case BlockType::kLanes:
        return Plain<LaneRow>(h, [&](const LaneRow& row) { dictionary_.lanes.push_back(row); });
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
  RowSink& sink_;
  std::vector<uint8_t> payload_;
  Dictionary dictionary_;
  ReadOutcome outcome_;
  uint64_t numbers_ = 0;  // Different ones among the blocks.
  uint64_t last_sequence_ = 0;
  uint64_t highest_sequence_ = 0;
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
  return FileReader(path, fd, sink, max_bytes).Run();
}

}  // namespace xlatrace::recording
