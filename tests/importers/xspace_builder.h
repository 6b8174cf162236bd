// SPDX-License-Identifier: Apache-2.0

// Makes small XSpace files for tests, field by field (xplane.proto).

#ifndef XLATRACE_TESTS_IMPORTERS_XSPACE_BUILDER_H_
#define XLATRACE_TESTS_IMPORTERS_XSPACE_BUILDER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <protozero/pbf_writer.hpp>

namespace xlatrace::importers {

struct Ref {
  std::string text;  // Written as ref_value.
};
struct Bytes {
  std::string bytes;
};
using StatValue = std::variant<int64_t, uint64_t, double, std::string, Ref, Bytes>;
using StatList = std::vector<std::pair<std::string, StatValue>>;

class PlaneBuilder {
 public:
  explicit PlaneBuilder(std::string name) : name_(std::move(name)) {}

  PlaneBuilder& Stat(const std::string& name, const StatValue& value) {
    plane_stats_.push_back(EncodeStat(name, value));
    return *this;
  }
  PlaneBuilder& Line(const std::string& name, int64_t id, int64_t timestamp_ns) {
    lines_.emplace_back();
    protozero::pbf_writer line(lines_.back());
    line.add_int64(1, id);
    line.add_string(2, name);
    line.add_int64(3, timestamp_ns);
    return *this;
  }
  // Adds an event to the current line; times in picoseconds.
  PlaneBuilder& Event(const std::string& name, int64_t offset, int64_t duration,
                      const StatList& stats = {}) {
    std::string bytes;
    protozero::pbf_writer event(bytes);
    event.add_int64(1, EventId(name));
    event.add_int64(2, offset);
    event.add_int64(3, duration);
    for (const auto& [key, value] : stats) event.add_message(4, EncodeStat(key, value));
    protozero::pbf_writer(lines_.back()).add_message(4, bytes);
    return *this;
  }
  // num_occurrences in place of a time.
  PlaneBuilder& AggregatedEvent(const std::string& name, int64_t occurrences) {
    std::string bytes;
    protozero::pbf_writer event(bytes);
    event.add_int64(1, EventId(name));
    event.add_int64(5, occurrences);
    protozero::pbf_writer(lines_.back()).add_message(4, bytes);
    return *this;
  }
  PlaneBuilder& RawEvent(const std::string& bytes) {
    protozero::pbf_writer(lines_.back()).add_message(4, bytes);
    return *this;
  }
  // The metadata of an event name, including its display name.
  PlaneBuilder& Metadata(const std::string& name, const StatList& stats,
                         const std::string& display_name = {}) {
    auto& [display, encoded] = metadata_[EventId(name)];
    display = display_name;
    for (const auto& [key, value] : stats) encoded.push_back(EncodeStat(key, value));
    return *this;
  }

  std::string Encode() const {
    std::string bytes;
    protozero::pbf_writer plane(bytes);
    plane.add_int64(1, 7);
    plane.add_string(2, name_);
    for (const std::string& line : lines_) plane.add_message(3, line);
    for (const auto& [name, id] : event_ids_) {
      std::string value;
      protozero::pbf_writer metadata(value);
      metadata.add_int64(1, id);
      metadata.add_string(2, name);
      if (const auto more = metadata_.find(id); more != metadata_.end()) {
        if (!more->second.first.empty()) metadata.add_string(4, more->second.first);
        for (const std::string& stat : more->second.second) metadata.add_message(5, stat);
      }
      plane.add_message(4, MapEntry(id, value));
    }
    for (const auto& [name, id] : stat_ids_) {
      std::string value;
      protozero::pbf_writer metadata(value);
      metadata.add_int64(1, id);
      metadata.add_string(2, name);
      plane.add_message(5, MapEntry(id, value));
    }
    for (const std::string& stat : plane_stats_) plane.add_message(6, stat);
    return bytes;
  }

 private:
  static std::string MapEntry(int64_t key, const std::string& value) {
    std::string bytes;
    protozero::pbf_writer entry(bytes);
    entry.add_int64(1, key);
    entry.add_message(2, value);
    return bytes;
  }
  // Ids as real files have them: events from 1, stats sparse and large.
  int64_t EventId(const std::string& name) {
    return event_ids_.try_emplace(name, static_cast<int64_t>(event_ids_.size()) + 1).first->second;
  }
  int64_t StatId(const std::string& name) {
    return stat_ids_.try_emplace(name, (static_cast<int64_t>(stat_ids_.size()) + 1) * 1'000'003)
        .first->second;
  }
  std::string EncodeStat(const std::string& name, const StatValue& value) {
    std::string bytes;
    protozero::pbf_writer stat(bytes);
    stat.add_int64(1, StatId(name));
    if (const auto* real = std::get_if<double>(&value)) stat.add_double(2, *real);
    if (const auto* number = std::get_if<uint64_t>(&value)) stat.add_uint64(3, *number);
    if (const auto* number = std::get_if<int64_t>(&value)) stat.add_int64(4, *number);
    if (const auto* text = std::get_if<std::string>(&value)) stat.add_string(5, *text);
    if (const auto* raw = std::get_if<Bytes>(&value)) stat.add_bytes(6, raw->bytes);
    if (const auto* ref = std::get_if<Ref>(&value)) {
      stat.add_int64(7, StatId(ref->text));
    }
    return bytes;
  }

