// SPDX-License-Identifier: Apache-2.0
// Helpers around the browser: clipboard, events, sizes, asynchronous loads.

import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Older browsers on file://: a hidden field and the copy command.
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    const ok = document.execCommand('copy');
    area.remove();
    return ok;
  }
}

/** Adds event listeners until the returned function is called. */
export function listen(to: EventTarget, on: Record<string, (e: never) => void>): () => void {
  const stop = new AbortController();
  // Not passive: a wheel that zooms must not scroll.
  for (const [event, f] of Object.entries(on))
    to.addEventListener(event, f as EventListener, { passive: false, signal: stop.signal });
  return () => stop.abort();
}

export function download(name: string, text: string, type = 'text/plain'): void {
  const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const a = document.createElement('a');
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** Width of an element, updated when it changes, because charts are drawn at device pixels. */
export function useWidth<T extends HTMLElement>(start = 800): [RefObject<T>, number] {
  const ref = useRef<T>(null);
  const [width, setWidth] = useState(start);
  useLayoutEffect(() => {
    const el = ref.current;
    if (!el) return undefined;
    const read = (): void => {
      const w = Math.floor(el.clientWidth);
      if (w > 0) setWidth(w);
    };
    read();
    const observer = new ResizeObserver(read);
    observer.observe(el);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

/** Runs an async load and renders its result. */
export function useLoad<T>(load: () => Promise<T>, keys: unknown[]): { value?: T; error?: string } {
  const [state, setState] = useState<{ value?: T; error?: string }>({});
  useEffect(() => {
    let live = true;
    setState({});
    load().then(
      (value) => live && setState({ value }),
      (e: unknown) => live && setState({ error: e instanceof Error ? e.message : String(e) }),
    );
    return () => {
      live = false;
    };
  }, keys);
  return state;
}
