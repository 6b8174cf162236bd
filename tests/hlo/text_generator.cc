// SPDX-License-Identifier: Apache-2.0
#include "tests/hlo/text_generator.h"

#include <algorithm>
#include <random>
#include <string_view>

namespace xlatrace::hlo {
namespace {

constexpr std::string_view kTypes[] = {
    "pred",     "s1",       "s2",        "s4",           "s8",         "s16",      "s32",
    "s64",      "u1",       "u2",        "u4",           "u8",         "u16",      "u32",
    "u64",      "f16",      "f32",       "f64",          "bf16",       "c64",      "c128",
    "f8e5m2",   "f8e4m3",   "f8e4m3fn",  "f8e3m4",       "f8e5m2fnuz", "f4e2m1fn", "f8e4m3fnuz",
    "f6e2m3fn", "f6e3m2fn", "f8e8m0fnu", "f8e4m3b11fnuz"};

constexpr std::string_view kOpcodes[] = {
    "add", "multiply", "negate", "exponential", "convert", "bitcast", "broadcast", "reshape",
    "transpose", "copy", "concatenate", "dot", "gather", "scatter", "slice", "dynamic-slice", "pad",
    "iota", "sort", "custom-call", "convolution", "all-reduce", "all-gather", "all-to-all",
    "infeed", "outfeed", "rng", "fft", "cholesky", "compare", "select", "clamp", "after-all",
    "tuple", "partition-id", "send", "recv-done", "topk", "domain", "reverse", "scan", "scaled-dot",
    // Opcodes of other years, wrapped in async, and of a future year.
    "cross-replica-sum", "equal-to", "less-than-or-equal-to", "trace", "tuple-select",
    "generate-token", "host-compute", "custom-call-start", "reduce-scatter-done",
    "all-to-all-update", "brand-new-op"};

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  size_t Below(size_t n) { return engine_() % n; }
  bool OneIn(size_t n) { return Below(n) == 0; }
  template <typename List>
  auto Of(const List& list) {
    return *(std::begin(list) + static_cast<ptrdiff_t>(Below(std::size(list))));
  }

 private:
  std::mt19937 engine_;  // Its numbers are the same everywhere, those of distributions are not.
};

class Generator {
 public:
  Generator(uint32_t seed, const std::vector<AttributeType>& types) : random_(seed), types_(types) {
    for (size_t t = 0; t < types.size(); ++t) {
      // The generator itself makes attributes that depend on their place or do not fit all
      // instructions.
      if (IsOneOf(types[t].name,
                  {"kHloComputation", "kBracedHloComputationList", "kInstructionList",
                   "kParameterReplication", "kShape, layouts", "two of one name", "kFusionKind"})) {
        continue;
      }
      (types[t].header.empty() ? instruction_types_ : header_types_).push_back(t);
    }
    long_form_ = !random_.OneIn(3);
    comments_ = random_.OneIn(3);
    has_entry_ = !random_.OneIn(8);
    compact_ = random_.OneIn(2);
  }

  GeneratedText Make() {
    const bool header = !random_.OneIn(6);
    if (header) Header();
    if (header && random_.OneIn(3)) StackTables();
    const size_t computations = 1 + random_.Below(4);
    for (size_t c = 0; c < computations; ++c) {
      Computation(has_entry_ && c + 1 == computations);
    }
    if (has_entry_ && random_.OneIn(6)) Computation(false);  // Behind the entry.
    return std::move(out_);
  }

 private:
  struct Value {
    std::string name;
    size_t elements = 0;  // Elements of a tuple.
  };
  // A computation that is being written.
  struct Body {
    std::vector<Value> values;
    std::set<std::string> names;
    std::set<std::string> elements;  // "t#1", each an instruction of its own.
    int parameters = 0;
    size_t root = 0;
    size_t written = 0;
    bool has_root = false;
    bool is_inline = false;
  };

  size_t At() const { return out_.text.size(); }
  void Put(std::string_view text) { out_.text += text; }
  void Mark(PlaceKind kind, size_t offset, std::string other = {}, size_t type = 0) {
    out_.places.push_back({kind, offset, At() - offset, type, std::move(other)});
  }
  void Use(std::string_view what) { out_.used.emplace(what); }

  // At least one blank, and other separators of words.
  void Blank() {
    Put(" ");
    if (!comments_ || !random_.OneIn(8)) return;
    constexpr std::string_view kBlanks[] = {"/*index=5*/", "\n    ", "// a comment } \" (\n  ",
                                            "\t",          "\r\n ",  "/* \" { */ "};
    Put(random_.Of(kBlanks));
  }
  void MaybeBlank() {
    if (random_.OneIn(2)) Blank();
  }

