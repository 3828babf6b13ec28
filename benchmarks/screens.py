"""Pictures of the web page for docs/howto/serve.md: a review examined, then attacked.

Run: python benchmarks/screens.py runs/demo, after `sgbt demo --out runs/demo`; needs the extra `serve`, playwright and
chromium. The review is that of results/pictures/idea.jsonl.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
ASSETS = ROOT / "docs" / "assets"
PORT = 8765


def shots(address: str, text: str) -> None:
    """Two pictures of one visit."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1180, "height": 860}, color_scheme="light")
        page.goto(address)
        page.get_by_label("Text to examine").fill(text)
        page.get_by_role("button", name="Examine").click()
        page.locator(".verdict").first.wait_for()
        page.locator("article").nth(1).locator(".word").nth(2).hover()
        page.get_by_role("tooltip").wait_for()
        page.screenshot(path=ASSETS / "page-word.png")
        page.mouse.move(0, 0)
        page.get_by_role("button", name="Attack").click()
        page.get_by_text("broken by").first.wait_for()
        page.wait_for_timeout(1000)
        page.screenshot(path=ASSETS / "page-attack.png")
        browser.close()


def main() -> None:
    """Serve the demo's models, and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("demo", type=Path, help="folder of `sgbt demo`")
    demo = parser.parse_args().demo
    (line,) = (ROOT / "results" / "pictures" / "idea.jsonl").read_text(encoding="utf-8").splitlines()
    runs = [str(demo / name) for name in ("normal", "certified")]
    server = subprocess.Popen([sys.executable, "-m", "sgbt", "serve", *runs, "--port", str(PORT)])
    try:
        address = f"http://127.0.0.1:{PORT}/"
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{address}health", timeout=2)
                break
            except OSError:
                time.sleep(0.5)
        shots(address, json.loads(line)["text"])
    finally:
        server.terminate()
        server.wait(timeout=30)


if __name__ == "__main__":
    main()
