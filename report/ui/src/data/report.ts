// SPDX-License-Identifier: Apache-2.0
// The run for all pages: tables of docs/development/page-data.md under short names, and data
// derived from them. Figures are stored as integers; only pages divide them.

import {
  readGapSums,
  readGaps,
  readKernels,
  readModules,
  readOps,
  readShares,
  readSites,
} from './readers';
import { percent, sumNs } from '../format';
import { PLACE_WORDS } from '../words';
import type { PageIndex } from './codec';
import {
  type Device,
  type Entity,
  type GapRow,
  type GapSum,
  type Kernels,
  type ModuleRow,
  type Ops,
  type Place,
  type Shares,
  type Sites,
  type StepPartRow,
  type StepRow,
  byRow,
  devicesOf,
} from './entities';
import type { JobStep, Meta } from './meta';
import { type BlockText, Tables, rowsOf } from './table';

export class Report {
  readonly meta: Meta;
  readonly tables: Tables;

  constructor(index: PageIndex, textOf: BlockText) {
    this.meta = index.meta as Meta;
    for (const f of this.meta.findings) {
      const ofJob = f.saves_high_ns_per_job_step ?? null;
      f.saves_in_run =
        this.meta.basis.steady && f.saves_high_ns_per_step === null && ofJob === null;
      f.saves_low_ns_per_step ??= ofJob === null ? (f.saves_low_ns_per_run ?? null) : 0;
      f.saves_high_ns_per_step ??= ofJob ?? f.saves_high_ns_per_run ?? null;
    }
    this.tables = new Tables(index, textOf);
  }

  private readonly memo = new Map<string, unknown>();
  private once<T>(key: string, make: () => T): T {
    if (!this.memo.has(key)) this.memo.set(key, make());
    return this.memo.get(key) as T;
  }

  /**
   * Converts ns summed over the basis to ns per step of one device (or the total, without steady
   * steps).
   */
  get divisor(): number {
    const b = this.meta.basis;
    return b.steady && b.step_devices > 0 ? b.step_devices : 1;
  }
  get perStep(): string {
    return this.meta.basis.steady ? 'ms/step' : 'ms';
  }
  /**
   * The step of a merged job over all its ranks, if the launches in this file have no steps.
   */
  get jobStep(): JobStep | undefined {
    return this.meta.basis.steady ? undefined : this.meta.job?.step;
  }
  /** No phase is known, so kernels are divided by kind of work. */
  get byWork(): boolean {
    return this.meta.device_parts_by === 'kernels';
  }
  /** The unit of the savings of findings. */
  get savesUnit(): string {
    return this.jobStep ? 'ms/step' : this.perStep;
  }

  get userFiles(): ReadonlySet<string> {
    return this.once('user_files', () => new Set(this.meta.user_files ?? []));
  }

  get ops(): Ops {
    return this.once('ops', () => readOps(this.tables));
  }

  get shares(): Shares {
    return this.once('shares', () => readShares(this.tables));
  }

  get sites(): Sites {
    return this.once('sites', () => readSites(this.tables));
  }

  get kernels(): Kernels {
    return this.once('kernels', () => readKernels(this.tables));
  }

  /**
   * By row of kernels: the host ranges that launches without a label were made in, the costliest
   * first.
   */
  get launchedIn(): Map<number, Place[]> {
    return this.placesIn('launched_in');
  }
  /** The same with all names of the paths, for the search. */
  get launchPaths(): Map<number, Place[]> {
    return this.placesIn('launch_paths');
  }
  private placesIn(table: string): Map<number, Place[]> {
    return this.once(table, () => {
      const t = this.tables.table(table);
      const how = t.texts('how'),
        path = t.texts('path'),
        paths = t.numbers('paths'),
        ns = t.numbers('ns'),
        calls = t.numbers('calls');
      const of = new Map<number, Place[]>();
      t.refs('kernel').forEach((k, r) => {
        const known = how[r] === 'path',
          more = how[r] === 'more';
        const text = known ? path[r]! : more ? `and ${paths[r]} more` : PLACE_WORDS[how[r]!]!;
        of.set(k, [...(of.get(k) ?? []), { text, known, more, ns: ns[r]!, calls: calls[r]! }]);
      });
      return of;
    });
  }

  /**
   * The first entry that is a path, with its share if it is not all: "aten::linear > aten::addmm ·
   * 41% of it".
   */
  placeOf(kernel: number): string {
    const places = this.launchedIn.get(kernel) ?? [];
    const first = places.find((p) => p.known);
    const all = sumNs(places);
    return !first
      ? ''
      : first.ns < 0.995 * all
        ? `${first.text} · ${percent(first.ns, all)}% of it`
        : first.text;
  }

