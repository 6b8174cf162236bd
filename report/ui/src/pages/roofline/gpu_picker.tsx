// SPDX-License-Identifier: Apache-2.0
// The choice of another GPU.

import type { VNode } from 'preact';
import { gpuOf } from '../../data/hardware';
import type { Report } from '../../data/report';
import { navigate } from '../../state';

export function GpuPicker({ report, value }: { report: Report; value: string }): VNode | null {
  const own = gpuOf(report, '');
  if (report.gpus.length === 0) return null;
  return (
    <label class="sm ink2 pick">
      on{' '}
      <select
        data-testid="gpu"
        value={value}
        onChange={(e) => navigate({ args: { gpu: e.currentTarget.value } })}
      >
        <option value="">{own?.name ? `this device: ${own.name}` : 'this device'}</option>
        {report.gpus.map((g) => (
          <option value={g.name}>{g.name}</option>
        ))}
      </select>
    </label>
  );
}
