# SPDX-License-Identifier: Apache-2.0
"""What operators take from contrib/ and debian/ fits the program: the image, the services beside it, the packages."""

import re
import subprocess

import pytest
import yaml

from harness import ROOT, run

DOCKER = ROOT / "contrib/docker"
DEBIAN = ROOT / "debian"
BUILD_ESSENTIAL = {"gcc", "libc6-dev", "make"}  # which Debian takes for granted


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


def packages_of_group(group):
    text = (ROOT / "tools/install-packages").read_text()
    return set(re.findall(rf"(?m)^{group} +(\S+)", text))


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


def test_the_packages_are_of_this_version(header):
    version = re.search(r'#define HF_VERSION "(.*)"', header).group(1)
    assert (DEBIAN / "changelog").read_text().startswith(f"holdfast ({version}) ")


def test_the_packages_are_built_with_what_the_build_needs():
    control = (DEBIAN / "control").read_text()
    named = re.search(r"(?ms)^Build-Depends:\n(.*?)^\S", control).group(1)
    listed = {line.split()[0].rstrip(",") for line in named.splitlines()}
    missing = packages_of_group("build") - BUILD_ESSENTIAL - listed
    assert missing == set(), "Build-Depends of debian/control lacks these"


def test_the_settings_of_the_package_are_good(build, tmp_path):
    ended = run(build.program, "serve", "--config", DEBIAN / "holdfast.conf", "--check-config",
                cwd=tmp_path)
    assert ended.code == 0, ended
    named = re.findall(r"(?m)^#?([a-z-]+) = ", (DEBIAN / "holdfast.conf").read_text())
    known = run(build.program, "serve", "--help").out
    assert named and all(f"--{name}" in known for name in named)
    assert "HOLDFAST_CONFIG=/etc/holdfast/holdfast.conf\n" in (DEBIAN / "holdfast.default").read_text()


@pytest.mark.parametrize("script", ["debian/holdfast.postrm", "contrib/docker/healthcheck",
                                    "tools/make-deb", "tools/test-install"])
def test_scripts_parse(script):
    assert subprocess.run(["bash", "-n", ROOT / script]).returncode == 0
