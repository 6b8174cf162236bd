#include "importers/xplane/xplane_reader.h"

#include <algorithm>

namespace xlatrace::importers::xplane {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

std::string_view View(pbf_reader& reader) {
  const auto view = reader.get_view();
  return {view.data(), view.size()};
}

constexpr uint32_t Key(uint32_t field, pbf_wire_type type) {
  return (field << 3) | static_cast<uint32_t>(type);
}
constexpr uint32_t Varint(uint32_t field) { return Key(field, pbf_wire_type::varint); }
constexpr uint32_t Bytes(uint32_t field) { return Key(field, pbf_wire_type::length_delimited); }
constexpr uint32_t Fixed64(uint32_t field) { return Key(field, pbf_wire_type::fixed64); }

// map<int64, Message>: {key 1, value 2}.
struct MapEntry {
  int64_t key = 0;
  std::string_view value;
};

MapEntry ReadMapEntry(std::string_view bytes) {
  MapEntry entry;
  pbf_reader reader(bytes.data(), bytes.size());
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Varint(1):
        entry.key = reader.get_int64();
        break;
      case Bytes(2):
        entry.value = View(reader);
        break;
      default:
        reader.skip();
    }
  }
  return entry;
}

EventMetadata ReadEventMetadata(std::string_view bytes) {
  EventMetadata metadata;
  pbf_reader reader(bytes.data(), bytes.size());
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Bytes(2):
        metadata.name = View(reader);
        break;
      case Bytes(4):
        metadata.display_name = View(reader);
        break;
      case Bytes(5):
        metadata.stats.push_back(View(reader));
        break;
      default:
        reader.skip();
    }
  }
  return metadata;
}

std::string_view ReadStatMetadataName(std::string_view bytes) {
  std::string_view name;
  pbf_reader reader(bytes.data(), bytes.size());
  while (reader.next()) {
    if (reader.tag_and_type() == Bytes(2)) {
      name = View(reader);
    } else {
      reader.skip();
    }
  }
  return name;
}

// Where in the file a part of Plane::rest comes from.
struct Origin {
  uint64_t in_rest = 0;
  uint64_t in_file = 0;
};

// Splits a plane into lines, which stay where they are, and the rest, which is copied.
std::vector<Origin> CollectPlane(const ByteSource& source, ByteRange bytes, Plane& plane,
                                 uint64_t* cursor) {
  std::vector<Origin> origins;
  uint64_t next = UINT64_MAX;
  FieldStream stream(source, bytes);
  while (stream.Next()) {
    if (stream.key() == Bytes(3)) {
      plane.lines.push_back({&source, stream.Payload()});
      continue;
    }
    // Only the last place is told where the copying itself fails.
    *cursor = stream.field_offset();
    if (stream.field_offset() != next)
      origins.push_back({plane.rest.size(), stream.field_offset()});
    next = stream.Payload().end();
    stream.AppendTo(plane.rest);
  }
  return origins;
}

void ReadRest(Plane& plane, const char** at) {
  std::vector<int64_t> event_ids;
  std::vector<int64_t> stat_ids;
  pbf_reader reader(plane.rest.data(), plane.rest.size());
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Bytes(2):
        plane.name = View(reader);
        break;
      case Bytes(4): {
        const std::string_view entry_bytes = View(reader);
        *at = entry_bytes.data();
        const MapEntry entry = ReadMapEntry(entry_bytes);
        event_ids.push_back(entry.key);
        plane.events.push_back(ReadEventMetadata(entry.value));
        break;
      }
      case Bytes(5): {
        const std::string_view entry_bytes = View(reader);
        *at = entry_bytes.data();
        const MapEntry entry = ReadMapEntry(entry_bytes);
        stat_ids.push_back(entry.key);
        plane.stat_names.push_back(ReadStatMetadataName(entry.value));
        break;
      }
      case Bytes(6):
        plane.stats.push_back(ReadStat(View(reader)));
        break;
      default:
        reader.skip();
    }
  }
  plane.event_index.Build(event_ids);
  plane.stat_index.Build(stat_ids);
}

Plane ReadPlane(const ByteSource& source, ByteRange bytes, uint64_t* cursor) {
  Plane plane;
  *cursor = bytes.offset;
  const std::vector<Origin> origins = CollectPlane(source, bytes, plane, cursor);
  *cursor = bytes.offset;
  const char* at = nullptr;
  try {
    ReadRest(plane, &at);
  } catch (const protozero::exception&) {
    if (at != nullptr) {
      const auto in_rest = static_cast<uint64_t>(at - plane.rest.data());
      for (const Origin& origin : origins) {
        if (origin.in_rest <= in_rest) *cursor = origin.in_file + (in_rest - origin.in_rest);
      }
    }
    throw;
  }
  return plane;
}

}  // namespace

