"""Runs the cases of the corpus, and holds that none is forgotten."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cases import calls, operations, parameters, streams, text
from cases.corpus import AREAS, CHECKS, FILE, HELD_WRONG, STORIES, WAITING, cases
from cases.formats import reading_servers
from cases.servers import SERVERS
from serve.server import Server

MODULES = (calls, streams, text, parameters, operations)
"""What the checks are in."""

pytestmark = pytest.mark.skipif(not cases(), reason=f"there are no cases at {FILE}")


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server that a case wants; cases of one server run one after the other."""
    servers = SERVERS | reading_servers()
    with servers[request.param](tmp_path_factory.mktemp("server")) as server:
        yield server


SHARED = [pytest.param(server, id_, id=id_) for id_, (server, _) in sorted(CHECKS.items(), key=lambda it: it[1][0])]


@pytest.mark.parametrize(("server", "id_"), SHARED, indirect=["server"], scope="module")
def test_case(server: Server, id_: str) -> None:
    _, check = CHECKS[id_]
    check(server, cases()[id_])
    assert server.process.poll() is None, server.log
    raised = len(re.findall(r"^overt\.engine\.script\.ScriptedError: .* as scripted$", server.log, re.MULTILINE))
    assert server.log.count("Traceback") == raised, server.log


@pytest.mark.parametrize("id_", sorted(STORIES))
def test_story(tmp_path: Path, id_: str) -> None:
    STORIES[id_](tmp_path, cases()[id_])


def test_every_case_is_accounted_for() -> None:
    run = CHECKS.keys() | STORIES.keys()
    listed = [*CHECKS, *STORIES, *WAITING, *HELD_WRONG]
    assert sorted(listed) == sorted(cases()), "a case is neither run nor listed with a reason, or is both"
    print(f"\n{len(run)} cases run, {len(WAITING)} wait, {len(HELD_WRONG)} are held wrong")
    for area in AREAS:
        mine = [case.id for case in cases().values() if case.area == area]
        print(f"  {area}: {sum(id_ in run for id_ in mine)} of {len(mine)} run")
    for id_, reason in (WAITING | HELD_WRONG).items():
        print(f"  {id_}: {reason}")
