// SPDX-License-Identifier: Apache-2.0
// One self-contained classic script, dist/app.js: `xlatrace report` puts its bytes into the page.
//
// The first line names the sources by hash, so that a test without node can detect a stale build.

import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

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

export default defineConfig({
  root,
  plugins: [pageScript()],
  esbuild: {
    jsx: 'automatic',
    jsxImportSource: 'preact',
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
