#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <set>
#include <utility>

namespace cairn::net {

// The memory that requests and replies may take together, of all connections of a server and of
// both doors.
//
// What a connection holds is its *share*: input that is not executed, output that is not sent, what
// the handler keeps for it. When all shares are more than the limit, the connection with the
// largest share is disconnected, again and again until the rest fits. So a client that does not
// read its replies, or sends half a request and waits, costs itself the connection and nobody else.
//
// A reply that is being made belongs to no buffer yet. It is *charged* as it grows; where even half
// the limit more is used up, the charge is refused and the request fails.
//
// Safe to use from any thread. Outlives its shares and charges.
class BufferBudget {
 public:
  static constexpr size_t kUnlimited = std::numeric_limits<size_t>::max() / 4;

  // Whoever serves a connection: told to end it, from any thread, inside the budget's lock. Must
  // not wait, and not call the budget.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void Disconnect(uint64_t connection_id, size_t bytes) = 0;
  };

  // What one connection holds. Used by one thread at a time; its owner outlives it.
  class Share {
   public:
    Share(BufferBudget& budget, Owner& owner, uint64_t connection_id)
        : budget_(budget), owner_(owner), id_(connection_id) {}
    ~Share() { Set(0); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Little is not counted, and what changed little is not counted anew: most calls do nothing.
    void Set(size_t bytes) {
      const size_t rounded = Rounded(bytes);
      if (rounded != bytes_) budget_.Change(*this, rounded);
    }
    // Its connection is about to be ended: it need not do anything more.
    bool doomed() const { return doomed_.load(std::memory_order_relaxed); }

   private:
    friend class BufferBudget;
    static size_t Rounded(size_t bytes);

    BufferBudget& budget_;
    Owner& owner_;
    const uint64_t id_;
    size_t bytes_ = 0;
    std::atomic<bool> doomed_ = false;
  };

  explicit BufferBudget(size_t limit = kUnlimited) : limit_(limit) {}
  BufferBudget(const BufferBudget&) = delete;
  BufferBudget& operator=(const BufferBudget&) = delete;

  size_t limit() const { return limit_; }
  size_t used() const { return shares_.load() + charged_.load(); }
  // Connections that were ended because of their share.
  uint64_t disconnected() const { return disconnected_.load(std::memory_order_relaxed); }
  // Charges that were refused.
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

  // `bytes` more for something that holds `before` already. To make room, connections are ended
  // whose shares are larger than that. False: there is no room, and nothing was charged.
  bool TryCharge(size_t bytes, size_t before);
  // What is there already, whether there is room or not.
  void Charge(size_t bytes) { charged_ += bytes; }
  void Release(size_t bytes) { charged_ -= bytes; }

 private:
  // By size, the largest last.
  using Largest = std::set<std::pair<size_t, Share*>>;

  void Change(Share& share, size_t bytes);
  // Ends connections as long as all is more than the limit, but none with a share below `least`.
  void Shed(size_t more, size_t least);

  const size_t limit_;
  std::atomic<size_t> shares_ = 0;
  std::atomic<size_t> charged_ = 0;
  std::atomic<uint64_t> disconnected_ = 0;
  std::atomic<uint64_t> refused_ = 0;
  std::mutex mutex_;
  Largest largest_;    // the shares that are not doomed
  size_t doomed_ = 0;  // of the shares whose connections are about to end
};

// A charge for something that is there as long as this object. Without a budget, nothing.
class BufferCharge {
 public:
  BufferCharge(BufferBudget* budget, size_t bytes) : budget_(budget), bytes_(bytes) {
    if (budget_ != nullptr) budget_->Charge(bytes_);
  }
  ~BufferCharge() {
    if (budget_ != nullptr) budget_->Release(bytes_);
  }
  BufferCharge(const BufferCharge&) = delete;
  BufferCharge& operator=(const BufferCharge&) = delete;

 private:
  BufferBudget* const budget_;
  const size_t bytes_;
};

}  // namespace cairn::net
