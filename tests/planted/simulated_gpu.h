// SPDX-License-Identifier: Apache-2.0

// Launches that an H100 and its host would make of a compiled program: a device model, plain enough
// to be reckoned with by hand.
//
// Streams: computation, communication, copies with the host. The host enqueues in the order of the
// program and takes 4 us per launch. A kernel starts when its stream, its dependences and its
// launch are done. Rates are published ones (NVIDIA's data sheet and kernel libraries' own
// figures, see the .cc). The test is that the engine finds the problem, not that it agrees with
// this model.

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
  bool reads_loss = false;  // Reads the loss after every step and waits for it.
  bool compiles_every_step = false;
  int64_t input_ns = 0;          // Before every step the host loads a batch.
  int64_t python_ns = 0;         // Work in Python before every step.
  int slow_every = 0;            // Before every step with this period ...
  int64_t slow_ns = 0;           // ... the host writes a checkpoint for this time.
  double slow_device = 1;        // Factor of the last device's compute time.
  double throttle = 1;           // Factor of products after a third of the steps.
  double link = 1;               // Share of the links' rate that collectives reach.
  int64_t reads_back_bytes = 0;  // Copied to the host after every step, not overlapped.
  int64_t copies_in_bytes = 0;   // Copied from the host before every step, not overlapped.
  int pause_before = 0;          // The recording pauses for a second before this step.
  int passes = 0;                // If not 0, the first compilation has spans for this many passes.
  double first_step = 1;         // Factor of the time of collectives in the first step.
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
