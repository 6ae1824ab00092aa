#pragma once

// The disk behind PowerLossFs: what is written, what is safe, and what a power loss would leave of
// it. Only power_loss_fs.cc includes this.

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>

#include "tests/support/power_loss_fs.h"

namespace cairn::testing {

using ::rocksdb::IOStatus;
using ::rocksdb::Slice;

using Rng = std::mt19937_64;
using Step = PowerLossFs::Step;

constexpr uint64_t kSectorSize = 512;
constexpr uint64_t kBlockSize = 8 * kSectorSize;

inline IOStatus NoSuchPath(const std::string& path) {
  return IOStatus::PathNotFound(path, "no such file or directory");
}

// The bytes of a file, in blocks that never change once made, so that copies share them.
class Content {
 public:
  uint64_t size() const { return size_; }

  void Write(uint64_t offset, std::string_view data) {
    if (offset + data.size() > size_) Resize(offset + data.size());
    while (!data.empty()) {
      const uint64_t start = offset % kBlockSize;
      const size_t length = std::min<uint64_t>(kBlockSize - start, data.size());
      std::shared_ptr<const Block>& block = blocks_[offset / kBlockSize];
      auto changed = block ? std::make_shared<Block>(*block) : std::make_shared<Block>();
      data.copy(changed->data() + start, length);
      block = std::move(changed);
      data.remove_prefix(length);
      offset += length;
    }
  }

  void Truncate(uint64_t size) {
    // What is cut off must not come back when the file grows again.
    const uint64_t rest = size % kBlockSize;
    if (size < size_ && rest != 0 && blocks_[size / kBlockSize]) {
      const std::string zeros(std::min(kBlockSize - rest, size_ - size), '\0');
      Write(size, zeros);
    }
    Resize(size);
  }

  // Copies up to `length` bytes from offset on and returns how many there were.
  size_t Read(uint64_t offset, size_t length, char* to) const {
    if (offset >= size_) return 0;
    length = std::min<uint64_t>(length, size_ - offset);
    for (size_t done = 0; done < length;) {
      const uint64_t start = (offset + done) % kBlockSize;
      const size_t part = std::min<uint64_t>(kBlockSize - start, length - done);
      const auto& block = blocks_[(offset + done) / kBlockSize];
      if (block) {
        std::copy_n(block->data() + start, part, to + done);
      } else {
        std::fill_n(to + done, part, '\0');
      }
      done += part;
    }
    return length;
  }

  // What may be on disk when `now` was written since `safe` was synced.
  static Content Torn(const Content& safe, const Content& now, Rng& random) {
    Content torn = safe;
    torn.Truncate(TornSize(safe.size_, now.size_, random));
    const uint64_t odds = 1 + random() % 9;  // of ten sectors, how many survive
    std::array<char, kSectorSize> sector;
    for (uint64_t offset = 0; offset < std::min(torn.size_, now.size_); offset += kSectorSize) {
      const uint64_t block = offset / kBlockSize;
      if (block < safe.blocks_.size() && safe.blocks_[block] == now.blocks_[block]) {
        offset = (block + 1) * kBlockSize - kSectorSize;
        continue;
      }
      if (random() % 10 >= odds) continue;
      const size_t length = now.Read(offset, kSectorSize, sector.data());
      torn.Write(offset, {sector.data(), std::min<uint64_t>(length, torn.size_ - offset)});
    }
    return torn;
  }

 private:
  using Block = std::array<char, kBlockSize>;

  void Resize(uint64_t size) {
    size_ = size;
    blocks_.resize((size + kBlockSize - 1) / kBlockSize);
  }

  static uint64_t TornSize(uint64_t safe, uint64_t now, Rng& random) {
    const auto [low, high] = std::minmax(safe, now);
    switch (random() % 3) {
      case 0:
        return safe;
      case 1:
        return now;
      default:
        return std::clamp((low + random() % (high - low + 1)) / kSectorSize * kSectorSize, low,
                          high);
    }
  }

  uint64_t size_ = 0;
  std::vector<std::shared_ptr<const Block>> blocks_;  // nullptr: zeros
};

struct PowerLossFs::Node {
  using Names = std::map<std::string, std::shared_ptr<Node>>;

  bool is_directory = false;
  bool is_locked = false;
  uint64_t modified = 0;
  Content content;  // of a file, as it is and as it was last synced
  Content safe_content;
  uint64_t allocated = 0;  // of a file: room set aside, whatever its size
  Names names;             // of a directory, as they are and as they were last synced
  Names safe_names;
};

class PowerLossFs::Disk {
 public:
  using NodePtr = std::shared_ptr<Node>;

