#include "store/rocks/btree_memtable.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include "base/check.h"
#include "store/rocks/entry_tree.h"

namespace cairn::store::rocks {
namespace {

using ::rocksdb::MemTableRep;

std::string_view View(const ::rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

class TreeIterator : public MemTableRep::Iterator {
 public:
  explicit TreeIterator(const EntryTree& tree) : cursor_(tree) {}

  bool Valid() const override { return cursor_.Valid(); }
  const char* key() const override { return cursor_.entry(); }
  void Next() override { cursor_.Next(); }
  void Prev() override { cursor_.Prev(); }
  void Seek(const ::rocksdb::Slice& internal_key, const char* /*memtable_key*/) override {
    cursor_.Seek(View(internal_key));
  }
  void SeekForPrev(const ::rocksdb::Slice& internal_key, const char* /*memtable_key*/) override {
    cursor_.SeekForPrev(View(internal_key));
  }
  void SeekToFirst() override { cursor_.SeekToFirst(); }
  void SeekToLast() override { cursor_.SeekToLast(); }

 private:
  EntryTree::Cursor cursor_;
};

// Frees the memory of the object that it is the first base of, after all else of it is destroyed.
class OwnMemory {
 public:
  explicit OwnMemory(void* memory) : memory_(memory) {}
  ~OwnMemory() { ::operator delete(memory_); }
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;

 private:
  void* memory_;
};

// The iterator for a caller that brings an arena: it ends the iterator by calling the destructor
// alone. RocksDB's public headers do not define Arena, so the iterator brings its own memory and
// its destructor lets that go.
class ArenaTreeIterator final : private OwnMemory, public TreeIterator {
 public:
  static MemTableRep::Iterator* New(const EntryTree& tree) {
    void* memory = ::operator new(sizeof(ArenaTreeIterator));
    return new (memory) ArenaTreeIterator(memory, tree);
  }
  // UBSan would clear the object's vtable pointer after its bases are gone, and its memory with
  // them.
  __attribute__((no_sanitize("vptr"))) ~ArenaTreeIterator() override {}  // NOLINT

 private:
  ArenaTreeIterator(void* memory, const EntryTree& tree) : OwnMemory(memory), TreeIterator(tree) {}
};

// Looks a LookupKey up. RocksDB's public headers do not define that type either, but the default
// MemTableRep::Get() opens it: it asks the memtable for an iterator and seeks it to the internal
// key. So this is a memtable whose iterator does the lookup when it is sought, and then claims to
// be at the end.
class Lookup final : public MemTableRep {
 public:
  using Callback = bool (*)(void* argument, const char* entry);

  Lookup(const EntryTree& tree, void* argument, Callback callback) : MemTableRep(nullptr) {
    new (iterator_) Seeker(tree, argument, callback);
  }

  void Insert(::rocksdb::KeyHandle /*handle*/) override {}
  bool Contains(const char* /*key*/) const override { return false; }
  size_t ApproximateMemoryUsage() override { return 0; }
  Iterator* GetIterator(::rocksdb::Arena* /*arena*/) override {
    return std::launder(reinterpret_cast<Seeker*>(iterator_));
  }

 private:
  class Seeker final : public Iterator {
   public:
    Seeker(const EntryTree& tree, void* argument, Callback callback)
        : tree_(tree), argument_(argument), callback_(callback) {}

    // RocksDB 7.8 forgets to delete the iterator; a version that does must not free it.
    static void operator delete(void* /*iterator*/) {}

    void Seek(const ::rocksdb::Slice& internal_key, const char* /*memtable_key*/) override {
      const char* entry = tree_.Find(View(internal_key));
      if (entry == nullptr || !callback_(argument_, entry)) return;
      // Asking for more is rare: operands of a merge, versions hidden from the reader.
      EntryTree::Cursor cursor(tree_);
      cursor.Seek(View(::rocksdb::GetLengthPrefixedSlice(entry)));
      do {
        cursor.Next();
      } while (cursor.Valid() && callback_(argument_, cursor.entry()));
    }
    bool Valid() const override { return false; }
    const char* key() const override { return nullptr; }
    void Next() override {}
    void Prev() override {}
    void SeekForPrev(const ::rocksdb::Slice& /*key*/, const char* /*memtable_key*/) override {}
    void SeekToFirst() override {}
    void SeekToLast() override {}

   private:
    const EntryTree& tree_;
    void* argument_;
    Callback callback_;
  };

  alignas(Seeker) std::byte iterator_[sizeof(Seeker)];  // holds nothing that needs a destructor
};

}  // namespace

class BTreeMemTableFactory::MemTable final : public MemTableRep {
 public:
  MemTable(::rocksdb::Allocator* allocator, BTreeMemTableFactory& factory)
      : MemTableRep(allocator), factory_(factory), tree_([this](size_t bytes) {
          char* memory = nullptr;
          Allocate(bytes, &memory);
          return memory;
        }) {
    const std::lock_guard lock(factory_.mutex_);
    factory_.newest_ = this;
  }
  ~MemTable() override {
    const std::lock_guard lock(factory_.mutex_);
    if (factory_.newest_ == this) factory_.newest_ = nullptr;
  }
  MemTable(const MemTable&) = delete;
  MemTable& operator=(const MemTable&) = delete;