  std::string Identifier() {
    constexpr std::string_view kWords[] = {
        "add",   "fusion", "loop_add_fusion", "p",   "Arg_0",
        "while", "x-y",    "_under",          "jit", "reduce.sum"};
    std::string name(random_.Of(kWords));
    return name + "." + std::to_string(next_name_++);
  }
  void Name(const std::string& name) {
    if (long_form_) Put("%");
    Put(name);
  }

  std::string Array(std::string_view type) {
    const size_t rank = random_.Below(4);
    std::string dims;
    std::string order;
    for (size_t d = 0; d < rank; ++d) {
      if (d > 0) dims += random_.OneIn(9) ? ", " : ",";
      const bool unbounded = random_.OneIn(20);
      dims += !unbounded && random_.OneIn(12) ? "<=" : "";
      dims += unbounded ? "?" : std::to_string(random_.Below(9));
      order += (d > 0 ? "," : "") + std::to_string(rank - 1 - d);
    }
    std::string shape = std::string(type) + "[" + dims + "]";
    constexpr std::string_view kItems[] = {"",
                                           ":T(8,128)",
                                           ":T(8,128)(2,1)S(5)",
                                           ":E(4)",
                                           ":S(1)",
                                           ":L(2)#(u32)*(u16)",
                                           ":M(8)",
                                           ":SC(0:4)(1:2)",
                                           ":D(D,C+~)",
                                           ":D(S,H)T(*)E(4)",
                                           ":Z(1:2)",
                                           ":P(f32[8]{0})"};
    if (rank > 0 && random_.OneIn(2)) {
      const std::string_view items = random_.Of(kItems);
      Use(items);
      shape += "{" + order + std::string(items) + "}";
    } else if (rank == 0 && random_.OneIn(20)) {
      shape += "{:S(5)}";
    } else if (rank > 0 && random_.OneIn(12)) {
      shape += random_.OneIn(2) ? "sparse{10}" : "dense{" + order + "}";
      Use("dense, sparse");
    }
    return shape;
  }
  // `elements`: how many there are where the whole is a tuple.
  std::string Shape(size_t depth, size_t* elements) {
    *elements = 0;
    if (depth < 3 && random_.OneIn(6)) {
      std::string shape = "(";
      *elements = random_.Below(4);
      for (size_t i = 0; i < *elements; ++i) {
        size_t ignored = 0;
        if (i > 0) shape += random_.OneIn(5) ? ", /*index=1*/" : ", ";
        shape += Shape(depth + 1, &ignored);
      }
      return shape + ")";
    }
    if (random_.OneIn(20)) return random_.OneIn(2) ? "token[]" : "opaque[]";
    if (random_.OneIn(25)) return "b(f32[8]{0})";
    const std::string_view type = random_.Of(kTypes);
    Use(type);
    return Array(type);
  }

  std::string Number(std::string_view type) {
    if (type == "pred") return random_.OneIn(2) ? "true" : random_.OneIn(2) ? "0" : "1";
    if (type[0] == 'c') return "(" + Number("f32") + ", " + Number("f64") + ")";
    if (type == "s1") return random_.OneIn(2) ? "0" : "-1";
    if (type[0] == 's') return random_.OneIn(2) ? "-2" : "1";
    if (type[0] == 'u') return random_.OneIn(2) ? "0" : "1";
    if (type == "f8e8m0fnu") return random_.OneIn(2) ? "1" : "0.5";
    constexpr std::string_view kFloats[] = {"0",    "-1",  "0.5",  "1e-05", "-2.5e+00", "inf",
                                            "-inf", "nan", "-nan", "1.",    "3E2"};
    const std::string_view number = random_.Of(kFloats);
    // 300 is more than some small types hold.
    return std::string(number == "3E2" && type[1] == '8' ? "3" : number);
  }
  std::string Dense(std::string_view type, const std::vector<size_t>& dims, size_t dimension) {
    if (dimension == dims.size()) return Number(type);
    std::string text = random_.OneIn(2) ? "{ " : "{";
    for (size_t i = 0; i < dims[dimension]; ++i) {
      if (i > 0) text += random_.OneIn(3) ? "," : ", ";
      if (random_.OneIn(15)) text += "/*i" + std::to_string(i) + "*/ ";
      text += Dense(type, dims, dimension + 1);
    }
    return text + (random_.OneIn(2) ? " }" : "}");
  }
  // A constant with a literal of one of the forms; its shape.
  std::string Constant(std::string* literal) {
    const std::string_view type = random_.Of(kTypes);
    Use(type);
    std::vector<size_t> dims(random_.Below(4));
    std::string shape = std::string(type) + "[";
    for (size_t d = 0; d < dims.size(); ++d) {
      dims[d] = random_.Below(4);
      shape += (d > 0 ? "," : "") + std::to_string(dims[d]);
    }
    shape += "]";
    *literal = Dense(type, dims, 0);
    switch (random_.Below(8)) {
      case 0:  // 2018.
        Use("literal with its shape");
        *literal = shape + " " + *literal;
        break;
      case 1: {
        Use("tuple literal");
        std::string second;
        const std::string other = Constant(&second);
        shape = "(" + shape + ", " + other + ")";
        *literal = "( " + *literal + ", " + second + " )";
        break;
      }
      case 2:
        if (dims.empty()) break;
        Use("literal left out");
        *literal = "{...}";
        break;
      case 3:
        if (dims.size() != 2 || type[0] == 'c') break;
        Use("sparse literal");
        *literal = "{[0, 1]: " + Number(type) + ", [1,1]: " + Number(type) + "}";
        break;
      default:
        break;
    }
    return shape;
  }

