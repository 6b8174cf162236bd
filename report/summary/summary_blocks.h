// SPDX-License-Identifier: Apache-2.0

// The blocks of a summary in a terminal: one class per block of a few lines. Internal to
// report/summary/.

#ifndef XLATRACE_REPORT_SUMMARY_SUMMARY_BLOCKS_H_
#define XLATRACE_REPORT_SUMMARY_SUMMARY_BLOCKS_H_

#include <string>
#include <string_view>
#include <vector>

#include "model/words.h"
#include "report/run_view.h"
#include "report/summary/summary.h"

namespace xlatrace::report {

using SummaryLines = std::vector<std::string>;

void AppendLines(SummaryLines& to, SummaryLines from);

// Data that all blocks need: the run, and the width and abilities of the terminal.
class SummaryBlock {
 public:
  SummaryBlock(const RunView& view, const SummaryOptions& options);

 protected:
  std::string Clean(std::string_view text) const;
  std::string Bold(const std::string& text) const;
  // Fields that fit, in order of importance.
  std::string Fields(const SummaryLines& fields) const;
  static std::string FitName(const std::string& name, int width);

  const RunView& view_;
  const SummaryOptions& options_;
  int width_;
};

// "step 47.6 ms (half of 12 steps: 47.2 to 48.3)".
std::string StepWords(const StepsFigure& steps);

// Program and devices, time of a step, and attributed share.
class HeaderBlock : SummaryBlock {
 public:
  using SummaryBlock::SummaryBlock;
  SummaryLines Lines() const;

 private:
  SummaryLines WhatRan() const;
  std::string JobStepText() const;
  std::string Launches() const;
};

// The step bar as a table: wall time, sums to the step. Without steady steps, device time.
class PartsBlock : SummaryBlock {
 public:
  using SummaryBlock::SummaryBlock;
  SummaryLines Lines() const;

 private:
  std::string Colored(model::StepPart part, const std::string& text) const;
  SummaryLines Idle() const;
  SummaryLines Calls() const;
  std::string Note(model::StepPart part) const;
};

// Actions, by saving.
class FindingsBlock : SummaryBlock {
 public:
  using SummaryBlock::SummaryBlock;
  SummaryLines Lines() const;

 private:
  std::string AllTogether() const;
};

// Short names of checks without a problem, and of checks that the recording does not allow.
class RuledOutBlock : SummaryBlock {
 public:
  using SummaryBlock::SummaryBlock;
  SummaryLines Lines() const;

 private:
  SummaryLines WrapItems(const SummaryLines& items, std::string_view between) const;
};

// Facts that are not in the recording: unknown, cut off at the end, lost.
class NotKnownBlock : SummaryBlock {
 public:
  using SummaryBlock::SummaryBlock;
  SummaryLines Lines() const;
};

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SUMMARY_SUMMARY_BLOCKS_H_
