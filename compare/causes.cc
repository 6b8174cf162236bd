// SPDX-License-Identifier: Apache-2.0
#include "compare/causes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/number_format.h"
#include "compare/row_builder.h"
#include "hlo/module_summary.h"
#include "hlo/shape.h"

namespace xlatrace::compare {
namespace {

// Smaller differences of counts come from the borders of steps, and smaller differences of work
// from rounding in the cost model.
constexpr double kCountTolerance = 0.005;
constexpr double kWorkTolerance = 0.01;
// A kernel with a smaller part of an op's time is not evidence for its kind.
constexpr double kMinKernelShare = 0.2;

bool Differ(double a, double b, double tolerance) {
  return std::abs(a - b) > tolerance * std::max(std::abs(a), std::abs(b));
}

// Sums over the ops of one side of a row; nullopt if an op lacks the value.
struct Work {
  std::optional<double> bytes, flops;
};

Work WorkOf(const Run& run, const std::vector<size_t>& ops) {
  Work work{0.0, 0.0};
  for (const size_t i : ops) {
    const Op& op = run.ops[i];
    const double calls = run.PerStep(op.calls);
    if (!op.bytes || op.calls == 0) {
      work.bytes.reset();
    } else if (work.bytes) {
      *work.bytes += static_cast<double>(*op.bytes) * calls;
    }
    if (!op.flops || op.calls == 0) {
      work.flops.reset();
    } else if (work.flops) {
      *work.flops += static_cast<double>(*op.flops) * calls;
    }
  }
  return work;
}

// Number of instructions of one program on a side of a row. Programs of one function (for other
// shapes) do the same with their own instructions.
size_t Launched(const Run& run, const std::vector<size_t>& ops) {
  std::map<size_t, size_t> of_module;
  size_t most = 0;
  for (const size_t i : ops) most = std::max(most, ++of_module[run.ops[i].module]);
  return most;
}

// The kernel of an XLA fusion has the name of the instruction, so another name does not mean
// another kernel. Names of library kernels identify the kernel.
std::set<std::string> KernelsOf(const Run& run, const std::vector<size_t>& ops) {
  std::set<std::string> names;
  for (const size_t i : ops) {
    const Op& op = run.ops[i];
    int64_t all = 0;
    for (const KernelUse& kernel : op.kernels) all += kernel.ns;
    for (const KernelUse& kernel : op.kernels) {
      if (kernel.name.empty() || kernel.graph ||
          static_cast<double>(kernel.ns) < kMinKernelShare * static_cast<double>(all)) {
        continue;
      }
      const std::string family = KernelFamily(kernel.name);
      std::string own = op.instruction;
      std::replace_if(
          own.begin(), own.end(), [](char c) { return c == '.' || c == '-'; }, '_');
      const bool named_after =
          !op.instruction.empty() &&
          (kernel.name == op.instruction || kernel.name == own || KernelFamily(own) == family);
      // One kernel serves several equal fusions and may have the name of another one.
      const bool of_fusion = op.opcode == "fusion" && family.find("fusion") != std::string::npos;
      if (!named_after && !of_fusion) names.insert(kernel.name);
    }
  }
  return names;
}

// True if a large part of it ran in CUDA graphs without nodes, so that its kernels are not known.
bool InWholeGraphs(const Run& run, const std::vector<size_t>& ops) {
  return std::any_of(ops.begin(), ops.end(), [&](size_t i) {
    int64_t all = 0;
    int64_t in_graphs = 0;
    for (const KernelUse& kernel : run.ops[i].kernels) {
      all += kernel.ns;
      if (kernel.graph) in_graphs += kernel.ns;
    }
    return in_graphs > 0 &&
           static_cast<double>(in_graphs) >= kMinKernelShare * static_cast<double>(all);
  });
}

std::string Shortened(const std::string& name) {
  constexpr size_t kMaxNameLength = 60;
  return name.size() <= kMaxNameLength ? name : name.substr(0, kMaxNameLength - 2) + "..";
}

std::string DimsText(const hlo::ArrayShape& shape) {
  return fmt::format("[{}]", fmt::join(shape.dims, ","));
}

class Finder {
 public:
  Finder(const Run& base, const Run& now, const Row& row)
      : base_(base),
        now_(now),
        row_(row),
        old_(LargestOf(base, row.base)),
        new_(LargestOf(now, row.now)) {}

