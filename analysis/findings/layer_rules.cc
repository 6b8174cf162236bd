// SPDX-License-Identifier: Apache-2.0

// A repeated layer that takes longer than its siblings, and the ops that cause it.

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/findings/longest_launch.h"
#include "analysis/findings/rules.h"
#include "base/number_format.h"

namespace xlatrace::analysis::findings {
namespace {

constexpr double kMinOddLayerShare = 0.1;
constexpr size_t kMinSiblings = 4;

struct Layer {
  int64_t ns = 0;
  std::vector<const Op*> ops;
};
using Layers = std::map<std::string, Layer, std::less<>>;

// Key: path of a repeated group of layers, without the path inside the repeated part. Value: the
// layers of the group, by name.
std::map<std::string, Layers> GroupsOf(const Context& context) {
  std::map<std::string, Layers> groups;
  for (const Op& op : context.ops) {
    const std::string& group = op.row->layer_group;
    const size_t star = group.find('*');
    // Collectives wait for others, hidden work is not in the times, and XLA fuses the updates of
    // several layers into one kernel.
    if (star == std::string::npos || op.hidden || op.row->op_kind == model::OpKind::kCollective ||
        op.row->phase == model::Phase::kOptimizer) {
      continue;
    }
    const size_t end = std::min(group.find('/', star), group.size());
    // As many components of the layer as of the group.
    const std::string prefix = group.substr(0, end);
    const auto depth = std::count(prefix.begin(), prefix.end(), '/');
    size_t cut = 0;
    const std::string& layer = op.row->layer;
    for (int64_t k = 0; k <= depth && cut != std::string::npos; ++k) {
      cut = layer.find('/', cut + (k > 0));
    }
    Layer& of = groups[prefix][layer.substr(0, cut)];
    of.ns += op.ns;
    of.ops.push_back(&op);
  }
  return groups;
}

// Position of an op within its layer: equal for its counterpart in a sibling.
std::string RoleOf(const Op& op, std::string_view layer) {
  std::string name = op.row->op_name;
  if (const size_t at = name.find(layer); !layer.empty() && at != name.npos) {
    name.replace(at, layer.size(), "*");
  }
  return fmt::format("{} {} {}", model::Text(op.row->op_kind), model::Text(op.row->phase), name);
}

// The last component of a layer's path, which an op_name contains under any prefix.
std::string_view LastOf(std::string_view layer) {
  return layer.substr(layer.find_last_of('/') + 1);
}

struct Role {
  int64_t ns = 0;
  double calls = 0;
  const Op* largest = nullptr;
};
using Roles = std::map<std::string, Role>;

Roles RolesOf(const Layer& layer, std::string_view name) {
  Roles roles;
  for (const Op* op : layer.ops) {
    Role& role = roles[RoleOf(*op, LastOf(name))];
    role.ns += op->ns;
    role.calls += op->calls;
    if (role.largest == nullptr || op->ns > role.largest->ns) role.largest = op;
  }
  return roles;
}

// The op in which the layer differs most from its siblings, and how.
struct Cause {
  const Op* op = nullptr;
  int64_t more_ns = 0;
  int64_t sibling_ns = 0;
  std::string variant;  // Selects the texts.
  std::string detail;   // "sgemm_128 instead of sgemm_64".
};

std::string Dimensions(const std::optional<int64_t> (&of)[3]) {
  std::string text;
  for (const auto& n : of) text += fmt::format("{}{}", text.empty() ? "" : "x", n.value_or(1));
  return text;
}

// How an op differs from its counterpart.
void Compare(const Context& context, const LongestLaunches& launches, const Op& op, const Op& other,
             Cause& cause) {
  if (op.row->shape != other.row->shape) {
    cause.variant = "shape";
    cause.detail = fmt::format("{} instead of {}", op.row->shape.substr(0, 60),
                               other.row->shape.substr(0, 60));
    return;
  }
  const model::LaunchConfig* own = launches.ConfigOf(op);
  const model::LaunchConfig* theirs = launches.ConfigOf(other);
  if (own != nullptr && theirs != nullptr && context.on_gpu) {
    const auto dimensions = [](const model::LaunchConfig& config) {
      return fmt::format("grid {} block {}", Dimensions(config.grid), Dimensions(config.block));
    };
    if (dimensions(*own) != dimensions(*theirs)) {
      cause.variant = "algorithm";
      cause.detail = fmt::format("{} instead of {}", dimensions(*own), dimensions(*theirs));
      return;
    }
    // Kernels of fusions are numbered, so only names of library kernels identify another kernel.
    if (own->symbol != theirs->symbol && launches.IsLibrary(op) && launches.IsLibrary(other)) {
      cause.variant = "algorithm";
      cause.detail =
          fmt::format("{} instead of {}", own->symbol.substr(0, 60), theirs->symbol.substr(0, 60));
      return;
    }
  }
  const double own_beside = launches.ShareBesideCollectives(op);
  const double beside = launches.ShareBesideCollectives(other);
  if (own_beside > beside + 0.25) {
    cause.variant = "collective";
    cause.detail =
        fmt::format("{} of its time instead of {}", Percent(own_beside), Percent(beside));
    return;
  }
}

Cause CauseOf(const Context& context, const LongestLaunches& launches, const Layers& layers,
              const std::string& name) {
  const Roles own = RolesOf(layers.at(name), name);
  std::vector<Roles> siblings;
  for (const auto& [other, layer] : layers) {
    if (other != name) siblings.push_back(RolesOf(layer, other));
  }
  Cause cause;
  for (const auto& [words, role] : own) {
    std::vector<std::pair<int64_t, const Role*>> theirs;
    for (const Roles& sibling : siblings) {
      const auto at = sibling.find(words);
      theirs.emplace_back(at == sibling.end() ? 0 : at->second.ns,
                          at == sibling.end() ? nullptr : &at->second);
    }
    std::nth_element(theirs.begin(),
                     theirs.begin() + static_cast<std::ptrdiff_t>(theirs.size() / 2), theirs.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto& [median, counterpart] = theirs[theirs.size() / 2];
    if (role.ns - median <= cause.more_ns) continue;
    cause = {role.largest, role.ns - median, median, "", ""};
    if (counterpart == nullptr) {
      cause.variant = "extra";
      cause.detail = fmt::format("a {}", model::Text(role.largest->row->op_kind));
    } else if (role.calls > 1.2 * counterpart->calls) {
      cause.variant = "more_launches";
      cause.detail = fmt::format("{} instead of {} times", CountText(role.calls),
                                 CountText(counterpart->calls));
    } else {
      Compare(context, launches, *role.largest, *counterpart->largest, cause);
    }
  }
  return cause;
}

}  // namespace

void CheckLayers(const Context& context, Report& report) {
  bool judged = false;
  bool found = false;
  std::string apart;  // Siblings of which one takes much longer, and none that all others agree on.
  std::optional<LongestLaunches> launches;
  for (const auto& [group, layers] : GroupsOf(context)) {
    if (layers.size() < kMinSiblings) continue;
    judged = true;
    std::vector<int64_t> times;
    for (const auto& [name, layer] : layers) times.push_back(layer.ns);
    std::sort(times.begin(), times.end());
    const int64_t median = times[times.size() / 2];
    std::vector<int64_t> distances;
    for (const int64_t ns : times) distances.push_back(std::abs(ns - median));
    std::sort(distances.begin(), distances.end());
    const auto spread =
        std::max<double>(1.4826 * static_cast<double>(distances[distances.size() / 2]),
                         0.005 * static_cast<double>(median));
    for (const auto& [name, layer] : layers) {
      const int64_t more = layer.ns - median;
      if (static_cast<double>(more) < kMinOddLayerShare * static_cast<double>(median) ||
          context.ShareOfStep(more) < kMinSavingShare) {
        continue;
      }
      if (static_cast<double>(more) < 5 * spread) {
        if (apart.empty()) {
          apart = fmt::format("{} take {} to {} {}, too far apart to call one odd", group,
                              Time(times.front()), Time(times.back()), context.words.per_step);
        }
        continue;
      }
      found = true;
      if (!launches) launches.emplace(context);
      const Cause cause = CauseOf(context, *launches, layers, name);
      const Op* op = cause.op != nullptr ? cause.op : layer.ops.front();
      Finding finding;
      finding.id = "odd_layer";
      finding.values["layer"] = name;
      finding.values["count"] = std::to_string(layers.size() - 1);
      finding.values["op"] = op->row->name;
      finding.values["more"] = Time(cause.more_ns);
      finding.values["detail"] = cause.detail;
      finding.variant = cause.variant;
      finding.saves_high_ns = more;
      finding.saves_low_ns = 0;
      finding.sure = context.Allowed(Sure::kMedium);
      finding.where_layer = name;
      finding.where_op = op->row->name;
      finding.where_source = context.SourceOf(*op);
      finding.claims["layer " + name] = more;
      finding.change.emplace();
      finding.change->own_time = true;
      for (const Op* slow : layer.ops) {
        finding.change->instructions[static_cast<uint32_t>(slow->time->instruction_id)] =
            static_cast<double>(median) / static_cast<double>(layer.ns);
      }
      finding.evidence.Add(context.words.PerStep("this layer"), layer.ns, "ns")
          .Add("median of the siblings", median, "ns")
          .Add(fmt::format("the op that differs most: more {} than in a sibling",
                           context.words.per_step),
               cause.more_ns, "ns", op->handle)
          .Add("its counterparts, median", cause.sibling_ns, "ns");
      report.Add(std::move(finding));
    }
  }
  if (judged && !found && apart.empty()) {
    report.Fine("odd_layer",
                {"repeated layers", "apart from collectives, they take about the same time"});
  } else if (!found && !apart.empty()) {
    report.Withhold("odd_layer", "repeated layers: " + apart);
  }
}

}  // namespace xlatrace::analysis::findings
