#include "store/rocks/entry_tree.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/prefetch.h"

namespace cairn::store::rocks {
namespace {

constexpr size_t kSliceSize = 8;
constexpr size_t kTagSize = 8;
constexpr int kHalf = EntryTree::kFanout / 2;
constexpr int kMaxLevels = 16;  // a node is half full on average: enough for 32^16 entries

// A field of a node: written by the one inserting thread, read by all.
template <class T>
class Field {
 public:
  T Load() const { return value_.load(std::memory_order_acquire); }
  void Store(T value) { value_.store(value, std::memory_order_release); }

 private:
  std::atomic<T> value_{};
};

// Keeps a version number odd for a scope.
class Changing {
 public:
  explicit Changing(std::atomic<uint64_t>& version) : version_(version) { Step(); }
  ~Changing() { Step(); }
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;

 private:
  void Step() {
    version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  std::atomic<uint64_t>& version_;
};

// What a reader does between two attempts. The writer changes a leaf in far less than a
// microsecond, unless it was preempted in the middle.
class Retry {
 public:
  void Wait() {
    if (++rounds_ > kSpins) std::this_thread::yield();
  }

 private:
  static constexpr int kSpins = 64;
  int rounds_ = 0;
};

bool IsOdd(uint64_t version) { return (version & 1) != 0; }

uint64_t FromBigEndian(uint64_t word) {
  if constexpr (std::endian::native == std::endian::little) return __builtin_bswap64(word);
  return word;
}

uint64_t FromLittleEndian(uint64_t word) {
  if constexpr (std::endian::native == std::endian::big) return __builtin_bswap64(word);
  return word;
}

uint64_t LoadWord(const char* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

// Keeps the first `bytes` (below eight) of a big-endian word.
uint64_t FirstBytes(uint64_t word, size_t bytes) { return word & ~(~uint64_t{0} >> (8 * bytes)); }

// The length of prefix for a node that has one of `size`, when its keys share `common` bytes.
// Longer only if it is much longer: keys to come may share less, and to shorten it again reads all
// entries.
size_t SuitablePrefix(size_t size, size_t common) {
  constexpr size_t kWorthwhile = 5;
  return common >= size + kWorthwhile ? common : std::min(size, common);
}

}  // namespace

// A parsed internal key. Borrows the bytes.
struct EntryTree::Key {
  const char* data;
  size_t size;  // of the user key; the tag follows it
  uint64_t sequence;

  static Key OfInternal(std::string_view internal_key) {
    const size_t size = internal_key.size() - kTagSize;
    return {internal_key.data(), size, FromLittleEndian(LoadWord(internal_key.data() + size)) >> 8};
  }

  static Key OfEntry(const char* entry) {
    uint32_t size = static_cast<uint8_t>(*entry++);
    if (size >= 0x80) [[unlikely]] {
      size &= 0x7f;
      for (int shift = 7;; shift += 7) {
        const uint32_t byte = static_cast<uint8_t>(*entry++);
        size |= (byte & 0x7f) << shift;
        if (byte < 0x80) break;
      }
    }
    return OfInternal({entry, size});
  }

  // The eight bytes from offset on, first byte highest, zeros past the end of the user key. The
  // load stays within the internal key, as the tag follows.
  uint64_t SliceAt(size_t offset) const {
    if (offset >= size) return 0;
    const uint64_t word = FromBigEndian(LoadWord(data + offset));
    const size_t left = size - offset;
    return left >= kSliceSize ? word : FirstBytes(word, left);
  }

  // Below, at or above zero as this key is before, at or after the other, when both are known to
  // share their first `shared` bytes.
  int Compare(const Key& other, size_t shared) const {
    const size_t common = std::min(size, other.size);
    if (common > shared) {
      const int order = std::memcmp(data + shared, other.data + shared, common - shared);
      if (order != 0) return order;
    }
    if (size != other.size) return size < other.size ? -1 : 1;
    if (sequence == other.sequence) return 0;
    return sequence > other.sequence ? -1 : 1;
  }

