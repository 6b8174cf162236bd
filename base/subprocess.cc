// SPDX-License-Identifier: Apache-2.0
#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <fmt/format.h>
#include <sys/wait.h>

namespace xlatrace {
namespace {

std::atomic<pid_t> child_pid{0};

void ForwardSignal(int signal) {
  const pid_t pid = child_pid.load();
  if (pid > 0) kill(pid, signal);
}

// Sets a handler for as long as it lives; leaves signals alone that were ignored.
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

// Holds signals back until Undo; undoing twice is harmless.
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

std::vector<char*> Arguments(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  return arguments;
}

// In the child, between fork and exec. Writes errno to `error_fd` when there is no exec.
[[noreturn]] void Exec(const std::vector<char*>& arguments, int error_fd) {
  // Handlers are reset by exec; what is ignored is not, and SIGPIPE is ignored only by us.
  signal(SIGPIPE, SIG_DFL);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t put = write(error_fd, &error, sizeof(error));
  _exit(error == ENOENT ? kExitNotFound : kExitCannotRun);
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
  // A signal that comes before its handler is in place waits, so that none is lost and none ends
  // us without the child.
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

Result<std::string> CaptureOutput(const std::vector<std::string>& command, int timeout_ms,
                                  size_t max_bytes) {
  int output[2];
  int error_pipe[2];
  if (pipe2(output, O_CLOEXEC) != 0) return MakeError("no file descriptors are left");
  if (pipe2(error_pipe, O_CLOEXEC) != 0) {
    close(output[0]);
    close(output[1]);
    return MakeError("no file descriptors are left");
  }
  const std::vector<char*> arguments = Arguments(command);
  const pid_t pid = fork();
  if (pid == 0) {
    const int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(output[1], STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    Exec(arguments, error_pipe[1]);
  }
  close(output[1]);
  close(error_pipe[1]);
  std::string text;
  bool late = pid < 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (!late) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                          deadline - std::chrono::steady_clock::now())
                          .count();
    pollfd poll_fd{output[0], POLLIN, 0};
    const int ready = left > 0 ? poll(&poll_fd, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    late = ready <= 0;
    if (late) break;
    char block[4096];
    const ssize_t got = read(output[0], block, sizeof(block));
    if (got <= 0) break;
    text.append(block, static_cast<size_t>(got));
    late = text.size() > max_bytes;
  }
  close(output[0]);
  close(error_pipe[0]);
  if (pid < 0) return MakeError("cannot start a process");
  if (late) kill(pid, SIGKILL);
  const int status = WaitFor(pid);
  if (late) return MakeError(fmt::format("'{}' gave no answer in time", command[0]));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return MakeError(fmt::format("'{}' failed", command[0]));
  }
  return text;
}

}  // namespace xlatrace
