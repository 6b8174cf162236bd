// SPDX-License-Identifier: Apache-2.0
#include "hlo/op_details.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace xlatrace::hlo {

using model::HloModule;
using model::Instruction;
using model::kNoIndex;
using model::OpDetails;
using model::Slice;

namespace {

// All whole numbers in `text`, with their signs.
std::vector<int64_t> NumbersIn(std::string_view text) {
  std::vector<int64_t> numbers;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!IsDigit(text[at])) continue;
    const size_t start = at > 0 && text[at - 1] == '-' ? at - 1 : at;
    int64_t number = 0;
    const auto [stop, error] =
        std::from_chars(text.data() + start, text.data() + text.size(), number);
    if (error != std::errc()) return {};
    numbers.push_back(number);
    at = static_cast<size_t>(stop - text.data());
  }
  return numbers;
}

Slice Keep(HloModule& module, const std::vector<int64_t>& numbers) {
  const Slice slice{static_cast<uint32_t>(module.dim_pool.size()),
                    static_cast<uint32_t>(numbers.size())};
  module.dim_pool.insert(module.dim_pool.end(), numbers.begin(), numbers.end());
  return slice;
}

// {size=3x3 stride=2x2 pad=0_1x1_2 lhs_dilate=1x1 rhs_dilate=1x1 rhs_reversal=1x1}
std::vector<int64_t> WindowNumbers(std::string_view value) {
  enum Place : size_t { kSize, kStride, kLow, kHigh, kWindowDilation, kBaseDilation, kReversal };
  constexpr size_t kFieldsPerDimCount = 7;
  std::vector<int64_t> out;
  size_t dims = 0;
  while (!value.empty()) {
    const size_t equals = value.find('=');
    if (equals == std::string_view::npos) break;
    const size_t key_start = value.substr(0, equals).find_last_of("{ \t\n,");
    const std::string_view key =
        value.substr(key_start + 1, equals - key_start - 1);  // npos + 1 is 0.
    const size_t end = std::min(value.find_first_of(" \t\n}", equals), value.size());
    const std::vector<int64_t> numbers = NumbersIn(value.substr(equals + 1, end - equals - 1));
    const size_t per_dim = key == "pad" ? 2 : 1;
    const size_t given = numbers.size() / per_dim;
    if (given > kMaxSpatialDims) return {};
    if (dims == 0) {  // The first key decides the rank.
      dims = given;
      for (size_t d = 0; d < dims; ++d) out.insert(out.end(), {1, 1, 0, 0, 1, 1, 0});
    }
    if (given != dims) return {};
    for (size_t d = 0; d < dims; ++d) {
      int64_t* const dim = &out[d * kFieldsPerDimCount];
      if (key == "size") dim[kSize] = numbers[d];
      if (key == "stride") dim[kStride] = numbers[d];
      if (key == "pad") {
        dim[kLow] = numbers[2 * d];
        dim[kHigh] = numbers[2 * d + 1];
      }
      if (key == "rhs_dilate") dim[kWindowDilation] = numbers[d];
      if (key == "lhs_dilate") dim[kBaseDilation] = numbers[d];
      if (key == "rhs_reversal") dim[kReversal] = numbers[d];
    }
    value.remove_prefix(end);
  }
  return out;
}

// Place of each letter and digit in "b01f"; '?' stands for dimensions of no use.
struct Labels {
  int64_t first = -1;   // 'b' or, in a kernel, 'i'.
  int64_t second = -1;  // 'f' or 'o'.
  std::vector<int64_t> spatial;
};

Labels ReadLabels(std::string_view part, char first, char second) {
  Labels labels;
  for (size_t at = 0; at < part.size(); ++at) {
    const auto place = static_cast<int64_t>(at);
    if (part[at] == first) labels.first = place;
    if (part[at] == second) labels.second = place;
    if (!IsDigit(part[at])) continue;
    const auto number = static_cast<size_t>(part[at] - '0');
    if (number >= labels.spatial.size()) labels.spatial.resize(number + 1, -1);
    labels.spatial[number] = place;
  }
  return labels;
}

// b01f_01io->b01f
std::vector<int64_t> ConvolutionNumbers(std::string_view value) {
  const size_t bar = value.find('_');
  const size_t arrow = value.find("->");
  if (bar == std::string_view::npos || arrow == std::string_view::npos || arrow < bar) return {};
  const Labels input = ReadLabels(value.substr(0, bar), 'b', 'f');
  const Labels kernel = ReadLabels(value.substr(bar + 1, arrow - bar - 1), 'i', 'o');
  const Labels output = ReadLabels(value.substr(arrow + 2), 'b', 'f');
  const size_t rank = input.spatial.size();
  if (kernel.spatial.size() != rank || output.spatial.size() != rank) return {};
  std::vector<int64_t> out = {input.first,   input.second, kernel.first,
                              kernel.second, output.first, output.second};
  for (const Labels* labels : {&input, &kernel, &output}) {
    out.insert(out.end(), labels->spatial.begin(), labels->spatial.end());
  }
  return out;
}

