// SPDX-License-Identifier: Apache-2.0
#include "report/word_tables.h"

#include <algorithm>

namespace xlatrace::report {
namespace {

constexpr ShownWord kLimiters[] = {{"warps", "warps"},
                                   {"registers", "registers"},
                                   {"shared_memory", "shared memory"},
                                   {"blocks", "blocks"}};
constexpr ShownWord kBases[] = {{"replay", "replay"},
                                {"measured", "measured"},
                                {"roofline", "roofline"},
                                {"cost_model", "cost model"}};
constexpr ShownWord kSources[] = {{"recording", "recorded"},
                                  {"nsys_sqlite", "imported from Nsight Systems"},
                                  {"nsys_jax", "imported from nsys-jax"},
                                  {"xplane", "imported from XProf"},
                                  {"xprof_json", "imported from XProf's trace viewer"},
                                  {"kineto", "imported from Kineto"}};
constexpr ShownWord kDevices[] = {{"gpu", "GPU"}, {"tpu", "TPU"}, {"cpu", "CPU"}};
constexpr ShownWord kPaths[] = {{"kernel", "kernels"},
                                {"copy", "copies"},
                                {"collective", "collectives"},
                                {"host", "the host"},
                                {"gap", "gaps"}};
constexpr ShownWord kMemory[] = {{"parameters", "parameters"},
                                 {"results", "results that are no parameters"},
                                 {"constants", "constants"},
                                 {"temporary", "temporary values"}};
constexpr ShownWord kLive[] = {{"parameter", "argument"},
                               {"constant", "constant"},
                               {"result", "result"},
                               {"temporary", "temporary"}};
constexpr ShownWord kPlaces[] = {{"outside", "outside of every range"},
                                 {"earlier", "launched before the recording began"},
                                 {"no_call", "call not known"}};
constexpr ShownWord kShortPhases[] = {
    {"forward", "fwd"},   {"loss", "loss"},   {"recompute", "rec"}, {"backward", "bwd"},
    {"optimizer", "opt"}, {"other", "other"}, {"unknown", "none"}};

std::string_view TextIn(std::span<const ShownWord> table, std::string_view word) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const ShownWord& w) { return w.word == word; });
  return found == table.end() ? word : found->text;
}

}  // namespace

std::span<const ShownWord> LimiterTable() { return kLimiters; }
std::span<const ShownWord> BasisTable() { return kBases; }
std::span<const ShownWord> SourceTable() { return kSources; }
std::span<const ShownWord> DeviceTable() { return kDevices; }
std::span<const ShownWord> PathTable() { return kPaths; }
std::span<const ShownWord> MemoryTable() { return kMemory; }
std::span<const ShownWord> LiveTable() { return kLive; }
std::span<const ShownWord> PlaceTable() { return kPlaces; }
std::span<const ShownWord> ShortPhaseTable() { return kShortPhases; }

std::string LimiterWords(std::string_view limiter) {
  constexpr std::string_view kBetween = ", ";
  std::string text;
  while (!limiter.empty()) {
    const size_t end = std::min(limiter.find(kBetween), limiter.size());
    if (!text.empty()) text += kBetween;
    text += TextIn(kLimiters, limiter.substr(0, end));
    limiter.remove_prefix(std::min(end + kBetween.size(), limiter.size()));
  }
  return text;
}

std::string_view KindOfDevice(std::string_view kind) { return TextIn(kDevices, kind); }

std::string_view BasisWords(std::string_view basis) { return TextIn(kBases, basis); }
std::string_view PlaceWords(std::string_view place) { return TextIn(kPlaces, place); }

}  // namespace xlatrace::report
