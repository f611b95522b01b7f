# SPDX-License-Identifier: Apache-2.0
"""How tools/make-clients writes the clients: the table, and a module for each language."""
