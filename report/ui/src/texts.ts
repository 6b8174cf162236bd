// Long texts that the build compresses (vite.config.ts): a tenth of the bundle.

import { LENGTH, PACKED } from 'virtual:packed';
import { fromBase64, gunzip } from './data/codec';

/** The style sheet, and the licences of what is bundled. */
export const texts = { css: '', licences: '' };

export async function unpackTexts(): Promise<void> {
  const [css = '', licences = ''] = new TextDecoder().decode(await gunzip(fromBase64(PACKED), LENGTH)).split('\0');
  Object.assign(texts, { css, licences });
}
