// Writes run.db: the sink of all importers, and the place where derived tables are stored.
//
// The database grows beside its final place and replaces it on Finish, so whoever finds a run.db
// finds a whole one. Rows go in with one prepared statement per table inside one transaction.
//
// Thread-safety: one thread.

#ifndef XLATRACE_STORE_RUN_WRITER_H_
#define XLATRACE_STORE_RUN_WRITER_H_

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
#include "store/run_db.h"

namespace xlatrace::store {

class RunWriter final : public model::EventSink {
 public:
  // Without `replace` Finish fails where a file has come to lie at `path` in the meantime, and
  // leaves that as it is: of two imports to one output one succeeds.
  static Result<std::unique_ptr<RunWriter>> Create(const std::string& path, bool replace = true);
  ~RunWriter() override;  // Without Finish: removes what was written.

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

  // The rows so far, kept in memory while they were written: no second pass over the file.
  const model::RunTables& tables() const;
  // HLO of a module that was added.
  Result<RunDb::ModuleBytes> ReadModule(model::Id module_id);

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

  void WriteAttribution(const model::AttributionTables& attribution);
  // Also writes the instructions and shares of `attribution`, which the analysis completed with
  // phases and layers.
  void WriteAnalysis(const model::AttributionTables& attribution,
                     const model::AnalysisTables& analysis);

  // First error of any Add or Write so far.
  Status status() const;
  // Builds indices and dictionaries, closes, renames into place.
  Status Finish();

 private:
  struct State;
  explicit RunWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace xlatrace::store

#endif  // XLATRACE_STORE_RUN_WRITER_H_
