#pragma once

#include <string_view>

// Forms of requests, one per line. What each word stands for (see Generator::Fill):
//
//   K a key of any type         H S Z L Q B Y G W   a key that mostly holds a hash, a set, a sorted
//   V a value                                       set, a list, a stream, bits, a HyperLogLog,
//   N an integer                                    places, members of one score
//   F a float                   m a member or field   s a score   b a bound of scores
//   R a place in a string       i an index   c a count   x a bound of members
//   X a time to live far away   o a bit offset   t a type of BITFIELD
//   T a time far away           d an id of a stream   g a group   u a consumer
//   P a pattern                 p longitude and latitude
//   D a database                (a|b|) one of the words, or none; everything else as it stands
namespace cairn::testing {

extern const std::string_view kStringForms;
extern const std::string_view kKeyForms;
extern const std::string_view kBitForms;
extern const std::string_view kHashForms;
extern const std::string_view kSetForms;
extern const std::string_view kSortedSetForms;
extern const std::string_view kListForms;
extern const std::string_view kStreamForms;
extern const std::string_view kOtherForms;  // HyperLogLog, geo, scripts, pub/sub
extern const std::string_view kServerForms;

// What may stand between WATCH and EXEC: each changes at most what it names.
extern const std::string_view kChangeForms;

}  // namespace cairn::testing
