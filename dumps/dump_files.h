// SPDX-License-Identifier: Apache-2.0

// The files below a folder, or inside of an archive, that may belong to XLA dumps.
//
// Folders of any depth. Links are not followed out of the folder (nor to folders at all, which may
// lead around in circles); FIFOs, sockets and devices are never opened; archives inside of it are
// not looked into. Of an archive (zip, tar, tar.gz, tar.xz, tar.zst), entries are read as streams
// and kept, compressed: HLO, thunk lists and what says where memory goes, which is little of a
// dump; others are listed with their size. The first 64 MiB of that stay in memory, the rest goes
// to a file without a name in TMPDIR. What is passed over is counted, with the reason.
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

// Somebody names a home folder, or a bomb: what is beyond is said, not looked at.
struct ListLimits {
  int depth = 64;
  size_t entries = 500'000;
  uint64_t kept_bytes = uint64_t{2} << 30;  // Of an archive, compressed.
};

struct ListedFile {
  std::string path;    // For ReadDumpFile(): of an archive "dump.tar.xz:folder/name".
  std::string folder;  // Below the listed folder, "" for itself.
  std::string name;
  uint64_t size_bytes = 0;
  bool readable = true;  // Not so: an entry of an archive that was not kept.
};

struct FileList {
  std::vector<ListedFile> files;          // By folder, then name.
  std::map<std::string, size_t> skipped;  // How many by reason: "links to folders".
  std::vector<std::string> warnings;      // Folders that cannot be read, limits that were reached.
};

// `path`: a folder, an archive, or a file, which is listed alone. An error when there is nothing,
// or the archive is none that can be read at all.
Result<FileList> ListFiles(const std::string& path, const ListLimits& limits = {});

// Like ReadFileInflated(); of entries of archives that were listed, too.
Result<std::string> ReadDumpFile(const std::string& path);
// The first `count` bytes, inflated; empty when they cannot be read.
std::string HeadOfDumpFile(const std::string& path, size_t count);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_DUMP_FILES_H_
