// SPDX-License-Identifier: Apache-2.0
#include "importers/chrome/run_metadata.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>

#include "base/text.h"

namespace xlatrace::importers {
namespace {

// Field numbers of RunMetadata, StepStats, DeviceStepStats and NodeExecStats.
constexpr uint32_t kStepStatsField = 1;
constexpr uint32_t kDeviceStatsField = 1;
constexpr uint32_t kDeviceField = 1, kNodeField = 2;
constexpr uint32_t kNameField = 1, kStartField = 2, kEndField = 5, kLabelField = 8,
                   kThreadField = 10;

struct Node {
  std::string_view name, label;
  int64_t start_us = 0, duration_us = 0, thread = 0;
};

std::string_view View(protozero::data_view view) { return {view.data(), view.size()}; }

Node ReadNode(protozero::pbf_reader reader) {
  Node node;
  while (reader.next()) {
    switch (reader.tag()) {
      case kNameField:
        node.name = View(reader.get_view());
        break;
      case kStartField:
        node.start_us = reader.get_int64();
        break;
      case kEndField:
        node.duration_us = reader.get_int64();
        break;
      case kLabelField:
        node.label = View(reader.get_view());
        break;
      case kThreadField:
        node.thread = reader.get_int64();
        break;
      default:
        reader.skip();
    }
  }
  return node;
}

// Op_name and type, as Timeline finds them: "name:type", also between "@@" and "#" of a kernel's
// label; of the executor "name = Type(inputs)".
std::pair<std::string, std::string> OpOf(const Node& node, bool of_stream) {
  if (!of_stream) {
    const size_t equals = node.label.find(" = ");
    const size_t bracket = node.label.find('(', equals == std::string_view::npos ? 0 : equals);
    if (equals == std::string_view::npos || bracket == std::string_view::npos) {
      return {std::string(node.name), "unknown"};
    }
    return {std::string(node.name),
            std::string(node.label.substr(equals + 3, bracket - equals - 3))};
  }
  std::string_view name = node.name;
  const size_t start = node.label.find("@@");
  const size_t end = node.label.find('#', start == std::string_view::npos ? 0 : start);
  if (start != std::string_view::npos && end != std::string_view::npos) {
    name = node.label.substr(start + 2, end - start - 2);
  }
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) return {std::string(name), "unknown"};
  return {std::string(name.substr(0, colon)), std::string(name.substr(colon + 1))};
}

void AddDevice(protozero::pbf_reader reader, int64_t pid, nlohmann::json& events) {
  std::string device;
  protozero::pbf_reader nodes = reader;
  while (reader.next()) {
    if (reader.tag() == kDeviceField) {
      device = std::string(View(reader.get_view()));
    } else {
      reader.skip();
    }
  }
  events.push_back({{"ph", "M"},
                    {"name", "process_name"},
                    {"pid", pid},
                    {"args", {{"name", device + " Compute"}}}});
  const bool of_stream = Has(device, "/stream:") || Has(device, "/memcpy");
  while (nodes.next()) {
    if (nodes.tag() != kNodeField) {
      nodes.skip();
      continue;
    }
    const Node node = ReadNode(nodes.get_message());
    auto [name, type] = OpOf(node, of_stream);
    events.push_back({{"ph", "X"},
                      {"name", type},
                      {"pid", pid},
                      {"tid", of_stream ? 0 : node.thread},
                      {"ts", node.start_us},
                      {"dur", node.duration_us},
                      {"args", {{"name", name}, {"op", type}}}});
  }
}

}  // namespace

bool LooksLikeRunMetadata(std::string_view head) {
  constexpr char kFirst = '\x0a';  // Field 1 with a length, of each of the three messages.
  for (int depth = 0; depth < 3; ++depth) {
    if (!head.starts_with(kFirst)) return false;
    size_t size = 1;
    while (size < head.size() && size < 6 && (static_cast<unsigned char>(head[size]) & 0x80) != 0) {
      ++size;
    }
    head.remove_prefix(std::min(size + 1, head.size()));
  }
  return head.starts_with("/job:") || head.starts_with("/device:") || head.starts_with("/gpu:");
}

Result<std::string> TimelineOfRunMetadata(std::string_view bytes) {
  nlohmann::json events = nlohmann::json::array();
  try {
    int64_t pid = 0;
    protozero::pbf_reader metadata(bytes.data(), bytes.size());
    while (metadata.next(kStepStatsField)) {
      protozero::pbf_reader stats = metadata.get_message();
      while (stats.next(kDeviceStatsField)) AddDevice(stats.get_message(), ++pid, events);
    }
  } catch (const protozero::exception&) {
    return MakeError("a RunMetadata of TensorFlow that is cut off or damaged",
                     "copy it again from its source");
  }
  return events.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace xlatrace::importers
