// SPDX-License-Identifier: Apache-2.0

// The words of an instruction, as the thread that comes to it reads them.
#ifndef FAKE_GPU_WORKLOAD_WORDS_H_
#define FAKE_GPU_WORKLOAD_WORDS_H_

#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "workload/script.h"

namespace fakegpu {

[[noreturn]] inline void Fail(const Step& step, const std::string& why) {
  std::fprintf(stderr, "fake_workload: line %d: %s: %s\n", step.line, step.words[0].c_str(),
               why.c_str());
  std::exit(3);
}

// Where a thread is.
struct Place {
  int device = 0;
  long thread = 0, round = 0;
  double rate = 0;  // launches per second, 0: as fast as it goes
  uint64_t launched = 0;
  timespec begun{};

  // %t is the thread's number, %r the round of the innermost repeat.
  std::string Word(const Step& step, size_t i) const {
    if (i >= step.words.size()) Fail(step, "needs more words");
    std::string word = step.words[i];
    for (const auto& [mark, value] : {std::pair{"%t", thread}, std::pair{"%r", round}}) {
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
  // "AxBxC" after `name`; `out` stays as it is where there is none.
  void Triple(const Step& step, const char* name, unsigned (&out)[3]) const {
    const std::string text = Option(step, name);
    if (!text.empty()) std::sscanf(text.c_str(), "%ux%ux%u", &out[0], &out[1], &out[2]);
  }
};

}  // namespace fakegpu

#endif  // FAKE_GPU_WORKLOAD_WORDS_H_
