// A program that uses a GPU as a script says, through the driver API that it opens at run time as
// frameworks do; the traced program of the collector's tests. README.md has the language.
//
//   fake_workload FILE | fake_workload -e 'launch a x 100; sync'
#include <cuda.h>
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>

#include "workload/program.h"
#include "workload/ranges.h"
#include "workload/script.h"

namespace fakegpu {
namespace {

struct ThreadContext {
  int device = 0;
  long thread = 0, round = 0;
  double rate = 0;  // launches per second, 0: as fast as it goes
  uint64_t launched = 0;
  timespec begun{};
};

[[noreturn]] void Fail(const Step& step, const std::string& why) {
  std::fprintf(stderr, "fake_workload: line %d: %s: %s\n", step.line, step.words[0].c_str(),
               why.c_str());
  std::exit(3);
}

void Check(const Step& step, CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) Fail(step, std::string(what) + " returned " + std::to_string(result));
}
#define CHECK(call) Check(step, call, #call)

class Runner {
 public:
  explicit Runner(Program* program) : program_(*program) {}

  void Run(const std::vector<Step>& steps) {
    for (const Step& step : steps) Run(step);
  }
  void set_place(const ThreadContext& place) { place_ = place; }

 private:
  // %t is the thread's number, %r the round of the innermost repeat.
  std::string Word(const Step& step, size_t i) const {
    if (i >= step.words.size()) Fail(step, "needs more words");
    std::string word = step.words[i];
    for (const auto& [mark, value] :
         {std::pair{"%t", place_.thread}, std::pair{"%r", place_.round}}) {
      for (size_t at = word.find(mark); at != std::string::npos; at = word.find(mark)) {
        word.replace(at, 2, std::to_string(value));
      }
    }
    return word;
  }
  long Number(const Step& step, size_t i) const {
    return std::strtol(Word(step, i).c_str(), nullptr, 0);
  }

  // The word after `name`, anywhere behind the first word; empty: not there.
  std::string Option(const Step& step, const char* name) const {
    for (size_t i = 1; i + 1 < step.words.size(); ++i) {
      if (step.words[i] == name) return Word(step, i + 1);
    }
    return "";
  }
  long Option(const Step& step, const char* name, long otherwise) const {
    const std::string text = Option(step, name);
    return text.empty() ? otherwise : std::strtol(text.c_str(), nullptr, 0);
  }

  void NeedDevice(const Step& step) {
    std::lock_guard guard(program_.lock);
    if (!program_.ready) {
      library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
      if (library == nullptr) Fail(step, dlerror());
      CHECK(CU(cuInit)(0));
      int count = 0;
      CHECK(CU(cuDeviceGetCount)(&count));
      for (int i = 0; i < count; ++i) {
        CUcontext context = nullptr;
        CHECK(CU(cuDevicePrimaryCtxRetain)(&context, i));
        program_.contexts.push_back(context);
      }
      program_.ready = true;
    }
    if (place_.device >= static_cast<int>(program_.contexts.size())) Fail(step, "no such device");
    CHECK(CU(cuCtxSetCurrent)(program_.contexts[place_.device]));
  }

  // Every kernel that is not declared is one of 32 registers in a module of its own.
  CUfunction Function(const Step& step, const std::string& name) {
    std::lock_guard guard(program_.lock);
    CUfunction& function = program_.functions[{place_.device, name}];
    if (function == nullptr) {
      CubinKernel kernel{name};
      if (const auto declared = program_.kernels.find(name); declared != program_.kernels.end()) {
        kernel = declared->second;
      }
      CUmodule module = nullptr;
      CHECK(CU(cuModuleLoadData)(&module, MakeCubin({kernel}).data()));
      CHECK(CU(cuModuleGetFunction)(&function, module, name.c_str()));
    }
    return function;
  }

  CUstream Stream(const Step& step, const std::string& name) {
    if (name.empty()) return nullptr;
    std::lock_guard guard(program_.lock);
    CUstream& stream = program_.streams[name + "@" + std::to_string(place_.device)];
    if (stream == nullptr) CHECK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
  }

