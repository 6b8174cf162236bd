// SPDX-License-Identifier: Apache-2.0

// Words, letters and short forms: how a value of run.db is shown to a person.
//
// Thread-safety: re-entrant.

#ifndef XLATRACE_REPORT_SHOWN_WORDS_H_
#define XLATRACE_REPORT_SHOWN_WORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/kernel_class.h"
#include "model/words.h"

namespace xlatrace::report {

// SQL for the name of a device, for the view `device`. This is the recorded name, or a more
// specific name from the table of GPUs ("MI300X" for "AMD GPU (304 compute units)").
inline constexpr std::string_view kDeviceNameSql =
    "CASE WHEN gpu IS NULL OR name LIKE '%' || gpu || '%' OR name LIKE '%NVIDIA%' THEN name"
    " ELSE gpu END";

// The script or module of a command ("train.py", "serve.main"), or its program. If the program is
// only Python, the name of run.db.
std::string TitleOf(std::string_view command, std::string_view path);

// "2026-05-24 12:30 UTC" from nanoseconds since 1970 as text; empty when that is no number.
std::string DateOf(std::string_view unix_ns);

// "1 launch", "1,203 launches".
std::string Counted(int64_t count, std::string_view one, std::string_view many);

model::Phase PhaseOrUnknown(std::string_view text);
model::Severity SeverityFromText(std::string_view text);  // Unknown words: notice.
std::optional<model::StepPart> StepPartFromText(std::string_view text);

// Display order of phases and parts: the order within a step, then parts without computation.
inline constexpr model::Phase kPhaseOrder[] = {model::Phase::kForward,   model::Phase::kLoss,
                                               model::Phase::kRecompute, model::Phase::kBackward,
                                               model::Phase::kOptimizer, model::Phase::kOther,
                                               model::Phase::kUnknown};
inline constexpr model::StepPart kPartOrder[] = {
    model::StepPart::kForward,     model::StepPart::kLoss,
    model::StepPart::kRecompute,   model::StepPart::kBackward,
    model::StepPart::kOptimizer,   model::StepPart::kOther,
    model::StepPart::kUnknown,     model::StepPart::kExposedCollective,
    model::StepPart::kExposedCopy, model::StepPart::kIdle};

// The word of a phase; "no phase" if the phase is unknown.
std::string_view PhaseWords(model::Phase phase);
// Display word for a word of run.db; other words are returned unchanged.
std::string PhaseWords(const std::string& word);
// "exposed collectives"; for phases as above.
std::string_view PartWords(model::StepPart part);
// F L R B O C M; "-" other, "?" unknown, "\u00b7" idle.
std::string PartLetter(model::StepPart part);
std::string PhaseLetter(model::Phase phase);
// Name of the colour of a part: forward, ..., collective, copy, idle, other, unknown.
std::string_view PartColor(model::StepPart part);
// The same for kinds of work of runs without phases: "product", ...; "other" for other kernels.
std::string_view WorkColor(analysis::KernelClass work);
std::string_view WorkLetter(analysis::KernelClass work);

// "elementwise fusion"; `narrow`: at most 11 columns ("elementwise").
std::string KindWords(std::string_view op_kind, bool narrow = false);

// One sentence for a value of `unattributed_reason`.
std::string_view ReasonWords(std::string_view reason);
// "NVTX range at the launch" for an evidence word.
std::string_view EvidenceWords(std::string_view evidence);
// "the host launches too slowly" for a cause of a gap.
std::string_view CauseWords(std::string_view cause);
// Words for the limit of an op. A copy to or from the host uses no network.
std::string_view BoundWords(std::string_view bound_by, std::string_view op_kind);
// A duration without unit, in the unit that Duration uses for `of_ns`: "0.700" of "1.00 s".
std::string InUnitOf(double ns, double of_ns);

// "layers.py:88" from a path and a line; empty if there is no file.
std::string SourceLine(std::string_view file, const std::optional<int64_t>& line);

// Last component of an op_name, outside parentheses: "dot_general".
std::string_view OpNameTail(std::string_view op_name);

// Name of an op in a narrow column: layer group and the end of the op_name ("layer_*/mlp
// dot_general"). Empty if both are unknown.
std::string ScopeWords(std::string_view layer_group, std::string_view op_name);

// At most `width` columns of a path: whole components from its end, as in "../mlp/wi_0".
std::string ShortPath(std::string_view path, int width);

}  // namespace xlatrace::report

#endif  // XLATRACE_REPORT_SHOWN_WORDS_H_
