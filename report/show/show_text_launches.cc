// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/number_format.h"
#include "report/show/show_text.h"
#include "report/word_tables.h"

namespace xlatrace::report {
namespace {

std::string Shape(const Json& row, std::string_view what) {
  const std::string name(what);
  if (!JsonHas(row, name + "_x")) return {};
  return fmt::format("{}x{}x{}", JsonNumber(row, name + "_x"), JsonNumber(row, name + "_y"),
                     JsonNumber(row, name + "_z"));
}

std::string StepsText(const Json& steps, std::string_view what, bool bytes) {
  std::string text;
  if (!steps.is_array()) return text;
  for (size_t i = 0; i < steps.size() && i < 3; ++i) {
    const double limit = JsonNumber(steps[i], "at_most");
    text += fmt::format("{}{} <= {} gives {}%", text.empty() ? "" : "; ", what,
                        bytes ? Bytes(limit) : fmt::format("{}", limit),
                        Significant(JsonNumber(steps[i], "theoretical_occupancy_pct")));
  }
  return text;
}

}  // namespace

void WriteLaunches(const Json& sheet, bool with_names, SheetWriter& out) {
  const Json& launches = ValueAt(sheet, "launches");
  if (!launches.is_array() || launches.empty()) return;
  out.Heading("Launches");
  constexpr size_t kMaxLaunchRows = 6;
  for (size_t i = 0; i < launches.size() && i < kMaxLaunchRows; ++i) {
    const Json& row = launches[i];
    const std::string handle = JsonText(row, "handle");
    const std::string name = with_names ? JsonText(row, "kernel_name") + ": " : std::string();
    out.Paragraph(fmt::format("{}{}{}, {}{}", handle.empty() ? "" : handle + "  ", name,
                              CountedCell(row, "launches", "launch", "launches"),
                              TimeCell(row, "self_ns"),
                              ValueAt(row, "estimated") == true ? " (estimated)" : ""));
    if (JsonHas(row, "block_x")) {
      out.Fact(
          "grid",
          fmt::format(
              "{} blocks of {} threads{}", Shape(row, "grid"), Shape(row, "block"),
              JsonNumber(row, "cluster_x") > 1 ? ", clusters of " + Shape(row, "cluster") : ""));
      out.Fact(
          "uses",
          fmt::format("{} registers per thread, {} shared memory ({} static, {} "
                      "dynamic){}",
                      CountCell(row, "registers_per_thread"),
                      Bytes(JsonNumber(row, "shared_memory_static_bytes") +
                            JsonNumber(row, "shared_memory_dynamic_bytes")),
                      Bytes(JsonNumber(row, "shared_memory_static_bytes")),
                      Bytes(JsonNumber(row, "shared_memory_dynamic_bytes")),
                      JsonNumber(row, "local_memory_per_thread_bytes") > 0
                          ? fmt::format(", {} local memory per thread (spills)",
                                        Bytes(JsonNumber(row, "local_memory_per_thread_bytes")))
                          : ""));
    }
    if (JsonHas(row, "theoretical_occupancy_pct")) {
      std::string text = PctCell(row, "theoretical_occupancy_pct");
      if (JsonHas(row, "occupancy_limiter")) {
        text += fmt::format(", limited by {}; {} per SM",
                            LimiterWords(JsonText(row, "occupancy_limiter")),
                            CountedCell(row, "blocks_per_sm", "block", "blocks"));
      }
      if (JsonHas(row, "waves"))
        text += fmt::format("; {} waves", Significant(JsonNumber(row, "waves")));
      if (JsonNumber(row, "tail_loss_pct") >= 10) {
        text += fmt::format(", the last one leaves {} of the time unused",
                            PctCell(row, "tail_loss_pct"));
      }
      out.Fact("occupancy", text);
    }
    out.Fact("", StepsText(ValueAt(row, "register_steps"), "registers", false));
    out.Fact("", StepsText(ValueAt(row, "shared_memory_steps"), "shared memory", true));
    if (const Json& other = ValueAt(row, "other_gpu"); other.is_object()) {
      const std::string note = JsonHas(other, "note")
                                   ? JsonText(other, "note")
                                   : fmt::format("{}, limited by {}; {} waves",
                                                 PctCell(other, "theoretical_occupancy_pct"),
                                                 LimiterWords(JsonText(other, "occupancy_limiter")),
                                                 Significant(JsonNumber(other, "waves")));
      out.Fact("other GPU", JsonText(other, "gpu") + ": " + note);
    }
  }
  const Json& first = launches[0];
  if (JsonHas(first, "registers_per_thread") && !JsonHas(first, "theoretical_occupancy_pct") &&
      !JsonHas(first, "other_gpu")) {
    out.Paragraph("occupancy is not known: no NVIDIA GPU is named; --gpu NAME takes one");
  }
  const auto all = static_cast<size_t>(JsonNumber(sheet, "launch_configurations"));
  if (all > kMaxLaunchRows) {
    out.Paragraph(
        fmt::format("... {}: --format json", Counted(static_cast<int64_t>(all - kMaxLaunchRows),
                                                     "more configuration", "more configurations")));
  }
}

void WriteHost(const Json& host, SheetWriter& out) {
  if (!host.is_object()) return;
  std::string text = fmt::format(
      "{} from host call to start on the device (median; {} in one of ten), {} of it queued",
      TimeCell(host, "latency_p50_ns"), TimeCell(host, "latency_p90_ns"),
      TimeCell(host, "queued_p50_ns"));
  if (JsonHas(host, "outstanding_p50")) {
    text += fmt::format("; the host is {} ahead of its device",
                        CountedCell(host, "outstanding_p50", "launch", "launches"));
  }
  out.Fact("launched", text);
}

}  // namespace xlatrace::report
