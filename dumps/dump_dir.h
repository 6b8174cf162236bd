// SPDX-License-Identifier: Apache-2.0

// Lists XLA dumps and reads their modules.
//
// Input: a folder of `--xla_dump_to` at any depth, an archive of one, a single HLO file, or several
// of these. The folder may have a subfolder per process, or be made with xla_dump_hlo_to_subfolder
// (DIR/<module>/<host>_<pid>/). Output: the modules, each with its best HLO file and its thunk
// list. HLO under any file name is a module, too, because it is detected by content. Skipped files
// are counted (dumps/dump_files.h). PJRT's files in DIR/module_0001.jit_f/ belong to that module.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_DUMPS_DUMP_DIR_H_
#define XLATRACE_DUMPS_DUMP_DIR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "dumps/dump_files.h"
#include "dumps/dump_name.h"
#include "model/hlo_module.h"

namespace xlatrace::dumps {

struct DumpFile {
  std::string path;
  DumpName name;
  uint64_t size_bytes = 0;
};

// One module of one process: all files with equal folder, number and name.
struct DumpModule {
  int64_t program_id = -1;
  std::string name;
  std::string subfolder;   // Relative to the listed folder; empty for the folder itself.
  std::string loose_file;  // For HLO under another name than XLA's: the file name, without folder.
  // Best file per purpose; empty if there is none.
  std::string after_proto;
  std::string after_text;
  std::string before_proto;
  std::string before_text;
  std::string thunk_sequence;
  std::string thunk_sequence_final;  // After the thunk passes, with command buffers as executed.
  std::string thunk_metadata;
  std::vector<DumpFile> files;  // All files, by name.
};

struct DumpDir {
  std::string path;
  std::vector<DumpModule> modules;  // By subfolder, program id, name.
  // Regular files of the folder itself that belong to no module, and PJRT's files, by path.
  std::vector<std::string> others;
  std::map<std::string, size_t> skipped;  // Number of skipped files by reason.
  std::vector<std::string> warnings;      // For example subfolders that cannot be read.
};

// Lists a folder, an archive or a file.
Result<DumpDir> ListDumpDir(const std::string& path, const ListLimits& limits = {});

// Lists several; `subfolder` begins with the name of each. An input that cannot be listed is a
// warning, unless all fail. `path` names all of them.
Result<DumpDir> ListDumpDirs(const std::vector<std::string>& paths);

// True for a folder, an archive, or a file with HLO, by content.
bool MayHoldDumps(const std::string& path);

// Reads one HLO file, text or proto, compressed or not. Errors begin with the file's name.
Result<model::HloModule> ReadHloFile(const std::string& path);

struct LoadedModule {
  model::HloModule module;            // program_id comes from the file name if it is not known.
  std::vector<model::Thunk> thunks;   // Empty without a thunk list.
  std::string file;                   // The HLO file it was read from.
  std::vector<std::string> warnings;  // For example a damaged file that another one replaced.
};

// Reads the HLO after optimisation (the proto, or the text if there is no proto or it is damaged).
// Otherwise it reads the HLO before optimisation, or the beginning of a damaged text. Attaches the
// thunk list.
Result<LoadedModule> LoadDumpModule(const DumpModule& module);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_DUMP_DIR_H_
