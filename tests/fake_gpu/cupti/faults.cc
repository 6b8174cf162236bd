// SPDX-License-Identifier: Apache-2.0
#include "cupti/faults.h"

#include <cstdlib>

#include "common/scenario.h"

namespace fakegpu::cupti {
namespace {

uint64_t Figure(const std::vector<std::string>& words, size_t at, uint64_t otherwise) {
  if (at >= words.size()) return otherwise;
  return words[at] == "all" ? ~uint64_t{0} : std::strtoull(words[at].c_str(), nullptr, 0);
}

// "FIRST [COUNT|all] [counted|uncounted]"
Span ReadSpan(std::vector<std::string_view> words) {
  Span span;
  for (auto rest : Scenario::Get().Lines(std::move(words))) {
    if (!rest.empty() && (rest.back() == "counted" || rest.back() == "uncounted")) {
      span.counted = rest.back() == "counted";
      rest.pop_back();
    }
    span.first = Figure(rest, 0, 1);
    span.count = Figure(rest, 1, 1);
  }
  return span;
}

}  // namespace

const Faults& TheFaults() {
  static const Faults* const faults = [] {
    auto* f = new Faults;
    const Scenario& scenario = Scenario::Get();
    f->drop_records = ReadSpan({"cupti", "drop", "records"});
    f->drop_buffers = ReadSpan({"cupti", "drop", "buffers"});
    f->zero_times = ReadSpan({"cupti", "times", "zero"});
    f->reversed_times = ReadSpan({"cupti", "times", "reversed"});
    f->unended = ReadSpan({"cupti", "times", "unended"});
    f->lose_clone = ReadSpan({"cupti", "lose", "clone"});
    f->swap_correlation = scenario.Number({"cupti", "swap", "correlation"}, 0);
    for (const auto& rest : scenario.Lines({"cupti", "unknown", "kind"})) {
      f->unknown_kind = static_cast<uint32_t>(Figure(rest, 0, 999));
      f->unknown_before = Figure(rest, 2, 1);  // "KIND before N"
    }
    for (const auto& rest : scenario.Lines({"cupti", "size"})) {
      f->sizes[static_cast<uint32_t>(Figure(rest, 0, 10))] =
          static_cast<uint16_t>(Figure(rest, 1, 208));
    }
    f->late_ns = scenario.Number({"cupti", "late"}, 0) * 1'000'000;
    f->shuffle = scenario.Number({"cupti", "shuffle"}, 0);
    f->hold_until_exit = scenario.Has({"cupti", "hold", "until", "exit"});
    f->reenter = scenario.Has({"cupti", "reenter"});
    f->flush_needs_context = scenario.Has({"cupti", "flush", "needs", "context"});
    f->second_bars_first = scenario.Has({"cupti", "second", "bars", "first"});
    f->clock_raw = scenario.Has({"cupti", "clock", "raw"});
    f->iterator_needs_descriptors = scenario.Has({"cupti", "iterator", "needs", "descriptors"});
    f->others_flush_at = scenario.Number({"cupti", "other", "flush", "at"}, 0);
    f->slots_at_completion = scenario.Has({"cupti", "slots", "at", "completion"});
    f->fatal_after = scenario.Number({"cupti", "fatal", "after"}, 0);
    for (const auto& rest : scenario.Lines({"cupti", "subscriber"})) {
      if (rest.size() > 1 && rest[0] == "beside") {
        f->polite_subscriber = rest[1];
      } else {
        f->other_subscriber = rest.empty() ? "another tool" : rest[0];
      }
    }
    f->any_record_fault = f->drop_records.first != 0 || f->zero_times.first != 0 ||
                          f->reversed_times.first != 0 || f->unended.first != 0 ||
                          f->swap_correlation != 0 || f->unknown_before != 0 || !f->sizes.empty() ||
                          f->fatal_after != 0 || f->others_flush_at != 0;
    return f;
  }();
  return *faults;
}

}  // namespace fakegpu::cupti
