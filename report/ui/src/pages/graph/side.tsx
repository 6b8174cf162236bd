// SPDX-License-Identifier: Apache-2.0
// Heading and facts beside the drawing.

import type { VNode } from 'preact';
import type { Dispatch, StateUpdater } from 'preact/hooks';
import { TotalsNote, matched } from '../../components/base';
import { copyText } from '../../components/hooks';
import { Link } from '../../components/links';
import { MiddleCut, ranOnWords } from '../../components/names';
import {
  DimText,
  HeadingBar,
  HeadingEnd,
  SecondaryText,
  SmallText,
  Tag,
  TextButton,
} from '../../components/text';
import { useReport } from '../../ctx';
import type { Device } from '../../data/entities';
import type { Hlo } from '../../data/hlo';
import { byteRate, bytes, duration, plural, sumBy } from '../../format';
import { type Neighbourhood, movesToHost, timeOf } from '../../graph/select';
import { updateAddress } from '../../state';
import { selOf } from './node';

interface GraphSideProps {
  read: number;
  written: number;
  calls: number;
  moved: number;
  hlo: Hlo;
  centre: number;
  device: Device | undefined;
  ns: number;
  there: { n: number; of: number; steps: number } | undefined;
  d: number;
  bodies: number[];
  hottest: (c: number) => number;
  io: (list: [number, number][]) => VNode;
  ins: [number, number][];
  outs: [number, number][];
  reasons: string[];
  mainUser: number | undefined;
  n: Neighbourhood;
}

export function GraphSide({
  read,
  written,
  calls,
  moved,
  hlo,
  centre,
  device,
  ns,
  there,
  d,
  bodies,
  hottest,
  io,
  ins,
  outs,
  reasons,
  mainUser,
  n,
}: GraphSideProps): VNode {
  const { report } = useReport();
  return (
    <div class="secs">
      <section>
        <h3>What it moves</h3>
        <SmallText>
          Operands are {bytes(read)}, results {bytes(written)}.
          {calls > 0 && (
            <>
              {' '}
              A call moves {bytes(moved)}
              {movesToHost(hlo, centre)
                ? ', from or to the host’s memory'
                : device &&
                  device.bandwidth > 0 && (
                    <>
                      : <b>{duration((moved / device.bandwidth) * 1e9)}</b> at{' '}
                      {byteRate(device.bandwidth)}
                    </>
                  )}
              . It took <b>{duration(ns / calls)}</b>
              {there && (
                <>
                  {' '}
                  {ranOnWords(there)}: <b>{duration(ns / d)}</b> a step, mean of {there.of} devices
                </>
              )}
              .
            </>
          )}
        </SmallText>
      </section>
      {bodies.length > 0 && (
        <section>
          <h3>Inside</h3>
          {bodies.map((c) => (
            <SmallText>
              <Link
                class="mono"
                to={{ sel: selOf(report, hlo, hottest(c)), args: { c: undefined } }}
              >
                enter {hlo.computations.name[c]} ▸
              </Link>{' '}
              <DimText>{plural(hlo.computations.count[c]!, 'instruction')}</DimText>
            </SmallText>
          ))}
        </section>
      )}
      <section>
        <h3>Operands</h3>
        {io(ins)}
      </section>
      <section>
        <h3>Users</h3>
        {io(outs)}
      </section>
      {reasons.length > 0 && (
        <section>
          <h3>
            Why not fused with {hlo.name[mainUser!]}? <Tag>likely</Tag>
          </h3>
          <ul class="evid">
            {reasons.map((r) => (
              <li>{r}</li>
            ))}
          </ul>
        </section>
      )}
      <section>
        <h3>Legend</h3>
        <SecondaryText>
          left stripe: phase (collectives and copies have their own)
          <br />
          edge width: log of bytes
          {n.links.some((l) => l.layout) && (
            <>
              <br />
              <span class="badtext">red edge: bytes moved only to change a layout</span>
            </>
          )}
          <br />
          dashed: no launch of its own
        </SecondaryText>
      </section>
    </div>
  );
}

interface GraphHeadingProps {
  op: number;
  hlo: Hlo;
  centre: number;
  n: Neighbourhood;
  limit: number;
  open: boolean;
  callers: number[];
  within: number;
  there: { n: number; of: number; steps: number } | undefined;
  dot: () => string;
  setDone: Dispatch<StateUpdater<boolean>>;
  done: boolean;
}

export function GraphHeading({
  op,
  hlo,
  centre,
  n,
  limit,
  open,
  callers,
  within,
  there,
  dot,
  setDone,
  done,
}: GraphHeadingProps): VNode {
  const { report } = useReport();
  return (
    <HeadingBar>
      <h2>
        Around {op >= 0 ? `${report.ops.handle[op]} ` : ''}
        <code>{hlo.name[centre]}</code>
      </h2>
      <span class="sm ink2 pick">
        {n.nodes.length} nodes of {limit} allowed{' '}
        <button
          class="mini"
          aria-label="fewer nodes"
          onClick={() => updateAddress({ args: { n: String(Math.max(6, limit - 6)) } })}
        >
          −
        </button>
        <button
          class="mini"
          aria-label="more nodes"
          onClick={() => updateAddress({ args: { n: String(Math.min(60, limit + 6)) } })}
        >
          +
        </button>
      </span>
      {hlo.opcode[centre] === 'fusion' && (
        <button class="sm" onClick={() => updateAddress({ args: { x: open ? 'no' : undefined } })}>
          {open ? 'close' : 'open'} the fusion <kbd>x</kbd>
        </button>
      )}
      {callers[0] !== undefined && !hlo.computations.entry[within] && (
        <Link class="sm" to={{ sel: selOf(report, hlo, callers[0]), args: { c: undefined } }}>
          in {hlo.computations.name[within]}, called by {hlo.name[callers[0]]}
        </Link>
      )}
      <HeadingEnd>
        {there && `times of nodes: mean of ${there.of} devices · `}
        <TotalsNote delta={matched(report)} />
        {matched(report) && '(Δ ms against the base) · '}bitcasts, tuples and constants are folded
        into edges ·{' '}
        <TextButton onClick={() => void copyText(dot()).then(setDone)}>
          {done ? 'DOT copied' : 'copy DOT'}
        </TextButton>
      </HeadingEnd>
    </HeadingBar>
  );
}

export function NodeList({
  list,
  hlo,
  figures,
}: {
  list: [number, number][];
  hlo: Hlo;
  figures: (size: number, time: number) => string;
}): VNode {
  const { report, state } = useReport();
  return (
    <ul class="io2">
      {list.slice(0, 10).map(([i, b]) => (
        <li>
          <Link
            class="mono plain"
            to={{
              sel: selOf(report, hlo, i),
              args: { c: undefined, x: undefined, n: state.args['n'] },
            }}
          >
            <MiddleCut text={hlo.name[i]!} />
          </Link>
          <DimText>{figures(b, timeOf(report, hlo, i))}</DimText>
        </li>
      ))}
      {list.length > 10 && (
        <li class="dim">
          {plural(list.length - 10, 'other')}
          <span>
            {figures(
              sumBy(list.slice(10), ([, b]) => b || 0),
              sumBy(list.slice(10), ([i]) => timeOf(report, hlo, i)),
            )}
          </span>
        </li>
      )}
      {list.length === 0 && <li class="dim">none</li>}
    </ul>
  );
}
