// SPDX-License-Identifier: Apache-2.0
#include "analysis/time_tree/compile_parts.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace xlatrace::analysis::time_tree {
namespace {

using model::CompileStage;
using model::NamedCompile;
using model::TreeKind;

TreeKind KindOf(CompileStage stage) {
  switch (stage) {
    case CompileStage::kImport:
      return TreeKind::kImport;
    case CompileStage::kBackendStart:
      return TreeKind::kBackendStart;
    case CompileStage::kTrace:
      return TreeKind::kTrace;
    case CompileStage::kLower:
      return TreeKind::kLower;
    case CompileStage::kCompile:
      return TreeKind::kCompile;
    case CompileStage::kPasses:
      return TreeKind::kPasses;
    case CompileStage::kCodegen:
      return TreeKind::kCodegen;
    case CompileStage::kAutotune:
      return TreeKind::kAutotune;
    case CompileStage::kCache:
      return TreeKind::kCache;
    case CompileStage::kLoad:
      return TreeKind::kLoad;
  }
  return TreeKind::kUnknown;
}

// The hook names the function itself, a profile its module.
std::string FunctionOf(const model::RunTables& run, const NamedCompile& span) {
  const auto module = static_cast<size_t>(span.module_id);
  return !span.facts && module > 0 && module <= run.modules.size() ? run.modules[module - 1].name
                                                                   : std::string(span.name);
}

// A pass, a step of code generation or a loader has its own name below the function's.
bool IsPart(CompileStage stage) {
  return stage == CompileStage::kPasses || stage == CompileStage::kCodegen ||
         stage == CompileStage::kAutotune || stage == CompileStage::kLoad;
}

// A function of which the stages are known is a node with a child for each stage.
void SetBelow(std::vector<CompilePart>& parts) {
  std::set<std::string> staged;
  for (const CompilePart& part : parts) {
    if (part.of_function && part.kind != TreeKind::kCompile) staged.insert(part.name);
  }
  for (CompilePart& part : parts) part.below = part.of_function && staged.contains(part.name);
}

void AppendPart(std::vector<CompilePart>& parts, int64_t start_ns, int64_t end_ns,
                const CompilePart& like) {
  if (start_ns >= end_ns) return;
  parts.push_back(like);
  parts.back().start_ns = start_ns;
  parts.back().end_ns = end_ns;
}

}  // namespace

std::vector<NamedCompile> NamedCompilesOf(std::vector<NamedCompile> compiles,
                                          const HostEventLoader& host_events) {
  if (!compiles.empty() || !host_events) return compiles;
  constexpr Interval kAllTimes{INT64_MIN / 4, INT64_MAX / 4};
  for (const model::HostEvent& event : host_events({kAllTimes})) {
    if (event.range_id == 0 || !event.name.starts_with("XlaCompile")) continue;
    compiles.push_back({event.process_id, 0, event.name, event.start_ns, event.end_ns});
  }
  return compiles;
}

std::vector<std::vector<CompilePart>> CompilePartsOf(
    const model::RunTables& run, const std::vector<model::NamedCompile>& compiles) {
  std::vector<std::vector<CompilePart>> of_process(run.processes.size());
  for (size_t p = 0; p < of_process.size(); ++p) {
    std::vector<const NamedCompile*> spans;
    for (const NamedCompile& span : compiles) {
      if (span.process_id == static_cast<model::Id>(p + 1)) spans.push_back(&span);
    }
    std::stable_sort(spans.begin(), spans.end(), [](const NamedCompile* a, const NamedCompile* b) {
      return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->end_ns > b->end_ns;
    });
    std::set<std::string> compiled;
    std::set<int64_t> again;  // Compilations of which the hook recorded an earlier one.
    for (const NamedCompile* span : spans) {
      if (span->facts && span->facts->is_again) again.insert(span->facts->compilation);
    }
    std::vector<CompilePart> open;  // Outermost first; start_ns is where its next part begins.
    std::vector<CompilePart>& parts = of_process[p];
    const auto close_until = [&](int64_t time_ns) {
      while (!open.empty() && open.back().end_ns <= time_ns) {
        const CompilePart done = open.back();
        open.pop_back();
        AppendPart(parts, done.start_ns, done.end_ns, done);
        if (!open.empty()) open.back().start_ns = std::max(open.back().start_ns, done.end_ns);
      }
    };
    for (const NamedCompile* span : spans) {
      close_until(span->start_ns);
      CompilePart part{.start_ns = span->start_ns,
                       .end_ns = span->end_ns,
                       .kind = KindOf(span->stage),
                       .name = FunctionOf(run, *span),
                       // TensorFlow records no function for its tracing.
                       .of_function = model::IsOfCompilation(span->stage) &&
                                      (span->facts || span->stage != CompileStage::kTrace)};
      part.outer_start_ns = span->start_ns;
      if (span->facts) {
        part.compilation = span->facts->compilation;
        part.again = again.contains(span->facts->compilation);
        part.source_file = span->facts->source_file;
        part.source_line = span->facts->source_line;
      } else if (open.empty()) {
        // Tracing a function is not yet a compilation of it.
        part.again = span->stage != CompileStage::kTrace && !compiled.insert(part.name).second;
      }
      if (!open.empty()) {
        // Threads compile in parallel; a part counts once.
        part.end_ns = std::min(part.end_ns, open.back().end_ns);
        if (!span->facts) {
          part.again = open.back().again;
          part.compilation = open.back().compilation;
          part.outer_start_ns = open.back().outer_start_ns;
          if (IsPart(span->stage)) part.part = span->name;
          // Candidates are compiled while they are tried out.
          if (open.back().kind == TreeKind::kAutotune) {
            part.kind = TreeKind::kAutotune;
            part.part = open.back().part;
          }
          if (span->module_id == 0 || IsPart(span->stage)) part.name = open.back().name;
          part.source_file = open.back().source_file;
          part.source_line = open.back().source_line;
        }
        AppendPart(parts, open.back().start_ns, part.start_ns, open.back());
        open.back().start_ns = part.end_ns;
      }
      open.push_back(part);
    }
    close_until(INT64_MAX);
    std::erase_if(parts, [](const CompilePart& part) { return part.start_ns >= part.end_ns; });
    SetBelow(parts);
  }
  return of_process;
}

}  // namespace xlatrace::analysis::time_tree
