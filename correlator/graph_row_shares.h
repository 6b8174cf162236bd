// SPDX-License-Identifier: Apache-2.0

// How the time of a graph-level row is divided over the thunks that it covers.
//
// In proportion to what they should cost (ThunkToken::cost_ns). Where rows of several graphs are
// there, those that hold only work whose time follows from bytes and operations tell how much
// slower than that this run is; what another row takes beyond it goes to the instructions in it
// that may take any time: scatters whose updates wait for each other, collectives that wait for
// other devices, loops of unknown length, calls of which nothing is known.
//
// Thread-safety: one thread per object.

#ifndef XLATRACE_CORRELATOR_GRAPH_ROW_SHARES_H_
#define XLATRACE_CORRELATOR_GRAPH_ROW_SHARES_H_

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "correlator/thunk_order/program/thunk_program.h"

namespace xlatrace::correlator {

class GraphRowShares {
 public:
  struct Part {
    uint32_t token = 0;
    double weight = 0;
  };

  // A row that covers tokens [first, last] of a program, and took so long.
  void Add(const ThunkProgram& program, uint32_t first, uint32_t last, int64_t ns);
  // Behind the last row: what this run says about the cost model.
  void Settle();

  // Of the thunks that such rows cover, in their order.
  std::vector<Part> Divide(const ThunkProgram& program, uint32_t first, uint32_t last) const;

 private:
  struct Rows {
    double steady = 0;    // Cost of what follows from bytes and operations.
    double unsteady = 0;  // Of all else.
    double ns = 0;        // Of all rows.
    double rows = 0;
  };
  static std::vector<Part> Costs(const ThunkProgram& program, uint32_t first, uint32_t last);

  std::map<std::tuple<const ThunkProgram*, uint32_t, uint32_t>, Rows> rows_;
  // Time over cost of steady rows: half of their time passes in rows below the usual one, nine
  // tenths below the most. 0: there are too few.
  double usual_ = 0;
  double most_ = 0;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_GRAPH_ROW_SHARES_H_
