// SPDX-License-Identifier: Apache-2.0

// Instructions that make a device work: launches, copies, sets, events, graphs.
#ifndef FAKE_GPU_WORKLOAD_DEVICE_STEPS_H_
#define FAKE_GPU_WORKLOAD_DEVICE_STEPS_H_

#include <cuda.h>

#include <string>
#include <vector>

#include "workload/program.h"
#include "workload/words.h"

namespace fakegpu {

// State of one thread.
class DeviceSteps {
 public:
  DeviceSteps(Program* program, Place* place) : program_(*program), place_(*place) {}

  // False: the instruction is none of these.
  bool Run(const Step& step);
  // Starts the driver when it is not yet there; the thread's device is current afterwards.
  void NeedDevice(const Step& step);
  CUstream Stream(const Step& step, const std::string& name);

 private:
  CUfunction Function(const Step& step, const std::string& name);
  CUdeviceptr Memory(const Step& step, int device, char which);
  void Pace();
  void Launch(const Step& step);
  void Copy(const Step& step);
  void Set(const Step& step);
  void Event(const Step& step);
  void Declare(const Step& step);
  void Synchronize(const Step& step);

  // graph_steps.cc
  void Fill(const Step& step, CUDA_KERNEL_NODE_PARAMS* params);
  void AddNodes(const std::vector<Step>& steps, Graph* graph);
  void RunCaptured(const std::vector<Step>& steps);
  void MakeGraph(const Step& step);
  Graph& FindGraph(const Step& step);
  bool RunGraph(const Step& step);
  void Update(const Step& step);

  Program& program_;
  Place& place_;
  std::string capture_;
};

}  // namespace fakegpu

#endif  // FAKE_GPU_WORKLOAD_DEVICE_STEPS_H_