  void Header() {
    Put("HloModule ");
    Put(Identifier());
    std::set<std::string> seen;
    for (size_t i = random_.Below(4); i > 0; --i) Attribute(header_types_, seen);
    Put("\n\n");
  }

  void StackTables() {
    Use("stack tables");
    Put("FileNames\n1 \"/a/\\\"b\\\".py\"\n2 \"c.py\"\n\nFunctionNames\n1 \"main\"\n2 \"f\"\n\n"
        "FileLocations\n1 {file_name_id=1 function_name_id=1 line=10 end_line=11 column=4 "
        "end_column=9}\n2 {file_name_id=2 function_name_id=2 line=20 column=4}\n\n"
        "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n"
        "2 {file_location_id=2 parent_frame_id=2}\n\n");
  }

  // ", name=value" of one of these types, unless `seen` has the name.
  void Attribute(const std::vector<size_t>& types, std::set<std::string>& seen) {
    const size_t type = random_.Of(types);
    const AttributeSample sample = random_.Of(types_[type].samples);
    const std::string name = sample.text.substr(0, sample.text.find('='));
    if (!sample.IsRead() || !seen.insert(name).second) return;
    Put(",");
    Blank();
    const size_t start = At();
    Put(sample.text);
    Use(sample.text);
    Mark(PlaceKind::kAttribute, start, {}, type);
  }

