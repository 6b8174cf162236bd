// Launches that an H100 and its host would make of a compiled program: a device model, plain enough
// to be reckoned with by hand.
//
// Streams: computation, communication, copies with the host. The host enqueues in the program's
// order and takes 4 us for a launch; a kernel starts when its stream, what it waits for, and its
// launch are done. Rates are published ones (NVIDIA's data sheet and kernel libraries' own figures,
// see the .cc). What is asked of the engine is to find the problem among such launches, not to
// agree with the model.

#ifndef XLATRACE_TESTS_PLANTED_SIMULATED_GPU_H_
#define XLATRACE_TESTS_PLANTED_SIMULATED_GPU_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/derived.h"
#include "model/hlo_module.h"
#include "model/host_event.h"
#include "model/run_tables.h"

namespace xlatrace::planted {

struct Host {
  int steps = 12;
  bool reads_loss = false;  // After every step, and only then goes on.
  bool compiles_every_step = false;
};

struct SimulatedRun {
  model::RunTables run;
  std::vector<model::HostEvent> host_events;
  std::vector<model::CompileSpan> compiles;
};

// Runs the modules in turn, one per step. All are the same program, of several shapes.
SimulatedRun Simulate(const std::vector<const model::HloModule*>& modules, int devices,
                      const Host& host);

}  // namespace xlatrace::planted

#endif  // XLATRACE_TESTS_PLANTED_SIMULATED_GPU_H_
