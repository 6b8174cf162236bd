// SPDX-License-Identifier: Apache-2.0
#include "export/speedscope.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "export/export_format.h"
#include "export/json_text.h"
#include "export/run_rows.h"
#include "export/stack_times.h"
#include "model/words.h"

namespace xlatrace::exporter {
namespace {

// Name, file and line of a frame, as JSON, and its number.
class Frames {
 public:
  size_t NumberOf(const std::string& name, const std::string& file, int64_t line) {
    const auto [at, is_new] = numbers_.try_emplace({name, file, line}, numbers_.size());
    if (is_new) {
      std::string text = "{\"name\":" + JsonText(name);
      if (!file.empty()) text += ",\"file\":" + JsonText(file);
      if (line > 0) text += fmt::format(",\"line\":{}", line);
      json_ += (json_.empty() ? "" : ",") + text + "}";
    }
    return at->second;
  }
  const std::string& json() const { return json_; }

 private:
  std::map<std::tuple<std::string, std::string, int64_t>, size_t> numbers_;
  std::string json_;
};

struct ProcessProfile {
  std::string samples, weights;
  int64_t total_ns = 0;
};

}  // namespace

Result<ExportCount> WriteSpeedscope(store::RunDb& db, const ExportRequest& request) {
  XLATRACE_ASSIGN(const RunRows run, RunRows::Load(db, request.progress, request.selection));
  XLATRACE_ASSIGN(const auto stacks, SumStacks(run));
  Frames frames;
  std::map<int64_t, ProcessProfile> profiles;
  ExportCount count{0, 1};
  for (const StackTime& stack : stacks) {
    if (stack.self_ns == 0) continue;
    std::string sample =
        fmt::format("[{}", frames.NumberOf(std::string(model::Text(stack.phase)), {}, 0));
    for (const StackTime::Frame& frame : stack.Frames()) {
      sample += fmt::format(",{}", frames.NumberOf(frame.name, frame.file, frame.line));
    }
    ProcessProfile& profile = profiles[stack.process_id];
    profile.samples += (profile.samples.empty() ? "" : ",") + sample + "]";
    profile.weights += (profile.weights.empty() ? "" : ",") + std::to_string(stack.self_ns);
    profile.total_ns += stack.self_ns;
    ++count.rows;
  }
  XLATRACE_ASSIGN(AtomicFile file, AtomicFile::Create(request.output));
  XLATRACE_TRY(file.Append(
      fmt::format("{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                  "\"exporter\":\"xlatrace {}\",\"name\":{},\"activeProfileIndex\":0,"
                  "\"shared\":{{\"frames\":[{}]}},\"profiles\":[",
                  XLATRACE_VERSION, JsonText(run.Info("command")), frames.json())));
  bool first = true;
  for (const auto& [process_id, profile] : profiles) {
    const std::string title = run.ProcessTitle(At(run.processes(), process_id));
    XLATRACE_TRY(file.Append(fmt::format(
        "{}{{\"type\":\"sampled\",\"name\":{},\"unit\":\"nanoseconds\",\"startValue\":0,"
        "\"endValue\":{},\"samples\":[{}],\"weights\":[{}]}}",
        first ? "" : ",", JsonText(title + ", device time"), profile.total_ns, profile.samples,
        profile.weights)));
    first = false;
  }
  XLATRACE_TRY(file.Append("]}\n"));
  XLATRACE_TRY(file.Commit());
  return count;
}

}  // namespace xlatrace::exporter
