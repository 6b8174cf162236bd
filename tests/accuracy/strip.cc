// SPDX-License-Identifier: Apache-2.0
#include "tests/accuracy/strip.h"

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace xlatrace::accuracy {
namespace {

using model::ActivityKind;
using model::Id;
using model::RunTables;

bool TakesAnnotations(Grade grade) {
  return grade >= Grade::kNoAnnotations && grade < Grade::kStretches;
}

// Module and program id stay, the instruction goes.
bool TakesInstructions(Grade grade) {
  return grade == Grade::kNoInstruction || grade == Grade::kStretches;
}

void ForgetInstructions(RunTables* run) {
  for (model::Hint& hint : run->hints) {
    hint.module_id = 0;
    hint.instruction.clear();
    hint.op_name.clear();
    hint.category.clear();
    hint.source_file.clear();
    hint.source_line.reset();
    hint.flops.reset();
    hint.bytes_accessed.reset();
  }
  // One number for hints that are equal now: the old number would distinguish instructions.
  std::map<std::tuple<model::Evidence, std::string, std::optional<int64_t>>, uint32_t> first;
  std::vector<uint32_t> same(run->hints.size() + 1, 0);
  for (size_t h = 0; h < run->hints.size(); ++h) {
    const model::Hint& hint = run->hints[h];
    same[h + 1] = first
                      .try_emplace({hint.evidence, hint.module_name, hint.program_id},
                                   static_cast<uint32_t>(h + 1))
                      .first->second;
  }
  for (uint32_t& hint : run->activities.hint) hint = same[hint];
}

// The same one of a hundred every time, spread evenly (a multiplicative hash of the place).
bool IsDropped(size_t activity) {
  return (static_cast<uint64_t>(activity) * 0x9E3779B97F4A7C15u >> 33) % 100 == 0;
}

void Remove(const std::vector<bool>& gone, Stripped* stripped) {
  model::ActivityColumns& columns = stripped->run.activities;
  const size_t n = gone.size();
  const auto compact = [&](auto& column) {
    if (column.empty()) return;
    size_t to = 0;
    for (size_t i = 0; i < n; ++i) {
      if (gone[i]) continue;
      if (to != i) column[to] = std::move(column[i]);  // A move onto itself may lose the value.
      ++to;
    }
    column.resize(to);
  };
  compact(columns.lane);
  compact(columns.config);
  compact(columns.hint);
  compact(columns.run_key);
  compact(columns.start_ns);
  compact(columns.duration_ns);
  compact(columns.self_ns);
  compact(columns.bytes);
  compact(columns.correlation);
  compact(columns.graph_node);
  compact(stripped->truth);
}

// Keeps the HLO of the modules selected by `keep`.
template <typename Keep>
void KeepModules(Keep keep, Stripped* stripped) {
  std::vector<model::ModuleInfo> kept;
  std::vector<size_t> from;
  for (size_t m = 0; m < stripped->run.modules.size(); ++m) {
    if (!keep(m)) continue;
    kept.push_back(stripped->run.modules[m]);
    from.push_back(stripped->module_from[m]);
  }
  stripped->run.modules = std::move(kept);
  stripped->module_from = std::move(from);
  for (model::Hint& hint : stripped->run.hints) hint.module_id = 0;
}

// Without its number, a copy of a program is another program: of several, the last one is kept.
void KeepOneCopy(const Capture& capture, Stripped* stripped) {
  std::vector<model::ModuleInfo> kept;
  std::vector<size_t> from;
  const auto& modules = capture.run.modules;
  for (size_t m = 0; m < modules.size(); ++m) {
    bool again = false;
    for (size_t n = m + 1; n < modules.size(); ++n) {
      again |= modules[n].program_id == modules[m].program_id &&
               modules[n].process_id == modules[m].process_id &&
               capture.modules[n].instructions == capture.modules[m].instructions;
    }
    if (again) continue;
    kept.push_back(modules[m]);
    from.push_back(m);
  }
  stripped->run.modules = std::move(kept);
  stripped->module_from = std::move(from);
}

void FoldGraphs(Stripped* stripped) {
  RunTables& run = stripped->run;
  model::LaunchConfig graph;
  graph.kind = ActivityKind::kGraph;
  run.configs.push_back(graph);
  const auto graph_config = static_cast<uint32_t>(run.configs.size());
  auto& columns = run.activities;
  std::map<std::pair<Id, uint32_t>, size_t> row_of;  // (process, launch) -> first activity
  std::map<size_t, std::map<int64_t, size_t>>
      nodes;  // By row: graph -> nodes; calls have their own.
  std::vector<bool> gone(columns.size(), false);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns.graph_node_of(i) == 0 || columns.correlation_of(i) == 0) continue;
    const auto [it, fresh] =
        row_of.try_emplace({run.DeviceOf(i).process_id, columns.correlation_of(i)}, i);
    const size_t row = it->second;
    ++nodes[row][columns.graph_node[i] >> 32];
    if (fresh) {
      columns.config[i] = graph_config;
      continue;
    }
    const int64_t end = std::max(columns.end_ns(row), columns.end_ns(i));
    columns.start_ns[row] = std::min(columns.start_ns[row], columns.start_ns[i]);
    columns.duration_ns[row] = end - columns.start_ns[row];
    columns.self_ns[row] = columns.duration_ns[row];
    stripped->truth[row].insert(stripped->truth[row].end(), stripped->truth[i].begin(),
                                stripped->truth[i].end());
    gone[i] = true;
  }
  // A graph trace has the number of the graph (CUPTI: graphId).
  std::fill(columns.graph_node.begin(), columns.graph_node.end(), 0);
  for (const auto& [row, counts] : nodes) {
    size_t most = 0;
    for (const auto& [number, count] : counts) {
      if (count > most) columns.graph_node[row] = number << 32;
      most = std::max(most, count);
    }
  }
  Remove(gone, stripped);
}

