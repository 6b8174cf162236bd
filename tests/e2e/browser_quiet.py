# SPDX-License-Identifier: Apache-2.0
"""An action in the browser is over when the page has drawn what it led to.

Playwright's click or key returns when the event was sent. The page reacts later: it runs an effect, a timer
that gathers moves, or unpacks a table. The delay depends on the load of the machine. `watch` makes a page count its pending work. Each action then waits until none is left and two frames were drawn, so a
test reads the final state."""

import re

# Timers that are longer take something away again (a tooltip, "copied") or are no answer to an action.
LONGEST_TIMER_MS = 300

COUNT = """
(() => {
  const open = new Set();
  const plain = {};
  for (const name of ['setTimeout', 'clearTimeout', 'requestAnimationFrame', 'cancelAnimationFrame'])
    plain[name] = window[name].bind(window);
  const begin = (kind, start, run) => {
    let key;
    const id = start((...given) => { try { run(...given); } finally { open.delete(key); } });
    key = kind + id;
    return [id, key];
  };
  window.setTimeout = (run, ms = 0, ...given) => {
    if (!(ms <= LONGEST)) return plain.setTimeout(run, ms, ...given);
    const [id, key] = begin('t', (f) => plain.setTimeout(f, ms), () => run(...given));
    open.add(key);
    return id;
  };
  window.clearTimeout = (id) => { open.delete('t' + id); plain.clearTimeout(id); };
  window.requestAnimationFrame = (run) => {
    const [id, key] = begin('f', plain.requestAnimationFrame, run);
    open.add(key);
    return id;
  };
  window.cancelAnimationFrame = (id) => { open.delete('f' + id); plain.cancelAnimationFrame(id); };
  const read = ReadableStreamDefaultReader.prototype.read;
  ReadableStreamDefaultReader.prototype.read = function (...given) {
    const key = {};
    open.add(key);
    return read.apply(this, given).finally(() => open.delete(key));
  };
  window.xlatraceQuiet = () => new Promise((done) => {
    let calm = 0;
    const look = () => {
      calm = open.size ? 0 : calm + 1;
      if (calm > 2) done(true); else plain.requestAnimationFrame(look);
    };
    plain.requestAnimationFrame(look);
  });
})();
""".replace("LONGEST", str(LONGEST_TIMER_MS))

WAIT = "() => (window.xlatraceQuiet ? window.xlatraceQuiet() : true)"
GOES = re.compile(r"location\.hash\s*\+?=[^=]|\.(click|focus|scroll\w*)\(|scroll(Top|Left)\s*=[^=]")
ON_LOCATORS = "check click dblclick fill focus hover press scroll_into_view_if_needed select_option uncheck".split()
ON_KEYBOARD = "press type up".split()
ON_MOUSE = "click dblclick down move up wheel".split()


def quiet(page):
    """Waits until the page has nothing left to do."""
    page.wait_for_function(WAIT)


def address(page):
    """Where the page is; `page.url` follows a moment later."""
    return page.evaluate("() => location.href")


def _waiting(action, wait):
    def acts(*given, **named):
        result = action(*given, **named)
        wait()
        return result

    return acts


def watch(page):
    """For a page that is not opened yet: its keyboard, mouse, addresses and clicks wait from then on."""
    page.add_init_script(COUNT)
    wait = lambda: quiet(page)  # noqa: E731
    for device, names in ((page.keyboard, ON_KEYBOARD), (page.mouse, ON_MOUSE)):
        for name in names:
            setattr(device, name, _waiting(getattr(device, name), wait))
    page.set_viewport_size = _waiting(page.set_viewport_size, wait)
    page.goto = _waiting(page.goto, wait)
    evaluate = page.evaluate

    def evaluates(expression, arg=None):
        result = evaluate(expression, arg)
        if GOES.search(expression):
            wait()
        return result

    page.evaluate = evaluates


def watch_locators(kind):
    """Patches Playwright's class of locators once: an action on a locator waits for its page."""
    for name in ON_LOCATORS:
        action = getattr(kind, name)

        def acts(self, *given, _action=action, **named):
            result = _action(self, *given, **named)
            quiet(self.page)
            return result

        setattr(kind, name, acts)
