// SPDX-License-Identifier: Apache-2.0
#include "tools/recording_options.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tools/choices.h"
#include "tools/step_window.h"

namespace xlatrace::tools {
namespace {

std::optional<double> ParseSeconds(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !(value >= 0 && value <= 1e8)) return std::nullopt;
  return *end == '\0' ? std::optional(value) : std::nullopt;
}

// "30s", "5m", "1500ms"; a number alone is seconds.
std::optional<double> ParseTime(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !(value > 0 && value <= 1e6)) return std::nullopt;
  const std::string_view unit(end);
  if (unit.empty() || unit == "s") return value;
  if (unit == "ms") return value / 1e3;
  if (unit == "m" || unit == "min") return value * 60;
  return std::nullopt;
}

CLI::Validator Seconds() {
  return CLI::Validator(
      [](std::string& text) {
        return ParseSeconds(text) ? std::string()
                                  : fmt::format("'{}' is not a number of seconds", text);
      },
      "SECONDS");
}

CLI::Validator Time() {
  return CLI::Validator(
      [](std::string& text) {
        return ParseTime(text) ? std::string()
                               : fmt::format("'{}' is no time like 30s or 5m", text);
      },
      "TIME");
}

std::string Milliseconds(double seconds) {
  return std::to_string(static_cast<int64_t>(seconds * 1000 + 0.5));
}

}  // namespace

void AddRecordingOptions(CLI::App& command, RecordingOptions* options) {
  CLI::Option* duration = command
                              .add_option("--duration", options->duration_s,
                                          "Seconds to record; default: no limit on NVIDIA "
                                          "GPUs,\nelse 60 (0: none), compilation not counted")
                              ->check(Seconds());
  command.add_option("--delay", options->delay_s, "Seconds to wait before recording")
      ->check(Seconds());
  command.add_option("--steps", options->steps, "Record only steps A to B - 1, counted from 0")
      ->check(StepWindowText(/*open=*/false));
  command.add_option("--last", options->last, "Keep only the last so much, for instance 30s")
      ->check(Time());
  command
      .add_option("--mode", options->mode,
                  "exact, or light: no NVTX ranges; instructions by names,\norder and dumps")
      ->check(OneOf({"exact", "light"}))
      ->capture_default_str();
  command
      .add_option("--graphs", options->graphs,
                  "CUDA graphs: node, a row per kernel, or graph, a row\nper launch (cheaper)")
      ->check(OneOf({"node", "graph"}))
      ->capture_default_str();
  command
      .add_option("--dump", options->dump,
                  "Request HLO dumps from XLA: on, off, or auto, where\ninstructions need them")
      ->check(OneOf({"auto", "on", "off"}))
      ->capture_default_str();
  command.add_flag("--sync", options->waits, "Record where the host waits for the GPU too");
  command.parse_complete_callback(
      [options, duration] { options->duration_given = duration->count() > 0; });
}

Status CheckRecordingOptions(const RecordingOptions& options) {
  if (options.mode == "light" && !options.steps.empty()) {
    return MakeError("--steps counts XLA's ranges, which --mode light does not record",
                     "leave --mode light out, or use --delay and --duration, or `xlatrace control`",
                     ErrorCode::kUsage);
  }
  if (!options.last.empty() && !options.steps.empty()) {
    return MakeError("--last and --steps exclude each other",
                     "--last keeps the end of the run, --steps a window of it", ErrorCode::kUsage);
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> CollectorEnvironment(
    const RecordingOptions& options, const std::string& database) {
  std::vector<std::pair<std::string, std::string>> environment;
  const auto set = [&](const char* name, std::string value) {
    environment.emplace_back(name, std::move(value));
  };
  if (options.mode == "light") set("XLATRACE_MODE", options.mode);
  if (!options.steps.empty()) set("XLATRACE_STEPS", options.steps);
  if (options.delay_s > 0) set("XLATRACE_DELAY_MS", Milliseconds(options.delay_s));
  if (options.duration_given && options.duration_s > 0) {
    set("XLATRACE_DURATION_MS", Milliseconds(options.duration_s));
  }
  if (!options.last.empty()) set("XLATRACE_LAST_MS", Milliseconds(*ParseTime(options.last)));
  if (options.graphs == "graph") set("XLATRACE_GRAPHS", options.graphs);
  if (options.waits) set("XLATRACE_SYNC", "1");
  if (const std::string dump = DumpFolder(options, database); !dump.empty()) {
    set("XLATRACE_DUMP", dump);
  }
  return environment;
}

std::string OnlyForCollector(const RecordingOptions& options) {
  std::string names;
  const auto add = [&](bool given, const char* name) {
    if (given) names += (names.empty() ? "" : ", ") + std::string(name);
  };
  add(!options.steps.empty(), "--steps");
  add(!options.last.empty(), "--last");
  add(options.mode != "exact", "--mode");
  add(options.graphs != "node", "--graphs");
  add(options.dump == "on", "--dump");
  add(options.waits, "--sync");
  return names;
}

std::string DumpFolder(const RecordingOptions& options, const std::string& database) {
  const bool wanted = options.dump == "on" || (options.dump == "auto" && options.mode == "light");
  if (!wanted) return {};
  // The user's own dump is enough.
  const char* flags = std::getenv("XLA_FLAGS");
  if (flags != nullptr && std::string_view(flags).find("--xla_dump_to") != std::string_view::npos) {
    return {};
  }
  return std::filesystem::path(database).replace_extension(".dump").string();
}

}  // namespace xlatrace::tools
