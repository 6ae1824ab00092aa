#pragma once

#include <cstddef>
#include <cstdint>

// The limits of this layer; docs/seats.md shows them.
namespace cairn::seats {

inline constexpr int64_t kMaxRows = 10'000;
inline constexpr int64_t kMaxCols = 10'000;
inline constexpr int64_t kMaxSeatsPerSection = 1'000'000;
inline constexpr int64_t kMaxSectionsPerEvent = 10'000;  // subsections counted
inline constexpr int64_t kMaxSeatsPerEvent = 10'000'000;
inline constexpr int64_t kMaxPrice = 1'000'000'000'000;  // in minor units

inline constexpr size_t kMaxEventIdBytes = 64;
inline constexpr size_t kMaxSectionNameBytes = 16;
inline constexpr size_t kMaxBookingIdBytes = 128;
inline constexpr size_t kMaxBuyerBytes = 128;
inline constexpr size_t kMaxEventNameBytes = 256;
inline constexpr size_t kMaxReasonBytes = 512;

// What an event may set as its limit of seats per booking, and what it has unless it says so.
inline constexpr int64_t kMaxSeatsPerBooking = 100;
inline constexpr int64_t kDefaultSeatsPerBooking = 4;
// Seats that one BLOCK or UNBLOCK names.
inline constexpr size_t kMaxSeatsPerBlock = 10'000;

// Entries of one page of a list.
inline constexpr int64_t kMaxPage = 1'000;

inline constexpr int64_t kDefaultHoldSeconds = 900;
inline constexpr int64_t kMaxHoldSeconds = 7'200;
// How long a booking that holds nothing any more can still be looked at.
inline constexpr int64_t kBookingKeptSeconds = 3'600;

// How long changes can be read again by a stream that was interrupted, and how often they are
// tidied up while an event changes.
inline constexpr int64_t kFeedKeptSeconds = 120;
inline constexpr int64_t kFeedTidySeconds = 60;
// Changes removed, or read, at once.
inline constexpr size_t kFeedBatch = 1'000;

// The row index: the seats up to which a section has none, because reading it all costs no more;
// groups of rows per section; and the longest run that is told apart.
inline constexpr int64_t kMaxUnindexedSeats = 1'024;
inline constexpr int64_t kMaxRowGroups = 512;
inline constexpr uint8_t kMaxIndexedRun = 255;

}  // namespace cairn::seats
