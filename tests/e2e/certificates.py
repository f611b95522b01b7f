# SPDX-License-Identifier: Apache-2.0
"""Certificates of a test's own, and clients that trust them."""

import shutil
import ssl

import pytest

from harness import run


def make_certificate(where, name):
    """A certificate for localhost that signs itself."""
    cert, key = where / f"{name}.crt", where / f"{name}.key"
    ended = run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", f"/CN={name}",
                "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    assert ended.code == 0, ended
    key.chmod(0o600)
    return cert, key


def certificate_in(where):
    """The files of a certificate and its key; skips the test where there is no openssl."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    return make_certificate(where, "first")


def trusting(cert):
    return ssl.create_default_context(cafile=cert)
