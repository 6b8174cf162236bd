// SPDX-License-Identifier: Apache-2.0
// Changes that would free memory.

import type { VNode } from 'preact';
import { Link } from '../../components/links';
import { hloOf } from '../../data/hlo';
import { type Live, type LiveValue, savedAt } from '../../data/memory';
import type { Report } from '../../data/report';
import { bytes, msText, percent, plural, sumBy } from '../../format';
import { reserved } from './values';

/** First index whose value is at least `v`. */
export function lower(list: number[], v: number): number {
  let a = 0,
    b = list.length;
  while (a < b) {
    const m = (a + b) >> 1;
    if (list[m]! < v) a = m + 1;
    else b = m;
  }
  return a;
}

/** Memory that donation and recomputation would free, in sentences. */
export function WhatFrees({ report, live, at }: { report: Report; live: Live; at: number }): VNode {
  const hlo = hloOf(report);
  const could = live.values.filter((v) => v.donatable).sort((a, b) => b.size - a.size);
  const donated = live.values.filter((v) => v.donated);
  const sum = (list: { size: number }[]): number => sumBy(list, (v) => v.size);
  const saved = savedAt(report, live, at);
  const named = saved.filter((s) => s.group !== '');
  const top = named[0];
  const arg = (v: LiveValue): string =>
    hlo.opName[v.instruction] || `argument ${hlo.parameter[v.instruction]}`;
  const small = 0.01 * live.peak;
  const capacity = report.devices[0]?.memory ?? 0;
  // Recomputation saves memory but costs time, so there is no advice if memory is sufficient.
  const most = reserved(report, live.module) || live.peak;
  const plenty = most < 0.5 * capacity;
  const less = report.meta.findings.find((f) => f.id.includes('recompute'));
  return (
    <section class="frees" data-testid="memory-frees">
      <h3>What would free some of it</h3>
      <ul class="evid">
        <li>
          {sum(could) > small ? (
            <>
              <b>Donate {bytes(sum(could))}</b>: {plural(could.length, 'argument')} could give{' '}
              {could.length === 1 ? 'its' : 'their'} memory to{' '}
              {could.length === 1 ? 'a result' : 'results'} of the same shape, as far as the caller
              does not need {could.length === 1 ? 'it' : 'them'} again:{' '}
              <code>jax.jit(f, donate_argnums=…)</code>. Largest:{' '}
              {could.slice(0, 3).map((v, i) => (
                <>
                  {i > 0 && ', '}
                  <Link
                    class="mono"
                    to={{ sel: report.selOf({ type: 'instruction', row: v.instruction }) }}
                  >
                    {arg(v)}
                  </Link>{' '}
                  {bytes(v.size)}
                </>
              ))}
              .
            </>
          ) : donated.length > 0 ? (
            `Donation: ${plural(donated.length, 'argument')} with ` +
            `${bytes(sum(donated))} already give their memory to results; no ` +
            `other has a result of its shape${could.length > 0 ? ` above 1% of the peak` : ''}.`
          ) : (
            'Donation: no argument has the shape of a result above 1% of the peak.'
          )}
        </li>
        <li>
          {plenty ? (
            <>
              Computing again: no need, {percent(most, capacity)}% of the device is used. It would
              cost time for memory that is there
              {less && (
                <>
                  ; the other way round gains:{' '}
                  <Link class="h" to={{ sel: less.handle }}>
                    {less.handle}
                  </Link>{' '}
                  {less.title}
                </>
              )}
              .
            </>
          ) : sum(saved) > small ? (
            <>
              <b>Compute again instead of keeping: up to {bytes(sum(saved))}</b> of the forward pass{' '}
              {at === live.peakAt ? 'wait at the peak' : 'wait here'} for the backward pass
              {top && (
                <>
                  , {bytes(top.size)} of them of{' '}
                  <Link class="mono" to={{ f: `scope:${top.group}`, page: 'ops' }}>
                    {top.group}
                  </Link>
                </>
              )}
              . <code>jax.checkpoint</code> (TensorFlow: <code>tf.recompute_grad</code>) around{' '}
              {top ? 'that layer' : 'the layers'} can free it
              {top?.known
                ? ` and costs up to ${msText(top.costNs)}` +
                  (report.meta.basis.steady ? ' a step' : '') +
                  ', ' +
                  'the forward time of it and of what is in it'
                : ''}
              .
              {named.length > 1
                ? ` Next: ${named
                    .slice(1, 3)
                    .map((s) => `${s.group} ${bytes(s.size)}`)
                    .join(', ')}.`
                : ''}
            </>
          ) : hlo.phase.includes('backward') ? (
            'Computing again: less than 1% of the peak waits for the backward ' +
            `pass${at === live.peakAt ? '' : ' here'}.`
          ) : (
            'Computing again: this program has no backward pass that values wait for.'
          )}
        </li>
      </ul>
    </section>
  );
}
