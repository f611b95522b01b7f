/* SPDX-License-Identifier: Apache-2.0
 *
 * Names: whatever form one is kept in, it is the text it was made of. */
#include "core_fixture.h"

#include "core/name.h"

#include <stdio.h>
#include <stdlib.h>

static const uint64_t key[2] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9};

#define UUID "7b6c1b60-64f5-4d4c-9f8e-0123456789ab"

static struct name view(const char *text)
{
    return name_view(hf_text(text));
}

static void assert_text(const struct name *name, const char *text, size_t size)
{
    char out[HF_ID_MAX];

    assert_int_equal(name_write(name, out), size);
    assert_memory_equal(out, text, size);
}

static void a_name_of_any_length_comes_back(void **state)
{
    char text[HF_ID_MAX];
    struct memory memory;
    (void)state;

    memory_init(&memory);
    for (size_t size = 0; size <= HF_ID_MAX; size++) {
        memset(text, 'a' + (int)(size % 26), size);
        struct name name = name_view((struct hf_bytes){text, size});
        assert_int_equal(name.kind, size <= NAME_INLINE ? size : NAME_FAR);
        assert_text(&name, text, size);
        assert_true(name_own(&memory, &name));
        assert_true(size <= NAME_INLINE ? memory.used == 0
                                        : memory.used > size && memory.used < size + 32);
        char before[HF_ID_MAX];
        memcpy(before, text, sizeof before);
        memset(text, '?', sizeof text); /* an owned name does not look at what it was made of */
        assert_text(&name, before, size);
        name_free(&memory, &name);
        assert_int_equal(memory.used, 0);
    }
}

static void a_canonical_uuid_is_kept_as_its_bytes(void **state)
{
    static const uint8_t bytes[NAME_INLINE] = {0x7b, 0x6c, 0x1b, 0x60, 0x64, 0xf5, 0x4d, 0x4c,
                                               0x9f, 0x8e, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab};
    struct name name = view(UUID), same = name_uuid(bytes);
    (void)state;

    assert_int_equal(name.kind, NAME_UUID);
    assert_text(&name, UUID, 36);
    assert_true(name_same(&name, &same));
    assert_int_equal(name_hash(key, 0, &name), name_hash(key, 0, &same));
}

static void what_only_looks_like_a_uuid_is_a_text(void **state)
{
    static const char *const texts[] = {
        "7B6C1B60-64F5-4D4C-9F8E-0123456789AB",  "7b6c1b60-64f5-4d4c-9f8e-0123456789aB",
        "7b6c1b60-64f5-4d4c-9f8e-0123456789ag",  "7b6c1b60-64f5-4d4c-9f8e-0123456789a",
        "7b6c1b60-64f5-4d4c-9f8e-0123456789abc", "7b6c1b60+64f5-4d4c-9f8e-0123456789ab",
        "7b6c1b6064f54d4c9f8e0123456789ab",      "-b6c1b60-64f5-4d4c-9f8e-0123456789ab",
    };
    struct name uuid = view(UUID);
    (void)state;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct name name = view(texts[i]);
        assert_int_equal(name.kind, NAME_FAR);
        assert_text(&name, texts[i], strlen(texts[i]));
        assert_false(name_same(&name, &uuid));
    }
}

static void the_16_bytes_of_a_uuid_are_another_name(void **state)
{
    struct name uuid = name_uuid((const uint8_t *)"sixteen-bytes-ok");
    struct name text = view("sixteen-bytes-ok");
    (void)state;

    assert_int_equal(text.kind, 16);
    assert_false(name_same(&uuid, &text));
}

/* A random text out of few letters, so that many are alike. */
static size_t random_text(unsigned *seed, char out[HF_ID_MAX])
{
    static const size_t sizes[] = {1, 2, 15, 16, 17, 36, 128};
    size_t size = sizes[(size_t)rand_r(seed) % 7];

    memset(out, 'a', HF_ID_MAX);
    out[(size_t)rand_r(seed) % size] = (char)('a' + rand_r(seed) % 2);
    if (size == 36 && rand_r(seed) % 2) {
        memcpy(out, UUID, 36);
        out[35] = (char)('a' + rand_r(seed) % 2);
    }
    return size;
}

