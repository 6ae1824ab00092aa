#include "tests/support/power_loss_fs.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>

namespace cairn::testing {
namespace {

using ::rocksdb::IODebugContext;
using ::rocksdb::IOOptions;
using ::rocksdb::IOStatus;
using ::rocksdb::Slice;

using Rng = std::mt19937_64;
using Step = PowerLossFs::Step;

constexpr uint64_t kSectorSize = 512;
constexpr uint64_t kBlockSize = 8 * kSectorSize;

IOStatus NoSuchPath(const std::string& path) {
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

}  // namespace

struct PowerLossFs::Node {
  using Names = std::map<std::string, std::shared_ptr<Node>>;

  bool is_directory = false;
  bool is_locked = false;
  uint64_t modified = 0;
  Content content;  // of a file, as it is and as it was last synced
  Content safe_content;
  Names names;  // of a directory, as they are and as they were last synced
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
    const uint64_t growth = end > node.content.size() ? end - node.content.size() : 0;
    const uint64_t room = growth > 0 ? FreeBytesLocked() : 0;
    const uint64_t missing = std::min<uint64_t>(growth > room ? growth - room : 0, data.size());
    const size_t fitting = data.size() - missing;
    node.content.Write(offset, {data.data(), fitting});
    node.modified = ++time_;
    *written += fitting;
    return fitting < data.size() ? IOStatus::NoSpace(path, "no space left") : IOStatus::OK();
  }

  IOStatus Truncate(Node& node, const std::string& path, uint64_t size) {
    IOStatus status = Begin(Step::kTruncate, path);
    if (!status.ok()) return status;
    const std::lock_guard lock(mutex_);
    node.content.Truncate(size);
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
    if (cut_to) node.content.Truncate(*cut_to);
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
    sizes[&node] = node.content.size();
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

namespace {

using DiskPtr = std::shared_ptr<PowerLossFs::Disk>;
using NodePtr = std::shared_ptr<PowerLossFs::Node>;

// What all open files have.
struct Handle {
  DiskPtr disk;
  NodePtr node;
  std::string path;
};

class SequentialFile final : public ::rocksdb::FSSequentialFile {
 public:
  explicit SequentialFile(Handle handle) : handle_(std::move(handle)) {}

  IOStatus Read(size_t length, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) override {
    IOStatus status = PositionedRead(position_, length, options, result, scratch, debug);
    position_ += result->size();
    return status;
  }
  IOStatus PositionedRead(uint64_t offset, size_t length, const IOOptions& /*options*/,
                          Slice* result, char* scratch, IODebugContext* /*debug*/) override {
    return handle_.disk->Read(*handle_.node, offset, length, result, scratch);
  }
  IOStatus Skip(uint64_t length) override {
    position_ += length;
    return IOStatus::OK();
  }
  IOStatus InvalidateCache(size_t /*offset*/, size_t /*length*/) override { return IOStatus::OK(); }

 private:
  Handle handle_;
  uint64_t position_ = 0;
};

class RandomAccessFile final : public ::rocksdb::FSRandomAccessFile {
 public:
  explicit RandomAccessFile(Handle handle) : handle_(std::move(handle)) {}

  IOStatus Read(uint64_t offset, size_t length, const IOOptions& /*options*/, Slice* result,
                char* scratch, IODebugContext* /*debug*/) const override {
    return handle_.disk->Read(*handle_.node, offset, length, result, scratch);
  }
  IOStatus Prefetch(uint64_t /*offset*/, size_t /*length*/, const IOOptions& /*options*/,
                    IODebugContext* /*debug*/) override {
    return IOStatus::OK();
  }
  IOStatus InvalidateCache(size_t /*offset*/, size_t /*length*/) override { return IOStatus::OK(); }

 private:
  Handle handle_;
};

class WritableFile final : public ::rocksdb::FSWritableFile {
 public:
  WritableFile(Handle handle, uint64_t position, const ::rocksdb::FileOptions& options)
      : FSWritableFile(options), handle_(std::move(handle)), position_(position) {}

  using FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions& /*options*/,
                  IODebugContext* /*debug*/) override {
    return handle_.disk->Write(*handle_.node, handle_.path, position_, data, &position_);
  }
  using FSWritableFile::PositionedAppend;
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions& options,
                            IODebugContext* debug) override {
    position_ = offset;
    return Append(data, options, debug);
  }
  IOStatus Truncate(uint64_t size, const IOOptions& /*options*/,
                    IODebugContext* /*debug*/) override {
    position_ = size;
    return handle_.disk->Truncate(*handle_.node, handle_.path, size);
  }
  IOStatus Close(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    size_t block_size = 0;
    size_t preallocated_blocks = 0;
    GetPreallocationStatus(&block_size, &preallocated_blocks);
    std::optional<uint64_t> cut_to;
    if (preallocated_blocks > 0) cut_to = position_;
    return handle_.disk->Close(*handle_.node, handle_.path, cut_to);
  }
  IOStatus Flush(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return IOStatus::OK();
  }
  IOStatus Sync(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return handle_.disk->Sync(*handle_.node, handle_.path);
  }
  IOStatus RangeSync(uint64_t /*offset*/, uint64_t /*length*/, const IOOptions& /*options*/,
                     IODebugContext* /*debug*/) override {
    return IOStatus::OK();
  }
  bool IsSyncThreadSafe() const override { return true; }
  uint64_t GetFileSize(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return position_;
  }
  IOStatus InvalidateCache(size_t /*offset*/, size_t /*length*/) override { return IOStatus::OK(); }

 private:
  Handle handle_;
  uint64_t position_;
};

class RandomRWFile final : public ::rocksdb::FSRandomRWFile {
 public:
  explicit RandomRWFile(Handle handle) : handle_(std::move(handle)) {}

