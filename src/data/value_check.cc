#include "data/value_check.h"

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/hash.h"
#include "data/json/encoding.h"
#include "data/sorted_set/rank_node.h"
#include "data/sorted_set/sorted_set.h"
#include "data/stream/stream_id.h"
#include "data/value/fields.h"
#include "data/value/limits.h"
#include "data/value/list_page.h"
#include "data/value/member_filter.h"
#include "data/value/member_order.h"
#include "data/value/packed_rows.h"
#include "data/value/string_value.h"

namespace cairn::data {
namespace {

// Of a long string (string_value.h).
class StringCheck final : public ValueCheck {
 public:
  static NewCheck Make(const Subject& subject, const Record& record) {
    BytesReader payload(record.payload);
    const uint64_t length = payload.Big64();
    if (!payload.AtEnd() || length > kMaxStringBytes) return nullptr;
    return std::make_unique<StringCheck>(subject, length);
  }
  StringCheck(const Subject& subject, uint64_t length) : ValueCheck(subject), length_(length) {}

 private:
  bool IsValid(BytesView suffix, BytesView segment) override {
    BytesReader reader(suffix);
    const uint64_t begin = uint64_t{reader.Big32()} * kSegmentBytes;
    return reader.AtEnd() && segment.size() <= kSegmentBytes && begin + segment.size() <= length_;
  }
  void CheckAll() override {}

  const uint64_t length_;
};

// Of a hash or a set (fields.h), in rows or in one piece.
class MembersCheck final : public ValueCheck {
 public:
  static NewCheck Make(const Subject& subject, const Record& record) {
    BytesReader payload(record.payload);
    const uint64_t count = payload.Big64();
    const BytesView rest = payload.Rest();
    if (!payload.ok()) return nullptr;
    if (record.generation == 0) return MakePacked(subject, count, rest);
    std::optional<MemberFilter> filter = MemberFilter::Decode(rest);
    if (!filter) return nullptr;
    const bool may_have_order = record.type == ValueType::kHash;
    return std::make_unique<MembersCheck>(subject, count, *std::move(filter), may_have_order);
  }
  MembersCheck(const Subject& subject, uint64_t count, MemberFilter filter, bool may_have_order)
      : ValueCheck(subject),
        count_(count),
        filter_(std::move(filter)),
        may_have_order_(may_have_order) {}

 private:
  static NewCheck MakePacked(const Subject& subject, uint64_t count, BytesView bytes) {
    const std::optional<PackedRows> rows = PackedRows::Decode(bytes);
    if (!rows) return nullptr;
    auto check = std::make_unique<MembersCheck>(subject, count, MemberFilter(), false);
    rows->ForEach([&](BytesView suffix, BytesView value) {
      check->Row(suffix, value);
      return true;
    });
    return check;
  }

  bool IsValid(BytesView suffix, BytesView value) override {
    if (suffix.empty()) return TakeOrder(value);
    ++members_;
    const std::optional<BytesView> member = DecodeField(suffix);
    const uint32_t hash = BytesReader(suffix).Big32();
    if (!member || hash != FieldHash(*member)) return false;
    if (!filter_.MayHave(hash)) ++unfiltered_;
    const auto place = order_.find(hash);
    if (place != order_.end()) order_.erase(place);
    return true;
  }

  // It stands before all members.
  bool TakeOrder(BytesView bytes) {
    const std::optional<MemberOrder> order = MemberOrder::Decode(bytes);
    if (!may_have_order_ || !order || order->size() > MemberOrder::kMaxMembers) return false;
    BytesReader reader(bytes);
    while (!reader.AtEnd()) order_.insert(reader.Big32());
    return true;
  }

  void CheckAll() override {
    subject().CheckCount(count_, members_, "member");
    if (members_ == 0) subject().Problem("has no members");
    if (unfiltered_ != 0) {
      subject().Problem("has {} unknown to its filter", Amount(unfiltered_, "member"));
    }
    if (!order_.empty()) {
      subject().Problem("has an order with {} that it does not have",
                        Amount(order_.size(), "field"));
    }
  }

