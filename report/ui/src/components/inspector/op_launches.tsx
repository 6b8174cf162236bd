// SPDX-License-Identifier: Apache-2.0
// Launches of an op: evidence, times, critical path, shares.

import type { VNode } from 'preact';
import { Histogram } from '../../charts/histogram';
import { useReport } from '../../ctx';
import { loadLaunches } from '../../data/launches';
import { launchesOf, statsOf } from '../../data/stats';
import { sumBy, thousands, plural, significant, duration, percent } from '../../format';
import { EVIDENCE_WORDS, PHASES, REASON_WORDS } from '../../words';
import { DimText, FaintText, SmallText, NumberCell, ColumnWidths } from '../text';
import { useLoad } from '../hooks';
import { Problem, Command } from '../notes';
import { SourceChip } from '../links';
import { Letter } from '../marks';
import { Section } from './section';
import { hueOf } from '../../phases';
import { CopyMenu } from '../table/copy';

export function OpEvidence({ op }: { op: number }): VNode {
  const { report } = useReport();
  const s = report.sites;
  const sums = new Map<string, { confidence: string; words: string; ns: number; calls: number }>();
  for (const r of report.sitesOfOp[op]!) {
    const word = s.evidence[r] || s.reason[r]!;
    const key = `${s.confidence[r]}/${word}`;
    const to = sums.get(key) ?? {
      confidence: s.confidence[r]!,
      words: EVIDENCE_WORDS[word] ?? REASON_WORDS[word] ?? word,
      ns: 0,
      calls: 0,
    };
    to.ns += s.ns[r]!;
    to.calls += s.occurrences[r]!;
    sums.set(key, to);
  }
  const list = [...sums.values()].sort((a, b) => b.ns - a.ns);
  const exact = sumBy(
    list.filter((e) => e.confidence === 'exact'),
    (e) => e.calls,
  );
  const all = sumBy(list, (e) => e.calls);
  if (list.length === 0) return <></>;
  return (
    <Section
      title="Evidence"
      cap={
        `${report.ops.confidence[op]}, ${thousands(exact)} of ` +
        `${plural(all, 'launch', 'launches')} exact`
      }
    >
      <ul class="chain">
        {list.map((e) => (
          <li
            class={e.confidence === 'exact' ? '' : e.confidence === 'inferred' ? 'guess' : 'lose'}
          >
            <i aria-hidden />
            <span>{e.words}</span>
            <DimText>
              {e.confidence}, {plural(e.calls, 'launch', 'launches')}
            </DimText>
          </li>
        ))}
      </ul>
    </Section>
  );
}
export function OpLaunches({ op }: { op: number }): VNode {
  const { report } = useReport();
  const { ops } = report;
  const inPage = report.tables.rows('launches') > 0;
  const { value, error } = useLoad(async () => {
    if (!inPage) return null;
    const launches = await loadLaunches(report);
    const sites = new Set(report.sitesOfOp[op]);
    const found = launchesOf(report, launches, sites, ops.ns[op]! > 0);
    return { stats: statsOf(found.durations), ...found };
  }, [op]);
  const s = value?.stats;
  const cap =
    s && s.n > 0
      ? `${thousands(s.n)}: ${plural(value.steps, 'step')} × ` +
        `${plural(value.devices, 'device')}${s.n > 1 ? ` · CoV ${significant(s.cov)}` : ''}`
      : undefined;
  return (
    <Section title="Launches" cap={cap}>
      {error !== undefined && <Problem text={error} />}
      {s && s.n > 0 ? (
        <>
          <Histogram durations={s.durations} hue={ops.hue[op]!} />
          {value.steps < 10 ? (
            s.n > 1 && (
              <FaintText>
                {duration(s.min)} to {duration(s.max)}; {plural(value.steps, 'step')}: too few for
                percentiles
              </FaintText>
            )
          ) : (
            <FaintText>
              median {duration(s.p50)} · p90 {duration(s.p90)} · p99 {duration(s.p99)}
            </FaintText>
          )}
          {report.meta.launches.how === 'steps' && (
            <FaintText>of the launches in this file, which are not all</FaintText>
          )}
        </>
      ) : (
        value !== undefined && (
          <FaintText>
            {ops.calls[op] === 0 && ops.ns[op]! > 0
              ? 'It ran inside a CUDA graph that was recorded as one row: its time is an estimate.'
              : isNaN(ops.min[op]!)
                ? 'No launch of it is in this file.'
                : `from ${duration(ops.min[op]!)} to ${duration(ops.max[op]!)} over the whole run`}
          </FaintText>
        )
      )}
      {value === undefined && error === undefined && <FaintText>reading launches…</FaintText>}
    </Section>
  );
}
/**
 * The share of its time that the step waits for, and the command that replays the step with a
 * change.
 */
export function OpOnPath({ op }: { op: number }): VNode | null {
  const { report } = useReport();
  const { ops } = report;
  const { replay, run } = report.meta;
  const part = ops.critical[op]!,
    slack = ops.slack[op]!;
  if (!replay || isNaN(part)) return null;
  const command = `xlatrace what-if ${run.path.split('/').pop()} --op ${ops.handle[op]}=0.5x`;
  return (
    <Section
      title="Critical path"
      cap={replay.error_pct !== null ? `replay error ${significant(replay.error_pct)}%` : undefined}
    >
      <SmallText data-testid="op-critical" data-pct={part}>
        {part > 0 ? (
          <>
            <b>{percent(part, 100)}%</b> of its time is on that of its device
            {part < 99.95 && slack > 0
              ? `; the rest may grow by ${duration(slack)} a launch before the step does`
              : ''}
            .
          </>
        ) : (
          <>
            It is never on it
            {slack > 0 ? `: it may grow by ${duration(slack)} a launch before the step does` : ''}.
          </>
        )}
      </SmallText>
      {ops.handle[op] !== '' && (
        <FaintText>
          Twice as fast, replayed: <Command text={command} />
        </FaintText>
      )}
    </Section>
  );
}
export function OpShares({ op }: { op: number }): VNode | null {
  const { report } = useReport();
  const rows = report.sharesOfOp[op]!.filter((r) => report.shares.ppm[r]! > 0);
  if (rows.length < 2) return null;
  const s = report.shares;
  const list = rows.slice().sort((a, b) => s.ppm[b]! - s.ppm[a]!);
  const shown = list.slice(0, 8);
  const others = list.slice(8);
  return (
    <Section title="What is inside" cap="shares by the cost model, an estimate">
      <div class="cap">
        <CopyMenu />
      </div>
      <table class="fix mini-t" aria-label="Shares">
        <ColumnWidths of={[20, 0, 110, 48]} />
        <tbody>
          {shown.map((r) => (
            <tr>
              <td>
                <Letter hue={hueOf(PHASES[s.phase[r]!]!, '')} />
              </td>
              <td class="name" title={s.opName[r]}>
                {s.opName[r]
                  ? s.opName[r].split('/').slice(-3).join('/')
                  : s.layer[r] || 'no op_name'}
              </td>
              <td class="name">
                <SourceChip file={s.file[r]!} line={s.line[r]!} />
              </td>
              <NumberCell>{significant(s.ppm[r]! / 1e4)}%</NumberCell>
            </tr>
          ))}
          {others.length > 0 && (
            <tr class="oth">
              <td />
              <td>{plural(others.length, 'other')}</td>
              <td />
              <NumberCell>{significant(sumBy(others, (r) => s.ppm[r]!) / 1e4)}%</NumberCell>
            </tr>
          )}
        </tbody>
      </table>
    </Section>
  );
}
