#!/usr/bin/env python3
"""Size of a page and how long it takes to be usable, in Chromium from file://.

    bench/page_bench.py PAGE.html [RUNS]

Needs Playwright and Debian's chromium (scripts/test makes an environment that has them). Prints the
median of RUNS (default 5) fresh contexts: from navigation to the first paint, and to the mounted app
with all tables but the lazy ones decoded; then from opening the timeline to its first drawing. Beside
them the CPU time of the page's main thread, which other programs on the machine change less.
"""

import pathlib
import shutil
import statistics
import sys

from playwright.sync_api import sync_playwright

READY = """() => new Promise((done) => {
  const look = () => {
    const app = document.querySelector('[data-testid="app"][data-ready="1"]');
    app ? done(performance.now()) : requestAnimationFrame(look);
  };
  look();
})"""
PAINT = "() => performance.getEntriesByType('paint').find((e) => e.name === 'first-contentful-paint').startTime"
TIMELINE = """async () => {
  const begin = performance.now();
  document.querySelector('[data-testid="tab-timeline"]').click();
  while (!document.querySelector('[data-testid="timeline-canvas"]')) {
    await new Promise((done) => requestAnimationFrame(done));
  }
  return performance.now() - begin;
}"""


def main_thread(devtools):
    """Milliseconds that tasks of the page's main thread have run so far."""
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    return 1000 * next(m["value"] for m in metrics if m["name"] == "TaskDuration")


def main():
    path = pathlib.Path(sys.argv[1]).resolve()
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    paint, ready, timeline = [], [], []
    ready_cpu, timeline_cpu = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--disable-gpu", "--no-sandbox"]
        )
        for _ in range(runs):
            context = browser.new_context(viewport={"width": 1440, "height": 900})
            page = context.new_page()
            devtools = context.new_cdp_session(page)
            devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
            begin = main_thread(devtools)
            page.goto(path.as_uri(), wait_until="commit")
            ready.append(page.evaluate(READY))
            ready_cpu.append(main_thread(devtools) - begin)
            paint.append(page.evaluate(PAINT))
            begin = main_thread(devtools)
            timeline.append(page.evaluate(TIMELINE))
            timeline_cpu.append(main_thread(devtools) - begin)
            context.close()
        browser.close()
    print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")
    for name, values in (
        ("first paint", paint),
        ("ready", ready),
        ("  of it CPU", ready_cpu),
        ("timeline", timeline),
        ("  of it CPU", timeline_cpu),
    ):
        print(
            f"{name:12} {statistics.median(values):7.0f} ms"
            f" (of {runs}: {min(values):.0f} to {max(values):.0f})"
        )


if __name__ == "__main__":
    main()
