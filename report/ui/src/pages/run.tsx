// SPDX-License-Identifier: Apache-2.0
// Quality of the recording: evidence, losses, modules, steps, environment, and the contents of the
// file.

import type { VNode } from 'preact';
import { HiddenPages } from '../components/hidden_pages';
import { DefinitionList, HeadingBar } from '../components/text';
import { useReport } from '../ctx';
import { percent } from '../format';
import { Environment, InFile } from './run/environment';
import { Evidence, Stats } from './run/evidence';
import { Compile, Memory, Modules, Steps } from './run/programs';

export function RunPage(): VNode {
  const { report } = useReport();
  const base = report.meta.base;
  return (
    <>
      <HeadingBar>
        <h2>Can I trust this?</h2>
        <span class="ink2">{report.meta.trust}</span>
      </HeadingBar>
      <div class="split runsplit">
        <div class="secs">
          <Evidence report={report} />
          <Stats report={report} />
          <Modules report={report} />
          <Steps report={report} />
          <Compile report={report} />
          <Memory report={report} />
        </div>
        <div class="secs">
          <Environment report={report} />
          {base && (
            <section>
              <h3>Base run</h3>
              <DefinitionList>
                <dt>run</dt>
                <dd class="mono">{base.run.path}</dd>
                <dt>command</dt>
                <dd class="mono">{base.run.command}</dd>
                <dt>recorded</dt>
                <dd>{base.run.date}</dd>
                <dt>devices</dt>
                <dd>{base.run.device_text}</dd>
                <dt>matched</dt>
                <dd>{percent(base.matched_ns, base.basis.device_ns)}% of device time</dd>
                {base.notes.map((n) => (
                  <>
                    <dt>note</dt>
                    <dd>{n}</dd>
                  </>
                ))}
              </DefinitionList>
            </section>
          )}
          <HiddenPages report={report} />
          <InFile report={report} />
        </div>
      </div>
    </>
  );
}
