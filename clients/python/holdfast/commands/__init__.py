# SPDX-License-Identifier: Apache-2.0
"""All commands, a module for each family.

Made from the command table by `make clients`; do not edit.
"""

from .seats import Seats
from .quota import Quota
from .sem import Sem
from .lock import Lock
from .stock import Stock
from .saga import Saga
from .webhooks import Webhooks
from .room import Room
from .idem import Idem
from .general import General
from .seats import SeatsOpenReply
from .seats import SeatsReserveReply
from .seats import SeatsConfirmReply
from .seats import SeatsReleaseReply
from .seats import SeatsRefundReply
from .seats import SeatsExtendReply
from .seats import SeatsGetReply
from .seats import SeatsListItem
from .seats import SeatsZoneReply
from .seats import SeatsUserReply
from .seats import SeatsCloseReply
from .seats import SeatsBookingsItem
from .seats import SeatsHistoryItem
from .seats import SeatsSummaryReply
from .seats import SeatsCheckoutReply
from .quota import QuotaLimitReply
from .quota import QuotaReserveReply
from .quota import QuotaCommitReply
from .quota import QuotaCancelReply
from .quota import QuotaExtendReply
from .quota import QuotaListItem
from .quota import QuotaCloseReply
from .quota import QuotaSyncReply
from .quota import QuotaMarkReply
from .quota import QuotaSyncallReply
from .quota import QuotaSyncedItem
from .quota import QuotaGetReply
from .sem import SemAcquireReply
from .sem import SemQueueReply
from .sem import SemConfirmReply
from .sem import SemPingReply
from .sem import SemStatsReply
from .sem import SemListItem
from .lock import LockTryReply
from .lock import LockGetReply
from .stock import StockLoadReply
from .stock import StockTakeReply
from .stock import StockExtendReply
from .stock import StockSettleReply
from .stock import StockGiveReply
from .stock import StockListItem
from .stock import StockShardsItem
from .stock import StockCloseReply
from .stock import StockGetReply
from .stock import StockAdjustReply
from .stock import StockOpenReply
from .stock import StockBuyReply
from .stock import StockReturnReply
from .stock import StockOrderReply
from .saga import SagaGetReply
from .saga import SagaListItem
from .saga import SagaResumeReply
from .saga import SagaRefundReply
from .saga import SagaWakeReply
from .webhooks import WebhooksReplayReply
from .room import RoomOpenReply
from .room import RoomJoinReply
from .room import RoomPositionReply
from .room import RoomAdmitItem
from .room import RoomTickItem
from .room import RoomStatsReply
from .idem import IdemBeginReply
from .general import ReconcileReply


class AllCommands(General):
    """Every command: those of a family as members of it, the others by themselves."""

    def __init__(self) -> None:
        self.seats = Seats(self)
        self.quota = Quota(self)
        self.sem = Sem(self)
        self.lock = Lock(self)
        self.stock = Stock(self)
        self.saga = Saga(self)
        self.webhooks = Webhooks(self)
        self.room = Room(self)
        self.idem = Idem(self)


__all__ = [
    "AllCommands",
    "Seats",
    "Quota",
    "Sem",
    "Lock",
    "Stock",
    "Saga",
    "Webhooks",
    "Room",
    "Idem",
    "General",
    "SeatsOpenReply",
    "SeatsReserveReply",
    "SeatsConfirmReply",
    "SeatsReleaseReply",
    "SeatsRefundReply",
    "SeatsExtendReply",
    "SeatsGetReply",
    "SeatsListItem",
    "SeatsZoneReply",
    "SeatsUserReply",
    "SeatsCloseReply",
    "SeatsBookingsItem",
    "SeatsHistoryItem",
    "SeatsSummaryReply",
    "SeatsCheckoutReply",
    "QuotaLimitReply",
    "QuotaReserveReply",
    "QuotaCommitReply",
    "QuotaCancelReply",
    "QuotaExtendReply",
    "QuotaListItem",
    "QuotaCloseReply",
    "QuotaSyncReply",
    "QuotaMarkReply",
    "QuotaSyncallReply",
    "QuotaSyncedItem",
    "QuotaGetReply",
    "SemAcquireReply",
    "SemQueueReply",
    "SemConfirmReply",
    "SemPingReply",
    "SemStatsReply",
    "SemListItem",
    "LockTryReply",
    "LockGetReply",
    "StockLoadReply",
    "StockTakeReply",
    "StockExtendReply",
    "StockSettleReply",
    "StockGiveReply",
    "StockListItem",
    "StockShardsItem",
    "StockCloseReply",
    "StockGetReply",
    "StockAdjustReply",
    "StockOpenReply",
    "StockBuyReply",
    "StockReturnReply",
    "StockOrderReply",
    "SagaGetReply",
    "SagaListItem",
    "SagaResumeReply",
    "SagaRefundReply",
    "SagaWakeReply",
    "WebhooksReplayReply",
    "RoomOpenReply",
    "RoomJoinReply",
    "RoomPositionReply",
    "RoomAdmitItem",
    "RoomTickItem",
    "RoomStatsReply",
    "IdemBeginReply",
    "ReconcileReply",
]
