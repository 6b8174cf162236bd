// SPDX-License-Identifier: Apache-2.0
#include "importers/recording/host_samples_import.h"

#include <cstdint>
#include <utility>

#include "recording/host_samples.h"

namespace xlatrace::importers {
namespace {

// "f" of "main.<locals>.f", as sources name functions without the function around them. Expressions
// ("main.<locals>.<genexpr>") belong to the function around them.
void ShortenFunctions(model::HostSampleTables& tables) {
  for (model::HostFrame& frame : tables.frames) {
    constexpr std::string_view kInside = ".<locals>.";
    std::string& name = frame.function;
    size_t at = name.rfind(kInside);
    while (at != name.npos && name.ends_with('>')) {
      name.erase(at);
      at = name.rfind(kInside);
    }
    if (at != name.npos) name.erase(0, at + kInside.size());
  }
}

}  // namespace

Status ImportHostSamples(const std::string& path, model::Id process_id, model::EventSink& sink) {
  XLATRACE_ASSIGN(recording::HostSamples read, recording::ReadHostSamples(path));
  const int64_t start_ns = sink.start_unix_ns().value_or(0);
  model::HostSampleTables& tables = read.tables;
  ShortenFunctions(tables);
  const auto place = [&](auto& rows) {
    for (auto& row : rows) {
      row.process_id = process_id;
      row.start_ns -= start_ns;
      row.end_ns -= start_ns;
    }
  };
  for (model::HostSample& sample : tables.samples) {
    sample.process_id = process_id;
    sample.time_ns -= start_ns;
    sample.last_ns -= start_ns;
    sample.until_ns -= start_ns;
  }
  place(tables.thread_use);
  place(tables.machine_use);
  place(tables.collections);
  sink.AddHostSamples(tables);
  if (read.lost_bytes > 0) {
    sink.AddRunStat({.name = "host_samples_cut",
                     .severity = model::Severity::kNotice,
                     .source = path,
                     .value = static_cast<int64_t>(read.lost_bytes),
                     .advice = "the process ended while it wrote its last stack samples"});
  }
  return {};
}

}  // namespace xlatrace::importers
