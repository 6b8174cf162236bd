# SPDX-License-Identifier: Apache-2.0
"""Opens files of `export --to speedscope` in speedscope's own page, in Chromium, and prints the displayed
text. Usage: export_browser.py RELEASE_FOLDER FILE... Run with an interpreter that has Playwright."""

import functools
import http.server
import json
import pathlib
import shutil
import sys
import threading

from playwright.sync_api import sync_playwright


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def serve(folder):
    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main():
    release, *files = map(pathlib.Path, sys.argv[1:])
    server = serve(release)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    shown = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--ignore-gpu-blocklist"],
            timeout=300_000,
        )
        for file in files:
            page = browser.new_page(viewport={"width": 1400, "height": 1500})
            page.set_default_timeout(300_000)
            problems = []
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
            page.on("dialog", lambda d: (problems.append(d.message), d.dismiss()))
            page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
            page.set_input_files("input[type=file]", str(file))
            try:
                # The views are there once a profile is shown.
                page.get_by_text("Sandwich").click()
                page.get_by_text("Total", exact=True).click()  # The longest on top.
                page.get_by_text("Symbol Name").wait_for()
            except Exception as error:
                problems.append(str(error))
            shown.append(
                {
                    "title": page.title(),
                    "rows": page.locator("table tr").all_inner_texts(),
                    "problems": problems,
                }
            )
            page.close()
        browser.close()
    print(json.dumps(shown))


if __name__ == "__main__":
    main()
