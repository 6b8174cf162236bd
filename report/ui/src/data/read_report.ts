// SPDX-License-Identifier: Apache-2.0
// Reads the report from the document.

import { DataError, type PageIndex } from './codec';
import { Report } from './report';
import type { BlockText } from './table';

const FORMAT_MAJOR = 1;

/** The report in this document; throws DataError with a sentence for people. */
export async function readReport(doc: Document): Promise<Report> {
  const json = (id: string): unknown => {
    const text = doc.getElementById(id)?.textContent;
    if (!text) return null;
    try {
      return JSON.parse(text);
    } catch {
      throw new DataError(`the part “${id}” of this file is damaged`);
    }
  };
  const index = json('xlatrace-index') as PageIndex | null;
  if (!index) throw new DataError('this file holds no data: it may have been cut short');
  if (index.format?.major !== FORMAT_MAJOR) {
    throw new DataError(
      `this page reads data of format ${FORMAT_MAJOR}, the file has format ` +
        `${String(index.format?.major)}`,
    );
  }
  const textOf: BlockText = (block) => {
    const node = doc.getElementById(`xlatrace-block-${block}`);
    if (!node) return null;
    const text = node.textContent;
    node.remove(); // The text is not needed again; removing it frees memory of a large file.
    return text;
  };
  const report = new Report(index, textOf);
  await report.tables.loadEager();
  return report;
}