  IOStatus Write(uint64_t offset, const Slice& data, const IOOptions& /*options*/,
                 IODebugContext* /*debug*/) override {
    uint64_t written = 0;
    return handle_.disk->Write(*handle_.node, handle_.path, offset, data, &written);
  }
  IOStatus Read(uint64_t offset, size_t length, const IOOptions& /*options*/, Slice* result,
                char* scratch, IODebugContext* /*debug*/) const override {
    return handle_.disk->Read(*handle_.node, offset, length, result, scratch);
  }
  IOStatus Flush(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return IOStatus::OK();
  }
  IOStatus Sync(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return handle_.disk->Sync(*handle_.node, handle_.path);
  }
  IOStatus Close(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return handle_.disk->Close(*handle_.node, handle_.path, std::nullopt);
  }

 private:
  Handle handle_;
};

class Directory final : public ::rocksdb::FSDirectory {
 public:
  explicit Directory(Handle handle) : handle_(std::move(handle)) {}

  IOStatus Fsync(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return handle_.disk->SyncDirectory(handle_.node, handle_.path);
  }
  IOStatus Close(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return IOStatus::OK();
  }

 private:
  Handle handle_;
};

class HeldLock final : public ::rocksdb::FileLock {
 public:
  explicit HeldLock(Handle held) : handle(std::move(held)) {}

