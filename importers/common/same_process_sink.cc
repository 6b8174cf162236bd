#include "importers/common/same_process_sink.h"

#include "base/hash.h"

namespace xlatrace::importers {

model::Id SameProcessSink::AddProcess(const model::Process& process) {
  if (!process_) process_ = sink_.AddProcess(process);
  return *process_;
}

model::Id SameProcessSink::AddDevice(const model::Device& device) {
  const auto [it, fresh] =
      devices_.try_emplace({device.kind, device.ordinal, device.name, device.uuid});
  if (fresh) it->second = sink_.AddDevice(device);
  return it->second;
}

model::Id SameProcessSink::AddModule(const model::ModuleBlob& module) {
  const auto [it, fresh] =
      modules_.try_emplace({std::string(module.name), module.program_id, Hash(module.bytes)});
  if (fresh) it->second = sink_.AddModule(module);
  return it->second;
}

}  // namespace xlatrace::importers