static void names_are_the_same_if_their_texts_are(void **state)
{
    unsigned seed = 9;
    int same = 0;
    (void)state;

    for (int i = 0; i < 50000; i++) {
        char one[HF_ID_MAX], other[HF_ID_MAX];
        size_t size = random_text(&seed, one), other_size = random_text(&seed, other);
        struct name a = name_view((struct hf_bytes){one, size});
        struct name b = name_view((struct hf_bytes){other, other_size});
        bool equal = size == other_size && memcmp(one, other, size) == 0;
        assert_int_equal(name_same(&a, &b), equal);
        if (equal) {
            assert_int_equal(name_hash(key, 5, &a), name_hash(key, 5, &b));
            same++;
        }
    }
    assert_true(same > 1000);
}

static int compare(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return one < other ? -1 : one > other;
}

/* How many of 20,000 hashes are there already. */
static size_t collisions(const char *start, uint32_t scopes)
{
    uint32_t *hashes = malloc(20000 * sizeof *hashes);
    size_t found = 0;

    for (uint32_t i = 0; i < 20000; i++) {
        char text[HF_ID_MAX];
        int size = snprintf(text, sizeof text, "%s%u", start, i / scopes);
        struct name name = name_view((struct hf_bytes){text, (size_t)size});
        hashes[i] = name_hash(key, i % scopes, &name);
    }
    qsort(hashes, 20000, sizeof *hashes, compare);
    for (size_t i = 1; i < 20000; i++) {
        found += hashes[i] == hashes[i - 1];
    }
    free(hashes);
    return found;
}

static void hashes_rarely_collide(void **state)
{
    (void)state;
    assert_true(collisions("u", 1) <= 3);
    assert_true(collisions("user-000", 1) <= 3);
    assert_true(collisions("user-of-a-long-name-", 1) <= 3);
    assert_true(collisions("7b6c1b60-64f5-4d4c-9f8e-0000000", 1) <= 3);
    assert_true(collisions("u", 100) <= 3);
}

static void a_hash_depends_on_the_key_and_the_scope(void **state)
{
    static const uint64_t other[2] = {0xd6e8feb86659fd93, 0xa5a3564e27f8862b};
    static const char *const texts[] = {"a", "sixteen-bytes-ok", UUID,
                                        "past-sixteen-bytes-by-some"};
    (void)state;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct name name = view(texts[i]);
        assert_int_not_equal(name_hash(key, 1, &name), name_hash(other, 1, &name));
        assert_int_not_equal(name_hash(key, 1, &name), name_hash(key, 2, &name));
    }
}

static void *refuse(struct memory *memory, void *block, size_t old_size, size_t new_size)
{
    (void)memory;
    (void)block;
    (void)old_size;
    (void)new_size;
    return NULL;
}

static void without_memory_a_name_stays_borrowed(void **state)
{
    struct memory memory = {.resize = refuse};
    struct name far = view("past-sixteen-bytes-by-some"), near = view("near");
    (void)state;

    assert_false(name_own(&memory, &far));
    assert_text(&far, "past-sixteen-bytes-by-some", 26);
    assert_true(name_own(&memory, &near));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_of_any_length_comes_back),
        cmocka_unit_test(a_canonical_uuid_is_kept_as_its_bytes),
        cmocka_unit_test(what_only_looks_like_a_uuid_is_a_text),
        cmocka_unit_test(the_16_bytes_of_a_uuid_are_another_name),
        cmocka_unit_test(names_are_the_same_if_their_texts_are),
        cmocka_unit_test(hashes_rarely_collide),
        cmocka_unit_test(a_hash_depends_on_the_key_and_the_scope),
        cmocka_unit_test(without_memory_a_name_stays_borrowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
