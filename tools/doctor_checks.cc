// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor_checks.h"

#include <strings.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/file.h"
#include "base/subprocess.h"
#include "tools/places.h"

extern char** environ;

namespace xlatrace::tools {
namespace {

using State = Check::State;

constexpr int kPythonTimeoutMs = 20000;
constexpr int kFlagsTimeoutMs = 60000;
// NVIDIA reproduced a crash of cudaGraphInstantiate with conditional nodes in 12.4 to 12.6
// (pytorch#134308), to be mended in the release after.
constexpr int kMinConditionalNodesCupti = 26;  // CUDA 12.8.
// CUDA 13.0 (parcagpu#23).
constexpr int kMinMissingTimesCupti = 130000;
constexpr int kMaxMissingTimesCupti = 130099;
constexpr int kMinCuptiVersion = 18;  // CUDA 11.8: the first with a field for every row of ours.

// Versions without importing the frameworks, which would take seconds and touch devices.
constexpr const char* kPythonProbe = R"(
import sys, glob, mmap, importlib.metadata as m
def v(*names):
    for n in names:
        try: return m.version(n)
        except Exception: pass
    return ''
print('version', '%d.%d.%d' % sys.version_info[:3])
print('executable', sys.executable)
print('jax', v('jax'))
print('jaxlib', v('jaxlib'))
print('tensorflow', v('tensorflow', 'tensorflow-cpu'))
print('plugin', '13' if v('jax-cuda13-plugin') else '12' if v('jax-cuda12-plugin') else '')
for p in sys.path:
    try:
        with open(p + '/tensorflow/libtensorflow_framework.so.2', 'rb') as f, \
                mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as text:
            print('ops', int(text.find(b'_ZN3tsl8profiler15AnnotationStack6EnableEb') >= 0))
            break
    except (OSError, ValueError): pass
for p in sys.path:
    for f in sorted(glob.glob(glob.escape(p) + '/nvidia/*/lib/libcupti.so.1*'), reverse=True):
        print('cupti', f)
)";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool IsOn(const std::string& value) {
  for (const char* on : {"1", "y", "yes", "t", "true", "on"}) {
    if (strcasecmp(value.c_str(), on) == 0) return true;
  }
  return false;
}

// The first variable of the environment with this prefix, as "NAME".
std::string FirstVariable(std::string_view prefix) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with(prefix)) return std::string(text.substr(0, text.find('=')));
  }
  return {};
}

// 28 -> "12.9", 130001 -> "13.0".
std::string CudaOfCupti(int version) {
  if (version >= 100000) return fmt::format("{}.{}", version / 10000, version % 10000 / 100);
  if (version < kMinCuptiVersion) return "before 11.8";
  static constexpr const char* kReleases[] = {"11.8", "12.0", "12.2", "12.3", "12.4", "12.5",
                                              "12.6", "12.6", "12.8", "12.9", "12.9"};
  const size_t index = static_cast<size_t>(version - kMinCuptiVersion);
  return index < std::size(kReleases) ? kReleases[index] : "12";
}

std::string CudaOfDriver(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// An injection variable that names a tool: empty and `none` do not.
bool NamesTool(const std::string& value) { return !value.empty() && value != "none"; }
bool IsOurs(const std::string& path) {
  return path.find("libxlatrace_collector.so") != std::string::npos;
}

}  // namespace

PythonFacts QueryPython(const std::string& python) {
  PythonFacts facts;
  const auto output = CaptureOutput({python, "-c", kPythonProbe}, kPythonTimeoutMs);
  if (!output) return facts;
  facts.ran = true;
  for (size_t at = 0; at < output->size();) {
    const size_t end = std::min(output->find('\n', at), output->size());
    const std::string line = output->substr(at, end - at);
    at = end + 1;
    const size_t blank = std::min(line.find(' '), line.size());
    const std::string key = line.substr(0, blank);
    const std::string value = blank < line.size() ? line.substr(blank + 1) : std::string();
    if (key == "version") facts.version = value;
    if (key == "executable") facts.executable = value;
    if (key == "jax") facts.jax = value;
    if (key == "jaxlib") facts.jaxlib = value;
    if (key == "tensorflow") facts.tensorflow = value;
    if (key == "ops") facts.tensorflow_names_ops = value == "1";
    if (key == "plugin") facts.cuda_plugin = std::atoi(value.c_str());
    if (key == "cupti" && !value.empty()) facts.cupti.push_back(value);
  }
  return facts;
}

