// SPDX-License-Identifier: Apache-2.0
// Values that are computed once per report.

import type { Report } from './report';

/** A value that is computed once per report, on first use. */
export function perReport<T>(make: (report: Report) => T): (report: Report) => T {
  const made = new WeakMap<Report, T>();
  return (report) => {
    if (!made.has(report)) made.set(report, make(report));
    return made.get(report)!;
  };
}
