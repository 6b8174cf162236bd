// SPDX-License-Identifier: Apache-2.0

// Counters of one import, which become run stats at its end.
//
// Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_COMMON_COUNTERS_H_
#define XLATRACE_IMPORTERS_COMMON_COUNTERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "model/event_sink.h"

namespace xlatrace::importers {

class Counters {
 public:
  explicit Counters(std::string source) : source_(std::move(source)) {}

  // The first call with a name determines its severity and advice.
  void Add(std::string_view name, model::Severity severity, int64_t value = 1,
           std::string_view advice = {}) {
    auto it = stats_.find(name);
    if (it == stats_.end()) {
      it = stats_
               .emplace(std::string(name), model::RunStat{std::string(name), severity, source_, 0,
                                                          std::string(advice)})
               .first;
    }
    it->second.value += value;
  }

  void Flush(model::EventSink& sink) {
    for (const auto& [name, stat] : stats_) {
      if (stat.value != 0) sink.AddRunStat(stat);
    }
    stats_.clear();
  }

 private:
  std::string source_;
  std::map<std::string, model::RunStat, std::less<>> stats_;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_COUNTERS_H_