Stat ReadStat(std::string_view bytes) {
  Stat stat;
  pbf_reader reader(bytes.data(), bytes.size());
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Varint(1):
        stat.id = reader.get_int64();
        break;
      case Fixed64(2):
        stat.real = reader.get_double();
        stat.kind = Stat::Kind::kDouble;
        break;
      case Varint(3):
      case Varint(4):
        stat.integer = reader.get_int64();
        stat.kind = Stat::Kind::kInt;
        break;
      case Bytes(5):
        stat.text = View(reader);
        stat.kind = Stat::Kind::kText;
        break;
      case Bytes(6):
        stat.text = View(reader);
        stat.kind = Stat::Kind::kBytes;
        break;
      case Varint(7):
        stat.integer = reader.get_int64();
        stat.kind = Stat::Kind::kRef;
        break;
      default:
        reader.skip();
    }
  }
  return stat;
}

int64_t ReadStatId(std::string_view bytes) {
  pbf_reader reader(bytes.data(), bytes.size());
  while (reader.next()) {
    if (reader.tag_and_type() == Varint(1)) return reader.get_int64();
    reader.skip();
  }
  return 0;
}

void IdIndex::Build(const std::vector<int64_t>& ids) {
  const uint64_t dense_limit = 4 * ids.size() + 1024;
  uint64_t dense_size = 0;
  for (const int64_t id : ids) {
    if (static_cast<uint64_t>(id) < dense_limit) {
      dense_size = std::max(dense_size, static_cast<uint64_t>(id) + 1);
    }
  }
  dense_.assign(dense_size, -1);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (static_cast<uint64_t>(ids[i]) < dense_size) {
      dense_[static_cast<size_t>(ids[i])] = static_cast<int32_t>(i);
    } else {
      sparse_[ids[i]] = static_cast<int32_t>(i);
    }
  }
}

const Stat* Plane::FindStat(std::string_view stat_name) const {
  for (const Stat& stat : stats) {
    if (StatName(stat.id) == stat_name) return &stat;
  }
  return nullptr;
}

std::optional<int64_t> Plane::IntStat(std::string_view stat_name) const {
  const Stat* stat = FindStat(stat_name);
  if (stat == nullptr || stat->kind != Stat::Kind::kInt) return std::nullopt;
  return stat->integer;
}

std::optional<double> Plane::RealStat(std::string_view stat_name) const {
  const Stat* stat = FindStat(stat_name);
  if (stat == nullptr) return std::nullopt;
  if (stat->kind == Stat::Kind::kDouble) return stat->real;
  if (stat->kind == Stat::Kind::kInt) return static_cast<double>(stat->integer);
  return std::nullopt;
}

std::string_view Plane::TextStat(std::string_view stat_name) const {
  const Stat* stat = FindStat(stat_name);
  return stat == nullptr ? std::string_view() : TextOf(*stat);
}

Space ReadSpace(const ByteSource& source, uint64_t* cursor) {
  Space space;
  *cursor = 0;
  FieldStream stream(source, {0, source.size()});
  while (stream.Next()) {
    switch (stream.key()) {
      case Bytes(1):
        space.planes.push_back(ReadPlane(source, stream.Payload(), cursor));
        *cursor = stream.Payload().end();
        break;
      case Bytes(2):
        space.errors.emplace_back(stream.View());
        break;
      case Bytes(3):
        space.warnings.emplace_back(stream.View());
        break;
      case Bytes(4):
        space.hostnames.emplace_back(stream.View());
        break;
      default:
        break;
    }
  }
  return space;
}

LineHeader ReadLineHeader(const Line& line) {
  LineHeader header;
  FieldStream stream(*line.source, line.bytes);
  while (stream.Next()) {
    switch (stream.key()) {
      case Varint(1):
        header.id = static_cast<int64_t>(stream.Varint());
        break;
      case Bytes(2):
        header.name = stream.View();
        break;
      case Varint(3):
        header.timestamp_ns = static_cast<int64_t>(stream.Varint());
        break;
      case Bytes(4):
        ++header.event_count;
        break;
      case Bytes(11):
        header.display_name = stream.View();
        break;
      default:
        break;
    }
  }
  return header;
}

void ReadEvent(std::string_view bytes, Event& event) {
  event.metadata_id = 0;
  event.offset_ps = 0;
  event.duration_ps = 0;
  event.aggregated = false;
  event.stats.clear();
  pbf_reader reader(bytes.data(), bytes.size());
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case Varint(1):
        event.metadata_id = reader.get_int64();
        break;
      case Varint(2):
        event.offset_ps = reader.get_int64();
        break;
      case Varint(3):
        event.duration_ps = reader.get_int64();
        break;
      case Bytes(4):
        event.stats.push_back(View(reader));
        break;
      case Varint(5):
        event.aggregated = true;
        reader.skip();
        break;
      default:
        reader.skip();
    }
  }
}

}  // namespace xlatrace::importers::xplane
