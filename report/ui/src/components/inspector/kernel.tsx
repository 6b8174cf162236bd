// SPDX-License-Identifier: Apache-2.0
// The drawer of a kernel.

import type { VNode } from 'preact';
import { useReport } from '../../ctx';
import type { Sites } from '../../data/entities';
import { addTerm, termText } from '../../filter';
import { count, plural, significant, formatMs, sumBy } from '../../format';
import { navigate, getState } from '../../state';
import { compared } from '../base';
import { NumberHead, NumberCell, NameRow } from '../text';
import { Letter } from '../marks';
import { Handle } from '../links';
import { MiddleCut } from '../names';
import { CopyMenu } from '../table/copy';
import { Section, Buttons, ToTimeline } from './section';
import { Sums } from './sums';

const MOST_CONFIGURATIONS = 12;
const launchText = (n: number): string => `${count(n)} ${n === 1 ? 'launch' : 'launches'}`;
function LaunchConfigurations({ mine, s }: { mine: number[]; s: Sites }): VNode {
  const { report } = useReport();
  return (
    <Section title="Launch configurations" cap={plural(mine.length, 'configuration')}>
      <div class="cap">
        <CopyMenu />
      </div>
      <table class="fix mini-t" aria-label="Launch configurations">
        <thead>
          <tr>
            <th>grid</th>
            <th>block</th>
            <NumberHead>regs</NumberHead>
            <NumberHead>smem kB</NumberHead>
            <NumberHead>occ. %</NumberHead>
            <NumberHead>ms</NumberHead>
          </tr>
        </thead>
        <tbody>
          {mine.slice(0, MOST_CONFIGURATIONS).map((r) => (
            <tr>
              <td>{s.grid[0][r]! > 0 ? s.grid.map((g) => g[r]).join('×') : ''}</td>
              <td>{s.block[0][r]! > 0 ? s.block.map((g) => g[r]).join('×') : ''}</td>
              <NumberCell>{s.regs[r]! > 0 ? s.regs[r] : ''}</NumberCell>
              <NumberCell>{isNaN(s.smem[r]!) ? '' : significant(s.smem[r]! / 1000)}</NumberCell>
              <NumberCell>{s.occupancy[r]! >= 0 ? significant(s.occupancy[r]!) : ''}</NumberCell>
              <NumberCell>{formatMs(s.ns[r]! / report.divisor)}</NumberCell>
            </tr>
          ))}
          {mine.length > MOST_CONFIGURATIONS && (
            <tr class="oth">
              <td colSpan={5}>{plural(mine.length - MOST_CONFIGURATIONS, 'other')}</td>
              <NumberCell>
                {formatMs(sumBy(mine.slice(MOST_CONFIGURATIONS), (r) => s.ns[r]!) / report.divisor)}
              </NumberCell>
            </tr>
          )}
        </tbody>
      </table>
    </Section>
  );
}
export function KernelBody({ kernel }: { kernel: number }): VNode {
  const { report } = useReport();
  const k = report.kernels;
  const s = report.sites;
  const mine = report.sitesOfKernel[kernel]!;
  // Time of each instruction in this kernel. An instruction may run other kernels, too.
  const within = new Map<number, number>();
  for (const r of mine)
    if (s.op[r]! >= 0) within.set(s.op[r]!, (within.get(s.op[r]!) ?? 0) + s.ns[r]!);
  const ops = [...within.keys()].sort((a, b) => within.get(b)! - within.get(a)!);
  const places = report.launchedIn.get(kernel);
  return (
    <>
      <div class="title">
        <h2 class="mono" data-testid="inspector-title">
          {k.name[kernel] || k.symbol[kernel]}
        </h2>
        <span class="h">{k.handle[kernel]}</span>
      </div>
      {k.symbol[kernel] && k.symbol[kernel] !== k.name[kernel] && (
        <p class="sm dim mono wrapany">{k.symbol[kernel]}</p>
      )}
      <Buttons report={report} entity={{ type: 'kernel', row: kernel }}>
        <ToTimeline />
        <button onClick={() => navigate({ page: 'occupancy' })}>Occupancy</button>
        <button
          onClick={() =>
            navigate({
              page: 'ops',
              f: addTerm(getState().f, termText('kernel', k.handle[kernel]!)),
            })
          }
        >
          Its ops
        </button>
        {compared(report) && (
          <button
            data-testid="kernel-compare"
            onClick={() => navigate({ page: 'compare', args: { by: 'kernel', c: undefined } })}
          >
            Compare
          </button>
        )}
      </Buttons>
      <Sums
        ns={k.ns[kernel]!}
        calls={k.calls[kernel]!}
        what="per step, mean"
        whole="whole run"
        testid="kernel-ms"
        ops={ops}
      />
      {places && (
        <Section title="Launched in" cap="host ranges around the calls">
          <ul class="ios" data-testid="launched-in">
            {places.map((p) => (
              <li data-ns={p.ns}>
                <span class={p.known ? 'mono wrapany' : 'dim'}>{p.text}</span>
                <span>
                  {launchText(p.calls / report.divisor)} · {formatMs(p.ns / report.divisor)} ms
                </span>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section
        title="Instructions that run it"
        cap={plural(ops.filter((o) => report.ops.name[o] !== '').length, 'op')}
      >
        <ul class="ios" data-testid="kernel-ops">
          {ops.slice(0, 20).map((o) => (
            <li>
              <NameRow>
                <Letter hue={report.ops.hue[o]!} />
                &nbsp;
                <Handle op={o} />
                &nbsp;
                <span class="mono sm">
                  <MiddleCut text={report.ops.name[o] || 'no instruction'} />
                </span>
              </NameRow>
              <span class="num">{formatMs(within.get(o)! / report.divisor)}</span>
            </li>
          ))}
          {ops.length > 20 && (
            <li class="dim">
              <span>{plural(ops.length - 20, 'other')}</span>
              <span class="num">
                {formatMs(sumBy(ops.slice(20), (o) => within.get(o)!) / report.divisor)}
              </span>
            </li>
          )}
        </ul>
      </Section>
      <LaunchConfigurations mine={mine} s={s} />
    </>
  );
}
