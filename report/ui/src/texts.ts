// SPDX-License-Identifier: Apache-2.0
// Long texts that the build compresses (vite.config.ts): a tenth of the bundle.

import { BYTES, LENGTH, PACKED } from 'virtual:packed';
import { gunzip } from './data/codec';

/** The style sheet, the licences of what is bundled, the words that the pages use, the keys,
 * what a filter is, the colours of the dark theme, long sentences by key. */
export const texts = {
  css: '',
  licences: '',
  glossary: '',
  keys: '',
  filter: '',
  dark: '',
  sentences: '',
};
const pairs = (text: string): string[][] => text.split('\n').map((line) => line.split(': '));
/** A word and what it means, for the help and the Run page. */
export const glossary = (): string[][] => pairs(texts.glossary);
/** A key and what it does. */
export const keys = (): string[][] => pairs(texts.keys);

/** A long sentence of sentences.txt: once the texts are unpacked, so not while modules load. */
export const say = (key: string): string =>
  pairs(texts.sentences)
    .find((p) => p[0] === key)!
    .slice(1)
    .join(': ');

/** Five characters from ( on, without the backslash, are four bytes: a tenth less than base64. */
function fromBase85(text: string): Uint8Array<ArrayBuffer> {
  const words = new DataView(new ArrayBuffer((text.length / 5) * 4));
  for (let i = 0; i < text.length; i += 5) {
    let word = 0;
    for (const c of text.slice(i, i + 5)) word = word * 85 + c.charCodeAt(0) - (c > '\\' ? 41 : 40);
    words.setUint32((i / 5) * 4, word);
  }
  return new Uint8Array(words.buffer, 0, BYTES);
}

export async function unpackTexts(): Promise<void> {
  const all = new TextDecoder().decode(await gunzip(fromBase85(PACKED), LENGTH)).split('\0');
  Object.keys(texts).forEach((key, i) => (texts[key as keyof typeof texts] = all[i] ?? ''));
}
