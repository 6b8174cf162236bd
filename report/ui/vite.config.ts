// SPDX-License-Identifier: Apache-2.0
// One self-contained classic script, dist/app.js: `xlatrace report` puts its bytes into the page.
//
// The first line names the sources by hash, so that a test without node can tell a stale build.

import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'fflate';
import { defineConfig, transformWithEsbuild, type Plugin } from 'vite';

const root = dirname(fileURLToPath(import.meta.url));

function sourceFiles(dir = ''): string[] {
  const out: string[] = [];
  for (const entry of readdirSync(join(root, dir), { withFileTypes: true })) {
    const path = dir === '' ? entry.name : `${dir}/${entry.name}`;
    if (path === 'dist' || path === 'node_modules') continue;
    if (entry.isDirectory()) out.push(...sourceFiles(path));
    else out.push(path);
  }
  return out;
}

/** SHA-256 over path, LF, size in decimal, LF, bytes of every source file, sorted by path. */
export function sourceHash(): string {
  const hash = createHash('sha256');
  const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
  for (const path of sourceFiles().sort(byBytes)) {
    const bytes = readFileSync(join(root, path));
    hash.update(`${path}\n${bytes.length}\n`);
    hash.update(bytes);
  }
  return hash.digest('hex');
}

function pageScript(): Plugin {
  return {
    name: 'xlatrace-page-script',
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== 'chunk') continue;
        // Inside an HTML <script> these would end it or change how it is parsed.
        // One character above Latin-1 makes the browser keep the data behind the script as UTF-16.
        const code = file.code
          .replace(/<\/script/gi, '<\\/script')
          .replace(/<!--/g, '<\\!--')
          .replace(/[^\0-\xff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
        file.code = `/* xlatrace page 1.0 src-sha256:${sourceHash()} */\n${code}`;
      }
    },
  };
}

/**
 * Four bytes as five characters from ( on, without the backslash; see src/texts.ts. Zeros fill the
 * last four.
 */
function base85(bytes: Uint8Array): string {
  let out = '';
  for (let i = 0; i < bytes.length; i += 4) {
    let word = 0;
    for (let k = 0; k < 4; ++k) word = word * 256 + (bytes[i + k] ?? 0);
    let five = '';
    for (let k = 0; k < 5; ++k) {
      const digit = word % 85;
      five = String.fromCharCode(digit + (digit < 52 ? 40 : 41)) + five;
      word = Math.floor(word / 85);
    }
    out += five;
  }
  return out;
}

/**
 * `virtual:packed`: the texts of src/texts.ts, gzip in base85 (by a library, so that every node
 * gives the same bytes).
 */
function packedTexts(): Plugin {
  const id = '\0virtual:packed';
  return {
    name: 'xlatrace-packed-texts',
    resolveId: (name) => (name === 'virtual:packed' ? id : null),
    async load(name) {
      if (name !== id) return null;
      const read = (file: string): string => readFileSync(join(root, 'src', file), 'utf8');
      const css = await transformWithEsbuild(read('style.css'), 'style.css', {
        loader: 'css',
        minify: true,
        charset: 'utf8',
      });
      const bytes = new TextEncoder().encode(
        [
          css.code,
          read('licences.txt'),
          read('glossary.txt'),
          read('keys.txt'),
          read('filter.txt'),
          read('dark.txt'),
          read('sentences.txt'),
        ]
          .map((text) => text.trim())
          .join('\0'),
      );
      const packed = gzipSync(bytes, { level: 9, mtime: 0 });
      return `export const LENGTH = ${bytes.length};\nexport const BYTES = ${packed.length};\nexport const PACKED = "${base85(packed)}";`;
    },
  };
}

export default defineConfig({
  root,
  plugins: [packedTexts(), pageScript()],
  // The classic call is a tenth shorter in the bundle than the automatic one. Names with a $ so
  // that no variable of a component hides them.
  esbuild: {
    jsx: 'transform',
    jsxFactory: '$h',
    jsxFragment: '$F',
    jsxInject: "import { h as $h, Fragment as $F } from 'preact'",
    legalComments: 'none',
    charset: 'utf8',
  },
  // Tests read golden files that C++ reads, too.
  server: { fs: { allow: [join(root, '../..')] } },
  define: { 'process.env.NODE_ENV': '"production"' },
  build: {
    target: 'es2022',
    outDir: 'dist',
    emptyOutDir: true,
    sourcemap: false,
    lib: {
      entry: 'src/main.tsx',
      formats: ['iife'],
      name: 'xlatracePage',
      fileName: () => 'app.js',
    },
  },
});
