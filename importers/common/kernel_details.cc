// SPDX-License-Identifier: Apache-2.0
#include "importers/common/kernel_details.h"

#include "base/text.h"
#include "importers/common/text_fields.h"

namespace xlatrace::importers {

using model::CopyKind;

namespace {}  // namespace

bool IsDerivedLine(std::string_view name) {
  for (const std::string_view derived :
       {"XLA Modules", "XLA Ops", "Steps", "Framework Ops", "Framework Name Scope", "Source code",
        "Source", "TensorFlow Name Scope", "TensorFlow Ops", "Launch Stats", "Async XLA Ops",
        "XLA TraceMe"}) {
    if (name == derived) return true;
  }
  return false;
}

bool SetLaunchDetails(std::string_view details, model::LaunchConfig& config) {
  ParseTriple(DetailField(details, "grid"), config.grid);
  ParseTriple(DetailField(details, "block"), config.block);
  ParseTriple(DetailField(details, "cluster"), config.cluster);
  constexpr int64_t kMaxRegisters = 1024;  // NVIDIA: 255; AMD: 512 vector registers.
  const std::optional<int64_t> registers = ParseInt(DetailField(details, "regs"));
  if (registers && (*registers < 0 || *registers > kMaxRegisters)) return false;
  if (registers && *registers > 0) config.registers_per_thread = registers;
  config.shared_memory_static_bytes = ParseInt(DetailField(details, "static_shared"));
  config.shared_memory_dynamic_bytes = ParseInt(DetailField(details, "dynamic_shared"));
  if (!config.shared_memory_static_bytes) {  // AMD: static and dynamic together.
    config.shared_memory_static_bytes = ParseInt(DetailField(details, "group_mem"));
  }
  return true;
}

// "[CUDA Unified Memory memcpy HtoD]", "Unified Host-To-Device memcpy", "Page migration HtoD".
std::string_view MigrationNameOf(std::string_view name) {
  if (!Has(name, "Unified") && !Has(name, "igration") && !Has(name, "igrate")) return {};
  for (const std::string_view to_host : {"D2H", "DtoH", "evice-to-Host", "evice-To-Host"}) {
    if (Has(name, to_host)) return "MigrationD2H";
  }
  const bool between = Has(name, "D2D") || Has(name, "DtoD") || Has(name, "P2P");
  return between ? "MigrationD2D" : "MigrationH2D";
}

CopyKind CopyKindOfName(std::string_view name) {
  if (!MigrationNameOf(name).empty()) return CopyKind::kUnknown;
  if (Has(name, "H2D") || Has(name, "HtoD") || Has(name, "HostToDevice")) {
    return CopyKind::kHostToDevice;
  }
  if (Has(name, "D2H") || Has(name, "DtoH") || Has(name, "DeviceToHost")) {
    return CopyKind::kDeviceToHost;
  }
  if (Has(name, "P2P") || Has(name, "PtoP")) return CopyKind::kPeerToPeer;
  if (Has(name, "H2H") || Has(name, "HtoH")) return CopyKind::kHostToHost;
  if (Has(name, "D2D") || Has(name, "DtoD") || Has(name, "DeviceToDevice")) {
    return CopyKind::kDeviceToDevice;
  }
  return CopyKind::kUnknown;
}

CopyKind CopyKindOfEvent(std::string_view name, std::string_view details, int64_t own_ordinal,
                         int64_t device_count) {
  const CopyKind named = CopyKindOfName(name);
  if (named == CopyKind::kDeviceToDevice) {
    // `dest` is the other GPU.
    const std::optional<int64_t> dest = ParseInt(DetailField(details, "dest"));
    const bool to_peer = dest && *dest >= 0 && *dest < device_count && *dest != own_ordinal;
    return to_peer ? CopyKind::kPeerToPeer : CopyKind::kDeviceToDevice;
  }
  if (named != CopyKind::kUnknown) return named;
  const std::string_view from = DetailField(details, "kind_src");
  const std::string_view to = DetailField(details, "kind_dst");
  if (from.empty() || to.empty()) return CopyKind::kUnknown;
  const bool from_device = from == "device" || from == "array" || from == "device_static";
  const bool to_device = to == "device" || to == "array" || to == "device_static";
  if (from_device) return to_device ? CopyKind::kDeviceToDevice : CopyKind::kDeviceToHost;
  return to_device ? CopyKind::kHostToDevice : CopyKind::kHostToHost;
}

int64_t BytesOfDetails(std::string_view details) {
  int64_t bytes = -1;
  for (const std::string_view key : {"size", "num_bytes", "bytes"}) {
    if (const auto size = ParseInt(DetailField(details, key)); size && *size > 0) bytes = *size;
  }
  return bytes;
}

}  // namespace xlatrace::importers
