// SPDX-License-Identifier: Apache-2.0
// Context of every component: the report, the part of it that the filter keeps, and the address.

import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Report } from './data/report';
import type { View } from './data/view_type';
import type { State } from './state';

export interface Context {
  report: Report;
  view: View;
  state: State;
  printing: boolean;
}
export const ReportContext = createContext<Context>(null as unknown as Context);
export const useReport = (): Context => useContext(ReportContext);
