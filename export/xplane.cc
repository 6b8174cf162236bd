// SPDX-License-Identifier: Apache-2.0
#include "export/xplane.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "base/file.h"
#include "export/export_format.h"
#include "export/run_rows.h"
#include "export/same_program.h"
#include "export/spilled_bytes.h"
#include "model/words.h"

namespace xlatrace::exporter {
namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;
using store::ScannedLaunch;

// Program ids of modules whose own are not unique.
constexpr int64_t kOwnProgramIds = 1'000'000'000;

// Copies the fields of a message; `field` writes one itself and gives true, or leaves it.
template <typename Field>
std::string CopyFields(std::string_view message, Field field) {
  std::string out;
  pbf_reader reader(message.data(), message.size());
  const char* begin = reader.data().data();
  while (reader.next()) {
    pbf_reader copy = reader;
    if (!field(copy, out)) {
      reader.skip();
      const char* end = reader.data().data();
      out.append(begin, static_cast<size_t>(end - begin));
    } else {
      reader.skip();
    }
    begin = reader.data().data();
  }
  return out;
}

// HloInstructionProto: name 1, metadata 7 (op_name 2).
std::string InstructionWithOpName(
    std::string_view instruction,
    const std::unordered_map<std::string_view, std::string_view>& op_names) {
  std::string name;
  bool has_op_name = false;
  pbf_reader reader(instruction.data(), instruction.size());
  while (reader.next()) {
    if (reader.tag() == 1 && reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      name = reader.get_string();
    } else if (reader.tag() == 7 &&
               reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      pbf_reader metadata = reader.get_message();
      while (metadata.next()) {
        has_op_name = has_op_name || (metadata.tag() == 2 && metadata.length() > 0);
        metadata.skip();
      }
    } else {
      reader.skip();
    }
  }
  std::string copy(instruction);
  const auto found = op_names.find(name);
  if (has_op_name || found == op_names.end()) return copy;
  // A second metadata message is merged with the first.
  pbf_writer writer(copy);
  pbf_writer metadata(writer, 7);
  metadata.add_string(2, found->second.data(), found->second.size());
  return copy;
}

bool IsMessage(const pbf_reader& reader, uint32_t tag) {
  return reader.tag() == tag && reader.wire_type() == protozero::pbf_wire_type::length_delimited;
}

std::string_view ViewOf(pbf_reader& reader) {
  const protozero::data_view view = reader.get_view();
  return {view.data(), view.size()};
}

// Names of an XPlane's events or stats.
class Names {
 public:
  int64_t Of(std::string_view name) {
    const auto [at, is_new] = ids_.try_emplace(std::string(name), ids_.size() + 1);
    if (is_new) order_.push_back(&at->first);
    return static_cast<int64_t>(at->second);
  }
  // Entries of the map field `field` of an XPlane: id 1 and name 2 in both kinds of metadata.
  void Write(pbf_writer& plane, uint32_t field) const {
    int64_t id = 0;
    for (const std::string* name : order_) {
      pbf_writer entry(plane, field);
      entry.add_int64(1, ++id);
      pbf_writer metadata(entry, 2);
      metadata.add_int64(1, id);
      metadata.add_string(2, *name);
    }
  }

 private:
  std::unordered_map<std::string, size_t> ids_;
  std::vector<const std::string*> order_;
};

struct Line {
  int64_t id = 0;
  std::string name;
  SpilledBytes events;
};

struct Plane {
  std::string name;
  Names events, stats;
  std::map<int64_t, Line> lines;  // By lane_id.
  std::unordered_map<int64_t, std::string> label_stats, config_stats;
};

class XplaneWriter {
 public:
  XplaneWriter(const RunRows& run, const ExportRequest& request, AtomicFile& file)
      : run_(run), request_(request), file_(file) {}

  // Modules that ran and have no proto; valid after Write.
  int64_t modules_without_proto() const { return modules_without_proto_; }

  Result<int64_t> Write() {
    XLATRACE_ASSIGN(shift_ns_, WholeSecondsBeforeZero(run_.db()));
    NumberPrograms();
    NamePlanes();
    XLATRACE_TRY(run_.ForEachByStart([&](const ScannedLaunch& launch) { return Add(launch); }));
    for (auto& [id, plane] : planes_) XLATRACE_TRY(WritePlane(id, plane));
    XLATRACE_TRY(WriteModules());
    XLATRACE_TRY(WriteEnvironment());
    for (const ProcessFacts& process : run_.processes()) {
      if (process.host.empty()) continue;
      std::string bytes;
      pbf_writer(bytes).add_string(4, process.host);  // XSpace.hostnames
      XLATRACE_TRY(file_.Append(bytes));
      break;
    }
    return events_;
  }

