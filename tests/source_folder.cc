// SPDX-License-Identifier: Apache-2.0

#include "tests/source_folder.h"

namespace xlatrace {

std::string SourceFolder() { return XLATRACE_SOURCE_FOLDER; }

}  // namespace xlatrace
