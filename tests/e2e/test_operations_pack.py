# SPDX-License-Identifier: Apache-2.0
"""What operators take from contrib/ fits the program: the image, and the services beside it."""

import re
import subprocess

import pytest
import yaml

from harness import ROOT, run

DOCKER = ROOT / "contrib/docker"


def stages():
    """The stages of the Dockerfile: their instructions, as (word, rest)."""
    text = re.sub(r"(?m)^#.*\n", "", (DOCKER / "Dockerfile").read_text()).replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    found = []
    for word, rest in lines:
        if word == "FROM":
            found.append([])
        found[-1].append((word, " ".join(rest.split())))
    return found


def test_the_image_is_built_in_one_stage_and_runs_in_another_without_rights():
    build, last = stages()
    assert build[0] == ("FROM", "debian:12 AS build") and last[0] == ("FROM", "debian:12-slim")
    words = dict(last)
    assert words["USER"] not in ("root", "0")
    assert words["ENTRYPOINT"] == '["holdfast"]' and words["CMD"] == '["serve"]'
    assert "holdfast-healthcheck" in words["HEALTHCHECK"]
    assert not {"ADD", "MAINTAINER"} & {word for word, _ in build + last}
    for _, rest in (one for one in last if one[0] == "RUN"):
        assert "--no-install-recommends" in rest and "rm -rf /var/lib/apt/lists/*" in rest
    for word, rest in build + last:
        if word == "COPY" and "--from=" not in rest:
            assert all((ROOT / source).exists() for source in rest.split()[:-1]), rest


def test_the_image_has_the_libraries_that_the_program_needs(build):
    if build.sanitized:
        pytest.skip("a sanitizer brings libraries of its own")
    needed = re.findall(r"NEEDED +(\S+)", run("objdump", "-p", build.program).out)
    owners = set()
    for library in needed:
        found = run("dpkg", "-S", f"*/{library}")
        owners |= {line.partition(":")[0] for line in found.lines}
    (install,) = [rest for word, rest in stages()[-1] if word == "RUN"]
    listed = set(install.partition("--no-install-recommends ")[2].partition(" && ")[0].split())
    taken_for_granted = {owner for owner in owners if owner.startswith(("libc6", "libgcc"))}
    assert owners and listed == owners - taken_for_granted | {"ca-certificates"}


def test_the_health_check_asks_the_server(build):
    from server import Server
    with Server(memory=True) as server:
        env = {"HOLDFAST_HTTP_PORT": str(server.http_port)}
        assert run(DOCKER / "healthcheck", env=env).code == 0
    assert run(DOCKER / "healthcheck", env={"HOLDFAST_HTTP_PORT": "1"}).code != 0


def test_the_services_of_compose_have_settings_that_the_program_takes(build, tmp_path):
    services = yaml.safe_load((DOCKER / "compose.yml").read_text())["services"]
    assert set(services) == {"holdfast", "redis", "postgres"}
    for name in ("redis", "postgres"):
        assert re.search(r":\d", services[name]["image"]) and services[name]["healthcheck"]["test"]
    assert "noeviction" in services["redis"]["command"]
    ours = services["holdfast"]
    assert ours["depends_on"]["postgres"]["condition"] == "service_healthy"
    users = tmp_path / "users"
    users.write_text(run(build.program, "auth", "shop", "write").out)
    (image,) = [rest for word, rest in stages()[-1] if word == "ENV"]
    env = dict(pair.split("=", 1) for pair in image.split())
    env.update({name: re.sub(r"\$\{.*?\}", "secret", value)
                for name, value in ours["environment"].items()})
    env["HOLDFAST_AUTH_FILE"] = str(users)
    ended = run(build.program, "serve", "--check-config", env=env, cwd=tmp_path)
    assert ended.code == 0, ended


@pytest.mark.parametrize("script", ["contrib/docker/healthcheck"])
def test_scripts_parse(script):
    assert subprocess.run(["bash", "-n", ROOT / script]).returncode == 0