  const uint64_t count_;
  const MemberFilter filter_;
  const bool may_have_order_;
  uint64_t members_ = 0;
  uint64_t unfiltered_ = 0;
  std::unordered_multiset<uint32_t> order_;  // hashes of fields that are still to come
};

// Of a sorted set (sorted_set.h).
class SortedSetCheck final : public ValueCheck {
 public:
  struct Header {
    uint64_t count = 0;
    bool has_nodes = false;
    BytesView floor;
    MemberFilter filter;
    BytesView counts;  // of the root of the rank index
  };
  static NewCheck Make(const Subject& subject, const Record& record) {
    constexpr uint8_t kHasNodes = 0x80;
    constexpr uint8_t kHasFilter = 0x40;
    BytesReader payload(record.payload);
    Header header;
    header.count = payload.Big64();
    const uint8_t levels = payload.Byte();
    header.has_nodes = (levels & kHasNodes) != 0;
    payload.Big32();
    header.floor = payload.Take(kScoreBytes);
    std::optional<MemberFilter> filter = MemberFilter::Decode(
        (levels & kHasFilter) != 0 ? payload.Take(payload.Big16()) : BytesView());
    header.counts = payload.Rest();
    if (!payload.ok() || !filter) return nullptr;
    header.filter = *std::move(filter);
    return std::make_unique<SortedSetCheck>(subject, std::move(header));
  }
  SortedSetCheck(const Subject& subject, Header header)
      : ValueCheck(subject), header_(std::move(header)) {
    if (header_.has_nodes) nodes_[kRankRoot].counts = header_.counts;
  }

 private:
  struct Node {
    Bytes bounds;
    Bytes counts;
  };

  bool IsValid(BytesView suffix, BytesView value) override {
    if (suffix.empty()) return false;
    switch (suffix.front()) {
      case 'm':
        return TakeMember(suffix.substr(1), value);
      case 's':
        return TakePlace(suffix.substr(1));
      case 'n':
        return TakeNode(suffix.substr(1), value);
      default:
        return suffix.front() == 'r';
    }
  }

  bool TakeMember(BytesView member, BytesView score) {
    ++members_;
    Bytes order_key(score);
    order_key += member;
    members_sum_ += Hash64(order_key);
    if (!header_.filter.MayHave(FieldHash(member))) ++unfiltered_;
    return score.size() == kScoreBytes;
  }

  bool TakePlace(BytesView order_key) {
    ++places_;
    places_sum_ += Hash64(order_key);
    if (order_key.substr(0, kScoreBytes) < header_.floor) ++below_floor_;
    return order_key.size() >= kScoreBytes;
  }

  bool TakeNode(BytesView name, BytesView value) {
    BytesReader reader(name);
    const uint32_t id = reader.Big32();
    const char row = static_cast<char>(reader.Byte());
    if (!reader.AtEnd() || (row != 'b' && row != 'c') || !header_.has_nodes) return false;
    (row == 'b' ? nodes_[id].bounds : nodes_[id].counts) = value;
    return true;
  }

  void CheckAll() override {
    subject().CheckCount(header_.count, members_, "member");
    if (members_ == 0) subject().Problem("has no members");
    if (places_ != members_) {
      subject().Problem("has {} but {} in its order", Amount(members_, "member"), places_);
    } else if (places_sum_ != members_sum_) {
      subject().Problem("has a member whose score differs from the one in its order");
    }
    if (below_floor_ != 0) {
      subject().Problem("has {} below the lowest score in its record",
                        Amount(below_floor_, "member"));
    }
    if (unfiltered_ != 0) {
      subject().Problem("has {} unknown to its filter", Amount(unfiltered_, "member"));
    }
    CheckNodes();
  }

  // Each node has as many members as its parent says, and the root has all of them.
  void CheckNodes() {
    std::map<uint32_t, uint64_t> told;
    std::map<uint32_t, uint64_t> found;
    if (header_.has_nodes) told[kRankRoot] = header_.count;
    for (const auto& [id, node] : nodes_) {
      const std::optional<std::vector<RankChild>> children =
          DecodeRankNode(node.bounds, node.counts);
      if (!children) return subject().Problem("has a rank index that cannot be read");
      for (const RankChild& child : *children) {
        found[id] += child.count;
        if (child.node != 0) told[child.node] += child.count;
      }
    }
    if (told != found) subject().Problem("has a rank index that counts its members wrong");
  }

  const Header header_;
  uint64_t members_ = 0;
  uint64_t places_ = 0;
  // Sums of the hashes of order keys: they are equal if the order keys are.
  uint64_t members_sum_ = 0;
  uint64_t places_sum_ = 0;
  uint64_t below_floor_ = 0;
  uint64_t unfiltered_ = 0;
  std::map<uint32_t, Node> nodes_;
};

// Of a list (list.h).
class ListCheck final : public ValueCheck {
 public:
  static NewCheck Make(const Subject& subject, const Record& record) {
    BytesReader payload(record.payload);
    const uint64_t count = payload.Big64();
    const uint64_t first = payload.Big64();
    BytesView ends = payload.Rest();
    if (!payload.ok()) return nullptr;
    uint64_t elements = 0;
    for (size_t places = 0; !ends.empty(); ++places) {
      const std::optional<ListPage> place = ListPage::Take(ends, 1);
      if (!place || places == 2 * (kListPage - 1)) return nullptr;
      elements += place->At(0) ? 1 : 0;
    }
    return std::make_unique<ListCheck>(subject, first, count, elements);
  }
  ListCheck(const Subject& subject, uint64_t first, uint64_t count, uint64_t in_record)
      : ValueCheck(subject), first_(first), count_(count), elements_(in_record) {}

