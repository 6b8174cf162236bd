// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/utsname.h>

#include "base/shell_word.h"
#include "base/terminal.h"
#include "tools/choices.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/doctor_checks.h"
#include "tools/fold.h"
#include "tools/gpu_probe.h"
#include "tools/secret_scan.h"
#include "tools/version.h"

namespace xlatrace::tools {
namespace {

struct DoctorOptions {
  std::string python = "python3";
  std::string format = "text";
  std::string secrets;
};

constexpr int kSecretsFoundStatus = 3;

std::string AsText(const std::vector<Check>& checks) {
  utsname system{};
  uname(&system);
  std::string out = fmt::format("xlatrace {} on {} {}\n", kVersion, system.sysname, system.machine);
  for (const Check& check : checks) {
    const char* mark = check.state == Check::State::kFine     ? "ok"
                       : check.state == Check::State::kNotice ? "note"
                                                              : "FIX";
    out += fmt::format("{:<5} {:<16} {}\n", mark, check.what, Printable(check.found));
    if (!check.advice.empty()) out += fmt::format("{:<22} -> {}\n", "", check.advice);
  }
  return out;
}

std::string AsJson(const std::vector<Check>& checks) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Check& check : checks) {
    const char* state = check.state == Check::State::kFine     ? "ok"
                        : check.state == Check::State::kNotice ? "notice"
                                                               : "problem";
    list.push_back({{"check", check.what},
                    {"state", state},
                    {"found", check.found},
                    {"advice", check.advice}});
  }
  const nlohmann::ordered_json document = {{"schema_version", 1}, {"checks", std::move(list)}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<int> ListSecrets(const DoctorOptions& options) {
  XLATRACE_ASSIGN(const std::string run, FoldedRun(options.secrets));
  XLATRACE_ASSIGN(const std::vector<SecretFound> found, ScanForSecrets(run));
  std::string text;
  if (options.format == "json") {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const SecretFound& one : found) {
      list.push_back({{"table", one.table},
                      {"column", one.column},
                      {"row", one.row},
                      {"kind", one.kind},
                      {"text", one.text}});
    }
    const nlohmann::ordered_json document = {{"schema_version", 1}, {"secrets", std::move(list)}};
    text = document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  } else if (found.empty()) {
    text = "Nothing in it looks like a secret.\n";
  } else {
    text = fmt::format("{} look like secrets; shown masked:\n", found.size());
    for (const SecretFound& one : found) {
      text += fmt::format("  {}.{} row {}: {}: {}\n", one.table, one.column, one.row, one.kind,
                          Printable(one.text));
    }
    text += fmt::format(
        "Import the recording again, which masks what it can, or give away a file without names:\n"
        "  xlatrace export {} --to db --share-safe -o shared.db\n",
        ShellWord(run));
  }
  XLATRACE_TRY(PrintResult(text));
  return found.empty() ? 0 : kSecretsFoundStatus;
}

Result<int> RunDoctor(const DoctorOptions& options) {
  if (!options.secrets.empty()) return ListSecrets(options);
  const PythonFacts python = QueryPython(options.python);
  std::vector<Check> checks = {CheckPython(options.python, python), CheckHook()};
  const GpuProbe probe = ProbeGpu(python.cupti);
  checks.push_back(CheckDriver(probe, python));
  // Without a driver nothing of ours is preloaded.
  if (!probe.driver_path.empty() || !probe.answered) {
    if (probe.init_result == 0) checks.push_back(CheckCupti(probe, python));
    checks.push_back(CheckLibraries(python));
  } else if (std::getenv("LD_PRELOAD") != nullptr) {
    checks.push_back(CheckLibraries(python));
  }
  for (Check& check : CheckOtherTools()) checks.push_back(std::move(check));
  checks.push_back(CheckFolder());
  checks.push_back(CheckFlags(options.python, python));
  XLATRACE_TRY(PrintResult(options.format == "json" ? AsJson(checks) : AsText(checks)));
  for (const Check& check : checks) {
    if (check.state == Check::State::kProblem) return 1;
  }
  return 0;
}

}  // namespace

void AddDoctorCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = app.add_subcommand(
      "doctor", "Check whether this machine can record; print the command that helps if not");
  command->add_option("--python", options->python, "The interpreter you train with")
      ->type_name("PATH")
      ->capture_default_str();
  command->add_option("--format", options->format, "text or json")
      ->check(OneOf({"text", "json"}))
      ->capture_default_str();
  command
      ->add_option(
          "--secrets", options->secrets,
          "Instead list what looks like a secret in a run; exit status 3 where there is one")
      ->type_name("RUN");
  command->footer(
      "Examples:\n  xlatrace doctor --python .venv/bin/python\n  xlatrace doctor --secrets run.db");
  command->callback([options, selected] { *selected = [options] { return RunDoctor(*options); }; });
}

}  // namespace xlatrace::tools
