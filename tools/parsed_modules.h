// SPDX-License-Identifier: Apache-2.0

// The modules of a run, each parsed once for all who read them: the correlator, the labels, the
// costs and the findings.
//
// What is parsed is kept while it fits into a bound of bytes, and lent from then on. First come,
// first kept: everyone reads the modules in the same order, so making room for the latest would
// lose each module just before it is asked for again. What does not fit is parsed again whenever it
// is asked for. Modules of the same bytes (the ranks of a job run the same program) are parsed and
// kept once. What cannot be read is tried once.
//
// Ownership: borrows what it reads from. Thread-safety: one thread.

#ifndef XLATRACE_TOOLS_PARSED_MODULES_H_
#define XLATRACE_TOOLS_PARSED_MODULES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>

#include "analysis/analysis.h"
#include "base/error.h"
#include "correlator/correlator.h"
#include "model/events.h"
#include "store/run_builder.h"
#include "store/run_db.h"

namespace xlatrace::tools {

// A bound on what parsing once may cost: the 17 modules of the Pax capture raise the peak of its
// import by 11 MiB.
inline constexpr size_t kMaxParsedBytes = size_t{64} << 20;

// What a module takes in memory, its input included, but for the allocator's own part.
size_t MemoryBytes(const correlator::LoadedModule& module);

class ParsedModules {
 public:
  // Gives a module of the run, uncompressed.
  using Reader = std::function<Result<store::RunDb::ModuleBytes>(model::Id module_id)>;

  explicit ParsedModules(Reader read, size_t most_bytes = kMaxParsedBytes);
  explicit ParsedModules(const store::RunBuilder& run);

  // Its HLO and what the run holds of its thunks.
  Result<std::shared_ptr<const correlator::LoadedModule>> Load(model::Id module_id);

  // These borrow this object.
  correlator::ModuleLoader ForCorrelator();
  analysis::ModuleLoader ForAnalysis();

  // How often a module was parsed so far.
  int64_t parses() const { return parses_; }

 private:
  using Shared = std::shared_ptr<const correlator::LoadedModule>;
  // Format and hashes of HLO, thunk list and its metadata: equal for equal modules.
  using Content = std::tuple<model::ModuleBlob::Format, uint64_t, uint64_t, uint64_t>;

  Result<Shared> LoadAnew(model::Id module_id);

  Reader read_;
  size_t bytes_left_;
  int64_t parses_ = 0;
  std::unordered_map<model::Id, Result<Shared>> known_;
  std::map<Content, Shared> kept_;
  Shared lent_;  // To the analysis, which borrows one at a time.
};

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_PARSED_MODULES_H_
