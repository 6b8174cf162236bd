// SPDX-License-Identifier: Apache-2.0
#include "hlo/proto/xspace_modules.h"

#include <cstdint>
#include <optional>

#include <protozero/exception.hpp>

#include "hlo/proto/wire.h"
#include "hlo/proto/xspace.h"

namespace xlatrace::hlo {
namespace {

// Calls `visit` for each field of that key.
template <typename Visit>
void Each(std::string_view message, uint32_t key, WirePosition& position, Visit visit) {
  Fields fields(message, position);
  while (fields.Next()) {
    if (fields.Key() == key) {
      visit(fields.Bytes());
    } else {
      fields.Skip();
    }
  }
}

// The metadata of stats may come behind the events that use it.
void AddModulesOfPlane(std::string_view plane, WirePosition& position,
                       std::vector<XSpaceModule>& modules) {
  std::optional<int64_t> hlo_stat;
  Each(plane, XPlaneKeys::kStatMetadataTag, position, [&](std::string_view bytes) {
    const XMapEntry entry = ReadXMapEntry(bytes, position);
    if (IsHloProtoStat(ReadXStatName(entry.value, position))) hlo_stat = entry.key;
  });
  if (!hlo_stat) return;
  Each(plane, XPlaneKeys::kEventMetadataTag, position, [&](std::string_view bytes) {
    const XMapEntry entry = ReadXMapEntry(bytes, position);
    const XEventMetadata event = ReadXEventMetadata(entry.value, position);
    for (const std::string_view raw : event.stats) {
      if (ReadXStatId(raw, position) != *hlo_stat) continue;
      const XStat stat = ReadXStat(raw, position);
      if (stat.kind == XStat::Kind::kBytes && !stat.text.empty()) {
        modules.push_back({event.name, stat.text});
      }
    }
  });
}

}  // namespace

Result<std::vector<XSpaceModule>> ModulesInXSpace(std::string_view xspace) {
  std::vector<XSpaceModule> modules;
  WirePosition position;
  try {
    Each(xspace, XSpaceKeys::kPlaneTag, position,
         [&](std::string_view plane) { AddModulesOfPlane(plane, position, modules); });
  } catch (const protozero::exception& error) {
    return MakeError(DescribeWireError(error, xspace, position));
  }
  return modules;
}

}  // namespace xlatrace::hlo
