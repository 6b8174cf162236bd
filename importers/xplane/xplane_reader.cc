// SPDX-License-Identifier: Apache-2.0
#include "importers/xplane/xplane_reader.h"

#include <algorithm>

#include <protozero/exception.hpp>

namespace xlatrace::importers::xplane {
namespace {

using hlo::XPlaneKeys;

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
    if (stream.key() == XPlaneKeys::kLine) {
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
  hlo::WirePosition position;
  hlo::Fields fields({plane.rest.data(), plane.rest.size()}, position);
  const auto entry_of = [&](std::string_view bytes) {
    *at = bytes.data();
    return hlo::ReadXMapEntry(bytes, position);
  };
  while (fields.Next()) {
    switch (fields.Key()) {
      case XPlaneKeys::kName:
        plane.name = fields.Bytes();
        break;
      case XPlaneKeys::kEventMetadata: {
        const hlo::XMapEntry entry = entry_of(fields.Bytes());
        event_ids.push_back(entry.key);
        plane.events.push_back(hlo::ReadXEventMetadata(entry.value, position));
        break;
      }
      case XPlaneKeys::kStatMetadata: {
        const hlo::XMapEntry entry = entry_of(fields.Bytes());
        stat_ids.push_back(entry.key);
        plane.stat_names.push_back(hlo::ReadXStatName(entry.value, position));
        break;
      }
      case XPlaneKeys::kStat:
        plane.stats.push_back(hlo::ReadXStat(fields.Bytes(), position));
        break;
      default:
        fields.Skip();
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
      case hlo::XSpaceKeys::kPlane:
        space.planes.push_back(ReadPlane(source, stream.Payload(), cursor));
        *cursor = stream.Payload().end();
        break;
      case hlo::XSpaceKeys::kError:
        space.errors.emplace_back(stream.View());
        break;
      case hlo::XSpaceKeys::kWarning:
        space.warnings.emplace_back(stream.View());
        break;
      case hlo::XSpaceKeys::kHostname:
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
      case hlo::XLineKeys::kId:
        header.id = static_cast<int64_t>(stream.Varint());
        break;
      case hlo::XLineKeys::kName:
        header.name = stream.View();
        break;
      case hlo::XLineKeys::kTimestampNs:
        header.timestamp_ns = static_cast<int64_t>(stream.Varint());
        break;
      case hlo::XLineKeys::kEvent:
        ++header.event_count;
        break;
      case hlo::XLineKeys::kDisplayName:
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
  hlo::WirePosition position;
  hlo::Fields fields(bytes, position);
  while (fields.Next()) {
    switch (fields.Key()) {
      case hlo::XEventKeys::kMetadataId:
        event.metadata_id = fields.Int();
        break;
      case hlo::XEventKeys::kOffsetPs:
        event.offset_ps = fields.Int();
        break;
      case hlo::XEventKeys::kDurationPs:
        event.duration_ps = fields.Int();
        break;
      case hlo::XEventKeys::kStat:
        event.stats.push_back(fields.Bytes());
        break;
      case hlo::XEventKeys::kOccurrences:
        event.aggregated = true;
        fields.Skip();
        break;
      default:
        fields.Skip();
    }
  }
}

}  // namespace xlatrace::importers::xplane
