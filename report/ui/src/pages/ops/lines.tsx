// SPDX-License-Identifier: Apache-2.0
// Rows of the table of instructions, in groups.

import type { Dispatch, StateUpdater } from 'preact/hooks';
import { Delta, baseDivisor, baseOps, comparable } from '../../components/base';
import { Letter } from '../../components/marks';
import { scopeText } from '../../components/names';
import type { Line } from '../../components/table/columns';
import { DimText, MonoText, TextButton } from '../../components/text';
import type { OpGroup, OpRow } from '../../data/oprows';
import type { Report } from '../../data/report';
import type { View } from '../../data/view_type';
import { count, formatMs, percent, plural, sumBy, sumNs } from '../../format';
import { type Hue, hueOf, phaseWords } from '../../phases';

export const GROUP_ROWS = 18;

export function addVanished(
  report: Report,
  by:
    | 'none'
    | 'phase'
    | 'scope'
    | 'layer'
    | 'kind'
    | 'category'
    | 'source'
    | 'file'
    | 'op'
    | 'module'
    | 'opcode'
    | 'dtype'
    | 'bound'
    | 'conf',
  out: Line<OpRow>[],
): void {
  if (comparable(report) && by === 'none') {
    // Ops of the base run that this one does not have.
    const b = baseOps(report),
      bd = baseDivisor(report);
    const gone = Array.from({ length: b.n }, (_, r) => r)
      .filter((r) => b.op[r]! < 0 && b.ns[r]! > 0)
      .sort((x, y) => b.ns[y]! - b.ns[x]!);
    for (const r of gone.slice(0, 12))
      out.push({
        key: `b/${r}`,
        kind: 'others',
        lead: (
          <>
            vanished: <MonoText>{b.name[r] || 'no instruction'}</MonoText>{' '}
            <Letter hue={hueOf(b.phase[r]!, b.kind[r]!)} /> {scopeText(b.group[r]!, b.opName[r]!)}
          </>
        ),
        cells: { base: formatMs(b.ns[r]! / bd), delta: <Delta now={0} then={b.ns[r]! / bd} /> },
      });
    if (gone.length > 12)
      out.push({
        key: 'b/o',
        kind: 'others',
        lead: `${plural(gone.length - 12, 'other')} vanished`,
        cells: { base: formatMs(sumBy(gone.slice(12), (r) => b.ns[r]!) / bd) },
      });
  }
}

interface AddOthersInput {
  limit: number;
  rows: OpRow[];
  out: Line<OpRow>[];
  g: OpGroup;
  d: number;
  toggle: (set: ReadonlySet<string>, put: (s: ReadonlySet<string>) => void, name: string) => void;
  open: ReadonlySet<string>;
  setOpen: Dispatch<StateUpdater<ReadonlySet<string>>>;
  view: View;
}

export function addOthers({
  limit,
  rows,
  out,
  g,
  d,
  toggle,
  open,
  setOpen,
  view,
}: AddOthersInput): void {
  if (limit < rows.length) {
    const rest = rows.slice(limit);
    const ns = sumNs(rest);
    const top = rest.reduce((a, r) => Math.max(a, r.ns), 0);
    const waste = sumBy(rest, (r) => r.waste || 0);
    const calls = sumBy(rest, (r) => r.calls);
    out.push({
      key: `x/${g.name}`,
      kind: 'others',
      ns: Math.round(ns),
      text: plural(rest.length, 'other'),
      lead: (
        <>
          {plural(rest.length, 'other')}, none over {formatMs(top / d)} ms ·{' '}
          <TextButton onClick={() => toggle(open, setOpen, g.name)}>show</TextButton>
        </>
      ),
      cells: {
        ms: formatMs(ns / d),
        pct: percent(ns, view.total),
        waste: waste > 0 ? formatMs(waste / d) : '',
        calls: calls > 0 ? count(calls / d) : '',
      },
    });
  }
}

interface AddGroupHeadInput {
  out: Line<OpRow>[];
  g: OpGroup;
  by:
    | 'phase'
    | 'scope'
    | 'layer'
    | 'kind'
    | 'category'
    | 'source'
    | 'file'
    | 'op'
    | 'module'
    | 'opcode'
    | 'dtype'
    | 'bound'
    | 'conf';
  fold: boolean;
  shut: boolean;
  toggle: (set: ReadonlySet<string>, put: (s: ReadonlySet<string>) => void, name: string) => void;
  closed: ReadonlySet<string>;
  setClosed: Dispatch<StateUpdater<ReadonlySet<string>>>;
  d: number;
  view: View;
}

export function addGroupHead({
  out,
  g,
  by,
  fold,
  shut,
  toggle,
  closed,
  setClosed,
  d,
  view,
}: AddGroupHeadInput): void {
  out.push({
    key: `g/${g.name}`,
    kind: 'group',
    ns: Math.round(g.ns),
    text:
      `${by === 'phase' ? phaseWords(g.name) : g.name}, ` +
      `${plural(g.rows.length, fold ? 'row' : 'instruction')}`,
    lead: (
      <button class="tree" aria-expanded={!shut} onClick={() => toggle(closed, setClosed, g.name)}>
        <span class="tree-i" aria-hidden>
          {shut ? '▸' : '▾'}
        </span>
        {by === 'phase' && <Letter hue={g.name as Hue} />}{' '}
        <span class={by === 'op' ? 'mono' : ''}>
          {by === 'phase' ? phaseWords(g.name) : g.name}
        </span>{' '}
        <DimText>{plural(g.rows.length, fold ? 'row' : 'instruction')}</DimText>
      </button>
    ),
    cells: {
      ms: formatMs(g.ns / d),
      pct: percent(g.ns, view.total),
      waste: g.waste > 0 ? formatMs(g.waste / d) : '',
      calls: g.calls > 0 ? count(g.calls / d) : '',
    },
  });
}