// Launches that XLA would have put into one CUDA graph: adjacent launches of one execution in
// launch order. They are at least as many as XLA's flag requires, and none of them is a collective.
constexpr size_t kSmallestGraph = 5;  // --xla_gpu_graph_min_graph_size

std::vector<std::vector<size_t>> Stretches(const Capture& capture) {
  const RunTables& run = capture.run;
  const auto& columns = run.activities;
  std::vector<std::vector<size_t>> found;
  if (!columns.graph_node.empty() || columns.run_key.empty() || columns.correlation.empty()) {
    return found;
  }
  std::vector<size_t> order(columns.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto place = [&](size_t i) {
    return std::tuple(run.lanes[columns.lane[i] - 1].device_id, columns.run_key[i],
                      columns.correlation_of(i), i);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return place(a) < place(b); });
  std::vector<size_t> open;
  const auto close = [&] {
    if (open.size() >= kSmallestGraph) found.push_back(open);
    open.clear();
  };
  for (const size_t i : order) {
    const model::LaunchConfig& config = run.ConfigOf(i);
    const bool same = !open.empty() && columns.run_key[open.back()] == columns.run_key[i] &&
                      columns.lane[open.back()] == columns.lane[i];
    if (!same) close();
    const bool recordable = columns.run_key[i] != 0 && capture.truth_of[i] != 0 &&
                            config.kind != ActivityKind::kRange &&
                            config.kind != ActivityKind::kOp &&
                            config.symbol.find("nccl") == std::string::npos;
    if (recordable) {
      open.push_back(i);
    } else {
      close();
    }
  }
  close();
  return found;
}

