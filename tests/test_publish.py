"""`dictsent push`: the real client against a server of ours that keeps what it is sent."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from test_card import record
from test_cli import one_line

from dictsent.card import model_card
from dictsent.encoder import Encoder
from dictsent.model import save
from dictsent.train import Trained

COMMIT = "c0ffee" * 6 + "c0ff"


@dataclass
class Hub:
    """What a hub was asked, in order, and what it holds; `refusal` is answered to a creation instead."""

    address: str = ""
    calls: list[str] = field(default_factory=list)
    created: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    message: str = ""
    refusal: int = 0

    def answer(self, path: str, body: bytes) -> tuple[int, Any]:
        """The status and JSON of a POST."""
        name = path.partition("?")[0]
        if name == "/api/repos/create":
            if self.refusal:
                return self.refusal, {"error": "you shall not"}
            self.created.append(json.loads(body))
            return 200, {"url": f"{self.address}/me/tiny", "name": "me/tiny"}
        if name.startswith("/api/models/me/tiny/branch/"):
            return 200, {}
        if name == "/api/validate-yaml":
            return 200, {"errors": [], "warnings": []}
        if name.startswith("/api/models/me/tiny/preupload/"):
            modes = [(file["path"], file["path"].endswith(".safetensors")) for file in json.loads(body)["files"]]
            files = [{"path": p, "uploadMode": "lfs" if big else "regular", "shouldIgnore": False} for p, big in modes]
            return 200, {"files": files}
        if name == "/me/tiny.git/info/lfs/objects/batch":
            objects = json.loads(body)["objects"]
            for item in objects:
                item["actions"] = {"upload": {"href": f"{self.address}/blob/{item['oid']}"}}
            return 200, {"transfer": "basic", "objects": objects}
        if name.startswith("/api/models/me/tiny/commit/"):
            self.keep([json.loads(line) for line in body.splitlines()])
            return 200, {"commitUrl": f"{self.address}/me/tiny/commit/{COMMIT}", "commitOid": COMMIT}
        return 404, {"error": f"no {path}"}

    def keep(self, lines: list[dict[str, Any]]) -> None:
        """The files of a commit."""
        for line in lines:
            value = line["value"]
            if line["key"] == "header":
                self.message = value["summary"]
            elif line["key"] == "file":
                self.files[value["path"]] = base64.b64decode(value["content"])
            else:
                assert line["key"] == "lfsFile"
                self.files[value["path"]] = self.blobs[value["oid"]]


@pytest.fixture
def hub() -> Iterator[Hub]:
    found = Hub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _body(self) -> bytes:
            found.calls.append(f"{self.command} {self.path}")
            found.tokens.add(self.headers.get("authorization", ""))
            return self.rfile.read(int(self.headers.get("content-length", 0)))

        def _send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            status, answer = found.answer(self.path, self._body())
            self._send(status, json.dumps(answer).encode())

        def do_PUT(self) -> None:
            body = self._body()
            assert hashlib.sha256(body).hexdigest() == self.path.rpartition("/")[2]
            found.blobs[self.path.rpartition("/")[2]] = body
            self._send(200, b"{}")

        def do_GET(self) -> None:
            self._body()
            self._send(404, b'{"error": "nothing there"}')

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.address = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield found
        server.shutdown()


@pytest.fixture(scope="session")
def finished_run(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run as a training saves it, with what must stay behind in and beside it."""
    folder = tmp_path_factory.mktemp("runs") / "en-defsent-1"
    encoder = Encoder.load(tiny_bert)
    save(Trained(encoder=encoder, method="defsent"), folder, record=record(), card=model_card(record()))
    (folder / ".cache").mkdir()
    (folder / ".cache" / "secret").write_text("x")
    (folder / ".record.json.partial").write_text("{")
    (folder / "dictsent" / ".notes").write_text("x")
    work = folder.with_name(".en-defsent-1.work")
    work.mkdir()
    (work / "plan.json").write_text("{}")
    return folder


def is_private(created: dict[str, Any]) -> bool:
    """As older and newer clients ask for it."""
    return created.get("private") is True or created.get("visibility") == "private"


