// SPDX-License-Identifier: Apache-2.0
// Use of device memory at its peak, and changes that would free memory.

import type { VNode } from 'preact';
import { NoPage } from '../components/hidden_pages';
import { useLoad } from '../components/hooks';
import { LeftOut, Problem } from '../components/notes';
import { HeadingBar, HeadingEnd, Unfiltered } from '../components/text';
import { useReport } from '../ctx';
import { hloOf } from '../data/hlo';
import { loadLive } from '../data/memory';
import { bytes, percent, plural, thousands } from '../format';
import { PHASES } from '../phases';
import { navigate } from '../state';
import { Buffers } from './memory/buffers';
import { Curve, MemoryHow } from './memory/curve';
import { WhatFrees } from './memory/frees';
import { ownerOf, reserved } from './memory/values';

export function MemoryPage(): VNode {
  const { report, state } = useReport();
  const { value: lives, error } = useLoad(() => loadLive(report), [report]);
  if (error !== undefined) return <Problem text={error} />;
  if (!lives) return <p class="dim">reading what lives when…</p>;
  const live =
    lives.find((l) => report.modules[l.module]?.handle === state.args['m']) ??
    lives.find((l) => report.modules[l.module]?.role === 'main') ??
    lives[0];
  if (!live)
    return (
      <NoPage id="memory" title="Memory is not known">
        <LeftOut what={['live_values']} />
      </NoPage>
    );
  const hlo = hloOf(report);
  const module = report.modules[live.module]!;
  const asked = Number(state.args['at']);
  const at =
    state.args['at'] !== undefined && asked >= 0 && asked < live.order.length
      ? Math.floor(asked)
      : live.peakAt;
  const i = live.order[at]!;
  const xla = reserved(report, live.module);
  const most = xla > 0 ? xla : live.peak;
  const parts = new Map<string, number>();
  for (const v of live.values)
    if (v.first <= at && v.last >= at) parts.set(ownerOf(v), (parts.get(ownerOf(v)) ?? 0) + v.size);
  const capacity = report.devices[0]?.memory ?? 0;
  const phase =
    hlo.phase[i] && (PHASES as readonly string[]).slice(0, 5).includes(hlo.phase[i])
      ? `, ${hlo.phase[i]}`
      : '';
  return (
    <div class="secs">
      <section>
        <HeadingBar>
          <h2 data-testid="memory-sentence">
            {module.name} {xla > 0 ? 'reserves' : 'holds'} {bytes(most)}
            {xla > 0 ? '' : ' at its peak'}
            {capacity > 0 ? `, ${percent(most, capacity)}% of the device` : ''}
          </h2>
          {lives.length > 1 && (
            <label class="pick sm">
              module{' '}
              <select
                value={module.handle}
                aria-label="module"
                onChange={(e) => navigate({ args: { m: e.currentTarget.value, at: undefined } })}
              >
                {lives.slice(0, 60).map((l) => (
                  <option value={report.modules[l.module]!.handle}>
                    {report.modules[l.module]!.handle} {report.modules[l.module]!.name},{' '}
                    {bytes(l.peak)}
                  </option>
                ))}
                {lives.length > 60 && (
                  <option disabled>
                    {thousands(lives.length - 60)} smaller ones, {bytes(lives[60]!.peak)} at most,
                    are not listed
                  </option>
                )}
              </select>
            </label>
          )}
          <HeadingEnd>
            <Unfiltered />
            {plural(live.order.length, 'instruction')} in program order,{' '}
            {plural(live.values.length, 'value')}
          </HeadingEnd>
        </HeadingBar>
        <MemoryHow at={at} live={live} hlo={hlo} i={i} phase={phase} parts={parts} />
        <p class="note" data-testid="memory-basis">
          {xla > 0
            ? `XLA’s buffer assignment reserves ${bytes(xla)} for the whole ` +
              `program. ${bytes(Math.max(0, xla - live.peak))} of it lie unused ` +
              'between values at the peak.'
            : 'An estimate from live ranges: no buffer assignment of this module ' +
              'was recorded.'}{' '}
          What the framework holds outside of this program is not in it.
        </p>
        <LeftOut what={['live_values', 'memory']} />
        <Curve report={report} live={live} at={at} />
      </section>
      <WhatFrees report={report} live={live} at={at} />
      <Buffers report={report} live={live} at={at} />
    </div>
  );
}
