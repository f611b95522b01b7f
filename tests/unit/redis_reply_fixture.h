/* SPDX-License-Identifier: Apache-2.0
 *
 * Replies of Redis from their bytes, through the reader of hiredis, as the client gets them. */
#ifndef UNIT_REDIS_REPLY_FIXTURE_H
#define UNIT_REDIS_REPLY_FIXTURE_H

#include <hiredis/hiredis.h>
#include <string.h>

/* The reply, to be freed with freeReplyObject(); fails the test if the bytes are none. */
static inline redisReply *read_resp(const char *bytes, size_t size)
{
    redisReader *reader = redisReaderCreate();
    void *read = NULL;

    assert_non_null(reader);
    assert_int_equal(redisReaderFeed(reader, bytes, size), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &read), REDIS_OK);
    assert_non_null(read);
    redisReaderFree(reader);
    return read;
}

static inline redisReply *read_resp_text(const char *text)
{
    return read_resp(text, strlen(text));
}

#endif