  void Expect(std::span<const std::string_view> user_keys) { tree_.Expect(user_keys); }

  void Insert(::rocksdb::KeyHandle handle) override { InsertKey(handle); }
  bool InsertKey(::rocksdb::KeyHandle handle) override {
    return tree_.Insert(static_cast<const char*>(handle));
  }
  bool InsertKeyWithHint(::rocksdb::KeyHandle handle, void** /*hint*/) override {
    return InsertKey(handle);
  }

  bool Contains(const char* key) const override { return tree_.Contains(key); }

  void Get(const ::rocksdb::LookupKey& key, void* argument, Lookup::Callback callback) override {
    Lookup(tree_, argument, callback).MemTableRep::Get(key, argument, callback);
  }

  uint64_t ApproximateNumEntries(const ::rocksdb::Slice& begin,
                                 const ::rocksdb::Slice& end) override {
    return tree_.EstimateCount(View(begin), View(end));
  }

  size_t ApproximateMemoryUsage() override { return 0; }  // all memory is the allocator's

  Iterator* GetIterator(::rocksdb::Arena* arena) override {
    if (arena == nullptr) return new TreeIterator(tree_);
    return ArenaTreeIterator::New(tree_);
  }

 private:
  BTreeMemTableFactory& factory_;
  EntryTree tree_;
};

namespace {

// An entry as RocksDB builds it: see entry_tree.h.
std::string TestEntry(std::string_view user_key, uint64_t sequence, uint8_t type) {
  constexpr size_t kTagSize = 8;
  std::string entry(1, static_cast<char>(user_key.size() + kTagSize));
  entry += user_key;
  const uint64_t tag = sequence << 8 | type;
  for (size_t byte = 0; byte < kTagSize; ++byte) entry += static_cast<char>(tag >> (8 * byte));
  entry += '\0';
  return entry;
}

// Only the order of a comparator can be asked for, so a few telling entries are compared.
void CheckOrder(const MemTableRep::KeyComparator& comparator) {
  using namespace std::string_view_literals;
  const auto is_before = [&](const std::string& a, const std::string& b) {
    return comparator(a.c_str(), b.c_str()) < 0 && comparator(b.c_str(), a.c_str()) > 0;
  };
  CAIRN_CHECK(is_before(TestEntry("a", 1, 1), TestEntry("b", 1, 1)) &&
                  is_before(TestEntry("a\x7f", 1, 1), TestEntry("a\x80", 1, 1)) &&
                  is_before(TestEntry("", 1, 1), TestEntry("\0"sv, 1, 1)) &&
                  is_before(TestEntry("ab", 1, 1), TestEntry("abcdefghij", 1, 1)) &&
                  is_before(TestEntry("a", 2, 1), TestEntry("a", 1, 1)),
              "a B-tree memtable needs the bytewise comparator");
}

}  // namespace

MemTableRep* BTreeMemTableFactory::CreateMemTableRep(const MemTableRep::KeyComparator& comparator,
                                                     ::rocksdb::Allocator* allocator,
                                                     const ::rocksdb::SliceTransform* /*prefix*/,
                                                     ::rocksdb::Logger* /*logger*/) {
  CheckOrder(comparator);
  return new MemTable(allocator, *this);
}

void BTreeMemTableFactory::Expect(std::span<const std::string_view> user_keys) {
  // Held throughout: a memtable may go when its flush is done, on another thread.
  const std::lock_guard lock(mutex_);
  if (newest_ != nullptr) newest_->Expect(user_keys);
}

}  // namespace cairn::store::rocks
