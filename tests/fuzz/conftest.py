# SPDX-License-Identifier: Apache-2.0
"""The folders that the test of the whole server borrows from."""

import sys
from pathlib import Path

for folder in ("e2e", "redis"):
    sys.path.append(str(Path(__file__).resolve().parent.parent / folder))
