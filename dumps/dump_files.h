// SPDX-License-Identifier: Apache-2.0

// The files below a folder, or inside an archive, that may belong to XLA dumps.
//
// Folders of any depth. Links to folders are not followed (they may form cycles), nor are links
// that leave the folder. FIFOs, sockets and devices are never opened. Archives inside a folder are
// not opened. Entries of an archive (zip, tar, tar.gz, tar.xz, tar.zst) are read as streams. Only
// HLO, thunk lists and memory reports are kept, compressed. The first 64 MiB are in memory, the
// others in an unnamed file in TMPDIR. Other entries are listed with their size. Skipped files are
// counted by reason.
//
// Thread-safety: re-entrant. Entries of archives are kept until the process ends.

#ifndef XLATRACE_DUMPS_DUMP_FILES_H_
#define XLATRACE_DUMPS_DUMP_FILES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace xlatrace::dumps {

// Limits for large folders (a home folder) and archive bombs. Files beyond a limit are reported,
// but not read.
struct ListLimits {
  int depth = 64;
  size_t entries = 500'000;
  uint64_t kept_bytes = uint64_t{2} << 30;  // Compressed size of kept archive entries.
};

struct ListedFile {
  std::string path;    // For ReadDumpFile(); for an archive "dump.tar.xz:folder/name".
  std::string folder;  // Relative to the listed folder; "" for the folder itself.
  std::string name;
  uint64_t size_bytes = 0;
  bool readable = true;  // False: an entry of an archive that was not kept.
};

struct FileList {
  std::vector<ListedFile> files;          // By folder, then name.
  std::map<std::string, size_t> skipped;  // Number by reason: "links to folders".
  std::vector<std::string> warnings;      // Folders that cannot be read, limits that were reached.
};

// `path`: a folder, an archive, or a file, which is listed alone. An error if it does not exist, or
// if the archive cannot be read at all.
Result<FileList> ListFiles(const std::string& path, const ListLimits& limits = {});

// Like ReadFileInflated(), also for listed entries of archives.
Result<std::string> ReadDumpFile(const std::string& path);
// The first `count` bytes, inflated; empty if they cannot be read.
std::string HeadOfDumpFile(const std::string& path, size_t count);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_DUMP_FILES_H_
