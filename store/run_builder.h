// SPDX-License-Identifier: Apache-2.0

// A run in memory while it is read: the sink of all importers. RunSaver (run_saver.h) writes it as
// run.db.
//
// Memory: 52 bytes per activity in RunTables and 24 in ActivityRows. Texts are kept once, modules
// compressed. Above some megabytes, rows of ranges go to an unlinked file. Thread-safety: one
// thread.

#ifndef XLATRACE_STORE_RUN_BUILDER_H_
#define XLATRACE_STORE_RUN_BUILDER_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/derived.h"
#include "model/event_sink.h"
#include "model/gap_stack.h"
#include "model/host_event.h"
#include "model/memory_rows.h"
#include "model/run_tables.h"
#include "model/time_tree.h"
#include "model/user_code.h"
#include "store/run_content.h"
#include "store/run_db.h"

namespace xlatrace::store {

class RunBuilder final : public model::EventSink {
 public:
  // `beside`: unlinked files are created next to this path, which need not exist.
  explicit RunBuilder(const std::string& beside);
  ~RunBuilder() override;

  void SetStart(int64_t start_unix_ns) override;
  std::optional<int64_t> start_unix_ns() const override;
  void SetRunInfo(std::string_view key, std::string_view value) override;
  // Empty: not known.
  std::string RunInfo(std::string_view key) const;
  model::Id AddProcess(const model::Process& process) override;
  model::Id AddDevice(const model::Device& device) override;
  model::Id AddLane(const model::Lane& lane) override;
  model::Id AddLaunchConfig(const model::LaunchConfig& config) override;
  model::Id AddHint(const model::Hint& hint) override;
  model::Id AddModule(const model::ModuleBlob& module) override;
  model::Id AddApiCall(const model::ApiCall& call) override;
  void AddUnreferredCall(const model::ApiCall& call) override;
  model::Id AddActivity(const model::Activity& activity) override;
  model::Id AddRange(const model::Range& range) override;
  void AddNvtxRow(const model::NvtxRow& row) override;
  void AddThread(const model::Thread& thread) override;
  void AddStepMark(const model::StepMark& mark) override;
  void AddCompile(const model::Compile& compile) override;
  void AddHostSamples(const model::HostSampleTables& samples) override;
  void AddWindow(const model::Window& window) override;
  void AddLoss(const model::Loss& loss) override;
  void SetEnding(const model::ProcessEnding& ending) override;
  void AddRunStat(const model::RunStat& stat) override;

  // The rows that were added so far.
  const model::RunTables& tables() const;
  // HLO of an added module, uncompressed.
  Result<RunDb::ModuleBytes> ReadModule(model::Id module_id) const;

  // Losses and errors so far: run stats of severity data_loss and error.
  std::vector<model::RunStat> Losses() const;
  // Sum of the data_loss run stats so far.
  int64_t LostRecords() const;
  // API calls and ranges of all processes that overlap an interval (start, end; sorted, not
  // overlapping). If there are very many, short ones are omitted.
  std::vector<model::HostEvent> HostEvents(
      const std::vector<std::pair<int64_t, int64_t>>& within) const;
  // The host call that started an activity (by index into tables().activities); nullopt if the
  // source does not have it.
  std::optional<model::HostCall> CallOf(size_t activity) const;

  // Adds results of attribution or analysis. Their run stats and modules belong to the run from
  // then on.
  void AddResults(const model::AttributionTables& attribution);
  void AddResults(const model::AnalysisTables& analysis);
  void AddResults(std::vector<model::TimeTreeRow> tree);
  void AddResults(std::vector<model::GapStackRow> gap_stacks);
  // Decides which frames of sampled stacks are the user's.
  void AddResults(const model::UserCode& user_code);
  void AddResults(model::MemoryTables memory);

  // Compilations. Their names are valid during the lifetime of this object.
  std::vector<model::NamedCompile> Compiles() const;

  // An error if added rows are inconsistent; later rows are still accepted.
  const Status& status() const;

  // All data, ready to be written. Do not call Add after it.
  RunContent& Settled();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_RUN_BUILDER_H_
