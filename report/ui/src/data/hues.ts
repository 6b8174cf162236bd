// SPDX-License-Identifier: Apache-2.0
// Colour of launches.

import { type Hue, hueOf, workHue } from '../phases';
import type { Report } from './report';

/** Colour of the launches of a site: of their op, or of the kind of work of their kernel. */
export function hueOfSite(report: Report, site: number): Hue {
  const { sites, ops, kernels } = report;
  const op = sites.op[site]!;
  const hue =
    op >= 0 ? ops.hue[op]! : hueOf('unknown', sites.kind[site]!.startsWith('mem') ? 'copy' : '');
  return hue === 'unknown' ? workHue(kernels.work[sites.kernel[site]!] ?? '') : hue;
}