  std::vector<Cause> Find() {
    if (old_ == nullptr || new_ == nullptr) {
      OneSided();
      return std::move(causes_);
    }
    Groups();
    Executions();
    Shapes();
    Kernels();
    if (causes_.empty()) WorkDone();
    if (old_->op_kind == "collective" && new_->op_kind == "collective") Collective();
    Launch();
    if (causes_.empty() && row_.base_ns != row_.now_ns) Time();
    return std::move(causes_);
  }

 private:
  void Add(CauseKind kind, std::string text, bool certain = true) {
    causes_.push_back({kind, std::move(text), certain});
  }

  void OneSided() {
    const Op& op = new_ != nullptr ? *new_ : *old_;
    std::string work = op.op_kind.empty() ? "work" : op.op_kind;
    std::replace(work.begin(), work.end(), '_', ' ');
    if (op.instruction.empty() && !op.kernels.empty()) {
      // Another kernel may do the same work there; only the name is known.
      Add(new_ == nullptr ? CauseKind::kLost : CauseKind::kNew,
          fmt::format("{} that {} does not {}", op.reason == "transfer" ? "a copy" : "a kernel",
                      new_ == nullptr ? "NEW" : "BASE", op.reason == "transfer" ? "make" : "run"));
    } else if (new_ == nullptr) {
      Add(CauseKind::kLost, fmt::format("{} that NEW does not do", work));
    } else if (op.phase == model::Phase::kRecompute) {
      Add(CauseKind::kRecomputed, "recomputed in the backward pass, which BASE does not do");
    } else if (op.op_kind == "copy" || op.op_kind == "transpose") {
      Add(CauseKind::kLayoutCopy, fmt::format("a {} that BASE does not need", work));
    } else {
      Add(CauseKind::kNew, fmt::format("{} that BASE does not do", work));
    }
  }

  // All ops of a kind were matched with all of the other side, or by kernel. No pairs of ops are
  // known.
  bool Unmatched() const { return row_.level == Level::kScope || row_.level == Level::kKernel; }
  size_t Count(const Run& run, const std::vector<size_t>& ops) const {
    return Unmatched() ? ops.size() : Launched(run, ops);
  }

  void Groups() {
    const size_t a = Count(base_, row_.base);
    const size_t b = Count(now_, row_.now);
    if (Unmatched()) {
      if (a != b) {
        Add(CauseKind::kRegrouped,
            fmt::format("{} instruction{} became {}", a, a == 1 ? "" : "s", b));
      }
      return;
    }
    if (a == 1 && b > 1) {
      Add(CauseKind::kSplit,
          fmt::format("{} became {} launched instructions{}", Noun(*old_), b, OtherKind()));
    } else if (a > 1 && b == 1) {
      Add(CauseKind::kMerged, fmt::format("{} launched instructions became {}", a, Noun(*new_)));
    } else if (a != b) {
      Add(CauseKind::kRegrouped, fmt::format("{} launched instructions became {}", a, b));
    }
  }

  // ", one of them a sort": a kind of work that only NEW has, and that fusion seldom creates.
  std::string OtherKind() const {
    std::set<std::string> before;
    for (const size_t i : row_.base) before.insert(base_.ops[i].op_kind);
    for (const size_t i : row_.now) {
      const std::string& kind = now_.ops[i].op_kind;
      if (kind.empty() || kind == "other" || kind.ends_with("_fusion") || before.contains(kind)) {
        continue;
      }
      return fmt::format(
          ", one of them {} {}",
          std::string_view("aeiou").find(kind[0]) == std::string_view::npos ? "a" : "an", kind);
    }
    return {};
  }

  static std::string Noun(const Op& op) {
    if (op.op_kind == "collective") return "one collective";
    if (op.opcode == "fusion") return "one fusion";
    if (op.opcode == "custom-call") return "one library call";
    return "one instruction";
  }

  void Executions() {
    if (row_.base_calls == 0 || row_.now_calls == 0 ||
        !Differ(row_.base_calls, row_.now_calls, kCountTolerance) ||
        Count(base_, row_.base) != Count(now_, row_.now)) {
      return;
    }
    // Fewer executions that take longer in all: the count is not the cause.
    const double each = EachRatio(row_);
    const bool against = each > 0 && (row_.now_calls > row_.base_calls) != (row_.delta() > 0);
    if (against) {
      Add(CauseKind::kTime,
          fmt::format("each execution takes {}x as long{}; clocks unknown", Significant(each),
                      Waits()),
          false);
    }
    Add(CauseKind::kExecutions,
        fmt::format("{} executions{} instead of {}", CountText(row_.now_calls),
                    base_.steady && now_.steady ? " a step" : "", CountText(row_.base_calls)));
  }