  get devices(): Device[] {
    return this.once('devices', () => devicesOf(this.tables.table('devices')));
  }
  /** Limits and peaks of GPUs that are known, for "on another GPU". */
  get gpus(): Device[] {
    return this.once('gpus', () => devicesOf(this.tables.table('gpus')));
  }
  get streams(): { row: number; device: number; id: number; name: string }[] {
    return this.once('streams', () => {
      const t = this.tables.table('streams'),
        id = t.numbers('stream_id');
      return rowsOf({
        row: Array.from(id, (_, r) => r),
        device: t.refs('device'),
        id,
        name: t.texts('name'),
      });
    });
  }
  get modules(): ModuleRow[] {
    return this.once('modules', () => readModules(this.tables));
  }
  private stepRows(name: string): StepRow[] {
    const t = this.tables.table(name);
    const n = (c: string): Float64Array => t.numbers(c);
    return rowsOf({
      step: n('step'),
      device: name === 'steps' ? t.refs('device') : n('device'),
      start: n('start_ns'),
      end: n('end_ns'),
      deviceNs: n('device_ns'),
      busyNs: n('busy_ns'),
      steady: t.flags('steady'),
      typical: t.flags('typical'),
    });
  }
  get steps(): StepRow[] {
    return this.once('steps', () => this.stepRows('steps'));
  }
  get baseSteps(): StepRow[] {
    return this.once('base_steps', () => this.stepRows('base_steps'));
  }
  get stepParts(): StepPartRow[] {
    return this.once('step_parts', () => this.partRows('step_parts'));
  }
  /** Steps of the base run; `device` is the number in the base run. */
  get baseStepParts(): StepPartRow[] {
    return this.once('base_step_parts', () => this.partRows('base_step_parts'));
  }
  private partRows(name: string): StepPartRow[] {
    const t = this.tables.table(name);
    return rowsOf({
      step: t.numbers('step'),
      device: name === 'step_parts' ? t.refs('device') : t.numbers('device'),
      part: t.texts('part'),
      ns: t.numbers('wall_ns'),
    });
  }
  get gapSums(): GapSum[] {
    return this.once('gap_sums', () => readGapSums(this.tables));
  }
  get gaps(): GapRow[] {
    return this.once('gaps', () => readGaps(this.tables));
  }

  /** No activity of the run has an instruction, so pages list kernels. */
  get bare(): boolean {
    return this.once(
      'bare',
      () => !this.ops.name.some((n, r) => n !== '' && this.ops.selfNs[r]! > 0),
    );
  }
  /**
   * Where not all devices run the ops: how many do, of how many, and how many typical steps they
   * have.
   */
  ranOn(ops: number[]): { n: number; of: number; steps: number } | undefined {
    const [steps, map] = this.once('ranOn', () => {
      const t = this.tables.table('op_devices'),
        device = t.refs('device'),
        map = new Map<number, number[]>(),
        steps = new Map<number, number>();
      t.refs('op').forEach((op, r) => map.set(op, [...(map.get(op) ?? []), device[r]!]));
      for (const s of this.steps)
        if (s.typical) steps.set(s.device, (steps.get(s.device) ?? 0) + 1);
      return [steps, map] as const;
    });
    const on = new Set<number>();
    for (const op of ops) {
      if (!map.has(op)) return undefined;
      map.get(op)!.forEach((d) => on.add(d));
    }
    return on.size > 0 && on.size < steps.size
      ? { n: on.size, of: steps.size, steps: [...on].reduce((a, d) => a + steps.get(d)!, 0) }
      : undefined;
  }
  /** Sites by op, for the appearance of the op's launches. */
  get sitesOfOp(): number[][] {
    return this.once('sitesOfOp', () => byRow(this.ops.n, this.sites.op, this.sites.ns));
  }
  /**
   * The ops of each launch place and their shares of its time: several ops for a graph that was
   * recorded as one row; -1: none.
   */
  get opsOfSite(): [number, number][][] {
    return this.once('opsOfSite', () => {
      const t = this.tables.table('site_shares'),
        op = t.refs('op'),
        ppm = t.numbers('share_ppm'),
        split: [number, number][][] = [];
      t.refs('site').forEach((s, k) => (split[s] ??= []).push([op[k]!, ppm[k]! / 1e6]));
      return Array.from(this.sites.op, (o, s) => split[s] ?? [[o, 1]]);
    });
  }
  get sitesOfKernel(): number[][] {
    return this.once('sitesOfKernel', () =>
      byRow(this.kernels.n, this.sites.kernel, this.sites.ns),
    );
  }
  /**
   * "×8": number of instructions of a folded row. An instruction that several processes run counts
   * once, as in `summary`. Empty: one.
   */
  timesOf(rows: number[]): string {
    const n = new Set(rows.map((r) => this.ops.name[r])).size;
    return n > 1 ? `×${n}` : '';
  }

