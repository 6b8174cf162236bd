// SPDX-License-Identifier: Apache-2.0
#include "model/words.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace xlatrace::model {
namespace {

constexpr std::array<std::string_view, 6> kActivityKindTexts = {
    "kernel", "memcpy", "memset", "graph", "op", "range",
};
constexpr std::array<std::string_view, 3> kDeviceKindTexts = {
    "gpu",
    "tpu",
    "cpu",
};
constexpr std::array<std::string_view, 3> kGranularityTexts = {
    "kernel",
    "op",
    "range",
};
constexpr std::array<std::string_view, 7> kPhaseTexts = {
    "unknown", "forward", "loss", "backward", "recompute", "optimizer", "other",
};
constexpr std::array<std::string_view, 16> kOpKindTexts = {
    "other",     "gemm",       "convolution", "attention",      "reduction", "elementwise_fusion",
    "transpose", "copy",       "memset",      "scatter_gather", "sort",      "random",
    "fft",       "collective", "custom_call", "control",
};
constexpr std::array<std::string_view, 3> kConfidenceTexts = {
    "none",
    "inferred",
    "exact",
};
constexpr std::array<std::string_view, 9> kEvidenceTexts = {
    "none",        "annotation", "range",  "graph_node",
    "thunk_order", "cubin",      "symbol", "symbol_across_modules",
    "op_range",
};
constexpr std::array<std::string_view, 11> kReasonTexts = {
    "unknown",          "no_module",          "no_annotation", "instruction_missing",
    "ambiguous_symbol", "ambiguous_module",   "not_xla",       "transfer",
    "autotuning",       "graph_without_body", "eager",
};
constexpr std::array<std::string_view, 5> kOriginTexts = {
    "other", "xla", "xla_library", "framework", "autotune",
};
constexpr std::array<std::string_view, 4> kModuleRoleTexts = {
    "helper",
    "main",
    "init",
    "autotune",
};
constexpr std::array<std::string_view, 5> kModuleSourceTexts = {
    "dump", "proto", "nvtx", "xplane", "annotation",
};
constexpr std::array<std::string_view, 5> kOpNameMethodTexts = {
    "none", "own", "body", "user", "operand",
};
constexpr std::array<std::string_view, 4> kSeverityTexts = {
    "info",
    "notice",
    "data_loss",
    "error",
};
constexpr std::array<std::string_view, 6> kCopyKindTexts = {
    "unknown",          "host_to_device", "device_to_host",
    "device_to_device", "peer_to_peer",   "host_to_host",
};
constexpr std::array<std::string_view, 6> kProcessEndTexts = {
    "unknown", "exit", "signal", "exec", "abort", "running",
};
constexpr std::array<std::string_view, 4> kWindowEndTexts = {
    "end",
    "asked",
    "limit",
    "loss",
};
constexpr std::array<std::string_view, 2> kStepHowTexts = {
    "marked",
    "execution",
};
constexpr std::array<std::string_view, 10> kStepPartTexts = {
    "forward", "loss",    "backward",           "recompute",    "optimizer",
    "other",   "unknown", "exposed_collective", "exposed_copy", "idle",
};
constexpr std::array<std::string_view, 7> kGapCauseTexts = {
    "unknown", "launch_bound", "host", "synchronisation", "copy", "compile", "input",
};

template <typename Enum, size_t N>
std::optional<Enum> Find(const std::array<std::string_view, N>& texts, std::string_view text) {
  const auto it = std::find(texts.begin(), texts.end(), text);
  if (it == texts.end()) return std::nullopt;
  return static_cast<Enum>(it - texts.begin());
}

}  // namespace

template <>
std::span<const std::string_view> Texts<ActivityKind>() {
  return kActivityKindTexts;
}
std::string_view Text(ActivityKind v) { return kActivityKindTexts[static_cast<size_t>(v)]; }

template <>
std::span<const std::string_view> Texts<DeviceKind>() {
  return kDeviceKindTexts;
}
std::string_view Text(DeviceKind v) { return kDeviceKindTexts[static_cast<size_t>(v)]; }

