// SPDX-License-Identifier: Apache-2.0
// The HLO text of an op, operands and users.

import type { VNode, ComponentChildren } from 'preact';
import { useReport } from '../../ctx';
import { hloOf, hloText, lineOf } from '../../data/hlo';
import { useLoad, copyText } from '../hooks';
import { Problem } from '../notes';
import { Section } from './section';
import { InstructionList } from './sums';

export function HloSections({ row }: { row: number }): VNode | null {
  const { report } = useReport();
  const hlo = hloOf(report);
  const { value: text, error } = useLoad(() => hloText(report), [report]);
  if (row < 0 || row >= hlo.n) return null;
  const body = hlo.called(row).filter((c) => hlo.computations.fusion[c] === 1);
  const lines: string[] = [lineOf(hlo, row, text)];
  for (const c of body) {
    lines.push('', `// ${hlo.computations.name[c]}`);
    const begin = hlo.computations.begin[c]!,
      count = hlo.computations.count[c]!;
    for (let i = begin; i < begin + Math.min(count, 400); ++i) lines.push(lineOf(hlo, i, text));
    if (count > 400) lines.push(`// ${count - 400} more instructions`);
  }
  const all = lines.join('\n');
  const complete = text?.has(row) ?? false;
  return (
    <>
      <section class="two">
        <div>
          <h3>Operands</h3>
          <InstructionList rows={[...hlo.operands(row)]} edge={(i) => hlo.outBytes[i]!} />
        </div>
        <div>
          <h3>Users</h3>
          <InstructionList rows={[...hlo.users(row)]} edge={() => hlo.outBytes[row]!} />
        </div>
      </section>
      <Section
        title="HLO"
        cap={
          <>
            {!complete && text && 'made from the graph, without attributes · '}
            <button class="mini" onClick={() => void copyText(all)}>
              copy
            </button>
          </>
        }
      >
        {error !== undefined && <Problem text={error} />}
        <pre class="hlo" tabIndex={0} aria-label="HLO text">
          {highlight(all)}
        </pre>
      </Section>
    </>
  );
}
/** Colours names, comments and attributes of HLO text; creates text nodes only. */
const KEYWORDS = 'ROOT|calls|kind|dimensions|custom_call_target|to_apply|body|condition';
/** Comments, names and keywords of HLO text. */
const TOKENS = new RegExp(`(//[^\\n]*)|(%[\\w.-]+)|(\\b(?:${KEYWORDS})\\b=?)`, 'g');

function highlight(text: string): ComponentChildren[] {
  const out: ComponentChildren[] = [];
  let at = 0;
  for (const m of text.matchAll(TOKENS)) {
    out.push(text.slice(at, m.index));
    out.push(<span class={m[1] ? 'c' : m[2] ? 'k' : 's'}>{m[0]}</span>);
    at = m.index + m[0].length;
    if (out.length > 6000) break;
  }
  out.push(text.slice(at));
  return out;
}
