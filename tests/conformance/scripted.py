# SPDX-License-Identifier: Apache-2.0
"""A fixed sequence that reaches every command and every refusal there is, in a few hundred steps.

Each line is the milliseconds since the last one, and a command. @pass is the pass that
ann got in the event, @token what its join answered, @soon a second from now, @ago a second before. Seats and
quota come first, from scripted_holds.py.
"""

from generate import START_MS
from model_values import known
from scripted_holds import TEXT as HOLDS

TEXT = HOLDS + """\
# Semaphore
0 SEM.ACQUIRE db a 1 HEARTBEAT 30s
0 SEM.ACQUIRE db a 1 HEARTBEAT 30s
0 SEM.ACQUIRE db a 1 HEARTBEAT 31s
0 SEM.ACQUIRE db b 1
0 SEM.ACQUIRE db b 0
0 SEM.ACQUIRE db b 1 WAIT -1
0 SEM.ACQUIRE db b 1 WAIT 1000
0 SEM.QUEUE db c 10s 60s
0 SEM.QUEUE db c 10s 60s
0 SEM.STATS db
0 SEM.PING db a 30s 60s
0 SEM.PING db c 10s 60s
0 SEM.PING db nobody 10s 60s
999 SEM.CARD db
1 SEM.STATS db
0 SEM.ACQUIRE db d 1 WAIT 60s
0 SEM.RELEASE db d
0 SEM.ACQUIRE db d 1 WAIT 60s
0 SEM.ACQUIRE db d 1 WAIT 30s
0 SEM.RELEASE db a
0 SEM.RELEASE db a
0 SEM.CONFIRM db c 1 5s 60s
0 SEM.CONFIRM db a 1 5s 60s
5000 SEM.CARD db
0 SEM.WAKE db 2 5s 60s
0 SEM.QUEUE db e 10s 60s
0 SEM.WAKE db 2 5s 60s
0 SEM.RELEASE db d
0 SEM.RELEASE db e
0 SEM.STATS db
0 SEM.ACQUIRE gpu a 4 SLOTS 5
0 SEM.ACQUIRE gpu a 4 SLOTS 0
0 SEM.ACQUIRE gpu a 4000 SLOTS 129
0 SEM.ACQUIRE gpu a 4 SLOTS many
0 SEM.ACQUIRE gpu a 4 SLOTS 2
0 SEM.ACQUIRE gpu a 4 SLOTS 2
0 SEM.ACQUIRE gpu a 4
0 SEM.ACQUIRE gpu b 4 SLOTS 2
0 SEM.ACQUIRE gpu c 4 SLOTS 3
0 SEM.ACQUIRE gpu c 4 SLOTS 3 WAIT 60s
0 SEM.ACQUIRE gpu c 4 SLOTS 2 WAIT 60s
0 SEM.ACQUIRE gpu d 4 WAIT 60s
0 SEM.ACQUIRE gpu e 4 SLOTS 2 WAIT 60s
0 SEM.RELEASE gpu a
0 SEM.CARD gpu
0 SEM.ACQUIRE gpu f 4
0 SEM.RELEASE gpu b
0 SEM.STATS gpu
0 SEM.PING gpu c 5s 60s
0 SEM.CONFIRM gpu c 4 6s 60s
0 SEM.WAKE gpu 1 60s 60s
0 SEM.LIST gpu
1 SEM.LIST gpu COUNT 1
0 SEM.LIST gpu AFTER !
0 SEM.LIST nobody AFTER !
0 SEM.LIST nobody
0 SEM.LIST gpu COUNT 0
0 SEM.LIST gpu COUNT 1001
5999 SEM.STATS gpu
0 SEM.RELEASE gpu d
0 SEM.STATS gpu
# A waiter whose grant began and ended while nobody asked is in line again
0 SEM.ACQUIRE lapse a 2 HEARTBEAT 10
0 SEM.ACQUIRE lapse b 2
0 SEM.QUEUE lapse c 86400 20ms
30000 SEM.ACQUIRE lapse c 1 WAIT 30s
0 SEM.LIST lapse
0 SEM.RELEASE lapse c
0 SEM.RELEASE lapse b
# Lock
0 LOCK.GET seat
0 LOCK.TRY seat 10s ID mine
0 LOCK.TRY seat 10s ID mine
0 LOCK.TRY seat 10s ID yours
0 LOCK.TRY seat 10s
0 LOCK.TRY seat forever
1 LOCK.GET seat
0 LOCK.EXTEND seat yours 5s
0 LOCK.EXTEND seat mine 5s
0 LOCK.UNLOCK seat yours
4999 LOCK.GET seat
1 LOCK.GET seat
0 LOCK.TRY seat 1s
1000 LOCK.TRY seat 10s ID mine
0 LOCK.UNLOCK seat mine
# Stock
0 STOCK.GET shoes
0 STOCK.TAKE shoes o-1 ann 1
0 STOCK.SETTLE shoes o-1
0 STOCK.GIVE shoes o-1
0 STOCK.ADJUST shoes 5 recount
0 STOCK.LOAD shoes 10 POLICY keep
0 STOCK.LOAD shoes 10 SHARDS 1025
0 STOCK.LOAD shoes 10 WATERMARK 2 POLICY steal
0 STOCK.TAKE shoes o-1 ann 4
0 STOCK.TAKE shoes o-1 ann 4
0 STOCK.TAKE shoes o-1 bob 4
0 STOCK.TAKE shoes o-2 bob 7
0 STOCK.TAKE shoes o-2 bob 6 TTL 10s
0 STOCK.LOAD shoes 9
0 STOCK.SETTLE shoes o-1
0 STOCK.SETTLE shoes o-1
0 STOCK.GIVE shoes o-1
0 STOCK.GIVE shoes nothing
0 STOCK.SETTLE shoes nothing
0 STOCK.GIVE shoes o-2
0 STOCK.GIVE shoes o-2
0 STOCK.ADJUST shoes -7 recount
0 STOCK.ADJUST shoes -6 recount
0 STOCK.ADJUST shoes 3 found
0 STOCK.ADJUST shoes 9007199254740991 found
0 STOCK.TAKE shoes o-3 bob 2 TTL 10s
10000 STOCK.GET shoes
# What moves an order's deadline, and whose it is
0 STOCK.EXTEND nothing o-1 10s
0 STOCK.LOAD boots 10
0 STOCK.EXTEND boots o-1 10s
0 STOCK.TAKE boots o-1 ann 2 TTL 10s
0 STOCK.EXTEND boots o-1 9ms
9000 STOCK.EXTEND boots o-1 20s USER ann
0 STOCK.EXTEND boots o-1 5s
0 STOCK.EXTEND boots o-1 30s USER bob
0 STOCK.SETTLE boots o-1 USER bob
0 STOCK.GIVE boots o-1 USER bob
0 STOCK.EXTEND boots o-1 200s
0 STOCK.TAKE boots o-1 ann 2 TTL 10s
110999 STOCK.GET boots
1 STOCK.EXTEND boots o-1 10s
0 STOCK.TAKE boots o-2 ann 2
0 STOCK.SETTLE boots o-2 USER ann
0 STOCK.SETTLE boots o-2 USER bob
0 STOCK.EXTEND boots o-2 10s
0 STOCK.EXTEND boots o-2 10s USER bob
0 STOCK.TAKE boots o-3 bob 2
0 STOCK.GIVE boots o-3 USER bob
0 STOCK.GIVE boots o-3 USER bob
0 STOCK.GIVE boots o-3 USER ann
0 STOCK.SETTLE boots o-3 USER ann
0 STOCK.EXTEND boots o-3 10s USER ann
# How much a user may have
0 STOCK.TAKE boots o-4 ann 1 MAX 0
0 STOCK.TAKE boots o-4 ann 1 MAX 2
0 STOCK.TAKE boots o-4 ann 9 MAX 2
0 STOCK.TAKE boots o-4 ann 1 MAX 3 TTL 10s
0 STOCK.TAKE boots o-4 ann 1 MAX 1 TTL 10s
0 STOCK.TAKE boots o-5 ann 1 MAX 3
0 STOCK.TAKE boots o-5 bob 3 MAX 3
10000 STOCK.TAKE boots o-6 ann 1 MAX 3
0 STOCK.GIVE boots o-6
0 STOCK.TAKE boots o-7 ann 1 MAX 3
0 STOCK.TAKE boots o-8 ann 1
0 STOCK.TAKE boots o-9 ann 1 MAX 4
300000 STOCK.TAKE boots o-10 ann 1 MAX 4
# In shards, where the engine has them
0 STOCK.LOAD hats 20 SHARDS 5 WATERMARK 4
0 STOCK.TAKE hats o-1 ann 3
0 STOCK.TAKE hats o-2 ann 12
0 STOCK.TAKE hats o-3 ann 6
0 STOCK.TAKE hats o-3 ann 5
0 STOCK.TAKE hats o-4 ann 1
0 STOCK.SETTLE hats o-1
0 STOCK.GIVE hats o-2
0 STOCK.ADJUST hats -12 lost
0 STOCK.GET hats
# The list of orders
0 STOCK.LIST nothing
0 STOCK.LIST nothing AFTER !
0 STOCK.LOAD scarves 30
0 STOCK.LIST scarves
0 STOCK.TAKE scarves o-1 ann 1 TTL 10s
0 STOCK.TAKE scarves o-2 bob 2 TTL 20s
0 STOCK.TAKE scarves o-3 ann 3 MAX 9
0 STOCK.TAKE scarves o-4 cleo 4
0 STOCK.TAKE scarves o-5 cleo 5
1 STOCK.EXTEND scarves o-2 60s
0 STOCK.SETTLE scarves o-3
0 STOCK.GIVE scarves o-4
0 STOCK.LIST scarves COUNT 1
0 STOCK.LIST scarves AFTER !
0 STOCK.LIST scarves COUNT 0
0 STOCK.LIST scarves COUNT 1001
0 STOCK.LIST scarves COUNT few
0 STOCK.SHARDS nothing
0 STOCK.SHARDS nothing AFTER !
0 STOCK.SHARDS scarves
0 STOCK.SHARDS scarves COUNT 1
0 STOCK.SHARDS scarves AFTER !
0 STOCK.SHARDS scarves COUNT 0
0 STOCK.TAKE scarves o-4 bob 6
9998 STOCK.LIST scarves
1 STOCK.LIST scarves COUNT 1000
# In shards: of an order's own shard, of its user's, and of the main counter
0 STOCK.LOAD belts 100 SHARDS 5
0 STOCK.LIST belts
0 STOCK.TAKE belts o-1 ann 1 TTL 10s
0 STOCK.TAKE belts o-2 bob 2
0 STOCK.TAKE belts o-3 cleo 3
0 STOCK.TAKE belts o-4 ann 4
0 STOCK.TAKE belts o-5 bob 5 MAX 9
0 STOCK.TAKE belts o-6 ann 6 MAX 20
0 STOCK.LOAD belts 100 SHARDS 5 WATERMARK 90
0 STOCK.TAKE belts o-7 cleo 7
0 STOCK.TAKE belts o-8 ann 8
0 STOCK.SETTLE belts o-3
0 STOCK.GIVE belts o-4
0 STOCK.EXTEND belts o-2 30m
0 STOCK.LIST belts
0 STOCK.LIST belts COUNT 1
0 STOCK.LIST belts COUNT 2
0 STOCK.SHARDS belts
0 STOCK.SHARDS belts COUNT 4
0 STOCK.SHARDS belts AFTER !
0 STOCK.LIST belts AFTER !
0 STOCK.LIST belts AFTER 5:
0 STOCK.LIST belts COUNT 1001
10000 STOCK.LIST belts COUNT 7
# The end of a product
0 STOCK.CLOSE nothing
0 STOCK.LOAD vests 5
0 STOCK.TAKE vests o-1 ann 2 MAX 2
0 STOCK.CLOSE vests
0 STOCK.SETTLE vests o-1
0 STOCK.CLOSE vests
0 STOCK.CLOSE vests
0 STOCK.GET vests
0 STOCK.SETTLE vests o-1
0 STOCK.LOAD vests 7
0 STOCK.TAKE vests o-1 ann 2 MAX 2 TTL 10s
10000 STOCK.CLOSE vests
# In shards too, and a new product of that name knows nothing of the former one
0 STOCK.LOAD gloves 20 SHARDS 5 POLICY steal
0 STOCK.TAKE gloves o-1 ann 2 MAX 2
0 STOCK.TAKE gloves o-2 bob 16
0 STOCK.SETTLE gloves o-1
0 STOCK.CLOSE gloves
0 STOCK.TAKE gloves o-3 bob 1
0 STOCK.GIVE gloves o-2
0 STOCK.CLOSE gloves
0 STOCK.SETTLE gloves o-3
0 STOCK.CLOSE gloves
0 STOCK.CLOSE gloves
0 STOCK.GET gloves
0 STOCK.TAKE gloves o-1 ann 1
0 STOCK.LOAD gloves 9 SHARDS 2
0 STOCK.TAKE gloves o-1 ann 3 MAX 3
0 STOCK.GET gloves
0 STOCK.GIVE gloves o-1
0 STOCK.CLOSE gloves
0 STOCK.LOAD gloves 4
0 STOCK.TAKE gloves o-1 ann 4
0 STOCK.LOAD gloves 6 SHARDS 3
0 STOCK.GIVE gloves o-1
0 STOCK.CLOSE gloves
# A user's limit, wherever the orders are
0 STOCK.LOAD coats 20 SHARDS 5 POLICY steal
0 STOCK.TAKE coats o-1 ann 2
0 STOCK.TAKE coats o-2 bob 3
0 STOCK.TAKE coats o-3 ann 1 MAX 2
0 STOCK.TAKE coats o-3 ann 1 MAX 3 TTL 10s
0 STOCK.TAKE coats o-3 ann 1 MAX 3 TTL 10s
0 STOCK.TAKE coats o-3 bob 1 MAX 9 TTL 10s
0 STOCK.TAKE coats o-3 bob 1 TTL 10s
0 STOCK.TAKE coats o-2 bob 3
0 STOCK.TAKE coats o-4 bob 14 MAX 17
0 STOCK.TAKE coats o-5 cleo 1 MAX 1
0 STOCK.TAKE coats o-5 ann 1 MAX 1
0 STOCK.EXTEND coats o-3 20s
0 STOCK.EXTEND coats o-3 20s USER bob
0 STOCK.GIVE coats o-4 USER bob
0 STOCK.TAKE coats o-5 ann 1 MAX 3
0 STOCK.TAKE coats o-5 cleo 2 MAX 2 TTL 10s
0 STOCK.SETTLE coats o-5 USER ann
0 STOCK.SETTLE coats o-5 USER cleo
0 STOCK.TAKE coats o-6 cleo 1 MAX 2
0 STOCK.SETTLE coats o-1
0 STOCK.GIVE coats o-4 USER ann
0 STOCK.GIVE coats o-4
0 STOCK.GIVE coats nothing USER ann
20000 STOCK.TAKE coats o-7 ann 1 MAX 3
0 STOCK.LOAD coats 20 SHARDS 5 WATERMARK 30
0 STOCK.TAKE coats o-8 ann 1 MAX 3
0 STOCK.TAKE coats o-8 ann 1 MAX 4
0 STOCK.LOAD coats 20 SHARDS 5 POLICY steal
0 STOCK.TAKE coats o-9 ann 1 MAX 4
0 STOCK.TAKE coats o-9 ann 1 MAX 5
0 STOCK.GIVE coats o-8
0 STOCK.GIVE coats o-9 USER ann
0 STOCK.SETTLE coats o-9
0 STOCK.GET coats
# An order that ended at a shard begins anew after the shards were put together
0 STOCK.LOAD caps 20 SHARDS 5
0 STOCK.TAKE caps o-1 ann 1
0 STOCK.GIVE caps o-1
0 STOCK.TAKE caps o-2 ann 1
0 STOCK.SETTLE caps o-2
0 STOCK.TAKE caps o-3 ann 1
0 STOCK.LOAD caps 20
0 STOCK.GIVE caps o-1
0 STOCK.GIVE caps o-3
0 STOCK.TAKE caps o-3 ann 1 TTL 1s
0 STOCK.TAKE caps o-1 ann 1 TTL 1s
1000 STOCK.GIVE caps o-1
0 STOCK.SETTLE caps o-1
0 STOCK.GIVE caps o-3
0 STOCK.TAKE caps o-2 ann 1
0 STOCK.GIVE caps o-2
0 STOCK.GET caps
# Waiting room
0 ROOM.POSITION gala ann
0 ROOM.JOIN gala ann MAX 2 TTL 10s
0 ROOM.JOIN gala ann
0 ROOM.JOIN gala bob MAX 2
0 ROOM.JOIN gala cy MAX 2
0 ROOM.JOIN gala cy MAX 0
0 ROOM.JOIN gala cy
0 ROOM.POSITION gala cy
0 ROOM.LEAVE gala bob
0 ROOM.LEAVE gala bob
0 ROOM.ADMIT gala 0
0 ROOM.ADMIT gala 1 PASS 10s
0 ROOM.CHECK gala ann nothing
0 ROOM.CHECK gala ann nothing-like-it
0 ROOM.CHECK gala ann @pass
9999 ROOM.CHECK gala ann @pass
1 ROOM.CHECK gala ann @pass
0 ROOM.ADMIT gala 9
0 ROOM.ADMIT gala 9
# ROOM.ADMIT with an id
0 ROOM.JOIN again ann
0 ROOM.JOIN again bob
0 ROOM.JOIN again cy
0 ROOM.JOIN again dan
0 ROOM.ADMIT again 1 ID {
0 ROOM.ADMIT again 1 ID
0 ROOM.ADMIT again 2 ID wave-1
0 ROOM.ADMIT again 2 ID wave-1
0 ROOM.ADMIT again 3 ID wave-1
0 ROOM.ADMIT again 2 PASS 10s ID wave-1
0 ROOM.STATS again
0 ROOM.ADMIT again 9 PASS 20s ID wave-2
0 ROOM.JOIN again eve
0 ROOM.ADMIT again 9 PASS 20s ID wave-2
0 ROOM.ADMIT again 9 PASS 21s ID wave-2
0 ROOM.ADMIT again 9 ID wave-2
0 ROOM.DONE again cy
0 ROOM.ADMIT again 9 PASS 20s ID wave-2
0 ROOM.JOIN again bob
0 ROOM.ADMIT again 5000 ID wave-3
0 ROOM.ADMIT again 2 ID wave-1
0 ROOM.ADMIT again 4000 ID wave-3
0 ROOM.ADMIT again 3999 ID wave-3
19999 ROOM.ADMIT again 9 PASS 20s ID wave-2
1 ROOM.ADMIT again 9 PASS 20s ID wave-2
0 ROOM.JOIN again fay
279999 ROOM.ADMIT again 9 PASS 20s ID wave-2
1 ROOM.ADMIT again 9 PASS 20s ID wave-2
0 ROOM.ADMIT nobody 1 ID wave-1
0 LIST rooms MATCH nobody
0 ROOM.JOIN nobody ann
0 ROOM.ADMIT nobody 1 ID wave-1
0 ROOM.LEAVE nobody ann
# What ROOM.OPEN sets, and who is admitted by it
0 ROOM.OPEN ball RATE -1
0 ROOM.OPEN ball RATE 1000001
0 ROOM.OPEN ball INSIDE -1
0 ROOM.OPEN ball START -1
0 ROOM.OPEN ball START 9007199254740992
0 ROOM.OPEN ball ORDER lifo
0 ROOM.OPEN ball PASS 9ms
0 ROOM.OPEN ball GATED
0 ROOM.STATS ball
0 ROOM.DONE ball ann
0 ROOM.TICK ball
0 ROOM.OPEN ball
0 ROOM.OPEN ball RATE 2 INSIDE 3 START 0 ORDER fifo PASS 10s
0 ROOM.JOIN ball ann
0 ROOM.JOIN ball bob
0 ROOM.JOIN ball cy
0 ROOM.JOIN ball dan
0 ROOM.JOIN ball eve
0 ROOM.STATS ball
0 ROOM.TICK ball
0 ROOM.TICK ball
499 ROOM.TICK ball
1 ROOM.TICK ball
0 ROOM.STATS ball
5000 ROOM.TICK ball
0 ROOM.ADMIT ball 9
0 ROOM.POSITION ball ann TOKEN nothing
0 ROOM.POSITION ball ann TOKEN @token
0 ROOM.POSITION ball ann
0 ROOM.CHECK ball ann @pass RENEW
0 ROOM.DONE ball bob
0 ROOM.DONE ball bob
0 ROOM.OPEN ball RATE 2 INSIDE 3 PAUSED
0 ROOM.TICK ball
0 ROOM.STATS ball
0 ROOM.ADMIT ball 1
0 ROOM.POSITION ball eve
9999 ROOM.CHECK ball ann @pass
1 ROOM.CHECK ball ann @pass
0 ROOM.POSITION ball ann TOKEN @token
0 ROOM.OPEN ball INSIDE 1
0 ROOM.TICK ball
0 ROOM.DONE ball cy
0 ROOM.DONE ball dan
0 ROOM.TICK ball
0 ROOM.OPEN ball
0 ROOM.STATS ball
# With LIMITED only a room that has a rate or a bound admits
0 ROOM.JOIN hall ann
0 ROOM.JOIN hall bob
0 ROOM.TICK hall LIMITED
0 ROOM.OPEN hall GATE
0 ROOM.TICK hall LIMITED
0 ROOM.OPEN hall INSIDE 1
0 ROOM.TICK hall LIMITED
0 ROOM.OPEN hall RATE 1
0 ROOM.TICK hall LIMITED
0 ROOM.TICK hall LIMITED
# Nobody is admitted before the start, and nobody knows a place that is yet to be drawn
0 ROOM.OPEN fair RATE 10 START 1800000005000 ORDER random
0 ROOM.JOIN fair ann
0 ROOM.JOIN fair ann
0 ROOM.POSITION fair ann
0 ROOM.TICK fair
0 ROOM.ADMIT fair 1
0 ROOM.STATS fair
0 ROOM.OPEN fair START @soon ORDER random
0 ROOM.TICK fair
999 ROOM.ADMIT fair 1
1 ROOM.POSITION fair ann
0 ROOM.JOIN fair bob
0 ROOM.TICK fair
# The gate: no reserve without a pass, and a confirm ends it
0 SEATS.OPEN play floor 5
0 SEATS.RESERVE play floor b-0 ann 1 4
0 ROOM.OPEN play GATE
0 SEATS.RESERVE play floor b-1 ann 1 4
0 SEATS.RESERVE play floor b-1 ann 1 4 PASS nothing
0 SEATS.RESERVE play stalls b-1 ann 1 4
0 SEATS.RESERVE play floor b-0 ann 1 4
0 SEATS.RESERVE play floor b-0 ann 2 4
0 ROOM.JOIN play ann
0 ROOM.TICK play
0 ROOM.STATS play
0 ROOM.STATS play
0 SEATS.RESERVE play floor b-1 bob 1 4 PASS @pass
0 SEATS.RESERVE play floor b-1 ann 9 9 PASS @pass
0 SEATS.RESERVE play floor b-1 ann 1 1 PASS @pass
0 SEATS.RESERVE play floor b-1 ann 1 4 PASS @pass
0 SEATS.CONFIRM play b-1 PAYMENT p-1
0 ROOM.STATS play
0 SEATS.RESERVE play floor b-1 ann 1 4
0 SEATS.RESERVE play floor b-2 ann 1 4 PASS @pass
0 ROOM.OPEN play
0 SEATS.RESERVE play floor b-2 ann 1 4
# Idempotency
0 IDEM.BEGIN key print
0 IDEM.BEGIN key print
0 IDEM.BEGIN key other
0 IDEM.ABORT key
0 IDEM.ABORT key
0 IDEM.BEGIN key print
0 IDEM.COMPLETE key done TTL 10s
0 IDEM.COMPLETE key done
0 IDEM.COMPLETE key undone
9999 IDEM.BEGIN key print
1 IDEM.BEGIN key print
# Looking inside
0 LIST events
0 LIST zones
0 LIST zones COUNT 1
0 LIST zones MATCH gala COUNT 2
0 LIST zones MATCH nothing
0 LIST tenants
0 LIST semaphores
0 LOCK.TRY chair 10s
0 LIST locks
10000 LIST locks
0 LIST products
0 ROOM.JOIN gala zoe TTL 10s
0 ROOM.JOIN listed zoe TTL 10s
0 ROOM.ADMIT listed 1 PASS 20s
0 ROOM.OPEN empty INSIDE 5
0 LIST rooms
10000 LIST rooms
10000 LIST rooms
0 ROOM.OPEN empty
0 LIST rooms
0 IDEM.BEGIN listed print TTL 10s
0 LIST keys MATCH list
10000 LIST keys MATCH list
0 LIST seats
0 LIST zones COUNT 0
0 LIST zones COUNT 1001
0 LIST zones COUNT many
0 LIST zones AFTER !
0 LIST zones AFTER
0 LIST
# What is no command, and texts that are too long
0 NOTHING
0 SEATS.OPEN
0 SEATS.ZONE gala floor now
0 SEATS.RESERVE gala floor b-9 ann 1 1 TTL
0 SEATS.RESERVE gala floor b-9 ann 1 1 TTL 5 TTL 5
0 SEATS.RESERVE gala floor b-9 ann 1 1 NX
"""
LONG = [
    [b"STOCK.ADJUST", b"shoes", b"1", b"x" * 257],
    [b"STOCK.ADJUST", b"shoes", b"1", b""],
    [b"IDEM.COMPLETE", b"key", b"r" * (1 << 20)],
    [b"IDEM.COMPLETE", b"key", b"r" * ((1 << 20) + 1)],
    [b"IDEM.BEGIN", b"key", b"print"],
    [b"SEATS.OPEN", b"g" * 129, b"floor", b"1"],
]
# More in line than an order is drawn of at once.
THRONG = [[b"ROOM.JOIN", b"throng", b"u-%d" % n] for n in range(501)] + [
    [b"ROOM.OPEN", b"throng", b"START", b"9007199254740991", b"ORDER", b"random"],
    [b"ROOM.STATS", b"throng"],
    [b"ROOM.TICK", b"throng"],
]


class Scripted:
    """A generator of these commands, one after the other."""

    def __init__(self, model):
        self.model = model
        now, self.commands = START_MS, []
        for line in TEXT.strip().splitlines():
            if not line.startswith("#"):
                step, command = line.split(" ", 1)
                now += int(step)
                self.commands.append((now, command.encode().split(b" ")))
        self.commands += [(now, argv) for argv in LONG + THRONG]
        self.count = len(self.commands)
        self.secrets = {}  # (event, word) -> what it stood for when it was written first

    def next(self):
        now, argv = self.commands.pop(0)
        return now, [self.word(now, argv[1], word) if word[:1] == b"@" else word for word in argv]

    def word(self, now, event, word):
        """What stands for it: of ann's pass in the event, its secret, or the token of its entry."""
        if word == b"@ago":
            return b"%d" % (now - 1000)
        if word == b"@soon":
            return b"%d" % (now + 1000)
        if (event, word) not in self.secrets:
            own = self.model.rooms.room(event.decode(), now).passes["ann"]
            self.secrets[event, word] = own.secret if word == b"@pass" else own.token
        return known(self.secrets[event, word]).encode()
