// SPDX-License-Identifier: Apache-2.0
#include "dumps/dump_folder_map.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/number_format.h"
#include "base/ordered_work.h"
#include "dumps/dump_file_note.h"
#include "dumps/dumped_memory.h"
#include "hlo/artefacts/thunk_sequence.h"
#include "hlo/recompiled.h"

namespace xlatrace::dumps {
namespace {

using model::ModuleRole;

bool IsPassDump(const DumpFile& file) {
  return file.name.stage == DumpStage::kAfterPass &&
         (file.name.kind == DumpKind::kHloText || file.name.kind == DumpKind::kHloProto);
}

bool HasBefore(const FolderModule& module) {
  return !module.dump.before_proto.empty() || !module.dump.before_text.empty();
}

bool HasAfter(const FolderModule& module) {
  return !module.dump.after_proto.empty() || !module.dump.after_text.empty();
}

// The pass dump with the highest number.
const DumpFile* LastPassDump(const DumpModule& dump) {
  const DumpFile* last = nullptr;
  for (const DumpFile& file : dump.files) {
    if (IsPassDump(file) && (last == nullptr || file.name.pass_number >= last->name.pass_number)) {
      last = &file;
    }
  }
  return last;
}

FolderModule ReadModule(DumpModule dump, const MemoryReader& memory_of) {
  FolderModule module;
  module.origin = hlo::OriginOfModule(dump.name);
  for (const DumpFile& file : dump.files) {
    module.size_bytes += file.size_bytes;
    if (IsPassDump(file)) ++module.pass_dumps;
  }
  auto loaded = LoadDumpModule(dump);
  if (loaded) {
    module.summary = hlo::Summarize(loaded->module);
    module.summary_file = loaded->file;
    module.is_final = loaded->file == dump.after_proto || loaded->file == dump.after_text;
    module.thunks = loaded->thunks.size();
    module.warnings = std::move(loaded->warnings);
    module.memory = ReadModuleMemory(loaded->module, dump, memory_of, module.warnings);
    if (module.memory && module.summary->peak_memory_bytes < 0) {
      module.summary->peak_memory_bytes = module.memory->total_bytes;
    }
  } else if (const DumpFile* last = LastPassDump(dump); last != nullptr) {
    auto hlo = ReadHloFile(last->path);
    if (hlo) {
      module.summary = hlo::Summarize(*hlo);
      module.summary_file = last->path;
    } else {
      module.error = hlo.error().message;
    }
  } else {
    module.error = loaded.error().message;
  }
  // From 2019 to 2021, only the HLO has the name. The name of a renamed file is not a function.
  if (module.summary && (dump.name.empty() || !dump.loose_file.empty()) &&
      !module.summary->name.empty()) {
    dump.name = module.summary->name;
    module.origin = hlo::OriginOfModule(dump.name);
  }
  module.dump = std::move(dump);
  return module;
}

int64_t FlopsOf(const FolderModule& module) {
  return module.summary ? module.summary->flops.value_or(0) : 0;
}
int64_t OperationsOf(const FolderModule& module) {
  return module.summary ? module.summary->operations : -1;
}

std::string Share(double part, double whole) {
  return whole > 0 ? Percent(part, whole) + "%" : std::string("none");
}

bool Trains(const FolderModule& module) { return module.summary && module.summary->has_gradient; }

// Training comes before all others.
bool ComesBefore(const FolderModule& a, const FolderModule& b) {
  if (Trains(a) != Trains(b)) return Trains(a);
  if (FlopsOf(a) != FlopsOf(b)) return FlopsOf(a) > FlopsOf(b);
  return OperationsOf(a) > OperationsOf(b);
}

bool HasDump(const FolderModule& module) { return HasBefore(module) || HasAfter(module); }

// Index of the main program, or nullopt.
std::optional<size_t> FindMain(const std::vector<FolderModule>& modules,
                               const std::vector<size_t>& members) {
  std::optional<size_t> main;
  for (const size_t m : members) {
    if (!modules[m].summary) continue;
    // An extracted module does less work than its source, but the source may lack its final HLO.
    if (main && HasDump(modules[*main]) && !HasDump(modules[m])) continue;
    if (!main || (HasDump(modules[m]) && !HasDump(modules[*main])) ||
        ComesBefore(modules[m], modules[*main])) {
      main = m;
    }
  }
  return main;
}

std::string MainReason(const std::vector<FolderModule>& modules, const std::vector<size_t>& members,
                       size_t main) {
  double flops = 0;
  double operations = 0;
  size_t readable = 0;
  for (const size_t m : members) {
    const FolderModule& module = modules[m];
    if (!module.summary) continue;
    ++readable;
    flops += static_cast<double>(FlopsOf(module));
    operations += static_cast<double>(OperationsOf(module));
  }
  const FolderModule& module = modules[main];
  const std::string gradient = module.summary->has_gradient ? ", and it has a backward pass" : "";
  if (readable == 1) return "the only module of its folder" + gradient;
  const double own = static_cast<double>(FlopsOf(module));
  if (own > 0) {
    return fmt::format("{} of the floating point operations of all modules, {} of the operations{}",
                       Share(own, flops),
                       Share(static_cast<double>(OperationsOf(module)), operations), gradient);
  }
  return fmt::format("{} of the operations of all modules{}",
                     Share(static_cast<double>(OperationsOf(module)), operations), gradient);
}

void AssignRoles(std::vector<FolderModule>& modules, const std::vector<size_t>& members,
                 const std::vector<hlo::ModuleLink>& links) {
  const std::optional<size_t> main = FindMain(modules, members);
  double flops = 0;
  for (const size_t m : members) flops += static_cast<double>(FlopsOf(modules[m]));
  for (const size_t m : members) {
    FolderModule& module = modules[m];
    if (main == m) {
      module.role = ModuleRole::kMain;
      module.role_reason = MainReason(modules, members, m);
      continue;
    }
    if (!HasDump(module) && module.pass_dumps > 0) {
      module.role = ModuleRole::kAutotune;
      std::set<std::string_view> pipelines;
      for (const DumpFile& file : module.dump.files) {
        if (IsPassDump(file)) pipelines.insert(file.name.pipeline);
      }
      module.role_reason = fmt::format(
          "taken out of another module while that was compiled: no before_optimizations, only "
          "passes of {}",
          pipelines.empty() ? "a pipeline" : *pipelines.begin());
      continue;
    }
    if (!module.summary) {
      module.role_reason = module.error;
      continue;
    }
    const FolderModule* first = main ? &modules[*main] : nullptr;
    if (first != nullptr && module.origin.function == first->origin.function &&
        module.origin.how == first->origin.how && FlopsOf(module) > 0 &&
        FlopsOf(module) >= FlopsOf(*first) / 10) {
      module.role = ModuleRole::kMain;
      module.role_reason = "another compilation of the main module's function";
      continue;
    }
    const auto link = std::find_if(links.begin(), links.end(), [&](const hlo::ModuleLink& l) {
      return l.producer == m && main && l.consumer == *main && l.producer != l.consumer;
    });
    if (link != links.end() && link->bytes >= link->parameter_bytes / 100 &&
        module.summary->parameter_bytes * 10 <= module.summary->result_bytes &&
        !module.summary->has_gradient) {
      module.role = ModuleRole::kInit;
      module.role_reason =
          fmt::format("makes {} of the {} arrays that the main module takes, by their shapes",
                      link->arrays, link->parameters);
      continue;
    }
    if (first != nullptr && (Trains(module) || !Trains(*first)) && FlopsOf(module) > 0 &&
        FlopsOf(module) >= FlopsOf(*first) / 2) {
      module.role = ModuleRole::kMain;
      module.role_reason =
          fmt::format("about as heavy as the main module: {} of the floating point operations",
                      Share(static_cast<double>(FlopsOf(module)), flops));
      continue;
    }
    module.role = ModuleRole::kHelper;
    const int64_t operations = module.summary->operations;
    module.role_reason =
        fmt::format("{} operation{}, {} of the floating point operations", Thousands(operations),
                    operations == 1 ? "" : "s", Share(static_cast<double>(FlopsOf(module)), flops));
  }
}

// Shapes of parameters and results, without layouts.
std::vector<std::string_view> Signature(const hlo::ModuleSummary& summary) {
  std::vector<std::string_view> shapes;
  for (const hlo::ModuleValue& value : summary.parameters) shapes.push_back(value.shape);
  shapes.emplace_back("->");
  for (const hlo::ModuleValue& value : summary.results) shapes.push_back(value.shape);
  return shapes;
}

// Common op_names, in percent of the distinct op_names of the later module.
int32_t CommonOpNames(const hlo::ModuleSummary& before, const hlo::ModuleSummary& after) {
  const auto& a = before.op_name_sketch;
  const auto& b = after.op_name_sketch;
  if (a.empty() || b.empty()) return a.empty() && b.empty() ? 100 : 0;
  // Op_names after the end of the shorter sketch are not known.
  const uint64_t end = std::min(a.back(), b.back());
  size_t common = 0;
  size_t total = 0;
  for (const uint64_t hash : b) {
    if (hash > end) break;
    ++total;
    if (std::binary_search(a.begin(), a.end(), hash)) ++common;
  }
  return total == 0 ? 0 : static_cast<int32_t>(100 * common / total);
}

void PairSplitDumps(std::vector<FolderModule>& modules) {
  constexpr int32_t kMinCommonPct = 50;
  std::map<std::pair<std::string, std::string>, std::pair<std::vector<size_t>, std::vector<size_t>>>
      halves;  // By folder and function: only before, only after.
  for (size_t m = 0; m < modules.size(); ++m) {
    const FolderModule& module = modules[m];
    if (!module.summary || HasBefore(module) == HasAfter(module)) continue;
    auto& [before, after] = halves[{module.dump.subfolder, module.origin.function}];
    (HasBefore(module) ? before : after).push_back(m);
  }
  for (const auto& [key, lists] : halves) {
    std::set<size_t> taken;
    for (const size_t b : lists.first) {
      const hlo::ModuleSummary& before = *modules[b].summary;
      const auto signature = Signature(before);
      std::optional<size_t> best;
      int32_t best_pct = kMinCommonPct - 1;
      for (const size_t a : lists.second) {  // Among equal ones the nearest number.
        if (taken.contains(a) || Signature(*modules[a].summary) != signature) continue;
        const int32_t pct = CommonOpNames(before, *modules[a].summary);
        if (pct > best_pct) {
          best = a;
          best_pct = pct;
        }
      }
      if (!best) continue;
      taken.insert(*best);
      modules[b].other_half = *best;
      modules[*best].other_half = b;
      modules[b].other_half_pct = modules[*best].other_half_pct = best_pct;
    }
  }
}

void MarkRepeats(std::vector<FolderModule>& modules) {
  std::map<std::pair<uint64_t, bool>, size_t> first;
  for (size_t m = 0; m < modules.size(); ++m) {
    if (!modules[m].summary) continue;
    const auto [at, is_new] =
        first.try_emplace({hlo::ProgramHash(*modules[m].summary), modules[m].is_final}, m);
    if (!is_new) modules[m].same_as = at->second;
  }
}

int RankOf(ModuleRole role) {
  switch (role) {
    case ModuleRole::kMain:
      return 0;
    case ModuleRole::kInit:
    case ModuleRole::kHelper:
      return 1;
    case ModuleRole::kAutotune:
      return 2;
  }
  return 3;
}

int64_t CountMissingNumbers(const std::vector<FolderModule>& modules) {
  std::map<std::string_view, std::set<int64_t>> numbers;
  for (const FolderModule& module : modules) {
    if (module.dump.program_id >= 0) {
      numbers[module.dump.subfolder].insert(module.dump.program_id);
    }
  }
  int64_t missing = 0;
  for (const auto& [subfolder, seen] : numbers) {
    missing += *seen.rbegin() - *seen.begin() + 1 - static_cast<int64_t>(seen.size());
  }
  return missing;
}

}  // namespace

std::string_view ProcessOf(const FolderModule& module) {
  const std::string_view folder = module.dump.subfolder;
  const std::string_view last = folder.substr(folder.rfind('/') + 1);
  const size_t underscore = last.rfind('_');
  const bool host_and_pid =
      folder.size() != last.size() && underscore != std::string_view::npos && underscore > 0 &&
      underscore + 1 < last.size() &&
      last.substr(underscore + 1).find_first_not_of("0123456789") == std::string_view::npos;
  return host_and_pid ? last : folder;
}

void RankModules(DumpFolderMap& map) {
  std::vector<FolderModule>& modules = map.modules;
  PairSplitDumps(modules);
  MarkRepeats(modules);
  std::map<std::string_view, std::vector<size_t>> processes;
  for (size_t m = 0; m < modules.size(); ++m) processes[ProcessOf(modules[m])].push_back(m);
  std::set<size_t> mains;
  map.links.clear();
  for (auto& [process, members] : processes) {
    std::stable_sort(members.begin(), members.end(), [&](size_t a, size_t b) {
      return modules[a].dump.program_id < modules[b].dump.program_id;
    });
    // In the order of compilation. Modules extracted from another one never ran.
    std::vector<const hlo::ModuleSummary*> summaries;
    for (const size_t m : members) {
      const bool ran = modules[m].summary && (HasDump(modules[m]) || modules[m].pass_dumps == 0);
      summaries.push_back(ran ? &*modules[m].summary : nullptr);
    }
    std::vector<hlo::ModuleLink> links = hlo::InferLinks(summaries);
    for (hlo::ModuleLink& link : links) {
      link.producer = members[link.producer];
      link.consumer = members[link.consumer];
    }
    AssignRoles(modules, members, links);
    map.links.insert(map.links.end(), links.begin(), links.end());
    if (const auto main = FindMain(modules, members)) mains.insert(*main);
  }
  std::vector<size_t> order(modules.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (mains.contains(a) != mains.contains(b)) return mains.contains(a);
    const int rank_a = RankOf(modules[a].role);
    const int rank_b = RankOf(modules[b].role);
    return rank_a != rank_b ? rank_a < rank_b : ComesBefore(modules[a], modules[b]);
  });
  std::vector<size_t> place(order.size());
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<FolderModule> ranked;
  ranked.reserve(order.size());
  for (const size_t m : order) ranked.push_back(std::move(map.modules[m]));
  for (FolderModule& module : ranked) {
    if (module.other_half) module.other_half = place[*module.other_half];
    if (module.same_as) module.same_as = place[*module.same_as];
  }
  map.modules = std::move(ranked);
  for (hlo::ModuleLink& link : map.links) {
    link.producer = place[link.producer];
    link.consumer = place[link.consumer];
  }
  std::stable_sort(map.links.begin(), map.links.end(),
                   [](const hlo::ModuleLink& a, const hlo::ModuleLink& b) {
                     return a.consumer != b.consumer ? a.consumer < b.consumer : a.bytes > b.bytes;
                   });
}

