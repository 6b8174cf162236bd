// Long texts that the build compresses (vite.config.ts): a tenth of the bundle.

import { LENGTH, PACKED } from 'virtual:packed';
import { fromBase64, gunzip } from './data/codec';

/** The style sheet, the licences of what is bundled, and the words that the pages use. */
export const texts = { css: '', licences: '', glossary: '' };
/** A word and what it means, for the help and the Run page. */
export const glossary = (): string[][] => texts.glossary.split('\n').map((line) => line.split(': '));

export async function unpackTexts(): Promise<void> {
  const [css = '', licences = '', words = ''] = new TextDecoder().decode(await gunzip(fromBase64(PACKED), LENGTH)).split('\0');
  Object.assign(texts, { css, licences, glossary: words });
}
