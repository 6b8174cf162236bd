// SPDX-License-Identifier: Apache-2.0

// Facts of compilations, imports and caches that take time, as rows with function, kind and place.

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/text.h"
#include "report/compile/compile_summary.h"

namespace xlatrace::report {
namespace {

using analysis::Compilation;
using analysis::DetailOf;
using model::CompileDetail;
using model::CompileStage;

// A fact of a compilation that takes less of all compilations and imports is not listed. The share
// is that from which on a saving is material.
constexpr double kMinCauseShare = 0.01;
// Tracing that takes this share of a compilation is slow.
constexpr double kDominantStageShare = 0.5;
constexpr int64_t kMinUnrolledLines = 32;
constexpr int64_t kMinSmallPrograms = 10;

int64_t StageNs(const Compilation& compilation, CompileStage stage) {
  return compilation.stage_ns[static_cast<size_t>(stage)];
}

class CauseList {
 public:
  CauseList(const analysis::Compilations& all, int64_t least_ns) : all_(all), least_ns_(least_ns) {}

  std::vector<CompileCause> Take() {
    for (const Compilation& compilation : all_.compilations) {
      if (!compilation.facts || compilation.facts->is_operation) continue;
      Cache(compilation);
      if (compilation.ns >= least_ns_) Program(compilation);
    }
    SmallPrograms();
    for (const analysis::NamedTime& import : all_.imports) {
      if (import.ns < least_ns_) continue;
      causes_.push_back({.kind = "import",
                         .function = import.name,
                         .text = fmt::format("import of {}", import.name),
                         .source_file = import.source_file,
                         .source_line = import.source_line,
                         .ns = import.ns});
    }
    // One row per function and kind: the one with the most time.
    std::stable_sort(causes_.begin(), causes_.end(),
                     [](const CompileCause& a, const CompileCause& b) { return a.ns > b.ns; });
    std::vector<CompileCause> kept;
    for (CompileCause& cause : causes_) {
      const bool known = std::any_of(kept.begin(), kept.end(), [&](const CompileCause& other) {
        return std::tie(other.kind, other.function, other.argument) ==
               std::tie(cause.kind, cause.function, cause.argument);
      });
      if (!known) kept.push_back(std::move(cause));
    }
    return kept;
  }

 private:
  CompileCause& Add(const Compilation& compilation, std::string kind, std::string text,
                    int64_t ns) {
    return causes_.emplace_back(CompileCause{.kind = std::move(kind),
                                             .function = compilation.name,
                                             .text = std::move(text),
                                             .source_file = compilation.facts->source_file,
                                             .source_line = compilation.facts->source_line,
                                             .function_file = compilation.facts->function_file,
                                             .function_line = compilation.facts->function_line,
                                             .ns = ns});
  }

  static void SetPlace(CompileCause& cause, const CompileDetail& detail) {
    if (!detail.source_line) return;
    cause.source_file = detail.source_file;
    cause.source_line = detail.source_line;
  }

  void Program(const Compilation& compilation) {
    const CompileDetail* equations = DetailOf(compilation, "equations");
    const int64_t count = equations != nullptr ? equations->value.value_or(0) : 0;
    if (const auto* line = DetailOf(compilation, "repeated_line");
        line != nullptr && line->value.value_or(0) >= kMinUnrolledLines) {
      SetPlace(Add(compilation, "unrolled_loop",
                   fmt::format("unrolled Python loop: the line makes {} of {} equations",
                               Thousands(*line->value), Thousands(count)),
                   compilation.ns),
               *line);
    }
    if (const auto* body = DetailOf(compilation, "loop_body")) {
      SetPlace(Add(compilation, "loop_body",
                   fmt::format("large loop body of {}: {} of {} equations", body->name,
                               Thousands(body->value.value_or(0)), Thousands(count)),
                   compilation.ns),
               *body);
    }
    for (const CompileDetail& detail : compilation.facts->details) {
      if (!analysis::IsLargeConstant(compilation, detail)) continue;
      CompileCause& cause =
          Add(compilation, "constant",
              fmt::format("constant {} of {} is baked into the program", detail.name,
                          Bytes(static_cast<double>(detail.value.value_or(0)))),
              compilation.ns);
      cause.argument = detail.name;
      SetPlace(cause, detail);
    }
    const int64_t trace_ns = StageNs(compilation, CompileStage::kTrace);
    if (static_cast<double>(trace_ns) >=
        kDominantStageShare * static_cast<double>(compilation.ns)) {
      Add(compilation, "trace", "slow tracing: Python code of the function", trace_ns);
    }
    if (analysis::HasDominantPart(compilation)) {
      CompileCause& cause = Add(compilation, "part", compilation.top_part, compilation.top_part_ns);
      cause.argument = compilation.top_part;
    }
  }