void FoldStretches(const Capture& capture, Stripped* stripped) {
  RunTables& run = stripped->run;
  model::LaunchConfig graph;
  graph.kind = ActivityKind::kGraph;
  run.configs.push_back(graph);
  auto& columns = run.activities;
  std::vector<bool> gone(columns.size(), false);
  for (const std::vector<size_t>& stretch : Stretches(capture)) {
    const size_t row = stretch.front();
    int64_t sum = 0;
    int64_t end = 0;
    for (const size_t i : stretch) {
      sum += columns.self_ns[i];
      end = std::max(end, columns.end_ns(i));
      if (i == row) continue;
      gone[i] = true;
      stripped->truth[row].insert(stripped->truth[row].end(), stripped->truth[i].begin(),
                                  stripped->truth[i].end());
    }
    columns.config[row] = static_cast<uint32_t>(run.configs.size());
    columns.duration_ns[row] = end - columns.start_ns[row];
    columns.self_ns[row] = sum;
  }
  Remove(gone, stripped);
}

}  // namespace

std::string_view Text(Grade grade) {
  switch (grade) {
    case Grade::kAnnotated:
      return "annotated";
    case Grade::kNoInstruction:
      return "no instruction";
    case Grade::kNoProgramId:
      return "no program ids";
    case Grade::kOtherDump:
      return "another process's dump";
    case Grade::kNoAnnotations:
      return "no annotations";
    case Grade::kNoMetadata:
      return "no annotations, lists without metadata";
    case Grade::kNoThunkLists:
      return "no annotations, HLO only";
    case Grade::kNoLaunchCalls:
      return "no annotations, no launch order";
    case Grade::kDropped:
      return "no annotations, 1 % dropped";
    case Grade::kModulesMissing:
      return "no annotations, modules missing";
    case Grade::kGraphRows:
      return "no annotations, graphs as rows";
    case Grade::kGraphRowsNoLists:
      return "no annotations, graphs as rows, HLO only";
    case Grade::kStretches:
      return "no instruction, stretches as rows of graphs";
    case Grade::kAnnotationsOnly:
      return "annotations only";
    case Grade::kHalfTheModules:
      return "annotations, half of the modules";
    case Grade::kOtherRun:
      return "dump of another run with other ids";
  }
  return "";
}

bool Applies(const Capture& capture, Grade grade) {
  const auto& columns = capture.run.activities;
  const auto some_config = [&](auto&& is) {
    return std::any_of(capture.run.configs.begin(), capture.run.configs.end(), is);
  };
  const bool ops = some_config([](const model::LaunchConfig& c) {
    return c.kind == ActivityKind::kOp || c.kind == ActivityKind::kRange;
  });
  if (ops && (TakesAnnotations(grade) || TakesInstructions(grade))) return false;
  if (grade == Grade::kGraphRows) return !columns.graph_node.empty();
  if (grade == Grade::kGraphRowsNoLists) {
    return Applies(capture, Grade::kGraphRows) && Applies(capture, Grade::kNoThunkLists);
  }
  if (grade == Grade::kStretches) return !Stretches(capture).empty();
  if (grade == Grade::kHalfTheModules || grade == Grade::kOtherRun) {
    return capture.modules.size() >= 2;
  }
  if (grade == Grade::kModulesMissing) return capture.modules.size() >= 3;
  if (grade == Grade::kNoThunkLists || grade == Grade::kNoMetadata) {
    return std::any_of(capture.modules.begin(), capture.modules.end(),
                       [](const StoredModule& m) { return !m.bytes.thunk_sequence.empty(); });
  }
  return true;
}