 private:
  bool IsValid(BytesView suffix, BytesView value) override {
    BytesReader reader(suffix);
    const bool page = suffix.size() == 1 + sizeof(uint64_t) && suffix.front() == kListPageFamily;
    if (page) reader.Byte();
    const uint64_t number = reader.Big64();
    if (!reader.AtEnd()) return false;
    if (page) return TakePage(number, value);
    ++elements_;
    return Contains(number);
  }

  bool Contains(uint64_t position) const { return position - first_ < count_; }

  bool TakePage(uint64_t number, BytesView row) {
    const std::optional<ListPage> page = ListPage::Take(row, kListPage);
    if (!page || !row.empty() || page->AllRows()) return false;
    for (size_t at = 0; at < kListPage; ++at) elements_ += page->At(at) ? 1 : 0;
    const uint64_t begin = number * kListPage;
    return number < std::numeric_limits<uint64_t>::max() / kListPage && Contains(begin) &&
           Contains(begin + kListPage - 1);
  }

  void CheckAll() override {
    subject().CheckCount(count_, elements_, "element");
    if (elements_ == 0) subject().Problem("has no elements");
  }

  const uint64_t first_;
  const uint64_t count_;
  uint64_t elements_;
};

// Of a stream and its groups (stream.h).
class StreamCheck final : public ValueCheck {
 public:
  struct Header {
    uint64_t count = 0;
    StreamId first;
    uint64_t groups = 0;
  };
  static NewCheck Make(const Subject& subject, const Record& record) {
    BytesReader payload(record.payload);
    Header header;
    header.count = payload.Big64();
    TakeStreamId(payload);  // the last
    TakeStreamId(payload);  // the last that was deleted
    header.first = TakeStreamId(payload);
    payload.Big64();  // entries added
    header.groups = payload.Big64();
    payload.Big64();  // the last node, and its entries
    if (payload.ok() && !payload.AtEnd()) payload.Big64();
    if (!payload.AtEnd()) return nullptr;
    return std::make_unique<StreamCheck>(subject, header);
  }
  StreamCheck(const Subject& subject, const Header& header)
      : ValueCheck(subject), header_(header) {}

 private:
  struct Group {
    std::optional<Bytes> name;  // none: there is no such group
    uint64_t told_consumers = 0;
    uint64_t told_pending = 0;
    uint64_t told_by_consumers = 0;  // pending entries, by all of them
    uint64_t consumers = 0;
    uint64_t pending = 0;
    uint64_t owned = 0;
  };

  bool IsValid(BytesView suffix, BytesView value) override {
    if (suffix.empty()) return false;
    BytesReader key(suffix.substr(1));
    switch (suffix.front()) {
      case 'e':
        return TakeEntry(key, value);
      case 'g':
        return TakeGroup(key.Rest(), value);
      case 'c':
        return TakeConsumer(key, value);
      case 'p':
        return TakePending(key, value);
      case 'o':
        return TakeOwned(key);
      default:
        return false;
    }
  }

  bool TakeEntry(BytesReader& key, BytesView value) {
    const StreamId id = TakeStreamId(key);
    if (entries_++ == 0) first_ = id;
    BytesReader entry(value);
    entry.Big32();  // its node
    const uint32_t fields = entry.Big32();
    for (uint32_t i = 0; i < fields && entry.ok(); ++i) entry.Take(entry.Big32());
    return key.AtEnd() && entry.AtEnd();
  }

  bool TakeGroup(BytesView name, BytesView value) {
    BytesReader reader(value);
    Group& group = groups_[reader.Big64()];
    group.name = Bytes(name);
    TakeStreamId(reader);  // the last that was delivered
    reader.Big64();        // entries read
    group.told_pending = reader.Big64();
    group.told_consumers = reader.Big64();
    return reader.AtEnd();
  }

  bool TakeConsumer(BytesReader& key, BytesView value) {
    Group& group = groups_[key.Big64()];
    BytesReader reader(value);
    reader.Big64();  // when it was seen
    ++group.consumers;
    group.told_by_consumers += reader.Big64();
    return key.ok() && reader.AtEnd();
  }

  bool TakePending(BytesReader& key, BytesView value) {
    ++groups_[key.Big64()].pending;
    TakeStreamId(key);
    constexpr size_t kTimeAndCountBytes = 16;
    return key.AtEnd() && value.size() >= kTimeAndCountBytes;
  }

  bool TakeOwned(BytesReader& key) {
    ++groups_[key.Big64()].owned;
    key.Take(key.Big32());  // the consumer
    TakeStreamId(key);
    return key.AtEnd();
  }

