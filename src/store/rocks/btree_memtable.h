#pragma once

#include <rocksdb/memtablerep.h>

#include <mutex>
#include <span>
#include <string_view>

namespace cairn::store::rocks {

// Makes RocksDB memtables that keep their entries in an EntryTree (entry_tree.h). Thread-safe.
//
// Requires the bytewise comparator, which is checked when a memtable is made, and
// allow_concurrent_memtable_write = false. Mempurge is not supported, and a tailing iterator sees
// what is written after its last seek only when it seeks again.
//
// Time of whole operations through rocksdb::DB, relative to RocksDB's skiplist: 400 thousand
// entries in one memtable, values of 100 bytes, batches of 64, RocksDB 7.8. Each figure is a ratio
// of the best of five runs on a busy machine; inserts by processor time, the rest by wall clock.
//
//                              insert    get    next    prev   seek + 10 next
//   random keys, B-tree          0.33   0.48    0.64    0.17             0.48
//     HashLinkList               0.32   0.47   12.2        -                -
//   ascending keys, B-tree       0.72   0.40    0.88    0.08             0.46
//     HashLinkList               1.09   0.40   30.3        -                -
//   60 bytes shared, B-tree      0.33   0.51    0.55    0.15             0.57
//     HashLinkList               0.35   0.61    9.4        -                -
//
// HashLinkList copies and sorts the whole memtable for each ordered iterator.
class BTreeMemTableFactory final : public ::rocksdb::MemTableRepFactory {
 public:
  static const char* kClassName() { return "cairn.BTreeMemTable"; }
  const char* Name() const override { return kClassName(); }

  using ::rocksdb::MemTableRepFactory::CreateMemTableRep;
  ::rocksdb::MemTableRep* CreateMemTableRep(const ::rocksdb::MemTableRep::KeyComparator& comparator,
                                            ::rocksdb::Allocator* allocator,
                                            const ::rocksdb::SliceTransform* prefix,
                                            ::rocksdb::Logger* logger) override;

  bool IsInsertConcurrentlySupported() const override { return false; }
  bool CanHandleDuplicatedKey() const override { return true; }

  // EntryTree::Expect for the newest of its memtables: the one that a column family of its own
  // writes to. Called by the one thread that writes, before it does.
  void Expect(std::span<const std::string_view> user_keys);

 private:
  class MemTable;

  std::mutex mutex_;
  MemTable* newest_ = nullptr;
};

}  // namespace cairn::store::rocks
