// SPDX-License-Identifier: Apache-2.0
#include "hlo/text/attribute_syntax.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <system_error>
#include <unordered_map>

#include <fmt/format.h>

#include "base/text.h"
#include "hlo/text/module_attribute_syntax.h"
#include "hlo/text/sharding_syntax.h"
#include "hlo/text/text_literal.h"
#include "hlo/text/text_shape.h"
#include "hlo/text/window_syntax.h"

namespace xlatrace::hlo {
namespace {

using Table = std::unordered_map<std::string_view, ValueForm>;

void Add(Table& table, ValueForm form, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) table.emplace(name, form);
}

Table InstructionTable() {
  Table t;
  Add(t, ValueForm::kBool,
      {"constrain_layout", "custom_call_has_side_effect", "has_dynamic_root", "has_side_effect",
       "indices_are_sorted", "is_associative", "is_composite", "is_cross_program_prefetch",
       "is_host_transfer", "is_reverse", "is_stable", "largest", "left_side", "lower",
       "preserve_layout", "unique_indices", "unit_diagonal", "use_atomic",
       "use_global_device_ids"});
  Add(t, ValueForm::kInt,
      {"all_reduce_id", "async_group_id", "batch_group_count", "channel_id", "cost_estimate_ns",
       "cross_program_prefetch_index", "delta", "exponent_bits", "feature_group_count",
       "feature_index", "index", "index_vector_dim", "inferred_dimension", "iota_dimension", "k",
       "mantissa_bits", "num_carries", "operation_queue_id"});
  Add(t, ValueForm::kNumber, {"epsilon"});
  Add(t, ValueForm::kWord,
      {"algorithm", "api_version", "comparison_direction", "conv_kind", "convolution_kind",
       "direction", "distribution", "fft_type", "kind", "mode", "padding_type", "schedule",
       "transpose_a", "type"});
  Add(t, ValueForm::kString,
      {"async_execution_thread", "async_thread_name", "barrier", "channel_name", "infeed_config",
       "opaque", "outfeed_config"});
  Add(t, ValueForm::kInts,
      {"broadcast_sizes",
       "collapsed_slice_dims",
       "dimensions",
       "dynamic_slice_sizes",
       "elided_window_dims",
       "fft_length",
       "gather_dims_to_operand_dims",
       "input_batching_dims",
       "inserted_window_dims",
       "lhs_batch_dims",
       "lhs_contracting_dims",
       "lhs_ragged_dims",
       "offset_dims",
       "operand_batching_dims",
       "outer_dimension_partitions",
       "output_window_dims",
       "replica_group_ids",
       "rhs_batch_dims",
       "rhs_contracting_dims",
       "rhs_group_dims",
       "scatter_dims_to_operand_dims",
       "scatter_indices_batching_dims",
       "start_index_map",
       "start_indices_batching_dims",
       "update_window_dims",
       "wait_on_operation_queues",
       "window_bounds"});
  Add(t, ValueForm::kIntLists, {"source_target_pairs"});
  Add(t, ValueForm::kIntsOrLists, {"slice_sizes"});
  Add(t, ValueForm::kBools, {"parameter_replication"});
  Add(t, ValueForm::kWords, {"operand_precision"});
  Add(t, ValueForm::kSlices, {"slice"});
  Add(t, ValueForm::kWindow, {"window"});
  Add(t, ValueForm::kPadding, {"padding"});
  Add(t, ValueForm::kGroups, {"replica_groups"});
  Add(t, ValueForm::kSharding, {"sharding"});
  Add(t, ValueForm::kDictionary, {"frontend_attributes"});
  Add(t, ValueForm::kShapes, {"operand_layout_constraints"});
  Add(t, ValueForm::kShape, {"outfeed_shape"});
  Add(t, ValueForm::kAliasing, {"output_to_operand_aliasing"});
  Add(t, ValueForm::kDimLabels, {"dim_labels"});
  Add(t, ValueForm::kLiteral, {"literal"});
  Add(t, ValueForm::kDomain, {"domain"});
  Add(t, ValueForm::kOriginalValue, {"origin"});
  Add(t, ValueForm::kBalanced, {"sparsity"});
  Add(t, ValueForm::kBraces, {"original_value", "sparsity_config"});
  Add(t, ValueForm::kStatistics, {"statistics"});
  Add(t, ValueForm::kAccuracy, {"result_accuracy"});
  return t;
}

Table ModuleTable() {
  Table t;
  Add(t, ValueForm::kBool, {"is_scheduled", "alias_passthrough_params", "is_dynamic"});
  Add(t, ValueForm::kInt, {"num_partitions", "num_replicas", "replica_count"});
  Add(t, ValueForm::kBoolOrBools,
      {"allow_spmd_sharding_propagation_to_output",
       "allow_spmd_sharding_propagation_to_parameters"});
  Add(t, ValueForm::kDictionary, {"frontend_attributes"});
  Add(t, ValueForm::kEntryLayout, {"entry_computation_layout"});
  Add(t, ValueForm::kBufferDonors, {"buffer_donor"});
  Add(t, ValueForm::kRecoveryTable, {"origin_recovery_table"});
  Add(t, ValueForm::kDebugAttributes, {"debug_attributes"});
  Add(t, ValueForm::kBraces, {"input_output_alias"});
  return t;
}

bool Unexpected(TextScanner& scanner, std::string_view wanted) {
  return scanner.FailHere(
      fmt::format("expected {}, found {}", wanted, scanner.TokenAt(scanner.position())));
}

bool ScanBool(TextScanner& scanner) {
  return scanner.TryWord("true") || scanner.TryWord("false") ||
         Unexpected(scanner, "true or false");
}

bool ScanInt(TextScanner& scanner) {
  int64_t number = 0;
  return scanner.Int(&number, "a number");
}

bool ScanWord(TextScanner& scanner) {
  return !scanner.Identifier().empty() || Unexpected(scanner, "a word");
}

bool ScanNumber(TextScanner& scanner) {
  scanner.TryChar('-');
  if (scanner.TryWord("inf") || scanner.TryWord("nan")) return true;
  double number = 0;
  const std::string_view rest = scanner.Rest();
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error == std::errc::invalid_argument || rest.starts_with('-')) {
    return Unexpected(scanner, "a number");
  }
  scanner.set_position(end);
  return true;
}

