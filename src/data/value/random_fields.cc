#include "data/value/random_fields.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "base/check.h"
#include "data/value/limits.h"
#include "doors/resp/loop_work.h"

namespace cairn::data {
namespace {

// Up to here members are counted off, which is exact.
constexpr uint64_t kCountedMembers = 512;
// How many members behind a random place are candidates. More would be more even, and slower.
constexpr uint64_t kWindow = 32;
// What a pick takes beside the store: a random number, a look at those chosen before, a copy.
constexpr uint64_t kPickNs = 500;

// Whether it pays to go through the members once rather than to a place of its own for each pick.
bool CountsOff(const Fields& fields, uint64_t picks) {
  return fields.count() <= kCountedMembers || picks > fields.count() / kWindow;
}

// The members with these numbers, in the order of `numbers`.
Result<std::vector<Field>> FieldsAt(Fields& fields, const std::vector<uint64_t>& numbers) {
  std::vector<size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return numbers[i]; });
  std::vector<Field> found(numbers.size());
  auto wanted = order.begin();
  uint64_t number = 0;
  const auto visit = [&](BytesView member, BytesView value) -> Result<bool> {
    while (wanted != order.end() && numbers[*wanted] == number) {
      found[*wanted++] = {Bytes(member), Bytes(value)};
      CAIRN_RETURN_IF_ERROR(fields.Gather(member.size() + value.size()));
    }
    ++number;
    return wanted != order.end();
  };
  if (!numbers.empty()) CAIRN_RETURN_IF_ERROR(fields.ForEachInAnyOrder(visit));
  return found;
}

// `count` different numbers below `bound`, each such choice equally likely (Floyd's way: one random
// number each). In order.
std::vector<uint64_t> DistinctNumbers(uint64_t bound, uint64_t count, Random& random) {
  std::vector<bool> chosen(bound);
  for (uint64_t last = bound - count; last < bound; ++last) {
    const uint64_t number = random.Below(last + 1);
    chosen[chosen[number] ? last : number] = true;
  }
  std::vector<uint64_t> numbers;
  numbers.reserve(count);
  for (uint64_t number = 0; number < bound; ++number) {
    if (chosen[number]) numbers.push_back(number);
  }
  return numbers;
}

// One of the members behind a random place. There are more than kWindow.
Result<Field> PickNearRandomPlace(Fields& fields, Random& random) {
  const auto place = static_cast<uint32_t>(random.Below(uint64_t{1} << 32));
  uint64_t skip = random.Below(kWindow);
  Field found;
  bool done = false;
  const auto visit = [&](BytesView member, BytesView value) -> Result<bool> {
    if (skip-- > 0) return true;
    found = {Bytes(member), Bytes(value)};
    done = true;
    return false;
  };
  CAIRN_RETURN_IF_ERROR(fields.ForEachFrom(place, visit));
  if (!done) CAIRN_RETURN_IF_ERROR(fields.ForEachFrom(0, visit));
  if (!done) return Error{ErrorCode::kCorruption, "a collection has fewer members than its count"};
  return found;
}

Result<std::vector<Field>> AllFields(Fields& fields) {
  std::vector<Field> all;
  CAIRN_RETURN_IF_ERROR(fields.ForEach([&](BytesView member, BytesView value) -> Result<bool> {
    all.push_back({Bytes(member), Bytes(value)});
    CAIRN_RETURN_IF_ERROR(fields.Gather(member.size() + value.size()));
    return true;
  }));
  return all;
}

}  // namespace

Result<std::vector<Field>> PickDistinctFields(const doors::CommandContext& context, Fields& fields,
                                              uint64_t count, Random& random) {
  if (count >= fields.count()) return AllFields(fields);
  CAIRN_RETURN_IF_ERROR(doors::LeaveLoopIfLong(context, count * kPickNs));
  if (!CountsOff(fields, count)) {
    std::vector<Field> picked;
    std::set<Bytes> seen;
    // Members whose hashes are all alike cannot all be reached this way, so it must end.
    const uint64_t attempts = 4 * count + kWindow;
    for (uint64_t i = 0; i < attempts && picked.size() < count; ++i) {
      CAIRN_ASSIGN_OR_RETURN(Field field, PickNearRandomPlace(fields, random));
      if (!seen.insert(field.member).second) continue;
      CAIRN_RETURN_IF_ERROR(fields.Gather(2 * field.member.size() + field.value.size()));
      picked.push_back(std::move(field));
    }
    if (picked.size() == count) return picked;
  }
  return FieldsAt(fields, DistinctNumbers(fields.count(), count, random));
}

Result<std::vector<Field>> PickFields(const doors::CommandContext& context, Fields& fields,
                                      uint64_t count, Random& random) {
  CAIRN_CHECK(fields.count() > 0);
  CAIRN_CHECK(count <= kMaxRandomPicks);
  CAIRN_RETURN_IF_ERROR(doors::LeaveLoopIfLong(context, count * kPickNs));
  if (CountsOff(fields, count)) {
    std::vector<uint64_t> numbers(count);
    for (uint64_t& number : numbers) number = random.Below(fields.count());
    return FieldsAt(fields, numbers);
  }
  std::vector<Field> picked;
  for (uint64_t i = 0; i < count; ++i) {
    CAIRN_ASSIGN_OR_RETURN(Field field, PickNearRandomPlace(fields, random));
    CAIRN_RETURN_IF_ERROR(fields.Gather(field.member.size() + field.value.size()));
    picked.push_back(std::move(field));
  }
  return picked;
}

PickCount TakePickCount(doors::ArgParser& parser) {
  const int64_t count = parser.Integer();
  if (count == std::numeric_limits<int64_t>::min()) {
    parser.Fail(
        "ERR value is out of range, value must between -9223372036854775807 and "
        "9223372036854775807");
    return {};
  }
  if (count < 0) return {static_cast<uint64_t>(-count), true};
  return {static_cast<uint64_t>(count), false};
}

}  // namespace cairn::data
