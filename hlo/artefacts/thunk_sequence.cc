// SPDX-License-Identifier: Apache-2.0
#include "hlo/artefacts/thunk_sequence.h"

#include <charconv>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "hlo/artefacts/thunk_metadata_proto.h"
#include "hlo/text/text_scanner.h"

namespace xlatrace::hlo {
namespace {

using model::Thunk;

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

template <typename Int>
bool TakeInt(std::string_view& text, Int* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

// The text after `key` in `text`; data() == nullptr if `text` does not contain it.
std::string_view After(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + key.size());
}

// "128, 1, 1}" -> out; untouched unless there are three numbers.
void ReadTriple(std::string_view text, int64_t (&out)[3]) {
  int64_t value[3] = {};
  for (int i = 0; i < 3; ++i) {
    if (i > 0) {
      if (text.substr(0, 1) != ",") return;
      text.remove_prefix(1);
      text = Trim(text);
    }
    if (!TakeInt(text, &value[i])) return;
  }
  std::copy(value, value + 3, out);
}

// Up to the ',' that ends a "key=value" item.
std::string ItemValue(std::string_view text) {
  return std::string(Trim(text.substr(0, text.find(','))));
}

// Reads the part of a line after the kind, in any of the formats.
void ReadDetail(std::string_view detail, Thunk& thunk) {
  for (const std::string_view key : {"kernel = ", "kernel="}) {
    const std::string_view value = After(detail, key);
    if (value.data() == nullptr) continue;
    thunk.kernel = ItemValue(value);
    break;
  }
  if (const auto value = After(detail, "profile_annotation="); value.data() != nullptr) {
    thunk.instruction = ItemValue(value);
  }
  ReadTriple(After(detail, "blocks: {"), thunk.grid);
  ReadTriple(After(detail, "threads/block: {"), thunk.block);
  // A custom kernel: NAME grid: [x, y, z] threads: [x, y, z] <cluster> shared_memory: N bytes
  if (const size_t grid = detail.find(" grid: ["); grid != std::string_view::npos) {
    if (thunk.kernel.empty()) thunk.kernel = std::string(Trim(detail.substr(0, grid)));
    ReadTriple(After(detail, "grid: ["), thunk.grid);
    ReadTriple(After(detail, "threads: ["), thunk.block);
    std::string_view shared = After(detail, "shared_memory: ");
    int64_t bytes = 0;
    if (TakeInt(shared, &bytes) && bytes >= 0) thunk.shared_memory_bytes = bytes;
  }
}

// thunk_schedule: the detail is an HLO instruction, "%fusion.3 = f32[8]{0} fusion(...)".
void ReadInstructionText(std::string_view text, Thunk& thunk) {
  const size_t equals = text.find(" = ");
  if (equals == std::string_view::npos) return;  // "(no HloInstruction)"
  std::string_view name = Trim(text.substr(0, equals));
  if (name.substr(0, 5) == "ROOT ") name.remove_prefix(5);
  if (name.substr(0, 1) == "%") name.remove_prefix(1);
  thunk.instruction = std::string(name);
  // In 2021 the symbol is appended to the instruction: " ,kernel = NAME".
  const size_t kernel = text.rfind(",kernel = ");
  if (kernel != std::string_view::npos) {
    thunk.kernel = std::string(Trim(text.substr(kernel + 10)));
  }
}

// Turns columns of indentation into depth: blocks are indented by 2 or by 4.
class Depth {
 public:
  int32_t Of(size_t indent) {
    while (!open_.empty() && open_.back() >= indent) open_.pop_back();
    open_.push_back(indent);
    return static_cast<int32_t>(open_.size() - 1);
  }

 private:
  std::vector<size_t> open_;
};

// INDENT (ID ':')? KIND REST. False when the line is no thunk ("body:", blank lines).
bool ReadLine(std::string_view line, Depth& depth, Thunk& thunk) {
  size_t indent = line.find_first_not_of(' ');
  if (indent == std::string_view::npos) return false;
  std::string_view rest = line.substr(indent);
  if (IsDigit(rest[0])) {
    if (!TakeInt(rest, &thunk.id) || rest.substr(0, 1) != ":") return false;
    rest = rest.substr(1);
    const size_t kind = rest.find_first_not_of(' ');
    if (kind == std::string_view::npos) return false;
    rest = rest.substr(kind);
  }
  if (rest.size() < 2 || rest[0] != 'k' || !IsUpper(rest[1])) return false;
  const size_t end = rest.find_first_of(" \t\r,[");
  thunk.kind = std::string(rest.substr(0, end));
  thunk.depth = depth.Of(indent);
  rest = end == std::string_view::npos ? std::string_view() : Trim(rest.substr(end));
  if (rest.substr(0, 1) == "[") {  // [prev=001 (1) | next=055 (53) ]
    const size_t close = rest.find(']');
    rest = close == std::string_view::npos ? std::string_view() : Trim(rest.substr(close + 1));
  }
  ReadDetail(rest, thunk);
  return true;
}

// "Total order:" KIND TAB INSTRUCTION ... "Dependencies:"
void ReadSchedule(std::string_view text, std::vector<Thunk>& thunks) {
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    text = newline == std::string_view::npos ? std::string_view() : text.substr(newline + 1);
    if (line.substr(0, 13) == "Dependencies:") return;
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos) continue;
    Thunk& thunk = thunks.emplace_back();
    thunk.kind = std::string(Trim(line.substr(0, tab)));
    ReadInstructionText(line.substr(tab + 1), thunk);
  }
}

