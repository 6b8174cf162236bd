// SPDX-License-Identifier: Apache-2.0
#include "export/trace_packets.h"

namespace xlatrace::exporter {
namespace {

using Writer = protozero::pbf_writer;

constexpr uint32_t kSequenceNumber = 1;
constexpr uint32_t kStateClearedFlag = 1;  // TracePacket.SequenceFlags
constexpr uint32_t kNeedsStateFlag = 2;

enum PacketField : uint32_t {
  kClockSnapshot = 6,
  kTimestamp = 8,
  kSequenceId = 10,
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,
  kTrackDescriptor = 60,
  kFirstPacket = 87,
};
enum EventField : uint32_t {
  kCategoryIids = 3,
  kDebugAnnotations = 4,
  kType = 9,
  kNameIid = 10,
  kTrackUuid = 11,
  kSourceLocationIid = 34,
  kDoubleCounterValue = 44,
  kFlowIds = 47,
  kTerminatingFlowIds = 48,
};
enum EventType : int32_t { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };
enum DescriptorField : uint32_t {
  kUuid = 1,
  kName = 2,
  kProcess = 3,
  kThread = 4,
  kParentUuid = 5,
  kCounterDescriptor = 8,
  kChildOrdering = 11,
  kSiblingRank = 12,
};
constexpr int32_t kExplicitOrderCode = 3;
constexpr uint32_t kSourceLocationsField = 4;  // Field of InternedData.
constexpr uint32_t kBootTimeClockId = 6;       // Clock ids of builtin_clock.proto.
constexpr uint32_t kRealTimeClockId = 1;

}  // namespace

void TracePackets::WritePacket(std::string& packet) {
  if (!status_) return;
  Writer writer(packet);
  writer.add_uint32(kSequenceId, kSequenceNumber);
  writer.add_uint32(kSequenceFlags, first_packet_ ? kStateClearedFlag : kNeedsStateFlag);
  if (first_packet_) writer.add_bool(kFirstPacket, true);
  first_packet_ = false;
  std::string head = "\x0A";  // Trace.packet: field 1, with a length.
  protozero::write_varint(std::back_inserter(head), packet.size());
  status_ = out_(head);
  if (status_) status_ = out_(packet);
}

void TracePackets::Clock(uint64_t trace_ns, uint64_t unix_ns) {
  packet_.clear();
  {
    Writer packet(packet_);
    packet.add_uint64(kTimestamp, trace_ns);
    Writer snapshot(packet, kClockSnapshot);
    for (const auto& [clock, time] :
         {std::pair(kBootTimeClockId, trace_ns), {kRealTimeClockId, unix_ns}}) {
      Writer reading(snapshot, 1);
      reading.add_uint32(1, clock);
      reading.add_uint64(2, time);
    }
  }
  WritePacket(packet_);
}

void TracePackets::WriteDescriptor(const std::string& descriptor) {
  packet_.clear();
  Writer(packet_).add_bytes(kTrackDescriptor, descriptor);
  WritePacket(packet_);
}

uint64_t TracePackets::ProcessTrack(int32_t pid, std::string_view name) {
  std::string bytes;
  {
    Writer descriptor(bytes);
    descriptor.add_uint64(kUuid, ++last_track_);
    descriptor.add_int32(kChildOrdering, kExplicitOrderCode);
    Writer process(descriptor, kProcess);
    process.add_int32(1, pid);
    process.add_string(6, name.data(), name.size());
  }
  WriteDescriptor(bytes);
  return last_track_;
}

uint64_t TracePackets::ThreadTrack(int32_t pid, int32_t tid, std::string_view name) {
  std::string bytes;
  {
    Writer descriptor(bytes);
    descriptor.add_uint64(kUuid, ++last_track_);
    Writer thread(descriptor, kThread);
    thread.add_int32(1, pid);
    thread.add_int32(2, tid);
    thread.add_string(5, name.data(), name.size());
  }
  WriteDescriptor(bytes);
  return last_track_;
}

uint64_t TracePackets::Track(uint64_t parent, std::string_view name) {
  std::string bytes;
  {
    Writer descriptor(bytes);
    descriptor.add_uint64(kUuid, ++last_track_);
    descriptor.add_string(kName, name.data(), name.size());
    descriptor.add_uint64(kParentUuid, parent);
    descriptor.add_int32(kChildOrdering, kExplicitOrderCode);
    descriptor.add_int32(kSiblingRank, children_[parent]++);
  }
  WriteDescriptor(bytes);
  return last_track_;
}

uint64_t TracePackets::CounterTrack(uint64_t parent, std::string_view name, Unit unit) {
  std::string bytes;
  {
    Writer descriptor(bytes);
    descriptor.add_uint64(kUuid, ++last_track_);
    descriptor.add_string(kName, name.data(), name.size());
    descriptor.add_uint64(kParentUuid, parent);
    descriptor.add_int32(kSiblingRank, children_[parent]++);
    Writer counter(descriptor, kCounterDescriptor);
    if (unit == Unit::kBytes) {
      counter.add_int32(3, 3);  // UNIT_SIZE_BYTES
    } else {
      counter.add_string(6, "%");
    }
  }
  WriteDescriptor(bytes);
  return last_track_;
}

uint64_t TracePackets::Intern(Kind kind, std::string_view text) {
  auto& numbers = interned_[kind];
  const auto [at, is_new] = numbers.try_emplace(std::string(text), numbers.size() + 1);
  if (!is_new) return at->second;
  packet_.clear();
  {
    Writer packet(packet_);
    Writer data(packet, kInternedData);
    Writer entry(data, static_cast<uint32_t>(kind));
    entry.add_uint64(1, at->second);
    entry.add_bytes(2, text.data(), text.size());
  }
  WritePacket(packet_);
  return at->second;
}

std::string TracePackets::Annotation(std::string_view name, std::string_view text) {
  if (text.empty()) return {};
  const uint64_t name_iid = Intern(kAnnotationNames, name);
  const uint64_t text_iid = Intern(kTexts, text);
  std::string bytes;
  Writer event(bytes);
  Writer annotation(event, kDebugAnnotations);
  annotation.add_uint64(1, name_iid);
  annotation.add_uint64(17, text_iid);
  annotation.commit();
  return bytes;
}

std::string TracePackets::Annotation(std::string_view name, int64_t value) {
  const uint64_t name_iid = Intern(kAnnotationNames, name);
  std::string bytes;
  Writer event(bytes);
  Writer annotation(event, kDebugAnnotations);
  annotation.add_uint64(1, name_iid);
  annotation.add_int64(4, value);
  annotation.commit();
  return bytes;
}

std::string TracePackets::SourceLocation(std::string_view file, int64_t line) {
  const auto [at, is_new] =
      locations_.try_emplace({std::string(file), line}, locations_.size() + 1);
  if (is_new) {
    packet_.clear();
    {
      Writer packet(packet_);
      Writer data(packet, kInternedData);
      Writer entry(data, kSourceLocationsField);
      entry.add_uint64(1, at->second);
      entry.add_string(2, file.data(), file.size());
      if (line > 0 && line <= INT32_MAX) entry.add_uint32(4, static_cast<uint32_t>(line));
    }
    WritePacket(packet_);
  }
  std::string bytes;
  Writer(bytes).add_uint64(kSourceLocationIid, at->second);
  return bytes;
}

void TracePackets::WriteEvent(uint64_t at_ns, const std::string& event) {
  packet_.clear();
  Writer packet(packet_);
  packet.add_uint64(kTimestamp, at_ns);
  packet.add_bytes(kTrackEvent, event);
  WritePacket(packet_);
}

void TracePackets::Add(const Slice& slice) {
  ++slices_;
  event_.clear();
  {
    Writer event(event_);
    event.add_int32(kType, kBegin);
    event.add_uint64(kTrackUuid, slice.track);
    event.add_uint64(kNameIid, slice.name);
    if (slice.category != 0) event.add_uint64(kCategoryIids, slice.category);
    for (const uint64_t flow : slice.flows_out) event.add_fixed64(kFlowIds, flow);
    if (slice.flow_in != 0) event.add_fixed64(kTerminatingFlowIds, slice.flow_in);
  }
  for (const std::string_view part : slice.parts) event_ += part;
  WriteEvent(slice.begin_ns, event_);
  event_.clear();
  {
    Writer event(event_);
    event.add_int32(kType, kEnd);
    event.add_uint64(kTrackUuid, slice.track);
  }
  WriteEvent(slice.end_ns, event_);
}

void TracePackets::Instant(uint64_t track, uint64_t at_ns, uint64_t name, uint64_t category) {
  event_.clear();
  {
    Writer event(event_);
    event.add_int32(kType, kInstant);
    event.add_uint64(kTrackUuid, track);
    event.add_uint64(kNameIid, name);
    if (category != 0) event.add_uint64(kCategoryIids, category);
  }
  WriteEvent(at_ns, event_);
}

void TracePackets::Counter(uint64_t track, uint64_t at_ns, double value) {
  event_.clear();
  {
    Writer event(event_);
    event.add_int32(kType, kCounter);
    event.add_uint64(kTrackUuid, track);
    event.add_double(kDoubleCounterValue, value);
  }
  WriteEvent(at_ns, event_);
}

}  // namespace xlatrace::exporter