Stripped Strip(const Capture& capture, Grade grade) {
  Stripped stripped;
  stripped.run = capture.run;
  RunTables& run = stripped.run;
  auto& columns = run.activities;
  for (size_t m = 0; m < run.modules.size(); ++m) stripped.module_from.push_back(m);
  stripped.truth.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    if (capture.truth_of[i] != 0) {
      stripped.truth[i].push_back({capture.truth_of[i], columns.self_ns[i]});
    }
  }
  if (TakesAnnotations(grade)) {
    run.hints.clear();
    std::fill(columns.hint.begin(), columns.hint.end(), 0);
    std::fill(columns.run_key.begin(), columns.run_key.end(), 0);
  }
  switch (grade) {
    case Grade::kAnnotated:
    case Grade::kNoAnnotations:
      break;
    case Grade::kNoInstruction:
      ForgetInstructions(&run);
      break;
    case Grade::kNoProgramId:
      for (model::Hint& hint : run.hints) {
        hint.program_id.reset();
        hint.module_id = 0;
      }
      KeepOneCopy(capture, &stripped);
      for (model::ModuleInfo& module : run.modules) module.program_id.reset();
      stripped.no_program_ids = true;
      break;
    case Grade::kOtherDump:
      // The same programs in the same order, under other numbers.
      KeepOneCopy(capture, &stripped);
      for (model::ModuleInfo& module : run.modules) {
        module.program_id = 1'000'000 + 2 * module.program_id.value_or(0);
      }
      for (model::ModuleInfo& module : run.modules) module.source = model::ModuleSource::kDump;
      for (model::Hint& hint : run.hints) hint.module_id = 0;
      stripped.no_program_ids = true;
      break;
    case Grade::kNoMetadata:
      stripped.no_metadata = true;
      break;
    case Grade::kNoThunkLists:
      stripped.no_thunk_lists = true;
      break;
    case Grade::kNoLaunchCalls:
      columns.correlation.clear();
      columns.graph_node.clear();
      break;
    case Grade::kDropped: {
      std::vector<bool> gone(columns.size());
      for (size_t i = 0; i < gone.size(); ++i) gone[i] = IsDropped(i);
      Remove(gone, &stripped);
      break;
    }
    case Grade::kModulesMissing: {
      std::vector<model::ModuleInfo> kept;
      stripped.module_from.clear();
      for (size_t m = 0; m < run.modules.size(); ++m) {
        if (m % 3 == 1) continue;
        kept.push_back(run.modules[m]);
        stripped.module_from.push_back(m);
      }
      run.modules = std::move(kept);
      break;
    }
    case Grade::kGraphRowsNoLists:
      stripped.no_thunk_lists = true;
      FoldGraphs(&stripped);
      break;
    case Grade::kGraphRows:
      FoldGraphs(&stripped);
      break;
    case Grade::kStretches:
      ForgetInstructions(&run);
      FoldStretches(capture, &stripped);
      break;
    case Grade::kAnnotationsOnly:
      KeepModules([](size_t) { return false; }, &stripped);
      break;
    case Grade::kHalfTheModules:
      KeepModules([](size_t m) { return m % 2 == 0; }, &stripped);
      break;
    case Grade::kOtherRun: {
      KeepOneCopy(capture, &stripped);
      KeepModules([](size_t) { return true; }, &stripped);
      // Numbers of this run, each with the next module. A process counts its compilations, so one
      // compilation fewer shifts all later numbers.
      std::vector<model::ModuleInfo>& modules = run.modules;
      for (size_t m = 0; m < modules.size(); ++m) {
        modules[m].source = model::ModuleSource::kDump;
        modules[m].program_id = m + 1 < modules.size()
                                    ? capture.run.modules[stripped.module_from[m + 1]].program_id
                                    : std::optional<int64_t>(2'000'000);
      }
      stripped.no_program_ids = true;
      break;
    }
  }
  return stripped;
}

std::string Text(const Damage& damage) {
  std::string text;
  if (damage.lost_per_1000 != 0) {
    text += fmt::format(", {:.1f} % dropped", static_cast<double>(damage.lost_per_1000) / 10);
  }
  if (damage.bursts != 0) text += fmt::format(", {} stretches dropped", damage.bursts);
  if (damage.window) text += ", cut at both ends";
  if (damage.modules) text += ", modules missing";
  return text + fmt::format(", seed {}", damage.seed);
}

