#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Places on the earth as scores of a sorted set, as Redis has them. A place becomes a cell of a
// grid with 2^26 columns and rows; the bits of its column (longitude) and row (latitude) alternate,
// most significant first, beginning with the column, and give a number of 52 bits, which a double
// holds exactly. A cell of a coarser grid is therefore a range of scores.
namespace cairn::data::geo {

struct Place {
  double longitude = 0;
  double latitude = 0;
};

inline constexpr double kMaxLongitude = 180;
// Where the projection that the grid goes by ends.
inline constexpr double kMaxLatitude = 85.05112878;
bool IsValid(const Place& place);

// The cell of a place, and the place in the middle of a cell.
uint64_t EncodePlace(const Place& place);
Place DecodePlace(uint64_t cell);

// In metres, on a sphere.
double Distance(const Place& a, const Place& b);

// The eleven letters of geohash.org.
std::string GeoHashText(const Place& place);

// What a search looks for: everything within a circle or a rectangle around a place.
struct Shape {
  enum class Kind { kCircle, kBox };
  Kind kind = Kind::kCircle;
  Place center;
  double radius_m = 0;  // of a circle
  double width_m = 0;   // of a box
  double height_m = 0;
};
// The distance from the shape's center if `place` is in it.
std::optional<double> DistanceWithin(const Shape& shape, const Place& place);

// The cells first <= cell < end.
struct CellRange {
  uint64_t first = 0;
  uint64_t end = 0;
  friend bool operator==(const CellRange&, const CellRange&) = default;
};
// At most nine ranges that together hold all places of the shape, and some around it: the cell of
// the center in a grid that is coarse enough, and its neighbours. No two overlap.
std::vector<CellRange> Cover(const Shape& shape);

}  // namespace cairn::data::geo
