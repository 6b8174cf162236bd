// SPDX-License-Identifier: Apache-2.0
#include "hlo/artefacts/autotune_results.h"

#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <protozero/exception.hpp>

#include "hlo/proto/text_proto.h"
#include "hlo/proto/wire.h"

namespace xlatrace::hlo {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

int64_t RunTime(int64_t seconds, int64_t nanos) {
  if (seconds < 0 || nanos < 0 ||
      seconds > std::numeric_limits<int64_t>::max() / kNsPerSecond - 1) {
    return -1;
  }
  return seconds * kNsPerSecond + nanos % kNsPerSecond;
}

// The members of AutotuneResult's oneof `key`, and their fields that show the choice.
struct Key {
  std::string_view name;
  uint32_t field;
  struct Part {
    std::string_view name;
    uint32_t field;
    std::string_view label;  // Printed before the number; empty: only the number.
  } parts[10];
};

constexpr Key kKeys[] = {
    {"conv", 5, {{"algorithm", 1, ""}}},
    {"gemm", 6, {{"algorithm", 1, ""}}},
    {"triton",
     17,
     {{"block_m", 1, "block_m="},
      {"block_n", 2, "block_n="},
      {"block_k", 3, "block_k="},
      {"split_k", 4, "split_k="},
      {"num_stages", 5, "stages="},
      {"num_warps", 6, "warps="},
      {"num_ctas", 7, "ctas="}}},
    {"custom_kernel_fusion", 18, {{"kernel_index", 1, ""}}},
    {"algorithm", 16, {{"algo_id", 1, ""}}},
};

void Append(const Key& key, const Key::Part& part, int64_t value, std::string& out) {
  if (out.empty()) out = key.name;
  fmt::format_to(std::back_inserter(out), " {}{}", part.label, value);
}

AutotuneResult FromText(const TextMessage& entry) {
  AutotuneResult out;
  out.device = entry.Text("device");
  out.hlo = entry.Text("hlo");
  const TextMessage result = entry.Message("result");
  if (const TextMessage time = result.Message("run_time"); !time.empty()) {
    out.run_time_ns = RunTime(time.Int("seconds"), time.Int("nanos"));
  }
  out.scratch_bytes = result.Int("scratch_bytes", -1);
  for (const Key& key : kKeys) {
    const TextMessage message = result.Message(key.name);
    if (message.empty()) continue;
    out.algorithm = key.name;
    for (const Key::Part& part : key.parts) {
      if (!part.name.empty() && message.Has(part.name)) {
        Append(key, part, message.Int(part.name), out.algorithm);
      }
    }
  }
  if (const TextMessage other = result.Message("other"); !other.empty()) {
    out.algorithm = other.Text("name");
  }
  if (const TextMessage plan = result.Message("cuda_conv_plan"); !plan.empty()) {
    out.algorithm = fmt::format("cuda_conv_plan {}", plan.Text("exec_plan_id"));
  }
  return out;
}

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}

  Result<AutotuneResults> Read() {
    AutotuneResults results;
    try {
      Fields fields(bytes_, position_);
      while (fields.Next()) {
        switch (fields.Key()) {
          case VarintKey(1):
            results.version = fields.Int();
            break;
          case BytesKey(2):  // dots, convs, since 2023 results.
          case BytesKey(3):
          case BytesKey(4):
            results.results.push_back(Entry(fields.Bytes()));
            break;
          default:
            fields.Skip();
        }
      }
    } catch (const protozero::exception& error) {
      return MakeError(DescribeWireError(error, bytes_, position_));
    }
    return results;
  }

 private:
  AutotuneResult Entry(std::string_view message) {
    AutotuneResult out;
    Fields fields(message, position_);
    while (fields.Next()) {
      switch (fields.Key()) {
        case BytesKey(1):
          out.device = fields.Bytes();
          break;
        case BytesKey(2):
          out.hlo = fields.Bytes();
          break;
        case BytesKey(3):
          ReadResult(fields.Bytes(), out);
          break;
        default:
          fields.Skip();
      }
    }
    return out;
  }

  void ReadResult(std::string_view message, AutotuneResult& out) {
    Fields fields(message, position_);
    while (fields.Next()) {
      const uint32_t key = fields.Key();
      if (key == VarintKey(8)) {
        out.scratch_bytes = fields.Int();
      } else if (key == BytesKey(9)) {
        int64_t time[3] = {};
        Numbers(fields.Bytes(), [&](uint32_t field, int64_t value) {
          if (field <= 2) time[field] = value;
        });
        out.run_time_ns = RunTime(time[1], time[2]);
      } else if (key == BytesKey(15) || key == BytesKey(19)) {
        const bool is_plan = key == BytesKey(15);
        out.algorithm = FirstString(fields.Bytes());
        if (is_plan) out.algorithm.insert(0, "cuda_conv_plan ");
      } else if (const Key* known = KeyOf(key)) {
        out.algorithm = known->name;
        Numbers(fields.Bytes(), [&](uint32_t field, int64_t value) {
          for (const Key::Part& part : known->parts) {
            if (!part.name.empty() && part.field == field) {
              Append(*known, part, value, out.algorithm);
            }
          }
        });
      } else {
        fields.Skip();
      }
    }
  }

  static const Key* KeyOf(uint32_t key) {
    for (const Key& known : kKeys) {
      if (key == BytesKey(known.field)) return &known;
    }
    return nullptr;
  }

  std::string FirstString(std::string_view message) {
    std::string text;
    Fields fields(message, position_);
    while (fields.Next()) {
      if (fields.Key() == BytesKey(1)) {
        text = fields.Bytes();
      } else {
        fields.Skip();
      }
    }
    return text;
  }

  template <typename Visit>
  void Numbers(std::string_view message, Visit visit) {
    Fields fields(message, position_);
    while (fields.Next()) {
      const uint32_t field = fields.Key() >> 3;
      if (fields.Key() == VarintKey(field)) {
        visit(field, fields.Int());
      } else {
        fields.Skip();
      }
    }
  }

  std::string_view bytes_;
  WirePosition position_;
};

}  // namespace

Result<AutotuneResults> ReadAutotuneResults(std::shared_ptr<const std::string> bytes) {
  if (bytes == nullptr) return MakeError("no autotune results");
  // Serialised, it begins with the key of the version, or of the first entry.
  const bool is_wire = !bytes->empty() && static_cast<unsigned char>((*bytes)[0]) < 0x20 &&
                       !LooksLikeTextProto(*bytes) && (*bytes)[0] != '\n' && (*bytes)[0] != '\t';
  if (is_wire) return WireReader(*bytes).Read();
  XLATRACE_ASSIGN(const TextProto proto, TextProto::Read(std::move(bytes)));
  AutotuneResults results;
  results.version = proto.root().Int("version");
  for (const std::string_view list : {"dots", "convs", "results"}) {
    for (const TextMessage& entry : proto.root().Messages(list)) {
      results.results.push_back(FromText(entry));
    }
  }
  if (!proto.root().Has("version") && results.results.empty()) {
    return MakeError("neither a version nor results in it: no autotune results",
                     "give an autotune_results.pbtxt of an XLA dump");
  }
  return results;
}

}  // namespace xlatrace::hlo
