# SPDX-License-Identifier: Apache-2.0
"""A typed client of Holdfast, which hands out scarce things under heavy concurrency.

    from holdfast import Client, Slot

    with Client() as client:
        client.seats.open("gala", "floor", 500)
        with Slot(client, "render", limit=2, wait=5) as slot:
            print(slot.fence)
"""

from . import commands, errors
from ._version import __version__
from .client import Client
from .errors import HoldfastError, LeaseLost, OutcomeUnknown, Refused, ServerError, Unavailable
from .leases import HeldLock, Hold, Lease, QuotaHold, SeatHold, Slot, StockHold, new_id
from .values import Duration, Page, every

__all__ = [
    "Client", "Duration", "HeldLock", "Hold", "HoldfastError", "Lease", "LeaseLost",
    "OutcomeUnknown", "Page", "QuotaHold", "Refused", "SeatHold", "ServerError", "Slot",
    "StockHold", "Unavailable", "__version__", "commands", "errors", "every", "new_id",
]
