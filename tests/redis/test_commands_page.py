# SPDX-License-Identifier: Apache-2.0
"""docs/commands.md keeps its word, on each engine: its examples run as they stand and get a reply of
the form it gives, over RESP and over HTTP; so do the examples of the OpenAPI document."""

import json
import re
import subprocess

import pytest

from commands_page import EXAMPLES, fill_in
from harness import COMMANDS, TIMEOUT_S, Build, run
from json_schema import check
from raw_client import Client, fields, http
from server import Server
from servers import RedisServer


@pytest.fixture(scope="module")
def redis_server():
    with RedisServer() as one:
        yield one


# A sanitized program takes long to start, and the conformance suite has every command on both engines.
ENGINES, VERSIONS = (["embedded"], [3]) if Build().sanitized else (["embedded", "redis"], [2, 3])


@pytest.fixture(params=ENGINES)
def server(request, redis_server, tmp_path):
    """An empty one. What needs a ledger has one of SQLite."""
    redis_server.client().flushall()
    ledger = request.node.callspec.params["example"].needs_ledger
    flags = ["--engine", redis_server.url] if request.param == "redis" else []
    if ledger:
        flags += ["--ledger", f"sqlite:{tmp_path}/ledger.db"]
        (tmp_path / "usage.db").touch()
        flags += ["--quota-sync-db", f"sqlite:{tmp_path}/usage.db", "--quota-sync-at", "never",
                  "--quota-sync-query", "SELECT 'acme', 180"]
        flags += ["--payment-url", "test:"]
    with Server(*flags, memory=not ledger) as one:
        yield one


def type_lines(server, lines):
    """Types the lines into `holdfast call --json`, one after the other; gives the last answer."""
    answer = None
    for words in lines:
        url = f"holdfast://127.0.0.1:{server.resp_port}"
        ended = run(Build().program, "call", "--json", *fill_in(words, answer),
                    env={"HOLDFAST_URL": url})
        assert (ended.code, ended.err) == (0, ""), (words, ended)
        answer = json.loads(ended.out)
    return answer


def reply_forms(example):
    """The form of the reply, and others of which the page says that they are possible."""
    return [example.reply.removesuffix(" or nil"), *re.findall(r"\[[^]]*\]", example.notes)]


def check_names(names, example, answer):
    """Is a JSON answer one of the form that the page gives, with no other names than these?"""
    if example.reply.startswith("[cursor"):
        assert set(answer) == {"cursor", "items"}
        items = answer["items"]
    else:
        items = answer if isinstance(answer, list) else [answer]
    assert items
    for item in items:
        assert item and set(item) <= set(names)
        if not example.reply.startswith(('["', "[cursor")) and len(reply_forms(example)) == 1:
            assert set(example.names) - {"cursor"} <= set(item)


def check_reply(example, reply, version):
    """Is a RESP reply one of the form that the page gives?"""
    form = reply_forms(example)[0]
    if not form.startswith("["):
        assert isinstance(reply, int)
    elif form.startswith('["'):
        assert isinstance(reply, dict if version == 3 else list)
        given = list(fields(reply))
        assert given and given == [name for name in example.names if name in given]
    elif form.startswith("[cursor"):
        assert isinstance(reply[0], str) and len(reply) > 1
    elif form.endswith(", …]"):
        assert reply and len(reply) % len(example.names) == 0
    else:
        leads = {one.split(",")[0].strip("[]") for one in reply_forms(example)}
        assert len(reply) in {len(one.split(", ")) for one in reply_forms(example)}
        assert not form.startswith("[1") or str(reply[0]) in leads


def test_every_command_is_on_the_page():
    assert [example.name for example in EXAMPLES] == COMMANDS


@pytest.mark.parametrize("example", EXAMPLES, ids=repr)
def test_the_lines_of_an_example_run(server, example):
    answer = type_lines(server, [*example.before, example.line])
    check_names(example.names, example, answer)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("example", EXAMPLES, ids=repr)
def test_the_reply_has_the_form_that_is_documented(server, example, version):
    before = type_lines(server, example.before)
    with Client(server.resp_port) as client:
        client.hello(version)
        check_reply(example, client.call(*fill_in(example.line, before)), version)


@pytest.mark.parametrize("example", [one for one in EXAMPLES if one.curl], ids=repr)
def test_the_request_of_an_example_runs(server, example):
    before = type_lines(server, example.before)
    words = [word.replace("localhost:4654", f"localhost:{server.http_port}")
             for word in fill_in(example.curl, before)]
    asked = subprocess.run([*words, "-s", "-w", r"\n%{http_code}"], stdout=subprocess.PIPE,
                           timeout=TIMEOUT_S, check=True, text=True)
    body, _, status = asked.stdout.rpartition("\n")
    assert int(status) == example.status, body
    check_names(example.names + example.http_names, example, json.loads(body))


# ---- OpenAPI -------------------------------------------------------------------------------------

OPERATIONS = [(example, alias) for example in EXAMPLES for alias in (False, True)
              if example.method and (not alias or "for an id that the server made" in example.text)]


@pytest.fixture(scope="module")
def document():
    with Server(memory=True) as server:
        content = http(server.http_port, "GET", "/v1/openapi.json").json
    return {operation["operationId"]: (method.upper(), path, operation)
            for path, operations in content["paths"].items()
            for method, operation in operations.items() if "operationId" in operation}


def request_of(path, operation, before):
    """Path with query, and body, from the examples of the document, each checked by its schema."""
    query = []
    for parameter in operation["parameters"]:
        if "example" in parameter:
            check(parameter["schema"], parameter["example"], parameter["name"])
            value = json.dumps(parameter["example"]).strip('"')
            if parameter["in"] == "path":
                path = path.replace(f"{{{parameter['name']}}}", value)
            else:
                query.append(f"{parameter['name']}={value}")
    assert "{" not in path
    if "requestBody" not in operation:
        return path + "?" * bool(query) + "&".join(query), None
    content = operation["requestBody"]["content"]["application/json"]
    body = {name: fill_in([value], before)[0] if isinstance(value, str) else value
            for name, value in content["example"].items()}
    check(content["schema"], body, "the body")
    return path, body


@pytest.mark.parametrize("example, alias", OPERATIONS,
                         ids=lambda value: value.name if hasattr(value, "name") else f"{value:d}")
def test_the_request_of_the_document_runs(server, document, example, alias):
    method, path, operation = document[example.name + ".MADE" * alias]
    own, theirs = example.line[2] if alias else "", ""
    if alias:
        theirs = next(one["example"] for one in operation["parameters"] if one["name"] == "id")
    before = type_lines(server, [[theirs if word == own else word for word in line]
                                 for line in example.before])
    target, body = request_of(path, operation, before)
    answer = http(server.http_port, method, target, body)
    assert answer.status == example.status, answer
    schema = operation["responses"][str(answer.status)]["content"]["application/json"]["schema"]
    check(schema, answer.json, "the answer")