Check CheckPython(const std::string& python, const PythonFacts& facts) {
  if (!facts.ran) {
    return {"python", State::kProblem, fmt::format("'{}' cannot be run", python),
            "name the interpreter you train with: xlatrace doctor --python PATH"};
  }
  // Whose Python: the one of PATH need not be the one that trains.
  std::string found = fmt::format("Python {} ({})", facts.version,
                                  facts.executable.empty() ? python : facts.executable);
  if (!facts.jax.empty()) found += fmt::format(", jax {} (jaxlib {})", facts.jax, facts.jaxlib);
  if (!facts.tensorflow.empty()) found += fmt::format(", tensorflow {}", facts.tensorflow);
  if (facts.cuda_plugin != 0) found += ", CUDA plugin";
  if (facts.jax.empty() && facts.tensorflow.empty()) {
    return {"framework", State::kProblem, found + ", neither jax nor tensorflow",
            fmt::format("{} -m pip install jax; or name the one you train with: xlatrace doctor "
                        "--python PATH",
                        python)};
  }
  if (!facts.tensorflow_names_ops) {
    return {"framework", State::kNotice,
            found +
                ", whose build has no switch for the names of its ops: on a GPU only work that XLA "
                "compiles (jit_compile=True) is attributed",
            "pip install 'tensorflow[and-cuda]==2.21.0'"};
  }
  return {"framework", State::kFine, found, ""};
}

Check CheckHook() {
  const auto hook = HookFolder();
  if (!hook) return {"python hook", State::kProblem, hook.error().message, hook.error().hint};
  for (const char* name : {"PYTHONNOUSERSITE", "PYTHONSAFEPATH"}) {
    if (std::getenv(name) != nullptr) {
      return {"python hook", State::kNotice, fmt::format("{}; {} is set", *hook, name), ""};
    }
  }
  return {"python hook", State::kFine, *hook, ""};
}

Check CheckFolder() {
  const std::string place = Variable("XLATRACE_REC");
  if (!place.empty()) {
    const std::string parent = std::filesystem::path(place).parent_path().string();
    if (access(parent.empty() ? "." : parent.c_str(), W_OK | X_OK) != 0) {
      return {"working folder", State::kProblem,
              fmt::format("XLATRACE_REC names '{}', where nothing can be written", place),
              "unset XLATRACE_REC"};
    }
  }
  if (access(".", W_OK | X_OK) == 0) {
    return {"working folder", State::kFine, "can be written", ""};
  }
  return {"working folder", State::kProblem, "cannot be written",
          "xlatrace record -o /tmp/run.db -- python train.py"};
}

// "export NAME='WHAT IS LEFT'", or "unset NAME".
std::string WithoutWord(std::string_view name, std::string_view value, char separator,
                        const std::function<bool(std::string_view)>& gone) {
  std::string left;
  for (size_t at = 0; at <= value.size();) {
    const size_t end = std::min(value.find(separator, at), value.size());
    const std::string_view word = value.substr(at, end - at);
    at = end + 1;
    if (word.empty() || gone(word)) continue;
    if (!left.empty()) left += separator;
    for (const char c : word) {
      if (c == '\'') left += "'\\'";  // Ends the quoted text; a quote; begins it again.
      left += c;
    }
  }
  if (left.empty()) return fmt::format("unset {}", name);
  return fmt::format("export {}='{}'", name, left);
}

Check CheckFlags(const std::string& python, const PythonFacts& facts) {
  const std::string flags = Variable("XLA_FLAGS");
  if (flags.empty()) return {"XLA_FLAGS", State::kFine, "not set", ""};
  std::string found = flags.find("xla_dump_to") != std::string::npos
                          ? "dumps HLO; modules are recorded without it too"
                          : "set; kept as it is";
  if (facts.jaxlib.empty()) return {"XLA_FLAGS", State::kFine, found, ""};
  // XLA prints an unknown flag on standard error and aborts.
  constexpr const char* kTry =
      "import os, sys, subprocess; os.environ['JAX_PLATFORMS'] = 'cpu'\n"
      "r = subprocess.run([sys.executable, '-c', 'import jax; jax.devices()'],"
      " capture_output=True, text=True)\n"
      "print(r.returncode, [l for l in r.stderr.splitlines() if 'nknown flag' in l][:1])";
  const auto tried = CaptureOutput({python, "-c", kTry}, kFlagsTimeoutMs);
  if (tried && tried->find("nknown flag") != std::string::npos) {
    const size_t dashes = tried->find("--");
    std::string flag =
        dashes == std::string::npos
            ? "one"
            : tried->substr(dashes, tried->find_first_of(" ',=\n\\", dashes) - dashes);
    return {"XLA_FLAGS", State::kProblem,
            fmt::format("this XLA (jaxlib {}) does not know {} and will abort", facts.jaxlib, flag),
            WithoutWord("XLA_FLAGS", flags, ' ', [&](std::string_view word) {
              return word == flag || word.starts_with(flag + "=");
            })};
  }
  return {"XLA_FLAGS", State::kFine, found, ""};
}

