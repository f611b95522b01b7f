# SPDX-License-Identifier: Apache-2.0
"""What the tests on real Redis servers share with those of the program."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "e2e"))