template <>
std::span<const std::string_view> Texts<Granularity>() {
  return kGranularityTexts;
}
std::string_view Text(Granularity v) { return kGranularityTexts[static_cast<size_t>(v)]; }

template <>
std::span<const std::string_view> Texts<Phase>() {
  return kPhaseTexts;
}
std::string_view Text(Phase v) { return kPhaseTexts[static_cast<size_t>(v)]; }

template <>
std::span<const std::string_view> Texts<OpKind>() {
  return kOpKindTexts;
}
std::string_view Text(OpKind v) { return kOpKindTexts[static_cast<size_t>(v)]; }

template <>
std::span<const std::string_view> Texts<Confidence>() {
  return kConfidenceTexts;
}
std::string_view Text(Confidence v) { return kConfidenceTexts[static_cast<size_t>(v)]; }

template <>
std::span<const std::string_view> Texts<Evidence>() {
  return kEvidenceTexts;
}
std::string_view Text(Evidence v) { return kEvidenceTexts[static_cast<size_t>(v)]; }

template <>
std::span<const std::string_view> Texts<Reason>() {
  return kReasonTexts;
}
std::string_view Text(Reason v) { return kReasonTexts[static_cast<size_t>(v)]; }

template <>
std::span<const std::string_view> Texts<Origin>() {
  return kOriginTexts;
}
std::string_view Text(Origin v) { return kOriginTexts[static_cast<size_t>(v)]; }

template <>
std::span<const std::string_view> Texts<ModuleRole>() {
  return kModuleRoleTexts;
}
std::string_view Text(ModuleRole v) { return kModuleRoleTexts[static_cast<size_t>(v)]; }

template <>
std::span<const std::string_view> Texts<ModuleSource>() {
  return kModuleSourceTexts;
}
std::string_view Text(ModuleSource v) { return kModuleSourceTexts[static_cast<size_t>(v)]; }

template <>
std::span<const std::string_view> Texts<OpNameMethod>() {
  return kOpNameMethodTexts;
}
std::string_view Text(OpNameMethod v) { return kOpNameMethodTexts[static_cast<size_t>(v)]; }

template <>
std::span<const std::string_view> Texts<Severity>() {
  return kSeverityTexts;
}
std::string_view Text(Severity v) { return kSeverityTexts[static_cast<size_t>(v)]; }

template <>
std::span<const std::string_view> Texts<CopyKind>() {
  return kCopyKindTexts;
}
std::string_view Text(CopyKind v) { return kCopyKindTexts[static_cast<size_t>(v)]; }

template <>
std::span<const std::string_view> Texts<ProcessEnd>() {
  return kProcessEndTexts;
}
std::string_view Text(ProcessEnd v) { return kProcessEndTexts[static_cast<size_t>(v)]; }

template <>
std::span<const std::string_view> Texts<WindowEnd>() {
  return kWindowEndTexts;
}
std::string_view Text(WindowEnd v) { return kWindowEndTexts[static_cast<size_t>(v)]; }

template <>
std::span<const std::string_view> Texts<StepHow>() {
  return kStepHowTexts;
}
std::string_view Text(StepHow v) { return kStepHowTexts[static_cast<size_t>(v)]; }

template <>
std::span<const std::string_view> Texts<StepPart>() {
  return kStepPartTexts;
}
std::string_view Text(StepPart v) { return kStepPartTexts[static_cast<size_t>(v)]; }

template <>
std::span<const std::string_view> Texts<GapCause>() {
  return kGapCauseTexts;
}
std::string_view Text(GapCause v) { return kGapCauseTexts[static_cast<size_t>(v)]; }

char Letter(Phase v) {
  constexpr std::string_view kLetters = "?FLBRO-";
  return kLetters[static_cast<size_t>(v)];
}

std::optional<Phase> PhaseFromText(std::string_view text) { return Find<Phase>(kPhaseTexts, text); }

std::optional<OpKind> OpKindFromText(std::string_view text) {
  return Find<OpKind>(kOpKindTexts, text);
}

}  // namespace xlatrace::model
