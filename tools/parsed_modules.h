// SPDX-License-Identifier: Apache-2.0

// The modules of a run, each parsed once for the correlator, the labels, the costs and the
// findings.
//
// Parsed modules are kept while they fit into a limit of bytes. Modules are never evicted. All
// users read the modules in the same order, so eviction would remove each module just before its
// next use. A module that does not fit is parsed again for each use. Modules with the same bytes
// (from ranks of one job) are parsed and kept once. A module that cannot be read is tried once.
//
// Ownership: borrows the reader and the run. Thread-safety: one thread.

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

// The memory limit of kept modules. The 17 modules of the Pax capture raise the peak of its import
// by 11 MiB.
inline constexpr size_t kMaxParsedBytes = size_t{64} << 20;

// Memory of a module with its input, without the allocator's overhead.
size_t MemoryBytes(const correlator::LoadedModule& module);

class ParsedModules {
 public:
  // Returns a module of the run, uncompressed.
  using Reader = std::function<Result<store::RunDb::ModuleBytes>(model::Id module_id)>;

  explicit ParsedModules(Reader read, size_t most_bytes = kMaxParsedBytes);
  explicit ParsedModules(const store::RunBuilder& run);

  // The HLO of the module and the run's data about its thunks.
  Result<std::shared_ptr<const correlator::LoadedModule>> Load(model::Id module_id);

  // The returned loaders borrow this object.
  correlator::ModuleLoader ForCorrelator();
  analysis::ModuleLoader ForAnalysis();

  // Number of parses so far.
  int64_t parses() const { return parses_; }

 private:
  using Shared = std::shared_ptr<const correlator::LoadedModule>;
  // Format and hashes of HLO, thunk list and its metadata, which are equal for equal modules.
  using Content = std::tuple<model::ModuleBlob::Format, uint64_t, uint64_t, uint64_t>;

  Result<Shared> LoadAnew(model::Id module_id);

  Reader read_;
  size_t bytes_left_;
  int64_t parses_ = 0;
  std::unordered_map<model::Id, Result<Shared>> known_;
  std::map<Content, Shared> kept_;
  Shared lent_;  // The module lent to the analysis, which borrows one at a time.
};

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_PARSED_MODULES_H_
