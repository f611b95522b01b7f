# SPDX-License-Identifier: Apache-2.0
"""holdfast call without a command: one per line of standard input, all on one engine."""

import json

import pytest

DONE, REFUSED, MALFORMED = 0, 1, 2
RESPONSE_MAX = 1 << 20


def test_the_lines_share_one_engine(script):
    ended, replies = script("SEATS.OPEN gala floor 2\n"
                            "SEATS.RESERVE gala floor b-1 ann 2 4\n"
                            "SEATS.RELEASE gala b-1\n"
                            "SEATS.ZONE gala floor\n")
    assert (ended.code, ended.err) == (DONE, "")
    assert replies == [
        {"available": 2, "capacity": 2},
        {"remaining": 0, "user_reserved": 2, "expires_at": replies[1]["expires_at"]},
        {"status": "SUCCESS", "available": 2, "user_reserved": 0},
        {"capacity": 2, "available": 2, "reserved": 0, "confirmed": 0}]


def test_a_second_call_starts_afresh(script):
    assert script("SEATS.OPEN gala floor 2\n")[0].code == DONE
    assert script("SEATS.ZONE gala floor\n")[0].code == REFUSED


@pytest.mark.parametrize("text, code", [
    ("SEM.CARD a\n", DONE),
    ("SEM.CARD a\nSEATS.ZONE gala floor\nSEM.CARD a\n", REFUSED),
    ("SEATS.ZONE gala\nSEATS.ZONE gala floor\nSEM.CARD a\n", MALFORMED),
    ("", DONE),
])
def test_the_exit_code_is_that_of_the_worst_line(script, text, code):
    ended, replies = script(text)
    assert ended.code == code
    assert len(replies) == text.count("\n")


@pytest.mark.parametrize("text", [
    "# nothing\n\nSEM.CARD a\n", "   \t\nSEM.CARD a\n", "SEM.CARD a", "  SEM.CARD\ta  \n",
    "SEM.CARD a\r\n", '"SEM.CARD" "a"\n', "#\nSEM.CARD a\n#SEM.CARD b\n",
], ids=repr)
def test_white_space_comments_and_the_last_line(script, text):
    ended, replies = script(text)
    assert (ended.code, ended.err, replies) == (DONE, "", [{"in_use": 0}])


@pytest.mark.parametrize("quoted, response", [
    ('"two words"', "two words"), ('"say \\"hi\\""', 'say "hi"'),
    ('"back\\\\slash"', "back\\slash"), ('back\\slash', "back\\slash"),
    ('"  "', "  "), ('""', ""), ('"#1"', "#1"), ('in"side', 'in"side'),
    ('"tab\there"', "tab\there"), ('"fête"', "fête"),
], ids=repr)
def test_quotes_keep_a_word_together(script, quoted, response):
    ended, replies = script(f"IDEM.BEGIN k f\nIDEM.COMPLETE k {quoted}\nIDEM.BEGIN k f\n")
    assert (ended.code, ended.err) == (DONE, "")
    assert replies[2] == {"state": "COMPLETED", "response": response}


def test_an_unfinished_quote_fails_its_line_only(script):
    ended, replies = script('SEM.CARD a\nSEM.CARD "a\nSEM.CARD b\n')
    assert ended.code == MALFORMED
    assert replies == [{"in_use": 0}, {"in_use": 0}]
    assert "quote" in ended.err and len(ended.err.splitlines()) == 1


def test_too_many_words_fail_their_line_only(script):
    ended, replies = script("SEM.CARD a\n" + "word " * 65 + "\nSEM.CARD b\n")
    assert ended.code == MALFORMED
    assert len(replies) == 2
    assert "64 words" in ended.err


def test_bad_ids_are_refused_and_leave_no_trace(script):
    ended, replies = script(b'SEATS.OPEN gala "main floor" 5\nSEATS.OPEN gala {floor} 5\n'
                            b'SEATS.OPEN gala "" 5\nSEATS.OPEN gala \xff\xfe 5\n'
                            b'SEATS.OPEN gala floor 5\n')
    assert ended.code == REFUSED
    assert [reply.get("error", {}).get("code") for reply in replies] == ["INVALID_ID"] * 4 + [None]