 private:
  void NumberPrograms() {
    std::map<int64_t, int> seen;
    for (const ModuleFacts& module : run_.modules()) ++seen[module.program_id.value_or(-1)];
    int64_t module_id = 0;
    for (const ModuleFacts& module : run_.modules()) {
      ++module_id;
      const bool own =
          module.program_id && *module.program_id >= 0 && seen[*module.program_id] == 1;
      programs_.push_back(own ? *module.program_id : kOwnProgramIds + module_id);
    }
  }

  // XProf numbers the devices of a host from 0.
  void NamePlanes() {
    std::map<std::string, int> count;
    for (const DeviceFacts& device : run_.devices()) {
      if (device.device_id == 0) continue;
      std::string kind = device.kind;
      for (char& c : kind) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      Plane& plane = planes_[device.device_id];
      plane.name =
          device.kind == "cpu" ? "/host:CPU" : fmt::format("/device:{}:{}", kind, count[kind]);
      ++count[kind];
    }
  }

  static void AddText(Plane& plane, std::string& out, std::string_view stat,
                      std::string_view text) {
    if (text.empty()) return;
    pbf_writer event(out);
    pbf_writer entry(event, 4);
    entry.add_int64(1, plane.stats.Of(stat));
    entry.add_uint64(7, static_cast<uint64_t>(plane.stats.Of(text)));  // A text is a reference.
  }
  static void AddNumber(Plane& plane, std::string& out, std::string_view stat, int64_t value) {
    pbf_writer event(out);
    pbf_writer entry(event, 4);
    entry.add_int64(1, plane.stats.Of(stat));
    entry.add_int64(4, value);
  }

  const std::string& LabelStats(Plane& plane, int64_t label_id) {
    const auto [at, is_new] = plane.label_stats.try_emplace(label_id);
    std::string& out = at->second;
    if (!is_new) return out;
    const model::Label& label = run_.LabelOf(label_id);
    const model::InstructionRow* instruction = run_.InstructionOf(label);
    if (instruction == nullptr) return out;
    if (label.module_id != 0) {
      AddText(plane, out, "hlo_op", instruction->name);
      AddText(plane, out, "hlo_module", At(run_.modules(), label.module_id).name);
      AddNumber(plane, out, "program_id", At(programs_, label.module_id));
    }
    if (!instruction->op_name.empty()) {
      AddText(plane, out, "tf_op",
              fmt::format("{}:{}", instruction->op_name, instruction->op_type));
    }
    if (!instruction->source_file.empty()) {
      AddText(plane, out, "source",
              fmt::format("{}:{}", instruction->source_file, instruction->source_line.value_or(0)));
    }
    AddText(plane, out, "phase", model::Text(instruction->phase));
    AddText(plane, out, "layer", instruction->layer);
    return out;
  }

  const std::string& ConfigStats(Plane& plane, int64_t config_id, const ConfigFacts& config) {
    const auto [at, is_new] = plane.config_stats.try_emplace(config_id);
    std::string& out = at->second;
    if (!is_new || !config.grid[0] || !config.block[0]) return out;
    const auto sizes = [](const std::optional<int64_t>(&size)[3]) {
      return fmt::format("{},{},{}", size[0].value_or(1), size[1].value_or(1), size[2].value_or(1));
    };
    // As XProf's kernel_stats takes it apart.
    AddText(plane, out, "kernel_details",
            fmt::format("regs:{} static_shared:{} dynamic_shared:{} grid:{} block:{} occ_pct:{}",
                        config.registers.value_or(0), config.shared_static.value_or(0),
                        config.shared_dynamic.value_or(0), sizes(config.grid), sizes(config.block),
                        config.occupancy_pct.value_or(0)));
    return out;
  }

  Status Add(const ScannedLaunch& launch) {
    const LaneFacts& lane = At(run_.lanes(), launch.lane_id);
    const auto found = planes_.find(lane.device_id);
    if (found == planes_.end()) return {};
    Plane& plane = found->second;
    const ConfigFacts& config = At(run_.configs(), launch.config_id);
    const int64_t stream = lane.stream_id.value_or(0);
    auto line = plane.lines.find(launch.lane_id);
    if (line == plane.lines.end()) {
      // Lines of GPUs are known by this word; what other sources call a stream goes behind it.
      const bool as_it_is =
          !lane.name.empty() &&
          (lane.name.starts_with("Stream #") || At(run_.devices(), lane.device_id).kind != "gpu");
      const std::string name = as_it_is ? lane.name
                                        : fmt::format("Stream #{}({})", stream,
                                                      !lane.name.empty()        ? lane.name
                                                      : config.kind == "memcpy" ? "Memcpy"
                                                                                : "Compute");
      line = plane.lines.emplace(launch.lane_id, Line{stream, name, SpilledBytes(request_.output)})
                 .first;
    }
    std::string name = config.name;
    if (name.empty()) name = config.kind;
    event_.clear();
    {
      pbf_writer event(event_);
      event.add_int64(1, plane.events.Of(name));
      event.add_int64(2, (launch.start_ns + shift_ns_) * 1000);
      event.add_int64(3, launch.duration_ns * 1000);
    }
    event_ += LabelStats(plane, launch.label_id);
    event_ += ConfigStats(plane, launch.config_id, config);
    if (launch.correlation_id) {
      AddNumber(plane, event_, "correlation_id", *launch.correlation_id);
    }
    ++events_;
    framed_.clear();
    pbf_writer(framed_).add_bytes(4, event_.data(), event_.size());  // XLine.events
    return line->second.events.Append(framed_);
  }

