// SPDX-License-Identifier: Apache-2.0

// The ops of a run.db in the form that component compare/ needs. They are instructions with their
// kernels, time without instruction by reason and kernel, and shares of fusions.
//
// Thread-safety: one thread per RunDb.

#ifndef XLATRACE_REPORT_COMPARE_COMPARE_OPS_H_
#define XLATRACE_REPORT_COMPARE_COMPARE_OPS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "compare/run_rows.h"
#include "report/compare/activity_sums.h"
#include "report/compare/compare_modules.h"
#include "report/compare/main_programs.h"
#include "report/label_shares.h"
#include "store/run_db.h"

namespace xlatrace::report {

// Counted while the ops are loaded.
struct OpCounts {
  std::unordered_map<size_t, OpCount> of_module;  // Modules that ran.
  int64_t launches = 0;                           // Counted in the basis, also the next two.
  int64_t autotuning_ns = 0, unlabelled_ns = 0;
  bool has_kernels = false;
};

class CompareOps {
 public:
  // All referenced objects must outlive this object; `run` has its modules already.
  CompareOps(store::RunDb& db, const ModuleIndex& module_of, const LabelShares& label_shares,
             const ActivitySums& sums, compare::Run& run)
      : db_(db), module_of_(module_of), label_shares_(label_shares), sums_(sums), run_(run) {}

  // Fills the ops of the run, in no order, with the time of the whole basis.
  Status Load();
  // Their shares, once ops have their order and time per step.
  Status LoadShares();

  const OpCounts& counts() const { return counts_; }

 private:
  size_t OpOf(int64_t module_id, const std::string& instruction);
  // Fills the launch configurations of ops. Work without an instruction becomes ops by reason and
  // kernel.
  Status LoadKernels();
  // Null: the op has no time in the basis.
  compare::Op* Find(int64_t module_id, const std::string& instruction);
  // Adds `use`, of which `calls` launches belong to the op.
  static void AddUse(compare::KernelUse use, int64_t calls, compare::Op& op);
  // `key`: the key in `sums_` of launches of `op`.
  void AddRecurrence(uint64_t key, int64_t ns, const compare::Op& op);
  void FindRecurrences();
  // Launches of ops become runs.
  void CountRuns(const store::Table& labels);

  store::RunDb& db_;
  const ModuleIndex& module_of_;
  const LabelShares& label_shares_;
  const ActivitySums& sums_;
  compare::Run& run_;
  OpCounts counts_;
  // By module and instruction.
  std::unordered_map<std::string, size_t> by_name_;
  std::unordered_map<std::string, int64_t> occurrences_;  // In the whole run.
  struct HeaviestUse {
    int64_t ns = 0;
    const std::map<int64_t, ActivitySums::Recurrence>* recurrences = nullptr;
  };
  std::unordered_map<size_t, HeaviestUse> heaviest_;  // By op.
};

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_COMPARE_COMPARE_OPS_H_
