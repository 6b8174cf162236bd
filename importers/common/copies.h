// SPDX-License-Identifier: Apache-2.0

// Names of copies, as CUPTI numbers their kinds (CUpti_ActivityMemcpyKind, which nsys exports too).

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

// The spelling of XProf, so that runs of all sources compare.
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

// Pages of unified memory that the driver moves are no copies: their kind is unknown, their name is
// this. Empty: the kind is another one.
inline std::string_view MigrationName(int64_t kind) {
  return kind == 11   ? "MigrationH2D"
         : kind == 12 ? "MigrationD2H"
         : kind == 13 ? "MigrationD2D"
                      : std::string_view();
}

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_COPIES_H_
