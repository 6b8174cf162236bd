// SPDX-License-Identifier: Apache-2.0

// Reads one file of a dump, of any kind, and describes its content.
//
// The description of the name comes from dumps/dump_file_note.h. If the name is not sufficient (HLO
// under any name, misnamed files), the first bytes decide. HLO is read whole. Thunk lists are read
// whole, too, but only the head of other files, so that gigabytes of LLVM IR cost nothing. FIFOs,
// devices and folders are refused and never block.
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
  std::string holds;    // Other artefacts as text: "5 results of NVIDIA H100"; may be empty.
  std::string warning;  // For an artefact that is not fully understood.
  // Reason why it could not be read, without path and place; empty if it was read.
  std::string error;
  std::string hint;
  std::optional<int64_t> line;  // Line of the error, from 1.
  std::optional<int64_t> column;

  bool ok() const { return error.empty(); }
};

ExplainedFile ExplainFile(const std::string& path);

// Splits "12:7: undefined name" into place and message; leaves other messages unchanged.
void TakePlace(std::string& message, std::optional<int64_t>& line, std::optional<int64_t>& column);

}  // namespace xlatrace::dumps

#endif  // XLATRACE_DUMPS_EXPLAINED_FILE_H_