// { ELEMENT, ELEMENT }
template <typename Element>
bool ScanList(TextScanner& scanner, Element element) {
  if (!scanner.Expect('{', "before a list")) return false;
  if (scanner.TryChar('}')) return true;
  do {
    if (!element(scanner)) return false;
  } while (scanner.TryChar(','));
  return scanner.Expect('}', "after a list");
}

bool IsListEnd(char c) { return c == ',' || c == '}'; }

bool ScanInts(TextScanner& scanner) { return ScanList(scanner, ScanInt); }

// Form for a gather: {1,2}. For an in-place collective permute: {{1},{2}}.
bool ScanIntsOrLists(TextScanner& scanner) {
  const char* const start = scanner.position();
  const bool lists = scanner.TryChar('{') && scanner.Peek() == '{';
  if (!scanner.failed()) scanner.set_position(start);
  return lists ? ScanList(scanner, ScanInts) : ScanInts(scanner);
}

// {key="text",key=word,key={...}}
bool ScanDictionary(TextScanner& scanner) {
  return ScanList(scanner, [](TextScanner& s) {
    std::string_view raw;
    const char quote = s.Peek();
    if (quote == '"' ? !s.String(&raw) : s.Identifier().empty()) return Unexpected(s, "a key");
    if (!s.Expect('=', "after a key")) return false;
    switch (s.Peek()) {
      case '"':
      case '\'':
        return s.String(&raw);
      case '{':
        return s.Balanced(&raw);
      default:
        return IsDigit(s.Look()) ? ScanNumber(s) : ScanWord(s);
    }
  });
}

// The first is the number of the one to show.
bool ScanStatistics(TextScanner& scanner) {
  bool first = true;
  return ScanList(scanner, [&first](TextScanner& s) {
    if (!ScanWord(s) || !s.Expect('=', "in statistics")) return false;
    const bool is_index = first;
    first = false;
    if (!is_index) return ScanNumber(s);
    return ScanInt(s) && (IsListEnd(s.Peek()) || Unexpected(s, "',' or '}' in statistics"));
  });
}

