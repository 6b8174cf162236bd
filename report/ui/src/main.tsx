// SPDX-License-Identifier: Apache-2.0
// Starts when the document is parsed. It reads the data, mounts the app and hides the static part.
// If this fails, the static part remains, with one sentence above it.

import { render } from 'preact';
import { App } from './app';
import { readReport } from './data/read_report';
import { startState } from './state';
import { DARK_CSS } from './dark';
import css from './style.css?inline';

async function start(): Promise<void> {
  const root = document.getElementById('xlatrace-app');
  const still = document.getElementById('xlatrace-static');
  if (!root) return;
  try {
    const report = await readReport(document);
    const style = document.createElement('style');
    style.textContent = css + DARK_CSS;
    document.head.append(style);
    document.getElementById('xlatrace-static-css')?.remove();
    startState();
    still?.setAttribute('hidden', '');
    render(<App report={report} />, root);
  } catch (error) {
    delete document.documentElement.dataset.starting;
    const line = document.createElement('p');
    line.setAttribute('data-testid', 'error');
    line.setAttribute('role', 'alert');
    const why = error instanceof Error ? error.message : String(error);
    const below = 'The summary below needs no script.';
    line.textContent = `The interactive pages cannot be shown: ${why}. ${below}`;
    (still ?? document.body).prepend(line);
  }
}

if (document.readyState === 'loading')
  document.addEventListener('DOMContentLoaded', () => void start());
else void start();
