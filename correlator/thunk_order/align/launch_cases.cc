// SPDX-License-Identifier: Apache-2.0
#include "correlator/thunk_order/align/launch_cases.h"

#include <algorithm>
#include <array>
#include <string>

#include "correlator/graph_candidates.h"
#include "correlator/kernel_symbols.h"
#include "correlator/thunk_order/order_limits.h"

namespace xlatrace::correlator {
namespace {

using model::Confidence;
using model::Id;

constexpr size_t kMaxGraphCandidateCount = 1'000'000;

}  // namespace

LaunchCases::LaunchCases(const model::RunTables& run, const ModuleTable& modules,
                         const ModuleJoin& join, std::span<const ClassifiedCase> judged,
                         std::span<const uint32_t> case_of, std::span<const model::Label> labels)
    : run_(run),
      modules_(modules),
      join_(join),
      judged_(judged),
      case_of_(case_of),
      labels_(labels) {
  ReadPrograms();
  ReadCases();
  PreferKnownGrids();
  CompareSizes();
  FindMissing();
  CompareGraphs();
  SettlePrograms();
}

int LaunchCases::Rank(Id module_id) const {
  const ModuleEntry& entry = modules_.entry(module_id);
  return (entry.has_thunks ? 2 : 0) + (entry.rebuilt ? 0 : 1);
}

void LaunchCases::ReadPrograms() {
  std::set<Id> processes = {0};
  for (const model::Device& device : run_.devices) processes.insert(device.process_id);
  for (Id id = 1; id <= static_cast<Id>(modules_.size()); ++id) {
    programs_.push_back(&modules_.entry(id).program);
  }
  for (const Id process : processes) {
    // Among copies of one program (a dump beside an embedded module), the one with a thunk list,
    // else the first. A module joined from registered strings comes last, because these do not
    // contain the whole schedule.
    std::map<std::pair<int64_t, std::string_view>, Id> chosen;
    std::vector<Id> alone;
    for (const Id id : join_.ModulesOf(process)) {
      const ModuleEntry& entry = modules_.entry(id);
      if (!entry.readable || entry.program.size() == 0) continue;
      if (!entry.program_id) {
        alone.push_back(id);
        continue;
      }
      Id& best = chosen[{*entry.program_id, entry.hlo_name}];
      if (best == 0 || Rank(id) > Rank(best)) best = id;
    }
    for (const auto& [key, id] : chosen) alone.push_back(id);
    std::sort(alone.begin(), alone.end());
    modules_of_[process] = alone;
    auto& owners = owners_[process];
    for (const Id id : alone) {
      const auto module = static_cast<uint32_t>(id - 1);
      for (const std::string_view symbol : programs_[module]->Symbols()) {
        owners[symbol].push_back(module);
      }
    }
  }
}

void LaunchCases::ReadCases() {
  cases_.resize(judged_.size());
  for (size_t c = 0; c < judged_.size(); ++c) {
    const ClassifiedCase& judged = judged_[c];
    const model::Label& label = LabelOf(judged);
    const model::LaunchConfig& config = run_.configs[judged.config - 1];
    LaunchCase& launch = cases_[c];
    const bool op = (label.instruction_id != 0 && label.module_id == 0) ||
                    label.reason == model::Reason::kEager;
    launch.kind = op ? LaunchKind::kFramework : LaunchKindOf(config);
    if (launch.kind == LaunchKind::kCollective) {
      launch.collective = CollectiveOfSymbol(config.symbol);
    }
    if (launch.kind == LaunchKind::kLibrary) launch.library = LibraryOf(config.symbol);
    const bool known = !op && label.instruction_id != 0 && label.confidence == Confidence::kExact;
    const Id module_id = known ? label.module_id : judged.module_id;
    if (module_id != 0) launch.module = static_cast<uint32_t>(module_id - 1);
    launch.said = known            ? Recorded::kInstruction
                  : module_id == 0 ? Recorded::kNothing
                  : judged.certain ? Recorded::kModule
                                   : Recorded::kModuleAtBest;
    if (config.kind == model::ActivityKind::kKernel) {
      observed_.emplace(launch.module, PlainSymbol(config.symbol));
    }
  }
  for (size_t c = 0; c < judged_.size(); ++c) {
    cases_[c].candidates = CandidatesOf(judged_[c], cases_[c]);
  }
}

void LaunchCases::PreferKnownGrids() {
  for (LaunchCase& launch : cases_) {
    if (launch.module != kNoProgramIndex) continue;
    const auto told = [&](const Candidate& candidate) {
      return programs_[candidate.program]->tokens()[candidate.token].grid[0] != 0;
    };
    if (std::none_of(launch.candidates.begin(), launch.candidates.end(), told)) continue;
    for (Candidate& candidate : launch.candidates) {
      candidate.doubt = told(candidate) ? 0 : align::kUnknownSizeCost;
    }
  }
}

void LaunchCases::CompareSizes() {
  struct Sizes {
    std::set<int64_t> threads;   // Thread counts of the launches.
    std::set<int64_t> elements;  // Element counts of the candidates.
    std::vector<size_t> cases;
  };
  std::map<std::pair<Id, std::string_view>, Sizes> by_symbol;  // By process and symbol.
  const auto threads_of = [&](size_t c) {
    const model::LaunchConfig& config = run_.configs[judged_[c].config - 1];
    int64_t threads = 1;
    for (int d = 0; d < 3; ++d) {
      for (const auto& size : {config.grid[d], config.block[d]}) {
        const int64_t factor = std::max<int64_t>(size.value_or(1), 1);
        threads = threads > INT64_MAX / factor ? INT64_MAX : threads * factor;
      }
    }
    return threads;
  };
  for (size_t c = 0; c < cases_.size(); ++c) {
    const LaunchCase& launch = cases_[c];
    if (launch.module != kNoProgramIndex || launch.candidates.size() < 2) continue;
    const model::LaunchConfig& config = run_.configs[judged_[c].config - 1];
    if (!config.grid[0] || !config.block[0]) continue;
    Sizes& sizes = by_symbol[{judged_[c].process_id, PlainSymbol(config.symbol)}];
    sizes.threads.insert(threads_of(c));
    sizes.cases.push_back(c);
    for (const Candidate& candidate : launch.candidates) {
      sizes.elements.insert(programs_[candidate.program]->tokens()[candidate.token].elements);
    }
  }
  for (const auto& [symbol, sizes] : by_symbol) {
    if (sizes.threads.size() < 2 || sizes.threads.size() != sizes.elements.size()) continue;
    if (sizes.elements.contains(0)) continue;  // A thunk list has the grid of some.
    for (const size_t c : sizes.cases) {
      const auto rank = std::distance(sizes.threads.begin(), sizes.threads.find(threads_of(c)));
      const int64_t expected = *std::next(sizes.elements.begin(), rank);
      for (Candidate& candidate : cases_[c].candidates) {
        const ThunkToken& token = programs_[candidate.program]->tokens()[candidate.token];
        candidate.doubt = token.elements == expected ? 0 : align::kOtherSizeCost;
      }
    }
  }
}

// A module has one kernel per name, and launches it with one grid and block.
void LaunchCases::FindMissing() {
  using Size = std::array<int64_t, 6>;
  struct Symbol {
    uint32_t number = 0;
    std::set<Size> sizes;        // Sizes of its launches.
    std::set<uint32_t> modules;  // Their candidate modules.
  };
  std::map<std::pair<Id, std::string_view>, Symbol> symbols;  // By process and symbol.
  const auto symbol_of = [&](size_t c) {
    const std::string_view symbol = PlainSymbol(run_.configs[judged_[c].config - 1].symbol);
    return &symbols[{judged_[c].process_id, symbol}];
  };
  for (size_t c = 0; c < cases_.size(); ++c) {
    const model::LaunchConfig& config = run_.configs[judged_[c].config - 1];
    LaunchCase& launch = cases_[c];
    if (config.kind != model::ActivityKind::kKernel || launch.kind == LaunchKind::kAutotuning) {
      continue;
    }
    Symbol& symbol = *symbol_of(c);
    if (symbol.number == 0) symbol.number = static_cast<uint32_t>(symbols.size());
    if (!config.symbol.starts_with("wrapped_")) launch.symbol = symbol.number;
    if (launch.module != kNoProgramIndex || !config.grid[0] || !config.block[0]) continue;
    Size size;
    for (size_t d = 0; d < 3; ++d) {
      size[d] = config.grid[d].value_or(1);
      size[d + 3] = config.block[d].value_or(1);
    }
    symbol.sizes.insert(size);
    for (const Candidate& candidate : launch.candidates) symbol.modules.insert(candidate.program);
  }
  for (size_t c = 0; c < cases_.size(); ++c) {
    LaunchCase& launch = cases_[c];
    if (launch.module != kNoProgramIndex || launch.candidates.empty()) continue;
    const Symbol& symbol = *symbol_of(c);
    // Some thunk lists have the exact size.
    const bool told = std::all_of(
        launch.candidates.begin(), launch.candidates.end(), [&](const Candidate& candidate) {
          return programs_[candidate.program]->tokens()[candidate.token].grid[0] != 0;
        });
    launch.of_missing = !told && symbol.sizes.size() > symbol.modules.size();
  }
}

void LaunchCases::CompareGraphs() {
  std::vector<uint32_t> graphs;
  for (const ClassifiedCase& judged : judged_) graphs.push_back(judged.graph);
  WeighGraphCandidates(run_, modules_, programs_, graphs, case_of_, &cases_);
}

void LaunchCases::SettlePrograms() {
  std::vector<std::vector<bool>> kernels(programs_.size());
  for (const LaunchCase& launch : cases_) {
    if (launch.IsKnown()) continue;
    for (const Candidate& c : launch.candidates) {
      if (!programs_[c.program]->tokens()[c.token].may_copy) continue;
      kernels[c.program].resize(programs_[c.program]->size());
      kernels[c.program][c.token] = true;
    }
  }
  for (size_t p = 0; p < programs_.size(); ++p) {
    if (kernels[p].empty()) continue;
    settled_.push_back(std::make_unique<ThunkProgram>(*programs_[p]));
    settled_.back()->SettleKernels(kernels[p]);
    programs_[p] = settled_.back().get();
  }
}

std::vector<Candidate> LaunchCases::CandidatesOf(const ClassifiedCase& judged,
                                                 const LaunchCase& launch) {
  std::vector<Candidate> candidates;
  const auto add = [&](uint32_t module, const std::vector<uint32_t>& tokens) {
    for (const uint32_t token : tokens) candidates.push_back({module, token});
  };
  if (launch.IsKnown()) {
    const model::Label& label = LabelOf(judged);
    const ModuleEntry& entry = modules_.entry(label.module_id);
    add(launch.module, programs_[launch.module]->TokensOf(
                           static_cast<uint32_t>(label.instruction_id - 1) - entry.first_row));
    return candidates;
  }
  if (launch.kind == LaunchKind::kFramework) return candidates;
  const model::LaunchConfig& config = run_.configs[judged.config - 1];
  if (config.kind == model::ActivityKind::kGraph) {
    for (const Id id : modules_of_[judged.process_id]) {
      const auto module = static_cast<uint32_t>(id - 1);
      if (launch.module != kNoProgramIndex
              ? launch.module != module
              : judged.names_module &&
                    std::find(judged.among.begin(), judged.among.end(), id) == judged.among.end()) {
        continue;
      }
      add(module, programs_[module]->Graphs());
    }
    // With thousands of graphs for thousands of rows, nothing distinguishes them.
    graph_candidates_ += candidates.size();
    if (graph_candidates_ > kMaxGraphCandidateCount) candidates.clear();
    return candidates;
  }
  if (config.kind != model::ActivityKind::kKernel || config.symbol.empty() ||
      launch.kind == LaunchKind::kAutotuning) {
    return candidates;
  }
  const std::string_view symbol = PlainSymbol(config.symbol);
  const auto& all = owners_[judged.process_id];
  const auto owners_of = [&](std::string_view s) {
    const auto it = all.find(s);
    return it == all.end() ? std::span<const uint32_t>() : std::span<const uint32_t>(it->second);
  };
  const auto matches = [&](uint32_t module) {
    const auto [it, fresh] = unobserved_.try_emplace({judged.process_id, module});
    if (fresh) {
      it->second = programs_[module]->NotObserved([&](std::string_view other) {
        return observed_.contains({module, other}) ||
               (observed_.contains({kNoProgramIndex, other}) && owners_of(other).size() == 1);
      });
    }
    add(module, programs_[module]->Matches(config, it->second));
  };
  if (launch.module != kNoProgramIndex) {
    matches(launch.module);
    return candidates;
  }
  std::vector<uint32_t> owners(owners_of(symbol).begin(), owners_of(symbol).end());
  if (owners.empty()) {
    const auto base = owners_of(WithoutUniqueTail(symbol));
    owners.assign(base.begin(), base.end());
  }
  for (const uint32_t module : owners) {
    const Id id = static_cast<Id>(module) + 1;
    if (judged.names_module &&
        std::find(judged.among.begin(), judged.among.end(), id) == judged.among.end()) {
      continue;
    }
    matches(module);
  }
  return candidates;
}

}  // namespace xlatrace::correlator
