// SPDX-License-Identifier: Apache-2.0
#include "recording/control.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

namespace xlatrace::recording {
namespace {

// Removes and returns the first word of `text`, up to a blank or its end.
std::string_view TakeWord(std::string_view* text) {
  const size_t end = std::min(text->find(' '), text->size());
  const std::string_view word = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return word;
}

bool ParseNumber(std::string_view text, uint64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

ControlOrder ParseControl(std::string_view text) {
  const size_t line = text.find('\n');
  if (line == std::string_view::npos) return {};  // The line is incomplete.
  text = text.substr(0, line);
  const std::string_view verb = TakeWord(&text);
  const size_t blank = text.find(' ');
  const bool flush = blank != std::string_view::npos;
  ControlOrder order;
  if ((verb != "start" && verb != "stop") || (flush && text.substr(blank) != " flush") ||
      !ParseNumber(text.substr(0, blank), &order.number)) {
    return {};
  }
  order.recording = verb == "start";
  order.flush = flush;
  return order;
}

std::string FormatControl(const ControlOrder& order) {
  return (order.recording ? "start " : "stop ") + std::to_string(order.number) +
         (order.flush ? " flush\n" : "\n");
}

ControlOrder ReadControl(const std::string& folder) {
  const std::string path = folder + "/" + kControlName;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return {};
  char text[64];
  const ssize_t got = read(fd, text, sizeof(text));
  close(fd);
  return got <= 0 ? ControlOrder{} : ParseControl({text, static_cast<size_t>(got)});
}

const char* Word(ProcessState state) {
  switch (state) {
    case ProcessState::kRecording:
      return "recording";
    case ProcessState::kWaiting:
      return "waiting";
    case ProcessState::kPaused:
      return "paused";
    case ProcessState::kStopped:
      return "stopped";
    case ProcessState::kFinished:
      return "finished";
  }
  return "unknown";
}

std::string FormatState(std::string_view identity, uint64_t order, ProcessState state) {
  return "state " + std::string(identity) + " " + std::to_string(order) + " " + Word(state) + "\n";
}

std::map<std::string, ReportedState> ParseStates(std::string_view job) {
  std::map<std::string, ReportedState> states;
  while (!job.empty()) {
    const size_t end = std::min(job.find('\n'), job.size());
    std::string_view line = job.substr(0, end);
    job.remove_prefix(std::min(end + 1, job.size()));
    if (TakeWord(&line) != "state") continue;
    const std::string identity(TakeWord(&line));
    ReportedState state;
    if (!ParseNumber(TakeWord(&line), &state.order) || line.empty()) continue;
    state.word = std::string(line);
    states[identity] = std::move(state);
  }
  return states;
}

}  // namespace xlatrace::recording
