// SPDX-License-Identifier: Apache-2.0
#include "report/answer/part_words.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "report/shown_words.h"

namespace xlatrace::report {
namespace {

struct Noun {
  std::string_view kind, words;
  bool plural = false;
};

// Kinds of docs/schema.md. A missing kind is its own noun.
constexpr std::array kKindNouns = {
    Noun{"unknown", "idle time without a known cause"},
    Noun{"root", "the run"},
    Noun{"startup", "the time before the first step"},
    Noun{"import", "the import of Python modules"},
    Noun{"backend_start", "the start of the backend"},
    Noun{"data", "loading of data"},
    Noun{"trace", "tracing"},
    Noun{"lower", "lowering"},
    Noun{"passes", "XLA's compiler passes", true},
    Noun{"compile", "compilation"},
    Noun{"codegen", "code generation"},
    Noun{"autotune", "autotuning"},
    Noun{"cache", "the compilation cache"},
    Noun{"load", "loading of compiled programs"},
    Noun{"first_execution", "the first execution"},
    Noun{"steps", "the steps", true},
    Noun{"step", "the step"},
    Noun{"call", "the calls", true},
    Noun{"between_calls", "the time between calls"},
    Noun{"between_steps", "the time between steps"},
    Noun{"computation", "computation"},
    Noun{"exposed_collective", "communication that no computation hides"},
    Noun{"wait", "waiting for another device"},
    Noun{"transfer", "the transfer of collectives"},
    Noun{"exposed_copy", "copying that no computation hides"},
    Noun{"idle", "idle time of the device"},
    Noun{"launch", "launching of work"},
    Noun{"dispatch", "dispatch by the framework on the host"},
    Noun{"dependency", "waiting for earlier work"},
    Noun{"copy_wait", "waiting for a copy"},
    Noun{"sync", "synchronisation of the host"},
    Noun{"alloc", "memory allocation"},
    Noun{"host", "host code"},
    Noun{"input", "waiting for input"},
    Noun{"io", "file or network access"},
    Noun{"lock", "waiting for a lock"},
    Noun{"gc", "garbage collection"},
    Noun{"sleep", "sleeping"},
    Noun{"contention", "waiting for a free CPU"},
    Noun{"evaluation", "evaluation"},
    Noun{"checkpoint", "checkpointing"},
    Noun{"recompilation", "recompilation"},
    Noun{"pause", "pauses", true},
    Noun{"shutdown", "the time after the last step"},
};

// Without a typical step, these kinds are parts of the run around its main work.
constexpr std::array kNounsWithoutSteps = {
    Noun{"startup", "the time before the main work"},
    Noun{"steps", "the main work"},
    Noun{"step", "the main work"},
    Noun{"between_steps", "the time between parts of the main work"},
    Noun{"shutdown", "the time after the main work"},
};

// Kinds of ops as nouns; the words of docs/schema.md are adjectives of one op.
constexpr std::array kOpNouns = {
    Noun{"gemm", "matrix products", true},
    Noun{"convolution", "convolutions", true},
    Noun{"attention", "attention"},
    Noun{"reduction", "reductions", true},
    Noun{"elementwise_fusion", "elementwise ops", true},
    Noun{"transpose", "transposes", true},
    Noun{"copy", "copies", true},
    Noun{"memset", "memsets", true},
    Noun{"scatter_gather", "scatters and gathers", true},
    Noun{"sort", "sorting"},
    Noun{"random", "random numbers", true},
    Noun{"fft", "Fourier transforms", true},
    Noun{"collective", "collectives", true},
    Noun{"custom_call", "custom calls", true},
    Noun{"control", "control flow"},
};

constexpr std::array kPhaseNouns = {
    Noun{"forward", "the forward pass"},   Noun{"loss", "the loss"},
    Noun{"backward", "the backward pass"}, Noun{"recompute", "recomputation"},
    Noun{"optimizer", "the optimizer"},
};

// Words for names that are not names in the recorded program.
constexpr std::array kNameWords = {
    Noun{"nothing recorded", "host time with nothing recorded"},
    Noun{"launched, not started", "the time from launch to start of work"},
    Noun{"wait or transfer", "waiting for other devices or transfer"},
    Noun{"host_to_device", "copying to the device"},
    Noun{"device_to_host", "copying to the host"},
    Noun{"device_to_device", "copying on the device"},
    Noun{"peer_to_peer", "copying between devices"},
    Noun{"memset", "filling of memory"},
    Noun{"copy", "copying of memory"},
};

template <size_t N>
const Noun* Find(const std::array<Noun, N>& nouns, std::string_view kind) {
  const auto found =
      std::find_if(nouns.begin(), nouns.end(), [&](const Noun& noun) { return noun.kind == kind; });
  return found == nouns.end() ? nullptr : &*found;
}

// A longer name of a kernel is cut, because a sentence must fit into a few lines.
constexpr size_t kMaxNameBytes = 60;

// "env_step" of "$rl.py:10 env_step" and of "rl.py(10): env_step", whose place is printed beside
// it.
std::string_view WithoutPlace(std::string_view name, std::string_view place) {
  if (place.empty()) return name;
  if (const size_t end = name.find("): "); end != name.npos) return name.substr(end + 3);
  if (name.starts_with('$')) {
    if (const size_t end = name.find(' '); end != name.npos) return name.substr(end + 1);
  }
  return name;
}

std::string Shortened(std::string_view name) {
  if (name.size() <= kMaxNameBytes) return std::string(name);
  size_t end = kMaxNameBytes;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;
  return std::string(name.substr(0, end)) + "...";
}

// " (`name`, train.py:75)"
void AddNameAndPlace(SentenceBuilder& words, std::string_view name, std::string_view place) {
  if (name.empty() && place.empty()) return;
  words.Text(" (");
  if (!name.empty()) words.Code(Shortened(WithoutPlace(name, place)));
  if (!name.empty() && !place.empty()) words.Text(", ");
  if (!place.empty()) words.Code(place);
  words.Text(")");
}

PartPhrase OfOp(const TimePart& op, std::string_view place) {
  SentenceBuilder words;
  words.Code(op.name.empty() ? "an op without a name" : Shortened(op.name));
  std::string kind = op.op_kind == "other" ? "" : KindWords(op.op_kind);
  if (kind.empty() && op.layer_group.empty() && place.empty()) return {words.Take()};
  words.Text(" (").Text(kind);
  if (!op.layer_group.empty()) words.Text(kind.empty() ? "in " : " in ").Code(op.layer_group);
  if (!place.empty()) words.Text(kind.empty() && op.layer_group.empty() ? "" : ", ").Code(place);
  return {words.Text(")").Take()};
}

// The values that all ops of the sum have in common.
PartPhrase OfSum(const TimePart& sum, std::string_view place) {
  const Noun* kind = Find(kOpNouns, sum.op_kind);
  const Noun* phase = Find(kPhaseNouns, sum.phase);
  const bool by_phase_only = sum.divided_by == "phase";
  SentenceBuilder words;
  PartPhrase phrase;
  if (kind != nullptr && !by_phase_only) {
    words.Text(kind->words);
    phrase.plural = kind->plural;
    if (phase != nullptr) words.Text(" of ").Text(phase->words);
  } else if (phase != nullptr) {
    words.Text(phase->words);
  } else {
    words.Text("computation");
  }
  if (!sum.layer_group.empty()) words.Text(" in ").Code(sum.layer_group);
  if (sum.source_line && !place.empty()) words.Text(" at ").Code(place);
  phrase.words = words.Take();
  return phrase;
}

}  // namespace

PartPhrase PhraseOf(const TimePart& part, bool has_steps) {
  const std::string place = SourceLine(part.source_file, part.source_line);
  if (part.kind == "op" && part.nodes.size() == 1) return OfOp(part, place);
  if (part.kind == "computation") return OfSum(part, place);
  SentenceBuilder words;
  if (const Noun* name = Find(kNameWords, part.name)) {
    words.Text(name->words);
    AddNameAndPlace(words, "", place);
    return {words.Take(), name->plural};
  }
  const Noun* noun = has_steps ? nullptr : Find(kNounsWithoutSteps, part.kind);
  if (noun == nullptr) noun = Find(kKindNouns, part.kind);
  std::string kind = noun != nullptr ? std::string(noun->words) : part.kind;
  words.Text(kind);
  if (part.nodes.size() == 1) AddNameAndPlace(words, part.name, place);
  return {words.Take(), noun != nullptr && noun->plural};
}

std::string_view PlaceInRun(std::string_view kind, bool has_steps) {
  if (kind == "steps") return has_steps ? "In the steps" : "During the main work";
  if (kind == "pause") return "In pauses between steps";
  if (kind == "startup") return has_steps ? "Before the first step" : "Before the main work";
  if (kind == "between_steps") {
    return has_steps ? "Between steps" : "Between parts of the main work";
  }
  if (kind == "shutdown") return has_steps ? "After the last step" : "After the main work";
  return {};
}

bool IsIdleKind(std::string_view kind) {
  static constexpr std::array kBusy = {"op",      "computation",     "exposed_collective",
                                       "wait",    "transfer",        "exposed_copy",
                                       "root",    "steps",           "step",
                                       "startup", "shutdown",        "between_steps",
                                       "call",    "first_execution", "evaluation"};
  return std::find(kBusy.begin(), kBusy.end(), kind) == kBusy.end();
}

}  // namespace xlatrace::report
