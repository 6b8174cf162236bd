// SPDX-License-Identifier: Apache-2.0
#include "importers/chrome/chrome_event.h"

#include <simdjson.h>

#include <array>
#include <charconv>
#include <cstring>

namespace xlatrace::importers {
namespace {

namespace json = simdjson::ondemand;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

// Where in an event a key's value goes.
using Field = std::string_view ChromeEvent::*;
struct Key {
  std::string_view name;
  Field field;
  enum class Kind : uint8_t { kText, kNumber, kArray } kind;
};

// Keys by name; perfect enough: one multiplication and one compare per key of the file.
class KeyTable {
 public:
  template <size_t N>
  explicit KeyTable(const Key (&keys)[N]) {
    for (const Key& key : keys) {
      size_t at = Hash(key.name);
      while (slots_[at].field != nullptr) at = (at + 1) % kSlotCount;
      slots_[at] = key;
    }
  }
  const Key* Find(std::string_view name) const {
    size_t at = Hash(name);
    while (slots_[at].field != nullptr) {
      if (slots_[at].name == name) return &slots_[at];
      at = (at + 1) % kSlotCount;
    }
    return nullptr;
  }

 private:
  static constexpr size_t kSlotCount = 128;
  static size_t Hash(std::string_view name) {
    if (name.empty()) return 0;
    const auto first = static_cast<unsigned char>(name.front());
    const auto last = static_cast<unsigned char>(name.back());
    return (name.size() * 37 + first * 7u + last * 13u) % kSlotCount;
  }
  std::array<Key, kSlotCount> slots_{};
};

using E = ChromeEvent;
constexpr Key::Kind kText = Key::Kind::kText;
constexpr Key::Kind kNumber = Key::Kind::kNumber;
constexpr Key::Kind kArray = Key::Kind::kArray;

constexpr Key kEventKeys[] = {
    {"cat", &E::category, kText}, {"name", &E::name, kText},  {"pid", &E::pid, kNumber},
    {"tid", &E::tid, kNumber},    {"ts", &E::start, kNumber}, {"dur", &E::duration, kNumber},
};

constexpr Key kArgumentKeys[] = {
    {"device", &E::device, kNumber},
    {"stream", &E::stream, kNumber},
    {"context", &E::context, kNumber},
    {"correlation", &E::correlation, kNumber},
    {"correlation_id", &E::correlation, kNumber},
    {"bytes", &E::bytes, kNumber},
    {"registers per thread", &E::registers, kNumber},
    {"shared memory", &E::shared_memory, kNumber},
    {"grid", &E::grid, kArray},
    {"block", &E::block, kArray},
    {"graph id", &E::graph_id, kNumber},
    {"graph node id", &E::graph_node_id, kNumber},
    {"graph_id", &E::graph_id, kNumber},
    {"cuda_graph_id", &E::graph_id, kNumber},
    {"graph_node_id", &E::graph_node_id, kNumber},
    {"hlo_op", &E::hlo_op, kText},
    {"hlo_module", &E::hlo_module, kText},
    {"program_id", &E::program_id, kNumber},
    {"run_id", &E::run_id, kNumber},
    {"device_ordinal", &E::device_ordinal, kNumber},
    {"step_num", &E::step_number, kNumber},
    {"kernel_details", &E::kernel_details, kText},
    {"memcpy_details", &E::memcpy_details, kText},
    {"memset_details", &E::memset_details, kText},
    {"theoretical_occupancy_pct", &E::occupancy, kNumber},
    {"name", &E::op_name_end, kText},
    {"prefix", &E::op_name_prefix, kText},
    {"hlo_category", &E::category_text, kText},
    {"tf_op", &E::tf_op, kText},
    {"long_name", &E::long_name, kText},
    {"op", &E::op, kText},
    {"source", &E::source, kText},
    {"model_flops", &E::flops, kNumber},
    {"flops", &E::flops, kNumber},
    {"bytes_accessed", &E::bytes_accessed, kNumber},
};

const KeyTable& EventKeys() {
  static const KeyTable table(kEventKeys);
  return table;
}
const KeyTable& ArgumentKeys() {
  static const KeyTable table(kArgumentKeys);
  return table;
}

// The key as written; keys with escapes are none of ours.
std::string_view KeyText(json::field& field) {
  const char* const start = field.key().raw();
  const char* end = start;
  while (*end != '"') ++end;
  return {start, static_cast<size_t>(end - start)};
}

// Text of a number, or of a string that holds one.
std::string_view NumberText(json::value value) {
  std::string_view token = Trim(value.raw_json_token());
  if (token.size() >= 2 && token.front() == '"') {
    token.remove_prefix(1);
    const size_t quote = token.rfind('"');
    token = token.substr(0, quote);
  }
  return token;
}

// False when the event is no JSON.
bool Assign(const Key& key, json::value value, ChromeEvent& event) {
  switch (key.kind) {
    case Key::Kind::kNumber:
      event.*key.field = NumberText(value);
      return true;
    case Key::Kind::kText: {
      const std::string_view token = Trim(value.raw_json_token());
      if (token.empty() || token.front() != '"') {
        event.*key.field = token;
        return true;
      }
      if (token.size() >= 2 && token.back() == '"' && token.find('\\') == token.npos) {
        event.*key.field = token.substr(1, token.size() - 2);
        return true;
      }
      return value.get_string().get(event.*key.field) == simdjson::SUCCESS;
    }
    case Key::Kind::kArray: {
      json::array array;
      if (value.get_array().get(array) != simdjson::SUCCESS) return true;  // Not what we know.
      return array.raw_json().get(event.*key.field) == simdjson::SUCCESS;
    }
  }
  return true;
}

// Flow arrows and counters are skipped, so their other fields are not read. For a begin event ('B')
// the category decides whether its loss is reported.
bool IsSkipped(const ChromeEvent& event) {
  return event.phase != 'X' && event.phase != 'M' && event.phase != 'B' && event.phase != 0;
}

bool ParseArguments(json::value value, ChromeEvent& event) {
  json::object arguments;
  if (value.get_object().get(arguments) != simdjson::SUCCESS) return true;  // null, a number.
  for (auto result : arguments) {
    json::field field;
    if (std::move(result).get(field) != simdjson::SUCCESS) return false;
    const std::string_view name = KeyText(field);
    if (const Key* key = ArgumentKeys().Find(name)) {
      if (!Assign(*key, field.value(), event)) return false;
    }
  }
  if (event.phase == 'M') event.label = event.op_name_end;
  return true;
}

bool ParseEvent(json::object object, ChromeEvent& event) {
  for (auto result : object) {
    json::field field;
    if (std::move(result).get(field) != simdjson::SUCCESS) return false;
    const std::string_view name = KeyText(field);
    if (name == "ph") {
      const std::string_view token = NumberText(field.value());
      event.phase = token.empty() ? '\0' : token.front();
      if (IsSkipped(event)) return true;
    } else if (name == "args") {
      if (event.category == "python_function") continue;  // Most of a trace, and names no launch.
      if (!ParseArguments(field.value(), event)) return false;
    } else if (const Key* key = EventKeys().Find(name)) {
      if (!Assign(*key, field.value(), event)) return false;
    }
  }
  if (event.phase == 'M') event.label = event.op_name_end;
  return true;
}

}  // namespace

struct ChromeEventParser::State {
  json::parser parser;
  std::string single;

