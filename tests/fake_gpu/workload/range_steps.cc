// SPDX-License-Identifier: Apache-2.0
#include "workload/range_steps.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace fakegpu {
namespace {

// Text of "thunk OP ..." and "op OP ...".
ThunkText TextOf(const Place& place, const Step& step) {
  ThunkText text;
  text.op = place.Word(step, 1);
  const std::string name = place.Option(step, "name");
  // Behind the name from July 2026 on.
  static const bool with_id = std::getenv("FAKE_NVTX_PAYLOADS") != nullptr;
  text.title = "Thunk:#" + (name.empty() ? "" : "name=" + name + ",") + "hlo_op=" + text.op +
               (with_id ? ",unique_hlo_op_id=4#" : "#");
  text.hlo = place.Option(step, "hlo");
  if (text.hlo.empty()) {
    text.hlo = text.op + " = f32[8]{0} fusion(p0), kind=kLoop, calls=" + text.op + "_computation";
  }
  text.source = place.Option(step, "source");
  text.called = place.Option(step, "called");
  return text;
}

// A function of another shared object that has NVTX in it.
void* Second(const Step& step, const char* function) {
  static void* const second = [&] {
    char path[4096] = "";
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    std::string folder(path, static_cast<size_t>(std::max<ssize_t>(length, 0)));
    folder.resize(folder.rfind('/') + 1);
    void* opened = dlopen((folder + "fake_second_nvtx.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) Fail(step, dlerror());
    return opened;
  }();
  return dlsym(second, function);
}

}  // namespace

bool IsRange(const Step& step) {
  const std::string& what = step.words[0];
  return what == "module" || what == "thunk" || what == "range" || what == "other" ||
         what == "nccl";
}

void PushOf(const Place& place, const Step& step) {
  const std::string& what = step.words[0];
  if (what == "module") {
    PushModule(place.Word(step, 1), static_cast<int>(place.Number(step, 2)));
  } else if (what == "thunk") {
    PushThunk(TextOf(place, step));
  } else if (what == "nccl") {
    PushNccl(place.Word(step, 1), static_cast<uint64_t>(place.Number(step, 2)));
  } else if (what == "other") {
    reinterpret_cast<void (*)(const char*, const char*)>(Second(step, "SecondPush"))(
        place.Option(step, "domain").c_str(), place.Word(step, 1).c_str());
  } else {
    PushRange(place.Option(step, "domain"), place.Word(step, 1));
  }
}

void PopOf(const Place& place, const Step& step) {
  const std::string& what = step.words[0];
  if (what == "module") {
    PopModule();
  } else if (what == "thunk") {
    PopThunk();
  } else if (what == "nccl") {
    PopRange("NCCL");
  } else if (what == "other") {
    reinterpret_cast<void (*)(const char*)>(Second(step, "SecondPop"))(
        place.Option(step, "domain").c_str());
  } else {
    PopRange(place.Option(step, "domain"));
  }
}

void RegisterOf(const Place& place, const Step& step) {
  std::vector<ThunkText> ops;
  for (const Step& op : step.body) {
    if (op.words[0] != "op") Fail(op, "an executable has ops only");
    ops.push_back(TextOf(place, op));
  }
  RegisterExecutable(place.Word(step, 1), static_cast<int>(place.Number(step, 2)), ops);
}

}  // namespace fakegpu
