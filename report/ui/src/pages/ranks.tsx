// SPDX-License-Identifier: Apache-2.0
// The rank that delays the others: computation, waiting and idle time of each rank, and a map of
// ranks and steps.

import type { VNode } from 'preact';
import { useReport } from '../ctx';
import { JobRanks } from './job_ranks';
import { DeviceRanks } from './ranks/devices';
import { WholeRunDevices } from './ranks/whole_run';

/** For a merged job, run.db has more than the launches of the ranks in this file. */
export function RanksPage(): VNode {
  const { report } = useReport();
  return report.tables.rows('ranks') > 1 ? (
    <JobRanks />
  ) : report.steps.length > 0 ? (
    <DeviceRanks />
  ) : (
    <WholeRunDevices />
  );
}