  // -1: stopped at an event that is no JSON (index in `*done`); else complete.
  bool ParseAll(std::string& slice, size_t skip, size_t* done,
                const std::function<void(const ChromeEvent&)>& each) {
    json::document document;
    *done = 0;
    slice.reserve(slice.size() + simdjson::SIMDJSON_PADDING);
    if (parser.iterate(slice.data(), slice.size(), slice.capacity()).get(document) !=
        simdjson::SUCCESS) {
      return false;
    }
    json::array events;
    if (document.get_array().get(events) != simdjson::SUCCESS) return false;
    for (auto result : events) {
      json::value value;
      if (std::move(result).get(value) != simdjson::SUCCESS) return false;
      ChromeEvent event;
      json::object object;
      const auto is_object = value.get_object().get(object);
      if (is_object == simdjson::INCORRECT_TYPE) {
        if (*done >= skip) each(event);
      } else if (is_object != simdjson::SUCCESS || !ParseEvent(object, event)) {
        return false;
      } else if (*done >= skip) {
        each(event);
      }
      ++*done;
    }
    return true;
  }
};

ChromeEventParser::ChromeEventParser() : state_(std::make_unique<State>()) {}
ChromeEventParser::~ChromeEventParser() = default;

size_t ChromeEventParser::Padding() { return simdjson::SIMDJSON_PADDING; }

namespace {

// End of the event that starts at `at` ("{...}" with strings), or npos.
size_t EndOfEvent(std::string_view text, size_t at) {
  int depth = 0;
  bool in_string = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') {
        ++at;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth <= 0) return at + 1;
    } else if (c == ',' && depth == 0) {
      return at;
    }
  }
  return at;
}

