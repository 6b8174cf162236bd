// SPDX-License-Identifier: Apache-2.0

// A profile as a file: hlo/proto/xspace.h reads its messages; here, in memory only what is not
// events.
//
// Lines are nearly all of a large profile and precede the names that they refer to. So a plane
// keeps the places of its lines and a copy of everything else. The events of a line are read from
// the file one by one.
//
// Damage is local. A message that does not parse is left out and counted, and reading goes on with
// the next message that is certain to be one. A message that ends behind its parent gives what is
// there of it.
//
// Ownership: a Space borrows the source; its text is views into its planes. Thread-safety: one
// thread.

#ifndef XLATRACE_IMPORTERS_XPLANE_XPLANE_READER_H_
#define XLATRACE_IMPORTERS_XPLANE_XPLANE_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/byte_source.h"
#include "hlo/proto/xspace.h"
#include "importers/common/field_stream.h"

namespace xlatrace::importers::xplane {

using Stat = hlo::XStat;
using EventMetadata = hlo::XEventMetadata;

inline Stat ReadStat(std::string_view bytes) {
  hlo::WirePosition position;
  return hlo::ReadXStat(bytes, position);
}
// Id of a stat without decoding its value.
inline int64_t ReadStatId(std::string_view bytes) {
  hlo::WirePosition position;
  return hlo::ReadXStatId(bytes, position);
}

// Finds items by a 64-bit id: dense array where ids are small, hash map where they are not.
class IdIndex {
 public:
  void Build(const std::vector<int64_t>& ids);
  // Position in the list given to Build (the last one of that id), or -1.
  int64_t Find(int64_t id) const {
    if (static_cast<uint64_t>(id) < dense_.size()) return dense_[static_cast<size_t>(id)];
    if (sparse_.empty()) return -1;
    const auto it = sparse_.find(id);
    return it == sparse_.end() ? -1 : it->second;
  }

 private:
  std::vector<int32_t> dense_;
  std::unordered_map<int64_t, int32_t> sparse_;
};

// An XLine message in the source.
struct Line {
  const ByteSource* source = nullptr;
  ByteRange bytes;
  bool cut = false;  // Its end lies behind the plane.
};

struct Plane {
  Plane() = default;
  Plane(Plane&&) noexcept = default;  // Never copied: the views would stay with the first.
  Plane(const Plane&) = delete;
  Plane& operator=(const Plane&) = delete;

  // Everything except the lines, as in the file; views point into it.
  std::vector<char> rest;
  std::string_view name;
  std::vector<Line> lines;
  std::vector<EventMetadata> events;
  std::vector<std::string_view> stat_names;
  IdIndex event_index;  // XEvent.metadata_id -> events.
  IdIndex stat_index;   // XStat.metadata_id -> stat_names.
  std::vector<Stat> stats;
  bool damaged = false;  // Names or stats may be missing.

  std::string_view StatName(int64_t id) const {
    const int64_t i = stat_index.Find(id);
    return i < 0 ? std::string_view() : stat_names[static_cast<size_t>(i)];
  }
  // Text of a stat: its own or the referred name; empty when it is a number.
  std::string_view TextOf(const Stat& stat) const {
    return stat.kind == Stat::Kind::kRef ? StatName(stat.integer) : stat.text;
  }
  const Stat* FindStat(std::string_view stat_name) const;
  std::optional<int64_t> IntStat(std::string_view stat_name) const;
  std::optional<double> RealStat(std::string_view stat_name) const;
  std::string_view TextStat(std::string_view stat_name) const;
};

// The first place of a file that does not parse.
struct Damage {
  uint64_t offset = 0;  // Where the message begins.
  std::string reason;
};

struct Space {
  std::vector<Plane> planes;
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
  std::vector<std::string> hostnames;
  std::optional<Damage> first_damage;
  int64_t damaged_messages = 0;  // Planes, and parts of planes that are no lines.
};

// Reads everything but the lines.
Space ReadSpace(const ByteSource& source);

struct LineHeader {
  int64_t id = 0;
  std::string name;
  std::string display_name;
  int64_t timestamp_ns = 0;
  int64_t event_count = 0;
  bool damaged = false;  // Part of the line does not parse.
};

LineHeader ReadLineHeader(const Line& line);

struct Event {
  int64_t metadata_id = 0;
  int64_t offset_ps = 0;
  int64_t duration_ps = 0;
  bool aggregated = false;              // num_occurrences instead of a time.
  std::vector<std::string_view> stats;  // Raw XStat messages; memory is reused.
};

void ReadEvent(std::string_view bytes, Event& event);

// Next field of a line, behind damage too, which sets *damaged. False at the end.
bool NextInLine(FieldStream& stream, bool* damaged);

// Calls f(event) for every event of a line; the event and the bytes it looks at are reused. Returns
// the number of events that do not parse. f may throw for those before it has added a row.
template <typename F>
int64_t ForEachEvent(const Line& line, F&& f) {
  FieldStream stream(*line.source, line.bytes);
  Event event;
  int64_t damaged_events = 0;
  bool damaged = false;
  while (NextInLine(stream, &damaged)) {
    if (stream.key() != hlo::XLineKeys::kEventTag) continue;
    try {
      ReadEvent(stream.View(), event);
      f(event);
    } catch (const protozero::exception&) {
      ++damaged_events;
    }
  }
  return damaged_events;
}

}  // namespace xlatrace::importers::xplane

#endif  // XLATRACE_IMPORTERS_XPLANE_XPLANE_READER_H_
