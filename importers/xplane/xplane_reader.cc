// SPDX-License-Identifier: Apache-2.0
#include "importers/xplane/xplane_reader.h"

#include <algorithm>

#include <protozero/exception.hpp>

namespace xlatrace::importers::xplane {
namespace {

using hlo::XPlaneKeys;

// The error in words; protozero's own is "end of buffer exception".
std::string Reason(const protozero::exception& error) {
  if (dynamic_cast<const protozero::end_of_buffer_exception*>(&error) != nullptr) {
    return "cut off, or damaged, in the message that begins";
  }
  if (dynamic_cast<const protozero::unknown_pbf_wire_type_exception*>(&error) != nullptr) {
    return "an unknown wire type in the message that begins";
  }
  if (dynamic_cast<const protozero::varint_too_long_exception*>(&error) != nullptr) {
    return "a number of more than ten bytes in the message that begins";
  }
  return "an impossible field in the message that begins";
}

void NoteDamage(Space& space, uint64_t offset, const protozero::exception& error) {
  ++space.damaged_messages;
  if (!space.first_damage) space.first_damage = Damage{offset, Reason(error)};
}

bool SkipVarint(std::string_view& text) {
  for (size_t i = 0; i < std::min<size_t>(text.size(), 10); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0x80) != 0) continue;
    text.remove_prefix(i + 1);
    return true;
  }
  return false;
}

bool TakeKey(std::string_view& text, uint32_t key) {
  if (text.empty() || static_cast<unsigned char>(text.front()) != key) return false;
  text.remove_prefix(1);
  return true;
}

// "id" (may be absent) and "name" are the first fields of planes and lines.
bool StartsWithName(std::string_view head) {
  if (TakeKey(head, hlo::VarintKey(1)) && !SkipVarint(head)) return false;
  return TakeKey(head, hlo::BytesKey(2));
}

bool BeginsPlane(uint32_t key, uint64_t /*size*/, std::string_view head) {
  return key == hlo::XSpaceKeys::kPlaneTag && hlo::LooksLikeXPlane(head);
}

// Lines and entries of the two maps. An event, which has the key of an entry, begins with other
// fields; nothing inside a line begins as a line does.
bool BeginsPartOfPlane(uint32_t key, uint64_t size, std::string_view head) {
  if (key == XPlaneKeys::kLineTag) return StartsWithName(head);
  if (key != XPlaneKeys::kEventMetadataTag && key != XPlaneKeys::kStatMetadataTag) return false;
  const size_t shown = head.size();
  if (!TakeKey(head, hlo::VarintKey(1)) || !SkipVarint(head)) return false;
  if (!TakeKey(head, hlo::BytesKey(2)) || head.empty()) return false;
  const char* at = head.data();
  try {
    const uint64_t value = protozero::decode_varint(&at, head.data() + head.size());
    return shown - head.size() + static_cast<uint64_t>(at - head.data()) + value == size;
  } catch (const protozero::exception&) {
    return false;
  }
}

// Stats, which have the same key inside an event, have no offset.
bool BeginsEvent(uint32_t key, uint64_t /*size*/, std::string_view head) {
  return key == hlo::XLineKeys::kEventTag && TakeKey(head, hlo::XEventKeys::kMetadataIdTag) &&
         SkipVarint(head) && TakeKey(head, hlo::XEventKeys::kOffsetPsTag);
}

// Splits a plane into lines, which stay where they are, and the rest, which is copied.
void CollectPlane(const ByteSource& source, ByteRange bytes, Plane& plane, Space& space) {
  FieldStream stream(source, bytes);
  while (true) {
    try {
      if (!stream.Next()) return;
      if (stream.key() == XPlaneKeys::kLineTag) {
        plane.lines.push_back({&source, stream.Payload()});
      } else {
        stream.AppendTo(plane.rest);
      }
    } catch (const protozero::exception& error) {
      NoteDamage(space, stream.field_offset(), error);
      plane.damaged = true;
      const ByteRange remains = stream.Remains();
      const bool is_line = remains.size > 0 && stream.key() == XPlaneKeys::kLineTag;
      // A length that is damaged itself may reach over sound parts.
      stream.Resume(BeginsPartOfPlane);
      if (is_line) {
        plane.lines.push_back(
            {&source, {remains.offset, stream.next_offset() - remains.offset}, true});
      }
    }
  }
}

