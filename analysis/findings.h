// What is worth doing about a run, with the evidence (RUNDB, finding).
//
// Every figure is per steady step of one device, the mean over devices. Without a steady step
// nothing is claimed, except that time has no label. `saves_high` is the time that the thing takes
// now, an upper bound that is measured; a lower bound needs a model and is NULL here.

#ifndef XLATRACE_ANALYSIS_FINDINGS_H_
#define XLATRACE_ANALYSIS_FINDINGS_H_

#include <vector>

#include "model/derived.h"

namespace xlatrace::analysis {

// Rules (ids are stable): `idle`, from 20 % of the step; `exposed_collective`, from 10 %;
// `recompute`, from 15 %; `dominant_op`, one instruction from 30 % of device time;
// `unattributed`, from 5 % of device time. The last one comes first, as it limits what the others
// can know; the rest by what they could save.
std::vector<model::FindingRow> FindFindings(const model::AttributionTables& attribution,
                                            const model::AnalysisTables& analysis);

}  // namespace xlatrace::analysis

#endif  // XLATRACE_ANALYSIS_FINDINGS_H_