Result<DumpFolderMap> MapDumpFolder(const std::vector<std::string>& paths,
                                    const std::function<void(size_t, size_t)>& progress,
                                    MemoryReader memory_of) {
  if (!memory_of) {
    memory_of = [](const model::HloModule&, const hlo::BufferAssignment& assignment,
                   const hlo::LiveRanges* live_ranges) {
      return hlo::MemoryOf(assignment, live_ranges);
    };
  }
  XLATRACE_ASSIGN(DumpDir dir, ListDumpDirs(paths));
  DumpFolderMap map;
  map.path = dir.path;
  map.skipped = std::move(dir.skipped);
  map.others = std::move(dir.others);
  map.warnings = std::move(dir.warnings);
  map.files = map.others.size();
  OrderedWork<FolderModule>(
      dir.modules.size(),
      [&](size_t m) { return ReadModule(std::move(dir.modules[m]), memory_of); },
      [&](size_t m, FolderModule module) {
        map.files += module.dump.files.size();
        map.size_bytes += module.size_bytes;
        map.modules.push_back(std::move(module));
        if (progress) progress(m + 1, dir.modules.size());
        return true;
      });
  map.missing_numbers = CountMissingNumbers(map.modules);
  RankModules(map);
  return map;
}

}  // namespace xlatrace::dumps
