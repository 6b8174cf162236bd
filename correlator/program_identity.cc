// SPDX-License-Identifier: Apache-2.0
#include "correlator/program_identity.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "base/hash.h"

namespace xlatrace::correlator {
namespace {

using model::Id;

using Places = std::vector<uint64_t>;  // Hashes of op_name and line; ascending, without duplicates.

std::vector<Places> PlacesOfModules(const model::AttributionTables& tables) {
  std::vector<Places> places(tables.modules.size());
  for (const model::InstructionRow& row : tables.instructions) {
    const auto module = static_cast<size_t>(row.module_id) - 1;
    if (module >= places.size() || row.op_name.empty() || row.opcode == "parameter") continue;
    const auto line = static_cast<uint64_t>(row.source_line.value_or(0));
    places[module].push_back(Mix(Hash(row.op_name), line));
  }
  for (Places& of_module : places) {
    std::sort(of_module.begin(), of_module.end());
    of_module.erase(std::unique(of_module.begin(), of_module.end()), of_module.end());
  }
  return places;
}

// At least half of the smaller one's are common.
bool ShareCode(const Places& a, const Places& b) {
  if (a.empty() || b.empty()) return true;
  Places both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return 2 * both.size() >= std::min(a.size(), b.size());
}

}  // namespace

std::vector<size_t> ProgramsOfModules(const model::RunTables& run,
                                      const model::AttributionTables& tables) {
  const std::vector<Places> places = PlacesOfModules(tables);
  std::vector<size_t> programs(tables.modules.size());
  // By process and name: the first module of each program.
  std::map<std::pair<Id, std::string>, std::vector<size_t>> first;
  for (size_t m = 0; m < tables.modules.size(); ++m) {
    const bool added = m >= run.modules.size();
    const Id process =
        added ? tables.added_modules[m - run.modules.size()].process_id : run.modules[m].process_id;
    const std::string& function = tables.modules[m].framework_function;
    const std::string& own =
        added ? tables.added_modules[m - run.modules.size()].name : run.modules[m].name;
    std::vector<size_t>& known = first[{process, function.empty() ? own : function}];
    const auto same = std::find_if(known.begin(), known.end(), [&](size_t other) {
      return ShareCode(places[m], places[other]);
    });
    programs[m] = same == known.end() ? m : *same;
    if (same == known.end()) known.push_back(m);
  }
  return programs;
}

}  // namespace xlatrace::correlator
