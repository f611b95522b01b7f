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


class Authority:
    """Signs certificates. `cert` is its own, which whoever trusts it has."""

    def __init__(self, where, name):
        if not shutil.which("openssl"):
            pytest.skip("openssl is not installed")
        self.where = where
        self.cert, self.key = make_certificate(where, name)

    def issue(self, name, names="DNS:localhost,IP:127.0.0.1", days=2):
        """The files of a certificate and its key; of one that has expired with days=-1."""
        request, names_file = self.where / f"{name}.csr", self.where / f"{name}.names"
        cert, key = self.where / f"{name}.crt", self.where / f"{name}.key"
        names_file.write_text(f"subjectAltName={names}\n")
        for words in (["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                       "-keyout", key, "-out", request, "-subj", f"/CN={name}"],
                      ["x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self.key,
                       "-CAcreateserial", "-days", days, "-extfile", names_file, "-out", cert]):
            ended = run("openssl", *words)
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
