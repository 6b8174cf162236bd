// SPDX-License-Identifier: Apache-2.0

// The scenario file of the fakes: what shall go wrong, one instruction per line (README.md has the
// language). Read once, from the file that FAKE_GPU_SCENARIO names; both fakes read the same file
// and take the lines that concern them.
#ifndef FAKE_GPU_COMMON_SCENARIO_H_
#define FAKE_GPU_COMMON_SCENARIO_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fakegpu {

// "fail F call N error E [times M]", "hang F [call N]", "delay F MS [call N [times M]]"; F may end
// with *.
struct Fault {
  std::string function;
  uint64_t first = 1;  // call number, from 1
  uint64_t times = 1;  // 0: from then on always
  int error = 0;
  bool hang = false;
  uint64_t delay_ms = 0;
  std::atomic<uint64_t> calls{0};
};

struct Line {
  int number = 0;
  std::vector<std::string> words;
};

class Scenario {
 public:
  // Never null. A file that cannot be read or parsed ends the process with a message (exit status
  // 70). A test must not continue with half a scenario.
  static const Scenario& Get();

  // Counts a call of `function`; the fault that hits it, or null. Hangs and delays happen here.
  const Fault* Hit(std::string_view function) const;
  // A fault for `function` is planned at all.
  bool Concerns(std::string_view function) const;
  bool has_faults() const { return !faults_.empty(); }
  // Any fault for a function whose name begins so.
  bool HasFaultsFor(std::string_view prefix) const;

  // Lines that begin with `words` ("cupti", "drop"), without these words.
  std::vector<std::vector<std::string>> Lines(std::vector<std::string_view> words) const;
  // A single line's number after `words`, or `otherwise`.
  uint64_t Number(std::vector<std::string_view> words, uint64_t otherwise) const;
  bool Has(std::vector<std::string_view> words) const { return !Lines(words).empty(); }

 private:
  void Read(const std::string& path);
  std::vector<std::unique_ptr<Fault>> faults_;
  std::vector<Line> lines_;
};

}  // namespace fakegpu

#endif  // FAKE_GPU_COMMON_SCENARIO_H_
