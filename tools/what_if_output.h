// SPDX-License-Identifier: Apache-2.0

// The output of `what-if`.

#ifndef XLATRACE_TOOLS_WHAT_IF_OUTPUT_H_
#define XLATRACE_TOOLS_WHAT_IF_OUTPUT_H_

#include <optional>
#include <string>

#include "analysis/replay/what_if.h"
#include "tools/loaded_run.h"
#include "tools/what_if_change.h"

namespace xlatrace::tools {

struct WhatIfAnswer {
  std::string path;
  const WhatIfChange* change = nullptr;
  analysis::replay::Prediction prediction;
  std::optional<analysis::replay::ReplayError> error;
  bool withheld = false;  // The error is too large.
};

struct WhatIfStyle {
  int width = 100;
  bool ascii = false;
  int rows = 8;
};

std::string WhatIfText(const LoadedRun& loaded, const analysis::replay::Input& input,
                       const analysis::replay::Graph& graph, const WhatIfAnswer& answer,
                       const WhatIfStyle& style);
// One object, schema_version 1.
std::string WhatIfJson(const LoadedRun& loaded, const analysis::replay::Input& input,
                       const analysis::replay::Graph& graph, const WhatIfAnswer& answer,
                       const WhatIfStyle& style);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_WHAT_IF_OUTPUT_H_