  Status WritePlane(int64_t id, Plane& plane) {
    const DeviceFacts& device = At(run_.devices(), id);
    std::string stats;  // Before the names of stats are written.
    {
      pbf_writer writer(stats);
      const auto add = [&](std::string_view name, uint64_t value) {
        const int64_t stat = plane.stats.Of(name);
        pbf_writer entry(writer, 6);
        entry.add_int64(1, stat);
        entry.add_uint64(3, value);
      };
      {
        const bool amd = device.name.find("AMD") != std::string::npos ||
                         device.name.starts_with("MI") || device.compute_capability == "9.4";
        const int64_t stat = plane.stats.Of("device_vendor");
        if (device.kind == "gpu") {
          pbf_writer entry(writer, 6);
          entry.add_int64(1, stat);
          entry.add_string(5, amd ? "AMD" : "Nvidia");
        }
      }
      const size_t dot = device.compute_capability.find('.');
      if (dot != std::string::npos) {
        add("compute_cap_major", std::strtoull(device.compute_capability.c_str(), nullptr, 10));
        add("compute_cap_minor",
            std::strtoull(device.compute_capability.c_str() + dot + 1, nullptr, 10));
      }
      if (device.clock_hz) add("clock_rate", static_cast<uint64_t>(*device.clock_hz / 1000));
      if (device.sm_count) add("core_count", static_cast<uint64_t>(*device.sm_count));
      if (device.memory_bytes) add("memory_size", static_cast<uint64_t>(*device.memory_bytes));
      if (device.memory_bandwidth) {
        add("memory_bandwidth", static_cast<uint64_t>(*device.memory_bandwidth));
      }
    }
    std::string head;
    {
      pbf_writer writer(head);
      writer.add_int64(1, id);
      writer.add_string(2, plane.name);
      plane.events.Write(writer, 4);
      plane.stats.Write(writer, 5);
    }
    head += stats;
    std::vector<std::string> line_heads;
    uint64_t size = head.size();
    for (auto& [lane_id, line] : plane.lines) {
      std::string& line_head = line_heads.emplace_back();
      pbf_writer writer(line_head);
      writer.add_int64(1, line.id);
      writer.add_string(2, line.name);
      // As XProf's collector writes it: since the start of the profile (see WriteEnvironment).
      writer.add_int64(3, 0);
      writer.add_int64(10, line.id);
      const uint64_t line_size = line_head.size() + line.events.size();
      size += Framed(3, line_size).size() + line_size;
    }
    XLATRACE_TRY(file_.Append(Framed(1, size)));
    XLATRACE_TRY(file_.Append(head));
    size_t number = 0;
    for (auto& [lane_id, line] : plane.lines) {
      const std::string& line_head = line_heads[number++];
      XLATRACE_TRY(file_.Append(Framed(3, line_head.size() + line.events.size())));
      XLATRACE_TRY(file_.Append(line_head));
      XLATRACE_TRY(line.events.Give([&](std::string_view bytes) { return file_.Append(bytes); }));
    }
    return {};
  }

  // Tag and length of a message that follows.
  static std::string Framed(uint32_t field, uint64_t size) {
    std::string out(1, static_cast<char>(field << 3 | 2));
    protozero::write_varint(std::back_inserter(out), size);
    return out;
  }