  void Shapes() {
    const size_t ours_n = row_.base.size(), theirs_n = row_.now.size();
    if (row_.level <= Level::kProgram && ours_n != theirs_n && Launched(base_, row_.base) == 1 &&
        Launched(now_, row_.now) == 1) {
      Add(CauseKind::kShapes,
          fmt::format("in {} program{} of this function instead of {}", theirs_n,
                      theirs_n == 1 ? "" : "s", ours_n),
          false);
      return;
    }
    if (row_.base.size() != 1 || row_.now.size() != 1 || old_->shape.empty() ||
        new_->shape.empty() || old_->shape == new_->shape)
      return;
    const std::vector<hlo::ArrayShape> ours = hlo::Leaves(old_->shape);
    const std::vector<hlo::ArrayShape> theirs = hlo::Leaves(new_->shape);
    for (size_t k = 0; k < std::min(ours.size(), theirs.size()); ++k) {
      if (ours[k].type != theirs[k].type) {
        Add(CauseKind::kPrecision, fmt::format("{} where it was {}", theirs[k].type, ours[k].type));
        break;
      }
    }
    for (size_t k = 0; k < std::min(ours.size(), theirs.size()); ++k) {
      if (ours[k].dims != theirs[k].dims) {
        std::vector<int64_t> a = ours[k].dims;
        std::vector<int64_t> b = theirs[k].dims;
        std::sort(a.begin(), a.end());
        std::sort(b.begin(), b.end());
        const std::string text = fmt::format("{}{} -> {}{}", ours[k].type, DimsText(ours[k]),
                                             theirs[k].type, DimsText(theirs[k]));
        if (a == b) {
          Add(CauseKind::kLayout, "transposed: " + text);
        } else {
          Add(CauseKind::kShapes, text);
        }
        return;
      }
    }
    for (size_t k = 0; k < std::min(ours.size(), theirs.size()); ++k) {
      if (ours[k].dims.size() > 1 && ours[k].minor_to_major != theirs[k].minor_to_major) {
        Add(CauseKind::kLayout,
            fmt::format("layout {{{}}} -> {{{}}}", fmt::join(ours[k].minor_to_major, ","),
                        fmt::join(theirs[k].minor_to_major, ",")));
        return;
      }
    }
  }

  void Kernels() {
    if (InWholeGraphs(base_, row_.base) || InWholeGraphs(now_, row_.now)) return;
    const std::set<std::string> ours = KernelsOf(base_, row_.base);
    const std::set<std::string> theirs = KernelsOf(now_, row_.now);
    if (ours == theirs || (ours.empty() && theirs.empty())) return;
    const auto text = [](const std::set<std::string>& names) {
      if (names.empty()) return std::string("a kernel of XLA's own");
      return names.size() == 1
                 ? Shortened(*names.begin())
                 : fmt::format("{} and {} more", Shortened(*names.begin()), names.size() - 1);
    };
    Add(CauseKind::kKernel, fmt::format("other kernel: {} -> {}", text(ours), text(theirs)));
  }

  void WorkDone() {
    const Work ours = WorkOf(base_, row_.base);
    const Work theirs = WorkOf(now_, row_.now);
    if (ours.bytes && theirs.bytes && Differ(*ours.bytes, *theirs.bytes, kWorkTolerance)) {
      Add(CauseKind::kWork, fmt::format("reads and writes {} instead of {}{}", Bytes(*theirs.bytes),
                                        Bytes(*ours.bytes), base_.steady ? " a step" : ""));
    } else if (ours.flops && theirs.flops && Differ(*ours.flops, *theirs.flops, kWorkTolerance)) {
      Add(CauseKind::kWork, fmt::format("{} floating point operations instead of {}",
                                        Significant(*theirs.flops), Significant(*ours.flops)));
    }
  }

  void Collective() {
    if (Count(base_, row_.base) == Count(now_, row_.now)) return;
    for (Cause& cause : causes_) {
      if (cause.kind == CauseKind::kSplit || cause.kind == CauseKind::kMerged ||
          cause.kind == CauseKind::kRegrouped)
        cause.kind = CauseKind::kCollective;
    }
  }

