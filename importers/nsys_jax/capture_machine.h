// SPDX-License-Identifier: Apache-2.0

// Facts of an nsys-jax capture about the machine: its devices, the launching thread of each device,
// and the rank of the process.
//
// If tables are missing or damaged, the result is empty, because a capture can be read without
// them. Thread-safety: re-entrant.

#ifndef XLATRACE_IMPORTERS_NSYS_JAX_CAPTURE_MACHINE_H_
#define XLATRACE_IMPORTERS_NSYS_JAX_CAPTURE_MACHINE_H_

#include <cstdint>
#include <map>
#include <optional>

#include "importers/nsys_jax/capture_files.h"
#include "model/events.h"

namespace xlatrace::importers {

struct CaptureMachine {
  std::map<int64_t, model::Device> devices;    // By CUDA ordinal.
  model::Device target;                        // By the dump, where that table has none.
  std::map<int64_t, int64_t> local_of_thread;  // Device by thread id, of named threads.
  std::optional<int64_t> rank;

  // Facts about the device, except its process and kind.
  const model::Device& DeviceOf(int64_t ordinal) const;
};

CaptureMachine ReadCaptureMachine(const CaptureFiles& files);

}  // namespace xlatrace::importers

#endif  // XLATRACE_IMPORTERS_NSYS_JAX_CAPTURE_MACHINE_H_
