// SPDX-License-Identifier: Apache-2.0

// Which CUDA graph of which module a graph-level row may be, where neither a source nor the
// launches around it tell: by the number of the graph and by the time that it takes.
//
// XLA compiles a module when it is first called, and instantiates its graphs when they are first
// launched, for each device, some again when their buffers move; the driver numbers them as they
// are made (CUPTI: graphId of a graph trace). So on one device the graphs by their number are the
// graphs of the modules by program id, some left out, and each takes about what its instructions
// cost; those that take the same time are the same one, instantiated again. Where programs were
// compiled ahead in another order, the times alone decide.
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
  double mean_ns = 0;           // That a launch takes; > 0.
  std::vector<uint32_t> among;  // Graphs that they may be of, ascending; places in `costs`.
  std::vector<double> against;  // Of each of these, -ln(probability) of all else; or empty.
};

// Costs of the modules' graphs in ns, in the order in which XLA would have made them; the rows in
// the order of their graphs' numbers. For each row, as many as `among`: how much worse the best
// explanation of all rows is in which the row is of that graph, in units of -ln(probability).
// Empty: there are too many, or nothing explains the rows.
std::vector<std::vector<double>> ChooseGraphs(std::span<const GraphRows> rows,
                                              std::span<const double> costs);

// What is this much worse is thought wrong: one to a hundred.
inline constexpr double kImprobable = 4.6;

}  // namespace xlatrace::correlator

#endif  // XLATRACE_CORRELATOR_GRAPH_CHOICE_H_
