// SPDX-License-Identifier: Apache-2.0

// Chooses the CUDA graph of a graph-level row among the graphs of all modules, by the number of the
// graph and its time. It is used for rows that neither the source nor the neighbouring launches
// identify.
//
// XLA compiles a module at its first call. It instantiates the module's graphs at their first
// launch on each device, and some again when their buffers move. The driver numbers graphs in the
// order of creation (CUPTI: graphId of a graph trace). On one device, the graphs by number
// therefore follow the order of the modules by program id, with some omitted. Each takes about the
// cost of its instructions. Graphs with equal time are one graph that was instantiated again. If
// programs were compiled ahead in another order, the times alone decide.
//
// Thread-safety: pure.

#ifndef XLATRACE_CORRELATOR_GRAPH_CHOICE_H_
#define XLATRACE_CORRELATOR_GRAPH_CHOICE_H_

#include <cstdint>
#include <span>
#include <vector>

namespace xlatrace::correlator {

// Rows of one graph on one device.
struct GraphRows {
  double mean_ns = 0;           // Mean time of a launch; > 0.
  std::vector<uint32_t> among;  // Candidate graphs, ascending; indices in `costs`.
  std::vector<double> against;  // For each candidate, -ln(probability) of all other evidence; or
                                // empty.
};

// `costs`: costs of the modules' graphs in ns, in the order in which XLA would have created them.
// `rows`: in the order of their graphs' numbers. Returns for each row a penalty per graph in
// `among`, as -ln(probability). It is the penalty of the best explanation of all rows in which the
// row belongs to that graph. Empty: there are too many rows or graphs, or no explanation exists.
std::vector<std::vector<double>> ChooseGraphs(std::span<const GraphRows> rows,
                                              std::span<const double> costs);

// Candidates with a larger penalty are excluded: a probability of one to a hundred.
inline constexpr double kImprobableCost = 4.6;

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_GRAPH_CHOICE_H_
