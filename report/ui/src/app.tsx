// SPDX-License-Identifier: Apache-2.0
// The frame: facts, tabs, filter bar, page, inspector; keys.

import { Component, type ComponentChildren, type VNode } from 'preact';
import { StateUpdater, Dispatch, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Help } from './components/help';
import { Inspector } from './components/inspector';
import { Palette } from './components/palette';
import { primaryTable } from './components/table';
import { ReportContext, useReport } from './ctx';
import { loadLaunches } from './data/launches';
import { deviceName, deviceNumber } from './data/hardware';
import type { ModuleRow, Report } from './data/report';
import { MonoText, Patterns, copyText, DimText, listen } from './components/bits';
import { computeView, type View } from './data/view';
import { completions, example, type Offer } from './data/filter_values';
import { getTerm, removeTerm, setTerm, toggleValue } from './filter';
import { duration, formatMs, msText, percent, plural, thousands } from './format';
import { ComparePage } from './pages/compare';
import { GraphPage } from './pages/graph';
import { IdlePage } from './pages/idle';
import { MemoryPage } from './pages/memory';
import { ModelPage } from './pages/model';
import { OccupancyPage } from './pages/occupancy';
import { OpsPage } from './pages/ops';
import { RanksPage } from './pages/ranks';
import { RooflinePage } from './pages/roofline';
import { RunPage } from './pages/run';
import { SourcePage } from './pages/source';
import { TimelinePage } from './pages/timeline';
import { VerdictPage } from './pages/verdict';
import { type Hue, LETTER, PHASES, phaseWords, SOURCE_WORDS } from './phases';
import {
  getState,
  navigate,
  hasPage,
  keyOf,
  updateAddress,
  type Page,
  PAGES,
  useAppState,
} from './state';
import { useTheme } from './theme';

const PAGE_BODIES: Record<Page, () => VNode> = {
  verdict: VerdictPage,
  model: ModelPage,
  ops: OpsPage,
  timeline: TimelinePage,
  roofline: RooflinePage,
  graph: GraphPage,
  occupancy: OccupancyPage,
  source: SourcePage,
  run: RunPage,
  compare: ComparePage,
  idle: IdlePage,
  ranks: RanksPage,
  memory: MemoryPage,
};

/** A page that fails says so; the others stay. */
class Guard extends Component<{ children: ComponentChildren; page: string }, { error?: string }> {
  override state: { error?: string } = {};
  static getDerivedStateFromError(error: unknown): { error: string } {
    return { error: error instanceof Error ? error.message : String(error) };
  }
  override render(): ComponentChildren {
    if (this.state.error === undefined) return this.props.children;
    return (
      <p class="note bad" data-testid="error" role="alert">
        This page cannot be shown: {this.state.error}
      </p>
    );
  }
}

