// SPDX-License-Identifier: Apache-2.0

// Builds the tokens of a program. Each gets its symbols and, if the run has graph-level rows, its
// cost and CUDA graph.
//
// Thread-safety: one thread per object.

#ifndef XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_TOKEN_WRITER_H_
#define XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_TOKEN_WRITER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "correlator/thunk_order/program/thunk_token.h"
#include "hlo/cost/cost.h"
#include "model/hlo_module.h"

namespace xlatrace::correlator {

class TokenWriter {
 public:
  // Position of the walk over the schedule.
  struct Place {
    double share = 1;            // Number of runs; half for each of two branches.
    bool unknown_trips = false;  // Inside a loop with unknown trip count.
    uint32_t graph = 0;          // The CUDA graph that contains the thunk; 0: none.
  };

  // `module` must outlive the writer. `graph_rows`: the run has graph-level rows.
  TokenWriter(const model::HloModule& module, bool graph_rows);

  Place& place() { return place_; }
  bool graph_rows() const { return costs_.has_value(); }

  uint32_t Next() const { return static_cast<uint32_t>(tokens_.size()); }
  // Both functions return the index of the token. Before the first token of a graph, the graph's
  // own token is added.
  uint32_t Add(ThunkToken token);
  uint32_t AddAs(const std::string& symbol, const ThunkToken& token);
  // The token may run under that symbol, too.
  void Name(const std::string& symbol, uint32_t token) { by_symbol_[symbol].push_back(token); }

  std::vector<ThunkToken> TakeTokens() { return std::move(tokens_); }
  TokensBySymbol TakeSymbols() { return std::move(by_symbol_); }

 private:
  void AddToGraph(const ThunkToken& token);

  const model::HloModule& module_;
  std::optional<hlo::CostModel> costs_;
  Place place_;
  std::vector<ThunkToken> tokens_;
  TokensBySymbol by_symbol_;
  std::vector<uint32_t> token_of_graph_;  // Index of each graph's own token, plus 1.
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_THUNK_ORDER_PROGRAM_TOKEN_WRITER_H_
