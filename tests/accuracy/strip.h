// SPDX-License-Identifier: Apache-2.0

// Takes the truth away from a capture, in grades: what is left is what a poorer recording of the
// same run would hold.

#ifndef XLATRACE_TESTS_ACCURACY_STRIP_H_
#define XLATRACE_TESTS_ACCURACY_STRIP_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/accuracy/capture.h"

namespace xlatrace::accuracy {

enum class Grade : uint8_t {
  kAnnotated,         // Unchanged capture.
  kNoInstruction,     // Module and program id are known, the instruction is not.
  kNoProgramId,       // Module name and instruction are known, program ids are not.
  kOtherDump,         // Modules of another process that ran the same program: other program ids.
  kNoAnnotations,     // Launches and modules, without a link between them.
  kNoMetadata,        // The same, and thunk lists do not name instructions (jaxlib before 0.8.0).
  kNoThunkLists,      // The same, and only the optimised HLO of the modules.
  kNoLaunchCalls,     // No annotations, and no launch order: start times only.
  kDropped,           // No annotations, and one record of a hundred is lost.
  kModulesMissing,    // No annotations, and every third module is missing.
  kGraphRows,         // No annotations, and one row per launch of a CUDA graph.
  kGraphRowsNoLists,  // The same, and only the optimised HLO of the modules.
  kStretches,  // No instruction, and one row for each stretch that XLA could have put into a graph.
  kAnnotationsOnly,  // The annotations of launches, and no HLO at all.
  kHalfTheModules,   // The annotations of launches, and the HLO of every second module.
  kOtherRun,         // The dump of another run, whose module numbers are shifted.
};

inline constexpr Grade kAllGrades[] = {
    Grade::kAnnotated,      Grade::kNoInstruction,   Grade::kNoProgramId,
    Grade::kOtherDump,      Grade::kNoAnnotations,   Grade::kNoMetadata,
    Grade::kNoThunkLists,   Grade::kNoLaunchCalls,   Grade::kDropped,
    Grade::kModulesMissing, Grade::kGraphRows,       Grade::kGraphRowsNoLists,
    Grade::kStretches,      Grade::kAnnotationsOnly, Grade::kHalfTheModules,
    Grade::kOtherRun,
};
std::string_view Text(Grade grade);

// The part of a row's time for each truth.
struct TruthPart {
  uint32_t truth = 0;
  int64_t ns = 0;
};

struct Stripped {
  model::RunTables run;
  std::vector<size_t> module_from;  // Index of each module in the capture.
  bool no_program_ids = false;      // The HLO's own id goes, too.
  bool no_thunk_lists = false;
  bool no_metadata = false;                   // For thunk lists.
  std::vector<std::vector<TruthPart>> truth;  // Per activity; the capture's truth numbers.
};

// False if a grade changes nothing or is impossible: no graphs, no thunk lists, or rows named after
// the instruction itself (CPU, TPU, projected ranges).
bool Applies(const Capture& capture, Grade grade);

Stripped Strip(const Capture& capture, Grade grade);

// Other damage of a capture, in addition to a grade.
struct Damage {
  uint64_t seed = 0;           // Decides what is lost.
  uint32_t lost_per_1000 = 0;  // Single records.
  uint32_t bursts = 0;         // Stretches of up to 64 records: a buffer of CUPTI's.
  bool window = false;         // Up to 40 % gone at either end: a profile of the middle.
  bool modules = false;        // Every third module is gone, another third with each seed.
};
std::string Text(const Damage& damage);
void Apply(const Damage& damage, Stripped* stripped);

// Puts modules of another capture among those of this one, as a dump folder that several programs
// wrote into has them. Those that are equal to one of the capture's own are left out.
void AddForeignModules(const Capture& other, Capture* capture);

// Sentences, one for each place where something of the truth is still to be read; empty when clean.
std::vector<std::string> Leaks(const Stripped& stripped, Grade grade);

}  // namespace xlatrace::accuracy

#endif  // XLATRACE_TESTS_ACCURACY_STRIP_H_
