#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "base/result.h"
#include "data/value/fields.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"

// Random members of a hash or a set, without reading it whole unless it is small or much of it is
// wanted. Then every member comes up equally often; otherwise nearly so: one is taken from the few
// that follow a random place, and how often it comes up depends on how far apart those happen to
// be. To pick many takes long: the command leaves its event loop first.
namespace cairn::data {

struct Field {
  Bytes member;
  Bytes value;
};

// `count` different members; all of them if there are no more.
Result<std::vector<Field>> PickDistinctFields(const doors::CommandContext& context, Fields& fields,
                                              uint64_t count, Random& random);

// `count` members, each picked from all. `fields` is not empty, `count` within kMaxRandomPicks.
Result<std::vector<Field>> PickFields(const doors::CommandContext& context, Fields& fields,
                                      uint64_t count, Random& random);

// The count of SRANDMEMBER and its like: a negative one allows the same member again.
struct PickCount {
  uint64_t count = 0;
  bool repeated = false;
};
PickCount TakePickCount(doors::ArgParser& parser);

}  // namespace cairn::data