function Facts({ report, onHelp }: { report: Report; onHelp: () => void }): VNode {
  const [theme, cycle] = useTheme();
  const { run, basis, coverage, job } = report.meta,
    { jobStep } = report;
  const main = run.main_module !== null ? report.modules[run.main_module] : undefined;
  const steady = report.steps.filter((s) => s.steady).map((s) => s.step);
  const from = Math.min(...steady),
    to = Math.max(...steady),
    count = new Set(steady).size;
  const notices = report.tables
    .table('run_stats')
    .texts('severity')
    .filter((s) => s === 'notice').length;
  return (
    <div class="facts">
      <span class="logo">
        xla<i>trace</i>
      </span>
      <span class="trunc" title={run.command ?? run.path}>
        <b>{run.title}</b>
      </span>
      {job?.ranks && (
        <>
          <span class="sep" />
          <span data-testid="job-ranks">{job.ranks}</span>
        </>
      )}
      {run.device_text && (
        <>
          <span class="sep" />
          <span
            class="trunc"
            title={`${job?.kept ? `launches of ${job.kept}: ` : ''}${run.device_text}`}
          >
            {job?.all_kept === false && 'here '}
            {run.device_text}
          </span>
        </>
      )}
      {main && (
        <>
          <span class="sep" />
          <span class="mono trunc">{main.name[40] ? main.framework : main.name}</span>
        </>
      )}
      {jobStep && (
        <>
          <span class="sep" />
          <span data-testid="job-step">
            step {msText(jobStep.ns)}{' '}
            <DimText>({plural(jobStep.steps, 'step')} of the job)</DimText>
          </span>
        </>
      )}
      {basis.steady && (
        <>
          <span class="sep" />
          <span>
            {from === to
              ? `step ${from}`
              : `${count <= to - from ? `${count} steps, ` : 'steps '}${from}–${to}`}
            {basis.steps_recorded > 1 && <DimText> of {basis.steps_recorded}</DimText>}
          </span>
        </>
      )}
      <span class="sp">
        {(run.date || run.source) && (
          <span class="dim opt" data-testid="run-date">
            {[SOURCE_WORDS[run.source ?? ''] ?? run.source, run.date].filter(Boolean).join(', ')}
          </span>
        )}
      </span>
      {run.fake_gpu && (
        <a class="badge bad" href="#/run">
          fake GPU: times mean nothing
        </a>
      )}
      {run.partial && (
        <a class="badge warn" href="#/run">
          still recording
        </a>
      )}
      {coverage.text && (
        <a class={`badge ${coverage.tone}`} href="#/run">
          {coverage.text}
          <span class="of">{coverage.of}</span>
        </a>
      )}
      <a
        class={`badge ${report.meta.may_lack || report.meta.lost > 0 ? 'bad' : 'plain'}`}
        href="#/run"
      >
        lost {report.meta.lost_text ?? report.meta.lost}
      </a>
      {report.meta.errors > 0 && (
        <a class="badge bad" href="#/run">
          {plural(report.meta.errors, 'error')}
        </a>
      )}
      {notices > 0 && (
        <a class="badge warn" href="#/run">
          {plural(notices, 'notice')}
        </a>
      )}
      <button aria-label="Help and keys" data-testid="help" onClick={onHelp}>
        ?
      </button>
      <button aria-label={`Theme: ${theme}`} data-testid="theme" onClick={cycle}>
        {theme}
      </button>
    </div>
  );
}

/**
 * Idle is there where there are gaps, Ranks where there are several; Compare, which a base brings,
 * says how.
 */
const pagesOf = (report: Report): (typeof PAGES)[number][] =>
  PAGES.filter(([id]) => id === 'compare' || hasPage(report, id));

function Tabs({ page, report }: { page: Page; report: Report }): VNode {
  const pages = pagesOf(report);
  const box = useRef<HTMLDivElement>(null);
  const [more, setMore] = useState(false);
  useEffect(() => {
    // What more tabs there are to the right shows at the edge.
    const el = box.current!,
      look = (): void => setMore(el.scrollWidth - el.clientWidth - el.scrollLeft > 8);
    look();
    const stops = [listen(el, { scroll: look }), listen(window, { resize: look })];
    return () => stops.forEach((stop) => stop());
  }, [page]);
  const onKey = (e: KeyboardEvent): void => {
    const at = pages.findIndex(([id]) => id === page);
    const by = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
    if (by === 0) return;
    e.preventDefault();
    const next = pages[(at + by + pages.length) % pages.length]![0];
    navigate({ page: next });
    setTimeout(() => document.getElementById(`t-${next}`)?.focus(), 0);
  };
  return (
    <div
      class={`tablist ${more ? 'more' : ''}`}
      ref={box}
      role="tablist"
      aria-label="Pages"
      onKeyDown={onKey}
    >
      {pages.map(([id, name]) => (
        <button
          role="tab"
          id={`t-${id}`}
          data-testid={`tab-${id}`}
          aria-controls={`p-${id}`}
          aria-selected={id === page}
          class={hasPage(report, id) ? '' : 'off'}
          tabIndex={id === page ? 0 : -1}
          onClick={() => navigate({ page: id })}
        >
          {keyOf(id) && <small>{keyOf(id)}</small>}
          {name}
        </button>
      ))}
    </div>
  );
}

