"""A JupyterHub with an instructor and two students, in a browser: fetch, work, hand in, hand in again, collect."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.shared_server import COURSE, Server, a_server, cannot
from tests.support.worth import FULL

NAME = "transformer"
SECONDS = 240  # until a server has started, on a busy machine
PROXY = os.environ.get("CONFIGURABLE_HTTP_PROXY") or shutil.which("configurable-http-proxy")
pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.skipif(bool(cannot()), reason=cannot())]
# The page docs/shared-server.md has the same settings, but for the ports, the password, and where Python is.
CONFIG = """
import json

c = get_config()
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {hub_port}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy_port}"
c.ConfigurableHTTPProxy.auth_token = {token!r}
c.ConfigurableHTTPProxy.should_start = False  # the hub itself would wait for it no longer than ten seconds
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = "secret"
c.Authenticator.allow_all = True
c.Spawner.cmd = [{single!r}, "--ServerApp.log_level=WARN"]
c.Spawner.env_keep = []
c.Spawner.start_timeout = c.Spawner.http_timeout = {seconds}
c.Spawner.default_url = "/lab"
everything = json.loads({environments!r})
c.Spawner.environment = {{
    name: (lambda spawner, name=name: everything[spawner.user.name][name]) for name in {variables!r}
}}
"""
# Formgrader stands in a frame, which JupyterHub forbids otherwise.
FRAMES = """
c = get_config()
c.ServerApp.tornado_settings = {"headers": {"Content-Security-Policy": "frame-ancestors 'self'"}}
"""
# Students have no use for the instructor's entries of the menu Nbgrader.
ONLY_FOR_STAFF = ("formgrader", "create-assignment", "course-list")


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(contextlib.closing(socket.socket())) for _ in range(count)]
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in found]


def page_config(folder: Path, disabled: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = {f"@jupyter/nbgrader:{name}": disabled for name in ONLY_FOR_STAFF}
    (folder / "page_config.json").write_text(json.dumps({"disabledExtensions": names}), encoding="utf-8")


@contextlib.contextmanager
def a_hub(server: Server) -> Iterator[str]:
    """The address of a running JupyterHub, whose users are those of the server."""
    port, hub_port, proxy_port = free_ports(3)
    token = uuid.uuid4().hex
    settings = server.base / "hub"
    settings.mkdir(mode=0o700)
    page_config(server.base / "venv" / "etc" / "jupyter" / "labconfig", disabled=True)
    page_config(server.home("prof") / ".jupyter" / "labconfig", disabled=False)
    root = str(server.home("prof") / "course")
    server.write("prof", ".jupyter/nbgrader_config.py", f"c = get_config()\nc.CourseDirectory.root = {root!r}\n")
    server.write("prof", ".jupyter/jupyter_server_config.py", FRAMES)
    for path in (server.home("prof") / ".jupyter").rglob("*"):
        shutil.chown(path, server.users["prof"])
    shutil.chown(server.home("prof") / ".jupyter", server.users["prof"])
    environments = {}
    for who, user in server.users.items():
        found = server.environment(who)
        environments[user] = {name: text for name, text in found.items() if name not in ("HOME", "USER", "LOGNAME")}
    config = CONFIG.format(
        port=port,
        hub_port=hub_port,
        proxy_port=proxy_port,
        token=token,
        single=f"{server.base}/venv/bin/jupyterhub-singleuser",
        seconds=SECONDS,
        environments=json.dumps(environments),
        variables=tuple(environments[server.users["prof"]]),
    )
    (settings / "jupyterhub_config.py").write_text(config, encoding="utf-8")
    with (settings / "log").open("w") as log, contextlib.ExitStack() as running:
        proxy = [str(PROXY), "--ip=127.0.0.1", f"--port={port}", "--api-ip=127.0.0.1", f"--api-port={proxy_port}"]
        proxy += [
            f"--default-target=http://127.0.0.1:{hub_port}",
            f"--error-target=http://127.0.0.1:{hub_port}/hub/error",
        ]
        running.enter_context(a_program(proxy, settings, log, {**os.environ, "CONFIGPROXY_AUTH_TOKEN": token}))
        wait_for(proxy_port)
        hub = [sys.executable, "-m", "jupyterhub", "-f", "jupyterhub_config.py"]
        running.enter_context(a_program(hub, settings, log, dict(os.environ)))
        wait_for(hub_port)
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def a_program(command: list[str], folder: Path, log: Any, environment: dict[str, str]) -> Iterator[None]:
    started = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=environment)
    try:
        yield
    finally:
        started.terminate()
        started.wait(timeout=120)


def wait_for(port: int) -> None:
    """Wait until somebody listens."""
    for _ in range(5 * SECONDS):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=60):
            return
        time.sleep(0.2)
    raise TimeoutError(f"nobody listens at port {port}")


class Desk:
    """What a user of the hub sees."""

    def __init__(self, browser: Any, hub: str, server: Server, who: str, screenshots: Path) -> None:
        self.who, self.screenshots = who, screenshots
        self.page = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
        self.page.set_default_timeout(1000 * SECONDS)
        self.page.goto(f"{hub}/hub/login")
        self.page.get_by_label("Username").fill(server.users[who])
        self.page.get_by_label("Password").fill("secret")
        self.page.get_by_role("button", name="Sign in").click()
        self.page.locator(".lm-MenuBar-itemLabel").get_by_text("Nbgrader", exact=True).wait_for()

    def entries(self) -> list[str]:
        """The entries of the menu Nbgrader."""
        self.page.locator(".lm-MenuBar-itemLabel").get_by_text("Nbgrader", exact=True).click()
        return [text for text in self.page.locator(".lm-Menu-itemLabel").all_inner_texts() if text]

    def choose(self, entry: str) -> None:
        self.page.locator(".lm-Menu-itemLabel").get_by_text(entry, exact=True).click()

    def see(self, name: str) -> None:
        self.page.screenshot(path=self.screenshots / f"hub-{self.who}-{name}.png")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    if PROXY is None:
        pytest.skip("there is no configurable-http-proxy: npm install configurable-http-proxy")
    pytest.importorskip(
        "jupyterhub", reason='there is no JupyterHub; install it: pip install -c constraints.txt -e ".[hub]"'
    )
    with a_server("anna", "ben") as made:
        made.nbgrader("prof", "generate_assignment", NAME, "--force", cwd="course")
        made.nbgrader("prof", "release_assignment", NAME, cwd="course")
        yield made


def test_a_round_on_the_hub(server: Server, browser: Any, screenshots: Path):
    with a_hub(server) as hub:
        for student in ("anna", "ben"):
            desk = Desk(browser, hub, server, student, screenshots)
            entries = desk.entries()
            assert "Assignment List" in entries
            assert not {"Formgrader", "Create Assignment", "Course List"} & set(entries)
            desk.choose("Assignment List")
            released = desk.page.locator("#released_assignments_list")
            released.get_by_text(NAME, exact=True).wait_for()
            desk.see("released")
            released.get_by_role("button", name="Fetch").click()
            fetched = desk.page.locator("#fetched_assignments_list")
            fetched.get_by_role("button", name="Submit").wait_for()
            # The modules travel with the notebooks.
            assert (server.home(student) / NAME / "mha.py").is_file()
            desk.see("fetched")
            if student == "anna":
                server.solve("anna", NAME, "mha")
                work_in_the_notebook(desk)
            fetched.get_by_role("button", name="Submit").click()
            submitted = desk.page.locator("#submitted_assignments_list")
            submitted.get_by_text(NAME, exact=True).first.wait_for()
            if student == "ben":  # hands in again
                server.solve("ben", NAME, "pe")
                time.sleep(1.1)
                fetched.get_by_role("button", name="Submit").click()
                desk.page.wait_for_timeout(3000)
            desk.see("submitted")
            desk.page.context.close()
        inbound = list((server.exchange / COURSE / "inbound").iterdir())
        assert len(inbound) == 3
        server.nbgrader("prof", "collect", NAME, cwd="course")
        server.run("prof", "-m", "autograder", "batch", "submitted", "--out", "graded", "--gradebook", cwd="course")
        grades = (server.home("prof") / "course" / "graded" / "grades.csv").read_text(encoding="utf-8-sig")
        header, *rows = (line.split(",") for line in grades.splitlines())
        got = {row[0]: float(row[header.index("total")]) for row in rows}
        assert got == {server.users["anna"]: FULL["mha"], server.users["ben"]: FULL["pe"]}
        desk = Desk(browser, hub, server, "prof", screenshots)
        assert "Formgrader" in desk.entries()
        desk.choose("Formgrader")
        forms = desk.page.frame_locator("iframe").first
        forms.get_by_role("row", name=NAME).get_by_role("link", name="2", exact=True).wait_for()
        desk.see("formgrader")
        desk.page.context.close()


def work_in_the_notebook(desk: Desk) -> None:
    """Open the start page that was fetched, and run its cell: it says how far the student is."""
    tab = desk.page.context.new_page()
    tab.set_default_timeout(1000 * SECONDS)
    address = desk.page.url.partition("/lab")[0]
    tab.goto(f"{address}/lab/workspaces/start/tree/{NAME}/0_start.ipynb?reset")
    tab.get_by_text("| Idle").wait_for()
    tab.wait_for_timeout(1000)
    tab.locator(".lm-MenuBar-itemLabel").get_by_text("Run", exact=True).click()
    tab.locator(".lm-Menu-itemLabel").get_by_text("Run All Cells", exact=True).click()
    tab.get_by_text(f"{FULL['mha']:g} of {FULL['mha']:g}").first.wait_for()
    tab.screenshot(path=desk.screenshots / "hub-anna-start.png")
    tab.close()
