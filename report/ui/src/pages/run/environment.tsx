// SPDX-License-Identifier: Apache-2.0
// The environment of the run, and the contents of the file.

import type { VNode } from 'preact';
import { leftOutText } from '../../components/notes';
import { CopyMenu } from '../../components/table/copy';
import { Definition, DefinitionList, HeadingBar, HeadingEnd } from '../../components/text';
import type { Report } from '../../data/report';
import {
  baseName,
  byteRate,
  bytes,
  duration,
  flopRate,
  plural,
  significant,
  thousands,
} from '../../format';
import { GLOSSARY } from '../../glossary';
import licences from '../../licences.txt?raw';

/** Paths of the recording machine: the last two parts, and the whole path as the tooltip. */
const shortPaths = (text: string): string =>
  text.replace(/(?<![\w.])(?:\/[^/\s,:;'"]+){2,}(\/[^/\s,:;'"]+\/[^/\s,:;'"]+)/g, '…$1');

export function Environment({ report }: { report: Report }): VNode {
  const t = report.tables.table('run_info');
  const keys = t.texts('key'),
    values = t.texts('value');
  const d = report.devices[0],
    amd = d?.computeCapability.startsWith('gfx');
  const { run } = report.meta;
  const skip = new Set([
    'command',
    'start_unix_ns',
    'end_unix_ns',
    'job_heading',
    'job_headline',
    'job_reason',
    'job_cause',
    'job_cost_ns_per_step',
    'job_waited_for',
  ]);
  return (
    <>
      <section>
        <HeadingBar>
          <h3>Environment</h3>
          <HeadingEnd>
            <CopyMenu />
          </HeadingEnd>
        </HeadingBar>
        <DefinitionList>
          {run.command && (
            <>
              <dt>command</dt>
              <dd class="mono" title={run.command}>
                {shortPaths(run.command)}
              </dd>
            </>
          )}
          {run.date && (
            <Definition term="recorded">
              {run.date}, {duration(run.end_ns - run.start_ns)} from the first device work to the
              last
            </Definition>
          )}
          {run.device_text && (
            <Definition term="devices">
              {run.device_text}
              {report.meta.job?.kept && `, launches of ${report.meta.job.kept}`}
              {d &&
                d.computeCapability &&
                `, ${amd ? d.computeCapability : `sm_${d.computeCapability.replace('.', '')}`}`}
              {d && d.sms > 0 && `, ${d.sms} ${amd ? 'CUs' : 'SMs'}`}
            </Definition>
          )}
          {d && d.bandwidth > 0 && (
            <Definition term="memory">
              {d.memory > 0 && `${bytes(d.memory)} each, `}
              {byteRate(d.bandwidth)}
            </Definition>
          )}
          {d && d.clockHz > 0 && (
            <Definition term="clock">
              {significant(d.clockHz / 1e6)} MHz at most; not sampled
            </Definition>
          )}
          {d && Object.keys(d.peaks).length > 0 && (
            <Definition term="peaks">
              {Object.entries(d.peaks)
                .map(([k, v]) => `${k} ${flopRate(v)}`)
                .join(', ')}
            </Definition>
          )}
          <Definition term="processes">{report.tables.rows('processes')}</Definition>
          {keys.map(
            (k, i) =>
              !skip.has(k) &&
              values[i] && (
                <>
                  <dt>{k.replace(/_/g, ' ')}</dt>
                  <dd title={values[i]}>
                    {k.endsWith('_ns') && /^\d+$/.test(values[i])
                      ? duration(Number(values[i]))
                      : shortPaths(values[i])}
                  </dd>
                </>
              ),
          )}
        </DefinitionList>
      </section>
      <section>
        <h3>How numbers are made</h3>
        <DefinitionList>
          <dt>{report.perStep}</dt>
          <dd>
            {report.meta.basis.steady
              ? 'mean over typical steps and devices'
              : 'sum over ' +
                `${report.jobStep ? `the launches of ${report.meta.job!.kept}` : 'the whole run'}`}
          </dd>
          {GLOSSARY.map(([word, meaning]) => (
            <Definition term={word}>{meaning}</Definition>
          ))}
        </DefinitionList>
      </section>
    </>
  );
}

export function InFile({ report }: { report: Report }): VNode {
  const { index } = report.tables;
  const size = new Map<number, number>(index.blocks.map((b) => [b.block, b.bytes]));
  const blocksOf = (...names: string[]): number => {
    const set = new Set<number>();
    for (const n of names) {
      const t = index.tables[n];
      if (t?.block !== undefined) set.add(t.block);
      t?.chunks?.forEach((c) => set.add(c.block));
    }
    return [...set].reduce((a, b) => a + (size.get(b) ?? 0), 0);
  };
  const { launches, hlo, left_out } = report.meta;
  const source = report.tables.rows('source_files');
  return (
    <section>
      <h3>In this file</h3>
      <DefinitionList>
        <Definition term="launches">
          {thousands(launches.in_page)} of {thousands(launches.in_run)}
          {launches.in_page > 0 && `, ${bytes(blocksOf('launches'))} unpacked`}
        </Definition>
        <Definition term="HLO text">
          {report.tables.rows('instructions') === 0
            ? 'none: this run has no HLO'
            : hlo.text === 'hot'
              ? 'of the ops that take most'
              : hlo.text}
          {report.tables.rows('hlo_text') > 0 && `, ${bytes(blocksOf('hlo_text'))} unpacked`}
          {hlo.instructions_left_out > 0 &&
            `; ${thousands(hlo.instructions_left_out)} instructions left out`}
        </Definition>
        <Definition term="source">
          {source > 0 ? plural(source, 'file') : 'none: report --source DIR adds it'}
        </Definition>
        {left_out.map((l) => (
          <Definition term="left out">{leftOutText(l)}</Definition>
        ))}
        <Definition term="format">
          {index.format.major}.{index.format.minor}, written by xlatrace {report.meta.tool_version}
        </Definition>
        <Definition term="made from" mono>
          {baseName(report.meta.run.path)}
        </Definition>
        <Definition term="network">never used: the page’s policy forbids it</Definition>
      </DefinitionList>
      <details class="lic">
        <summary>licences: Preact (MIT)</summary>
        <pre>{licences}</pre>
      </details>
    </section>
  );
}