Check CheckDriver(const GpuProbe& probe, const PythonFacts& facts) {
  const std::string what = "NVIDIA driver";
  if (!probe.answered) {
    return {what, State::kProblem,
            fmt::format("'{}' does not answer (it crashed or hung)",
                        probe.driver_path.empty() ? "libcuda.so.1" : probe.driver_path),
            "nvidia-smi"};
  }
  if (probe.driver_path.empty() && facts.cuda_plugin != 0) {
    return {what, State::kNotice,
            "none (no libcuda.so.1), though this JAX is one for CUDA: record uses the framework's "
            "own profiler",
            "nvidia-smi; in a container: docker run --gpus all IMAGE"};
  }
  if (probe.driver_path.empty()) {
    return {what, State::kFine,
            "none (no libcuda.so.1): record uses the framework's own profiler (CPU and other "
            "devices)",
            ""};
  }
  if (probe.driver_path.find("/stubs/") != std::string::npos) {
    return {
        what, State::kProblem,
        fmt::format("'{}' is the toolkit's stub, which no program can run with", probe.driver_path),
        WithoutWord("LD_LIBRARY_PATH", Variable("LD_LIBRARY_PATH"), ':',
                    [](std::string_view folder) {
                      while (folder.ends_with('/')) folder.remove_suffix(1);
                      return folder.ends_with("/stubs");
                    })};
  }
  constexpr int kNoDeviceStatus = 100;  // CUDA_ERROR_NO_DEVICE
  if (probe.init_result != 0 && probe.init_result != kNoDeviceStatus) {
    return {what, State::kProblem,
            fmt::format("cuInit fails with {} ({})", probe.init_result, probe.driver_path),
            "nvidia-smi"};
  }
  if (probe.devices == 0) {
    return {what, State::kProblem,
            fmt::format("CUDA {}, but no device is visible", CudaOfDriver(probe.driver_version)),
            std::getenv("CUDA_VISIBLE_DEVICES") != nullptr ? "unset CUDA_VISIBLE_DEVICES"
                                                           : "nvidia-smi"};
  }
  return {what, State::kFine,
          fmt::format("CUDA {}, {} device{}", CudaOfDriver(probe.driver_version), probe.devices,
                      probe.devices == 1 ? "" : "s"),
          ""};
}

Check CheckCupti(const GpuProbe& probe, const PythonFacts& facts) {
  const std::string what = "CUPTI";
  const int major = facts.cuda_plugin != 0 ? facts.cuda_plugin : probe.driver_version / 1000;
  const std::string install =
      major == 12 ? "pip install nvidia-cuda-cupti-cu12"
                  : fmt::format("pip install 'nvidia-cuda-cupti=={}.*'", major == 0 ? 13 : major);
  if (const std::string given = Variable("XLATRACE_CUPTI");
      !given.empty() && probe.cupti_path.empty()) {
    return {what, State::kProblem,
            fmt::format("XLATRACE_CUPTI names '{}', which cannot be loaded", given),
            "unset XLATRACE_CUPTI"};
  }
  if (probe.cupti_path.empty()) {
    return {what, State::kProblem, "libcupti was not found", install};
  }
  if (probe.cupti_result != 0) {
    return {what, State::kProblem,
            fmt::format("'{}' does not work with this driver (error {})", probe.cupti_path,
                        probe.cupti_result),
            install};
  }
  const std::string release = CudaOfCupti(probe.cupti_version);
  if (probe.cupti_version < kMinCuptiVersion) {
    return {what, State::kProblem,
            fmt::format("'{}' is of CUDA {}; 11.8 is the oldest that is read", probe.cupti_path,
                        release),
            install};
  }
  const int cupti_major = probe.cupti_version >= 100000             ? probe.cupti_version / 10000
                          : probe.cupti_version == kMinCuptiVersion ? 11
                                                                    : 12;
  if (probe.driver_version != 0 && cupti_major > probe.driver_version / 1000) {
    return {what, State::kProblem,
            fmt::format("'{}' is of CUDA {}, newer than the driver's {}: CUPTI refuses that",
                        probe.cupti_path, release, CudaOfDriver(probe.driver_version)),
            "pip install nvidia-cuda-cupti-cu12"};
  }
  const std::string found = fmt::format("CUDA {} ({})", release, probe.cupti_path);
  if (probe.cupti_version < kMinConditionalNodesCupti) {
    return {what, State::kNotice,
            found + ": may crash when a CUDA graph with branches or loops is made",
            "export XLA_FLAGS='--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUDNN'"};
  }
  if (probe.cupti_version >= kMinMissingTimesCupti &&
      probe.cupti_version <= kMaxMissingTimesCupti) {
    // Most programs end before, so all is well.
    return {what, State::kFine,
            found +
                ". After about 25 million kernels in CUDA graphs it gives no times: for longer "
                "runs install a newer nvidia-cuda-cupti or record with --graphs graph",
            ""};
  }
  return {what, State::kFine, found, ""};
}