  size_t CommonPrefix(const Key& other) const {
    const size_t common = std::min(size, other.size);
    return static_cast<size_t>(std::mismatch(data, data + common, other.data).first - data);
  }
};

// A sorted array of entries with its prefix and slices; a leaf when at level 0. The header fills
// one cache line.
struct alignas(kCacheLineBytes) EntryTree::Node {
  static constexpr size_t kInlinePrefix = 32;

  struct Rank {
    int count;   // of the entries before the key, or at or before it
    bool found;  // the key itself is among the entries
  };

  explicit Node(int at_level) : level(static_cast<int16_t>(at_level)) {}

  Rank RankOf(const Key& key, Bound bound) const { return RankFrom(SlotOfSlice(key), key, bound); }
  Rank RankFrom(int slot_of_slice, const Key& key, Bound bound) const;
  int SlotOfSlice(const Key& key) const;
  int ComparePrefix(const Key& key) const;
  int CompareWithLast(const Key& key) const;

  void Place(int slot, const char* entry, const Key& key);
  void CopyUpper(int from, Node* right) const;
  void FitPrefix();
  void SetPrefix(const Key& key, size_t size);
  void Reslice();

  Key KeyAt(int slot) const { return Key::OfEntry(entries[slot].Load()); }
  void PrefetchSlices() const;
  void PrefetchEntries(int from) const;
  void PrefetchIfEqual(int slot, const Key& key) const;

  const int16_t level;
  int16_t last_slot = 0;  // where the inserting thread put its last entry
  Field<int> count;
  Field<size_t> prefix_size;
  // The first bytes of the prefix as big-endian words. A longer one continues in entries[0].
  Field<uint64_t> prefix[kInlinePrefix / kSliceSize];
  std::atomic<uint64_t> version{0};  // leaves only, as is next
  Field<Node*> next;
  Field<uint64_t> slices[kFanout];
  // A slot below any count that a reader may find holds a valid pointer, as a count grows only
  // after its slot was filled.
  Field<const char*> entries[kFanout];
};

// entries[i] is the smallest entry under children[i + 1].
struct EntryTree::Inner : Node {
  using Node::Node;

  Node* Child(int slot) const { return children[slot].Load(); }
  void PlaceChild(int slot, const char* separator, Node* child);

