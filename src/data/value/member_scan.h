#pragma once

#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "data/value/collection.h"
#include "data/value/elements.h"
#include "data/value/encoding_limits.h"
#include "data/value/fields.h"
#include "data/value/keys.h"
#include "data/value/scan_cursors.h"
#include "doors/resp/command.h"
#include "net/resp/writer.h"

namespace cairn::data {

// What HSCAN, SSCAN and ZSCAN do not have in common.
struct MemberScan {
  ValueType type = ValueType::kHash;
  SuffixRange range;  // of the elements that stand for a member each
  // The member that an element stands for, as a view into its suffix; nullopt for a suffix that
  // cannot be read.
  std::optional<BytesView> (*member)(BytesView suffix) = nullptr;
  // Visits all members in the order that Redis has for those of a small collection.
  Result<void> (*visit_in_order)(Collection collection, FieldVisitor visit) = nullptr;
  // Writes what the reply has for a member, always `strings` of them.
  void (*write)(net::RespWriter& reply, BytesView member, BytesView value) = nullptr;
  size_t strings = 1;
};

// Runs `HSCAN key cursor [MATCH pattern] [COUNT count]` and its like.
//
// A cursor stands for the next element, by its generation and suffix. So a cursor of another key,
// or from before the key was deleted and made again, is one that is not known, and starts over:
// members may be returned again, but none that is there throughout is missed. A collection that
// Redis would keep in one piece (value_info.h) comes at once and in order, whatever COUNT says; of
// all others a step is COUNT members, or fewer if they are large (kMaxScanReplyBytes).
Result<void> ScanMembers(doors::CommandContext& context, ScanCursors& cursors,
                         const EncodingLimits& limits, const MemberScan& scan);

}  // namespace cairn::data