  void Operand(Body& body) {
    const size_t pick = random_.Below(body.values.size());
    const Value value = body.values[pick];
    if (random_.OneIn(5)) {  // With its shape, as until 2025.
      size_t ignored = 0;
      Put(Shape(2, &ignored));
      Blank();
    }
    const size_t start = At();
    Name(value.name);
    if (compact_ && value.elements > 0 && random_.OneIn(2)) {
      const std::string element = "#" + std::to_string(random_.Below(value.elements));
      Put(element);
      Use("compact tuple element");
      if (body.elements.insert(value.name + element).second) Count("get-tuple-element");
    } else {
      Mark(PlaceKind::kOperand, start);
    }
  }
  void Operands(Body& body, size_t count, size_t depth) {
    Put("(");
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) {
        const size_t comma = At();
        Put(",");
        Mark(PlaceKind::kOperandComma, comma);
        MaybeBlank();
      }
      if (!compact_ && depth < 3 && random_.OneIn(10)) {
        Use("nested instruction");
        constexpr std::string_view kNested[] = {"maximum", "add", "negate"};
        const std::string_view opcode = random_.Of(kNested);
        Put(opcode);
        Operands(body, 1 + random_.Below(2), depth + 1);
        Count(opcode);
      } else {
        Operand(body);
      }
    }
    const size_t end = At();
    Put(")");
    Mark(PlaceKind::kOperandsEnd, end);
  }

  void Count(std::string_view opcode) {
    ++out_.opcodes[std::string(opcode)];
    ++out_.instructions;
  }

  // The name of a computation, or one in its place.
  void Called(size_t depth) {
    if (known_.empty() || (depth < 3 && random_.OneIn(3))) {
      Use("inline computation");
      Put("{");
      Body body;
      body.is_inline = true;
      Fill(body, 1 + random_.Below(3), depth + 1);
      Put(" }");
      ++out_.computations;
      return;
    }
    const size_t start = At();
    Name(random_.Of(known_));
    Mark(PlaceKind::kCalledName, start);
  }
  void Calls(std::initializer_list<std::string_view> attributes, size_t depth,
             std::set<std::string>& seen) {
    for (const std::string_view attribute : attributes) {
      seen.emplace(attribute);
      Put(", ");
      Put(attribute);
      Put("=");
      const bool list = IsOneOf(attribute, {"branch_computations", "called_computations"});
      if (list) Put("{");
      Called(depth);
      for (size_t i = list ? random_.Below(3) : 0; i > 0; --i) {
        Put(", ");
        Called(depth);
      }
      if (list) Put("}");
    }
  }

  void Instruction(Body& body, size_t depth) {
    const bool is_root = body.has_root && body.root == body.written;
    const size_t start = At();
    if (is_root) Put("ROOT ");
    const std::string name = Identifier();
    const size_t at_name = At();
    Name(name);
    if (!body.values.empty()) {
      Mark(PlaceKind::kInstructionName, at_name, body.values.front().name);
    }
    if (body.has_root && !is_root && body.written < body.root) {
      out_.places.push_back({PlaceKind::kInstructionStart, start, at_name - start, 0, {}});
    }
    Blank();
    const size_t equals = At();
    Put("=");
    Mark(PlaceKind::kEquals, equals);
    Blank();
    Value value{.name = name};
    std::set<std::string> seen;
    const size_t at_shape = At();
    if (body.values.empty() || random_.OneIn(4)) {
      Put(Shape(0, &value.elements));
      Mark(PlaceKind::kShape, at_shape);
      Blank();
      Put("parameter(" + std::to_string(body.parameters++));
      const size_t end = At();
      Put(")");
      Mark(PlaceKind::kOperandsEnd, end);
      Count("parameter");
    } else if (random_.OneIn(4)) {
      std::string literal;
      Put(Constant(&literal));
      Mark(PlaceKind::kShape, at_shape);
      Put(" constant(");
      const size_t at_literal = At();
      Put(literal);
      Mark(PlaceKind::kLiteral, at_literal);
      Put(")");
      Count("constant");
    } else {
      Put(Shape(0, &value.elements));
      Mark(PlaceKind::kShape, at_shape);
      Blank();
      Caller(body, depth, seen);
    }
    for (size_t i = random_.Below(4); i > 0; --i) Attribute(instruction_types_, seen);
    if (!body.values.empty() && random_.OneIn(10)) {
      Put(", control-predecessors={");
      const size_t start_name = At();
      Name(body.values.front().name);
      Mark(PlaceKind::kOperand, start_name);
      Put("}");
      Use("control predecessors");
    }
    out_.places.push_back({PlaceKind::kInstructionEnd, At(), 0, 0, {}});
    body.values.push_back(std::move(value));
    ++body.written;
  }

  // An opcode with operands, and the computations it calls.
  void Caller(Body& body, size_t depth, std::set<std::string>& seen) {
    struct Form {
      std::string_view opcode;
      std::initializer_list<std::string_view> calls;
    };
    static constexpr std::initializer_list<std::string_view> kNone = {};
    static const Form kForms[] = {{"fusion", {"calls"}},
                                  {"call", {"to_apply"}},
                                  {"while", {"condition", "body"}},
                                  {"reduce", {"to_apply"}},
                                  {"conditional", {"branch_computations"}},
                                  {"conditional", {"true_computation", "false_computation"}},
                                  {"select-and-scatter", {"select", "scatter"}},
                                  {"custom-call", {"called_computations"}},
                                  {"async-start", {"calls"}}};
    const bool calls = random_.OneIn(3);
    const Form form = calls ? random_.Of(kForms) : Form{random_.Of(kOpcodes), kNone};
    const size_t at_opcode = At();
    Put(form.opcode);
    Mark(PlaceKind::kOpcode, at_opcode);
    Use(form.opcode);
    Operands(body, random_.Below(4), 0);
    Count(form.opcode);
    if (form.opcode == "fusion") {
      Put(", kind=kLoop");
      seen.emplace("kind");
    }
    if (calls) Calls(form.calls, depth, seen);
    if (random_.OneIn(12)) {
      Put(", index=" + std::to_string(random_.Below(3)));
      seen.emplace("index");
    }
  }

  void Fill(Body& body, size_t count, size_t depth) {
    body.has_root = !random_.OneIn(4);
    body.root = body.has_root ? random_.Below(count) : 0;
    for (size_t i = 0; i < count; ++i) {
      Put(body.is_inline ? " " : "\n  ");
      Instruction(body, depth);
    }
  }

  void Computation(bool is_entry) {
    const std::string name = Identifier();
    const size_t start = At();
    if (is_entry) Put("ENTRY ");
    Name(name);
    if (!is_entry && has_entry_) {
      out_.places.push_back({PlaceKind::kComputationStart, start, 0, 0, {}});
    }
    if (long_form_) {
      size_t ignored = 0;
      Put(" (");
      for (size_t i = 0, count = random_.Below(3); i < count; ++i) {
        if (i > 0) Put(", ");
        Put("arg." + std::to_string(i) + ": " + Shape(0, &ignored));
      }
      Put(") -> " + Shape(0, &ignored));
    }
    Put(" {");
    out_.last_computation = At();
    Body body;
    Fill(body, 1 + random_.Below(8), 0);
    Put("\n");
    const size_t end = At();
    Put("}");
    Mark(PlaceKind::kComputationEnd, end);
    if (random_.OneIn(8)) {
      Put(", execution_thread=\"worker\"");
      Use("execution thread");
    }
    Put("\n\n");
    ++out_.computations;
    known_.push_back(name);
  }

  Random random_;
  const std::vector<AttributeType>& types_;
  std::vector<size_t> instruction_types_;
  std::vector<size_t> header_types_;
  bool long_form_ = true;
  bool comments_ = false;
  bool has_entry_ = true;
  // Elements as "%t#1", else nested instructions. No XLA printed both, and they would be printed in
  // another order: nested ones are instructions of their own there, before the elements.
  bool compact_ = false;
  size_t next_name_ = 1;
  std::vector<std::string> known_;  // Computations that can be called.
  GeneratedText out_;
};

}  // namespace

