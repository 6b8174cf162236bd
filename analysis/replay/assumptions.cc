// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/assumptions.h"

#include <string>
#include <vector>

#include <fmt/format.h>

namespace xlatrace::analysis::replay {

void ListAssumptions(const Found& found, bool steady, Graph& graph) {
  std::vector<std::string>& said = graph.assumptions;
  if (!graph.host_known) {
    said.push_back(
        "the host's calls are not recorded: what it did between kernels takes as long as before");
  }
  if (found.inferred_waits > 0) {
    said.push_back(fmt::format(
        "{} waits of the host are inferred from the idle time before what it launched next",
        found.inferred_waits));
  }
  if (found.waits > 0) {
    said.push_back(fmt::format(
        "{} host calls wait for the work that ended last before they returned", found.waits));
  }
  if (!graph.maybe_waits.empty()) {
    said.push_back(fmt::format(
        "before {} calls the host may have waited for the device or not: it is taken not to "
        "have, and the range holds both",
        graph.maybe_waits.size()));
  }
  if (found.joins > 0) {
    said.push_back(fmt::format(
        "{} waits for another stream are inferred from the order of launches: events are not "
        "recorded",
        found.joins));
  }
  if (found.seen_edges > 0) {
    said.push_back(
        fmt::format("{} launches wait for what ended last on another stream: nothing else "
                    "explains their start",
                    found.seen_edges));
  }
  if (found.data_edges > 0) {
    said.push_back(
        fmt::format("{} waits between streams follow the operands in the HLO", found.data_edges));
  }
  if (found.skewed > 0) {
    said.push_back(
        fmt::format("{} launches begin before their call and have none here", found.skewed));
  }
  if (graph.on_cpu) {
    said.emplace_back(
        "remaining ops take as long as before, on a CPU too; if they get more cache, they may "
        "take less, which the range includes");
  }
  if (graph.whole_run) {
    said.emplace_back("no steps were found: what is replayed is the whole run");
  } else if (!steady) {
    said.emplace_back("no step is steady: all steps are replayed");
  }
}

}  // namespace xlatrace::analysis::replay
