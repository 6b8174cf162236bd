// SPDX-License-Identifier: Apache-2.0
// The filter as chips and lists, and the filtered time.

import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { DimText, MonoText } from '../components/text';
import { useReport } from '../ctx';
import { deviceName, deviceNumber } from '../data/hardware';
import type { ModuleRow } from '../data/entities';
import type { Report } from '../data/report';
import type { View } from '../data/view_type';
import { getTerm, removeTerm, setTerm, toggleValue } from '../filter';
import { duration, formatMs, percent, thousands } from '../format';
import { type Hue, LETTER, PHASES, phaseWords } from '../phases';
import { navigate } from '../state';

const MAX_OPTIONS = 400;

function Select({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: [string, string][];
  onChange: (v: string) => void;
}): VNode {
  const known = value === '' || options.some(([v]) => v === value);
  return (
    <label class="sel">
      <span class="vh">{label}</span>
      <select
        value={value}
        onChange={(e) => onChange(e.currentTarget.value)}
        class={value === '' ? '' : 'on'}
      >
        <option value="">{label}</option>
        {!known && (
          <option value={value}>
            {label} {value}
          </option>
        )}
        {options.slice(0, MAX_OPTIONS).map(([v, text]) => (
          <option value={v}>{text}</option>
        ))}
        {options.length > MAX_OPTIONS && (
          <option disabled>
            {thousands(options.length - MAX_OPTIONS)} more: type {label}:…
          </option>
        )}
      </select>
    </label>
  );
}

function FilterSum({ unit }: { unit: string }): VNode {
  const { view, report } = useReport();
  return (
    <span
      class="sum"
      data-testid="filter-sum"
      data-ns={Math.round(view.total)}
      role="status"
      title={
        report.meta.basis.steady && view.full > report.meta.basis.typical_ns * view.divisor
          ? 'more than the step: what runs side by side on a device counts each'
          : undefined
      }
    >
      {view.waiting ? (
        <DimText>reading launches…</DimText>
      ) : (
        <>
          <b>
            {view.total / view.divisor < 99.95e9
              ? `${formatMs(view.total / view.divisor)} ${unit}`
              : `${duration(view.total / view.divisor)}` +
                (report.meta.basis.steady ? ' a step' : '')}
          </b>{' '}
          <DimText>
            {view.filtered
              ? `${percent(view.total, view.full)}% ${view.of}`
              : 'of device time, no filter'}
          </DimText>
        </>
      )}
    </span>
  );
}

function FilterSelects({
  lists,
  f,
}: {
  lists: { modules: ModuleRow[]; groups: string[]; steps: number[] };
  f: string;
}): VNode {
  const { report } = useReport();
  return (
    <>
      {lists.modules.length > 1 && (
        <Select
          label="module"
          value={getTerm(f, 'module') ?? ''}
          options={lists.modules.map((m) => [m.handle, `${m.handle} ${m.name}`])}
          onChange={(v) => navigate({ f: setTerm(f, 'module', v) })}
        />
      )}
      {lists.groups.length > 1 && (
        <Select
          label="layer"
          value={getTerm(f, 'scope') ?? ''}
          options={lists.groups.map((g) => [g, g])}
          onChange={(v) => navigate({ f: setTerm(f, 'scope', v) })}
        />
      )}
      {lists.steps.length > 1 && (
        <Select
          label="step"
          value={getTerm(f, 'step') ?? ''}
          options={lists.steps.map((s) => [String(s), `step ${s}`])}
          onChange={(v) => navigate({ f: setTerm(f, 'step', v) })}
        />
      )}
      {report.devices.length > 1 && (
        <Select
          label="device"
          value={getTerm(f, 'dev') ?? ''}
          options={report.devices.map((_, i) => [
            String(deviceNumber(report, i)),
            deviceName(report, i),
          ])}
          onChange={(v) => navigate({ f: setTerm(f, 'dev', v) })}
        />
      )}
    </>
  );
}

interface PhaseChipProps {
  on: boolean;
  id: string;
  next: string;
  title: string | undefined;
  text: string;
  hue: Hue;
}

function PhaseChip({ on, id, next, title, text, hue }: PhaseChipProps): VNode {
  return (
    <button
      class={`chip ${on ? 'on' : ''}`}
      aria-pressed={on}
      data-testid={`phase-${id}`}
      onClick={() => navigate({ f: next })}
      title={title}
      aria-label={text}
    >
      <span class={`ltr p-${hue}`} data-l={LETTER[hue]} aria-hidden />
      <span class="cl">{text}</span>
    </button>
  );
}