  CUdeviceptr Memory(const Step& step, int device, char which) {
    std::lock_guard guard(program_.lock);
    CUdeviceptr& memory = program_.memory[{device, which}];
    if (memory == 0) CHECK(CU(cuMemAlloc)(&memory, kMemory));
    return memory;
  }

  static void Triple(const std::string& text, unsigned (&out)[3]) {
    if (!text.empty()) std::sscanf(text.c_str(), "%ux%ux%u", &out[0], &out[1], &out[2]);
  }

  // Waits until this thread is not ahead of its rate.
  void Pace() {
    if (place_.rate <= 0) return;
    if (place_.launched++ == 0) clock_gettime(CLOCK_MONOTONIC, &place_.begun);
    if (place_.launched % 16 != 0) return;
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double passed = static_cast<double>(now.tv_sec - place_.begun.tv_sec) +
                          static_cast<double>(now.tv_nsec - place_.begun.tv_nsec) * 1e-9;
    const double due = static_cast<double>(place_.launched) / place_.rate;
    if (due > passed + 50e-6) usleep(static_cast<useconds_t>((due - passed) * 1e6));
  }

  void Launch(const Step& step) {
    NeedDevice(step);
    CUfunction function = Function(step, Word(step, 1));
    CUstream stream = Stream(step, Option(step, "on"));
    unsigned grid[3] = {1, 1, 1}, block[3] = {32, 1, 1};
    Triple(Option(step, "grid"), grid);
    Triple(Option(step, "block"), block);
    const auto smem = static_cast<unsigned>(Option(step, "smem", 0));
    if (smem > 48 * 1024) {
      CHECK(CU(cuFuncSetAttribute)(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                   static_cast<int>(smem)));
    }
    const auto launch = CU(cuLaunchKernel);
    for (long i = Option(step, "x", 1); i > 0; --i) {
      CHECK(launch(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], smem, stream,
                   nullptr, nullptr));
      Pace();
    }
  }

  void Copy(const Step& step) {
    NeedDevice(step);
    const std::string kind = Word(step, 1);
    const auto bytes = static_cast<size_t>(Number(step, 2));
    if (bytes > kMemory) Fail(step, "more than the workload's memory");
    CUstream stream = Stream(step, Option(step, "on"));
    static std::vector<char>* const host = new std::vector<char>(kMemory);
    const CUdeviceptr a = Memory(step, place_.device, 'a'), b = Memory(step, place_.device, 'b');
    for (long i = Option(step, "x", 1); i > 0; --i) {
      if (kind == "htod") {
        CHECK(CU(cuMemcpyHtoDAsync)(a, host->data(), bytes, stream));
      } else if (kind == "dtoh") {
        CHECK(CU(cuMemcpyDtoHAsync)(host->data(), a, bytes, stream));
      } else if (kind == "dtod") {
        CHECK(CU(cuMemcpyDtoDAsync)(b, a, bytes, stream));
      } else if (kind == "peer") {
        const int other = (place_.device + 1) % static_cast<int>(program_.contexts.size());
        CHECK(CU(cuCtxSetCurrent)(program_.contexts[other]));
        const CUdeviceptr there = Memory(step, other, 'a');
        CHECK(CU(cuCtxSetCurrent)(program_.contexts[place_.device]));
        CHECK(CU(cuMemcpyPeerAsync)(there, program_.contexts[other], a,
                                    program_.contexts[place_.device], bytes, stream));
      } else {
        Fail(step, "unknown kind of copy");
      }
      Pace();
    }
  }

  void Set(const Step& step) {
    NeedDevice(step);
    const CUdeviceptr a = Memory(step, place_.device, 'a');
    CUstream stream = Stream(step, Option(step, "on"));
    for (long i = Option(step, "x", 1); i > 0; --i) {
      CHECK(CU(cuMemsetD8Async)(a, 0, static_cast<size_t>(Number(step, 1)), stream));
      Pace();
    }
  }

