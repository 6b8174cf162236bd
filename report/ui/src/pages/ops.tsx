// SPDX-License-Identifier: Apache-2.0
// Which instructions and kernels, ranked; every launch. Columns in the words of XProf's tables.

import type { VNode } from 'preact';
import { useReport } from '../ctx';
import { rowsShown } from './ops/controls';
import { Instructions } from './ops/instructions';
import { KernelTable } from './ops/kernels';
import { LaunchesView } from './ops/launches';

export function OpsPage(): VNode {
  const { report, state } = useReport();
  switch (rowsShown(report, state.args['v'])) {
    case 'kernel':
      return <KernelTable />;
    case 'launch':
      return <LaunchesView />;
    default:
      return <Instructions />;
  }
}
