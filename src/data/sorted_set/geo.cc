#include "data/sorted_set/geo.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

namespace cairn::data::geo {
namespace {

constexpr double kEarthRadiusM = 6372797.560856;
// Half the equator in the grid's projection.
constexpr double kMercatorMaxM = 20037726.37;
constexpr int kBits = 26;  // of a column or a row in the finest grid

double Radians(double degrees) { return degrees * (std::numbers::pi / 180); }
double Degrees(double radians) { return radians / (std::numbers::pi / 180); }

// The bits of `value` at the even places of the result.
uint64_t Spread(uint32_t value) {
  uint64_t x = value;
  x = (x | (x << 16)) & 0x0000FFFF0000FFFFULL;
  x = (x | (x << 8)) & 0x00FF00FF00FF00FFULL;
  x = (x | (x << 4)) & 0x0F0F0F0F0F0F0F0FULL;
  x = (x | (x << 2)) & 0x3333333333333333ULL;
  x = (x | (x << 1)) & 0x5555555555555555ULL;
  return x;
}

uint32_t Gather(uint64_t x) {
  x &= 0x5555555555555555ULL;
  x = (x | (x >> 1)) & 0x3333333333333333ULL;
  x = (x | (x >> 2)) & 0x0F0F0F0F0F0F0F0FULL;
  x = (x | (x >> 4)) & 0x00FF00FF00FF00FFULL;
  x = (x | (x >> 8)) & 0x0000FFFF0000FFFFULL;
  x = (x | (x >> 16)) & 0x00000000FFFFFFFFULL;
  return static_cast<uint32_t>(x);
}

// A grid of 2^bits columns and rows between these bounds.
struct Grid {
  int bits = kBits;
  double max_longitude = kMaxLongitude;
  double max_latitude = kMaxLatitude;

