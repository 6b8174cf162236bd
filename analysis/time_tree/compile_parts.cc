// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/time_tree/idle_time.h"
#include "base/text.h"

namespace xlatrace::analysis::time_tree {
namespace {

using model::NamedCompile;
using model::TreeKind;

TreeKind KindOf(const NamedCompile& span) {
  if ((span.name == model::kTracing)) return TreeKind::kTrace;
  if (Has(span.name, "utotun")) return TreeKind::kAutotune;
  if (HasAny(span.name, {"XlaPass", "RunHloPasses"})) return TreeKind::kPasses;
  if (HasAny(span.name, {"RunBackend", "Codegen", "EmitLlvm"})) return TreeKind::kCodegen;
  return TreeKind::kCompile;
}

std::string FunctionOf(const model::RunTables& run, const NamedCompile& span) {
  const auto module = static_cast<size_t>(span.module_id);
  return module > 0 && module <= run.modules.size() ? run.modules[module - 1].name
                                                    : std::string(span.name);
}

void AppendPart(std::vector<CompilePart>& parts, int64_t start_ns, int64_t end_ns,
                const CompilePart& like) {
  if (start_ns >= end_ns) return;
  parts.push_back(like);
  parts.back().start_ns = start_ns;
  parts.back().end_ns = end_ns;
}

}  // namespace

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
      CompilePart part{span->start_ns, span->end_ns, KindOf(*span), FunctionOf(run, *span), false};
      if (open.empty()) {
        // Tracing a function is not yet a compilation of it.
        part.again = !(span->name == model::kTracing) && !compiled.insert(part.name).second;
      } else {
        // Threads compile side by side: a part counts once.
        part.end_ns = std::min(part.end_ns, open.back().end_ns);
        part.again = open.back().again;
        if (span->module_id == 0) part.name = open.back().name;
        AppendPart(parts, open.back().start_ns, part.start_ns, open.back());
        open.back().start_ns = part.end_ns;
      }
      open.push_back(part);
    }
    close_until(INT64_MAX);
    std::erase_if(parts, [](const CompilePart& part) { return part.start_ns >= part.end_ns; });
  }
  return of_process;
}

}  // namespace xlatrace::analysis::time_tree
