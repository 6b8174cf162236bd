// SPDX-License-Identifier: Apache-2.0
// Python frames and op_name paths.

import type { VNode } from 'preact';
import { LinkedText } from '../links';

/** The file of a frame: "/x/model.py" of "/x/model.py:7 call". */
function fileOf(frame: string): string {
  return frame.replace(/:\d+(?: .*)?$/, '');
}
/** From the innermost line of the user outwards, then the frames of packages, innermost first. */

export function ownFirst(frames: string[], userFiles: ReadonlySet<string>): string[] {
  const inner = [...frames].reverse();
  const isOwn = (f: string): boolean => userFiles.has(fileOf(f));
  return [...inner.filter(isOwn), ...inner.filter((f) => !isOwn(f))];
}
/** Frames with the last component of the file only; the full path is a tooltip. */

export function Stack({ frames }: { frames: string[] }): VNode {
  return (
    <ol class="stack mono">
      {frames.map((f) => (
        <li title={f}>
          <LinkedText text={f.replace(/^\S*\//, '')} />
        </li>
      ))}
    </ol>
  );
}
/** op_name with pale wrappers and a bold last component; lines break only after a slash. */

const TRANSFORMS = ['p?jit', 'jvp', 'transpose', 'checkpoint', 'rematted_computation', 'vmap'];
const TRANSFORMATION = new RegExp(`^(${[...TRANSFORMS, 'while', 'body'].join('|')})\\b.*[(/]`);

export function OpNamePath({ text }: { text: string }): VNode {
  const parts: string[] = [];
  let depth = 0,
    from = 0;
  for (let i = 0; i < text.length; ++i) {
    if (text[i] === '(') ++depth;
    else if (text[i] === ')') --depth;
    else if (text[i] === '/' && depth <= 0) {
      parts.push(text.slice(from, i + 1));
      from = i + 1;
    }
  }
  parts.push(text.slice(from));
  return (
    <span class="opname">
      {parts
        .flatMap((p, i) => {
          // Parameters of the primitive do not belong to its name.
          const at = i === parts.length - 1 ? p.search(/.\[/) + 1 : 0;
          return at > 0 ? [p.slice(0, at), p.slice(at)] : [p];
        })
        .map((p, i) => (
          <>
            {i > 0 && <wbr />}
            <span class={i === parts.length - 1 ? 'last' : TRANSFORMATION.test(p) ? 'wrap' : ''}>
              {p}
            </span>
          </>
        ))}
    </span>
  );
}
