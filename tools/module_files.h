// SPDX-License-Identifier: Apache-2.0

// `--modules PATH`: HLO that a trace does not carry itself, from dump folders, HLO files and other
// profiles.

#ifndef XLATRACE_TOOLS_MODULE_FILES_H_
#define XLATRACE_TOOLS_MODULE_FILES_H_

#include <string>

#include "base/error.h"
#include "model/event_sink.h"

namespace xlatrace::tools {

// Adds the optimized modules at `path` to a process, with their thunk lists if the folder has them.
// `path` is an --xla_dump_to folder of any depth or an archive of one. It may also be a folder of
// HLO (XProf: NAME(ID).hlo_proto.pb), one HLO file, or a profile with modules. A dump folder does
// not name its process, so the default is the first.
Status AddModuleFiles(const std::string& path, model::EventSink& sink, model::Id process_id = 1);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_MODULE_FILES_H_
