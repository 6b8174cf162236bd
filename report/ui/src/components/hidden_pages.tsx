// SPDX-License-Identifier: Apache-2.0
// Pages without content in this run: the Run page and Ctrl K list the reasons.

import type { ComponentChildren, VNode } from 'preact';
import type { Report } from '../data/report';
import { hasPage, type Page, PAGES } from '../state';
import { sentenceOf } from '../format';
import { useReport } from '../ctx';
import { Command, Missing } from './notes';
import { Link } from './links';
import { DefinitionList } from './text';

const HIDDEN_BECAUSE: Partial<
  Record<Page, (report: Report, run: string) => { why: string; command?: string }>
> = {
  compare: (_, run) => ({
    why: 'no base run was given',
    command: `xlatrace report ${run} --base BASE.db`,
  }),
  idle: () => ({ why: 'the device is never idle for 1 µs or more, or the source does not tell' }),
  ranks: (report, run) =>
    report.devices.length > 1
      ? {
          why:
            report.steps.length > 0
              ? 'only one of its devices has steps'
              : 'no step was found on its devices',
        }
      : {
          why: 'the run is of one device; of several recordings of a job',
          command: `xlatrace merge ${run} OTHER.db -o job.db`,
        },
  memory: (_, run) => ({
    why: 'no module of it holds a schedule, the order that says which values live together',
    command: `xlatrace attach ${run} --modules DIR`,
  }),
};

/** Name of the page, reason why it is empty, and the command that fills it. */
export function hiddenPages(
  report: Report,
): { id: Page; name: string; why: string; command?: string }[] {
  const run = report.meta.run.path.split('/').pop()!;
  return PAGES.filter(([id]) => !hasPage(report, id)).map(([id, name]) => ({
    id,
    name,
    ...(HIDDEN_BECAUSE[id]?.(report, run) ?? { why: 'nothing of it was recorded' }),
  }));
}

/** Shown instead of a page without content. */
export function NoPage({
  id,
  title,
  children,
}: {
  id: Page;
  title: string;
  children?: ComponentChildren;
}): VNode {
  const { report } = useReport();
  const { why, command } = HIDDEN_BECAUSE[id]!(report, report.meta.run.path.split('/').pop()!);
  return (
    <Missing title={title} why={sentenceOf(why)} command={command}>
      {children}
    </Missing>
  );
}

export function HiddenPages({ report }: { report: Report }): VNode | null {
  const hidden = hiddenPages(report);
  if (hidden.length === 0) return null;
  return (
    <section data-testid="hidden-pages">
      <h3>Pages without content</h3>
      <DefinitionList>
        {hidden.map(({ id, name, why, command }) => (
          <>
            <dt>
              <Link to={{ page: id }}>{name}</Link>
            </dt>
            <dd data-testid={`hidden-${id}`}>
              {why}
              {command && (
                <>
                  : <Command text={command} />
                </>
              )}
            </dd>
          </>
        ))}
      </DefinitionList>
    </section>
  );
}