// The most frequent faults of writers: raw control characters and bytes that are not UTF-8.
void Repair(std::string& text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte >= 0x80) c = byte < ' ' ? ' ' : '?';
  }
}

}  // namespace

int64_t ChromeEventParser::Parse(std::string& slice,
                                 const std::function<void(const ChromeEvent&)>& each) {
  size_t given = 0;
  if (state_->ParseAll(slice, 0, &given, each)) return 0;
  // Something in it is no JSON: one event at a time, so that only what is damaged is lost.
  int64_t lost = 0;
  size_t index = 0;
  size_t at = 1;
  while (at < slice.size()) {
    while (at < slice.size() &&
           (slice[at] == ',' || static_cast<unsigned char>(slice[at]) <= ' ')) {
      ++at;
    }
    if (at >= slice.size() - 1) break;
    const size_t end = std::max(EndOfEvent(slice, at), at + 1);
    if (index++ >= given) {
      std::string& one = state_->single;
      one.assign("[").append(slice, at, end - at).append("]");
      size_t done = 0;
      if (!state_->ParseAll(one, 0, &done, each)) {
        Repair(one);
        if (done != 0 || !state_->ParseAll(one, 0, &done, each)) ++lost;
      }
    }
    at = end;
  }
  return lost;
}

std::optional<Moment> ParseMicroseconds(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  // The digits without the point, and the number of digits before the point.
  char digits[40];
  size_t count = 0;
  int whole = 0;
  bool point = false;
  bool any = false;
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      any = true;
      if (!point && (count > 0 || c != '0')) ++whole;
      if (point && count == 0 && c == '0') {
        --whole;  // 0.001: the first digit that counts is behind the point.
      } else if (count > 0 || c != '0') {
        if (count < sizeof(digits)) digits[count++] = c;
      }
    } else {
      break;
    }
  }
  if (!any) return std::nullopt;
  if (at < text.size()) {
    if (text[at] != 'e' && text[at] != 'E') return std::nullopt;
    ++at;
    if (at < text.size() && text[at] == '+') ++at;
    int exponent = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + at, end, exponent);
    if (error != std::errc() || rest != end || exponent < -1000 || exponent > 1000) {
      return std::nullopt;
    }
    whole += exponent;
  }
  if (count == 0) return Moment{};
  // Picoseconds: six more digits than the whole ones.
  const int wanted = whole + 6;
  if (wanted < 0) return Moment{};
  if (wanted > 18 + 6) return std::nullopt;
  const auto digit = [&](int i) -> unsigned {
    return i < static_cast<int>(count) ? static_cast<unsigned>(digits[i] - '0') : 0u;
  };
  unsigned __int128 ps = 0;
  for (int i = 0; i < wanted; ++i) ps = ps * 10 + digit(i);
  if (digit(wanted) >= 5) ++ps;
  const auto ns = static_cast<uint64_t>(ps / 1000);
  const auto rest = static_cast<int32_t>(ps % 1000);
  if (ps / 1000 > static_cast<unsigned __int128>(INT64_MAX)) return std::nullopt;
  if (!negative) return Moment{static_cast<int64_t>(ns), rest};
  // Floored, so that what is left over is never negative.
  return rest == 0 ? Moment{-static_cast<int64_t>(ns), 0}
                   : Moment{-static_cast<int64_t>(ns) - 1, 1000 - rest};
}

}  // namespace xlatrace::importers