  // "graph NAME { launch ...; copy dtod N; set N; thunk ... { ... } }": one node after another.
  void AddNodes(const std::vector<Step>& steps, Graph* graph) {
    for (const Step& step : steps) {
      const std::string& what = step.words[0];
      std::vector<CUgraphNode> before;
      if (!graph->nodes.empty() && Option(step, "after") != "none")
        before.push_back(graph->nodes.back());
      CUgraphNode node = nullptr;
      if (what == "launch") {
        CUDA_KERNEL_NODE_PARAMS params{};
        Fill(step, &params);
        CHECK(CU(cuGraphAddKernelNode)(&node, graph->graph, before.data(), before.size(), &params));
      } else if (what == "copy") {
        CUDA_MEMCPY3D params{};
        params.srcMemoryType = params.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        params.srcDevice = Memory(step, place_.device, 'a');
        params.dstDevice = Memory(step, place_.device, 'b');
        params.WidthInBytes = static_cast<size_t>(Number(step, 2));
        params.Height = params.Depth = 1;
        CHECK(CU(cuGraphAddMemcpyNode)(&node, graph->graph, before.data(), before.size(), &params,
                                       program_.contexts[place_.device]));
      } else if (what == "set") {
        CUDA_MEMSET_NODE_PARAMS params{};
        params.dst = Memory(step, place_.device, 'a');
        params.elementSize = 1;
        params.width = static_cast<size_t>(Number(step, 1));
        params.height = 1;
        CHECK(CU(cuGraphAddMemsetNode)(&node, graph->graph, before.data(), before.size(), &params,
                                       program_.contexts[place_.device]));
      } else if (what == "child") {
        Graph child;
        CHECK(CU(cuGraphCreate)(&child.graph, 0));
        AddNodes(step.body, &child);
        CHECK(CU(cuGraphAddChildGraphNode)(&node, graph->graph, before.data(), before.size(),
                                           child.graph));
        CHECK(CU(cuGraphDestroy)(child.graph));
      } else if (what == "thunk" || what == "module" || what == "range") {
        PushOf(step);
        AddNodes(step.body, graph);
        PopOf(step);
        continue;
      } else {
        Fail(step, "no node");
      }
      graph->nodes.push_back(node);
    }
  }

  void Fill(const Step& step, CUDA_KERNEL_NODE_PARAMS* params) {
    unsigned grid[3] = {1, 1, 1}, block[3] = {32, 1, 1};
    Triple(Option(step, "grid"), grid);
    Triple(Option(step, "block"), block);
    params->func = Function(step, Word(step, 1));
    params->gridDimX = grid[0], params->gridDimY = grid[1], params->gridDimZ = grid[2];
    params->blockDimX = block[0], params->blockDimY = block[1], params->blockDimZ = block[2];
    params->sharedMemBytes = static_cast<unsigned>(Option(step, "smem", 0));
  }