  explicit Disk(const Node& root) : root_(CopyOf(root, {}, nullptr)) {}

  static NodePtr NewDirectory() {
    auto node = std::make_shared<Node>();
    node->is_directory = true;
    return node;
  }

  // A root with the directory for tests in it.
  static NodePtr NewRoot() {
    NodePtr root = NewDirectory();
    root->names["test"] = root->safe_names["test"] = NewDirectory();
    return root;
  }

  NodePtr AfterPowerLoss(std::optional<uint64_t> seed) {
    const std::lock_guard lock(mutex_);
    if (!seed) return CopyOf(*root_, {}, nullptr);
    Rng random(*seed);
    SurvivingNames surviving;
    const size_t count = random() % (unsafe_operations_.size() + 1);
    for (size_t i = 0; i < count; ++i) {
      for (const NameChange& change : unsafe_operations_[i]) {
        surviving[change.directory.get()][change.name] = change.node;
      }
    }
    return CopyOf(*root_, surviving, &random);
  }

  void SetHook(Hook hook) {
    const std::lock_guard lock(mutex_);
    hook_ = std::make_shared<const Hook>(std::move(hook));
  }

  void AddFault(Step step, std::string path_part, IOStatus status, int times) {
    const std::lock_guard lock(mutex_);
    faults_.push_back({step, std::move(path_part), std::move(status), times});
  }

  void SetCapacity(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    capacity_ = bytes;
  }

  // Everything that changes something starts with this: it calls the hook, and says whether the
  // step is to fail.
  IOStatus Begin(Step step, const std::string& path) {
    std::shared_ptr<const Hook> hook;
    {
      const std::lock_guard lock(mutex_);
      hook = hook_;
    }
    if (hook && *hook) (*hook)({step, path});
    const std::lock_guard lock(mutex_);
    for (Fault& fault : faults_) {
      if (fault.step != step || path.find(fault.path_part) == std::string::npos) continue;
      if (fault.times == 0) continue;
      if (fault.times != kForEver) --fault.times;
      return fault.status;
    }
    return IOStatus::OK();
  }

  enum class Existing { kKeep, kCut };

  // Opens a file for writing, and makes it if there is none.
  IOStatus Open(const std::string& path, Existing existing, NodePtr* opened) {
    IOStatus status = Begin(Step::kCreateFile, path);
    if (!status.ok()) return status;
    const std::lock_guard lock(mutex_);
    Place place;
    status = Locate(path, &place);
    if (!status.ok()) return status;
    if (!place.node) {
      place.node = std::make_shared<Node>();
      ChangeNames({{place.directory, place.name, place.node}});
    } else if (place.node->is_directory) {
      return IOStatus::IOError(path, "is a directory");
    } else if (existing == Existing::kCut) {
      place.node->content.Truncate(0);
      place.node->allocated = 0;
    }
    place.node->modified = ++time_;
    *opened = place.node;
    return IOStatus::OK();
  }

  // Finds what must exist.
  IOStatus Find(const std::string& path, NodePtr* found) {
    const std::lock_guard lock(mutex_);
    Place place;
    IOStatus status = Locate(path, &place);
    if (!status.ok()) return status;
    if (!place.node) return NoSuchPath(path);
    *found = place.node;
    return IOStatus::OK();
  }

  // Writes what there is room for and adds its length to *written.
  IOStatus Write(Node& node, const std::string& path, uint64_t offset, const Slice& data,
                 uint64_t* written) {
    IOStatus status = Begin(Step::kWrite, path);
    if (!status.ok()) return status;
    const std::lock_guard lock(mutex_);
    const uint64_t end = offset + data.size();
    const uint64_t has = std::max(node.content.size(), node.allocated);
    const uint64_t growth = end > has ? end - has : 0;
    const uint64_t room = growth > 0 ? FreeBytesLocked() : 0;
    const uint64_t missing = std::min<uint64_t>(growth > room ? growth - room : 0, data.size());
    const size_t fitting = data.size() - missing;
    node.content.Write(offset, {data.data(), fitting});
    node.modified = ++time_;
    *written += fitting;
    return fitting < data.size() ? IOStatus::NoSpace(path, "no space left") : IOStatus::OK();
  }

  // Sets room aside, all or nothing.
  IOStatus Allocate(Node& node, const std::string& path, uint64_t end) {
    IOStatus status = Begin(Step::kAllocate, path);
    if (!status.ok()) return status;
    const std::lock_guard lock(mutex_);
    const uint64_t has = std::max(node.content.size(), node.allocated);
    if (end > has && end - has > FreeBytesLocked()) {
      return IOStatus::NoSpace(path, "no space left");
    }
    node.allocated = std::max(node.allocated, end);
    return IOStatus::OK();
  }

