// SPDX-License-Identifier: Apache-2.0
#include "tools/mcp_arguments.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/terminal.h"

namespace xlatrace::tools {
namespace {

constexpr std::string_view kContinue = "continue";
// Names in messages are cut to this length: they come from the request.
constexpr int kMaxNameWidth = 60;

tl::unexpected<RequestError> InvalidParams(std::string message) {
  return tl::unexpected<RequestError>({kInvalidParamsCode, std::move(message)});
}

std::string Shown(std::string_view name) {
  std::string text = Printable(name.substr(0, 4 * kMaxNameWidth));
  return DisplayWidth(text) > kMaxNameWidth ? FitLeft(text, kMaxNameWidth) : text;
}

std::string_view TypeText(ArgumentType type) {
  switch (type) {
    case ArgumentType::kText:
      return "a string";
    case ArgumentType::kTexts:
      return "a string or an array of strings";
    case ArgumentType::kFlag:
      return "a boolean";
    default:
      return "an integer";
  }
}

// A NUL would end an argument of a command early.
bool IsText(const McpJson& value) {
  return value.is_string() && value.get_ref<const std::string&>().find('\0') == std::string::npos;
}

bool Convert(const McpJson& value, ArgumentType type, std::vector<std::string>* out) {
  switch (type) {
    case ArgumentType::kText:
      if (!IsText(value)) return false;
      out->push_back(value.get<std::string>());
      return true;
    case ArgumentType::kTexts:
      if (value.is_string()) return Convert(value, ArgumentType::kText, out);
      return value.is_array() && !value.empty() &&
             std::all_of(value.begin(), value.end(), [&](const McpJson& item) {
               return Convert(item, ArgumentType::kText, out);
             });
    case ArgumentType::kFlag:
      if (!value.is_boolean()) return false;
      out->push_back(value.get<bool>() ? "true" : "false");
      return true;
    default:
      if (!value.is_number_integer()) return false;
      out->push_back(value.dump());
      return true;
  }
}

}  // namespace

std::string McpArguments::Text(std::string_view name) const {
  const auto found = values_.find(std::string(name));
  return found == values_.end() || found->second.empty() ? std::string() : found->second.front();
}

std::vector<std::string> McpArguments::Texts(std::string_view name) const {
  const auto found = values_.find(std::string(name));
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

bool McpArguments::Flag(std::string_view name) const { return Text(name) == "true"; }

int64_t McpArguments::Integer(std::string_view name) const {
  const std::string text = Text(name);
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

McpReply SchemaOf(const std::vector<McpParameter>& parameters) {
  McpReply properties = McpReply::object();
  for (const McpParameter& parameter : parameters) {
    McpReply& schema = properties[std::string(parameter.name)];
    switch (parameter.type) {
      case ArgumentType::kText:
        schema["type"] = "string";
        break;
      case ArgumentType::kTexts:
        schema["type"] = "array";  // A single string is accepted, too.
        schema["items"] = {{"type", "string"}};
        break;
      case ArgumentType::kFlag:
        schema["type"] = "boolean";
        break;
      case ArgumentType::kInteger:
        schema["type"] = "integer";
        break;
    }
    // Not `required` of the schema: a call with `continue` needs no other argument, and some models
    // accept no `anyOf` in a schema.
    schema["description"] =
        fmt::format("{}{}", parameter.required ? "Required. " : "", parameter.description);
  }
  properties[std::string(kContinue)] = {
      {"type", "string"},
      {"description", "Handle at the end of an earlier answer: the next page of that answer"}};
  return {
      {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

tl::expected<McpArguments, RequestError> CheckArguments(const std::vector<McpParameter>& parameters,
                                                        const McpJson& arguments) {
  if (!arguments.is_object()) return InvalidParams("arguments must be an object");
  McpArguments checked;
  for (const auto& [name, value] : arguments.items()) {
    const auto found =
        std::find_if(parameters.begin(), parameters.end(),
                     [&name = name](const McpParameter& p) { return p.name == name; });
    if (name != kContinue && found == parameters.end()) {
      return InvalidParams(fmt::format("there is no argument '{}'", Shown(name)));
    }
    const ArgumentType type = name == kContinue ? ArgumentType::kText : found->type;
    if (!Convert(value, type, &checked.values_[name])) {
      return InvalidParams(fmt::format("argument '{}' must be {}", name, TypeText(type)));
    }
  }
  if (checked.Has(kContinue)) return checked;
  for (const McpParameter& parameter : parameters) {
    if (parameter.required && !checked.Has(parameter.name)) {
      return InvalidParams(fmt::format("argument '{}' is required", parameter.name));
    }
  }
  return checked;
}

}  // namespace xlatrace::tools
