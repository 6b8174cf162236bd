// SPDX-License-Identifier: Apache-2.0
import eslint from '@eslint/js';
import { defineConfig } from 'eslint/config';
import reactHooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';

export default defineConfig(
  { ignores: ['dist/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  eslint.configs.recommended,
  tseslint.configs.recommendedTypeChecked,
  {
    files: ['src/**', 'tests/**'],
    languageOptions: { parserOptions: { projectService: true } },
    plugins: { 'react-hooks': reactHooks },
    rules: {
      // exhaustive-deps stays off until the large components are split: 31 memos and effects have a
      // shorter list on purpose (a report does not change) or a list with elements of an array.
      'react-hooks/rules-of-hooks': 'error',
      // Only comments, which Prettier does not wrap.
      'max-len': ['error', { code: 1000, comments: 100, ignorePattern: 'eslint-disable' }],
      // The exception of tsc's noUnusedParameters.
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
    },
  },
  // Configuration files run in node, whose types are not installed.
  { files: ['*.config.*'], extends: [tseslint.configs.disableTypeChecked] },
);
