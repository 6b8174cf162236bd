// SPDX-License-Identifier: Apache-2.0

// The switch of a planted fault, in the copy of the tree that scripts/mutate builds; no product
// file includes it. XLATRACE_MUTANT is the number of the active fault. XLATRACE_MUTANTS_REACHED
// names a file that gets the number of every fault that was reached. It separates faults that no
// test runs from those that tests run and do not detect.

#ifndef XLATRACE_TESTS_MUTANTS_MUTANT_H_
#define XLATRACE_TESTS_MUTANTS_MUTANT_H_

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace xlatrace_mutants {

constexpr int kMost = 20'000;

inline const int active = [] {
  const char* number = std::getenv("XLATRACE_MUTANT");
  return number == nullptr ? 0 : std::atoi(number);
}();

inline std::atomic<bool> reached[kMost];

inline const char* const reached_file = [] {
  const char* file = std::getenv("XLATRACE_MUTANTS_REACHED");
  if (file != nullptr) {
    std::atexit([] {
      std::FILE* out = std::fopen(std::getenv("XLATRACE_MUTANTS_REACHED"), "a");
      if (out == nullptr) return;
      for (int number = 0; number < kMost; ++number) {
        if (reached[number].load(std::memory_order_relaxed)) std::fprintf(out, "%d\n", number);
      }
      std::fclose(out);
    });
  }
  return file;
}();

inline bool On(int number) {
  if (reached_file != nullptr) reached[number].store(true, std::memory_order_relaxed);
  return active == number;
}

}  // namespace xlatrace_mutants

#endif  // XLATRACE_TESTS_MUTANTS_MUTANT_H_
