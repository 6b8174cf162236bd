// SPDX-License-Identifier: Apache-2.0

// Lists XLA dumps and reads the modules in them.
//
// Gets what people have: a folder that `--xla_dump_to` filled, maybe by several processes (a
// subfolder each) or with xla_dump_hlo_to_subfolder (DIR/<module>/<host>_<pid>/), at any depth; an
// archive of one; a single HLO file; several of these. Gives the modules, each with its best HLO
// file and its thunk list. HLO of any name is a module too, told by content. What is not looked at
// is counted (dumps/dump_files.h). What PJRT writes into DIR/module_0001.jit_f/ counts as files of
// that module.
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

// One module of one process: all files with the same folder, number and name.
struct DumpModule {
  int64_t program_id = -1;
  std::string name;
  std::string subfolder;  // Relative to the listed folder; empty for the folder itself.
  std::string
      loose_file;  // Of HLO of any other name than XLA gives dumps: the file, without folder.
  // Best file per purpose; empty where there is none.
  std::string after_proto;
  std::string after_text;
  std::string before_proto;
  std::string before_text;
  std::string thunk_sequence;
  std::string thunk_sequence_final;  // After thunk passes: with command buffers as they run.
  std::string thunk_metadata;
  std::vector<DumpFile> files;  // All of them, by name.
};

struct DumpDir {
  std::string path;
  std::vector<DumpModule> modules;  // By subfolder, program id, name.
  // Regular files of the folder itself that belong to no module, and PJRT's, by path.
  std::vector<std::string> others;
  std::map<std::string, size_t> skipped;  // What was not looked at, how many by reason.
  std::vector<std::string> warnings;      // Subfolders that cannot be read and the like.
};

// A folder, an archive or a file.
Result<DumpDir> ListDumpDir(const std::string& path, const ListLimits& limits = {});

// Several: `subfolder` begins with the name of each. One that cannot be listed is a warning, unless
// all are. `path` is all of them.
Result<DumpDir> ListDumpDirs(const std::vector<std::string>& paths);

// Is it a folder, an archive, or a file that holds HLO? By content.
bool MayHoldDumps(const std::string& path);

// Reads one HLO file, text or proto, compressed or not. Errors begin with the file's name.
Result<model::HloModule> ReadHloFile(const std::string& path);

struct LoadedModule {
  model::HloModule module;            // program_id filled in from the file name where unknown.
  std::vector<model::Thunk> thunks;   // Empty where there is no thunk list.
  std::string file;                   // The HLO file it was read from.
  std::vector<std::string> warnings;  // A damaged file that another one stood in for.
};

// Reads the after-optimizations HLO (proto preferred, text where there is none or it is damaged),
// else the one before optimizations, else what a damaged text begins with; and attaches the thunk
// list.
Result<LoadedModule> LoadDumpModule(const DumpModule& module);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_DUMP_DIR_H_