int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? INT64_MAX : out;
}

// mesh['x'=2,'y'=4] {'y', 'x':(1)2}: the sizes of the named axes, or of the named part of one.
int64_t MeshGroup(std::string_view value) {
  const size_t open = value.find('[');
  const size_t close = value.find(']');
  const size_t axes = value.find('{');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
      axes == std::string_view::npos) {
    return 0;
  }
  const std::string_view mesh = value.substr(open, close - open);
  int64_t product = 1;
  size_t at = axes;
  while ((at = value.find('\'', at)) != std::string_view::npos) {
    const size_t end = value.find('\'', at + 1);
    if (end == std::string_view::npos) break;
    const std::string_view name = value.substr(at, end - at + 1);  // With its quotes.
    const std::string_view rest = value.substr(end + 1);
    std::vector<int64_t> numbers;
    if (rest.substr(0, 2) == ":(") {
      numbers = NumbersIn(rest.substr(0, rest.find_first_of(",}")));
      if (numbers.size() == 2) product = SaturatingMultiply(product, numbers[1]);
    } else if (const size_t axis = mesh.find(name); axis != std::string_view::npos) {
      const std::string_view size = mesh.substr(axis + name.size());
      numbers = NumbersIn(size.substr(0, size.find(',')));
      if (!numbers.empty()) product = SaturatingMultiply(product, numbers[0]);
    }
    at = end + 1;
  }
  return product;
}

}  // namespace

bool KeepsDimensions(std::string_view opcode) {
  return opcode == "concatenate" || opcode == "transpose";
}

OpDetails& MutableDetails(HloModule& module, Instruction& instruction) {
  if (instruction.details == kNoIndex) {
    instruction.details = static_cast<uint32_t>(module.details.size());
    module.details.emplace_back();
  }
  return module.details[instruction.details];
}

model::OtherNames& MutableOtherNames(HloModule& module, model::OpMetadata& metadata) {
  if (metadata.other_names == kNoIndex) {
    metadata.other_names = static_cast<uint32_t>(module.other_names.size());
    module.other_names.emplace_back();
  }
  return module.other_names[metadata.other_names];
}

void SetLiteral(HloModule& module, Instruction& instruction, std::string_view literal) {
  instruction.literal = static_cast<uint32_t>(module.literals.size());
  module.literals.push_back(literal);
}

int64_t LargestGroup(std::string_view value) {
  if (value.substr(0, 4) == "mesh") return MeshGroup(value);
  if (value.substr(0, 1) == "[") {  // [groups,size]<=[...]
    const std::vector<int64_t> numbers = NumbersIn(value.substr(0, value.find(']')));
    return numbers.empty() ? 0 : std::max<int64_t>(numbers.back(), 0);
  }
  int64_t largest = 0;
  int64_t current = 0;
  bool in_number = false;
  for (const char c : value) {
    if (c == '{') current = 0;
    if (IsDigit(c) && !in_number) ++current;
    in_number = IsDigit(c);
    largest = std::max(largest, current);
  }
  return largest;
}

// "{highest,default}", or the algorithm of a dot: only full f32 is as good as "highest".
uint8_t PrecisionIn(std::string_view value) {
  if (value.find("highest") != value.npos || value == "dot_f32_f32_f32") return 2;
  return value.find("high") != value.npos ? 1 : 0;
}

void ReadDetail(HloModule& module, Instruction& instruction, std::string_view name,
                std::string_view value) {
  const auto details = [&]() -> OpDetails& { return MutableDetails(module, instruction); };
  const auto number = [&] {
    const std::vector<int64_t> numbers = NumbersIn(value);
    return numbers.size() == 1 ? numbers[0] : 1;
  };
  if (name == "dimensions") {
    if (KeepsDimensions(instruction.opcode)) {
      details().dimensions = Keep(module, NumbersIn(value));
    }
  } else if (name == "window") {
    details().window = Keep(module, WindowNumbers(value));
  } else if (name == "dim_labels") {
    details().convolution_dims = Keep(module, ConvolutionNumbers(value));
  } else if (name == "fft_length") {
    details().fft_length = Keep(module, NumbersIn(value));
  } else if (name == "feature_group_count") {
    details().feature_group_count = number();
  } else if (name == "batch_group_count") {
    details().batch_group_count = number();
  } else if (name == "replica_groups") {
    details().largest_group = LargestGroup(value);
  } else if (name == "rhs_group_dims") {
    details().rhs_group_dims = static_cast<uint32_t>(NumbersIn(value).size());
  } else if (name == "channel_id") {
    details().has_channel = value == "_" || number() > 0;  // 0 is no channel.
  } else if (name == "use_global_device_ids") {
    details().use_global_device_ids = value == "true";
  } else if (name == "operand_precision" || name == "algorithm") {
    if (const uint8_t precision = PrecisionIn(value); precision > 0) {
      uint8_t& most = details().operand_precision;
      most = std::max(most, precision);
    }
  }
}

}  // namespace xlatrace::hlo
