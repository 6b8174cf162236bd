// The XSpace message as views into the file's bytes: no copy, no generated code.
//
// Field numbers: tsl/profiler/protobuf/xplane.proto (unchanged since 2020). Reading throws
// protozero::exception on malformed bytes; xplane.cc turns that into an error or a run stat.
//
// Ownership: everything is a view into the bytes given to ReadSpace. Thread-safety: plain values.

#ifndef XLATRACE_IMPORTERS_XPLANE_READER_H_
#define XLATRACE_IMPORTERS_XPLANE_READER_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <protozero/pbf_reader.hpp>

namespace xlatrace::importers::xplane {

// XStat: one named value. Which member holds it is in `kind`.
struct Stat {
  enum class Kind : uint8_t { kNone, kDouble, kInt, kText, kBytes, kRef };
  int64_t id = 0;
  Kind kind = Kind::kNone;
  double real = 0;
  int64_t integer = 0;    // kInt: int64, or uint64 of the same bits. kRef: id of a stat metadata.
  std::string_view text;  // kText, kBytes.
};

Stat ReadStat(std::string_view bytes);

// Id of a stat without decoding its value.
int64_t ReadStatId(std::string_view bytes);

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

struct EventMetadata {
  std::string_view name;
  std::string_view display_name;
  std::vector<std::string_view> stats;  // Raw XStat messages.
};

struct Plane {
  std::string_view name;
  std::vector<std::string_view> lines;  // Raw XLine messages.
  std::vector<EventMetadata> events;
  std::vector<std::string_view> stat_names;
  IdIndex event_index;  // XEvent.metadata_id -> events.
  IdIndex stat_index;   // XStat.metadata_id -> stat_names.
  std::vector<Stat> stats;

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

struct Space {
  std::vector<Plane> planes;
  std::vector<std::string_view> errors;
  std::vector<std::string_view> warnings;
  std::vector<std::string_view> hostnames;
};

// Reads everything but the lines. `*cursor` follows the reading, for the place of an error.
Space ReadSpace(std::string_view bytes, const char** cursor);

struct LineHeader {
  int64_t id = 0;
  std::string_view name;
  std::string_view display_name;
  int64_t timestamp_ns = 0;
  int64_t event_count = 0;
};

LineHeader ReadLineHeader(std::string_view line);

struct Event {
  int64_t metadata_id = 0;
  int64_t offset_ps = 0;
  int64_t duration_ps = 0;
  bool aggregated = false;              // num_occurrences instead of a time.
  std::vector<std::string_view> stats;  // Raw XStat messages; memory is reused.
};

void ReadEvent(std::string_view bytes, Event& event);

// Calls f(event) for every event of a raw line; the event is reused.
template <typename F>
void ForEachEvent(std::string_view line, F&& f) {
  protozero::pbf_reader reader(line.data(), line.size());
  Event event;
  while (reader.next()) {
    if (reader.tag() == 4 && reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      const auto view = reader.get_view();
      ReadEvent(std::string_view(view.data(), view.size()), event);
      f(event);
    } else {
      reader.skip();
    }
  }
}

}  // namespace xlatrace::importers::xplane

#endif  // XLATRACE_IMPORTERS_XPLANE_READER_H_
