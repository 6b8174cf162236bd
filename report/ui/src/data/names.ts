// SPDX-License-Identifier: Apache-2.0
// Rules for cutting names. A cut is at the end of a word and keeps both ends of the name. The
// number at the end stays, because it identifies the instruction.

const BEGINS_WORD = /[._/\-\s:,<(]/;

/**
 * Number of characters of the kept end: it begins with a word and the separator before it.
 */
export function tailLength(text: string, most: number): number {
  for (let n = Math.min(most, text.length - 1); n >= 2; --n)
    if (BEGINS_WORD.test(text[text.length - n]!)) return n;
  // For a single word: its number alone, or else nothing, because half a word is useless.
  const number = /\d+$/.exec(text)?.[0].length ?? 0;
  return number < text.length ? number : 0;
}

/** The name with at most this number of characters; empty if its number does not fit. */
export function midCut(text: string, most: number): string {
  if (text.length <= most) return text;
  if (most < 4) return '';
  // The number at the end has priority. The end gets up to half of the remaining width.
  const number = /[._\-:]?\d+$/.exec(text)?.[0].length ?? 0;
  let tail = Math.max(tailLength(text, Math.floor(most / 2)), number);
  if (tail > most - 1) return '';
  let head = most - 1 - tail;
  // A word is cut only if less than half of the width would be left.
  for (let n = head; n >= Math.max(2, head / 2); --n) {
    if (!BEGINS_WORD.test(text[n]!) && !BEGINS_WORD.test(text[n - 1]!)) continue;
    head = BEGINS_WORD.test(text[n - 1]!) ? n - 1 : n;
    break;
  }
  if (head < 2 && tail > number && number > 0) {
    tail = number;
    head = most - 1 - tail;
  }
  return `${text.slice(0, head)}…${tail > 0 ? text.slice(-tail) : ''}`;
}

/**
 * The first template arguments of a name that make it unique, because the others are mostly equal.
 */
export function toldApart(names: string[], at: number): string {
  const name = names[at]!;
  for (let n = name.indexOf(', '); n > 0; n = name.indexOf(', ', n + 1)) {
    const head = name.slice(0, n);
    if (!names.some((other) => other !== name && other.startsWith(head))) return `${head}…`;
  }
  return name;
}

/**
 * The name in "o1 fusion.3  22.0 ms", cut like other names; of words the beginning. In very few
 * characters, only the handle.
 */
export function cutLabel(text: string, most: number): string {
  const name = text.split('  ')[0]!;
  if (most < 10 && name.length > most) return midCut(/^[okm]\d+(?= )/.exec(name)?.[0] ?? '', most);
  return name.replace(/^[okm]\d+ /, '').includes(' ')
    ? `${text.slice(0, most - 1)}…`
    : midCut(name, most);
}
