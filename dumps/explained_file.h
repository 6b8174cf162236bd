// SPDX-License-Identifier: Apache-2.0

// Reads one file of a dump, whatever it is, and says what is in it.
//
// What its name says comes from dumps/dump_file_note.h; what cannot be told from a name (HLO under
// any name, files of the wrong name) comes from its first bytes. HLO is read whole; of other files
// only what is needed is (thunk lists whole, a head of the rest), so that gigabytes of LLVM IR cost
// nothing. FIFOs, devices and folders are refused, never waited on.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_DUMPS_EXPLAINED_FILE_H_
#define XLATRACE_DUMPS_EXPLAINED_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dumps/dump_file_note.h"
#include "model/hlo_module.h"

namespace xlatrace::dumps {

struct ExplainedFile {
  std::string path;
  DumpFileNote note;
  uint64_t size_bytes = 0;
  std::optional<model::HloModule> module;  // The file holds one HLO program.
  std::vector<model::Thunk> thunks;        // The file is a thunk list.
  std::string holds;    // Of other artefacts, in words: "5 results of NVIDIA H100"; may be empty.
  std::string warning;  // An artefact that is there but not understood in full.
  // Why it could not be read; empty when it could. Without the path and the place.
  std::string error;
  std::string hint;
  std::optional<int64_t> line;  // Of the error, from 1.
  std::optional<int64_t> column;

  bool ok() const { return error.empty(); }
};

ExplainedFile ExplainFile(const std::string& path);

// Splits "12:7: undefined name" into place and message; leaves other messages alone.
void TakePlace(std::string& message, std::optional<int64_t>& line, std::optional<int64_t>& column);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_EXPLAINED_FILE_H_
