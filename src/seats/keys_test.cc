#include "seats/keys.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/clock.h"
#include "seats/time_text.h"

namespace cairn::seats {
namespace {

TEST(SeatKeysTest, NamesAreThoseOfTheSeed) {
  const Place place;
  const Keys keys(place);
  EXPECT_EQ(keys.Seats("1", "A-1"), "seats_bf:1:A-1");
  EXPECT_EQ(keys.State("1"), "event_state:1");
  EXPECT_EQ(keys.Booking("b"), "booking:b");
  EXPECT_EQ(keys.Sellout("1"), "event_sellout_timer:1");
  EXPECT_EQ(keys.Rows("1", "A-1"), "seats_rows:1:A-1");
  EXPECT_EQ(keys.Sections("1"), "seats_sections:1");
  EXPECT_EQ(keys.Bookings("1"), "event_bookings:1");
  EXPECT_EQ(keys.Buyers("1"), "event_buyers:1");
  EXPECT_EQ(keys.Refund("b"), "refund:b");
}

TEST(SeatKeysTest, APrefixStandsBeforeEveryKey) {
  const Place place{0, "test_gw0_"};
  const Keys keys(place);
  EXPECT_EQ(keys.Seats("1", "A-1"), "test_gw0_seats_bf:1:A-1");
  EXPECT_EQ(keys.Channel("1"), "test_gw0_seats:1");
}

TEST(SeatKeysTest, NoTwoFamiliesShareAPrefix) {
  const Place place;
  const Keys keys(place);
  const std::array names = {keys.Seats("", ""), keys.State(""),    keys.Booking(""),
                            keys.Sellout(""),   keys.Rows("", ""), keys.Bookings(""),
                            keys.Buyers(""),    keys.Refund(""),   keys.Sections("")};
  for (const std::string& a : names) {
    for (const std::string& b : names) {
      EXPECT_TRUE(&a == &b || !a.starts_with(b)) << a << " and " << b;
    }
  }
}

TEST(SeatKeysTest, FeedKeysAreInTheOrderOfTheirNumbers) {
  const Place place{3, "p_"};
  const Bytes prefix = Keys(place).FeedPrefix("e1");
  EXPECT_EQ(HexEncode(prefix),
            "73656174"
            "03"
            "0004"
            "705f6531");
  Bytes before;
  for (const uint64_t number : {uint64_t{1}, uint64_t{255}, uint64_t{256}, uint64_t{1} << 32}) {
    Bytes key = prefix;
    AppendBig64(key, number);
    EXPECT_EQ(DecodeFeedNumber(key), number);
    EXPECT_LT(before, key);
    before = key;
    EXPECT_EQ(DecodeFeedNumber(key.substr(0, key.size() - 1)), std::nullopt);
    EXPECT_EQ(DecodeFeedNumber(key + "x"), std::nullopt);
  }
}

TEST(SeatKeysTest, NoEventsFeedIsPartOfAnothers) {
  const Place place;
  const Keys keys(place);
  EXPECT_FALSE(keys.FeedPrefix("e10").starts_with(keys.FeedPrefix("e1")));
}

TEST(SeatKeysTest, TimersComeBackAsTheyWereWritten) {
  const HoldTimer timer{2, "b:1", "e1", "A-1"};
  const Bytes owner = EncodeHoldOwner(2, "b:1");
  const Bytes payload = EncodeHoldPayload("e1", "A-1");
  EXPECT_EQ(HexEncode(owner), "02623a31");
  EXPECT_EQ(HexEncode(payload), "026531412d31");
  EXPECT_EQ(DecodeHoldTimer(owner, payload), timer);
  EXPECT_EQ(DecodeHoldTimer(owner.substr(0, 1), payload), std::nullopt);
  EXPECT_EQ(DecodeHoldTimer(owner, payload.substr(0, 2)), std::nullopt);
  EXPECT_EQ(DecodeHoldTimer(owner, payload.substr(0, 3)), std::nullopt);
  EXPECT_EQ(DecodeFeedOwner(EncodeFeedOwner(1, "e1")), (FeedTimer{1, "e1"}));
  EXPECT_EQ(DecodeFeedOwner(""), std::nullopt);
}

TEST(TimeTextTest, ComesBackToTheMicrosecond) {
  const Timestamp time{1'762'338'615'123'456};
  EXPECT_EQ(FormatTime(time), "2025-11-05T10:30:15.123456+00:00");
  EXPECT_EQ(ParseTime(FormatTime(time)), time);
  EXPECT_EQ(ParseTime("1970-01-01T00:00:00.000001+00:00"), Timestamp{1});
  EXPECT_EQ(FormatSeconds(327'665'556), "327.665556");
}

TEST(TimeTextTest, RefusesWhatIsNoTime) {
  for (const std::string_view text :
       {"", "2025-11-05", "2025-13-05T10:30:15.123456+00:00", "2025-11-05T24:30:15.123456+00:00",
        "2025-11-05T10:30:15.123456+01:00", "2025-11-05 10:30:15.123456+00:00",
        "2025-11-05T10:30:15.12345x+00:00"}) {
    EXPECT_EQ(ParseTime(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace cairn::seats
