// SPDX-License-Identifier: Apache-2.0

// The samples of attribute_samples.txt, whose head describes the format.

#ifndef XLATRACE_TESTS_HLO_ATTRIBUTE_SAMPLES_H_
#define XLATRACE_TESTS_HLO_ATTRIBUTE_SAMPLES_H_

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/source_folder.h"

namespace xlatrace::hlo {

struct AttributeSample {
  char verdict = '+';  // '+', '-', 'o' or 'x'.
  std::string text;    // "dimensions={1,0}"
  bool IsRead() const { return verdict == '+' || verdict == 'o'; }
};

struct AttributeType {
  std::string name;
  std::vector<std::string> body;  // Lines of the entry computation, "$" for the attribute.
  std::string header;             // Behind "HloModule m, "; empty where it is no header attribute.
  std::vector<AttributeSample> samples;

  // The module with this sample in its place.
  std::string With(std::string_view sample) const {
    const auto fill = [&](std::string text) {
      const size_t at = text.find('$');
      return at == std::string::npos ? text : text.replace(at, 1, sample);
    };
    std::string text = "HloModule m" + (header.empty() ? "" : ", " + fill(header));
    text += "\n\nENTRY e {\n";
    for (const std::string& line : body) text += "  " + fill(line) + "\n";
    return text + "}\n";
  }
};

inline std::vector<AttributeType> ReadAttributeTypes() {
  std::vector<AttributeType> types;
  std::ifstream file(xlatrace::SourceFolder() + "/tests/hlo/attribute_samples.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[') {
      types.push_back({.name = line.substr(1, line.size() - 2)});
    } else if (line[0] == '=') {
      types.back().body.push_back(line.substr(2));
    } else if (line[0] == '@') {
      types.back().header = line.substr(2);
    } else {
      types.back().samples.push_back({line[0], line.size() > 2 ? line.substr(2) : ""});
    }
  }
  return types;
}

}  // namespace xlatrace::hlo

#endif  // XLATRACE_TESTS_HLO_ATTRIBUTE_SAMPLES_H_