  void MakeGraph(const Step& step) {
    NeedDevice(step);
    Graph graph;
    if (Option(step, "by") == "capture") {
      CUstream stream = Stream(step, "capture of " + Word(step, 1));
      CHECK(CU(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
      capture_ = "capture of " + Word(step, 1);
      RunCaptured(step.body);
      CHECK(CU(cuStreamEndCapture)(stream, &graph.graph));
    } else {
      CHECK(CU(cuGraphCreate)(&graph.graph, 0));
      AddNodes(step.body, &graph);
    }
    CHECK(CU(cuGraphInstantiate)(&graph.exec, graph.graph, 0));
    std::lock_guard guard(program_.lock);
    program_.graphs[Word(step, 1)] = graph;
  }

  void RunCaptured(const std::vector<Step>& steps) {
    for (Step step : steps) {
      if (!step.body.empty()) {
        PushOf(step);
        RunCaptured(step.body);
        PopOf(step);
      } else {
        step.words.insert(step.words.end(), {"on", capture_});
        Run(step);
      }
    }
  }

  Graph& FindGraph(const Step& step) {
    std::lock_guard guard(program_.lock);
    const auto found = program_.graphs.find(Word(step, 1));
    if (found == program_.graphs.end()) Fail(step, "no such graph");
    return found->second;
  }

  // "update G 2 launch name ...": gives node 2 (from 0) new parameters, as XLA does in place.
  void Update(const Step& step) {
    NeedDevice(step);
    Graph& graph = FindGraph(step);
    const auto index = static_cast<size_t>(Number(step, 2));
    if (index >= graph.nodes.size()) Fail(step, "no such node");
    Step inner = step;
    inner.words.erase(inner.words.begin() + 1, inner.words.begin() + 4);  // name, index, "launch"
    CUDA_KERNEL_NODE_PARAMS params{};
    Fill(inner, &params);
    CHECK(CU(cuGraphExecKernelNodeSetParams)(graph.exec, graph.nodes[index], &params));
  }

  // Of "thunk OP ..." and "op OP ...".
  ThunkText TextOf(const Step& step) const {
    ThunkText text;
    text.op = Word(step, 1);
    const std::string name = Option(step, "name");
    text.title = "Thunk:#" + (name.empty() ? "" : "name=" + name + ",") + "hlo_op=" + text.op + "#";
    text.hlo = Option(step, "hlo");
    if (text.hlo.empty()) {
      text.hlo = text.op + " = f32[8]{0} fusion(p0), kind=kLoop, calls=" + text.op + "_computation";
    }
    text.source = Option(step, "source");
    text.called = Option(step, "called");
    return text;
  }

  void PushOf(const Step& step) {
    const std::string& what = step.words[0];
    if (what == "module") {
      PushModule(Word(step, 1), static_cast<int>(Number(step, 2)));
    } else if (what == "thunk") {
      PushThunk(TextOf(step));
    } else {
      PushRange(Option(step, "domain"), Word(step, 1));
    }
  }
  void PopOf(const Step& step) {
    if (step.words[0] == "range") {
      PopRange(Option(step, "domain"));
    } else if (step.words[0] == "module") {
      PopModule();
    } else {
      PopThunk();
    }
  }

  // A range by another shared object's NVTX around the block.
  void Other(const Step& step) {
    static void* const second = [&] {
      char path[4096] = "";
      const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
      std::string folder(path, static_cast<size_t>(std::max<ssize_t>(length, 0)));
      folder.resize(folder.rfind('/') + 1);
      void* opened = dlopen((folder + "fake_second_nvtx.so").c_str(), RTLD_NOW | RTLD_LOCAL);
      if (opened == nullptr) Fail(step, dlerror());
      return opened;
    }();
    const std::string domain = Option(step, "domain");
    reinterpret_cast<void (*)(const char*, const char*)>(dlsym(second, "SecondPush"))(
        domain.c_str(), Word(step, 1).c_str());
    Run(step.body);
    reinterpret_cast<void (*)(const char*)>(dlsym(second, "SecondPop"))(domain.c_str());
  }

  void Threads(const Step& step) {
    std::vector<std::thread> threads;
    for (long i = 0; i < Number(step, 1); ++i) {
      ThreadContext place = place_;
      place.thread = i;
      place.launched = 0;
      threads.emplace_back([this, &step, place] {
        Runner runner(&program_);
        runner.set_place(place);
        runner.Run(step.body);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  void Fork(const Step& step) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) Fail(step, "fork failed");
    if (child == 0) {
      Run(step.body);
      // A child that falls off the end leaves as exit() does, handlers and all.
      if (Option(step, "leaves") == "_exit") _exit(0);
      std::exit(0);
    }
    if (Option(step, "and") == "go-on") {
      program_.children.push_back(child);
      return;
    }
    Wait(step, child);
  }

  void Wait(const Step& step, pid_t child) {
    int status = 0;
    if (waitpid(child, &status, 0) != child) Fail(step, "waitpid failed");
    std::printf("child %s %d\n", WIFEXITED(status) ? "exited" : "killed by",
                WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  }

  void Run(const Step& step) {
    const std::string& what = step.words[0];
    if (what == "launch") {
      Launch(step);
    } else if (what == "copy") {
      Copy(step);
    } else if (what == "set") {
      Set(step);
    } else if (what == "kernel") {
      std::lock_guard guard(program_.lock);
      program_.kernels[Word(step, 1)] = {Word(step, 1),
                                         static_cast<uint32_t>(Option(step, "registers", 32)),
                                         static_cast<uint32_t>(Option(step, "smem", 0))};
    } else if (what == "init") {
      NeedDevice(step);
    } else if (what == "device") {
      place_.device = static_cast<int>(Number(step, 1));
    } else if (what == "sync") {
      NeedDevice(step);
      if (step.words.size() > 1) {
        CHECK(CU(cuStreamSynchronize)(Stream(step, Word(step, 1))));
      } else {
        CHECK(CU(cuCtxSynchronize)());
      }
    } else if (what == "record" || what == "wait-event") {
      NeedDevice(step);
      CUstream stream = Stream(step, Option(step, "on"));
      CUevent event = nullptr;
      {
        std::lock_guard guard(program_.lock);
        CUevent& known = program_.events[Word(step, 1)];
        if (known == nullptr) CHECK(CU(cuEventCreate)(&known, CU_EVENT_DISABLE_TIMING));
        event = known;
      }
      CHECK(what == "record" ? CU(cuEventRecord)(event, stream)
                             : CU(cuStreamWaitEvent)(stream, event, 0));
    } else if (what == "host") {
      NeedDevice(step);
      CHECK(CU(cuLaunchHostFunc)(
          Stream(step, Option(step, "on")), [](void*) {}, nullptr));
    } else if (what == "graph") {
      MakeGraph(step);
    } else if (what == "run") {
      NeedDevice(step);
      Graph& graph = FindGraph(step);
      CUstream stream = Stream(step, Option(step, "on"));
      for (long i = Option(step, "x", 1); i > 0; --i) {
        CHECK(CU(cuGraphLaunch)(graph.exec, stream));
        Pace();
      }
    } else if (what == "update") {
      Update(step);
    } else if (what == "enable" || what == "disable") {
      Graph& graph = FindGraph(step);
      CHECK(CU(cuGraphNodeSetEnabled)(
          graph.exec, graph.nodes.at(static_cast<size_t>(Number(step, 2))), what == "enable"));
    } else if (what == "destroy") {
      Graph& graph = FindGraph(step);
      CHECK(CU(cuGraphExecDestroy)(graph.exec));
      CHECK(CU(cuGraphDestroy)(graph.graph));
      std::lock_guard guard(program_.lock);
      program_.graphs.erase(Word(step, 1));
    } else if (what == "module" || what == "thunk" || what == "range") {
      PushOf(step);
      Run(step.body);
      PopOf(step);
    } else if (what == "executable") {
      std::vector<ThunkText> ops;
      for (const Step& op : step.body) {
        if (op.words[0] != "op") Fail(op, "an executable has ops only");
        ops.push_back(TextOf(op));
      }
      RegisterExecutable(Word(step, 1), static_cast<int>(Number(step, 2)), ops);
    } else if (what == "other") {
      Other(step);
    } else if (what == "name") {
      const std::string kind = Word(step, 1);
      if (kind == "thread") {
        NameThread(Word(step, 2));
      } else if (kind == "stream") {
        NeedDevice(step);
        NameStream(Stream(step, Word(step, 2)), Word(step, 3));
      } else if (kind == "device") {
        NameDevice(static_cast<CUdevice>(Number(step, 2)), Word(step, 3));
      } else {
        Fail(step, "names thread, stream or device");
      }
    } else if (what == "push") {
      PushRange(Option(step, "domain"), Word(step, 1));
    } else if (what == "pop") {
      PopRange(Option(step, "domain"));
    } else if (what == "repeat") {
      const long outer = place_.round;
      for (long i = 0; i < Number(step, 1); ++i) {
        place_.round = i;
        Run(step.body);
      }
      place_.round = outer;
    } else if (what == "forever") {
      for (place_.round = 0;; ++place_.round) Run(step.body);
    } else if (what == "threads") {
      Threads(step);
    } else if (what == "rate") {
      place_.rate = std::strtod(Word(step, 1).c_str(), nullptr);
      place_.launched = 0;
    } else if (what == "sleep") {
      usleep(static_cast<useconds_t>(std::strtod(Word(step, 1).c_str(), nullptr) * 1000));
    } else if (what == "print") {
      std::printf("%s\n", Word(step, 1).c_str());
      std::fflush(stdout);
    } else if (what == "setenv") {
      setenv(Word(step, 1).c_str(), Word(step, 2).c_str(), 1);
    } else if (what == "chdir") {
      if (chdir(Word(step, 1).c_str()) != 0) Fail(step, "chdir failed");
    } else if (what == "fork") {
      Fork(step);
    } else if (what == "wait") {
      for (const pid_t child : program_.children) Wait(step, child);
      program_.children.clear();
    } else if (what == "exit") {
      std::exit(static_cast<int>(step.words.size() > 1 ? Number(step, 1) : 0));
    } else if (what == "_exit") {
      std::fflush(nullptr);
      _exit(static_cast<int>(step.words.size() > 1 ? Number(step, 1) : 0));
    } else if (what == "quick_exit") {
      std::fflush(nullptr);
      std::quick_exit(static_cast<int>(step.words.size() > 1 ? Number(step, 1) : 0));
    } else if (what == "abort") {
      std::abort();
    } else if (what == "segv") {
      std::raise(SIGSEGV);
    } else if (what == "kill") {
      std::fflush(nullptr);
      kill(getpid(), static_cast<int>(step.words.size() > 1 ? Number(step, 1) : SIGKILL));
    } else if (what == "failed-execs") {
      // As CPython's subprocess does it: the child borrows our memory, and leaves by _exit.
      for (long i = Number(step, 1); i > 0; --i) {
        const pid_t child = vfork();
        if (child == 0) {
          execl("/no/such/program", "program", static_cast<char*>(nullptr));
          _exit(127);
        }
        int status = 0;
        if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 127)
          Fail(step, "a child went wrong");
      }
    } else if (what == "system") {
      std::fflush(nullptr);
      const int status = std::system(Word(step, 1).c_str());
      std::printf("system %d\n", WEXITSTATUS(status));
    } else if (what == "exec") {
      std::fflush(nullptr);
      std::vector<std::string> words;
      for (size_t i = 1; i < step.words.size(); ++i) words.push_back(Word(step, i));
      std::vector<char*> pointers;
      for (std::string& word : words) pointers.push_back(word.data());
      pointers.push_back(nullptr);
      execvp(pointers[0], pointers.data());
      std::printf("exec failed\n");
    } else {
      Fail(step, "unknown instruction");
    }
  }

  static constexpr size_t kMemory = 16 << 20;
  Program& program_;
  ThreadContext place_;
  std::string capture_;
};

}  // namespace
}  // namespace fakegpu

int main(int argc, char** argv) {
  std::string text;
  if (argc == 3 && std::strcmp(argv[1], "-e") == 0) {
    text = argv[2];
  } else if (argc == 2) {
    std::ifstream file(argv[1]);
    if (!file) {
      std::fprintf(stderr, "fake_workload: cannot read %s\n", argv[1]);
      return 2;
    }
    text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  } else {
    std::fprintf(stderr, "usage: fake_workload FILE | fake_workload -e 'INSTRUCTIONS'\n");
    return 2;
  }
  static auto* const program = new fakegpu::Program;
  fakegpu::Runner(program).Run(fakegpu::ParseScript(text));
  return 0;
}