  Field<Node*> children[kFanout + 1];
};

// The nodes from the root to a leaf and the slot taken in each, by level.
struct EntryTree::Path {
  std::array<Node*, kMaxLevels> nodes;
  std::array<int, kMaxLevels> slots;
  int levels = 0;
  bool found = false;
};

struct EntryTree::Position {
  const Node* leaf;
  int slot;
  double fraction;  // of the tree's entries that are before it
};

void EntryTree::Node::PrefetchSlices() const {
  // The slices' eight lines at once: a search touches half of them, one after the other.
  constexpr size_t kBytes = sizeof(slices);
  for (size_t line = 0; line < kBytes; line += kCacheLineBytes) {
    Prefetch(reinterpret_cast<const char*>(slices) + line);
  }
}

// Those that move when one is placed before them.
void EntryTree::Node::PrefetchEntries(int from) const {
  const int entry_count = count.Load();
  constexpr int kPerLine = kCacheLineBytes / sizeof(entries[0]);
  for (int slot = from; slot <= entry_count; slot += kPerLine) Prefetch(&entries[slot]);
}

// The entry itself, which has to be read to compare a key of the same slice with it.
void EntryTree::Node::PrefetchIfEqual(int slot, const Key& key) const {
  if (slot >= count.Load() || slices[slot].Load() != key.SliceAt(prefix_size.Load())) return;
  Prefetch(entries[slot].Load());
}

// The order of a key relative to all keys that start with the prefix: 0 when it does so itself.
int EntryTree::Node::ComparePrefix(const Key& key) const {
  const size_t size = prefix_size.Load();
  for (size_t offset = 0; offset < std::min(size, kInlinePrefix); offset += kSliceSize) {
    uint64_t mine = prefix[offset / kSliceSize].Load();
    uint64_t its = key.SliceAt(offset);
    if (size - offset < kSliceSize) {
      mine = FirstBytes(mine, size - offset);
      its = FirstBytes(its, size - offset);
    }
    if (its != mine) return its < mine ? -1 : 1;
  }
  if (size > kInlinePrefix && key.size > kInlinePrefix) {
    const Key first = KeyAt(0);
    const size_t common = std::min({size, key.size, first.size});
    if (common > kInlinePrefix) {
      const int order =
          std::memcmp(key.data + kInlinePrefix, first.data + kInlinePrefix, common - kInlinePrefix);
      if (order != 0) return order;
    }
  }
  return key.size < size ? -1 : 0;
}

// The first slot whose slice is not below that of a key with the node's prefix; any slot for
// another key.
int EntryTree::Node::SlotOfSlice(const Key& key) const {
  const uint64_t slice = key.SliceAt(prefix_size.Load());
  int low = 0;
  for (int length = count.Load(); length > 0;) {
    const int half = (length + 1) / 2;
    low += slices[low + half - 1].Load() < slice ? half : 0;
    length -= half;
  }
  return low;
}

EntryTree::Node::Rank EntryTree::Node::RankFrom(int slot_of_slice, const Key& key,
                                                Bound bound) const {
  const int entry_count = count.Load();
  if (const int order = ComparePrefix(key); order != 0) return {order < 0 ? 0 : entry_count, false};

  const size_t shared = prefix_size.Load();
  const uint64_t slice = key.SliceAt(shared);
  // Equal slices follow, if any. Most often the first of them decides: it is the newest version of
  // the key.
  bool found = false;
  int low = slot_of_slice;
  int high = entry_count;
  for (int middle = low; low < high; middle = low + (high - low) / 2) {
    int order = -1;
    if (slices[middle].Load() == slice) order = key.Compare(KeyAt(middle), shared);
    if (order == 0) found = true;
    if (order > 0 || (order == 0 && bound == Bound::kAtOrBefore)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {low, found};
}

int EntryTree::Node::CompareWithLast(const Key& key) const {
  const int last = count.Load() - 1;
  if (last < 0) return 1;
  if (const int order = ComparePrefix(key); order != 0) return order;
  const size_t shared = prefix_size.Load();
  const uint64_t its = key.SliceAt(shared);
  const uint64_t mine = slices[last].Load();
  if (its != mine) return its < mine ? -1 : 1;
  return key.Compare(KeyAt(last), shared);
}

// Adds an entry to a node that is not full.
void EntryTree::Node::Place(int slot, const char* entry, const Key& key) {
  const int entry_count = count.Load();
  if (entry_count == 0) {
    entries[0].Store(entry);  // before the prefix, which may continue in it
    SetPrefix(key, key.size);
  } else if (ComparePrefix(key) != 0) {
    prefix_size.Store(key.CommonPrefix(KeyAt(0)));
    Reslice();
  }
  for (int i = entry_count; i > slot; --i) {
    slices[i].Store(slices[i - 1].Load());
    entries[i].Store(entries[i - 1].Load());
  }
  slices[slot].Store(key.SliceAt(prefix_size.Load()));
  entries[slot].Store(entry);
  count.Store(entry_count + 1);
  last_slot = static_cast<int16_t>(slot);
}

// Fills a new node with the entries from a slot on.
void EntryTree::Node::CopyUpper(int from, Node* right) const {
  const int copied = count.Load() - from;
  for (int i = 0; i < copied; ++i) {
    right->slices[i].Store(slices[from + i].Load());
    right->entries[i].Store(entries[from + i].Load());
  }
  right->SetPrefix(KeyAt(from), prefix_size.Load());
  right->count.Store(copied);
  right->FitPrefix();
}

// Lengthens the prefix after a split when the slices tell much more afterwards.
void EntryTree::Node::FitPrefix() {
  const Key first = KeyAt(0);
  const size_t common = first.CommonPrefix(KeyAt(count.Load() - 1));
  const size_t size = SuitablePrefix(prefix_size.Load(), common);
  if (size == prefix_size.Load()) return;
  SetPrefix(first, size);
  Reslice();
}

void EntryTree::Node::SetPrefix(const Key& key, size_t size) {
  for (size_t offset = 0; offset < kInlinePrefix; offset += kSliceSize) {
    prefix[offset / kSliceSize].Store(key.SliceAt(offset));
  }
  prefix_size.Store(size);
}

void EntryTree::Node::Reslice() {
  const int entry_count = count.Load();
  const size_t shared = prefix_size.Load();
  for (int i = 0; i < entry_count; ++i) slices[i].Store(KeyAt(i).SliceAt(shared));
}

// Adds a separator and the child at its right to a node that is not full.
void EntryTree::Inner::PlaceChild(int slot, const char* separator, Node* child) {
  for (int i = count.Load(); i > slot; --i) children[i + 1].Store(children[i].Load());
  children[slot + 1].Store(child);
  Place(slot, separator, Key::OfEntry(separator));
}

EntryTree::EntryTree(Allocate allocate)
    : allocate_(std::move(allocate)), first_leaf_(NewNode<Node>(0)), last_leaf_(first_leaf_) {
  root_.store(first_leaf_, std::memory_order_release);
}

template <class NodeType>
NodeType* EntryTree::NewNode(int level) {
  size_t space = sizeof(NodeType) + alignof(NodeType) - 1;
  void* memory = allocate_(space);
  memory = std::align(alignof(NodeType), sizeof(NodeType), memory, space);
  return new (memory) NodeType(level);
}

bool EntryTree::Insert(const char* entry) {
  const Key key = Key::OfEntry(entry);
  if (InsertWhereExpected(entry, key)) return true;
  const Path path = PathTo(key);
  if (path.found) return false;
  Node* leaf = path.nodes[0];
  if (leaf->count.Load() == kFanout) {
    InsertIntoFull(path, entry, key);
  } else {
    const Changing leaf_changes(leaf->version);
    leaf->Place(path.slots[0], entry, key);
  }
  size_.store(size() + 1, std::memory_order_relaxed);
  return true;
}

// A leaf that holds entries on both sides of the key is the right one, whatever has happened since
// it was found. At its edges, or when it is full, the whole path is needed.
bool EntryTree::InsertWhereExpected(const char* entry, const Key& key) {
  if (next_expected_ == expected_.size()) return false;
  Node* leaf = expected_[next_expected_++];
  const Node::Rank rank = leaf->RankOf(key, Bound::kAtOrBefore);
  const int entry_count = leaf->count.Load();
  if (rank.found || rank.count == 0 || rank.count == entry_count || entry_count == kFanout) {
    return false;
  }
  {
    const Changing leaf_changes(leaf->version);
    leaf->Place(rank.count, entry, key);
  }
  size_.store(size() + 1, std::memory_order_relaxed);
  return true;
}

void EntryTree::Expect(std::span<const std::string_view> user_keys) {
  constexpr size_t kAbreast = 16;  // about as many lines as a processor waits for at once
  constexpr uint64_t kNewest = ~uint64_t{0};
  expected_.clear();
  next_expected_ = 0;
  Node* const root = root_.load(std::memory_order_relaxed);
  if (root->level == 0) return;
  std::array<Key, kAbreast> keys;
  std::array<Node*, kAbreast> nodes;
  while (!user_keys.empty()) {
    const size_t count = std::min(user_keys.size(), kAbreast);
    // A key's last slice is read past its end, where an entry has its tag.
    size_t bytes = 0;
    for (size_t i = 0; i < count; ++i) bytes += user_keys[i].size() + kTagSize;
    expected_keys_.resize(std::max(expected_keys_.size(), bytes));
    char* copy = expected_keys_.data();
    for (size_t i = 0; i < count; ++i) {
      std::ranges::copy(user_keys[i], copy);
      keys[i] = {copy, user_keys[i].size(), kNewest};
      nodes[i] = root;
      copy += user_keys[i].size() + kTagSize;
    }
    user_keys = user_keys.subspan(count);

    std::array<int, kAbreast> slots;
    for (int level = root->level; level > 0; --level) {
      // Separators are versions of the key itself, where it has many.
      for (size_t i = 0; i < count; ++i) {
        slots[i] = nodes[i]->SlotOfSlice(keys[i]);
        nodes[i]->PrefetchIfEqual(slots[i], keys[i]);
      }
      for (size_t i = 0; i < count; ++i) {
        const int slot = nodes[i]->RankFrom(slots[i], keys[i], Bound::kAtOrBefore).count;
        nodes[i] = static_cast<Inner*>(nodes[i])->Child(slot);
        Prefetch(nodes[i]);
        nodes[i]->PrefetchSlices();
      }
    }
    // The entry that the new one will be compared with is the version before it, if there is one.
    for (size_t i = 0; i < count; ++i) {
      slots[i] = nodes[i]->SlotOfSlice(keys[i]);
      nodes[i]->PrefetchEntries(slots[i]);
      expected_.push_back(nodes[i]);
    }
    for (size_t i = 0; i < count; ++i) nodes[i]->PrefetchIfEqual(slots[i], keys[i]);
  }
}

EntryTree::Path EntryTree::PathTo(const Key& key) const {
  Path path;
  const bool append = last_leaf_->CompareWithLast(key) > 0;
  Node* node = root_.load(std::memory_order_relaxed);
  path.levels = node->level + 1;
  CAIRN_CHECK(path.levels < kMaxLevels);
  for (;;) {
    const Node::Rank rank =
        append ? Node::Rank{node->count.Load(), false} : node->RankOf(key, Bound::kAtOrBefore);
    path.nodes[static_cast<size_t>(node->level)] = node;
    path.slots[static_cast<size_t>(node->level)] = rank.count;
    if (node->level == 0) {
      path.found = rank.found;
      return path;
    }
    node = static_cast<Inner*>(node)->Child(rank.count);
    node->PrefetchSlices();
  }
}

void EntryTree::InsertIntoFull(const Path& path, const char* entry, const Key& key) {
  Node* left = path.nodes[0];
  const int slot = path.slots[0];
  // A leaf that keys go into in ascending order is split where they go, so that they fill it.
  const bool append = slot == kFanout;
  const bool ascending = slot > 0 && slot == left->last_slot + 1;
  const int kept = append || ascending ? slot : kHalf;

  Node* right = NewNode<Node>(0);
  right->next.Store(left->next.Load());
  if (append) {
    // The keys to come will be about as much alike as those before.
    right->Place(0, entry, key);
    right->SetPrefix(key,
                     SuitablePrefix(left->prefix_size.Load(), key.CommonPrefix(left->KeyAt(0))));
    right->Reslice();
  } else {
    left->CopyUpper(kept, right);
    if (slot > kept) right->Place(slot - kept, entry, key);
  }

  const Changing structure_changes(structure_);
  {
    const Changing left_changes(left->version);
    left->next.Store(right);
    if (!append) {
      left->count.Store(kept);
      left->FitPrefix();
      if (slot <= kept) left->Place(slot, entry, key);
    }
  }
  if (left == last_leaf_) last_leaf_ = right;
  InsertSeparator(path, right->entries[0].Load(), right);
}

// Adds the node at the right of a split one to the parent, and splits that when it is full, up to
// a new root.
void EntryTree::InsertSeparator(const Path& path, const char* separator, Node* right) {
  for (int level = 1; level < path.levels; ++level) {
    auto* left = static_cast<Inner*>(path.nodes[static_cast<size_t>(level)]);
    const int slot = path.slots[static_cast<size_t>(level)];
    if (left->count.Load() < kFanout) {
      left->PlaceChild(slot, separator, right);
      return;
    }
    auto* sibling = NewNode<Inner>(level);
    if (slot == kFanout) {
      sibling->children[0].Store(right);
    } else {
      const char* middle = left->entries[kHalf].Load();
      left->CopyUpper(kHalf + 1, sibling);
      for (int i = kHalf + 1; i <= kFanout; ++i) {
        sibling->children[i - kHalf - 1].Store(left->Child(i));
      }
      left->count.Store(kHalf);
      left->FitPrefix();
      if (slot <= kHalf) {
        left->PlaceChild(slot, separator, right);
      } else {
        sibling->PlaceChild(slot - kHalf - 1, separator, right);
      }
      separator = middle;
    }
    right = sibling;
  }
  auto* root = NewNode<Inner>(path.levels);
  root->children[0].Store(path.nodes[static_cast<size_t>(path.levels - 1)]);
  root->PlaceChild(0, separator, right);
  root_.store(root, std::memory_order_release);
}

// Descends by choose(node), the slot of a child, and calls visit(leaf), both perhaps several
// times; what the last calls read was one state of the tree.
template <class Choose, class Visit>
void EntryTree::ReadLeaf(Choose choose, Visit visit) const {
  for (Retry retry;; retry.Wait()) {
    const uint64_t structure = structure_.load(std::memory_order_acquire);
    if (IsOdd(structure)) continue;
    const Node* node = root_.load(std::memory_order_acquire);
    while (node->level > 0) {
      node = static_cast<const Inner*>(node)->Child(choose(*node));
      node->PrefetchSlices();
    }
    const uint64_t version = node->version.load(std::memory_order_acquire);
    if (IsOdd(version)) continue;
    visit(*node);
    if (node->version.load(std::memory_order_acquire) == version &&
        structure_.load(std::memory_order_acquire) == structure) {
      return;
    }
  }
}

const char* EntryTree::Find(std::string_view internal_key) const {
  const Key key = Key::OfInternal(internal_key);
  const char* found = nullptr;
  const Node* next = nullptr;
  ReadLeaf([&](const Node& node) { return node.RankOf(key, Bound::kBefore).count; },
           [&](const Node& leaf) {
             const int slot = leaf.RankOf(key, Bound::kBefore).count;
             found = slot < leaf.count.Load() ? leaf.entries[slot].Load() : nullptr;
             next = leaf.next.Load();
           });
  if (found == nullptr && next != nullptr) found = next->entries[0].Load();
  return found;
}

bool EntryTree::Contains(const char* entry) const {
  const Key key = Key::OfEntry(entry);
  const char* found = Find({key.data, key.size + kTagSize});
  return found != nullptr && key.Compare(Key::OfEntry(found), 0) == 0;
}

EntryTree::Position EntryTree::PositionOf(std::string_view internal_key) const {
  const Key key = Key::OfInternal(internal_key);
  std::array<int, kMaxLevels> slots;
  std::array<int, kMaxLevels> widths;
  int root_level = 0;
  Position position{};
  ReadLeaf(
      [&](const Node& node) {
        const int slot = node.RankOf(key, Bound::kBefore).count;
        root_level = std::max<int>(root_level, node.level);
        slots[static_cast<size_t>(node.level)] = slot;
        widths[static_cast<size_t>(node.level)] = node.count.Load() + 1;
        return slot;
      },
      [&](const Node& leaf) {
        position.leaf = &leaf;
        position.slot = leaf.RankOf(key, Bound::kBefore).count;
        widths[0] = std::max(leaf.count.Load(), 1);
      });
  slots[0] = position.slot;
  for (size_t level = 0; level <= static_cast<size_t>(root_level); ++level) {
    position.fraction = (slots[level] + position.fraction) / widths[level];
  }
  return position;
}

uint64_t EntryTree::EstimateCount(std::string_view begin, std::string_view end) const {
  const Position from = PositionOf(begin);
  const Position to = PositionOf(end);
  if (from.leaf == to.leaf) return static_cast<uint64_t>(std::max(to.slot - from.slot, 0));
  const double fraction = std::max(to.fraction - from.fraction, 0.0);
  return static_cast<uint64_t>(fraction * static_cast<double>(size()));
}

void EntryTree::Cursor::CopyFrom(const Node& leaf) {
  count_ = leaf.count.Load();
  for (int i = 0; i < count_; ++i) entries_[static_cast<size_t>(i)] = leaf.entries[i].Load();
  next_ = leaf.next.Load();
}

void EntryTree::Cursor::MoveTo(const Node* leaf) {
  at_ = count_ = 0;
  if (leaf == nullptr) return;
  for (Retry retry;; retry.Wait()) {
    const uint64_t version = leaf->version.load(std::memory_order_acquire);
    if (IsOdd(version)) continue;
    CopyFrom(*leaf);
    if (leaf->version.load(std::memory_order_acquire) == version) return;
  }
}

void EntryTree::Cursor::Next() {
  if (++at_ == count_) {
    MoveTo(next_);
    return;
  }
  // By the time the reader gets there, key and value are in the cache, unless they are long.
  constexpr int kAhead = 4;
  constexpr size_t kBytesAhead = 3 * kCacheLineBytes;
  const int ahead = at_ + kAhead;
  if (ahead >= count_) return;
  const char* entry = entries_[static_cast<size_t>(ahead)];
  for (size_t at = 0; at < kBytesAhead; at += kCacheLineBytes) Prefetch(entry + at);
}

void EntryTree::Cursor::Prev() {
  if (at_ > 0) {
    --at_;
  } else {
    SeekBack(Key::OfEntry(entry()), Bound::kBefore);
  }
}

void EntryTree::Cursor::Seek(std::string_view internal_key) {
  const Key key = Key::OfInternal(internal_key);
  tree_.ReadLeaf([&](const Node& node) { return node.RankOf(key, Bound::kBefore).count; },
                 [&](const Node& leaf) {
                   at_ = leaf.RankOf(key, Bound::kBefore).count;
                   CopyFrom(leaf);
                 });
  if (at_ == count_) MoveTo(next_);
}

void EntryTree::Cursor::SeekForPrev(std::string_view internal_key) {
  SeekBack(Key::OfInternal(internal_key), Bound::kAtOrBefore);
}

void EntryTree::Cursor::SeekToFirst() { MoveTo(tree_.first_leaf_); }

void EntryTree::Cursor::SeekToLast() {
  tree_.ReadLeaf([](const Node& node) { return node.count.Load(); },
                 [&](const Node& leaf) { CopyFrom(leaf); });
  at_ = std::max(count_ - 1, 0);
}

// The last entry before a key, or at or before it. The leaf that has it is found at once: the
// separator at its left is such an entry itself.
void EntryTree::Cursor::SeekBack(const Key& key, Bound bound) {
  int rank = 0;
  tree_.ReadLeaf([&](const Node& node) { return node.RankOf(key, bound).count; },
                 [&](const Node& leaf) {
                   rank = leaf.RankOf(key, bound).count;
                   CopyFrom(leaf);
                 });
  at_ = rank - 1;
  if (rank == 0) at_ = count_ = 0;
}

}  // namespace cairn::store::rocks
