// SPDX-License-Identifier: Apache-2.0

// The XSpace message of XLA's profiler (.xplane.pb): the only table of its field numbers, and
// readers of messages that fit into memory.
//
// Field numbers: tsl/profiler/protobuf/xplane.proto (unchanged since 2020). Reading throws
// protozero::exception on malformed bytes. The caller that walks a profile reports the place.
//
// Ownership: views into the bytes that are read. Thread-safety: pure.

#ifndef XLATRACE_HLO_PROTO_XSPACE_H_
#define XLATRACE_HLO_PROTO_XSPACE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "hlo/proto/wire.h"

namespace xlatrace::hlo {

struct XSpaceKeys {
  static constexpr uint32_t kPlaneTag = BytesKey(1);
  static constexpr uint32_t kErrorTag = BytesKey(2);
  static constexpr uint32_t kWarningTag = BytesKey(3);
  static constexpr uint32_t kHostnameTag = BytesKey(4);
};

struct XPlaneKeys {
  static constexpr uint32_t kIdTag = VarintKey(1);
  static constexpr uint32_t kNameTag = BytesKey(2);
  static constexpr uint32_t kLineTag = BytesKey(3);
  static constexpr uint32_t kEventMetadataTag = BytesKey(4);  // map<int64, XEventMetadata>
  static constexpr uint32_t kStatMetadataTag = BytesKey(5);   // map<int64, XStatMetadata>
  static constexpr uint32_t kStatTag = BytesKey(6);
};

struct XLineKeys {
  static constexpr uint32_t kIdTag = VarintKey(1);
  static constexpr uint32_t kNameTag = BytesKey(2);
  static constexpr uint32_t kTimestampNsTag = VarintKey(3);
  static constexpr uint32_t kEventTag = BytesKey(4);
  static constexpr uint32_t kDisplayNameTag = BytesKey(11);
};

struct XEventKeys {
  static constexpr uint32_t kMetadataIdTag = VarintKey(1);
  static constexpr uint32_t kOffsetPsTag = VarintKey(2);
  static constexpr uint32_t kDurationPsTag = VarintKey(3);
  static constexpr uint32_t kStatTag = BytesKey(4);
  static constexpr uint32_t kOccurrencesTag = VarintKey(5);
};

// An entry of a map from int64 to messages.
struct XMapEntry {
  int64_t key = 0;
  std::string_view value;
};
XMapEntry ReadXMapEntry(std::string_view bytes, WirePosition& position);

struct XEventMetadata {
  std::string_view name;
  std::string_view display_name;
  std::vector<std::string_view> stats;  // Raw XStat messages.
};
XEventMetadata ReadXEventMetadata(std::string_view bytes, WirePosition& position);

// The name of an XStatMetadata.
std::string_view ReadXStatName(std::string_view bytes, WirePosition& position);

// One named value. `kind` selects the member with the value.
struct XStat {
  enum class Kind : uint8_t { kNone, kDouble, kInt, kText, kBytes, kRef };
  int64_t id = 0;
  Kind kind = Kind::kNone;
  double real = 0;
  int64_t integer = 0;    // kInt: int64, or uint64 of the same bits. kRef: id of a stat metadata.
  std::string_view text;  // kText, kBytes.
};
XStat ReadXStat(std::string_view bytes, WirePosition& position);
// Id of a stat without decoding its value.
int64_t ReadXStatId(std::string_view bytes, WirePosition& position);

// True if this is the name of the stat with a program, as a serialised HloProto.
constexpr bool IsHloProtoStat(std::string_view name) {
  return name == "Hlo Proto" || name == "hlo_proto";
}

// Detects an XSpace by the first bytes of a file. Every writer puts the planes first and, in a
// plane, the name after an optional id. The first plane is longer than any head.
bool LooksLikeXSpace(std::string_view head);
// True if a plane begins so, with a name that profilers give to planes.
bool LooksLikeXPlane(std::string_view head);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_PROTO_XSPACE_H_
