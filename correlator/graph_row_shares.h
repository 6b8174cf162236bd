// SPDX-License-Identifier: Apache-2.0

// Divides the time of a graph-level row over the thunks that it covers.
//
// The time is divided in proportion to the estimated costs (ThunkToken::cost_ns). If there are rows
// of several graphs, those with predictable work only (time follows from bytes and operations) give
// the slowdown of this run. In other rows, time beyond this estimate goes to unpredictable
// instructions. These are scatters whose updates wait for each other, collectives that wait for
// other devices, loops of unknown length, and calls of unknown content.
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

  // Adds a row that covers tokens [first, last] of a program and took `ns`.
  void Add(const ThunkProgram& program, uint32_t first, uint32_t last, int64_t ns);
  // Call it after the last row: computes the slowdown of this run.
  void Settle();

  // Parts of the thunks of such rows, in the order of the thunks.
  std::vector<Part> Divide(const ThunkProgram& program, uint32_t first, uint32_t last) const;

 private:
  struct Rows {
    double steady = 0;    // Cost of predictable work.
    double unsteady = 0;  // Cost of other work.
    double ns = 0;        // Sum of the times of all rows.
    double rows = 0;
  };
  static std::vector<Part> Costs(const ThunkProgram& program, uint32_t first, uint32_t last);

  std::map<std::tuple<const ThunkProgram*, uint32_t, uint32_t>, Rows> rows_;
  // Ratio of time to cost of predictable rows: the median weighted by time, and the ninth decile.
  // 0: there are too few rows.
  double usual_ = 0;
  double most_ = 0;
};

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_GRAPH_ROW_SHARES_H_