  double size() const { return static_cast<double>(1U << static_cast<unsigned>(bits)); }
};

struct Cell {
  uint32_t column = 0;
  uint32_t row = 0;
};

struct Bounds {
  double west = 0;
  double south = 0;
  double east = 0;
  double north = 0;
};

Cell CellOf(const Grid& grid, const Place& place) {
  const double x = (place.longitude + grid.max_longitude) / (2 * grid.max_longitude);
  const double y = (place.latitude + grid.max_latitude) / (2 * grid.max_latitude);
  // The eastern and northern edges belong to no cell: as in Redis they count as the first of the
  // next, which is out of the grid, and wrap.
  return {static_cast<uint32_t>(x * grid.size()), static_cast<uint32_t>(y * grid.size())};
}

uint64_t Interleave(const Cell& cell) { return Spread(cell.row) | (Spread(cell.column) << 1); }

Bounds BoundsOf(const Grid& grid, const Cell& cell) {
  const auto at = [&](uint32_t index, double max) {
    return -max + (static_cast<double>(index) / grid.size()) * (2 * max);
  };
  return {at(cell.column, grid.max_longitude), at(cell.row, grid.max_latitude),
          at(cell.column + 1, grid.max_longitude), at(cell.row + 1, grid.max_latitude)};
}

// The rectangle of longitudes and latitudes that a shape fits into.
Bounds BoundsOf(const Shape& shape) {
  const bool circle = shape.kind == Shape::Kind::kCircle;
  const double half_width = circle ? shape.radius_m : shape.width_m / 2;
  const double half_height = circle ? shape.radius_m : shape.height_m / 2;
  const double up = Degrees(half_height / kEarthRadiusM);
  const Place& center = shape.center;
  // Degrees of longitude are shortest at the side that is nearer to a pole.
  const double widest = center.latitude < 0 ? center.latitude - up : center.latitude + up;
  // Around a pole it is all of them.
  const double aside = std::abs(widest) < 90
                           ? Degrees(half_width / kEarthRadiusM / std::cos(Radians(widest)))
                           : 2 * kMaxLongitude;
  return {center.longitude - aside, center.latitude - up, center.longitude + aside,
          center.latitude + up};
}

// How fine the grid may be for nine cells around any place to hold a circle of this radius.
int EstimateBits(double radius_m, double latitude) {
  if (radius_m == 0) return kBits;
  int bits = 1;
  for (; radius_m < kMercatorMaxM; radius_m *= 2) ++bits;
  bits -= 2;
  // Columns are narrower towards the poles.
  if (std::abs(latitude) > 66) --bits;
  if (std::abs(latitude) > 80) --bits;
  return std::clamp(bits, 1, kBits);
}

Cell Moved(const Grid& grid, const Cell& cell, int columns, int rows) {
  const uint32_t mask = (1U << static_cast<unsigned>(grid.bits)) - 1;
  return {(cell.column + static_cast<uint32_t>(columns)) & mask,
          (cell.row + static_cast<uint32_t>(rows)) & mask};
}

// Whether the neighbours' bounds enclose what is wanted, as Redis asks: not across the date line,
// where a neighbour is at the other end of the grid.
bool NeighboursEnclose(const Grid& grid, const Cell& center, const Bounds& wanted) {
  return BoundsOf(grid, Moved(grid, center, 0, 1)).north >= wanted.north &&
         BoundsOf(grid, Moved(grid, center, 0, -1)).south <= wanted.south &&
         BoundsOf(grid, Moved(grid, center, 1, 0)).east >= wanted.east &&
         BoundsOf(grid, Moved(grid, center, -1, 0)).west <= wanted.west;
}

// Whether what is wanted reaches no further than the neighbours, across the date line or not.
bool NeighboursReach(const Grid& grid, const Cell& center, const Bounds& wanted) {
  const Bounds inner = BoundsOf(grid, center);
  const double width = inner.east - inner.west;
  const double height = inner.north - inner.south;
  return inner.north + height >= wanted.north && inner.south - height <= wanted.south &&
         inner.east + width >= wanted.east && inner.west - width <= wanted.west;
}

// The finest grid in which the cell of the center and its neighbours hold the shape. Redis makes
// one step to a coarser grid at most, and so loses places near the poles; where that is enough, the
// grid is the same.
Grid FittingGrid(const Shape& shape, const Bounds& wanted) {
  const double radius_m = shape.kind == Shape::Kind::kCircle
                              ? shape.radius_m
                              : std::hypot(shape.width_m / 2, shape.height_m / 2);
  Grid grid{.bits = EstimateBits(radius_m, shape.center.latitude)};
  if (!NeighboursEnclose(grid, CellOf(grid, shape.center), wanted)) --grid.bits;
  while (grid.bits > 1 && !NeighboursReach(grid, CellOf(grid, shape.center), wanted)) --grid.bits;
  grid.bits = std::max(grid.bits, 1);
  return grid;
}

}  // namespace

bool IsValid(const Place& place) {
  return std::abs(place.longitude) <= kMaxLongitude && std::abs(place.latitude) <= kMaxLatitude;
}

uint64_t EncodePlace(const Place& place) { return Interleave(CellOf(Grid{}, place)); }

Place DecodePlace(uint64_t cell) {
  const Bounds bounds = BoundsOf(Grid{}, {Gather(cell >> 1), Gather(cell)});
  return {std::clamp((bounds.west + bounds.east) / 2, -kMaxLongitude, kMaxLongitude),
          std::clamp((bounds.south + bounds.north) / 2, -kMaxLatitude, kMaxLatitude)};
}

double Distance(const Place& a, const Place& b) {
  const double latitude_a = Radians(a.latitude);
  const double latitude_b = Radians(b.latitude);
  const double u = std::sin((latitude_b - latitude_a) / 2);
  const double v = std::sin((Radians(b.longitude) - Radians(a.longitude)) / 2);
  return 2.0 * kEarthRadiusM *
         std::asin(std::sqrt(u * u + std::cos(latitude_a) * std::cos(latitude_b) * v * v));
}

std::string GeoHashText(const Place& place) {
  constexpr std::string_view kAlphabet = "0123456789bcdefghjkmnpqrstuvwxyz";
  constexpr int kLetters = 10;
  // geohash.org goes up to the poles.
  const uint64_t bits = Interleave(CellOf({.max_latitude = 90}, place));
  std::string text;
  for (int i = 1; i <= kLetters; ++i) text += kAlphabet[(bits >> (2 * kBits - 5 * i)) & 31];
  // For the eleventh letter there are only two bits left; Redis always writes the first.
  return text + kAlphabet.front();
}

std::optional<double> DistanceWithin(const Shape& shape, const Place& place) {
  const double distance = Distance(shape.center, place);
  if (shape.kind == Shape::Kind::kCircle) {
    return distance <= shape.radius_m ? std::optional(distance) : std::nullopt;
  }
  const double aside = Distance(place, {shape.center.longitude, place.latitude});
  const double along = Distance(place, {place.longitude, shape.center.latitude});
  if (aside > shape.width_m / 2 || along > shape.height_m / 2) return std::nullopt;
  return distance;
}

std::vector<CellRange> Cover(const Shape& shape) {
  const Bounds wanted = BoundsOf(shape);
  const Grid grid = FittingGrid(shape, wanted);
  const Cell center = CellOf(grid, shape.center);
  const Bounds inner = BoundsOf(grid, center);
  // In the order in which Redis looks at them: it shows in replies that are not sorted.
  constexpr std::array<std::pair<int, int>, 9> kAround = {
      {{0, 0}, {0, 1}, {0, -1}, {1, 0}, {-1, 0}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}}};
  std::vector<CellRange> ranges;
  for (const auto& [columns, rows] : kAround) {
    const bool useless =
        grid.bits >= 2 &&
        ((rows < 0 && inner.south < wanted.south) || (rows > 0 && inner.north > wanted.north) ||
         (columns < 0 && inner.west < wanted.west) || (columns > 0 && inner.east > wanted.east));
    if (useless) continue;
    const bool is_center = columns == 0 && rows == 0;
    const uint64_t bits = Interleave(is_center ? center : Moved(grid, center, columns, rows));
    const int shift = 2 * (kBits - grid.bits);
    const CellRange range{bits << shift, (bits + 1) << shift};
    // In a coarse grid a cell is its neighbour's neighbour.
    if (std::ranges::find(ranges, range) == ranges.end()) ranges.push_back(range);
  }
  return ranges;
}

}  // namespace cairn::data::geo
