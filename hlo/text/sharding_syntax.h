// SPDX-License-Identifier: Apache-2.0

// The form of printed shardings and replica groups; used by attribute_syntax.cc only.

#ifndef XLATRACE_HLO_TEXT_SHARDING_SYNTAX_H_
#define XLATRACE_HLO_TEXT_SHARDING_SYNTAX_H_

#include "hlo/text/text_scanner.h"

namespace xlatrace::hlo {

// {replicated}, {devices=[2,1]<=[2]T(1,0) last_tile_dims={manual}}, {mesh['x'=2], [{'x'}]}, {{..},
// {..}}.
bool ScanSharding(TextScanner& scanner);

// {{0,1},{2,3}}, {}, [2,4]<=[8], mesh['x'=2,'y'=4] {'y'}.
bool ScanReplicaGroups(TextScanner& scanner);

}  // namespace xlatrace::hlo

#endif  // XLATRACE_HLO_TEXT_SHARDING_SYNTAX_H_
