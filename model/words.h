// SPDX-License-Identifier: Apache-2.0

// The closed vocabularies: the words in run.db columns, on the command line and in the report. Each
// enum has one text per value; the texts are the contract of docs/schema.md.
//
// run.db stores these integers (private) and shows these texts (public). Therefore, new values go
// to the end of a list, and values never move.

#ifndef XLATRACE_MODEL_WORDS_H_
#define XLATRACE_MODEL_WORDS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace xlatrace::model {

// Kind of a timed device record. `range`: a projected range without a known kernel (nsys-jax).
enum class ActivityKind : uint8_t { kKernel, kMemcpy, kMemset, kGraph, kOp, kRange };

enum class DeviceKind : uint8_t { kGpu, kTpu, kCpu };

// Finest unit that the source of a run records.
enum class Granularity : uint8_t { kKernel, kOp, kRange };

// The part of training to which an op belongs. Collectives and copies are not phases: they have the
// phase of the work that they serve.
enum class Phase : uint8_t {
  kUnknown,
  kForward,
  kLoss,
  kBackward,
  kRecompute,
  kOptimizer,
  kOther,
};

// Kind of the work of an op.
enum class OpKind : uint8_t {
  kOther,
  kGemm,
  kConvolution,
  kAttention,
  kReduction,
  kElementwiseFusion,
  kTranspose,
  kCopy,
  kMemset,
  kScatterGather,
  kSort,
  kRandom,
  kFft,
  kCollective,
  kCustomCall,
  kControl,
};

enum class Confidence : uint8_t { kNone, kInferred, kExact };

// Evidence for the instruction or op of a launch (docs/schema.md, docs/explanation/attribution.md),
// strongest first. Exception: kOpRange is as strong as kRange and applies to work outside of XLA.
enum class Evidence : uint8_t {
  kNone,
  kAnnotation,    // Profiler annotation on the record itself (XProf stats hlo_op, program_id).
  kRange,         // NVTX range around the launch on the launching thread.
  kGraphNode,     // CUDA-graph node created or updated under a range.
  kThunkOrder,    // Alignment of an execution's activities with the module's thunk list.
  kCubin,         // Identity of the loaded cubin.
  kSymbol,        // Kernel symbol in the module that is known to have run.
  kSymbolAcross,  // Kernel symbol, module only deduced.
  kOpRange,       // The framework's annotation of its op around the launch, outside any module.
};

// Why an activity has no label. Closed list, documented in docs/schema.md.
enum class Reason : uint8_t {
  kUnknown,             // None of the reasons below; rare, and a defect to report.
  kNoModule,            // An XLA op, but the run holds no module it could belong to.
  kNoAnnotation,        // The XLA module is known, but the source does not identify the
                        // instruction.
  kInstructionMissing,  // The source names an instruction that its module does not hold.
  kAmbiguousSymbol,     // Several instructions own the kernel symbol, and no evidence distinguishes
                        // them.
  kAmbiguousModule,     // Several modules hold it, and no evidence distinguishes them.
  kNotXla,              // Launched by the framework or a library outside any XLA module.
  kTransfer,            // Host-device copy or memset issued by the runtime, outside any module.
  kAutotuning,          // Candidate kernels tried while compiling; their modules are never dumped.
  kGraphWithoutBody,    // A graph-level row whose nodes are not known.
  kEager,               // An op that ran eagerly: TensorFlow names ops of graphs only.
};

enum class Origin : uint8_t { kOther, kXla, kXlaLibrary, kFramework, kAutotune };

enum class ModuleRole : uint8_t { kHelper, kMain, kInit, kAutotune };

// Source of a module's HLO. kAnnotation: there is no HLO; ranges or a profiler's stats name the
// module and its instructions.
enum class ModuleSource : uint8_t { kDump, kProto, kNvtx, kXplane, kAnnotation };

// Source of an instruction's op_name.
enum class OpNameMethod : uint8_t { kNone, kOwn, kBody, kUser, kOperand };

enum class Severity : uint8_t { kInfo, kNotice, kDataLoss, kError };

enum class CopyKind : uint8_t {
  kUnknown,
  kHostToDevice,
  kDeviceToHost,
  kDeviceToDevice,
  kPeerToPeer,
  kHostToHost,
};

// How a process ended, if the source records it. `exec`: it was replaced by another program.
// `running`: it had not ended.
enum class ProcessEnd : uint8_t { kUnknown, kExit, kSignal, kExec, kAbort, kRunning };

// Why a window (model/windows.h) ended: with the process or its profile, on request, at a limit
// (size of the file), or at lost records.
enum class WindowEnd : uint8_t { kEnd, kRequested, kLimit, kLoss };

enum class StepHow : uint8_t { kMarked, kExecution };

enum class StepPart : uint8_t {
  kForward,
  kLoss,
  kBackward,
  kRecompute,
  kOptimizer,
  kOther,
  kUnknown,
  kExposedCollective,
  kExposedCopy,
  kIdle,
};

enum class GapCause : uint8_t {
  kUnknown,
  kLaunchBound,
  kHost,
  kSynchronisation,
  kCopy,
  kCompile,
  kInput,
};

// Text of a value ("exposed_collective"). Never empty.
std::string_view Text(ActivityKind v);
std::string_view Text(DeviceKind v);
std::string_view Text(Granularity v);
std::string_view Text(Phase v);
std::string_view Text(OpKind v);
std::string_view Text(Confidence v);
std::string_view Text(Evidence v);
std::string_view Text(Reason v);
std::string_view Text(Origin v);
std::string_view Text(ModuleRole v);
std::string_view Text(ModuleSource v);
std::string_view Text(OpNameMethod v);
std::string_view Text(Severity v);
std::string_view Text(CopyKind v);
std::string_view Text(ProcessEnd v);
std::string_view Text(WindowEnd v);
std::string_view Text(StepHow v);
std::string_view Text(StepPart v);
std::string_view Text(GapCause v);

// All texts of one vocabulary in value order: index i is value i. For SQL dictionaries and docs.
template <typename Enum>
std::span<const std::string_view> Texts();

// The single letter a phase has in chips and narrow tables: F L B R O, '-' other, '?' unknown.
char Letter(Phase v);

// Reads a text back; nullopt when it is not in the list.
std::optional<Phase> PhaseFromText(std::string_view text);
std::optional<OpKind> OpKindFromText(std::string_view text);

}  // namespace xlatrace::model

#endif  // XLATRACE_MODEL_WORDS_H_
