// SPDX-License-Identifier: Apache-2.0

// `--modules PATH`: HLO that a trace does not carry itself, from dump folders, HLO files and other
// profiles.

#ifndef XLATRACE_TOOLS_MODULE_FILES_H_
#define XLATRACE_TOOLS_MODULE_FILES_H_

#include <string>

#include "base/error.h"
#include "model/event_sink.h"

namespace xlatrace::tools {

// Adds the optimized modules at `path` (an --xla_dump_to folder of any depth, an archive of one, a
// folder of XProf's NAME(ID).hlo_proto.pb or of HLO of any name, an .hlo.pb, an HLO text, or a
// profile that carries its modules) to a
// process (a dump folder does not say whose it is: the first), with their thunk lists where the
// folder has them.
Status AddModuleFiles(const std::string& path, model::EventSink& sink, model::Id process_id = 1);

}  // namespace xlatrace::tools

#endif  // XLATRACE_TOOLS_MODULE_FILES_H_
