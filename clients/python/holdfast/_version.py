# SPDX-License-Identifier: Apache-2.0
"""The version of the client; that of the server whose table it was made from."""

__version__ = "0.1.0"
