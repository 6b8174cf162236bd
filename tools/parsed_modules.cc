// SPDX-License-Identifier: Apache-2.0
#include "tools/parsed_modules.h"

#include <string>
#include <utility>

#include "base/hash.h"
#include "hlo/artefacts/thunk_sequence.h"
#include "hlo/proto/proto_reader.h"
#include "hlo/text/text_reader.h"

namespace xlatrace::tools {
namespace {

Result<correlator::LoadedModule> Parse(store::RunDb::ModuleBytes stored) {
  correlator::LoadedModule loaded;
  if (!stored.thunk_sequence.empty()) {
    // A thunk list that cannot be read costs evidence, not the module.
    auto thunks = hlo::ReadThunks(stored.thunk_sequence, stored.thunk_metadata);
    if (thunks) loaded.thunks = std::move(*thunks);
  }
  auto bytes = std::make_shared<const std::string>(std::move(stored.bytes));
  XLATRACE_ASSIGN(loaded.hlo, stored.format == model::ModuleBlob::Format::kHloText
                                  ? hlo::ReadText(std::move(bytes))
                                  : hlo::ReadProto(std::move(bytes)));
  return loaded;
}

}  // namespace

size_t MemoryBytes(const correlator::LoadedModule& module) {
  const model::HloModule& hlo = module.hlo;
  size_t bytes = sizeof(module);
  const auto add = [&](const auto&... vectors) {
    ((bytes += vectors.capacity() * sizeof(vectors[0])), ...);
  };
  add(hlo.computations, hlo.instructions, hlo.operand_pool, hlo.called_pool, hlo.dim_pool,
      hlo.details, hlo.other_names, hlo.literals, hlo.stack_frames, hlo.warnings,
      hlo.aliased_parameters, module.thunks);
  if (hlo.buffer) bytes += hlo.buffer->capacity();
  const size_t inside = std::string().capacity();  // Shorter ones need no memory of their own.
  const auto add_text = [&](const std::string& text) {
    if (text.capacity() > inside) bytes += text.capacity();
  };
  for (const std::string& text : *hlo.arena) {
    bytes += sizeof(text);
    add_text(text);
  }
  for (const model::Thunk& thunk : module.thunks) {
    add_text(thunk.kind);
    add_text(thunk.kernel);
    add_text(thunk.instruction);
  }
  return bytes;
}

ParsedModules::ParsedModules(Reader read, size_t most_bytes)
    : read_(std::move(read)), bytes_left_(most_bytes) {}

ParsedModules::ParsedModules(const store::RunBuilder& run)
    : ParsedModules([&run](model::Id module_id) { return run.ReadModule(module_id); }) {}

Result<ParsedModules::Shared> ParsedModules::Load(model::Id module_id) {
  const auto known = known_.find(module_id);
  return known != known_.end() ? known->second : LoadAnew(module_id);
}

Result<ParsedModules::Shared> ParsedModules::LoadAnew(model::Id module_id) {
  const auto refuse = [&](Error error) {
    return known_.emplace(module_id, tl::unexpected<Error>(std::move(error))).first->second;
  };
  Result<store::RunDb::ModuleBytes> stored = read_(module_id);
  if (!stored) return refuse(std::move(stored).error());
  const Content content(stored->format, Hash(stored->bytes), Hash(stored->thunk_sequence),
                        Hash(stored->thunk_metadata));
  if (const auto same = kept_.find(content); same != kept_.end()) {
    known_.emplace(module_id, same->second);
    return same->second;
  }
  ++parses_;
  Result<correlator::LoadedModule> parsed = Parse(std::move(*stored));
  if (!parsed) return refuse(std::move(parsed).error());
  Shared module = std::make_shared<const correlator::LoadedModule>(std::move(*parsed));
  if (const size_t bytes = MemoryBytes(*module); bytes <= bytes_left_) {
    bytes_left_ -= bytes;
    kept_.emplace(content, module);
    known_.emplace(module_id, module);
  }
  return module;
}

correlator::ModuleLoader ParsedModules::ForCorrelator() {
  return [this](model::Id module_id) { return Load(module_id); };
}

analysis::ModuleLoader ParsedModules::ForAnalysis() {
  return [this](model::Id module_id) -> Result<const model::HloModule*> {
    lent_ = nullptr;  // Before the next is read: one that is not kept goes.
    XLATRACE_ASSIGN(lent_, Load(module_id));
    return &lent_->hlo;
  };
}

}  // namespace xlatrace::tools
