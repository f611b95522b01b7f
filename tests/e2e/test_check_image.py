# SPDX-License-Identifier: Apache-2.0
"""tools/check-image finds what is wrong with a Dockerfile and a compose file, and nothing where nothing is."""

import shutil

import pytest

from harness import ROOT, run

DOCKER = ROOT / "contrib/docker"
# What is replaced by what, and what is said of that.
DOCKERFILE = [
    ("FROM debian:12-slim", "FROM debian", "debian: name the version"),
    ("FROM debian:12-slim", "FROM debian:latest", "debian:latest: name the version"),
    ("FROM debian:12-slim", "FROM registry:5000/debian", "registry:5000/debian: name the version"),
    ("USER 10001\n", "", "USER: somebody who is not root"),
    ("USER 10001", "USER root", "USER: somebody who is not root"),
    ("HEALTHCHECK ", "# ", "HEALTHCHECK: what says whether it is well"),
    ('CMD ["holdfast-healthcheck"]', "CMD holdfast-healthcheck", 'HEALTHCHECK CMD as ["words"]'),
    ('CMD ["serve"]', "CMD serve", 'CMD as ["words"]'),
    ('ENTRYPOINT ["holdfast"]', "ENTRYPOINT holdfast", 'ENTRYPOINT as ["words"]'),
    ('CMD ["serve"]', 'CMD ["serve"]\nCMD ["top"]', "only the last CMD counts"),
    ("COPY contrib/docker/healthcheck", "ADD contrib/docker/healthcheck", "COPY copies"),
    (" --no-install-recommends", "", "apt-get install --no-install-recommends"),
    ("install -y ", "install ", "apt-get install -y"),
    ("apt-get update", "true", "apt-get update in the same RUN"),
    ("rm -rf /var/lib/apt/lists/*", "true", "rm -rf /var/lib/apt/lists/*"),
    ("RUN tools/install-packages", "RUN sudo tools/install-packages", "no sudo"),
    ("WORKDIR /data", "WORKDIR data", "WORKDIR from /"),
    ("STOPSIGNAL", "ENV HOLDFAST_PAYMENT_SECRET=whsec_abc\nSTOPSIGNAL", "whoever has the image has its secrets"),
    ("COPY . .", "COPY .env .", "no secret into the image"),
    ("STOPSIGNAL", "MAINTAINER me\nSTOPSIGNAL", "MAINTAINER is no more"),
]
COMPOSE = [
    ("redis:7.2-bookworm", "redis", "redis: image redis: name the version"),
    ("postgres:15-bookworm", "postgres:latest", "postgres: image postgres:latest: name the version"),
    ("127.0.0.1:4653:4653", "4653:4653", "holdfast: port 4653:4653"),
    ("      POSTGRES_PASSWORD: ${POSTGRES_PASSWORD:?put it into .env}", "      POSTGRES_PASSWORD: letmein",
     "postgres: POSTGRES_PASSWORD: from .env or a file"),
    ("    read_only: true", "    privileged: true", "holdfast: it has the rights of the machine"),
    ("      redis:\n        condition", "      cache:\n        condition", "it depends on cache, which is not there"),
    ("volumes:\n  redis:\n", "volumes:\n", "volume redis is not declared"),
    ("    restart: unless-stopped\n    command", "    command", "redis: restart: it stays down after a crash"),
    ("    healthcheck:\n      test: [CMD, redis-cli, ping]\n      interval: 5s\n      timeout: 3s\n      retries: 10\n", "",
     "redis: healthcheck: what depends on it cannot wait"),
    ("services:", "services: [", "while parsing"),
]
FAULTS = [("Dockerfile", *fault) for fault in DOCKERFILE] + [("compose.yml", *fault) for fault in COMPOSE]


def check(folder):
    return run(ROOT / "tools/check-image", folder)


def test_what_is_there_is_as_it_should_be():
    ended = check(DOCKER)
    assert (ended.code, ended.out) == (0, ""), ended


@pytest.mark.parametrize("name, old, new, said", FAULTS, ids=[fault[3] for fault in FAULTS])
def test_what_is_wrong_is_found(tmp_path, name, old, new, said):
    for one in ("Dockerfile", "compose.yml"):
        shutil.copy(DOCKER / one, tmp_path)
    text = (tmp_path / name).read_text()
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new))
    ended = check(tmp_path)
    assert ended.code == 1 and said in ended.out, ended
    assert all(line.startswith(f"{tmp_path}/{name}:") for line in ended.lines), ended


def test_nothing_to_look_at_is_a_finding(tmp_path):
    ended = check(tmp_path)
    assert ended.code == 1 and len(ended.lines) == 2
