// SPDX-License-Identifier: Apache-2.0
#include "hlo/text/sharding_syntax.h"

#include <fmt/format.h>

#include "base/text.h"
#include "hlo/text/attribute_syntax.h"
#include "hlo/text/text_shape.h"

namespace xlatrace::hlo {
namespace {

bool UnexpectedToken(TextScanner& scanner, std::string_view wanted) {
  return scanner.FailHere(
      fmt::format("expected {}, found {}", wanted, scanner.TokenAt(scanner.position())));
}

// open INT , INT close; may be empty only where `may_be_empty`.
bool ScanInts(TextScanner& scanner, char open, char close, std::string_view where) {
  if (!scanner.Expect(open, where)) return false;
  do {
    const char* const start = (scanner.Peek(), scanner.position());
    int64_t number = 0;
    if (!scanner.Int(&number, "a number")) return false;
    if (number < 0) return scanner.Fail(start, fmt::format("a size of {} {}", number, where));
  } while (scanner.TryChar(','));
  return scanner.Expect(close, where);
}

// [8], [2,4]T(1,0): numbers in order, reshaped and transposed.
bool ScanReshapedIota(TextScanner& scanner) {
  int64_t dims = 0;
  do {
    int64_t number = 0;
    if (dims == 0 ? !scanner.Expect('[', "in a list of devices") : false) return false;
    if (!scanner.Int(&number, "a number")) return false;
    ++dims;
  } while (scanner.TryChar(','));
  if (!scanner.Expect(']', "in a list of devices")) return false;
  if (dims == 1 && scanner.Peek() != 'T') return true;
  if (!scanner.ExpectText("T(", "behind the dimensions of a list of devices")) return false;
  const char* const start = scanner.position();
  int64_t places = 0;
  do {
    const char* const where = scanner.position();
    int64_t place = 0;
    if (!scanner.Int(&place, "a dimension")) return false;
    ++places;
    if (place < 0 || place >= dims) {
      return scanner.Fail(where,
                          fmt::format("dimension {} of {} in a list of devices", place, dims));
    }
  } while (scanner.TryChar(','));
  if (places != dims) {
    return scanner.Fail(
        start, fmt::format("{} places for the {} dimensions of a list of devices", places, dims));
  }
  return scanner.Expect(')', "in a transposed list of devices");
}

// <=[8], <=[2,4]T(1,0)
bool ScanIota(TextScanner& scanner) {
  return scanner.ExpectText("<=", "in a list of devices") && ScanReshapedIota(scanner);
}

// [2,1,4]0,1,2,3 or [2,4]<=[8]
bool ScanTiles(TextScanner& scanner) {
  if (!ScanInts(scanner, '[', ']', "around the tiles of a sharding")) return false;
  if (scanner.Peek() == '<') return ScanIota(scanner);
  do {
    int64_t device = 0;
    if (!scanner.Int(&device, "a device number")) return false;
  } while (scanner.TryChar(','));
  return true;
}

// 'x', "x" or x; then :(pre-size)size of a part of it.
bool ScanAxis(TextScanner& scanner) {
  const char c = scanner.Peek();
  std::string_view name;
  if (c == '\'' || c == '"' ? !scanner.String(&name) : scanner.Identifier().empty()) {
    return UnexpectedToken(scanner, "the name of a mesh axis");
  }
  if (!scanner.TryChar(':')) return !scanner.failed();
  int64_t size = 0;
  return scanner.Expect('(', "in a part of a mesh axis") && scanner.Int(&size, "a size") &&
         scanner.Expect(')', "in a part of a mesh axis") && scanner.Int(&size, "a size");
}

// {'x', 'y':(1)2, ?}
bool ScanAxes(TextScanner& scanner) {
  if (!scanner.Expect('{', "before mesh axes")) return false;
  if (scanner.TryChar('}')) return true;
  do {
    if (!scanner.TryChar('?') && !ScanAxis(scanner)) return false;
  } while (scanner.TryChar(','));
  return scanner.Expect('}', "after mesh axes");
}

// mesh['x'=2,'y'=4], mesh[], maximal_mesh[device_id=0]; at the bracket.
bool ScanMesh(TextScanner& scanner) {
  if (!scanner.Expect('[', "after 'mesh'")) return false;
  if (scanner.TryChar(']')) return true;
  do {
    int64_t size = 0;
    if (!ScanAxis(scanner) || !scanner.Expect('=', "after the name of a mesh axis") ||
        !scanner.Int(&size, "the size of a mesh axis")) {
      return false;
    }
  } while (scanner.TryChar(','));
  return scanner.Expect(']', "after a mesh");
}

// device_ids=([4,2]T(1,0)) or (0,2,1,3); at the parenthesis.
bool ScanDeviceIds(TextScanner& scanner) {
  if (!scanner.Expect('(', "before device ids")) return false;
  if (scanner.Peek() == '[') {
    return ScanReshapedIota(scanner) && scanner.Expect(')', "after device ids");
  }
  do {
    int64_t device = 0;
    if (!scanner.Int(&device, "a device id")) return false;
  } while (scanner.TryChar(','));
  return scanner.Expect(')', "after device ids");
}

// [{'x'}, {}]
bool ScanDimensionAxes(TextScanner& scanner) {
  scanner.TryChar('[');
  if (scanner.TryChar(']')) return true;
  do {
    if (!ScanAxes(scanner)) return false;
  } while (scanner.TryChar(','));
  return scanner.Expect(']', "after the axes of dimensions");
}

// {op_name="a"} or {{op_name="a"}, {op_name="b"}}
bool ScanMetadataList(TextScanner& scanner) {
  std::string_view raw;
  const char* const start = scanner.position();
  const bool is_list = scanner.TryChar('{') && scanner.Peek() == '{';
  if (!is_list) {
    if (!scanner.failed()) scanner.set_position(start);
    return ScanValue(scanner, ValueForm::kMetadata, &raw);
  }
  do {
    if (!ScanValue(scanner, ValueForm::kMetadata, &raw)) return false;
  } while (scanner.TryChar(','));
  return scanner.Expect('}', "after a list of metadata");
}

// {manual, replicated}
bool ScanTypes(TextScanner& scanner) {
  if (!scanner.Expect('{', "before sharding types")) return false;
  if (scanner.TryChar('}')) return true;
  do {
    if (!scanner.TryWord("manual") && !scanner.TryWord("replicated") &&
        !scanner.TryWord("unreduced")) {
      return UnexpectedToken(scanner, "a sharding type");
    }
  } while (scanner.TryChar(','));
  return scanner.Expect('}', "after sharding types");
}

bool ScanNamed(TextScanner& scanner);

// Properties that the words of a sharding set.
struct SingleSharding {
  bool whole = false;    // replicated, manual, unknown, unreduced
  bool maximal = false;  // All of it on one device.
  bool device = false;
  bool devices = false;
};

// One word of a tiled sharding and its value.
bool ScanItem(TextScanner& scanner, SingleSharding& sharding) {
  scanner.Peek();
  const char* const start = scanner.position();
  int64_t number = 0;
  if (StartsShape(scanner)) {  // 2018: the shape of a tile.
    std::string_view shape;
    return ScanShape(scanner, &shape);
  }
  const std::string_view word = scanner.Identifier();
  if (word == "last_tile_dim_replicate") return true;
  if (word == "maximal") return sharding.maximal = true;
  if (word == "replicated" || word == "manual" || word == "unknown" || word == "unreduced") {
    return sharding.whole = true;
  }
  if (word == "shard_as" || word == "shard_like") return scanner.Int(&number, "a shard group");
  if (word == "device" || word == "devices" || word == "metadata" || word == "last_tile_dims") {
    if (!scanner.Expect('=', "in a sharding")) return false;
    sharding.device = sharding.device || word == "device";
    sharding.devices = sharding.devices || word == "devices";
    if (word == "device") return scanner.Int(&number, "a device number");
    if (word == "devices") return ScanTiles(scanner);
    if (word == "metadata") return ScanMetadataList(scanner);
    return ScanTypes(scanner);
  }
  return scanner.Fail(start, fmt::format("unexpected {} in a sharding", scanner.TokenAt(start)));
}

// Behind '{'.
bool ScanSingle(TextScanner& scanner) {
  if (scanner.TryWord("mesh") || scanner.TryWord("maximal_mesh")) return ScanNamed(scanner);
  if (scanner.TryChar('}')) return true;  // A tuple without elements.
  scanner.Peek();
  const char* const start = scanner.position();
  SingleSharding sharding;
  while (!scanner.TryChar('}')) {
    if (scanner.AtEnd()) return UnexpectedToken(scanner, "'}' after a sharding");
    if (!ScanItem(scanner, sharding)) return false;
  }
  if (sharding.whole && (sharding.device || sharding.devices)) {
    return scanner.Fail(start, "a sharding that is the same everywhere names devices");
  }
  if (sharding.maximal && !sharding.device) {
    return scanner.Fail(start, "a maximal sharding needs its device");
  }
  if (!sharding.whole && !sharding.maximal && !sharding.devices) {
    return scanner.Fail(start, "a tiled sharding needs its devices");
  }
  return true;
}

// , device_ids=(..), [{..}], replicated={..}, unreduced=sum{..}, manual={..}, metadata={..}
bool ScanNamed(TextScanner& scanner) {
  if (!ScanMesh(scanner)) return false;
  while (!scanner.TryChar('}')) {
    scanner.TryChar(',');
    if (scanner.Peek() == '[') {
      if (!ScanDimensionAxes(scanner)) return false;
      continue;
    }
    const char* const start = scanner.position();
    const std::string_view word = scanner.Identifier();
    if (word.empty()) return UnexpectedToken(scanner, "an item of a sharding");
    const bool is_type = word == "replicated" || word == "unreduced" || word == "manual";
    if (!is_type && word != "device_ids" && word != "metadata") {
      return scanner.Fail(start,
                          fmt::format("unexpected {} in a sharding", scanner.TokenAt(start)));
    }
    if (is_type && !scanner.TryChar('=')) continue;
    if (is_type) {
      scanner.Identifier();  // The reduction: "max", "min", "sum" or none.
      if (!ScanAxes(scanner)) return false;
      continue;
    }
    if (!scanner.Expect('=', "in a sharding")) return false;
    if (word == "device_ids" ? !ScanDeviceIds(scanner) : !ScanMetadataList(scanner)) return false;
  }
  return true;
}

}  // namespace

bool ScanSharding(TextScanner& scanner) {
  if (!scanner.Expect('{', "before a sharding")) return false;
  if (scanner.Peek() != '{') return ScanSingle(scanner);
  do {
    if (!scanner.Expect('{', "before a sharding") || !ScanSingle(scanner)) return false;
  } while (scanner.TryChar(','));
  return scanner.Expect('}', "after the shardings of a tuple");
}

bool ScanReplicaGroups(TextScanner& scanner) {
  if (scanner.TryWord("mesh") || scanner.TryWord("maximal_mesh")) {
    if (!ScanMesh(scanner)) return false;
    while (scanner.TryChar(',')) {
      if (!scanner.ExpectText("device_ids=", "after a mesh") || !ScanDeviceIds(scanner)) {
        return false;
      }
    }
    return ScanAxes(scanner);
  }
  if (scanner.Peek() == '[') {
    return ScanInts(scanner, '[', ']', "around replica groups") && ScanIota(scanner);
  }
  std::string_view raw;
  const char* const start = scanner.position();
  scanner.TryChar('{');
  const bool flat = IsDigit(scanner.Peek());  // 2018: {0,1}
  if (scanner.failed()) return false;
  scanner.set_position(start);
  return ScanValue(scanner, flat ? ValueForm::kInts : ValueForm::kIntLists, &raw);
}

}  // namespace xlatrace::hlo
