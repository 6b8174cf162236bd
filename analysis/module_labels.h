// SPDX-License-Identifier: Apache-2.0

// Phase and layer of every instruction of one HLO module.
//
// Gets a module and its part in the run; gives a label per instruction, those inside fusions
// included. This is all that `explain` needs; for a run, analysis/run_labels.h puts the labels into
// the attribution's rows and shares. Thread-safety: pure function.

#ifndef XLATRACE_ANALYSIS_MODULE_LABELS_H_
#define XLATRACE_ANALYSIS_MODULE_LABELS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/hlo_module.h"
#include "model/words.h"

namespace xlatrace::analysis {

struct ModuleLabels {
  struct Label {
    model::Phase phase = model::Phase::kUnknown;
    uint32_t layer = 0;  // Into `layers`.
    bool mixed = false;  // A fusion whose body belongs to several phases or layers.
  };

  std::vector<Label> instructions;        // Same index as HloModule::instructions.
  std::vector<std::string> layers;        // Distinct layers; the first is the empty one.
  std::vector<std::string> layer_groups;  // The same with repeats folded.
  bool has_gradient = false;              // Contains backward work.

  const std::string& LayerOf(uint32_t instruction) const {
    return layers[instructions[instruction].layer];
  }
  const std::string& LayerGroupOf(uint32_t instruction) const {
    return layer_groups[instructions[instruction].layer];
  }
};

// A fusion has the phase and layer of the op that is its label (hlo/cost/fusion_work.h). Work that
// fusion duplicated has the phase of its fusion.
ModuleLabels LabelModule(const model::HloModule& module,
                         model::ModuleRole role = model::ModuleRole::kMain);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_MODULE_LABELS_H_