  IOStatus Truncate(Node& node, const std::string& path, uint64_t size) {
    IOStatus status = Begin(Step::kTruncate, path);
    if (!status.ok()) return status;
    const std::lock_guard lock(mutex_);
    node.content.Truncate(size);
    node.allocated = 0;
    node.modified = ++time_;
    return IOStatus::OK();
  }

  IOStatus Sync(Node& node, const std::string& path) {
    IOStatus status = Begin(Step::kSync, path);
    if (!status.ok()) return status;
    const std::lock_guard lock(mutex_);
    node.safe_content = node.content;
    return IOStatus::OK();
  }

  // Closing promises nothing about what is safe, but cuts a file that RocksDB had preallocated to
  // what it wrote, as on a real disk.
  IOStatus Close(Node& node, const std::string& path, std::optional<uint64_t> cut_to) {
    IOStatus status = Begin(Step::kClose, path);
    if (!status.ok()) return status;
    const std::lock_guard lock(mutex_);
    if (cut_to) {
      node.content.Truncate(*cut_to);
      node.allocated = 0;
    }
    return IOStatus::OK();
  }

  IOStatus SyncDirectory(const NodePtr& directory, const std::string& path) {
    IOStatus status = Begin(Step::kSyncDirectory, path);
    if (!status.ok()) return status;
    const std::lock_guard lock(mutex_);
    directory->safe_names = directory->names;
    for (NameOperation& operation : unsafe_operations_) {
      std::erase_if(operation, [&](const NameChange& c) { return c.directory == directory; });
    }
    std::erase_if(unsafe_operations_, [](const NameOperation& o) { return o.empty(); });
    return IOStatus::OK();
  }

  IOStatus Read(const Node& node, uint64_t offset, size_t length, Slice* result, char* to) {
    const std::lock_guard lock(mutex_);
    *result = Slice(to, node.content.Read(offset, length, to));
    return IOStatus::OK();
  }

  IOStatus Make(Step step, const std::string& path, const NodePtr& made) {
    IOStatus status = Begin(step, path);
    if (!status.ok()) return status;
    const std::lock_guard lock(mutex_);
    Place place;
    status = Locate(path, &place);
    if (!status.ok()) return status;
    if (place.node) return IOStatus::IOError(path, "exists");
    ChangeNames({{place.directory, place.name, made}});
    return IOStatus::OK();
  }

  IOStatus Remove(Step step, const std::string& path) {
    IOStatus status = Begin(step, path);
    if (!status.ok()) return status;
    const std::lock_guard lock(mutex_);
    Place place;
    status = Locate(path, &place);
    if (!status.ok()) return status;
    if (!place.node || !place.directory) return NoSuchPath(path);
    if (place.node->is_directory != (step == Step::kDeleteDirectory)) {
      return IOStatus::IOError(path, "is a directory, or is none");
    }
    if (!place.node->names.empty()) return IOStatus::IOError(path, "directory not empty");
    ChangeNames({{place.directory, place.name, nullptr}});
    return IOStatus::OK();
  }

  IOStatus Rename(const std::string& from, const std::string& to) {
    IOStatus status = Begin(Step::kRename, to);
    if (!status.ok()) return status;
    const std::lock_guard lock(mutex_);
    Place source;
    Place target;
    status = Locate(from, &source);
    if (status.ok()) status = Locate(to, &target);
    if (!status.ok()) return status;
    if (!source.node || !source.directory) return NoSuchPath(from);
    if (source.node == target.node) return IOStatus::OK();
    if (target.node && (!target.directory || !target.node->names.empty())) {
      return IOStatus::IOError(to, "directory not empty");
    }
    ChangeNames(
        {{source.directory, source.name, nullptr}, {target.directory, target.name, source.node}});
    return IOStatus::OK();
  }

  // Whether the lock was free.
  bool TryLock(Node& node) {
    const std::lock_guard lock(mutex_);
    return !std::exchange(node.is_locked, true);
  }
  void Unlock(Node& node) {
    const std::lock_guard lock(mutex_);
    node.is_locked = false;
  }

  // A copy of what reads of a node's metadata are about.
  struct Facts {
    bool is_directory;
    uint64_t size;
    uint64_t modified;
    uint64_t links;
    std::vector<std::string> children;
  };
  IOStatus Describe(const std::string& path, Facts* facts) {
    NodePtr node;
    IOStatus status = Find(path, &node);
    if (!status.ok()) return status;
    const std::lock_guard lock(mutex_);
    *facts = {
        node->is_directory, node->content.size(), node->modified, CountLinks(*root_, node), {}};
    for (const auto& [name, child] : node->names) facts->children.push_back(name);
    return IOStatus::OK();
  }

