// SPDX-License-Identifier: Apache-2.0

// A run in memory while it is read: the sink of all importers. RunSaver (run_saver.h) makes a
// run.db of it.
//
// Memory: RunTables' 52 bytes per activity and ActivityRows' 24; texts once, modules compressed;
// rows of ranges beyond some megabytes wait in an unlinked file.
// Thread-safety: one thread.

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
#include "model/host_event.h"
#include "model/run_tables.h"
#include "model/time_tree.h"
#include "store/run_content.h"
#include "store/run_db.h"

namespace xlatrace::store {

class RunBuilder final : public model::EventSink {
 public:
  // `beside`: where the unlinked files are made, the path of a file that need not be there.
  explicit RunBuilder(const std::string& beside);
  ~RunBuilder() override;

  void SetStart(int64_t start_unix_ns) override;
  std::optional<int64_t> start_unix_ns() const override;
  void SetRunInfo(std::string_view key, std::string_view value) override;
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
  void AddWindow(const model::Window& window) override;
  void AddLoss(const model::Loss& loss) override;
  void SetEnding(const model::ProcessEnding& ending) override;
  void AddRunStat(const model::RunStat& stat) override;

  // The rows so far.
  const model::RunTables& tables() const;
  // HLO of a module that was added, uncompressed.
  Result<RunDb::ModuleBytes> ReadModule(model::Id module_id) const;

  // What has been lost or gone wrong so far: run stats of severity data_loss and error.
  std::vector<model::RunStat> Losses() const;
  // Sum of the data_loss run stats so far.
  int64_t LostRecords() const;
  // API calls and ranges of all processes that overlap any of the intervals (start, end; sorted,
  // apart), but for short ones where there are very many.
  std::vector<model::HostEvent> HostEvents(
      const std::vector<std::pair<int64_t, int64_t>>& within) const;
  // The host call that started an activity (by index into tables().activities); nothing where the
  // source does not tell.
  std::optional<model::HostCall> CallOf(size_t activity) const;

  // What was worked out of the run so far: its run stats, and the modules that it found, count as
  // the run's from here on.
  void Learn(const model::AttributionTables& attribution);
  void Learn(const model::AnalysisTables& analysis);
  void Learn(std::vector<model::TimeTreeRow> tree);

  // Compilations; their names live as long as this.
  std::vector<model::NamedCompile> Compiles() const;

  // Fails where what was added cannot be of a run; rows after that are still taken.
  const Status& status() const;

  // Everything, ready to be written. No Add after it.
  RunContent& Settled();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_RUN_BUILDER_H_
