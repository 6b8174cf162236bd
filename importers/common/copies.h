// SPDX-License-Identifier: Apache-2.0

// Names of copies, by CUPTI's numbers of kinds (CUpti_ActivityMemcpyKind, which nsys also exports).

#ifndef XLATRACE_IMPORTERS_COMMON_COPIES_H_
#define XLATRACE_IMPORTERS_COMMON_COPIES_H_

#include <cstdint>
#include <string_view>

#include "model/words.h"

namespace xlatrace::importers {

inline model::CopyKind CopyKindOf(int64_t kind) {
  switch (kind) {
    case 1:
    case 3:
      return model::CopyKind::kHostToDevice;
    case 2:
    case 4:
      return model::CopyKind::kDeviceToHost;
    case 5:
    case 6:
    case 7:
    case 8:
      return model::CopyKind::kDeviceToDevice;
    case 9:
      return model::CopyKind::kHostToHost;
    case 10:
      return model::CopyKind::kPeerToPeer;
    default:
      return model::CopyKind::kUnknown;
  }
}

// XProf's spelling, so that runs of all sources can be compared.
inline std::string_view CopyName(model::CopyKind kind) {
  switch (kind) {
    case model::CopyKind::kHostToDevice:
      return "MemcpyH2D";
    case model::CopyKind::kDeviceToHost:
      return "MemcpyD2H";
    case model::CopyKind::kDeviceToDevice:
      return "MemcpyD2D";
    case model::CopyKind::kPeerToPeer:
      return "MemcpyP2P";
    case model::CopyKind::kHostToHost:
      return "MemcpyH2H";
    case model::CopyKind::kUnknown:
      break;
  }
  return "Memcpy";
}

// Migrations of pages of unified memory by the driver are not copies: their kind is unknown, and
// this is their name. Empty for other kinds.
inline std::string_view MigrationName(int64_t kind) {
  return kind == 11   ? "MigrationH2D"
         : kind == 12 ? "MigrationD2H"
         : kind == 13 ? "MigrationD2D"
                      : std::string_view();
}

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_COPIES_H_
