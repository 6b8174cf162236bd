// SPDX-License-Identifier: Apache-2.0
// Formats numbers for readers, equal to base/number_format.cc digit by digit (tests compare both
// with tests/base/golden/numbers.txt). Page and terminal therefore show the same figures. Only the
// unit of microseconds (µs here, us there) and the minus sign (− here) differ.

/** `value` with `digits` decimals; exact ties go to the even digit, as C's printf rounds them. */
function fixed(value: number, digits: number): string {
  const text = value.toFixed(digits);
  const scaled = Math.abs(value) * 10 ** digits;
  if (scaled % 1 !== 0.5) return text;
  // It is a tie only if the binary value is one exactly, which the exact expansion shows.
  const exact = Math.abs(value).toFixed(60);
  const rest = exact.slice(exact.indexOf('.') + 1 + digits);
  if (!/^50*$/.test(rest)) return text;
  const down = Math.floor(scaled);
  const even = down % 2 === 0 ? down : down + 1;
  return (value < 0 ? '-' : '') + (even / 10 ** digits).toFixed(digits);
}

function withCommas(text: string): string {
  const dot = text.indexOf('.');
  const whole = dot < 0 ? text : text.slice(0, dot);
  return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (dot < 0 ? '' : text.slice(dot));
}

const minus = (text: string): string => text.replace('-', '−');

/** 3 significant digits, at most 3 decimals: 63.0, 9.45, 0.269, 50,800; below 0.0005 "<0.001". */
export function significant(value: number): string {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (!isFinite(value)) return '';
  if (size < 0.0005) return value < 0 ? '>−0.001' : '<0.001';
  if (size < 0.9995) return minus(fixed(value, 3));
  if (size < 9.995) return minus(fixed(value, 2));
  if (size < 99.95) return minus(fixed(value, 1));
  if (size < 999.5) return minus(fixed(value, 0));
  const unit = 10 ** (Math.floor(Math.log10(size)) - 2);
  return minus(withCommas((Math.sign(value) * Math.round(size / unit) * unit).toFixed(0)));
}

export const formatMs = (ns: number): string => significant(ns / 1e6);
export const formatUs = (ns: number): string => significant(ns / 1e3);

/** A figure in ms, as in every column, in words; from 100 s on with minutes: "9 min 20 s". */
export const msText = (ns: number): string =>
  Math.abs(ns) < 99.95e9 ? `${formatMs(ns)} ms` : duration(ns);

/** With a suitable unit: "63.0 ms", "410 µs", "2 min 05 s". */
export function duration(ns: number): string {
  const size = Math.abs(ns);
  if (size < 999.5) return minus(`${fixed(ns, 0)} ns`);
  if (size < 999.5e3) return `${significant(ns / 1e3)} µs`;
  if (size < 999.5e6) return `${significant(ns / 1e6)} ms`;
  if (size < 120e9) return `${significant(ns / 1e9)} s`;
  const seconds = Math.round(size / 1e9);
  const minutes = Math.round(size / 60e9);
  const text =
    seconds >= 3600
      ? `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`
      : `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`;
  return ns < 0 ? `−${text}` : text;
}

/** Share in percent, one decimal: "40.8"; "<0.1" instead of "0.0"; "" if the whole is 0. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return '';
  if (part === 0) return '0';
  const value = (100 * part) / whole;
  if (Math.abs(value) < 0.05) return '<0.1';
  if (Math.abs(value - 100) < 0.05) return '100';
  return minus(fixed(value, 1));
}

/** "% peak": whole numbers, below 1 two digits, so that 0.06 stays readable. */
export function peakPercent(value: number): string {
  if (value >= 0.995) return fixed(value, 0);
  return value < 0.005 ? '<0.01' : fixed(value, 2);
}

