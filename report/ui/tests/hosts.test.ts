// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import { hostsOf, type HostRank } from '../src/pages/job_hosts';

const rank = (host: string, program: string, more: Partial<HostRank> = {}): HostRank => ({
  host,
  program,
  gemm: 20,
  other: 30,
  idle: 5,
  wait: 2,
  transfer: 1,
  ...more,
});

test('a host is compared with ranks of the same program', () => {
  // The second program has twice the work: no host of it is slow for that.
  const hosts = hostsOf([
    rank('a', 'p'),
    rank('a', 'p'),
    rank('b', 'p'),
    rank('b', 'p', { idle: 15 }),
    rank('c', 'p'),
    rank('d', 'q', { gemm: 40 }),
    rank('d', 'q', { gemm: 40 }),
    rank('e', 'q', { gemm: 46, wait: 0 }),
    rank('f', 'q', { gemm: 40 }),
  ]);
  expect(hosts.map((h) => h.host).slice(0, 2)).toEqual(['e', 'b']);
  expect(hosts[0]!.more).toEqual({ gemm: 6, other: 0, idle: 0, wait: -2, transfer: 0 });
  expect(hosts[1]!.more.idle).toBe(5);
  expect(hosts.find((h) => h.host === 'd')!.more.gemm).toBe(0);
});

test('who waits most is not the worst, and what is not known is left out', () => {
  const hosts = hostsOf([
    rank('a', 'p', { wait: 90 }),
    rank('b', 'p', { other: 31, wait: NaN }),
    rank('c', 'p'),
  ]);
  expect(hosts[0]!.host).toBe('b');
  expect(hosts[0]!.more.wait).toBeNaN();
});
