#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace cairn::store::rocks {

// The ordered set of a memtable's entries: a B+-tree that only grows.
//
// An entry is the byte string that RocksDB builds for one write: internal key and value, each
// behind its length as a varint32. The internal key is the user key and a little-endian tag of
// eight bytes, (sequence << 8 | type). Entries are ordered by user key ascending, bytewise, then by
// sequence descending, so that the newest version of a key comes first. The type does not count.
//
// Operation. A skiplist reads one entry per comparison, and most of these reads miss the cache. A
// node of this tree keeps, beside the pointers to its entries, the prefix that all their keys share
// and for each key the eight bytes after that prefix as one integer, its slice:
//
//     prefix "key:000000"    slices    entries
//                            "3141"    ──▶ key:0000003141, sequence 17, value
//                            "3159"    ──▶ key:0000003159, sequence  4, value
//
// Unequal slices decide a comparison inside the node. Equal ones are decided by the entries: those
// are the versions of one key, or keys that part further on. A key that ends inside its slice is
// padded with zeros, which can make slices equal but never puts them in the wrong order.
//
// Inner nodes look the same. Their separators are entries too: each is the smallest entry of the
// child at its right and stays that for ever, because nothing is removed and a split moves the
// upper half away to the right. For the same reason a leaf's smallest entry never changes (but for
// the first leaf), and following `next` from any leaf, read at any time, misses nothing older.
//
// A leaf that is full and appended to is left full, so that ascending keys, one run or many side by
// side, fill their leaves.
//
// Concurrency. One thread inserts at a time, any number read meanwhile. Readers take no lock and
// the writer never waits for them. `structure_` is odd while nodes are split, and a leaf's version
// is odd while that leaf changes; a reader notes both, searches, and starts again when a number was
// odd or is no longer the same, as it may have read a mixture. A mixture does no harm: every field
// is an atomic, every pointer that can be found is valid as long as the tree, and levels only lead
// down. Stores into nodes release and loads acquire, so that a reader of a new field also finds the
// odd number that was stored before it.
class EntryTree {
 public:
  // Gives memory of any alignment that lives as long as the tree. Called by the inserting thread.
  using Allocate = std::function<char*(size_t bytes)>;

  class Cursor;

  explicit EntryTree(Allocate allocate);
  EntryTree(const EntryTree&) = delete;
  EntryTree& operator=(const EntryTree&) = delete;

  // Adds entry, which must neither change nor go before the tree does. False, with nothing added,
  // when the same user key with the same sequence is there already.
  bool Insert(const char* entry);

  // Entries with these user keys, newer than all that are there, will be inserted next, in this
  // order. Finds their leaves side by side, so that memory is asked for many of them at once:
  // alone, each insert would wait for its own. Other inserts than announced do no harm. Called by
  // the inserting thread.
  void Expect(std::span<const std::string_view> user_keys);

  bool Contains(const char* entry) const;

  // The first entry at or after an internal key; nullptr when there is none.
  const char* Find(std::string_view internal_key) const;

  // About how many entries there are in [begin, end); exact when one leaf holds them all.
  uint64_t EstimateCount(std::string_view begin, std::string_view end) const;

  uint64_t size() const { return size_.load(std::memory_order_relaxed); }

  static constexpr int kFanout = 64;

 private:
  struct Key;
  struct Node;
  struct Inner;
  struct Path;
  struct Position;
  enum class Bound { kBefore, kAtOrBefore };

  template <class Choose, class Visit>
  void ReadLeaf(Choose choose, Visit visit) const;
  Path PathTo(const Key& key) const;
  Position PositionOf(std::string_view internal_key) const;

  bool InsertWhereExpected(const char* entry, const Key& key);
  void InsertIntoFull(const Path& path, const char* entry, const Key& key);
  void InsertSeparator(const Path& path, const char* separator, Node* right);
  template <class NodeType>
  NodeType* NewNode(int level);

  const Allocate allocate_;
  std::atomic<uint64_t> structure_{0};
  std::atomic<Node*> root_{nullptr};
  std::atomic<uint64_t> size_{0};
  Node* first_leaf_;  // never changes: splits move entries to the right
  // The inserting thread's:
  Node* last_leaf_;
  std::vector<Node*> expected_;  // the leaves found by Expect, one for each insert to come
  size_t next_expected_ = 0;
  std::vector<char> expected_keys_;  // of those that are looked for together, kept for its memory
};

// A place in an EntryTree, which must outlive it. Used by one thread; inserts may go on meanwhile.
//
// It walks over a copy of one leaf's pointers at a time. So it shows every entry that was there
// when it was created or positioned, and may or may not show one inserted since. That is enough for
// RocksDB, whose readers ignore entries newer than their snapshot.
class EntryTree::Cursor {
 public:
  explicit Cursor(const EntryTree& tree) : tree_(tree) {}

  bool Valid() const { return at_ < count_; }
  const char* entry() const { return entries_[static_cast<size_t>(at_)]; }  // requires Valid()

  void Next();  // requires Valid()
  void Prev();  // requires Valid()

  void Seek(std::string_view internal_key);         // the first entry at or after the key
  void SeekForPrev(std::string_view internal_key);  // the last entry at or before the key
  void SeekToFirst();
  void SeekToLast();

 private:
  void CopyFrom(const Node& leaf);
  void MoveTo(const Node* leaf);
  void SeekBack(const Key& key, Bound bound);

  const EntryTree& tree_;
  int at_ = 0;
  int count_ = 0;               // 0: not valid
  const Node* next_ = nullptr;  // the leaf after the copied one
  std::array<const char*, kFanout> entries_;
};

}  // namespace cairn::store::rocks
