// SPDX-License-Identifier: Apache-2.0
#include "importers/known_formats.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include "base/shell_word.h"
#include "base/text.h"
#include "dumps/file_kind.h"

namespace xlatrace::importers {
namespace {

bool HasAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return Has(text, part); });
}

// The first bytes of an OpMetricsDb inside an OpStats message, or a name that XProf gives it.
bool LooksLikeOpStats(const std::string& path, std::string_view head) {
  const bool named = Has(path, "op_stats") && path.ends_with(".pb");
  return named || (head.starts_with('\x0a') && Has(head.substr(0, 256), "IDLE") &&
                   Has(head.substr(0, 256), "XlaModule"));
}

std::optional<KnownFormat> FindJson(const std::string& path, std::string_view head) {
  if (Has(head, "\"traceEvents\"")) return std::nullopt;
  constexpr std::string_view kProfiler =
      "profile with JAX (jax.profiler.trace, .xplane.pb) or PyTorch (prof.export_chrome_trace)";
  if (Has(head, "\"rocprofiler-sdk-")) {
    return KnownFormat{"is JSON of rocprofv3, which xlatrace does not read",
                       std::string(kProfiler)};
  }
  // nsys export --type json: a line per event.
  if (HasAny(head, {"\"CudaEvent\"", "\"NvtxEvent\"", "\"TraceProcessEvent\"", "\"GlobalVid\"",
                    "\"TargetSystemInformation\""})) {
    return KnownFormat{"is a JSON export of Nsight Systems, of which xlatrace reads SQLite exports",
                       "nsys export --type sqlite REPORT.nsys-rep"};
  }
  // Horovod's phases of a tensor (horovod/common/common.h).
  if (HasAny(head, {"\"NEGOTIATE_", "\"WAIT_FOR_DATA\"", "\"MEMCPY_IN_FUSION_BUFFER\""})) {
    return KnownFormat{
        "is a timeline of Horovod: phases of tensors on the host, no device work",
        "nsys profile --trace cuda,nvtx -o REPORT python train.py, then: nsys export "
        "--type sqlite REPORT.nsys-rep"};
  }
  // XProf's tools: tables of Google Charts, or op_profile.
  const bool is_chart = Has(head, "\"cols\"") && (Has(head, "\"rows\"") || Has(head, "\"p\""));
  if (is_chart || HasAny(head, {"\"byProgram\"", "\"byCategory\"", "\"byProgramExcludeIdle\""})) {
    return KnownFormat{"is a table that a tool of XProf computed from a profile",
                       fmt::format("import the .xplane.pb of the session: ls {}/*.xplane.pb",
                                   ShellWord(path.find('/') == std::string::npos
                                                 ? "."
                                                 : path.substr(0, path.rfind('/'))))};
  }
  return std::nullopt;
}

}  // namespace

bool LooksLikeNsightReport(const std::string& path, std::string_view head) {
  return head.starts_with("QDSTRM") || Has(head.substr(0, 4096), "NVIDIA Nsight Systems") ||
         path.ends_with(".nsys-rep") || path.ends_with(".qdrep");
}

std::optional<KnownFormat> FindKnownFormat(const std::string& path, std::string_view head) {
  using dumps::FileKind;
  const FileKind kind = dumps::KindOfContent(head);
  if (kind == FileKind::kJson || head.starts_with('{') || head.starts_with('[')) {
    return FindJson(path, head);
  }
  if (LooksLikeOpStats(path, head)) {
    return KnownFormat{"is op_stats that XProf computed from a profile: sums without times",
                       "import the .xplane.pb of the session"};
  }
  if (kind == FileKind::kHloProto || kind == FileKind::kHloTextProto) {
    return KnownFormat{"is a program (HLO), not a recording",
                       fmt::format("xlatrace explain {0}; with a recording: xlatrace import TRACE "
                                   "--modules {0}",
                                   ShellWord(path))};
  }
  return std::nullopt;
}

}  // namespace xlatrace::importers
