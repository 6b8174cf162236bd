// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';

const sources = import.meta.glob<string>('../src/**/*.{ts,tsx}', {
  eager: true,
  query: '?raw',
  import: 'default',
});

/** Files that a file imports at run time; imports of types alone do not count. */
function importsOf(file: string, text: string): string[] {
  const folder = file.split('/').slice(0, -1);
  const statements = text.matchAll(/^import (?!type )([^;]*?)from '(\.[^']*)';/gm);
  return [...statements]
    .filter(([, names]) => !/^\{(\s*type \w+,?)*\s*\} $/.test(names!))
    .flatMap(([, , path]) => {
      const parts = [...folder];
      for (const part of path!.split('/')) {
        if (part === '..') parts.pop();
        else if (part !== '.') parts.push(part);
      }
      const target = parts.join('/');
      return [`${target}.ts`, `${target}.tsx`].filter((name) => name in sources);
    });
}

/** The first circle of imports that a depth-first walk finds; empty: none. */
function findCircle(graph: Map<string, string[]>): string[] {
  const done = new Set<string>();
  const walk = (file: string, above: string[]): string[] => {
    if (above.includes(file)) return [...above.slice(above.indexOf(file)), file];
    if (done.has(file)) return [];
    for (const next of graph.get(file) ?? []) {
      const circle = walk(next, [...above, file]);
      if (circle.length > 0) return circle;
    }
    done.add(file);
    return [];
  };
  for (const file of graph.keys()) {
    const circle = walk(file, []);
    if (circle.length > 0) return circle;
  }
  return [];
}

describe('imports', () => {
  it('have no circle', () => {
    const graph = new Map(
      Object.entries(sources).map(([file, text]) => [file, importsOf(file, text)]),
    );
    expect(graph.size).toBeGreaterThan(100);
    expect([...graph.values()].flat().length).toBeGreaterThan(300);
    expect(findCircle(graph)).toEqual([]);
  });
  it('a circle is found', () => {
    const graph = new Map([
      ['a', ['b']],
      ['b', ['c']],
      ['c', ['b']],
    ]);
    expect(findCircle(graph)).toEqual(['b', 'c', 'b']);
  });
});