export const thousands = (value: number): string => minus(withCommas(value.toFixed(0)));

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
function scaledUnit(value: number, units: string[]): string {
  let unit = 0;
  let v = value;
  while (Math.abs(v) >= 999.5 && unit + 1 < units.length) {
    v /= 1000;
    ++unit;
  }
  return unit === 0 ? `${fixed(v, 0)} ${units[0]}` : `${significant(v)} ${units[unit]}`;
}
/** Decimal units: "103 MB". */
export const bytes = (value: number): string => scaledUnit(value, BYTE_UNITS);
export const flop = (value: number): string =>
  scaledUnit(value, ['FLOP', 'kFLOP', 'MFLOP', 'GFLOP', 'TFLOP', 'PFLOP']);
export const flopRate = (value: number): string =>
  scaledUnit(value, ['FLOP/s', 'kFLOP/s', 'MFLOP/s', 'GFLOP/s', 'TFLOP/s', 'PFLOP/s']);
export const byteRate = (value: number): string =>
  scaledUnit(value, ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s', 'PB/s']);

/** Number of calls per step; without decimals if it is an integer. */
export const count = (value: number): string =>
  Math.abs(value - Math.round(value)) < 1e-6 ? thousands(Math.round(value)) : significant(value);

/** Number of gaps, as in the terminal: an integer from ten on. */
export const gapCount = (value: number): string =>
  value < 10 && Math.abs(value - Math.round(value)) > 1e-6
    ? significant(value)
    : thousands(Math.round(value));

/** A figure of a finding in its unit. */
export function inUnit(value: number, unit: string): string {
  switch (unit) {
    case 'ns':
      return duration(value);
    case 'bytes':
      return bytes(value);
    case 'flops':
      return flop(value);
    case 'bytes/s':
      return byteRate(value);
    case 'flops/s':
      return flopRate(value);
    case 'GB/s':
      return byteRate(1e9 * value);
    case 'TFLOP/s':
      return flopRate(1e12 * value);
    case '%':
      return `${percent(value, 100)}%`;
    case 'count':
    case '':
      return count(value);
    default:
      return `${significant(value)} ${unit}`;
  }
}

/** "4.03×"; empty if the divisor is 0. */
export const ratio = (a: number, b: number): string =>
  b > 0 && a > 0 ? `${significant(a / b)}×` : '';

/** Converts a clause to a sentence. */
export const sentenceOf = (text: string): string =>
  text === '' ? '' : `${text[0]!.toUpperCase()}${text.slice(1)}.`;

/** A change with its sign: "+0.860", "−49.9", "0". */
export const signed = (value: number, text: (v: number) => string = significant): string =>
  value > 0 && text(value)[0] !== '<' ? `+${text(value)}` : text(value);

export const plural = (n: number, one: string, many = `${one}s`): string =>
  `${thousands(n)} ${n === 1 ? one : many}`;

/** Last component of a path. */
export const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** "layers.py:88"; empty without a file. */
export const sourceLine = (file: string, line: number): string =>
  file === '' ? '' : line > 0 ? `${baseName(file)}:${line}` : baseName(file);

/** Last component of an op_name, outside parentheses. */
export function opNameTail(opName: string): string {
  let depth = 0;
  for (let i = opName.length - 1; i >= 0; --i) {
    const c = opName[i];
    if (c === ')') ++depth;
    else if (c === '(') --depth;
    else if (c === '/' && depth <= 0) return opName.slice(i + 1);
  }
  return opName;
}

/** The tail without parameters: dot_general, not dot_general[...]. */
export const opKind = (opName: string): string => opNameTail(opName).replace(/(.)\[.*$/s, '$1');

/** First and last component: "layer_7/…/softmax". */
export function shortPath(path: string, width = 34): string {
  if (path.length <= width) return path;
  const parts = path.split('/');
  if (parts.length < 3) return path;
  const last = parts[parts.length - 1]!;
  let head = parts[0]!;
  for (let i = 1; i < parts.length - 1; ++i) {
    const longer = `${head}/${parts[i]}`;
    if (longer.length + last.length + 3 > width) break;
    head = longer;
  }
  return `${head}/…/${last}`;
}

export const sumBy = <T>(list: readonly T[], of: (item: T) => number): number =>
  list.reduce((a, x) => a + of(x), 0);
/** The sum of their times. */
export const sumNs = (list: readonly { ns: number }[]): number => sumBy(list, (x) => x.ns);