  uint64_t UsedBytes() {
    const std::lock_guard lock(mutex_);
    return UsedBytesLocked();
  }
  uint64_t FreeBytes() {
    const std::lock_guard lock(mutex_);
    return FreeBytesLocked();
  }

 private:
  struct NameChange {
    NodePtr directory;
    std::string name;
    NodePtr node;  // nullptr: the name is gone
  };
  using NameOperation = std::vector<NameChange>;  // happens as one
  using SurvivingNames = std::map<const Node*, Node::Names>;

  struct Place {
    NodePtr directory;  // nullptr: the place is the root
    std::string name;
    NodePtr node;  // nullptr: there is none of that name
  };

  struct Fault {
    Step step;
    std::string path_part;
    IOStatus status;
    int times;
  };

  static std::vector<std::string> Split(std::string_view path) {
    std::vector<std::string> parts;
    while (!path.empty()) {
      const size_t end = std::min(path.find('/'), path.size());
      if (end > 0 && path.substr(0, end) != ".") parts.emplace_back(path.substr(0, end));
      path.remove_prefix(std::min(end + 1, path.size()));
    }
    return parts;
  }

  // Fails when the directory of the path does not exist.
  IOStatus Locate(const std::string& path, Place* place) const {
    std::vector<std::string> parts = Split(path);
    place->node = root_;
    for (std::string& part : parts) {
      if (!place->node || !place->node->is_directory) return NoSuchPath(path);
      place->directory = place->node;
      const auto it = place->directory->names.find(part);
      place->node = it == place->directory->names.end() ? nullptr : it->second;
      place->name = std::move(part);
    }
    return IOStatus::OK();
  }

  void ChangeNames(NameOperation operation) {
    for (const NameChange& change : operation) {
      if (change.node) {
        change.directory->names[change.name] = change.node;
      } else {
        change.directory->names.erase(change.name);
      }
    }
    unsafe_operations_.push_back(std::move(operation));
  }

  // Copies the tree as a power loss leaves it. With `random`, files are torn. Hard links stay.
  static NodePtr CopyOf(const Node& root, const SurvivingNames& surviving, Rng* random) {
    std::map<const Node*, NodePtr> copies;
    return CopyOf(root, surviving, random, copies);
  }
  static NodePtr CopyOf(const Node& node, const SurvivingNames& surviving, Rng* random,
                        std::map<const Node*, NodePtr>& copies) {
    NodePtr& known = copies[&node];
    if (known) return known;
    NodePtr copy = known = std::make_shared<Node>();
    copy->is_directory = node.is_directory;
    copy->modified = node.modified;
    copy->content =
        random ? Content::Torn(node.safe_content, node.content, *random) : node.safe_content;
    copy->safe_content = copy->content;

    Node::Names names = node.safe_names;
    if (const auto changes = surviving.find(&node); changes != surviving.end()) {
      for (const auto& [name, child] : changes->second) names[name] = child;
    }
    for (const auto& [name, child] : names) {
      if (child) copy->names[name] = CopyOf(*child, surviving, random, copies);
    }
    copy->safe_names = copy->names;
    return copy;
  }

  static uint64_t CountLinks(const Node& node, const NodePtr& wanted) {
    uint64_t count = 0;
    for (const auto& [name, child] : node.names) {
      count += (child == wanted ? 1 : 0) + CountLinks(*child, wanted);
    }
    return count;
  }

  uint64_t FreeBytesLocked() const {
    if (capacity_ == kUnlimited) return kUnlimited;
    return capacity_ - std::min(capacity_, UsedBytesLocked());
  }

  uint64_t UsedBytesLocked() const {
    std::map<const Node*, uint64_t> sizes;
    AddSizes(*root_, sizes);
    uint64_t sum = 0;
    for (const auto& [node, size] : sizes) sum += size;
    return sum;
  }
  static void AddSizes(const Node& node, std::map<const Node*, uint64_t>& sizes) {
    sizes[&node] = std::max(node.content.size(), node.allocated);
    for (const auto& [name, child] : node.names) AddSizes(*child, sizes);
  }

  static constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

  std::mutex mutex_;
  const NodePtr root_;
  std::vector<NameOperation> unsafe_operations_;  // in the order in which they were made
  std::shared_ptr<const Hook> hook_;
  std::vector<Fault> faults_;
  uint64_t capacity_ = kUnlimited;
  uint64_t time_ = 0;
};

}  // namespace cairn::testing
