#include "hlo/text/attribute_syntax.h"

#include <initializer_list>
#include <unordered_map>

#include <fmt/format.h>

#include "hlo/text/sharding_syntax.h"
#include "hlo/text/text_shape.h"

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
       "slice_sizes",
       "start_index_map",
       "start_indices_batching_dims",
       "update_window_dims",
       "wait_on_operation_queues",
       "window_bounds"});
  Add(t, ValueForm::kIntLists, {"source_target_pairs"});
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
  Add(t, ValueForm::kBalanced, {"dim_labels", "literal", "sparsity"});
  Add(t, ValueForm::kBraces, {"domain", "origin", "original_value", "sparsity_config"});
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
  Add(t, ValueForm::kBraces,
      {"buffer_donor", "debug_attributes", "input_output_alias", "origin_recovery_table"});
  return t;
}

bool Unexpected(TextScanner& scanner, std::string_view wanted) {
  return scanner.FailHere(
      fmt::format("expected {}, found {}", wanted, scanner.TokenAt(scanner.position())));
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

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
  size_t size = 0;
  const auto is_part = [&] {
    const char c = scanner.Look(size);
    if (IsDigit(c) || c == '.' || c == 'e' || c == 'E') return true;
    return (c == '-' || c == '+') && size > 0 &&
           (scanner.Look(size - 1) == 'e' || scanner.Look(size - 1) == 'E');
  };
  while (is_part()) ++size;
  if (size == 0) return Unexpected(scanner, "a number");
  scanner.set_position(scanner.position() + size);
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

bool ScanInts(TextScanner& scanner) { return ScanList(scanner, ScanInt); }

// [start:limit:stride]
bool ScanSlice(TextScanner& scanner) {
  if (!scanner.Expect('[', "before a range") || !ScanInt(scanner)) return false;
  int more = 0;
  while (more < 2 && scanner.TryChar(':')) {
    if (!ScanInt(scanner)) return false;
    ++more;
  }
  if (more == 0) return Unexpected(scanner, "':' in a range");
  return scanner.Expect(']', "after a range");
}

// 3x3; `per_dimension` says how one dimension reads. Tells how many there were.
template <typename Dimension>
bool ScanDimensions(TextScanner& scanner, Dimension per_dimension, int* count) {
  *count = 0;
  do {
    if (!per_dimension(scanner)) return false;
    ++*count;
    // No blank may come before the 'x'.
  } while (scanner.Look() == 'x' && scanner.TryChar('x'));
  return true;
}

// low_high, with interior padding low_high_interior.
bool ScanPad(TextScanner& scanner) {
  if (!ScanInt(scanner)) return false;
  int more = 0;
  while (more < 2 && scanner.Look() == '_') {
    scanner.TryChar('_');
    if (!ScanInt(scanner)) return false;
    ++more;
  }
  return more > 0 || Unexpected(scanner, "'_' in padding");
}

bool ScanPadding(TextScanner& scanner) {
  int count = 0;
  return ScanDimensions(scanner, ScanPad, &count);
}

bool ScanWindow(TextScanner& scanner) {
  if (!scanner.Expect('{', "before a window")) return false;
  int rank = 0;
  while (!scanner.TryChar('}')) {
    scanner.Peek();
    const char* const start = scanner.position();
    const std::string_view key = scanner.Identifier();
    if (key != "size" && key != "stride" && key != "pad" && key != "lhs_dilate" &&
        key != "rhs_dilate" && key != "rhs_reversal") {
      return scanner.Fail(
          start, fmt::format("expected an item of a window, found {}", scanner.TokenAt(start)));
    }
    if (!scanner.Expect('=', "in a window")) return false;
    int count = 0;
    if (key == "pad" ? !ScanDimensions(scanner, ScanPad, &count)
                     : !ScanDimensions(scanner, ScanInt, &count)) {
      return false;
    }
    if (rank != 0 && count != rank) {
      return scanner.Fail(
          start, fmt::format("{} of a window has {} dimensions, others {}", key, count, rank));
    }
    rank = count;
  }
  return true;
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

bool ScanStatistics(TextScanner& scanner) {
  return ScanList(scanner, [](TextScanner& s) {
    return ScanWord(s) && s.Expect('=', "in statistics") && ScanNumber(s);
  });
}

bool ScanAccuracy(TextScanner& scanner) {
  if (!scanner.Expect('{', "before a result accuracy")) return false;
  const char* const start = scanner.position();
  if (scanner.TryWord("tolerance")) {
    if (!scanner.Expect('=', "in a result accuracy") || !ScanStatistics(scanner)) return false;
  } else if (scanner.TryWord("mode")) {
    if (!scanner.Expect('=', "in a result accuracy")) return false;
    if (!scanner.TryWord("highest") && !scanner.TryWord("default")) {
      return Unexpected(scanner, "highest or default");
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

// {0}: (1, {}, ...)
bool ScanAlias(TextScanner& scanner) {
  return ScanInts(scanner) && scanner.Expect(':', "in an alias") &&
         scanner.Expect('(', "in an alias") && ScanInt(scanner) &&
         scanner.Expect(',', "in an alias") && ScanInts(scanner) &&
         scanner.Expect(')', "after an alias");
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
    case ValueForm::kSlices:
      return ScanList(scanner, ScanSlice);
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
      return ScanList(scanner, ScanAlias);
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