function Search({ report, f }: { report: Report; f: string }): VNode {
  const [text, setText] = useState(f);
  const [at, setAt] = useState(-1);
  const [open, setOpen] = useState(false);
  const hint = useMemo(() => example(report), [report]);
  const timer = useRef(0),
    entered = useRef(false);
  // What was typed goes to the address a little later, and comes back as `f` later still: by then
  // there may be more letters, which it must not take away.
  const sent = useRef(f);
  useEffect(() => {
    if (f === sent.current) return;
    sent.current = f;
    setText(f);
  }, [f]);
  const offers = useMemo(() => (open ? completions(report, text) : []), [report, text, open]);
  const commit = (value: string, final: boolean): void => {
    window.clearTimeout(timer.current);
    const send = (how: typeof navigate): void => {
      sent.current = value.trim();
      how({ f: sent.current });
    };
    if (final) send(navigate);
    else timer.current = window.setTimeout(() => send(updateAddress), 200);
  };
  const take = (offer: Offer): void => {
    const next = text.replace(/(?:"[^"]*"?|[^\s"])*$/, '') + offer.text;
    setText(next);
    setAt(-1);
    // A key alone selects nothing yet: its values are offered next.
    if (/[:>]$/.test(offer.text)) return;
    setOpen(false);
    commit(next, true);
  };
  return (
    <div class="search" role="search">
      <input
        id="search"
        data-testid="search"
        type="search"
        autocomplete="off"
        spellcheck={false}
        value={text}
        role="combobox"
        aria-expanded={offers.length > 0}
        aria-controls="offers"
        aria-autocomplete="list"
        aria-activedescendant={at >= 0 ? `offer-${at}` : undefined}
        aria-label="Filter: words, or key:value"
        placeholder={hint}
        onFocus={() => setOpen(true)}
        onBlur={() => setTimeout(() => setOpen(false), 150)}
        onInput={(e) => {
          const value = e.currentTarget.value;
          setText(value);
          setAt(-1);
          setOpen(true);
          commit(value, false);
        }}
        onKeyDown={(e) => {
          const by = e.key === 'ArrowDown' ? 1 : e.key === 'ArrowUp' ? -1 : 0;
          if (by !== 0 && offers.length > 0) {
            setAt((i) => Math.max(-1, Math.min(offers.length - 1, i + by)));
            e.preventDefault();
          } else if (
            (e.key === 'Enter' && offers[at]) ||
            (e.key === 'Tab' &&
              !e.shiftKey &&
              offers.length > 0 &&
              text !== '' &&
              !text.endsWith(' '))
          ) {
            take(offers[Math.max(0, at)]!);
            e.preventDefault();
          } else if (e.key === 'Enter') {
            setOpen(false);
            commit(e.currentTarget.value, true);
            entered.current = true;
            return;
          } else if (e.key === 'Escape') e.currentTarget.blur();
          // Right after Enter "/" goes where the keys already are, as it does elsewhere: it is no
          // letter of the filter.
          else if (e.key === '/' && entered.current) e.preventDefault();
          entered.current = false;
        }}
      />
      <kbd aria-hidden>/</kbd>
      <kbd aria-hidden>Ctrl K</kbd>
      {offers.length > 0 && (
        <ul
          id="offers"
          class="offers"
          role="listbox"
          aria-label="Completions"
          data-testid="completions"
        >
          {offers.map((o, i) => (
            <li
              id={`offer-${i}`}
              role="option"
              aria-selected={i === at}
              class={i === at ? 'on' : ''}
              onMouseDown={(e) => {
                e.preventDefault();
                take(o);
              }}
            >
              <MonoText>{o.text}</MonoText>
              <DimText>{o.what}</DimText>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

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
              : `${duration(view.total / view.divisor)}${report.meta.basis.steady ? ' a step' : ''}`}
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
  hue:
    | 'forward'
    | 'loss'
    | 'recompute'
    | 'backward'
    | 'optimizer'
    | 'other'
    | 'unknown'
    | 'collective'
    | 'copy'
    | 'idle';
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

function FilterBar({ report, view, f }: { report: Report; view: View; f: string }): VNode {
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
        all phases
      </button>
      {PHASES.filter((p) => (present.get(p) ?? 0) > 0 || phases.includes(p)).map((p) =>
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

function Banner({ report }: { report: Report }): VNode | null {
  const { run } = report.meta;
  if (run.fake_gpu) {
    return (
      <p class="banner bad" role="note">
        Recorded on the fake GPU of the tests, which computes nothing: its times are no GPU’s times.
      </p>
    );
  }
  if (run.partial) {
    return (
      <p class="banner warn" role="note">
        The recording was still growing when this page was written: write the report again for the
        rest.
      </p>
    );
  }
  return null;
}

/** Was a menu open? */
function closeMenus(): boolean {
  const open = document.querySelectorAll('.menu[open]');
  open.forEach((menu) => menu.removeAttribute('open'));
  return open.length > 0;
}

interface UseKeysInput {
  setPalette: Dispatch<StateUpdater<boolean>>;
  help: boolean;
  setHelp: Dispatch<StateUpdater<boolean>>;
  palette: boolean;
  setNote: Dispatch<StateUpdater<string>>;
  report: Report;
}
/** Keys of all pages, and clicks beside an open menu. */
function useKeys({ setPalette, help, setHelp, palette, setNote, report }: UseKeysInput): void {
  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      const target = e.target as HTMLElement;
      const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable;
      if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'k') {
        e.preventDefault();
        setPalette(true);
        return;
      }
      if (e.key === 'Escape') {
        if (help) setHelp(false);
        else if (palette) setPalette(false);
        else if (closeMenus()) return;
        else if (!typing) {
          // The innermost first: what is open, what the timeline singles out, the filter.
          const { sel, page, args } = getState(),
            part = page === 'timeline' && ['al', 'a'].find((key) => args[key]);
          navigate(sel !== '' ? { sel: '' } : part ? { args: { [part]: undefined } } : { f: '' });
        }
        return;
      }
      if (typing || help || palette || e.ctrlKey || e.metaKey || e.altKey) return;
      setNote('');
      const now = getState();
      const table = primaryTable();
      const done = (): void => e.preventDefault();
      const page = pagesOf(report).find(([id]) => keyOf(id) === e.key);
      if (page) {
        navigate({ page: page[0] });
        return done();
      }
      switch (e.key) {
        case '/':
          document.getElementById('search')?.focus();
          return done();
        case '?':
          setHelp(true);
          return done();
        case 'j':
          table?.move(1);
          return done();
        case 'k':
          table?.move(-1);
          return done();
        case 'Enter':
          if (target === document.body || target.getAttribute('data-testid') === 'table') {
            table?.open();
            done();
          }
          return;
        case 'e':
          table?.csv();
          return done();
        case 'y':
          void copyText(location.href.replace(/^[^#]*\//, ''));
          return done();
      }
      const to = ({ o: 'graph', t: 'timeline', r: 'roofline' } as Record<string, Page>)[e.key];
      if (to && to !== 'timeline' && report.bare) {
        setNote(`No ${to} here: it is made of HLO, which this run does not hold.`);
        return done();
      }
      if (to) {
        // Of the selection, else of the row that j and k have reached.
        const line = now.sel === '' ? table?.line() : undefined;
        const row = line?.entity;
        if (to === 'timeline' && line?.timeline) navigate({ page: to, ...line.timeline });
        else if (to !== now.page || row)
          navigate({
            page: to,
            ...(line?.f !== undefined && { f: line.f }),
            ...(row && { sel: report.selOf(row) }),
            args: to === 'timeline' && (row ?? report.resolve(now.sel)) ? { z: 'op' } : {},
          });
        else if (to === 'timeline') navigate({ args: { z: 'op', t: undefined } });
        return done();
      }
    };
    // A click beside an open menu closes it, and does nothing to the row that it covers.
    const onClick = (e: MouseEvent): void => {
      setNote('');
      const on = e.target as HTMLElement,
        beside = !on.closest('.menu') && closeMenus();
      if (beside && (on.closest('tr') || !on.closest('button,a,select,label,input'))) {
        e.preventDefault();
        e.stopPropagation();
      }
    };
    document.addEventListener('click', onClick, true);
    const stop = listen(window, { keydown: onKey });
    return () => {
      stop();
      document.removeEventListener('click', onClick, true);
    };
  }, [help, palette, report]);
}

export function App({ report }: { report: Report }): VNode {
  const state = useAppState();
  const [help, setHelp] = useState(false);
  const [palette, setPalette] = useState(false);
  const [loaded, setLoaded] = useState(0);
  const [printing, setPrinting] = useState(false);
  const [note, setNote] = useState('');
  const fold = state.args['copies'] !== 'all';
  const view = useMemo(() => computeView(report, state.f, fold), [report, state.f, fold, loaded]);
  const context = useMemo(
    () => ({ report, view, state, printing }),
    [report, view, state, printing],
  );

  useEffect(() => {
    if (!view.waiting) return;
    void loadLaunches(report).then(() => setLoaded((n) => n + 1));
  }, [view]);

  useEffect(() => {
    return listen(window, {
      beforeprint: () => setPrinting(true),
      afterprint: () => setPrinting(false),
    });
  }, []);

  useEffect(() => {
    scrollTo(0, 0);
    document
      .getElementById(`t-${state.page}`)
      ?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    const name = PAGES.find(([id]) => id === state.page)?.[1] ?? '';
    document.title = `${name} · ${report.meta.run.title} · xlatrace`;
  }, [state.page]);

  useKeys({ setPalette, help, setHelp, palette, setNote, report });

  const top = useRef<HTMLElement>(null);
  useEffect(() => {
    const el = top.current;
    if (!el) return undefined;
    const observer = new ResizeObserver(() =>
      document.documentElement.style.setProperty('--top', `${el.offsetHeight}px`),
    );
    observer.observe(el);
    return () => observer.disconnect();
  }, []);
  const entity = report.resolve(state.sel);
  const Body = PAGE_BODIES[state.page];
  return (
    <ReportContext.Provider value={context}>
      <div class={`app page-${state.page}`} data-testid="app" data-ready="1">
        <Patterns />
        <header class="top" ref={top}>
          <Facts report={report} onHelp={() => setHelp(true)} />
          <nav class="tabs">
            <Tabs page={state.page} report={report} />
            <Search report={report} f={state.f} />
          </nav>
          <FilterBar report={report} view={view} f={state.f} />
        </header>
        <Banner report={report} />
        {note !== '' && (
          <p class="banner warn" role="status" data-testid="key-note">
            {note}
          </p>
        )}
        {state.f !== '' && <p class="print-only">Filter: {state.f}</p>}
        <div class={`body ${state.sel !== '' ? 'wdr' : ''}`}>
          <main>
            <div
              id={`p-${state.page}`}
              role="tabpanel"
              aria-labelledby={`t-${state.page}`}
              data-testid={`page-${state.page}`}
            >
              {state.page !== 'verdict' && (
                <h1 class="vh">{PAGES.find(([id]) => id === state.page)?.[1]}</h1>
              )}
              <Guard page={state.page} key={state.page}>
                <Body />
              </Guard>
              {printing &&
                state.page === 'verdict' &&
                [ModelPage, OpsPage, RooflinePage, RunPage].map((P) => (
                  <div class="pp">
                    <Guard page="">
                      <P />
                    </Guard>
                  </div>
                ))}
            </div>
          </main>
          {state.sel !== '' && <Inspector entity={entity} sel={state.sel} />}
        </div>
        {help && <Help onClose={() => setHelp(false)} />}
        {palette && <Palette onClose={() => setPalette(false)} />}
      </div>
    </ReportContext.Provider>
  );
}
