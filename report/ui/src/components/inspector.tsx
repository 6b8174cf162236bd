// SPDX-License-Identifier: Apache-2.0
// The drawer: all facts about one op, kernel, module, instruction or finding, on any page.

import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Entity } from '../data/entities';
import { navigate } from '../state';
import { OpBody } from './inspector/op';
import { KernelBody } from './inspector/kernel';
import { ModuleBody, InstructionBody } from './inspector/module';
import { FindingBody } from './inspector/finding';

export function Inspector({ entity, sel }: { entity: Entity | undefined; sel: string }): VNode {
  const box = useRef<HTMLElement>(null);
  const came = useRef<HTMLElement | null>(null);
  useEffect(() => {
    came.current ??= document.activeElement as HTMLElement | null;
    return () => came.current?.isConnected && came.current.focus();
  }, []);
  useEffect(() => {
    if (box.current) box.current.scrollTop = 0;
  }, [sel]);
  const crumbs: [string, boolean][] = [
    ['kernel', entity?.type === 'kernel'],
    ['HLO instruction', entity?.type === 'op' || entity?.type === 'instruction'],
    ['module', entity?.type === 'module'],
    ['finding', entity?.type === 'finding'],
  ];
  const here = crumbs.find(([, on]) => on)?.[0] ?? '';
  return (
    <aside
      class="drawer"
      ref={box}
      aria-label={`Inspector: ${sel.split('~').pop()}`}
      data-testid="inspector"
    >
      <div class="crumb">
        <span>{here}</span>
        <button
          class="close"
          aria-label="Close the inspector"
          data-testid="inspector-close"
          onClick={() => navigate({ sel: '' })}
        >
          ✕
        </button>
      </div>
      {!entity && (
        <p class="note warn">
          “{sel.replace('~', ' ')}” is not in this run. It may have another name here: search for it
          with <kbd>/</kbd>.
        </p>
      )}
      {entity?.type === 'op' && <OpBody op={entity.row} key={`o${entity.row}`} />}
      {entity?.type === 'kernel' && <KernelBody kernel={entity.row} />}
      {entity?.type === 'module' && <ModuleBody row={entity.row} />}
      {entity?.type === 'instruction' && (
        <InstructionBody row={entity.row} key={`i${entity.row}`} />
      )}
      {entity?.type === 'finding' && <FindingBody row={entity.row} />}
    </aside>
  );
}