/** Programs, layers and steps that the filter bar offers. */
function filterLists(report: Report): { modules: ModuleRow[]; groups: string[]; steps: number[] } {
  const groups = new Map<string, number>();
  const { shares } = report;
  for (let s = 0; s < shares.n; ++s)
    if (shares.group[s] !== '')
      groups.set(shares.group[s]!, (groups.get(shares.group[s]!) ?? 0) + shares.ns[s]!);
  const steps = [...new Set(report.steps.map((s) => s.step))].sort((a, b) => a - b);
  return {
    modules: report.modules.filter((m) => m.ns > 0 || m.selfNs > 0),
    groups: [...groups].sort((a, b) => b[1] - a[1]).map(([g]) => g),
    steps,
  };
}

/** Time by phase, and the kinds of work with time. */
function phasesPresent(report: Report): Map<string, number> {
  const sums = new Map<string, number>();
  const { shares, ops } = report;
  for (let s = 0; s < shares.n; ++s) {
    const phase = PHASES[shares.phase[s]!]!;
    sums.set(phase, (sums.get(phase) ?? 0) + shares.ns[s]!);
  }
  for (let r = 0; r < ops.n; ++r) if (ops.ns[r]! > 0) sums.set(`kind:${ops.kind[r]}`, 1);
  return sums;
}

export function FilterBar({ report, view, f }: { report: Report; view: View; f: string }): VNode {
  const phases = getTerm(f, 'phase')?.split(',') ?? [];
  const kinds = getTerm(f, 'kind')?.split(',') ?? [];
  const present = useMemo(() => phasesPresent(report), [report]);
  const lists = useMemo(() => filterLists(report), [report]);
  const chip = (
    id: string,
    hue: Hue,
    on: boolean,
    text: string,
    next: string,
    title?: string,
  ): VNode => <PhaseChip on={on} id={id} next={next} title={title} text={text} hue={hue} />;
  const unit = report.perStep;
  // Chips of terms that no control of this bar shows.
  const rest = view.query.terms.filter(
    (t) =>
      !(
        t.type === 'text' &&
        !t.negated &&
        (t.key === 'phase' ||
          (t.key === 'kind' && t.values.every((v) => ['collective', 'copy', 'memset'].includes(v))))
      ),
  );
  return (
    <div class="filter" role="group" aria-label="Filter">
      <button
        class={`chip ${phases.length === 0 && kinds.length === 0 ? 'on' : ''}`}
        aria-pressed={phases.length === 0 && kinds.length === 0}
        data-testid="phase-all"
        onClick={() => navigate({ f: setTerm(setTerm(f, 'phase', undefined), 'kind', undefined) })}
      >
        {report.byWork ? 'all work' : 'all phases'}
      </button>
      {PHASES.filter(
        (p) =>
          phases.includes(p) || ((present.get(p) ?? 0) > 0 && !(report.byWork && p === 'unknown')),
      ).map((p) =>
        chip(
          p,
          p,
          phases.includes(p),
          phaseWords(p),
          toggleValue(f, 'phase', p),
          'with collectives, copies',
        ),
      )}
      {(present.has('kind:collective') || kinds.includes('collective')) &&
        chip(
          'collective',
          'collective',
          kinds.includes('collective'),
          'collective',
          toggleValue(f, 'kind', 'collective'),
        )}
      {(present.has('kind:copy') || kinds.includes('copy')) &&
        chip('copy', 'copy', kinds.includes('copy'), 'copy', toggleValue(f, 'kind', 'copy'))}
      <span class="vsep" />
      <FilterSelects lists={lists} f={f} />
      {rest.map((t) => (
        <button
          class="chip on x"
          data-testid="filter-chip"
          aria-label={`remove ${t.raw}`}
          onClick={() => navigate({ f: removeTerm(f, t.raw) })}
        >
          <MonoText>{t.raw}</MonoText>
          <i aria-hidden>×</i>
        </button>
      ))}
      <FilterSum unit={unit} />
      {view.notes.length > 0 && (
        <span class="warn-text notes" role="status" data-testid="filter-notes">
          {view.notes.join('; ')}
        </span>
      )}
    </div>
  );
}