bool IsWordOfAnyCase(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

// {rtol=0.5, atol=1.0, ulps=2}
bool ScanTolerance(TextScanner& scanner) {
  return ScanList(scanner, [](TextScanner& s) {
    s.Peek();
    const char* const where = s.position();
    const std::string_view key = s.Identifier();
    if (key != "ulps" && key != "rtol" && key != "atol") {
      return s.Fail(where, fmt::format("expected ulps, rtol or atol, found {}", s.TokenAt(where)));
    }
    return s.Expect('=', "in a tolerance") && ScanNumber(s);
  });
}

bool ScanAccuracy(TextScanner& scanner) {
  if (!scanner.Expect('{', "before a result accuracy")) return false;
  const char* const start = scanner.position();
  if (scanner.TryWord("tolerance")) {
    if (!scanner.Expect('=', "in a result accuracy") || !ScanTolerance(scanner)) return false;
  } else if (scanner.TryWord("mode")) {
    if (!scanner.Expect('=', "in a result accuracy")) return false;
    scanner.Peek();
    const char* const where = scanner.position();
    const std::string_view mode = scanner.Identifier();
    if (!IsWordOfAnyCase(mode, "highest") && !IsWordOfAnyCase(mode, "default")) {
      return scanner.Fail(
          where, fmt::format("expected highest or default, found {}", scanner.TokenAt(where)));
    }
  } else {
    return scanner.Fail(start, "expected mode or tolerance in a result accuracy");
  }
  return scanner.Expect('}', "after a result accuracy");
}

bool ScanMetadata(TextScanner& scanner) {
  if (!scanner.Expect('{', "before metadata")) return false;
  while (!scanner.TryChar('}')) {
    if (!ScanWord(scanner) || !scanner.Expect('=', "in metadata")) return false;
    std::string_view raw;
    const char c = scanner.Peek();
    if (c == '"' || c == '\'') {
      if (!scanner.String(&raw)) return false;
    } else if (c == '{') {
      if (!scanner.Balanced(&raw)) return false;
    } else if (!scanner.TryWord("true") && !scanner.TryWord("false") && !ScanInt(scanner)) {
      return false;
    }
    scanner.TryChar(',');
  }
  return true;
}

bool ScanOneShape(TextScanner& scanner) {
  std::string_view raw;
  return ScanShape(scanner, &raw);
}

// {0}: (1, {})
bool ScanAlias(TextScanner& scanner) {
  return ScanShapeIndex(scanner) && scanner.Expect(':', "in an alias") &&
         scanner.Expect('(', "in an alias") && ScanInt(scanner) &&
         scanner.Expect(',', "in an alias") && ScanShapeIndex(scanner) &&
         scanner.Expect(')', "after an alias");
}

// { ALIAS, ... }; a comma may follow the last one.
bool ScanAliases(TextScanner& scanner) {
  if (!scanner.Expect('{', "before aliases")) return false;
  while (scanner.Peek() != '}') {
    if (!ScanAlias(scanner)) return false;
    if (!scanner.TryChar(',')) break;
  }
  return scanner.Expect('}', "after aliases");
}

// {kind="sharding", entry={...}, exit={...}}: each once, in any order.
bool ScanDomain(TextScanner& scanner) {
  if (!scanner.Expect('{', "before a domain")) return false;
  const char* const start = scanner.position();
  int seen = 0;
  while (!scanner.TryChar('}')) {
    scanner.TryChar(',');
    scanner.Peek();
    const char* const where = scanner.position();
    const std::string_view key = scanner.Identifier();
    const int bit = key == "kind" ? 1 : key == "entry" ? 2 : key == "exit" ? 4 : 0;
    if (bit == 0 || (seen & bit) != 0) {
      return scanner.Fail(where, fmt::format("expected kind, entry and exit of a domain, found {}",
                                             scanner.TokenAt(where)));
    }
    seen |= bit;
    if (!scanner.Expect('=', "in a domain")) return false;
    if (bit != 1) {
      if (!ScanSharding(scanner)) return false;
      continue;
    }
    std::string_view kind;
    if (!scanner.String(&kind)) return false;
    if (kind != "sharding") return scanner.Fail(where, "a domain of unknown kind");
  }
  return seen == 7 || scanner.Fail(start, "a domain needs kind, entry and exit");
}

// {(SHAPE, SHAPE)->SHAPE}
bool ScanEntryLayout(TextScanner& scanner) {
  if (!scanner.Expect('{', "before a program layout") ||
      !scanner.Expect('(', "in a program layout")) {
    return false;
  }
  if (!scanner.TryChar(')')) {
    do {
      if (!ScanOneShape(scanner)) return false;
    } while (scanner.TryChar(','));
    if (!scanner.Expect(')', "after the parameters of a program layout")) return false;
  }
  return scanner.ExpectText("->", "in a program layout") && ScanOneShape(scanner) &&
         scanner.Expect('}', "after a program layout");
}

bool Scan(TextScanner& scanner, ValueForm form) {
  std::string_view raw;
  switch (form) {
    case ValueForm::kUnknown:
    case ValueForm::kBalanced:
      return scanner.Value(&raw);
    case ValueForm::kBool:
      return ScanBool(scanner);
    case ValueForm::kInt:
      return scanner.TryWord("_") || ScanInt(scanner);
    case ValueForm::kNumber:
      return ScanNumber(scanner);
    case ValueForm::kWord:
      return ScanWord(scanner);
    case ValueForm::kString:
      return scanner.String(&raw);
    case ValueForm::kInts:
      return ScanInts(scanner);
    case ValueForm::kIntLists:
      return ScanList(scanner, ScanInts);
    case ValueForm::kBools:
      return ScanList(scanner, ScanBool);
    case ValueForm::kWords:
      return ScanList(scanner, ScanWord);
    case ValueForm::kIntsOrLists:
      return ScanIntsOrLists(scanner);
    case ValueForm::kSlices:
      return ScanSlices(scanner);
    case ValueForm::kDimLabels:
      return ScanDimLabels(scanner);
    case ValueForm::kLiteral:
      return ScanTypedLiteral(scanner);
    case ValueForm::kDomain:
      return ScanDomain(scanner);
    case ValueForm::kOriginalValue:
      return ScanOriginalValue(scanner);
    case ValueForm::kBufferDonors:
      return ScanBufferDonors(scanner);
    case ValueForm::kRecoveryTable:
      return ScanRecoveryTable(scanner);
    case ValueForm::kDebugAttributes:
      return ScanDebugAttributes(scanner);
    case ValueForm::kWindow:
      return ScanWindow(scanner);
    case ValueForm::kPadding:
      return ScanPadding(scanner);
    case ValueForm::kGroups:
      return ScanReplicaGroups(scanner);
    case ValueForm::kSharding:
      return ScanSharding(scanner);
    case ValueForm::kDictionary:
      return ScanDictionary(scanner);
    case ValueForm::kShapes:
      return ScanList(scanner, ScanOneShape);
    case ValueForm::kShape:
      return ScanOneShape(scanner);
    case ValueForm::kAliasing:
      return ScanAliases(scanner);
    case ValueForm::kBoolOrBools:
      return scanner.Peek() == '{' ? ScanList(scanner, ScanBool) : ScanBool(scanner);
    case ValueForm::kEntryLayout:
      return ScanEntryLayout(scanner);
    case ValueForm::kBraces:
      return scanner.Peek() == '{' ? scanner.Balanced(&raw) : Unexpected(scanner, "'{'");
    case ValueForm::kStatistics:
      return ScanStatistics(scanner);
    case ValueForm::kAccuracy:
      return ScanAccuracy(scanner);
    case ValueForm::kMetadata:
      return ScanMetadata(scanner);
  }
  return false;
}

ValueForm FormIn(const Table& table, std::string_view name) {
  const auto it = table.find(name);
  return it == table.end() ? ValueForm::kUnknown : it->second;
}

}  // namespace

ValueForm InstructionAttributeForm(std::string_view name) {
  static const Table& table = *new Table(InstructionTable());
  return FormIn(table, name);
}

ValueForm ModuleAttributeForm(std::string_view name) {
  static const Table& table = *new Table(ModuleTable());
  return FormIn(table, name);
}

bool ScanValue(TextScanner& scanner, ValueForm form, std::string_view* raw) {
  scanner.Peek();
  const char* const start = scanner.position();
  if (!Scan(scanner, form) || scanner.failed()) return false;
  *raw = scanner.Since(start);
  return true;
}

}  // namespace xlatrace::hlo
