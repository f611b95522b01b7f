/* SPDX-License-Identifier: Apache-2.0
 *
 * Four seats and three people: one pays, one lets the hold lapse, one gets what came back.
 *
 *     cc seats.c $(pkg-config --cflags --libs holdfast) -o seats && ./seats */
#include <holdfast.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Ends the program unless a call gave what was expected of it. */
static void expect(enum hf_error expected, enum hf_error code, const char *what)
{
    if (code != expected) {
        fprintf(stderr, "%s: %s, not %s: %s\n", what, hf_error_name(code), hf_error_name(expected),
                code == HF_OK ? "no message" : hf_last_message());
        exit(1);
    }
}

/* Two seats in gala/floor, at most two a person, held for a second. */
static enum hf_error reserve(hf_handle *hf, const char *booking, const char *user,
                             struct hf_seats_reserve_reply *reply)
{
    struct hf_seats_reserve_args ask = {
        .event = HF_TEXT("gala"),
        .zone = HF_TEXT("floor"),
        .booking = hf_text(booking),
        .user = hf_text(user),
        .quantity = 2,
        .max_per_user = 2,
        .ttl_ms = 1000,
    };
    return hf_seats_reserve(hf, &ask, reply);
}

/* Looks until the booking is gone, which it is from the millisecond of its deadline. */
static void wait_for_lapse(hf_handle *hf, const char *booking)
{
    struct hf_seats_get_args which = {.event = HF_TEXT("gala"), .booking = hf_text(booking)};
    struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    enum hf_error code;

    while ((code = hf_seats_get(hf, &which, NULL)) == HF_OK) {
        nanosleep(&pause, NULL);
    }
    expect(HF_RESERVATION_NOT_FOUND, code, "waiting for the deadline");
}

static void print_finding(void *context, const char *finding)
{
    (void)context;
    printf("    %s\n", finding);
}

/* The zone's totals, and the proof that they follow from the bookings. */
static uint64_t show_totals(hf_handle *hf)
{
    struct hf_seats_zone_args which = {.event = HF_TEXT("gala"), .zone = HF_TEXT("floor")};
    struct hf_seats_zone_reply zone;
    uint64_t findings;

    expect(HF_OK, hf_seats_zone(hf, &which, &zone), "zone");
    printf("capacity %lld = available %lld + reserved %lld + confirmed %lld\n",
           (long long)zone.capacity, (long long)zone.available, (long long)zone.reserved,
           (long long)zone.confirmed);
    expect(HF_OK, hf_audit(hf, print_finding, NULL, &findings), "audit");
    printf("audit: %llu findings\n", (unsigned long long)findings);
    return findings;
}

int main(void)
{
    hf_handle *hf;
    struct hf_seats_open_args open = {
        .event = HF_TEXT("gala"), .zone = HF_TEXT("floor"), .capacity = 4};
    struct hf_seats_confirm_args pay = {
        .event = HF_TEXT("gala"), .booking = HF_TEXT("b-1"), .payment = HF_TEXT("p-77")};
    struct hf_seats_reserve_reply got;
    struct hf_seats_confirm_reply paid;

    expect(HF_OK, hf_open("embedded:", &hf), "open");
    expect(HF_OK, hf_seats_open(hf, &open, NULL), "open the zone");

    expect(HF_OK, reserve(hf, "b-1", "ann", &got), "ann");
    printf("ann holds two seats, %lld left\n", (long long)got.remaining);
    expect(HF_OK, reserve(hf, "b-1", "ann", &got), "ann again");
    printf("ann asks again with the same booking id: still %lld left\n", (long long)got.remaining);
    expect(HF_OK, reserve(hf, "b-2", "bob", &got), "bob");
    printf("bob holds two seats, %lld left\n", (long long)got.remaining);
    expect(HF_INSUFFICIENT_STOCK, reserve(hf, "b-3", "cy", &got), "cy");
    printf("cy is refused: %s\n", hf_last_message());

    expect(HF_OK, hf_seats_confirm(hf, &pay, &paid), "ann pays");
    printf("ann has paid: %s, code %s\n", paid.status, paid.confirmation_code);
    wait_for_lapse(hf, "b-2");
    printf("bob's hold has lapsed\n");
    expect(HF_OK, reserve(hf, "b-3", "cy", &got), "cy again");
    printf("cy holds two seats, %lld left\n", (long long)got.remaining);

    uint64_t findings = show_totals(hf);
    hf_close(hf);
    return findings == 0 ? 0 : 1;
}