Check CheckLibraries(const PythonFacts& facts) {
  const std::string what = "preload";
  // Every library in LD_PRELOAD must exist, in this container, too.
  const std::string preloaded = Variable("LD_PRELOAD");
  for (size_t at = 0; at < preloaded.size();) {
    const size_t end = std::min(preloaded.find_first_of(": ", at), preloaded.size());
    const std::string path = preloaded.substr(at, end - at);
    at = end + 1;
    if (path.find("xlatrace") == std::string::npos || path.find('/') == std::string::npos ||
        Exists(path)) {
      continue;
    }
    return {what, State::kProblem,
            fmt::format("LD_PRELOAD names '{}', which is not here (a container?)", path),
            "install xlatrace inside, then: LD_PRELOAD=$(xlatrace lib) python train.py"};
  }
  const auto library = PreloadLibrary();
  if (!library) {
    return {what, State::kProblem, library.error().message,
            Variable("XLATRACE_LIB").empty() ? library.error().hint : "unset XLATRACE_LIB"};
  }
  if (const auto name = PreloadName(*library); !name) {
    return {what, State::kProblem, name.error().message, name.error().hint};
  }
  // The preload finds it beside itself.
  const auto collector = std::filesystem::path(*library).parent_path() / "libxlatrace_collector.so";
  if (!Exists(collector.string()) && Variable("XLATRACE_COLLECTOR").empty()) {
    return {
        what, State::kProblem,
        fmt::format("'{}' is alone: built without CUDA's headers, there is no collector", *library),
        "scripts/cuda_headers && cmake --preset release && cmake --build --preset release"};
  }
  const std::string interpreter = ElfInterpreter(facts.executable);
  if (interpreter.find("musl") != std::string::npos) {
    return {
        what, State::kProblem,
        fmt::format("'{}' is a program of musl libc; the preload needs glibc", facts.executable),
        "use an image with glibc: FROM python:3.12-slim instead of python:3.12-alpine"};
  }
  return {what, State::kFine, *library, ""};
}

std::vector<Check> CheckOtherTools() {
  std::vector<Check> checks;
  const auto add = [&](State state, std::string found, std::string advice) {
    checks.push_back({"other tools", state, std::move(found), std::move(advice)});
  };
  std::string nsight;
  for (const char* prefix : {"NSYS_", "QUADD_", "NSIGHT_SYSTEMS_"}) {
    if (nsight.empty()) nsight = FirstVariable(prefix);
  }
  const std::string cuda = Variable("CUDA_INJECTION64_PATH");
  if (cuda.find("ToolsInjection") != std::string::npos) nsight = "CUDA_INJECTION64_PATH";
  if (!nsight.empty()) {
    add(State::kProblem,
        fmt::format("this shell runs under Nsight Systems ({}): CUPTI serves one profiler", nsight),
        "run xlatrace without nsys; its trace can be imported: xlatrace import trace.sqlite -o "
        "run.db");
  } else if (NamesTool(cuda) && !IsOurs(cuda)) {
    add(State::kProblem, fmt::format("CUDA_INJECTION64_PATH names another tool: {}", cuda),
        "unset CUDA_INJECTION64_PATH");
  }
  const std::string nvtx = Variable("NVTX_INJECTION64_PATH");
  if (NamesTool(nvtx) && !IsOurs(nvtx) && nvtx.find("ToolsInjection") == std::string::npos) {
    add(State::kNotice,
        fmt::format("NVTX_INJECTION64_PATH names another tool: {}; instructions are then known by "
                    "names and order only",
                    nvtx),
        "unset NVTX_INJECTION64_PATH");
  }
  if (IsOn(Variable("JAX_ENABLE_PGLE"))) {
    add(State::kProblem,
        "JAX_ENABLE_PGLE is on: JAX profiles the program itself, and xlatrace stays out",
        "unset JAX_ENABLE_PGLE");
  }
  const std::string mps = Variable("CUDA_MPS_PIPE_DIRECTORY");
  if (!mps.empty() || Exists("/tmp/nvidia-mps/control")) {
    add(State::kNotice,
        "MPS is on: kernels of other processes share the GPU, so that times vary with them",
        "for figures of this program alone: echo quit | nvidia-cuda-mps-control");
  }
  if (checks.empty()) add(State::kFine, "none that uses CUPTI or NVTX", "");
  return checks;
}

}  // namespace xlatrace::tools