  std::string name_;
  std::vector<std::string> lines_;
  std::map<std::string, int64_t> event_ids_;
  std::map<std::string, int64_t> stat_ids_;
  std::map<int64_t, std::pair<std::string, std::vector<std::string>>> metadata_;
  std::vector<std::string> plane_stats_;
};

class SpaceBuilder {
 public:
  SpaceBuilder& Plane(const PlaneBuilder& plane) {
    protozero::pbf_writer(bytes_).add_message(1, plane.Encode());
    return *this;
  }
  SpaceBuilder& Error(const std::string& text) { return Text(2, text); }
  SpaceBuilder& Warning(const std::string& text) { return Text(3, text); }
  SpaceBuilder& Host(const std::string& text) { return Text(4, text); }
  const std::string& bytes() const { return bytes_; }

 private:
  SpaceBuilder& Text(uint32_t field, const std::string& text) {
    protozero::pbf_writer(bytes_).add_string(field, text);
    return *this;
  }
  std::string bytes_;
};

// "Task Environment" with the start all times count from.
inline PlaneBuilder TaskEnvironment(int64_t start_unix_ns) {
  PlaneBuilder plane("Task Environment");
  plane.Stat("profile_start_time", static_cast<uint64_t>(start_unix_ns));
  plane.Stat("profile_stop_time", static_cast<uint64_t>(start_unix_ns + 1'000'000'000));
  return plane;
}

// A little of everything: two GPUs, a TPU, host threads, modules. For corruption tests and fuzzing.
inline std::string MixedSpace() {
  SpaceBuilder space;
  PlaneBuilder metadata("/host:metadata");
  metadata.Metadata("jit_f(3)", {{"Hlo Proto", Bytes{"\x0a\x03"
                                                     "abc"}}});
  space.Plane(metadata);
  for (int device = 0; device < 2; ++device) {
    PlaneBuilder gpu("/device:GPU:" + std::to_string(device));
    gpu.Stat("device_vendor", Ref{"Nvidia"}).Stat("core_count", int64_t{132});
    gpu.Line("Stream #13(Kernel)", 13, 1000);
    for (int i = 0; i < 8; ++i) {
      gpu.Event("loop_add_fusion", i * 10'000, 7'500,
                {{"correlation_id", int64_t{100 + i}},
                 {"kernel_details", Ref{"regs:32 static_shared:0 dynamic_shared:1024 grid:8,1,1 "
                                        "block:128,1,1 occ_pct:62.5"}},
                 {"hlo_op", Ref{"add.1"}},
                 {"hlo_module", Ref{"jit_f"}},
                 {"program_id", uint64_t{3}}});
    }
    gpu.Event("MemcpyH2D", 90'000, 1'000,
              {{"memcpy_details", std::string("kind_src:pinned kind_dst:device size:4096 dest:0 "
                                              "async:1")}});
    space.Plane(gpu);
  }
  PlaneBuilder tpu("/device:TPU:0");
  tpu.Line("XLA Modules", 2, 0).Event("jit_g(18000000000000000000)", 0, 90'000);
  tpu.Line("XLA Ops", 3, 0);
  tpu.Metadata("%while.1 = f32[] while(f32[] %p)",
               {{"program_id", uint64_t{18'000'000'000'000'000'000u}},
                {"source", std::string("model.py:12")},
                {"flops", uint64_t{64}}},
               "while.1");
  tpu.Event("%while.1 = f32[] while(f32[] %p)", 1'000, 80'000);
  tpu.Event("%add.2 = f32[] add(f32[] %a, f32[] %b)", 2'000, 10'000);
  space.Plane(tpu);
  PlaneBuilder host("/host:CPU");
  host.Stat("process_id", int64_t{4242});
  host.Line("Host Threads/77", 77, 0);
  for (int i = 0; i < 8; ++i) {
    host.Event("cuLaunchKernel", i * 9'000, 2'000, {{"correlation_id", int64_t{100 + i}}});
  }
  host.Line("python", -5, 0);
  host.Event("train", 0, 500'000, {{"step_num", int64_t{4}}, {"_r", int64_t{1}}});
  host.Event("PjitFunction(f)", 1'000, 9'000);
  for (int i = 0; i < 6; ++i) {
    host.Event("dot.3", 10'000 + i * 7'000, 6'000,
               {{"hlo_op", Ref{"dot.3"}},
                {"hlo_module", Ref{"jit_h"}},
                {"program_id", int64_t{9}},
                {"run_id", int64_t{-77}},
                {"device_ordinal", int64_t{0}}});
  }
  host.Event("CpuClient::Compile", 600'000, 50'000);
  space.Plane(host).Plane(TaskEnvironment(1'700'000'000'000'000'000)).Host("node1");
  return space.bytes();
}

}  // namespace xlatrace::importers

#endif  // XLATRACE_TESTS_IMPORTERS_XSPACE_BUILDER_H_
