// SPDX-License-Identifier: Apache-2.0

// Hand-made modules and runs for the correlator's tests.

#ifndef XLATRACE_TESTS_CORRELATOR_TEST_BUILDERS_H_
#define XLATRACE_TESTS_CORRELATOR_TEST_BUILDERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "correlator/correlator.h"
#include "model/hlo_module.h"
#include "model/run_tables.h"

namespace xlatrace::correlator {

// The properties of one instruction in a test. Operands and callees are names.
struct Op {
  std::string name;
  std::string opcode;
  std::string op_name = {};
  std::vector<std::string> operands = {};
  std::vector<std::string> calls = {};
  std::string source_file = {};
  int32_t source_line = 0;
  std::string shape = "f32[8]";
};

// Computations in the order given; callees must come before their callers (as XLA prints them).
// The last one is the entry.
struct Body {
  std::string name;
  std::vector<Op> ops;
};
model::HloModule MakeModule(std::string name, const std::vector<Body>& bodies,
                            int64_t program_id = -1);

// Index of an instruction by name.
uint32_t At(const model::HloModule& module, std::string_view name);

// A run under construction. Every Add* returns the new id. Starts with one process and no device.
class RunBuilder {
 public:
  RunBuilder();

  model::Id AddProcess();
  model::Id AddDevice(model::Id process_id = 1, model::DeviceKind kind = model::DeviceKind::kGpu);
  uint32_t AddLane(model::Id device_id = 1, int64_t stream_id = 7);
  model::Id AddModule(std::string name, std::optional<int64_t> program_id,
                      std::function<LoadedModule()> make, model::Id process_id = 1);
  model::Id AddUnreadableModule(std::string name, std::optional<int64_t> program_id);
  void SetRegistered();  // The last module was put together from strings that a process registers.

  uint32_t Kernel(std::string symbol, int64_t grid_x = 1, int64_t block_x = 128);
  uint32_t Config(model::ActivityKind kind, std::string name);
  uint32_t CopyToDevice();
  uint32_t Copy(model::CopyKind kind);
  uint32_t Annotation(std::string module, std::optional<int64_t> program_id,
                      std::string instruction);
  uint32_t Hint(model::Hint hint);

  // Appends an activity; returns its index. Without a start it begins 10 ns after the last one's.
  size_t Activity(uint32_t config, uint32_t hint = 0, uint32_t run_key = 0, uint32_t lane = 1,
                  std::optional<int64_t> start_ns = {}, int64_t duration_ns = 5);

  // Applies to the last activity.
  void SetTimed(bool timed);
  void SetBytes(int64_t bytes);
  void SetGraph(int64_t number);  // For a graph-level row.

  // For the first process: records between the two times are missing.
  void AddLoss(int64_t start_ns, int64_t end_ns);

  const model::RunTables& run() const { return run_; }
  ModuleLoader loader() const;

  // Attributes, and fails the test where an invariant is broken. `doubts`: as of Attribute.
  model::AttributionTables Attribute(std::vector<Doubt>* doubts = nullptr) const;

 private:
  model::RunTables run_;
  std::vector<std::function<Result<LoadedModule>()>> make_;
  int64_t clock_ns_ = 0;
};

const model::Label& LabelOf(const model::AttributionTables& tables, size_t activity);

// Shares of an activity's label: millionths by the instruction's name.
std::map<std::string, int64_t> Shares(const model::AttributionTables& tables, size_t activity);

// "jit_f/add.1", or the reason's text.
std::string Says(const RunBuilder& run, const model::AttributionTables& tables, size_t activity);

}  // namespace xlatrace::correlator

#endif  // XLATRACE_TESTS_CORRELATOR_TEST_BUILDERS_H_
