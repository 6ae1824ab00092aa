#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/list/list.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"

// What the list commands and their blocking forms share.
namespace cairn::data {

// LEFT or RIGHT; anything else is a syntax error.
ListEnd TakeListEnd(doors::ArgParser& parser);

// Ends a change that took elements from `end`: saves, and tells of it.
void SavePopped(doors::CommandContext& context, List& list, std::string_view key, ListEnd end);

// Takes one element from the end `from` of the source and puts it at the end `to` of the
// destination, which may be the same key. The source exists and is a list. The element is the
// reply.
struct ListMove {
  std::string_view source;
  std::string_view destination;
  ListEnd from = ListEnd::kLeft;
  ListEnd to = ListEnd::kLeft;
};
Result<void> MoveElement(doors::CommandContext& context, List& source, const ListMove& move);

// The arguments of LMPOP and BLMPOP from numkeys on.
struct MultiPop {
  doors::Args keys;
  ListEnd end = ListEnd::kLeft;
  uint64_t count = 1;
};
MultiPop TakeMultiPop(doors::ArgParser& parser);

// Replies with the key and up to `count` of its elements, which are taken away.
Result<void> PopMany(doors::CommandContext& context, List& list, std::string_view key, ListEnd end,
                     uint64_t count);

}  // namespace cairn::data
