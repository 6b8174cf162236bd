// SPDX-License-Identifier: Apache-2.0
#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>

namespace xlatrace {
namespace {

std::atomic<pid_t> child_pid{0};

void ForwardSignal(int signal) {
  const pid_t pid = child_pid.load();
  if (pid > 0) kill(pid, signal);
}

// Sets a handler during its lifetime; leaves ignored signals alone.
class SignalGuard {
 public:
  SignalGuard(int signal, void (*handler)(int)) : signal_(signal) {
    struct sigaction action {};
    sigaction(signal, nullptr, &before_);
    if (before_.sa_handler == SIG_IGN) return;
    action.sa_handler = handler;
    sigaction(signal, &action, nullptr);
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
  ~SignalGuard() { sigaction(signal_, &before_, nullptr); }

 private:
  int signal_;
  struct sigaction before_ {};
};

// Blocks signals until Undo; a second Undo does nothing.
class SignalBlock {
 public:
  explicit SignalBlock(std::initializer_list<int> signals) {
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int signal : signals) sigaddset(&blocked, signal);
    sigprocmask(SIG_BLOCK, &blocked, &before_);
  }
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;
  ~SignalBlock() { Undo(); }
  void Undo() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// A pipe that closes its ends.
class Pipe {
 public:
  Pipe() { is_open_ = pipe2(ends_.data(), O_CLOEXEC) == 0; }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    if (is_open_) close(ends_[0]);
    CloseWriteEnd();
  }
  bool is_open() const { return is_open_; }
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void CloseWriteEnd() {
    if (is_open_ && ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  bool is_open_ = false;
  std::array<int, 2> ends_ = {-1, -1};
};

// poll() waits at most this long at a time, so that its argument fits an int.
constexpr int64_t kMaxPollMs = 3'600'000;

std::vector<char*> Arguments(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  return arguments;
}

// Runs in the child between fork and exec. Writes errno to `error_fd` if exec fails.
[[noreturn]] void Exec(const std::vector<char*>& arguments, int error_fd) {
  // exec resets handlers, but not ignored signals; only we ignore SIGPIPE.
  signal(SIGPIPE, SIG_DFL);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t put = write(error_fd, &error, sizeof(error));
  _exit(error == ENOENT ? kNotFoundStatus : kCannotRunStatus);
}

int WaitFor(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

Result<ChildExit> RunChild(const std::vector<std::string>& command,
                           const std::vector<std::pair<std::string, std::string>>& environment) {
  int error_pipe[2];
  if (pipe2(error_pipe, O_CLOEXEC) != 0) return MakeError("no file descriptors are left");
  const std::vector<char*> arguments = Arguments(command);
  // A signal that arrives before its handler is installed stays pending, so that no signal is lost
  // and none ends this process without the child.
  const SignalBlock block({SIGINT, SIGQUIT, SIGTERM, SIGHUP});
  const pid_t pid = fork();
  if (pid < 0) {
    close(error_pipe[0]);
    close(error_pipe[1]);
    return MakeError(fmt::format("cannot start a process: {}", std::strerror(errno)));
  }
  if (pid == 0) {
    block.Undo();
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    Exec(arguments, error_pipe[1]);
  }
  child_pid.store(pid);
  const SignalGuard interrupt(SIGINT, [](int) {});
  const SignalGuard quit(SIGQUIT, [](int) {});
  const SignalGuard terminate(SIGTERM, ForwardSignal);
  const SignalGuard hangup(SIGHUP, ForwardSignal);
  block.Undo();
  close(error_pipe[1]);
  ChildExit exit;
  ssize_t got = 0;
  do {
    got = read(error_pipe[0], &exit.exec_error, sizeof(exit.exec_error));
  } while (got < 0 && errno == EINTR);
  close(error_pipe[0]);
  const int status = WaitFor(pid);
  child_pid.store(0);
  exit.pid = pid;
  exit.ended_unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count();
  exit.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  exit.status = exit.signal != 0 ? 128 + exit.signal : WEXITSTATUS(status);
  return exit;
}

Result<CapturedCommand> RunCaptured(
    const std::vector<std::string>& command,
    const std::vector<std::pair<std::string, std::string>>& environment, int timeout_ms,
    size_t max_bytes) {
  Pipe out;
  Pipe error;
  if (!out.is_open() || !error.is_open()) return MakeError("no file descriptors are left");
  const std::vector<char*> arguments = Arguments(command);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return MakeError(fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kCannotRunStatus);  // The parent ended before prctl.
    dup2(open("/dev/null", O_RDWR), STDIN_FILENO);
    dup2(out.write_end(), STDOUT_FILENO);
    dup2(error.write_end(), STDERR_FILENO);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    Exec(arguments, -1);
  }
  out.CloseWriteEnd();
  error.CloseWriteEnd();
  CapturedCommand captured;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  std::array<pollfd, 2> files = {pollfd{out.read_end(), POLLIN, 0},
                                 pollfd{error.read_end(), POLLIN, 0}};
  const std::array<std::string*, 2> texts = {&captured.out, &captured.error};
  while ((files[0].fd >= 0 || files[1].fd >= 0) && !captured.too_long) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                          deadline - std::chrono::steady_clock::now())
                          .count();
    const int ready = left > 0 ? poll(files.data(), files.size(),
                                      static_cast<int>(std::min<int64_t>(left, kMaxPollMs)))
                               : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && left > kMaxPollMs) continue;
    captured.timed_out = ready <= 0;
    if (captured.timed_out) break;
    for (size_t i = 0; i < files.size(); ++i) {
      if (files[i].fd < 0 || files[i].revents == 0) continue;
      char block[4096];
      const ssize_t got = read(files[i].fd, block, sizeof(block));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        files[i].fd = -1;  // poll skips it.
        continue;
      }
      const size_t left_bytes = max_bytes - std::min(max_bytes, texts[i]->size());
      texts[i]->append(block, std::min(left_bytes, static_cast<size_t>(got)));
      captured.too_long = captured.too_long || (i == 0 && static_cast<size_t>(got) > left_bytes);
    }
  }
  if (captured.timed_out || captured.too_long) kill(pid, SIGKILL);
  const int status = WaitFor(pid);
  captured.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return captured;
}

Result<std::string> CaptureOutput(const std::vector<std::string>& command, int timeout_ms,
                                  size_t max_bytes) {
  XLATRACE_ASSIGN(CapturedCommand captured, RunCaptured(command, {}, timeout_ms, max_bytes));
  if (captured.timed_out || captured.too_long) {
    return MakeError(fmt::format("'{}' gave no answer in time", command[0]));
  }
  if (captured.status != 0) return MakeError(fmt::format("'{}' failed", command[0]));
  return std::move(captured.out);
}

}  // namespace xlatrace
