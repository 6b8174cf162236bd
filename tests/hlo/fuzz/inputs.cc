// SPDX-License-Identifier: Apache-2.0
#include "tests/hlo/fuzz/inputs.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <sys/mman.h>

#include "base/archive.h"
#include "dumps/dump_name.h"
#include "dumps/file_kind.h"
#include "hlo/artefacts/autotune_results.h"
#include "hlo/artefacts/buffer_assignment.h"
#include "hlo/artefacts/debug_options.h"
#include "hlo/artefacts/live_ranges.h"
#include "hlo/artefacts/memory_usage.h"
#include "hlo/artefacts/target_config.h"
#include "hlo/artefacts/thunk_sequence.h"
#include "hlo/backend_config.h"
#include "hlo/cost/cost.h"
#include "hlo/cost/weights.h"
#include "hlo/op_category.h"
#include "hlo/proto/proto_reader.h"
#include "hlo/proto/text_proto.h"
#include "hlo/proto/text_proto_module.h"
#include "hlo/proto/xspace_modules.h"
#include "hlo/shape.h"
#include "hlo/text/hlo_line.h"
#include "hlo/text/text_printer.h"
#include "hlo/text/text_reader.h"

namespace xlatrace::hlo {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

// Reads all parts of a module, as the other components do.
void Use(const Result<model::HloModule>& module) {
  if (!module) {
    Require(!module.error().message.empty());
    return;
  }
  Require(module->entry < module->computations.size());
  const CostModel hlo_cost(*module);
  const CostModel gpu_cost(*module, {.kind = CostKind::kGpu});
  Require(hlo_cost.Total().flops.value_or(0) >= 0);
  size_t looked_at = 0;
  for (const model::Instruction& instruction : module->instructions) {
    const model::Computation& computation = module->computations[instruction.computation];
    for (const uint32_t operand : module->Operands(instruction)) {
      Require(operand >= computation.first_instruction &&
              operand < computation.first_instruction + computation.instruction_count);
    }
    for (const uint32_t callee : module->CalledComputations(instruction)) {
      Require(callee < module->computations.size());
    }
    Leaves(instruction.shape);
    TupleElement(instruction.shape, 1);
    Require(ByteSize(instruction.shape) >= 0);
    for (const CostModel* model : {&hlo_cost, &gpu_cost}) {
      const Cost cost = model->Of(instruction);
      Require(cost.flops.value_or(0) >= 0 && cost.bytes_accessed.value_or(0) >= 0 &&
              cost.output_bytes.value_or(0) >= 0 && cost.transcendentals.value_or(0) >= 0);
      Require(cost.unknown > 0 || (cost.flops && cost.bytes_accessed));
      const int64_t first[] = {0};
      model->OutputBytes(instruction, first);
    }
    Require(TripCount(*module, instruction).value_or(0) >= 0);
    if (++looked_at > 100) continue;
    Require(!CategoryOf(*module, instruction).empty());
    KindOf(*module, instruction);
    const double weight = Weight(*module, instruction);
    Require(weight >= 0 && std::isfinite(weight));
  }
  for (const model::StackFrame& frame : module->stack_frames) {
    int steps = 0;
    for (uint32_t at = frame.parent; at != 0; at = module->stack_frames[at - 1].parent) {
      if (++steps > 1000) break;
    }
  }
}

// A model read from text prints to text that reads to the same model again.
void RoundTrip(const Result<model::HloModule>& module) {
  if (!module) return;
  const std::string printed = PrintText(*module);
  const auto again = ReadText(std::make_shared<const std::string>(printed));
  Require(again.has_value());
  Require(again->content_hash == module->content_hash);
  Require(PrintText(*again) == printed);
}

void UseMemory(const BufferAssignment& assignment, const LiveRanges* ranges = nullptr) {
  Require(assignment.TotalBytes() >= 0 && assignment.TempBytes() >= 0);
  const MemoryPeak peak = PeakOf(assignment, ranges);
  for (size_t i = 1; i < peak.values.size(); ++i) {
    Require(peak.values[i - 1].size_bytes >= peak.values[i].size_bytes);
  }
}

// A line that parses is not cut, and a cut one that was mended parses.
void UseLine(std::string_view text) {
  const auto parts = SplitHloLine(text);
  HloLine line;
  const bool whole = ParseHloLine(text, &line);
  Require(whole == (parts && !parts->cut));
  if (parts) {
    Require(!parts->name.empty());
    const size_t operands = OperandsOf(*parts).size();
    Require(!whole || line.needs.size() >= operands);
  }
  RepairedHloLine(text);
  std::string renumbered;
  AppendWithFrames(
      text, [](int64_t) { return 1u; }, &renumbered);
}

void UseTextProto(const std::shared_ptr<const std::string>& text) {
  LooksLikeTextProto(*text);
  Require(!Text(dumps::KindOfContent(*text)).empty());
  const auto proto = TextProto::Read(text);
  Require(proto || !proto.error().message.empty());
  if (proto) {
    for (const TextField& field : proto->root().Fields()) {
      Require(field.line > 0 && field.column > 0);
      proto->root().Int(field.name);
      proto->root().Number(field.name);
    }
  }
  ReadTargetConfig(text);
  ReadAutotuneResults(text);
  ReadDebugOptions(text);
  if (const auto bytes = HloProtoFromText(text); bytes) {
    Use(ReadProto(std::make_shared<const std::string>(*bytes)));
  }
}

// A NUL separates a buffer assignment from live ranges.
void UseReports(std::string_view bytes) {
  const size_t split = bytes.find('\0');
  const auto assignment = ReadBufferAssignment(bytes.substr(0, split));
  const auto ranges =
      ReadLiveRanges(split == std::string_view::npos ? bytes : bytes.substr(split + 1));
  if (assignment) UseMemory(*assignment, ranges ? &*ranges : nullptr);
  const auto usage = ReadMemoryUsage(bytes);
  Require(usage || !usage.error().message.empty());
  const auto flags = ReadXlaFlags(bytes);
  Require(flags || !flags.error().message.empty());
  Require(!Description(dumps::KindOfContent(bytes)).empty());
}

// A file without a name, since archives are read from files.
void UseArchive(std::string_view bytes) {
  const int file = memfd_create("archive", MFD_CLOEXEC);
  Require(file >= 0 &&
          write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const std::string path = fmt::format("/proc/self/fd/{}", file);
  const ArchiveLimits limits{
      .entry_bytes = 1 << 20, .ratio = 100, .ratio_free_bytes = 1 << 21, .entries = 1000};
  uint64_t taken = 0;
  int64_t entries = 0;
  LooksLikeArchive(path);
  const Status status = VisitArchive(
      path, limits, [&](const ArchiveEntry&) { return ++entries % 5 != 0; },
      [&](const ArchiveEntry& entry, const std::string& content) -> Status {
        Require(entry.kind == ArchiveEntry::Kind::kFile && content.size() <= limits.entry_bytes);
        taken += content.size();
        return {};
      },
      [](const ArchiveEntry&, std::string_view head) { return head.front() != 'x'; });
  Require(status || !status.error().message.empty());
  Require(entries <= limits.entries);
  Require(taken <= limits.ratio_free_bytes + limits.entry_bytes + limits.ratio * bytes.size());
  close(file);
}

}  // namespace

void RunFuzzInput(std::string_view input, std::string_view bytes) {
  if (input == "text") {
    UseLine(bytes.substr(0, bytes.find('\n')));
    LooksLikeHloText(bytes);
    const auto module = ReadText(std::make_shared<const std::string>(bytes));
    Use(module);
    RoundTrip(module);
    auto part = ReadTextPartial(std::make_shared<const std::string>(bytes));
    Require(part.has_value() || !module.has_value());
    if (!part) return;
    Require(part->damage.empty() == module.has_value());
    Use(std::move(part->module));
  } else if (input == "proto") {
    const auto module = ReadProto(std::make_shared<const std::string>(bytes));
    Use(module);
    if (!module) return;
    ReadText(std::make_shared<const std::string>(PrintText(*module)));
    if (const auto assignment = BufferAssignmentOf(*module); assignment) UseMemory(*assignment);
  } else if (input == "thunks") {
    // The first NUL ends the sequence and begins the metadata.
    const size_t split = bytes.find('\0');
    const std::string_view metadata =
        split == std::string_view::npos ? std::string_view() : bytes.substr(split + 1);
    const auto thunks = ReadThunks(bytes.substr(0, split), metadata);
    Require(thunks || !thunks.error().message.empty());
  } else if (input == "text_proto") {
    UseTextProto(std::make_shared<const std::string>(bytes));
  } else if (input == "reports") {
    UseReports(bytes);
  } else if (input == "archive") {
    UseArchive(bytes);
  } else if (input == "wire") {
    const auto modules = ModulesInXSpace(bytes);
    for (size_t i = 0; modules && i < modules->size() && i < 3; ++i) {
      ReadProto(std::make_shared<const std::string>((*modules)[i].hlo_proto));
    }
    ReadAutotuneResults(std::make_shared<const std::string>(bytes));
  } else {
    const auto name = dumps::ParseDumpName(bytes);
    Require(!name || name->program_id >= 0);
  }
}

}  // namespace xlatrace::hlo