void ReadRest(uint64_t offset, Plane& plane, Space& space) {
  std::vector<int64_t> event_ids;
  std::vector<int64_t> stat_ids;
  hlo::WirePosition position;
  hlo::Fields fields({plane.rest.data(), plane.rest.size()}, position);
  const auto read_field = [&] {
    switch (fields.Key()) {
      case XPlaneKeys::kNameTag:
        plane.name = fields.Bytes();
        break;
      case XPlaneKeys::kEventMetadataTag: {
        const hlo::XMapEntry entry = hlo::ReadXMapEntry(fields.Bytes(), position);
        EventMetadata metadata = hlo::ReadXEventMetadata(entry.value, position);
        event_ids.push_back(entry.key);
        plane.events.push_back(std::move(metadata));
        break;
      }
      case XPlaneKeys::kStatMetadataTag: {
        const hlo::XMapEntry entry = hlo::ReadXMapEntry(fields.Bytes(), position);
        const std::string_view name = hlo::ReadXStatName(entry.value, position);
        stat_ids.push_back(entry.key);
        plane.stat_names.push_back(name);
        break;
      }
      case XPlaneKeys::kStatTag:
        plane.stats.push_back(hlo::ReadXStat(fields.Bytes(), position));
        break;
      default:
        fields.Skip();
    }
  };
  while (fields.Next()) {  // Whole fields: CollectPlane read their keys and lengths.
    try {
      read_field();
    } catch (const protozero::exception& error) {
      NoteDamage(space, offset, error);
      plane.damaged = true;
    }
  }
  plane.event_index.Build(event_ids);
  plane.stat_index.Build(stat_ids);
}

void AddPlane(const ByteSource& source, ByteRange bytes, Space& space) {
  Plane plane;
  CollectPlane(source, bytes, plane, space);
  ReadRest(bytes.offset, plane, space);
  space.planes.push_back(std::move(plane));
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

Space ReadSpace(const ByteSource& source) {
  Space space;
  FieldStream stream(source, {0, source.size()});
  while (true) {
    try {
      if (!stream.Next()) return space;
      switch (stream.key()) {
        case hlo::XSpaceKeys::kPlaneTag:
          AddPlane(source, stream.Payload(), space);
          break;
        case hlo::XSpaceKeys::kErrorTag:
          space.errors.emplace_back(stream.View());
          break;
        case hlo::XSpaceKeys::kWarningTag:
          space.warnings.emplace_back(stream.View());
          break;
        case hlo::XSpaceKeys::kHostnameTag:
          space.hostnames.emplace_back(stream.View());
          break;
        default:
          break;
      }
    } catch (const protozero::exception& error) {
      NoteDamage(space, stream.field_offset(), error);
      const ByteRange remains = stream.Remains();
      const bool is_plane = remains.size > 0 && stream.key() == hlo::XSpaceKeys::kPlaneTag;
      stream.Resume(BeginsPlane);
      if (is_plane) {
        AddPlane(source, {remains.offset, stream.next_offset() - remains.offset}, space);
        space.planes.back().damaged = true;
      }
    }
  }
}

bool NextInLine(FieldStream& stream, bool* damaged) {
  while (true) {
    try {
      return stream.Next();
    } catch (const protozero::exception&) {
      *damaged = true;
      stream.Resume(BeginsEvent);
    }
  }
}

LineHeader ReadLineHeader(const Line& line) {
  LineHeader header;
  FieldStream stream(*line.source, line.bytes);
  header.damaged = line.cut;
  while (NextInLine(stream, &header.damaged)) {
    switch (stream.key()) {
      case hlo::XLineKeys::kIdTag:
        header.id = static_cast<int64_t>(stream.Varint());
        break;
      case hlo::XLineKeys::kNameTag:
        header.name = stream.View();
        break;
      case hlo::XLineKeys::kTimestampNsTag:
        header.timestamp_ns = static_cast<int64_t>(stream.Varint());
        break;
      case hlo::XLineKeys::kEventTag:
        ++header.event_count;
        break;
      case hlo::XLineKeys::kDisplayNameTag:
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
      case hlo::XEventKeys::kMetadataIdTag:
        event.metadata_id = fields.Int();
        break;
      case hlo::XEventKeys::kOffsetPsTag:
        event.offset_ps = fields.Int();
        break;
      case hlo::XEventKeys::kDurationPsTag:
        event.duration_ps = fields.Int();
        break;
      case hlo::XEventKeys::kStatTag:
        event.stats.push_back(fields.Bytes());
        break;
      case hlo::XEventKeys::kOccurrencesTag:
        event.aggregated = true;
        fields.Skip();
        break;
      default:
        fields.Skip();
    }
  }
}

}  // namespace xlatrace::importers::xplane
