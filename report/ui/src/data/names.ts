// SPDX-License-Identifier: Apache-2.0
// Rules for cutting names. A cut is at the end of a word and keeps both ends of the name. The
// number at the end stays, because it identifies the instruction.

const BEGINS_WORD = /[._/\-\s:,<(]/;

/**
 * How many characters the end that stays has: it begins where a word does, with what divides it
 * from the one before.
 */
export function tailLength(text: string, most: number): number {
  for (let n = Math.min(most, text.length - 1); n >= 2; --n)
    if (BEGINS_WORD.test(text[text.length - n]!)) return n;
  // One word: its number alone, else nothing. Half a word is useless.
  const number = /\d+$/.exec(text)?.[0].length ?? 0;
  return number < text.length ? number : 0;
}

/** The name in at most so many characters; empty if its number does not fit. */
export function midCut(text: string, most: number): string {
  if (text.length <= most) return text;
  if (most < 4) return '';
  // The number at the end comes before all else; of the rest the end gets up to half.
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

/** The first template arguments of a name that make it unique; the others are mostly equal. */
export function toldApart(names: string[], at: number): string {
  const name = names[at]!;
  for (let n = name.indexOf(', '); n > 0; n = name.indexOf(', ', n + 1)) {
    const head = name.slice(0, n);
    if (!names.some((other) => other !== name && other.startsWith(head))) return `${head}…`;
  }
  return name;
}

/**
 * The name in "o1 fusion.3  22.0 ms", cut as names are; for words their beginning. In a few
 * characters, the handle alone.
 */
export function cutLabel(text: string, most: number): string {
  const name = text.split('  ')[0]!;
  if (most < 10 && name.length > most) return midCut(/^[okm]\d+(?= )/.exec(name)?.[0] ?? '', most);
  return name.replace(/^[okm]\d+ /, '').includes(' ')
    ? `${text.slice(0, most - 1)}…`
    : midCut(name, most);
}
