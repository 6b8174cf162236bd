#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/utsname.h>

#include "base/file.h"
#include "base/subprocess.h"
#include "base/terminal.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/places.h"
#include "tools/preload_recording.h"
#include "tools/version.h"

namespace xlatrace::tools {
namespace {

struct Options {
  std::string python = "python3";
  std::string format = "text";
};

struct Check {
  std::string what;
  enum class State { kFine, kNotice, kProblem } state = State::kFine;
  std::string found;
  std::string advice;  // What to type.
};

constexpr int kPythonTimeoutMs = 20000;

// Versions without importing the frameworks, which would take seconds and touch devices.
constexpr const char* kPythonProbe =
    "import sys, importlib.metadata as m\n"
    "def v(n):\n"
    "    try: return m.version(n)\n"
    "    except Exception: return ''\n"
    "names = ('jax', 'jaxlib', 'tensorflow', 'tensorflow-cpu', 'jax-cuda12-plugin',"
    " 'jax-cuda13-plugin')\n"
    "print('%d.%d.%d' % sys.version_info[:3], *[v(n) or '-' for n in names])\n";

std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (c != ' ' && c != '\n') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  return words;
}

Check CheckPython(const std::string& python) {
  const auto output = CaptureOutput({python, "-c", kPythonProbe}, kPythonTimeoutMs);
  if (!output) {
    return {"python", Check::State::kProblem, fmt::format("'{}' cannot be run", python),
            "name the interpreter you train with: xlatrace doctor --python PATH"};
  }
  std::vector<std::string> words = Words(*output);
  words.resize(7, "-");
  std::string found = fmt::format("Python {}", words[0]);
  const std::string tensorflow = words[3] != "-" ? words[3] : words[4];
  if (words[1] != "-") found += fmt::format(", jax {} (jaxlib {})", words[1], words[2]);
  if (tensorflow != "-") found += fmt::format(", tensorflow {}", tensorflow);
  if (words[5] != "-" || words[6] != "-") found += ", CUDA plugin";
  if (words[1] == "-" && tensorflow == "-") {
    return {"framework", Check::State::kProblem, found + ", neither jax nor tensorflow",
            fmt::format("{} -m pip install jax", python)};
  }
  return {"framework", Check::State::kFine, found, ""};
}

Check CheckHook() {
  const auto hook = HookFolder();
  if (!hook)
    return {"python hook", Check::State::kProblem, hook.error().message, hook.error().hint};
  for (const char* name : {"PYTHONNOUSERSITE", "PYTHONSAFEPATH"}) {
    if (std::getenv(name) != nullptr) {
      return {"python hook", Check::State::kNotice, fmt::format("{}; {} is set", *hook, name), ""};
    }
  }
  return {"python hook", Check::State::kFine, *hook, ""};
}

Check CheckDriver() {
  if (!HasNvidiaDriver()) {
    return {"NVIDIA driver", Check::State::kFine,
            "none: record uses the framework's own profiler (CPU and other devices)", ""};
  }
  const auto library = PreloadLibrary();
  if (!library) {
    return {"NVIDIA driver", Check::State::kNotice,
            "there is one, but " + library.error().message +
                "; record uses the framework's own profiler",
            library.error().hint};
  }
  return {"NVIDIA driver", Check::State::kFine,
          fmt::format("there is one; record preloads {}", *library), ""};
}

Check CheckFolder() {
  if (access(".", W_OK | X_OK) == 0) {
    return {"working folder", Check::State::kFine, "can be written", ""};
  }
  return {"working folder", Check::State::kProblem, "cannot be written",
          "xlatrace record -o /tmp/run.db -- python train.py"};
}

Check CheckFlags() {
  const char* flags = std::getenv("XLA_FLAGS");
  if (flags == nullptr || *flags == '\0') {
    return {"XLA_FLAGS", Check::State::kFine, "not set", ""};
  }
  if (std::string_view(flags).find("xla_dump_to") != std::string_view::npos) {
    return {"XLA_FLAGS", Check::State::kFine, "dumps HLO; modules are recorded without it too", ""};
  }
  return {"XLA_FLAGS", Check::State::kFine, "set; kept as it is", ""};
}

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

Result<int> Run(const Options& options) {
  const std::vector<Check> checks = {CheckPython(options.python), CheckHook(), CheckDriver(),
                                     CheckFolder(), CheckFlags()};
  XLATRACE_TRY(PrintResult(options.format == "json" ? AsJson(checks) : AsText(checks)));
  for (const Check& check : checks) {
    if (check.state == Check::State::kProblem) return 1;
  }
  return 0;
}

}  // namespace

void AddDoctorCommand(CLI::App& app, Command* selected) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "doctor", "Check whether a run can be recorded here, and say what to type if not");
  command->add_option("--python", options->python, "The interpreter you train with")
      ->capture_default_str();
  command->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->footer("Example:\n  xlatrace doctor --python .venv/bin/python");
  command->callback([options, selected] { *selected = [options] { return Run(*options); }; });
}

}  // namespace xlatrace::tools