void Apply(const Damage& damage, Stripped* stripped) {
  std::mt19937_64 random(damage.seed);
  auto& columns = stripped->run.activities;
  const size_t n = columns.size();
  std::vector<bool> gone(n, false);
  // Not a distribution of the library's: its numbers differ from one library to the next.
  for (size_t i = 0; i < n; ++i) gone[i] = random() % 1000 < damage.lost_per_1000;
  for (uint32_t b = 0; b < damage.bursts && n > 0; ++b) {
    const size_t begin = random() % n;
    const size_t length = 1 + random() % 64;
    for (size_t i = begin; i < std::min(n, begin + length); ++i) gone[i] = true;
  }
  if (damage.window && n > 0) {
    std::vector<int64_t> starts = columns.start_ns;
    std::sort(starts.begin(), starts.end());
    const int64_t from = starts[random() % (n * 4 / 10 + 1)];
    const int64_t to = starts[n - 1 - random() % (n * 4 / 10 + 1)];
    for (size_t i = 0; i < n; ++i) {
      if (columns.start_ns[i] < from || columns.start_ns[i] > to) gone[i] = true;
    }
  }
  Remove(gone, stripped);
  if (damage.modules) {
    std::vector<model::ModuleInfo> kept;
    std::vector<size_t> from;
    for (size_t m = 0; m < stripped->run.modules.size(); ++m) {
      if (m % 3 == damage.seed % 3) continue;
      kept.push_back(stripped->run.modules[m]);
      from.push_back(stripped->module_from[m]);
    }
    stripped->run.modules = std::move(kept);
    stripped->module_from = std::move(from);
  }
}

void AddForeignModules(const Capture& other, Capture* capture) {
  constexpr int64_t kNumbers = 500'000;  // Far from any that XLA gave here.
  const size_t own = capture->modules.size();
  for (size_t m = 0; m < other.modules.size(); ++m) {
    const bool again = std::any_of(capture->modules.begin(),
                                   capture->modules.begin() + static_cast<ptrdiff_t>(own),
                                   [&](const StoredModule& mine) {
                                     return mine.instructions == other.modules[m].instructions;
                                   });
    if (again) continue;
    model::ModuleInfo info = other.run.modules[m];
    info.process_id = own == 0 ? 0 : capture->run.modules.front().process_id;
    info.program_id = kNumbers + info.program_id.value_or(static_cast<int64_t>(m));
    capture->run.modules.push_back(std::move(info));
    capture->modules.push_back(other.modules[m]);
  }
}

std::vector<std::string> Leaks(const Stripped& stripped, Grade grade) {
  std::vector<std::string> leaks;
  const RunTables& run = stripped.run;
  if (TakesAnnotations(grade)) {
    if (!run.hints.empty()) leaks.push_back("hints are left");
    for (const uint32_t hint : run.activities.hint) {
      if (hint != 0) {
        leaks.push_back("an activity names a hint");
        break;
      }
    }
    for (const uint32_t key : run.activities.run_key) {
      if (key != 0) {
        leaks.push_back("an activity names its execution");
        break;
      }
    }
    // A symbol has no '.', '-' or '%': one that has is an instruction's name as XLA prints it.
    for (const model::LaunchConfig& config : run.configs) {
      for (const std::string& text : {config.symbol, config.name, config.demangled}) {
        if (text.starts_with('%') || text.find("hlo_op") != std::string::npos ||
            text.find("Thunk:") != std::string::npos) {
          leaks.push_back(fmt::format("launch named '{}'", text));
        }
      }
    }
    for (const model::Lane& lane : run.lanes) {
      if (lane.name.find("hlo") != std::string::npos || lane.name.starts_with("XLA Ops")) {
        leaks.push_back(fmt::format("stream named '{}'", lane.name));
      }
    }
  }
  if (TakesInstructions(grade)) {
    for (const model::Hint& hint : run.hints) {
      if (!hint.instruction.empty() || !hint.op_name.empty()) {
        leaks.push_back("instruction in a hint");
        break;
      }
    }
  }
  if (grade == Grade::kAnnotationsOnly && !run.modules.empty()) leaks.push_back("HLO is left");
  if (grade == Grade::kNoProgramId || grade == Grade::kOtherDump || grade == Grade::kOtherRun) {
    for (const model::Hint& hint : run.hints) {
      if (hint.module_id != 0 || (grade == Grade::kNoProgramId && hint.program_id)) {
        leaks.push_back("a hint names a module by its number");
        break;
      }
    }
  }
  return leaks;
}

}  // namespace xlatrace::accuracy