// A sequential thunk prints its first nested thunk after itself, on its own line:
// "011: kSequential [prev=008 (1) | next=014 (1)]   009: kCopy ...". Returns the rest of the line,
// with its indentation; empty if there is none.
std::string_view HeldOnTheSameLine(std::string_view line) {
  const size_t close = line.find("] ");
  if (close == std::string_view::npos) return {};
  const std::string_view rest = line.substr(close + 2);
  // Blanks in front only: a long line would be searched for its end once for each thunk it holds.
  std::string_view thunk = rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
  int64_t id = 0;
  if (thunk.empty() || !IsDigit(thunk[0]) || !TakeInt(thunk, &id) || !thunk.starts_with(": k")) {
    return {};
  }
  return rest;
}

void ReadSequence(std::string_view text, std::vector<Thunk>& thunks) {
  Depth depth;
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    for (std::string_view part = line; !part.empty();) {
      const std::string_view held = HeldOnTheSameLine(part);
      Thunk thunk;
      const std::string_view own = part.substr(0, part.size() - held.size());
      if (ReadLine(own, depth, thunk)) thunks.push_back(std::move(thunk));
      part = held;
    }
    text = newline == std::string_view::npos ? std::string_view() : text.substr(newline + 1);
  }
}

// The few fields of ThunkMetadataListProto (xla/backends/gpu/runtime/thunk.proto) in text format.
class MetadataReader {
 public:
  explicit MetadataReader(std::string_view text) : scan_(text) {}

  // id -> instruction.
  Result<std::unordered_map<int64_t, std::string>> Read() {
    std::unordered_map<int64_t, std::string> instructions;
    while (!scan_.AtEnd()) {
      Entry entry;
      const std::string_view field = scan_.Identifier();
      if (field.empty()) {
        scan_.FailHere(
            fmt::format("expected thunk_metadata, found {}", scan_.TokenAt(scan_.position())));
        break;
      }
      scan_.TryChar(':');
      if (scan_.Peek() != '{') {  // A scalar of a list that has grown.
        std::string_view value;
        if (!scan_.Value(&value)) break;
        continue;
      }
      if (!ReadMessage(entry, 0)) break;
      if (!entry.instruction.empty()) instructions.try_emplace(entry.id, entry.instruction);
    }
    if (scan_.failed()) return tl::unexpected<Error>(scan_.error());
    return instructions;
  }

 private:
  struct Entry {
    int64_t id = 0;  // proto3's default is not printed.
    std::string instruction;
  };

  bool ReadMessage(Entry& entry, int depth) {
    constexpr int kMaxDepth = 20;
    if (depth > kMaxDepth) return scan_.FailHere("messages nest too deep");
    if (!scan_.Expect('{', "before a message")) return false;
    while (!scan_.TryChar('}')) {
      const std::string_view field = scan_.Identifier();
      if (field.empty()) {
        return scan_.FailHere(
            fmt::format("expected a field, found {}", scan_.TokenAt(scan_.position())));
      }
      const bool colon = scan_.TryChar(':');
      if (scan_.Peek() == '{') {
        if (!ReadMessage(entry, depth + 1)) return false;
        continue;
      }
      if (!colon) return scan_.FailHere("expected ':' after a field");
      if (field == "profile_annotation") {
        std::string_view raw;
        if (!scan_.String(&raw)) return false;
        entry.instruction = Unescape(raw);
      } else if (field == "thunk_id") {
        if (!scan_.Int(&entry.id, "a thunk id")) return false;
      } else {
        std::string_view value;
        if (!(scan_.Peek() == '\'' ? scan_.String(&value) : scan_.Value(&value))) return false;
      }
      scan_.TryChar(',');
      scan_.TryChar(';');
    }
    return true;
  }

  TextScanner scan_;
};

}  // namespace

Result<std::vector<Thunk>> ReadThunks(std::string_view sequence, std::string_view metadata) {
  std::vector<Thunk> thunks;
  constexpr std::string_view kSchedule = "Total order:";
  const size_t start = sequence.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return thunks;
  if (sequence.substr(start, kSchedule.size()) == kSchedule) {
    ReadSchedule(sequence.substr(start), thunks);
  } else {
    ReadSequence(sequence, thunks);
  }
  if (thunks.empty()) {
    return MakeError("no thunk in it: not a thunk_sequence of XLA's dump");
  }
  auto instructions = ReadThunkMetadataProto(metadata);
  if (!instructions) {
    auto read = MetadataReader(metadata).Read();
    if (!read) return Wrap("thunk metadata", std::move(read).error());
    instructions = std::move(*read);
  }
  for (Thunk& thunk : thunks) {
    const auto it = instructions->find(thunk.id);
    if (it != instructions->end()) thunk.instruction = it->second;
  }
  return thunks;
}

}  // namespace xlatrace::hlo