GeneratedText GenerateText(uint32_t seed, const std::vector<AttributeType>& types) {
  return Generator(seed, types).Make();
}

std::vector<BrokenText> BreakText(const GeneratedText& whole,
                                  const std::vector<AttributeType>& types, uint32_t seed) {
  Random random(seed);
  std::vector<BrokenText> broken;
  const auto replace = [&](const Place& place, std::string_view with, std::string what,
                           bool exact) {
    std::string text = whole.text;
    text.replace(place.offset, place.size, with);
    broken.push_back({std::move(text), std::move(what), place.offset, exact});
  };
  for (const Place& place : whole.places) {
    const std::string old = whole.text.substr(place.offset, place.size);
    switch (place.kind) {
      case PlaceKind::kInstructionName:
        replace(place, (old[0] == '%' ? "%" : "") + place.other, "a second " + place.other, true);
        break;
      case PlaceKind::kEquals:
        replace(place, "", "no '='", false);
        broken.back().offset = 0;  // Inside of braces it distinguished a computation from names.
        break;
      case PlaceKind::kShape: {
        std::string shape = old;
        if (shape.find('[') == std::string::npos) break;
        shape[shape.find('[')] = '(';
        replace(place, shape, "shape " + shape, false);
        break;
      }
      case PlaceKind::kOpcode:
        replace(place, "f32", "a type as an opcode", true);
        break;
      case PlaceKind::kOperand:
        replace(place, "%nobody", "unknown operand", true);
        break;
      case PlaceKind::kOperandComma:
        replace(place, " ", "no comma between operands", false);
        break;
      case PlaceKind::kOperandsEnd:
        replace(place, "", "no ')'", false);
        break;
      case PlaceKind::kLiteral:
        replace(place, "?", "literal ?", true);
        break;
      case PlaceKind::kAttribute: {
        const AttributeSample sample = random.Of(types[place.type].samples);
        if (sample.verdict == '-') replace(place, sample.text, "attribute " + sample.text, false);
        break;
      }
      case PlaceKind::kCalledName:
        replace(place, "%nobody", "unknown computation", true);
        break;
      case PlaceKind::kInstructionStart:
        replace(place, "ROOT ", "two ROOT", false);
        break;
      case PlaceKind::kInstructionEnd:
        replace(place, "}", "a '}' too many", false);
        break;
      case PlaceKind::kComputationStart:
        replace(place, "ENTRY ", "two ENTRY", false);
        break;
      case PlaceKind::kComputationEnd:
        replace(place, "", "no '}'", false);
        break;
    }
  }
  const size_t end = whole.text.rfind("\n}");
  const size_t cut = whole.last_computation + random.Below(end + 1 - whole.last_computation);
  broken.push_back({whole.text.substr(0, cut), "cut off", whole.last_computation, false});
  broken.push_back({whole.text + "/* open", "an open comment", whole.text.size(), true});
  return broken;
}

}  // namespace xlatrace::hlo
