// SPDX-License-Identifier: Apache-2.0
#include "report/shown_words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/terminal.h"
#include "model/gap_words.h"

namespace xlatrace::report {
namespace {

using model::Phase;
using model::StepPart;

std::string_view BaseName(std::string_view path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

template <typename Words>
std::string_view Look(const Words& words, std::string_view key, std::string_view if_none) {
  for (const auto& [word, text] : words) {
    if (word == key) return text;
  }
  return if_none;
}

}  // namespace

namespace {

// "python", "/usr/bin/python3.10".
bool IsPython(std::string_view program) {
  constexpr std::string_view kName = "python";
  program = BaseName(program);
  return program.starts_with(kName) &&
         program.find_first_not_of("0123456789.", kName.size()) == program.npos;
}

}  // namespace

std::string TitleOf(std::string_view command, std::string_view path) {
  std::string_view first, before;
  for (size_t at = 0; at < command.size();) {
    const size_t end = std::min(command.find(' ', at), command.size());
    const std::string_view word = command.substr(at, end - at);
    if (word.ends_with(".py")) return std::string(BaseName(word));
    if (before == "-m" && IsPython(first)) return std::string(word);
    if (first.empty()) first = word;
    before = word;
    at = end + 1;
  }
  return std::string(BaseName(first.empty() || IsPython(first) ? path : first));
}

std::string Counted(int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", Thousands(count), count == 1 ? one : many);
}

std::string DateOf(std::string_view unix_ns) {
  int64_t ns = 0;
  const auto parsed = std::from_chars(unix_ns.data(), unix_ns.data() + unix_ns.size(), ns);
  if (parsed.ec != std::errc() || parsed.ptr != unix_ns.data() + unix_ns.size()) return {};
  const auto seconds = static_cast<std::time_t>(ns / 1'000'000'000);
  std::tm utc{};
  if (seconds <= 0 || gmtime_r(&seconds, &utc) == nullptr) return {};
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min);
}

Phase PhaseOrUnknown(std::string_view text) {
  return model::PhaseFromText(text).value_or(Phase::kUnknown);
}

model::Severity SeverityFromText(std::string_view text) {
  using model::Severity;
  for (const Severity s : {Severity::kInfo, Severity::kDataLoss, Severity::kError}) {
    if (Text(s) == text) return s;
  }
  return Severity::kNotice;
}

std::optional<StepPart> StepPartFromText(std::string_view text) {
  for (const StepPart part : kPartOrder) {
    if (Text(part) == text) return part;
  }
  return std::nullopt;
}

std::string_view PhaseWords(Phase phase) {
  return phase == Phase::kUnknown ? "no phase" : Text(phase);
}

std::string PhaseWords(const std::string& word) {
  const auto phase = model::PhaseFromText(word);
  return phase ? std::string(PhaseWords(*phase)) : word;
}

std::string_view PartWords(StepPart part) {
  switch (part) {
    case StepPart::kUnknown:
      return PhaseWords(Phase::kUnknown);
    case StepPart::kExposedCollective:
      return "exposed collectives";
    case StepPart::kExposedCopy:
      return "exposed copies";
    default:
      return Text(part);
  }
}

std::string PhaseLetter(Phase phase) { return std::string(1, model::Letter(phase)); }

std::string PartLetter(StepPart part) {
  switch (part) {
    case StepPart::kExposedCollective:
      return "C";
    case StepPart::kExposedCopy:
      return "M";
    case StepPart::kIdle:
      return "\u00b7";
    default:
      return PhaseLetter(PhaseOrUnknown(Text(part)));
  }
}

std::string_view PartColor(StepPart part) {
  switch (part) {
    case StepPart::kExposedCollective:
      return "collective";
    case StepPart::kExposedCopy:
      return "copy";
    default:
      return Text(part);
  }
}

std::string_view WorkColor(analysis::KernelClass work) {
  switch (work) {
    case analysis::KernelClass::kProduct:
      return "product";
    case analysis::KernelClass::kAttention:
      return "attention";
    case analysis::KernelClass::kConvolution:
      return "convolution";
    case analysis::KernelClass::kCollective:
      return "collective";
    case analysis::KernelClass::kNorm:
      return "norm";
    case analysis::KernelClass::kElementwise:
      return "elementwise";
    case analysis::KernelClass::kEmbedding:
      return "embedding";
    case analysis::KernelClass::kSort:
      return "sort";
    case analysis::KernelClass::kOther:
      break;
  }
  return "other";
}

std::string_view WorkLetter(analysis::KernelClass work) {
  switch (work) {
    case analysis::KernelClass::kProduct:
      return "P";
    case analysis::KernelClass::kAttention:
      return "A";
    case analysis::KernelClass::kConvolution:
      return "V";
    case analysis::KernelClass::kCollective:
      return "C";
    case analysis::KernelClass::kNorm:
      return "N";
    case analysis::KernelClass::kElementwise:
      return "E";
    case analysis::KernelClass::kEmbedding:
      return "T";
    case analysis::KernelClass::kSort:
      return "S";
    case analysis::KernelClass::kOther:
      break;
  }
  return "-";
}

std::string KindWords(std::string_view op_kind, bool narrow) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kNarrow = {
      {{"elementwise_fusion", "elementwise"},
       {"scatter_gather", "scatter"},
       {"custom_call", "custom call"},
       {"convolution", "convolution"}}};
  std::string text(narrow ? Look(kNarrow, op_kind, op_kind) : op_kind);
  if (op_kind == "scatter_gather" && !narrow) return "scatter, gather";
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string_view ReasonWords(std::string_view reason) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kWords = {
      {{"unknown", "no reason found; please report this run"},
       {"no_module", "an XLA op whose module is not in the run"},
       {"no_annotation",
        "the module is known, but the recording does not identify the instruction"},
       {"instruction_missing", "the recorded instruction is not in its module"},
       {"ambiguous_symbol", "several instructions have this kernel and cannot be distinguished"},
       {"ambiguous_module", "several modules have this kernel and cannot be distinguished"},
       {"not_xla", "launched by the framework or a library, outside XLA"},
       {"transfer", "copy or memset issued by the runtime, outside any module"},
       {"autotuning", "candidate kernels tried while compiling"},
       {"graph_without_body", "a CUDA graph whose kernels are not known"},
       {"eager", "eager: wrap in tf.function"}}};
  return Look(kWords, reason, reason);
}

std::string_view EvidenceWords(std::string_view evidence) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kWords = {
      {{"annotation", "the profiler's annotation on the record"},
       {"range", "NVTX range around the launch"},
       {"graph_node", "CUDA graph node made under a range"},
       {"thunk_order", "order of the module's thunk list"},
       {"cubin", "identity of the loaded code"},
       {"symbol", "kernel name in the module that ran"},
       {"symbol_across_modules", "kernel name, module deduced"},
       {"op_range", "the framework's own op around the launch"}}};
  return Look(kWords, evidence, evidence);
}

