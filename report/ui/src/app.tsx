// SPDX-License-Identifier: Apache-2.0
// The frame: facts, tabs, filter bar, page, inspector; keys.

import { Component, type ComponentChildren, type VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Help } from './components/help';
import { listen } from './components/hooks';
import { Inspector } from './components/inspector';
import { Patterns } from './components/marks';
import { Palette } from './components/palette';
import { ReportContext } from './ctx';
import { loadLaunches } from './data/launches';
import type { Report } from './data/report';
import { computeView } from './data/view';
import { Facts } from './frame/facts';
import { FilterBar } from './frame/filter_bar';
import { useKeys } from './frame/keys';
import { Search } from './frame/search';
import { Tabs } from './frame/tabs';
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
import { PAGES, type Page, useAppState } from './state';

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

/** Shows the error of a tab that fails; the other tabs keep working. */
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
