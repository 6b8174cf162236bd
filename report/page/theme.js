// SPDX-License-Identifier: Apache-2.0
try {
  const t = localStorage.getItem('xlatrace-theme');
  if (t === 'light' || t === 'dark') document.documentElement.dataset.theme = t;
} catch (e) {}
document.documentElement.dataset.starting = '';
setTimeout(() => delete document.documentElement.dataset.starting, 2000);