std::string_view CauseWords(std::string_view cause) {
  const auto texts = model::Texts<model::GapCause>();
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i] == cause) return model::InWords(static_cast<model::GapCause>(i));
  }
  return cause;
}

std::string_view BoundWords(std::string_view bound_by, std::string_view op_kind) {
  return bound_by == "network" && op_kind == "copy" ? "link" : bound_by;
}

std::string InUnitOf(double ns, double of_ns) {
  const std::string of = Duration(of_ns);
  if (of.ends_with(" us")) return Microseconds(ns);
  if (of.ends_with(" ms")) return Milliseconds(ns);
  if (of.ends_with(" ns")) return Significant(ns);
  // Minutes are written with seconds, so both numbers have units.
  return of.find("min") == of.npos ? Significant(ns / 1e9) : Duration(ns);
}

std::string SourceLine(std::string_view file, const std::optional<int64_t>& line) {
  if (file.empty()) return {};
  return line ? fmt::format("{}:{}", BaseName(file), *line) : std::string(BaseName(file));
}

std::string_view OpNameTail(std::string_view op_name) {
  // Parameters of the primitive ("dot_general[dimension_numbers=...]") do not belong to the name.
  op_name = op_name.substr(0, op_name.find('['));
  int depth = 0;
  for (size_t i = op_name.size(); i-- > 0;) {
    if (op_name[i] == ')') ++depth;
    if (op_name[i] == '(') --depth;
    if (op_name[i] == '/' && depth <= 0) return op_name.substr(i + 1);
  }
  return op_name;
}

std::string ScopeWords(std::string_view layer_group, std::string_view op_name) {
  const std::string_view tail = OpNameTail(op_name);
  if (layer_group.empty()) return std::string(tail);
  if (tail.empty() || layer_group.ends_with(tail)) return std::string(layer_group);
  return fmt::format("{} {}", layer_group, tail);
}

std::string ShortPath(std::string_view path, int width) {
  if (DisplayWidth(path) <= width) return std::string(path);
  for (size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/', slash + 1)) {
    const std::string_view rest = path.substr(slash);
    if (DisplayWidth(rest) + 2 <= width) return fmt::format("..{}", rest);
  }
  return FitLeft(path, width);
}

}  // namespace xlatrace::report