def push(hub: str, *arguments: object, token: str = "hf_secret", home: Path) -> subprocess.CompletedProcess[str]:
    """`dictsent push` as a user runs it, with a hub of ours."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "HUGGING"))}
    told = {"HF_ENDPOINT": hub, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1"} | (
        {"HF_TOKEN": token} if token else {}
    )
    command = [sys.executable, "-m", "dictsent", "push", *map(str, arguments)]
    return subprocess.run(command, env=kept | told, capture_output=True, text=True, check=False, timeout=120)


def test_a_run_is_sent_whole_and_nothing_else(hub: Hub, finished_run: Path, tmp_path: Path) -> None:
    done = push(hub.address, finished_run, "me/tiny", "--private", "--revision", "trial", "--json", home=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    names = sorted(p.relative_to(finished_run).as_posix() for p in finished_run.rglob("*") if p.is_file())
    kept = [name for name in names if not any(part.startswith(".") for part in name.split("/"))]
    assert {"model.safetensors", "modules.json", "record.json", "README.md", "tokenizer.json"} <= set(kept)
    assert sorted(hub.files) == sorted(told["files"]) == kept
    assert all(content == (finished_run / name).read_bytes() for name, content in hub.files.items())
    assert is_private(hub.created[0])
    assert any(call.startswith("POST /api/models/me/tiny/branch/trial") for call in hub.calls)
    assert any(call.startswith("POST /api/models/me/tiny/commit/trial") for call in hub.calls)
    assert hub.message == "Model en-defsent-1, trained with dictsent"
    assert "Bearer hf_secret" in hub.tokens
    assert (told["url"], told["commit"]) == (f"{hub.address}/me/tiny", COMMIT)


def test_the_message_and_what_is_shown(hub: Hub, finished_run: Path, tmp_path: Path) -> None:
    done = push(hub.address, finished_run, "tiny", "--message", "A first one", home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{len(hub.files)} files are at {hub.address}/me/tiny (commit {COMMIT[:12]})\n"
    assert hub.message == "A first one"
    assert not is_private(hub.created[0])
    assert any(call.startswith("POST /api/models/me/tiny/commit/main") for call in hub.calls)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "the hub does not know the token; `hf auth login`, or set HF_TOKEN"),
        (403, "the token may not write there"),
        (400, "the hub answers 400: "),
    ],
)
def test_a_hub_that_says_no(hub: Hub, finished_run: Path, tmp_path: Path, status: int, message: str) -> None:
    hub.refusal = status
    done = push(hub.address, finished_run, "me/tiny", home=tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("Error: me/tiny: ")
    assert message in done.stderr
    assert "hf_secret" not in done.stderr
    assert hub.files == {}


def test_no_hub_and_no_token(finished_run: Path, tmp_path: Path) -> None:
    done = push("http://127.0.0.1:9", finished_run, "me/tiny", home=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: me/tiny: the hub is not reached: ")
    assert len(done.stderr.splitlines()) == 1
    done = push("http://127.0.0.1:9", finished_run, "me/tiny", token="", home=tmp_path)
    assert "Error: me/tiny: there is no token to write with; `hf auth login`, or set HF_TOKEN" in done.stderr


def test_mistakes_are_one_line(
    run_cli: Callable[..., Any], finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert "the hub is switched off; unset HF_HUB_OFFLINE" in one_line(run_cli("push", finished_run, "me/tiny"))
    for name in ("me/tiny/model", "me/ti ny", "-me", "me/" + "x" * 100):
        assert "no repository can be named so" in one_line(run_cli("push", "--", finished_run, name))
    assert "there is no such run" in one_line(run_cli("push", "nowhere", "me/tiny"))
    (tmp_path / "runs" / ".en-1.work").mkdir(parents=True)
    assert "the run is not finished" in one_line(run_cli("push", "runs/en-1", "me/tiny"))
    (tmp_path / "other").mkdir()
    assert "no finished run: it holds no record.json" in one_line(run_cli("push", "other", "me/tiny"))
    assert run_cli("push", finished_run).exit_code == 2


def test_a_dry_run_sends_nothing(run_cli: Callable[..., Any], finished_run: Path) -> None:
    shown = run_cli("push", finished_run, "me/tiny", "--dry-run")
    told = json.loads(run_cli("push", finished_run, "me/tiny", "--dry-run", "--json").stdout)
    assert shown.stdout.splitlines() == told["files"]
    assert told["bytes"] == sum((finished_run / name).stat().st_size for name in told["files"])
    assert not any(name.startswith(".") or "/." in name for name in told["files"])