  void Launch() {
    if (row_.base.size() != 1 || row_.now.size() != 1 || old_->kernels.empty() ||
        new_->kernels.empty())
      return;
    const KernelUse& a = old_->kernels[0];
    const KernelUse& b = new_->kernels[0];
    const auto product = [](const std::array<int64_t, 3>& dims) {
      return dims[0] * dims[1] * dims[2];
    };
    // Instances of one template are one op if nothing distinguishes them, and the largest instance
    // may have changed. A value that both sides have is therefore no difference.
    const auto other = [&](const auto& value_of) {
      const auto has = [&](const Op& op, const auto& value) {
        return std::any_of(op.kernels.begin(), op.kernels.end(),
                           [&](const KernelUse& use) { return value_of(use) == value; });
      };
      return value_of(a) > 0 && value_of(b) > 0 && !has(*new_, value_of(a)) &&
             !has(*old_, value_of(b));
    };
    if (other([&](const KernelUse& use) { return product(use.block); })) {
      Add(CauseKind::kLaunch,
          fmt::format("{} threads a block instead of {}", product(b.block), product(a.block)));
    } else if (causes_.empty() && other([&](const KernelUse& use) { return product(use.grid); })) {
      Add(CauseKind::kLaunch, fmt::format("{} blocks instead of {}", Thousands(product(b.grid)),
                                          Thousands(product(a.grid))));
    } else if (other([](const KernelUse& use) { return use.registers; })) {
      Add(CauseKind::kLaunch,
          fmt::format("{} registers a thread instead of {}", b.registers, a.registers));
    }
    if (std::abs(a.occupancy_pct.value_or(0) - b.occupancy_pct.value_or(0)) >= 1 &&
        other([](const KernelUse& use) { return std::llround(use.occupancy_pct.value_or(0)); })) {
      Add(CauseKind::kLaunch,
          fmt::format("occupancy {}% instead of {}%", Percent(*b.occupancy_pct, 100),
                      Percent(*a.occupancy_pct, 100)));
    }
  }

  void Time() {
    const bool slower = row_.now_ns > row_.base_ns;
    const double ratio = row_.base_ns == 0
                             ? 0
                             : static_cast<double>(row_.now_ns) / static_cast<double>(row_.base_ns);
    const double times = slower ? ratio : 1 / ratio;
    // "faster by 1.00x" would have no meaning.
    std::string text = ratio == 0      ? std::string(slower ? "slower" : "faster")
                       : times < 1.005 ? std::string("as fast as before within 0.5%")
                                       : fmt::format("{} by {}x", slower ? "slower" : "faster",
                                                     Significant(times));
    const bool kernels = base_.granularity == "kernel" && now_.granularity == "kernel" &&
                         !old_->kernels.empty() && !new_->kernels.empty() &&
                         !InWholeGraphs(base_, row_.base) && !InWholeGraphs(now_, row_.now);
    const bool known = old_->bytes && new_->bytes;
    const std::string_view what = kernels && known ? "the same kernel with the same work"
                                  : kernels        ? "the same kernel"
                                  : known          ? "the same work"
                                                   : "as often as before";
    Add(CauseKind::kTime, fmt::format("{}, {}{}; clocks unknown", text, what, Waits()), false);
  }

  // A collective ends when the last rank has arrived, so other ranks may cause a change of its
  // time.
  std::string_view Waits() const {
    const auto is_collective = [](const Op& op) {
      // Without HLO, the kernel's name decides.
      return op.op_kind == "collective" ||
             (!op.kernels.empty() && op.kernels[0].name.starts_with("nccl"));
    };
    const bool together = is_collective(*old_) && is_collective(*new_);
    return together ? ", waiting for other ranks included" : "";
  }

  const Run& base_;
  const Run& now_;
  const Row& row_;
  const Op* old_;
  const Op* new_;
  std::vector<Cause> causes_;
};

}  // namespace

double EachRatio(const Row& row) {
  if (row.base_ns <= 0 || row.base_calls <= 0 || row.now_calls <= 0) return 0;
  return static_cast<double>(row.now_ns) / row.now_calls /
         (static_cast<double>(row.base_ns) / row.base_calls);
}

std::vector<Cause> CausesOf(const Run& base, const Run& now, const Row& row) {
  return Finder(base, now, row).Find();
}

}  // namespace xlatrace::compare
