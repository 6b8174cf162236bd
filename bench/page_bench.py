#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Size of a page, how long it takes to be usable, and how smoothly its timeline pans, in Chromium from file://.

    bench/page_bench.py PAGE.html... [--runs 5]
    bench/page_bench.py --xlatrace build/release/bin/xlatrace [--launches 1000000,10000000] [--folder build/page-bench]

The second form first makes the pages from traces of bench/big_run.py; existing files in the folder are used
again. Needs Playwright and Debian's chromium (scripts/test makes an environment that has them).

Prints medians over RUNS fresh contexts of three times. The first two start at the navigation: until the first
paint, and until the app is usable, with all tables except lazy ones decoded. The third is from opening the
timeline to its first drawing. The next figures are times between frames (median and 95th percentile) while
the D key pans the timeline. It pans over a step or a third of the run. Next to each is the CPU time of the page's main thread, which other programs on
the machine change less. The last column is the goal; on a busy machine compare it with CPU times.
"""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys

from playwright.sync_api import sync_playwright

FRAMES = 90
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
SPAN = """() => { const { run } = JSON.parse(document.getElementById('xlatrace-index').textContent).meta;
  return [run.start_ns, run.end_ns]; }"""
SHOW = """([from, to]) => new Promise((done) => {
  location.hash = `#/timeline?t=${from},${to}`;
  setTimeout(() => requestAnimationFrame(done), 300);
})"""
# Milliseconds between frames while D is held; then where it came to.
PAN = """(frames) => new Promise((done) => {
  const key = (type) => document.body.dispatchEvent(new KeyboardEvent(type, {key: 'd', bubbles: true}));
  const out = [];
  let before = 0;
  const frame = (now) => {
    if (before > 0) out.push(now - before);
    before = now;
    if (out.length < frames) return requestAnimationFrame(frame);
    key('keyup');
    done(out);
  };
  key('keydown');
  requestAnimationFrame(frame);
})"""


def main_thread(devtools):
    """Milliseconds that tasks of the page's main thread have run so far."""
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    return 1000 * next(m["value"] for m in metrics if m["name"] == "TaskDuration")


LEFT = """() => new Promise((done) => {
  setTimeout(() => done(Number(/[?&]t=(-?\\d+)/.exec(location.hash)[1])), 400);
})"""


def call(*command):
    """Whether it went well; what it prints is shown where it did not."""
    print(" ".join(map(str, command)), file=sys.stderr, flush=True)
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr.strip(), file=sys.stderr, flush=True)
    return done.returncode == 0


def made(program, launches, folder):
    """The page of a synthetic run of so many launches; a run.db that another program made is made again."""
    place = folder / str(launches)
    page, run, trace = place / "run.html", place / "run.db", place / "trace.sqlite"
    if page.exists() and page.stat().st_mtime > program.stat().st_mtime:
        return page
    place.mkdir(parents=True, exist_ok=True)
    report = [program, "report", run, "-o", page, "--force"]
    if run.exists() and call(*report):
        return page
    if not (
        call(sys.executable, pathlib.Path(__file__).with_name("big_run.py"), launches, place)
        and call(program, "import", trace, "--modules", place, "-o", run, "--force")
        and call(*report)
    ):
        sys.exit(f"page_bench: error: no page of {launches} launches could be made")
    trace.unlink()
    return page


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def measure(browser, path, runs):
    """Rows of (what, wall ms of each run, CPU ms of each run or None)."""
    wall = {name: [] for name in ("first paint", "usable", "timeline")}
    cpu = {name: [] for name in ("usable", "timeline")}
    pans = {"pan, a step": ([], []), "pan, a third": ([], [])}
    for _ in range(runs):
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.set_default_timeout(600_000)
        page = context.new_page()
        devtools = context.new_cdp_session(page)
        devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        begin = main_thread(devtools)
        page.goto(path.as_uri(), wait_until="commit")
        wall["usable"].append(page.evaluate(READY))
        cpu["usable"].append(main_thread(devtools) - begin)
        wall["first paint"].append(page.evaluate(PAINT))
        begin = main_thread(devtools)
        wall["timeline"].append(page.evaluate(TIMELINE))
        cpu["timeline"].append(main_thread(devtools) - begin)
        first, last = page.evaluate(SPAN)
        for name, share in (("pan, a step", 1 / 400), ("pan, a third", 1 / 3)):
            middle = first + (last - first) // 3
            page.evaluate(SHOW, [middle, middle + int((last - first) * share)])
            begin = main_thread(devtools)
            frames = page.evaluate(PAN, FRAMES)
            pans[name][1].append((main_thread(devtools) - begin) / FRAMES)
            if page.evaluate(LEFT) < middle + (last - first) * share / 4:
                sys.exit("page_bench: error: the timeline did not pan")
            pans[name][0].extend(frames)
        context.close()
    rows = [(name, statistics.median(values), None, statistics.median(cpu[name]) if name in cpu else None)
            for name, values in wall.items()]
    for name, (frames, each) in pans.items():
        rows.append((name, statistics.median(frames), percentile(frames, 0.95), statistics.median(each)))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--xlatrace", type=pathlib.Path, help="makes the pages with this program")
    parser.add_argument("--launches", default="1000000,10000000")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/page-bench"))
    options = parser.parse_args()
    pages = [page.resolve() for page in options.pages]
    if options.xlatrace:
        pages += [made(options.xlatrace.resolve(), int(n), options.folder.resolve()) for n in options.launches.split(",")]
    if not pages:
        parser.error("name a page, or --xlatrace")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--disable-gpu", "--no-sandbox"]
        )
        print("| page | MB | what | wall ms | 95 % | main thread, CPU ms | goal |")
        print("|---|---|---|---|---|---|---|")
        for path in pages:
            # Goal for a page: 1 s for millions of launches, 0.5 s for up to a million.
            goals = {"usable": 500 if path.stat().st_size < 8e6 else 1000, "pan, a step": 33, "pan, a third": 33}
            name = path.parent.name if path.name == "run.html" else path.name
            for what, middle, high, cpu in measure(browser, path, options.runs):
                print(f"| {name} | {path.stat().st_size / 1e6:.2f} | {what} | {middle:.0f} | "
                      f"{'' if high is None else f'{high:.0f}'} | {'' if cpu is None else f'{cpu:.1f}'} | "
                      f"{goals.get(what, '')} |", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