  /**
   * The name of the op, with the module's name if several modules have such an op, as in the
   * terminal: “jit_dot#49/custom-call.1”.
   */
  opName(op: number): string {
    const { ops, modules } = this;
    const keys = (o: number): [string, string] => [
      ops.name[o]!,
      `${modules[ops.module[o]!]?.name}/${ops.name[o]}`,
    ];
    const having = this.once('opName', () => {
      const map = new Map<string, Set<number>>();
      ops.ns.forEach(
        (ns, o) =>
          ns > 0 &&
          keys(o).forEach((k) => map.set(k, (map.get(k) ?? new Set()).add(ops.module[o]!))),
      );
      return map;
    });
    const [name, whole] = keys(op);
    const several = (key: string): boolean => (having.get(key)?.size ?? 0) > 1;
    return !several(name) || this.tables.rows('processes') > 1
      ? name
      : several(whole)
        ? whole.replace('/', `#${modules[ops.module[op]!]!.programId}/`)
        : whole;
  }

  /** All copies of an op's instruction, including the op: the ops that a folded row sums. */
  copiesOf(op: number): number[] {
    const of = this.once('copies', () => {
      const map = new Map<number, number[]>();
      const { ops } = this;
      for (let r = 0; r < ops.n; ++r) {
        if (ops.name[r] === '' || !(ops.copies[r]! >= 0)) continue;
        const list = map.get(ops.copies[r]!);
        if (list) list.push(r);
        else map.set(ops.copies[r]!, [r]);
      }
      return map;
    });
    return (this.ops.name[op] !== '' && of.get(this.ops.copies[op]!)) || [op];
  }
  get sharesOfOp(): number[][] {
    return this.once('sharesOfOp', () => byRow(this.ops.n, this.shares.op));
  }
  private get handles(): Map<string, Entity> {
    return this.once('handles', () => {
      const map = new Map<string, Entity>();
      this.ops.handle.forEach((h, row) => h && map.set(h, { type: 'op', row }));
      this.kernels.handle.forEach((h, row) => h && map.set(h, { type: 'kernel', row }));
      this.modules.forEach((m, row) => m.handle && map.set(m.handle, { type: 'module', row }));
      this.meta.findings.forEach((f, row) => map.set(f.handle, { type: 'finding', row }));
      return map;
    });
  }
  entity = (handle: string): Entity | undefined => this.handles.get(handle);

  /** "o17~fusion.417": the handle, and the name to find the op in a new report. */
  resolve(sel: string): Entity | undefined {
    if (sel === '') return undefined;
    const [handle = '', name] = sel.split('~', 2);
    const row = /^i(\d+)$/.exec(handle);
    if (row) {
      const r = Number(row[1]);
      const t = this.tables.table('instructions');
      if (r < t.rows && (name === undefined || t.texts('name')[r] === name))
        return { type: 'instruction', row: r };
    }
    const unnamed = /^r(\d+)$/.exec(handle);
    if (unnamed && Number(unnamed[1]) < this.ops.n) return { type: 'op', row: Number(unnamed[1]) };
    const found = this.entity(handle);
    if (found && (name === undefined || this.nameOf(found) === name)) return found;
    if (name !== undefined) {
      const op = this.ops.name.indexOf(name);
      if (op >= 0) return { type: 'op', row: op };
      const kernel = this.kernels.name.indexOf(name);
      if (kernel >= 0) return { type: 'kernel', row: kernel };
    }
    return undefined;
  }
  nameOf(e: Entity): string {
    switch (e.type) {
      case 'op':
        return this.ops.name[e.row] || 'no instruction';
      case 'kernel':
        return this.kernels.name[e.row] || this.kernels.symbol[e.row] || '';
      case 'module':
        return this.modules[e.row]?.name ?? '';
      case 'finding':
        return this.meta.findings[e.row]?.title ?? '';
      case 'instruction':
        return this.tables.table('instructions').texts('name')[e.row] ?? '';
    }
  }
  /** The text of `sel` for an entity. */
  selOf(e: Entity): string {
    switch (e.type) {
      case 'op': {
        const h = this.ops.handle[e.row];
        return h ? `${h}~${this.ops.name[e.row]}` : `r${e.row}`;
      }
      case 'kernel':
        return `${this.kernels.handle[e.row]}~${this.kernels.name[e.row]}`;
      case 'module':
        return this.modules[e.row]!.handle;
      case 'finding':
        return this.meta.findings[e.row]!.handle;
      case 'instruction':
        return `i${e.row}~${this.nameOf(e)}`;
    }
  }
  opOfHandle = (handle: string): number => {
    const e = this.entity(handle);
    return e?.type === 'op' ? e.row : -1;
  };
}
