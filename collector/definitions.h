// SPDX-License-Identifier: Apache-2.0

// Rows that are rare and of any length (strings, graph nodes, contexts...), on their way from the
// traced program's threads to the writer thread.
//
// Memory is bounded: past the limit, texts are dropped and counted (their ids stay valid).
// Thread-safety: Add from any thread; Take from the writer thread.

#ifndef XLATRACE_COLLECTOR_DEFINITIONS_H_
#define XLATRACE_COLLECTOR_DEFINITIONS_H_

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "recording/rows.h"
#include "recording/writer.h"

namespace xlatrace::collector {

// A row that owns its texts.
template <typename Row>
struct Owned {
  Row row;
  // Text of the row's string_view field; for rows with two texts, "first\0second".
  std::string text;
};

using Definition = std::variant<Owned<recording::StringRow>, Owned<recording::SchemaRow>,
                                Owned<recording::PayloadRow>, Owned<recording::ThreadRow>,
                                Owned<recording::StreamNameRow>, Owned<recording::FactRow>,
                                Owned<recording::DeviceRow>, recording::GraphNodeRow,
                                recording::ContextRow, recording::CubinRow, recording::ClockRow>;

class Definitions {
 public:
  void Add(Definition definition, size_t text_bytes);
  // Takes all definitions that were added since the last call.
  void Take(std::vector<Definition>* to);
  // Bytes of text that wait; the writer is woken when they are many.
  size_t waiting_bytes() const { return __atomic_load_n(&waiting_bytes_, __ATOMIC_RELAXED); }
  uint64_t dropped_texts() const { return __atomic_load_n(&dropped_texts_, __ATOMIC_RELAXED); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::vector<Definition> waiting_;
  size_t waiting_bytes_ = 0;
  uint64_t dropped_texts_ = 0;
};

// Appends one definition to the recording.
void Write(const Definition& definition, recording::Writer& writer);

}  // namespace xlatrace::collector

#endif  // XLATRACE_COLLECTOR_DEFINITIONS_H_