  Status WriteModules() {
    std::string bytes;
    {
      pbf_writer plane(bytes);
      plane.add_int64(1, int64_t{1} << 30);
      plane.add_string(2, "/host:metadata");
      {
        pbf_writer entry(plane, 5);
        entry.add_int64(1, 1);
        pbf_writer metadata(entry, 2);
        metadata.add_int64(1, 1);
        metadata.add_string(2, "Hlo Proto");
      }
      size_t next = 0;
      const auto& instructions = run_.attribution().instructions;
      for (int64_t module_id = 1; module_id <= static_cast<int64_t>(run_.modules().size());
           ++module_id) {
        std::unordered_map<std::string_view, std::string_view> op_names;
        for (; next < instructions.size() && instructions[next].module_id <= module_id; ++next) {
          if (!instructions[next].op_name.empty()) {
            op_names.emplace(instructions[next].name, instructions[next].op_name);
          }
        }
        const std::string hlo = HloProtoOf(run_, module_id);
        if (hlo.empty()) {
          const bool ran =
              std::any_of(run_.attribution().labels.begin(), run_.attribution().labels.end(),
                          [&](const model::Label& label) {
                            return label.module_id == module_id && label.instruction_id != 0;
                          });
          modules_without_proto_ += ran ? 1 : 0;
          continue;
        }
        const int64_t program = At(programs_, module_id);
        pbf_writer entry(plane, 4);
        entry.add_int64(1, program);
        pbf_writer metadata(entry, 2);
        metadata.add_int64(1, program);
        metadata.add_string(2, fmt::format("{}({})", At(run_.modules(), module_id).name, program));
        pbf_writer stat(metadata, 5);
        stat.add_int64(1, 1);
        const std::string proto = WithOpNames(hlo, op_names);
        stat.add_bytes(6, proto);
      }
    }
    XLATRACE_TRY(file_.Append(Framed(1, bytes.size())));
    return file_.Append(bytes);
  }

  // When the profile began and ended, and the plane of the host, which XProf looks for.
  Status WriteEnvironment() {
    XLATRACE_ASSIGN(const store::Table span,
                    run_.db().Select("SELECT max(end_ns) AS end_ns FROM busy_time"));
    const int64_t start = run_.start_unix_ns() - shift_ns_;
    const int64_t stop = run_.start_unix_ns() + (span.rows.empty() ? 0 : span.Int(0, "end_ns"));
    std::string environment;
    {
      pbf_writer plane(environment);
      plane.add_string(2, "Task Environment");
      Names stats;
      for (const auto& [name, value] :
           {std::pair("profile_start_time", start), {"profile_stop_time", stop}}) {
        pbf_writer entry(plane, 6);
        entry.add_int64(1, stats.Of(name));
        entry.add_uint64(3, static_cast<uint64_t>(std::max<int64_t>(0, value)));
      }
      stats.Write(plane, 5);
    }
    XLATRACE_TRY(file_.Append(Framed(1, environment.size())));
    XLATRACE_TRY(file_.Append(environment));
    for (const auto& [id, plane] : planes_) {
      if (plane.name == "/host:CPU") return {};
    }
    std::string host;
    pbf_writer(host).add_string(2, "/host:CPU");
    XLATRACE_TRY(file_.Append(Framed(1, host.size())));
    return file_.Append(host);
  }

  const RunRows& run_;
  const ExportRequest& request_;
  AtomicFile& file_;
  int64_t shift_ns_ = 0;
  int64_t events_ = 0;
  int64_t modules_without_proto_ = 0;
  std::vector<int64_t> programs_;  // By module_id.
  std::map<int64_t, Plane> planes_;
  std::string event_, framed_;
};

}  // namespace

std::string WithOpNames(std::string_view hlo_proto,
                        const std::unordered_map<std::string_view, std::string_view>& op_names) {
  try {
    // HloProto.hlo_module 1, HloModuleProto.computations 3, HloComputationProto.instructions 2.
    return CopyFields(hlo_proto, [&](pbf_reader& proto, std::string& out) {
      if (!IsMessage(proto, 1)) return false;
      const std::string module =
          CopyFields(ViewOf(proto), [&](pbf_reader& module_field, std::string& module_out) {
            if (!IsMessage(module_field, 3)) return false;
            const std::string computation = CopyFields(
                ViewOf(module_field), [&](pbf_reader& field, std::string& computation_out) {
                  if (!IsMessage(field, 2)) return false;
                  const std::string instruction = InstructionWithOpName(ViewOf(field), op_names);
                  pbf_writer(computation_out).add_bytes(2, instruction);
                  return true;
                });
            pbf_writer(module_out).add_bytes(3, computation);
            return true;
          });
      pbf_writer(out).add_bytes(1, module);
      return true;
    });
  } catch (const protozero::exception&) {
    return std::string(hlo_proto);
  }
}

Result<ExportCount> WriteXplane(store::RunDb& db, const ExportRequest& request) {
  XLATRACE_ASSIGN(const RunRows run, RunRows::Load(db, request.progress, request.selection));
  XLATRACE_ASSIGN(AtomicFile file, AtomicFile::Create(request.output));
  XplaneWriter writer(run, request, file);
  XLATRACE_ASSIGN(const int64_t events, writer.Write());
  XLATRACE_TRY(file.Commit());
  ExportCount count{events, 1, {}};
  if (writer.modules_without_proto() > 0) {
    count.note = fmt::format(
        "{} of {} modules without an HloProto, which XProf's hlo_stats and op_profile need: attach "
        "a"
        " dump of the program and export again",
        writer.modules_without_proto(), run.modules().size());
  }
  return count;
}

}  // namespace xlatrace::exporter
