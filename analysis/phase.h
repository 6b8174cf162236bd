// SPDX-License-Identifier: Apache-2.0

// The phase of an operation, as far as its op_name, op_type and source line show it.
//
// A name alone cannot decide all phases: before JAX 0.7, unscoped ops look the same in every phase.
// TensorFlow gives ops outside of any name scope only a number. A verdict therefore has a
// certainty, and analysis/phase_dataflow.h decides the remaining ops from the program around them.
//
// The rules were measured on dumps of JAX 0.4.13 to 0.10 and TensorFlow 2.15 and 2.21 (docs).
// Thread-safety: pure functions.

#ifndef XLATRACE_ANALYSIS_PHASE_H_
#define XLATRACE_ANALYSIS_PHASE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/op_name.h"
#include "model/hlo_module.h"
#include "model/words.h"

namespace xlatrace::analysis {

enum class Framework : uint8_t { kUnknown, kJax, kTensorFlow, kTorch };

// Conventions of a module, detected from all of its names.
struct ModuleStyle {
  Framework framework = Framework::kUnknown;
  bool has_jvp = false;       // Some op was differentiated (JAX).
  bool has_backward = false;  // Some op is marked as gradient.
  bool has_jit_main = false;  // JAX until 0.6: transforms only mark ops inside a scope.
  bool has_layers = false;    // Differentiated ops carry scopes.
  bool has_loss_scope = false;
  bool keras_numbered = false;  // Keras 3: every scope of the model has one additional `_1`.

  // JAX 0.7 and later mark every differentiated op. An op without mark in a module with gradients
  // therefore lies outside of the differentiation.
  bool MarksEverything() const { return framework == Framework::kJax && !has_jit_main; }
};

ModuleStyle StyleOf(std::string_view module_name, const std::vector<OpName>& names,
                    const std::vector<std::string_view>& op_types);

// Keras 3 opens a second name scope for a model that was built before tracing. The first scope of
// each op then has an additional number. Numbers that separate scopes (`dense_0`, `dense_1`) belong
// to the model.
bool IsKerasNumbered(const std::vector<OpName>& names);

// Evidence from the source code around an operation.
struct SourceHint {
  bool optimizer = false;      // An optimizer library is on the stack (optax, Keras optimizers).
  bool loss = false;           // A loss library is (optax losses).
  bool loss_function = false;  // The name of the innermost function contains "loss".
  bool layer = false;  // The line itself is a library's layer (Flax, Haiku, Equinox, Keras).
};

SourceHint HintFromSource(const model::HloModule& module, const model::OpMetadata& metadata);

enum class Certainty : uint8_t {
  kNone,  // The name has no evidence; phase is unknown.
  kWeak,  // Likely; dataflow may decide otherwise.
  kSure,
};

struct NameVerdict {
  model::Phase phase = model::Phase::kUnknown;
  Certainty certainty = Certainty::kNone;
};

NameVerdict PhaseByName(const OpName& name, std::string_view op_type, const ModuleStyle& style,
                        const SourceHint& source);

// Scope and function names by convention.
bool IsLossScope(std::string_view component);
bool IsOptimizerScope(std::string_view component);
// `update`, `apply_gradients`...: functions that only update parameters.
bool IsUpdateFunction(std::string_view function);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_PHASE_H_