  void CheckAll() override {
    subject().CheckCount(header_.count, entries_, "entry");
    if (header_.first != first_) {
      subject().Problem("begins with entry {}, but its record says {}", FormatStreamId(first_),
                        FormatStreamId(header_.first));
    }
    uint64_t named = 0;
    for (const auto& [number, group] : groups_) {
      named += group.name ? 1 : 0;
      CheckGroup(number, group);
    }
    subject().CheckCount(header_.groups, named, "group");
  }

  void CheckGroup(uint64_t number, const Group& group) const {
    if (!group.name) return subject().Problem("has rows of group {}, which is missing", number);
    const auto compare = [&](std::string_view verb, uint64_t told, uint64_t found,
                             std::string_view noun) {
      if (told == found) return;
      subject().Problem("has a group \"{}\" {} {}, not {}", Printable(*group.name), verb,
                        Amount(found, noun), told);
    };
    compare("with", group.told_consumers, group.consumers, "consumer");
    compare("with", group.told_pending, group.pending, "pending entry");
    compare("whose consumers count", group.pending, group.told_by_consumers, "pending entry");
    compare("whose consumers own", group.pending, group.owned, "pending entry");
  }

  const Header header_;
  uint64_t entries_ = 0;
  StreamId first_;
  std::map<uint64_t, Group> groups_;  // by their numbers
};

// Of a JSON document (json/document.h), in rows or in one piece.
class JsonCheck final : public ValueCheck {
 public:
  static NewCheck Make(const Subject& subject, const Record& record) {
    BytesReader payload(record.payload);
    const uint8_t form = payload.Byte();
    const bool in_rows = form == 1;
    const uint64_t next_node = in_rows ? payload.Big64() : 0;
    const std::optional<JsonValue> root = DecodeJson(payload.Rest());
    if (!payload.ok() || !root || form > 1 || (root->split() != nullptr) != in_rows) return nullptr;
    return std::make_unique<JsonCheck>(subject, next_node,
                                       in_rows ? std::optional(root->split()->node) : std::nullopt);
  }
  JsonCheck(const Subject& subject, uint64_t next_node, std::optional<uint64_t> root)
      : ValueCheck(subject), next_node_(next_node) {
    if (root) containers_[*root];
  }

 private:
  struct Container {
    std::optional<uint64_t> count;  // none: it has no header
    uint64_t children = 0;
    uint64_t names = 0;
  };

  bool IsValid(BytesView suffix, BytesView value) override {
    BytesReader key(suffix);
    const uint8_t family = key.Byte();
    const uint64_t node = key.Big64();
    if (!key.ok() || node >= next_node_) return false;
    Container& container = containers_[node];
    BytesReader row(value);
    switch (family) {
      case 'c':
        ++container.children;
        key.Big64();  // its place
        return key.AtEnd() && !value.empty();
      case 'k':
        ++container.names;
        row.Big64();  // the place of the child
        return row.AtEnd();
      case 'n':
        container.count = row.Big64();
        row.Big64();  // the first or the next place
        return key.AtEnd() && row.AtEnd();
      default:
        return false;
    }
  }

  void CheckAll() override {
    for (const auto& [node, container] : containers_) {
      if (!container.count) {
        subject().Problem("has a container {} without a header", node);
        continue;
      }
      if (*container.count != container.children) {
        subject().Problem("has {} in container {}, which counts {}",
                          Amount(container.children, "row"), node, *container.count);
      }
      // Only the children of objects have names.
      if (container.names != 0 && container.names != container.children) {
        subject().Problem("has {} in container {} but {}", Amount(container.children, "row"), node,
                          Amount(container.names, "name"));
      }
    }
  }

  const uint64_t next_node_;
  std::map<uint64_t, Container> containers_;  // by their nodes
};

}  // namespace

std::string_view SpokenTypeName(ValueType type) {
  switch (type) {
    case ValueType::kString:
      return "string";
    case ValueType::kHash:
      return "hash";
    case ValueType::kSet:
      return "set";
    case ValueType::kSortedSet:
      return "sorted set";
    case ValueType::kList:
      return "list";
    case ValueType::kStream:
      return "stream";
    case ValueType::kJson:
      return "JSON document";
  }
  return "key";
}

NewCheck MakeCheck(const Subject& subject, const Record& record) {
  switch (record.type) {
    case ValueType::kString:
      return StringCheck::Make(subject, record);
    case ValueType::kHash:
    case ValueType::kSet:
      return MembersCheck::Make(subject, record);
    case ValueType::kSortedSet:
      return SortedSetCheck::Make(subject, record);
    case ValueType::kList:
      return ListCheck::Make(subject, record);
    case ValueType::kStream:
      return StreamCheck::Make(subject, record);
    case ValueType::kJson:
      return JsonCheck::Make(subject, record);
  }
  return nullptr;
}

}  // namespace cairn::data
