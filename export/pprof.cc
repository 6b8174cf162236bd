// SPDX-License-Identifier: Apache-2.0
#include "export/pprof.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <protozero/pbf_writer.hpp>

#include "base/compress.h"
#include "base/file.h"
#include "export/export_format.h"
#include "export/run_rows.h"
#include "export/stack_times.h"
#include "model/words.h"

namespace xlatrace::exporter {
namespace {

using Writer = protozero::pbf_writer;

enum ProfileField : uint32_t {
  kSampleType = 1,
  kSample = 2,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kTimeNanos = 9,
  kDurationNanos = 10,
  kDefaultSampleType = 14,
};

class Profile {
 public:
  Profile() { Text(""); }

  int64_t Text(std::string_view text) {
    const auto [at, is_new] = texts_.try_emplace(std::string(text), texts_.size());
    if (is_new) writer_.add_bytes(kStringTable, text.data(), text.size());
    return static_cast<int64_t>(at->second);
  }

  void SampleType(std::string_view type, std::string_view unit) {
    const int64_t type_text = Text(type);
    const int64_t unit_text = Text(unit);
    Writer value(writer_, kSampleType);
    value.add_int64(1, type_text);
    value.add_int64(2, unit_text);
  }

  uint64_t Location(const std::string& name, const std::string& file, int64_t line) {
    const auto [at, is_new] = locations_.try_emplace({name, file, line}, locations_.size() + 1);
    if (is_new) {
      const auto [function, new_function] =
          functions_.try_emplace({name, file}, functions_.size() + 1);
      if (new_function) {
        const int64_t name_text = Text(name);
        const int64_t file_text = Text(file);
        Writer entry(writer_, kFunction);
        entry.add_uint64(1, function->second);
        entry.add_int64(2, name_text);
        entry.add_int64(3, name_text);
        entry.add_int64(4, file_text);
      }
      Writer location(writer_, kLocation);
      location.add_uint64(1, at->second);
      Writer lines(location, 4);
      lines.add_uint64(1, function->second);
      if (line > 0) lines.add_int64(2, line);
    }
    return at->second;
  }

  void Sample(const std::vector<uint64_t>& locations, const std::vector<int64_t>& values,
              const std::vector<std::pair<std::string_view, std::string>>& labels) {
    std::vector<std::pair<int64_t, int64_t>> numbers;
    for (const auto& [key, text] : labels) {
      if (!text.empty()) numbers.emplace_back(Text(key), Text(text));
    }
    Writer sample(writer_, kSample);
    sample.add_packed_uint64(1, locations.begin(), locations.end());
    sample.add_packed_int64(2, values.begin(), values.end());
    for (const auto& [key, text] : numbers) {
      Writer label(sample, 3);
      label.add_int64(1, key);
      label.add_int64(2, text);
    }
  }

  void Finish(int64_t time_ns, int64_t duration_ns, std::string_view default_type) {
    const int64_t type = Text(default_type);
    if (time_ns > 0) writer_.add_int64(kTimeNanos, time_ns);
    if (duration_ns > 0) writer_.add_int64(kDurationNanos, duration_ns);
    writer_.add_int64(kDefaultSampleType, type);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  Writer writer_{bytes_};
  std::unordered_map<std::string, size_t> texts_;
  std::map<std::pair<std::string, std::string>, uint64_t> functions_;
  std::map<std::tuple<std::string, std::string, int64_t>, uint64_t> locations_;
};

}  // namespace

Result<ExportCount> WritePprof(store::RunDb& db, const ExportRequest& request) {
  XLATRACE_ASSIGN(const RunRows run, RunRows::Load(db, request.progress, request.selection));
  XLATRACE_ASSIGN(const auto stacks, SumStacks(run));
  XLATRACE_ASSIGN(const store::Table span,
                  db.Select("SELECT max(end_ns) - min(start_ns) AS ns FROM busy_time"));
  Profile profile;
  profile.SampleType("launches", "count");
  profile.SampleType("device_time", "nanoseconds");
  ExportCount count{0, 1};
  for (const StackTime& stack : stacks) {
    const std::vector<StackTime::Frame> frames = stack.Frames();
    std::vector<uint64_t> locations;
    for (size_t i = frames.size(); i-- > 0;) {  // Leaf first.
      const std::string& name = frames[i].function.empty() ? frames[i].name : frames[i].function;
      locations.push_back(profile.Location(name, frames[i].file, frames[i].line));
    }
    const ProcessFacts& process = At(run.processes(), stack.process_id);
    profile.Sample(locations, {stack.launches, stack.self_ns},
                   {{"phase", std::string(model::Text(stack.phase))},
                    {"rank", process.rank ? std::to_string(*process.rank) : std::string()},
                    {"process", run.ProcessTitle(process)},
                    {"module", stack.module}});
    ++count.rows;
  }
  profile.Finish(run.start_unix_ns(), span.rows.empty() ? 0 : span.Int(0, "ns"), "device_time");
  XLATRACE_ASSIGN(AtomicFile file, AtomicFile::Create(request.output));
  XLATRACE_TRY(file.Append(GzipCompress(profile.bytes())));
  XLATRACE_TRY(file.Commit());
  return count;
}

}  // namespace xlatrace::exporter
