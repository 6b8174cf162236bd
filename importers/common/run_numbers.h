// SPDX-License-Identifier: Apache-2.0

// Detects runs that no profile holds, by the numbers of a program's runs.
//
// XLA numbers the runs of each executable one by one (TFRT's CPU client: from a random base). So
// a hole inside a profile, or between two profiles, is a run that was not recorded. Older
// clients have one counter per process for all programs. There, holes mean nothing and are not
// reported.
//
// Thread-safety: one thread.

#ifndef XLATRACE_IMPORTERS_COMMON_RUN_NUMBERS_H_
#define XLATRACE_IMPORTERS_COMMON_RUN_NUMBERS_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "model/events.h"

namespace xlatrace::importers {

class RunNumbers {
 public:
  // A run of a program on a device; once per run and profile.
  void OnRun(model::Id device, int64_t program_id, int64_t number);
  void NextSession();

  struct Missing {
    int64_t program_id = 0;
    int64_t runs = 0;     // That are in the profiles.
    int64_t between = 0;  // Missing between two profiles.
    int64_t inside = 0;   // Missing from inside of one.
  };
  // Programs of which a run is missing: of several devices the one that lacks most. Once, at the
  // end.
  std::vector<Missing> Find();

 private:
  struct Session {
    int64_t first = INT64_MAX, last = INT64_MIN, runs = 0;
  };
  using Key = std::pair<model::Id, int64_t>;  // Device, program.
  bool NumberedApart() const;

  std::map<Key, std::vector<Session>> programs_;
  size_t session_ = 0;
};

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_COMMON_RUN_NUMBERS_H_