  const Handle handle;
};

class NoLogger final : public ::rocksdb::Logger {
 public:
  using Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
  // Asked for when RocksDB rolls its log by size.
  size_t GetLogFileSize() const override { return 0; }
};

}  // namespace

PowerLossFs::PowerLossFs() : disk_(std::make_shared<Disk>(*Disk::NewRoot())) {}
PowerLossFs::PowerLossFs(const Image& image) : disk_(std::make_shared<Disk>(*image.root_)) {}
PowerLossFs::~PowerLossFs() = default;

PowerLossFs::Image PowerLossFs::StrictImage() const {
  return Image(disk_->AfterPowerLoss(std::nullopt));
}
PowerLossFs::Image PowerLossFs::TornImage(uint64_t seed) const {
  return Image(disk_->AfterPowerLoss(seed));
}

void PowerLossFs::SetHook(Hook hook) { disk_->SetHook(std::move(hook)); }
void PowerLossFs::FailNext(Step step, std::string path_part, IOStatus status, int times) {
  disk_->AddFault(step, std::move(path_part), std::move(status), times);
}
void PowerLossFs::SetCapacity(uint64_t bytes) { disk_->SetCapacity(bytes); }
uint64_t PowerLossFs::used_bytes() const { return disk_->UsedBytes(); }

IOStatus PowerLossFs::NewSequentialFile(const std::string& path, const FileOptions& /*options*/,
                                        std::unique_ptr<::rocksdb::FSSequentialFile>* result,
                                        Debug* /*debug*/) {
  NodePtr node;
  IOStatus status = disk_->Find(path, &node);
  if (status.ok()) *result = std::make_unique<SequentialFile>(Handle{disk_, node, path});
  return status;
}

IOStatus PowerLossFs::NewRandomAccessFile(const std::string& path, const FileOptions& /*options*/,
                                          std::unique_ptr<::rocksdb::FSRandomAccessFile>* result,
                                          Debug* /*debug*/) {
  NodePtr node;
  IOStatus status = disk_->Find(path, &node);
  if (status.ok()) *result = std::make_unique<RandomAccessFile>(Handle{disk_, node, path});
  return status;
}

IOStatus PowerLossFs::NewWritableFile(const std::string& path, const FileOptions& options,
                                      std::unique_ptr<::rocksdb::FSWritableFile>* result,
                                      Debug* /*debug*/) {
  NodePtr node;
  IOStatus status = disk_->Open(path, Disk::Existing::kCut, &node);
  if (status.ok()) *result = std::make_unique<WritableFile>(Handle{disk_, node, path}, 0, options);
  return status;
}

IOStatus PowerLossFs::ReopenWritableFile(const std::string& path, const FileOptions& options,
                                         std::unique_ptr<::rocksdb::FSWritableFile>* result,
                                         Debug* debug) {
  NodePtr node;
  uint64_t size = 0;
  IOStatus status = disk_->Open(path, Disk::Existing::kKeep, &node);
  if (status.ok()) status = GetFileSize(path, {}, &size, debug);
  if (status.ok()) {
    *result = std::make_unique<WritableFile>(Handle{disk_, node, path}, size, options);
  }
  return status;
}

IOStatus PowerLossFs::ReuseWritableFile(const std::string& path, const std::string& old_path,
                                        const FileOptions& options,
                                        std::unique_ptr<::rocksdb::FSWritableFile>* result,
                                        Debug* /*debug*/) {
  NodePtr node;
  IOStatus status = disk_->Rename(old_path, path);
  if (status.ok()) status = disk_->Open(path, Disk::Existing::kKeep, &node);
  if (status.ok()) *result = std::make_unique<WritableFile>(Handle{disk_, node, path}, 0, options);
  return status;
}

IOStatus PowerLossFs::NewRandomRWFile(const std::string& path, const FileOptions& /*options*/,
                                      std::unique_ptr<::rocksdb::FSRandomRWFile>* result,
                                      Debug* /*debug*/) {
  NodePtr node;
  IOStatus status = disk_->Open(path, Disk::Existing::kKeep, &node);
  if (status.ok()) *result = std::make_unique<RandomRWFile>(Handle{disk_, node, path});
  return status;
}

IOStatus PowerLossFs::NewDirectory(const std::string& path, const IOOptions& /*options*/,
                                   std::unique_ptr<::rocksdb::FSDirectory>* result,
                                   Debug* /*debug*/) {
  NodePtr node;
  IOStatus status = disk_->Find(path, &node);
  if (status.ok() && !node->is_directory) status = IOStatus::IOError(path, "not a directory");
  if (status.ok()) *result = std::make_unique<Directory>(Handle{disk_, node, path});
  return status;
}

IOStatus PowerLossFs::NewLogger(const std::string& /*path*/, const IOOptions& /*options*/,
                                std::shared_ptr<::rocksdb::Logger>* result, Debug* /*debug*/) {
  *result = std::make_shared<NoLogger>();
  return IOStatus::OK();
}

IOStatus PowerLossFs::FileExists(const std::string& path, const IOOptions& /*options*/,
                                 Debug* /*debug*/) {
  NodePtr node;
  return disk_->Find(path, &node).ok() ? IOStatus::OK() : IOStatus::NotFound(path);
}

IOStatus PowerLossFs::IsDirectory(const std::string& path, const IOOptions& /*options*/,
                                  bool* is_directory, Debug* /*debug*/) {
  Disk::Facts facts;
  IOStatus status = disk_->Describe(path, &facts);
  if (status.ok()) *is_directory = facts.is_directory;
  return status;
}

IOStatus PowerLossFs::GetChildren(const std::string& path, const IOOptions& /*options*/,
                                  std::vector<std::string>* result, Debug* /*debug*/) {
  Disk::Facts facts;
  const IOStatus status = disk_->Describe(path, &facts);
  if (!status.ok() || !facts.is_directory) return IOStatus::NotFound(path);
  *result = std::move(facts.children);
  return IOStatus::OK();
}

IOStatus PowerLossFs::GetFileSize(const std::string& path, const IOOptions& /*options*/,
                                  uint64_t* size, Debug* /*debug*/) {
  Disk::Facts facts;
  IOStatus status = disk_->Describe(path, &facts);
  if (status.ok()) *size = facts.size;
  return status;
}

IOStatus PowerLossFs::GetFileModificationTime(const std::string& path, const IOOptions& /*options*/,
                                              uint64_t* time, Debug* /*debug*/) {
  Disk::Facts facts;
  IOStatus status = disk_->Describe(path, &facts);
  if (status.ok()) *time = facts.modified;
  return status;
}

IOStatus PowerLossFs::NumFileLinks(const std::string& path, const IOOptions& /*options*/,
                                   uint64_t* count, Debug* /*debug*/) {
  Disk::Facts facts;
  IOStatus status = disk_->Describe(path, &facts);
  if (status.ok()) *count = facts.links;
  return status;
}

IOStatus PowerLossFs::AreFilesSame(const std::string& first, const std::string& second,
                                   const IOOptions& /*options*/, bool* same, Debug* /*debug*/) {
  NodePtr a;
  NodePtr b;
  IOStatus status = disk_->Find(first, &a);
  if (status.ok()) status = disk_->Find(second, &b);
  if (status.ok()) *same = a == b;
  return status;
}

IOStatus PowerLossFs::GetFreeSpace(const std::string& /*path*/, const IOOptions& /*options*/,
                                   uint64_t* bytes, Debug* /*debug*/) {
  *bytes = disk_->FreeBytes();
  return IOStatus::OK();
}

IOStatus PowerLossFs::GetAbsolutePath(const std::string& path, const IOOptions& /*options*/,
                                      std::string* result, Debug* /*debug*/) {
  *result = path.starts_with('/') ? path : "/" + path;
  return IOStatus::OK();
}

IOStatus PowerLossFs::GetTestDirectory(const IOOptions& /*options*/, std::string* result,
                                       Debug* /*debug*/) {
  *result = "/test";
  return IOStatus::OK();
}

IOStatus PowerLossFs::DeleteFile(const std::string& path, const IOOptions& /*options*/,
                                 Debug* /*debug*/) {
  return disk_->Remove(Step::kDeleteFile, path);
}

IOStatus PowerLossFs::Truncate(const std::string& path, size_t size, const IOOptions& /*options*/,
                               Debug* /*debug*/) {
  NodePtr node;
  const IOStatus status = disk_->Find(path, &node);
  return status.ok() ? disk_->Truncate(*node, path, size) : status;
}

IOStatus PowerLossFs::CreateDir(const std::string& path, const IOOptions& /*options*/,
                                Debug* /*debug*/) {
  return disk_->Make(Step::kCreateDirectory, path, Disk::NewDirectory());
}

IOStatus PowerLossFs::CreateDirIfMissing(const std::string& path, const IOOptions& options,
                                         Debug* debug) {
  bool is_directory = false;
  if (!IsDirectory(path, options, &is_directory, debug).ok())
    return CreateDir(path, options, debug);
  return is_directory ? IOStatus::OK() : IOStatus::IOError(path, "not a directory");
}

IOStatus PowerLossFs::DeleteDir(const std::string& path, const IOOptions& /*options*/,
                                Debug* /*debug*/) {
  return disk_->Remove(Step::kDeleteDirectory, path);
}

IOStatus PowerLossFs::RenameFile(const std::string& from, const std::string& to,
                                 const IOOptions& /*options*/, Debug* /*debug*/) {
  return disk_->Rename(from, to);
}

IOStatus PowerLossFs::LinkFile(const std::string& from, const std::string& to,
                               const IOOptions& /*options*/, Debug* /*debug*/) {
  NodePtr node;
  const IOStatus status = disk_->Find(from, &node);
  return status.ok() ? disk_->Make(Step::kLink, to, node) : status;
}

IOStatus PowerLossFs::LockFile(const std::string& path, const IOOptions& /*options*/,
                               ::rocksdb::FileLock** lock, Debug* /*debug*/) {
  *lock = nullptr;
  NodePtr node;
  IOStatus status = disk_->Open(path, Disk::Existing::kKeep, &node);
  if (!status.ok()) return status;
  if (!disk_->TryLock(*node)) return IOStatus::IOError(path, "lock is held");
  *lock = new HeldLock({disk_, node, path});
  return IOStatus::OK();
}

IOStatus PowerLossFs::UnlockFile(::rocksdb::FileLock* lock, const IOOptions& /*options*/,
                                 Debug* /*debug*/) {
  const std::unique_ptr<HeldLock> held(static_cast<HeldLock*>(lock));
  disk_->Unlock(*held->handle.node);
  return IOStatus::OK();
}

}  // namespace cairn::testing
