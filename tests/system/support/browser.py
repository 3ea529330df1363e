"""Opens pages in a headless browser, and says what it complains about."""

import re
import shutil
import subprocess
import sys
import tempfile


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def find_browser():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def browse(chromium, page, seconds=0):
    """The document that the scripts of a page, a file or an address, leave behind after so many seconds of its own time; it
    must come to its end without a complaint."""
    address = page if "://" in str(page) else f"file://{page}"
    with tempfile.TemporaryDirectory() as profile:
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update", "--disable-sync",
                   "--enable-logging=stderr", "--log-level=0", f"--user-data-dir={profile}", "--window-size=1280,1000",
                   *([f"--virtual-time-budget={1000 * seconds}"] if seconds else []), "--dump-dom", f"{address}#check"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not console, "the browser complains: " + "\n".join(console)
    assert 'data-checked="yes"' in done.stdout, "the page's script did not come to its end"
    return done.stdout


def drawn_pixels(dom):
    """How many pixels of each canvas are drawn."""
    return [int(re.search(r'data-drawn="(\d+)"', canvas).group(1)) for canvas in re.findall(r"<canvas[^>]*>", dom)]
