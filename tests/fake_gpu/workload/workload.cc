// SPDX-License-Identifier: Apache-2.0

// Runs a script that describes GPU work. The program opens the driver API at run time, as
// frameworks do. The collector's tests trace this program. README.md describes the language.
//
//   fake_workload FILE | fake_workload -e 'launch a x 100; sync'
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>

#include "workload/device_steps.h"
#include "workload/program.h"
#include "workload/range_steps.h"
#include "workload/script.h"
#include "workload/workers.h"

namespace fakegpu {
namespace {

class Runner {
 public:
  explicit Runner(Program* program, const Place& place = {})
      : program_(*program), place_(place), device_(program, &place_) {}

  void Run(const std::vector<Step>& steps) {
    for (const Step& step : steps) Run(step);
  }

 private:
  void Threads(const Step& step) {
    std::vector<std::thread> threads;
    for (long i = 0; i < place_.Number(step, 1); ++i) {
      Place place = place_;
      place.thread = i;
      place.launched = 0;
      threads.emplace_back([this, &step, place] { Runner(&program_, place).Run(step.body); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  // Each thread of the script has its own helper threads.
  void Beside(const Step& step) {
    const std::string name = place_.Word(step, 1) + "@" + std::to_string(place_.thread);
    RunBeside(name, [this, &step] { Runner(&program_, place_).Run(step.body); });
  }

  void Fork(const Step& step) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) Fail(step, "fork failed");
    if (child == 0) {
      Run(step.body);
      // A child that falls off the end leaves as exit() does, handlers and all.
      if (place_.Option(step, "leaves") == "_exit") _exit(0);
      std::exit(0);
    }
    if (place_.Option(step, "and") == "go-on") {
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

  void Name(const Step& step) {
    const std::string kind = place_.Word(step, 1);
    if (kind == "thread") {
      NameThread(place_.Word(step, 2));
    } else if (kind == "stream") {
      device_.NeedDevice(step);
      NameStream(device_.Stream(step, place_.Word(step, 2)), place_.Word(step, 3));
    } else if (kind == "device") {
      NameDevice(static_cast<CUdevice>(place_.Number(step, 2)), place_.Word(step, 3));
    } else {
      Fail(step, "names thread, stream or device");
    }
  }

  void Run(const Step& step) {
    const std::string& what = step.words[0];
    if (IsRange(step)) {
      PushOf(place_, step);
      Run(step.body);
      PopOf(place_, step);
    } else if (what == "executable") {
      RegisterOf(place_, step);
    } else if (what == "name") {
      Name(step);
    } else if (what == "push") {
      PushRange(place_.Option(step, "domain"), place_.Word(step, 1));
    } else if (what == "pop") {
      PopRange(place_.Option(step, "domain"));
    } else if (!device_.Run(step) && !Flow(step) && !Leave(step)) {
      Fail(step, "unknown instruction");
    }
  }

  // Steps that run other steps, with their number of repetitions, and parallel work of a program.
  bool Flow(const Step& step) {
    const std::string& what = step.words[0];
    if (what == "repeat") {
      const long outer = place_.round;
      for (long i = 0; i < place_.Number(step, 1); ++i) {
        place_.round = i;
        Run(step.body);
      }
      place_.round = outer;
    } else if (what == "forever") {
      for (place_.round = 0;; ++place_.round) Run(step.body);
    } else if (what == "threads") {
      Threads(step);
    } else if (what == "beside") {
      Beside(step);
    } else if (what == "meet") {
      Meet(place_.Number(step, 1));
    } else if (what == "until-recording") {
      UntilRecording(place_.Number(step, 1) != 0);
    } else if (what == "recording") {
      std::printf("recording %d\n", IsRecording());
      std::fflush(stdout);
    } else if (what == "rate") {
      place_.rate = std::strtod(place_.Word(step, 1).c_str(), nullptr);
      place_.launched = 0;
    } else if (what == "sleep") {
      usleep(static_cast<useconds_t>(std::strtod(place_.Word(step, 1).c_str(), nullptr) * 1000));
    } else if (what == "print") {
      std::printf("%s\n", place_.Word(step, 1).c_str());
      std::fflush(stdout);
    } else if (what == "setenv") {
      setenv(place_.Word(step, 1).c_str(), place_.Word(step, 2).c_str(), 1);
    } else if (what == "chdir") {
      if (chdir(place_.Word(step, 1).c_str()) != 0) Fail(step, "chdir failed");
    } else {
      return false;
    }
    return true;
  }

  // Children, and the doors by which a process leaves.
  bool Leave(const Step& step) {
    const std::string& what = step.words[0];
    if (what == "fork") {
      Fork(step);
    } else if (what == "wait") {
      for (const pid_t child : program_.children) Wait(step, child);
      program_.children.clear();
    } else if (what == "exit") {
      std::exit(static_cast<int>(step.words.size() > 1 ? place_.Number(step, 1) : 0));
    } else if (what == "_exit") {
      std::fflush(nullptr);
      _exit(static_cast<int>(step.words.size() > 1 ? place_.Number(step, 1) : 0));
    } else if (what == "quick_exit") {
      std::fflush(nullptr);
      std::quick_exit(static_cast<int>(step.words.size() > 1 ? place_.Number(step, 1) : 0));
    } else if (what == "abort") {
      std::abort();
    } else if (what == "segv") {
      // By the processor: a signal that a program raises itself the preload sees.
      volatile int* nowhere = nullptr;
      *nowhere = 1;
    } else if (what == "kill") {
      std::fflush(nullptr);
      kill(getpid(), static_cast<int>(step.words.size() > 1 ? place_.Number(step, 1) : SIGKILL));
    } else if (what == "failed-execs") {
      // As CPython's subprocess does it: the child borrows our memory, and leaves by _exit.
      for (long i = place_.Number(step, 1); i > 0; --i) {
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
      const int status = std::system(place_.Word(step, 1).c_str());
      std::printf("system %d\n", WEXITSTATUS(status));
    } else if (what == "exec") {
      std::fflush(nullptr);
      std::vector<std::string> words;
      for (size_t i = 1; i < step.words.size(); ++i) words.push_back(place_.Word(step, i));
      std::vector<char*> pointers;
      for (std::string& word : words) pointers.push_back(word.data());
      pointers.push_back(nullptr);
      execvp(pointers[0], pointers.data());
      std::printf("exec failed\n");
    } else {
      return false;
    }
    return true;
  }

  Program& program_;
  Place place_;
  DeviceSteps device_;
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
