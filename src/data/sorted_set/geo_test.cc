#include "data/sorted_set/geo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace cairn::data::geo {
namespace {

TEST(GeoTest, CellsAreThoseOfRedis) {
  EXPECT_EQ(EncodePlace({13.361389, 38.115556}), 3479099956230698U);
  EXPECT_EQ(EncodePlace({15.087269, 37.502669}), 3479447370796909U);
  EXPECT_EQ(EncodePlace({-180, -85.05112878}), 0U);
}

TEST(GeoTest, PlacesComeBackFromTheirCells) {
  SeededRandom random(1);
  for (int i = 0; i < 1000; ++i) {
    const Place place{static_cast<double>(random.Below(36'000)) / 100 - 180,
                      static_cast<double>(random.Below(17'000)) / 100 - 85};
    const Place decoded = DecodePlace(EncodePlace(place));
    EXPECT_NEAR(decoded.longitude, place.longitude, 1e-5);
    EXPECT_NEAR(decoded.latitude, place.latitude, 1e-5);
    EXPECT_EQ(EncodePlace(decoded), EncodePlace(place));
  }
}

TEST(GeoTest, OnlyPlacesInTheGridAreValid) {
  EXPECT_TRUE(IsValid({180, 85.05112878}));
  EXPECT_TRUE(IsValid({-180, -85.05112878}));
  EXPECT_FALSE(IsValid({180.1, 0}));
  EXPECT_FALSE(IsValid({0, -85.06}));
}

// Every place of a shape is in one of its cells: also at the date line and near the poles.
TEST(GeoTest, CellsCoverTheShape) {
  SeededRandom random(2);
  const auto between = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random.Below(1'000'000)) / 1e6;
  };
  size_t inside = 0;
  for (int i = 0; i < 400; ++i) {
    Shape shape;
    shape.center = {between(-180, 180), between(-85, 85)};
    if (i % 4 == 0) shape.center.longitude = between(179, 180);
    const double size_m = std::pow(10.0, between(2, 7));
    shape.kind = i % 2 == 0 ? Shape::Kind::kCircle : Shape::Kind::kBox;
    shape.radius_m = size_m;
    shape.width_m = size_m * between(0.1, 2);
    shape.height_m = size_m * between(0.1, 2);
    const std::vector<CellRange> cells = Cover(shape);
    EXPECT_LE(cells.size(), 9U);
    const double degrees = std::min(90.0, size_m / 50'000);
    for (int j = 0; j < 100; ++j) {
      Place place{shape.center.longitude + between(-1, 1) * std::min(180.0, degrees * 4),
                  shape.center.latitude + between(-1, 1) * degrees};
      place.longitude = std::remainder(place.longitude, 360);
      if (!IsValid(place) || !DistanceWithin(shape, place)) continue;
      ++inside;
      const uint64_t cell = EncodePlace(place);
      EXPECT_TRUE(std::ranges::any_of(
          cells, [&](const CellRange& range) { return cell >= range.first && cell < range.end; }))
          << place.longitude << "," << place.latitude << " around " << shape.center.longitude << ","
          << shape.center.latitude << " within " << size_m;
    }
  }
  EXPECT_GT(inside, 1000U);
}

TEST(GeoTest, SmallShapesHaveSmallCells) {
  const std::vector<CellRange> cells = Cover({.center = {13.4, 52.5}, .radius_m = 1000});
  uint64_t covered = 0;
  for (const CellRange& range : cells) covered += range.end - range.first;
  EXPECT_LT(covered, (uint64_t{1} << 52) / 1'000'000);
}

}  // namespace
}  // namespace cairn::data::geo
