// SPDX-License-Identifier: Apache-2.0

// HLO modules embedded in a profile.

#include "importers/common/text_fields.h"
#include "importers/xplane/xplane_import.h"

namespace xlatrace::importers::xplane {

void ImportModules(Import& import, const Plane& plane) {
  const Roles roles(plane);
  for (const EventMetadata& event : plane.events) {
    std::string_view proto;
    std::optional<int64_t> program_id;
    try {
      for (const std::string_view raw : event.stats) {
        const Role role = roles.Of(ReadStatId(raw));
        if (role == Role::kHloProto) {
          proto = ReadStat(raw).text;
        } else if (role == Role::kProgramId) {
          const Stat stat = ReadStat(raw);
          if (stat.kind == Stat::Kind::kInt) program_id = stat.integer;
        }
      }
    } catch (const protozero::exception&) {
      import.counters.Add("damaged_module", model::Severity::kDataLoss, 1,
                          "a module's record is damaged; copy the file again from its source");
      continue;
    }
    if (proto.empty()) continue;
    const NameAndId name = SplitTrailingId(event.name);
    model::ModuleBlob module;
    module.process_id = import.process;
    module.name = name.name;
    module.program_id = program_id ? program_id : name.id;
    module.source = model::ModuleSource::kXplane;
    module.bytes = proto;
    const model::Id id = import.sink.AddModule(module);
    auto& known = import.modules[std::string(name.name)];
    known.first = id;
    ++known.second;
  }
}

}  // namespace xlatrace::importers::xplane
