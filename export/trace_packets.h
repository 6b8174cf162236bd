// SPDX-License-Identifier: Apache-2.0

// Perfetto's TracePacket messages, written one by one: tracks, slices, counters, interned texts.
//
// Field numbers: google/perfetto protos/perfetto/trace (v58): trace_packet.proto,
// track_event/*.proto. Errors: the first error of the file is stored, later calls do nothing, and
// Finish returns the error. Thread-safety: one thread.

#ifndef XLATRACE_EXPORT_TRACE_PACKETS_H_
#define XLATRACE_EXPORT_TRACE_PACKETS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <protozero/pbf_writer.hpp>

#include "base/error.h"

namespace xlatrace::exporter {

class TracePackets {
 public:
  explicit TracePackets(std::function<Status(std::string_view)> out) : out_(std::move(out)) {}

  // Writes that trace time `trace_ns` is the time of day `unix_ns`.
  void Clock(uint64_t trace_ns, uint64_t unix_ns);

  // Creates a track and returns its uuid. Children of a track keep the order of creation.
  uint64_t ProcessTrack(int32_t pid, std::string_view name);
  uint64_t ThreadTrack(int32_t pid, int32_t tid, std::string_view name);
  uint64_t Track(uint64_t parent, std::string_view name);
  enum class Unit { kPercent, kBytes };
  uint64_t CounterTrack(uint64_t parent, std::string_view name, Unit unit);

  // Parts of a slice, made once for many: bytes of TrackEvent fields.
  std::string Annotation(std::string_view name, std::string_view text);
  std::string Annotation(std::string_view name, int64_t value);
  std::string SourceLocation(std::string_view file, int64_t line);
  uint64_t Name(std::string_view text) { return Intern(kEventNames, text); }
  uint64_t Category(std::string_view text) { return Intern(kCategories, text); }

  struct Slice {
    uint64_t track = 0;
    uint64_t begin_ns = 0;
    uint64_t end_ns = 0;
    uint64_t name = 0;      // Result of Name.
    uint64_t category = 0;  // Result of Category; 0: none.
    std::string_view parts[3];
    std::span<const uint64_t> flows_out = {};  // Arrows that begin here.
    uint64_t flow_in = 0;                      // An arrow that ends here; 0: none.
  };
  void Add(const Slice& slice);
  void Instant(uint64_t track, uint64_t at_ns, uint64_t name, uint64_t category);
  void Counter(uint64_t track, uint64_t at_ns, double value);

  int64_t slices() const { return slices_; }
  Status Finish() { return std::move(status_); }

 private:
  // Fields of InternedData.
  enum Kind { kCategories = 1, kEventNames = 2, kAnnotationNames = 3, kTexts = 29 };

  uint64_t Intern(Kind kind, std::string_view text);
  void WriteDescriptor(const std::string& descriptor);
  // `event`: bytes of a TrackEvent.
  void WriteEvent(uint64_t at_ns, const std::string& event);
  void WritePacket(std::string& packet);

  std::function<Status(std::string_view)> out_;
  Status status_;
  std::unordered_map<std::string, uint64_t> interned_[30];
  std::map<std::pair<std::string, int64_t>, uint64_t> locations_;
  std::unordered_map<uint64_t, int32_t> children_;
  uint64_t last_track_ = 0;
  int64_t slices_ = 0;
  bool first_packet_ = true;
  std::string packet_, event_;
};

}  // namespace xlatrace::exporter

#endif  // XLATRACE_EXPORT_TRACE_PACKETS_H_
