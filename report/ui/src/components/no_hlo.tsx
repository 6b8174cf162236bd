// SPDX-License-Identifier: Apache-2.0
// Replaces a page of instructions for a run without instructions: the host ranges that launched its
// kernels.

import type { VNode } from 'preact';
import { useReport } from '../ctx';
import type { Place } from '../data/entities';
import type { RunMeta } from '../data/meta';
import type { Report } from '../data/report';
import { baseName, count, plural } from '../format';
import { SOURCE_WORDS } from '../phases';
import { HeadingBar, HeadingEnd, MonoText, NameRow, Tag } from './text';
import { Command, Missing } from './notes';
import { Handle, Link } from './links';
import { MiddleCut } from './names';
import { CopyMenu } from './table/copy';
import { DataTable } from './table';
import { figures, type Line, shares, times, words } from './table/columns';
import { type TableProps } from './table/props';

interface PlaceRow extends Place {
  kernel: number;
  most: number;
  kernels: number;
}

/**
 * Names from a path that are Python frames of PyTorch's profiler (with_stack), and the number of
 * such frames in a row.
 */
export const BY_FRAME = { is: /\.py\(\d+\): /, keep: 1, what: 'Python function' };
export const BY_MODULE = { is: /^nn\.Module: /, keep: 3, what: 'nn.Module' };

/** Time by the innermost host range of the launches. */
function placeRows(
  by: { is: RegExp; keep: number; what: string } | undefined,
  report: Report,
  run: RunMeta,
) {
  const innermost = (text: string): string =>
    text
      .split(' > ')
      .filter((name) => by?.is.test(name))
      .slice(-by!.keep)
      .map((name) => name.replace(BY_MODULE.is, ''))
      .join(' > ');
  const told =
    by &&
    [...report.launchPaths.values()].some((places) =>
      places.some((p) => p.known && innermost(p.text)),
    );
  const how = SOURCE_WORDS[run.source ?? ''];
  const rows = new Map<string, PlaceRow>();
  for (const [kernel, places] of told ? report.launchPaths : report.launchedIn) {
    for (const p of places) {
      const text = p.more
        ? 'other places'
        : told && p.known
          ? innermost(p.text) || 'no Python around it'
          : p.text;
      const row = rows.get(text) ?? {
        text,
        known: p.known,
        more: p.more,
        ns: 0,
        calls: 0,
        kernel,
        most: 0,
        kernels: 0,
      };
      row.ns += p.ns;
      row.calls += p.calls;
      ++row.kernels;
      if (p.ns > row.most) Object.assign(row, { kernel, most: p.ns });
      rows.set(text, row);
    }
  }
  const list = [...rows.values()].sort((a, b) => b.ns - a.ns);
  return { list, told, how };
}

/**
 * `lacks`: the missing content. `by`: the same content by Python function, if Python was recorded.
 */
export function NoHlo({
  title,
  lacks,
  by,
}: {
  title: string;
  lacks: string;
  by?: typeof BY_FRAME;
}): VNode {
  const { report } = useReport();
  const { run, basis } = report.meta;
  const { list, told, how } = placeRows(by, report, run);
  const any = list.some((r) => r.known);
  const d = report.divisor;
  const table: TableProps<PlaceRow> = {
    columns: [
      words<PlaceRow>('place', 'launched in', (r) => r.text, {
        cls: 'name',
        cell: (r, px) => (
          <span class={r.known ? 'mono' : 'dim'}>
            <MiddleCut text={r.text} tail={Math.min(30, px / 6.7 - 8)} />
          </span>
        ),
      }),
      times('ms', report.perStep, 90, (r) => r.ns / d, {
        exact: ['device_ns', (r) => Math.round(r.ns)],
      }),
      shares('pct', '%', 56, (r) => r.ns, basis.device_ns, {
        as: '% of device time',
        title: '% of device time',
      }),
      figures('calls', basis.steady ? 'launches/step' : 'launches', 110, (r) => r.calls / d, {
        from: 520,
        show: count,
      }),
      words<PlaceRow>('kernel', 'its largest kernel', (r) => report.kernels.name[r.kernel]!, {
        from: 640,
        cls: 'name',
        cell: (r) => (
          <NameRow>
            <Handle kernel={r.kernel} />{' '}
            <MonoText>
              <MiddleCut text={report.kernels.name[r.kernel]!} />
            </MonoText>
            {r.kernels > 1 && <Tag>+{r.kernels - 1}</Tag>}
          </NameRow>
        ),
      }),
    ],
    lines: list.map((r): Line<PlaceRow> => ({
      key: r.text,
      row: r,
      ns: r.ns,
      testid: 'place',
      entity: { type: 'kernel', row: r.kernel },
    })),
    label: 'Launched in',
    fileName: 'launched-in',
    primary: true,
    fill: true,
  };
  return (
    <>
      {!told && (
        <Missing
          title={title}
          why={
            report.modules.some((m) => m.instructions > 0)
              ? `No launch of this run is matched with an instruction of its HLO, so ${lacks}.`
              : `This run${how ? `, ${how},` : ''} holds no HLO, so ${lacks}.`
          }
        >
          <p data-testid="instead">
            Known instead: <Link to={{ page: 'ops', args: { v: 'kernel' } }}>its kernels</Link> by
            name{any && ', and the host ranges that launched them'}. If its programs are XLA’s, a
            dump of them brings the rest:{' '}
            <Command text={`xlatrace attach ${baseName(run.path)} --modules DUMP_DIR`} />
          </p>
        </Missing>
      )}
      {any && (
        <>
          <HeadingBar>
            <h2>{told ? `By ${by!.what}` : 'What launched the kernels'}</h2>
            <HeadingEnd>
              {told && 'no HLO: the innermost around each launch · '}
              {plural(list.filter((r) => r.known).length, 'place')} · a row opens its largest kernel
              · <CopyMenu table={table} />
            </HeadingEnd>
          </HeadingBar>
          <DataTable {...table} />
        </>
      )}
    </>
  );
}