def test_lines_may_be_long(script):
    response = "x" * RESPONSE_MAX
    ended, replies = script(f"IDEM.BEGIN k f\nIDEM.COMPLETE k {response}y\n"
                            f"IDEM.COMPLETE k {response}\nIDEM.BEGIN k f\n")
    assert ended.code == REFUSED
    assert replies[1]["error"]["code"] == "PAYLOAD_TOO_LARGE"
    assert replies[3]["response"] == response


def test_a_retry_succeeds_and_changes_nothing(script):
    ended, replies = script("SEATS.OPEN gala floor 5\n" +
                            "SEATS.RESERVE gala floor b ann 2 4\n" * 2 +
                            "SEATS.CONFIRM gala b PAYMENT p\n" * 2 +
                            "SEATS.ZONE gala floor\nSEATS.RESERVE gala floor b ann 1 4\n")
    assert ended.code == REFUSED
    assert replies[1] == replies[2] and replies[3] == replies[4]
    assert replies[5] == {"capacity": 5, "available": 3, "reserved": 0, "confirmed": 2}
    assert replies[6]["error"]["code"] == "BOOKING_EXISTS"


def test_a_wait_in_vain_leaves_no_trace(script):
    ended, replies = script("SEM.ACQUIRE printers a 1\nSEM.ACQUIRE printers b 1 WAIT 50\n"
                            "SEM.STATS printers\n")
    assert ended.code == REFUSED
    assert replies[0].keys() == {"in_use", "fence"} and replies[0]["in_use"] == 1
    assert replies[1]["error"]["code"] == "TIMEOUT"
    assert replies[2] == {"in_use": 1, "max": 1, "waiting": 0}


def test_a_wait_ends_when_the_holders_time_is_over(script):
    ended, replies = script("SEM.ACQUIRE printers a 1 TTL 50ms\nSEM.ACQUIRE printers b 1 WAIT 60s\n"
                            "SEM.PING printers a 10 10\n")
    assert ended.code == DONE
    assert replies[1] == {"in_use": 1, "fence": replies[0]["fence"] + 1}
    assert replies[2] == {"changed_waiting": 0, "changed_slot": 0}


def test_what_falls_due_returns_by_itself(script):
    """The wait for a slot that never comes free is what lets the time pass."""
    ended, replies = script("SEM.ACQUIRE printers a 1\n"
                            "SEATS.OPEN gala floor 5\nSEATS.RESERVE gala floor b ann 5 9 TTL 10ms\n"
                            "QUOTA.LIMIT acme 100\nQUOTA.RESERVE acme 60 HOLD h TTL 10ms\n"
                            "STOCK.LOAD shoe 7\nSTOCK.TAKE shoe o ann 7 TTL 10ms\n"
                            "LOCK.TRY seat 10ms ID mine\n"
                            "SEM.ACQUIRE printers b 1 WAIT 100\n"
                            "SEATS.GET gala b\nSEATS.ZONE gala floor\nQUOTA.GET acme\n"
                            "STOCK.GET shoe\nLOCK.UNLOCK seat mine\n")
    assert ended.code == REFUSED
    assert replies[8]["error"]["code"] == "TIMEOUT"
    assert replies[9]["error"]["code"] == "RESERVATION_NOT_FOUND"
    assert replies[10]["available"] == 5
    assert replies[11] == {"used": 0, "limit": 100, "held": 0}
    assert (replies[12]["available"], replies[12]["taken"]) == (7, 0)
    assert replies[13] == {"unlocked": 0}


def test_plain_replies_follow_one_another(holdfast):
    ended = holdfast("call", "--engine", "embedded:", stdin="SEM.CARD a\nSEATS.USER gala ann\n")
    assert ended.lines == ["(integer) 0", "1) (integer) 0", "2) (integer) 0"]


def test_each_reply_is_one_line_of_json(holdfast):
    ended = holdfast("call", "--engine", "embedded:", "--json",
                     stdin='IDEM.BEGIN k f\nIDEM.COMPLETE k "a\x01b"\nIDEM.BEGIN k f\n')
    assert json.loads(ended.lines[2])["response"] == "a\x01b"