  void Cache(const Compilation& compilation) {
    if (const auto* hit = DetailOf(compilation, "cache_hit")) {
      const int64_t saved_ns = hit->value.value_or(0);
      Add(compilation, "cache_hit",
          fmt::format("hit of the persistent cache, saves {}",
                      Duration(static_cast<double>(std::max<int64_t>(saved_ns, 0)))),
          compilation.ns);
    }
    const auto* miss = DetailOf(compilation, "cache_miss");
    if (miss == nullptr || compilation.ns < least_ns_) return;
    std::string text = "miss of the persistent cache";
    if (miss->before == "not kept") {
      text += fmt::format(": JAX keeps compilations of at least {}",
                          Duration(static_cast<double>(miss->value.value_or(0))));
    } else if (miss->before == "other key") {
      text += ": the cache holds the function under another key";
      if (!miss->after.empty()) text += "; parts of the key: " + miss->after;
    } else {
      text += ": the function is not in it";
    }
    Add(compilation, "cache_miss", std::move(text), compilation.ns).argument = miss->after;
  }

  // Operations outside of jit, by the function that calls them.
  void SmallPrograms() {
    struct Caller {
      const CompileDetail* detail = nullptr;
      const Compilation* longest = nullptr;
      int64_t ns = 0, count = 0;
    };
    std::map<std::tuple<std::string, std::string, int64_t>, Caller> callers;
    for (const Compilation& compilation : all_.compilations) {
      if (!compilation.facts || !compilation.facts->is_operation) continue;
      const CompileDetail* detail = DetailOf(compilation, "caller");
      if (detail == nullptr) continue;
      Caller& caller =
          callers[{detail->source_file, detail->name, detail->source_line.value_or(0)}];
      caller.detail = detail;
      caller.ns += compilation.ns;
      ++caller.count;
      if (caller.longest == nullptr || compilation.ns > caller.longest->ns) {
        caller.longest = &compilation;
      }
    }
    for (const auto& [key, caller] : callers) {
      if (caller.ns < least_ns_ || caller.count < kMinSmallPrograms) continue;
      causes_.push_back({.kind = "operations",
                         .function = caller.detail->name,
                         .text = fmt::format("{} operations outside of jit, each a small program",
                                             Thousands(caller.count)),
                         .source_file = caller.longest->facts->source_file,
                         .source_line = caller.longest->facts->source_line,
                         .function_file = caller.detail->source_file,
                         .function_line = caller.detail->source_line,
                         .ns = caller.ns});
    }
  }

  const analysis::Compilations& all_;
  const int64_t least_ns_;
  std::vector<CompileCause> causes_;
};

}  // namespace

int64_t LeastCauseNs(const analysis::Compilations& all) {
  int64_t whole_ns = all.import_ns + all.backend_start_ns;
  for (const Compilation& compilation : all.compilations) whole_ns += compilation.ns;
  return static_cast<int64_t>(kMinCauseShare * static_cast<double>(whole_ns));
}

std::vector<CompileCause> CompileCausesOf(const analysis::Compilations& all) {
  return CauseList(all, LeastCauseNs(all)).Take();
}

}  // namespace xlatrace::report
