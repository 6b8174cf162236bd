// SPDX-License-Identifier: Apache-2.0
// Parts of the drawer that all entities share.

import type { ComponentChildren, VNode } from 'preact';
import { copyText } from '../hooks';
import { HeadingEnd } from '../text';
import type { Report } from '../../data/report';
import type { Entity } from '../../data/entities';
import { navigate } from '../../state';

export function Section({
  title,
  cap,
  children,
}: {
  title: string;
  cap?: ComponentChildren;
  children: ComponentChildren;
}): VNode {
  return (
    <section>
      <h3>
        {title}
        {cap !== undefined && <HeadingEnd>{cap}</HeadingEnd>}
      </h3>
      {children}
    </section>
  );
}
export function Buttons({
  report,
  entity,
  children,
}: {
  report: Report;
  entity: Entity;
  children?: ComponentChildren;
}): VNode {
  const handle = report.selOf(entity).split('~')[0]!;
  const command = `xlatrace show ${handle} ${report.meta.run.path.split('/').pop()}`;
  return (
    <div class="acts-b">
      {children}
      <button
        data-testid="copy-link"
        onClick={() => void copyText(location.href.split('/').pop() ?? '')}
      >
        Copy link <kbd>y</kbd>
      </button>
      {/^[okmf]\d/.test(handle) && (
        <button title={command} onClick={() => void copyText(command)}>
          Copy command
        </button>
      )}
    </div>
  );
}
export const ToTimeline = (): VNode => (
  <button
    data-testid="to-timeline"
    onClick={() => navigate({ page: 'timeline', args: { z: 'op', t: undefined, a: undefined } })}
  >
    Timeline <kbd>t</kbd>
  </button>
);
