#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "store/store.h"
#include "view/feed.h"
#include "view/pace.h"
#include "view/sqlite.h"

namespace cairn::view {

// The jobs of a store as SQLite tables, for questions that keys cannot answer.
//
// Operation: a thread of its own, of low priority, sleeps until a commit wakes the event log's
// topic, applies what the log has (feed.h) and sleeps again; nothing that commits ever waits for
// it. While others want the processors it takes its time (pace.h), until somebody asks. The file is
// a copy: if it is missing, damaged, of another store, or has fallen behind what the log keeps, it
// is built anew beside the old one, which goes on answering until the new one takes its place.
//
// Concurrency: safe to use from any thread. Readers have connections of their own and see the file
// as of the start of their query; they wait for no writer.
class View {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // The folder of `file` is made if it does not exist. No two views may have the same file: the
  // second one waits for the end of the first. `store` and `random` outlive the view.
  View(store::Store& store, std::string file, Random& random, Log log,
       std::shared_ptr<jobs::EventGaps> gaps = std::make_shared<jobs::EventGaps>());
  ~View();  // stops
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  void Start();
  // Finishes the step under way and closes the file properly. Waiting calls fail.
  void Stop();

  const std::string& file() const { return file_; }
  // The last event in the view.
  uint64_t position() const;
  // Returns when the view has everything that was committed before the call, and its position.
  // kUnavailable if that takes longer.
  Result<uint64_t> WaitUntilCurrent(Deadline deadline);

  // The same for somebody who must not wait: a demand for everything that was committed before it
  // was made. Gone before the view is.
  class Demand {
   public:
    // `met` is called once, from any thread, when the demand is met or the view stops; not after
    // the demand is gone. It must not call the view.
    Demand(View& view, std::function<void()> met);
    ~Demand();
    Demand(const Demand&) = delete;
    Demand& operator=(const Demand&) = delete;

    // What WaitUntilCurrent would return now, at its deadline.
    Result<uint64_t> Outcome() const;

   private:
    View& view_;
    uint64_t number_ = 0;
  };

  // Builds the file anew and returns how many jobs it has.
  Result<int64_t> Rebuild(Deadline deadline);

  // A connection for reading, until given back. Its queries fail with kUnavailable after
  // `deadline`.
  class Reading {
   public:
    Database& database() { return *database_; }
    Reading(Reading&&) = default;
    ~Reading();

   private:
    friend class View;
    Reading(View& view, std::shared_lock<std::shared_mutex> lock,
            std::unique_ptr<Database> database)
        : view_(&view), lock_(std::move(lock)), database_(std::move(database)) {}

    View* view_;
    std::shared_lock<std::shared_mutex> lock_;  // the file is not exchanged meanwhile
    std::unique_ptr<Database> database_;
  };
  Result<Reading> Read(Deadline deadline);

 private:
  void ThreadMain();
  // One look at the log.
  Result<Feed::Step> Work();
  // After a step, if there is no hurry; `pace` has what the step took.
  void Rest(const Feed::Step& step, Pace pace);
  // Whether somebody waits for the thread. Under mutex_.
  bool asked() const { return asked_ > answered_ || rebuilds_asked_ > rebuilds_done_; }
  // Answers who may be, of those that had asked for `asked` numbers before the step. Under mutex_.
  void Answer(uint64_t asked, const Feed::Step& step);
  // All numbers up to this one have their answer. Under mutex_.
  void AnswerUpTo(uint64_t number);
  // What the holder of a number is told now. Under mutex_.
  Result<uint64_t> OutcomeOf(uint64_t number) const;
  Result<void> OpenFeed();
  Result<void> LockFile();
  Result<int64_t> BuildAnew();
  Result<void> Exchange(const std::string& built);
  bool stopping() const;
  void Fail(const Error& error);

  store::Store& store_;
  const std::string file_;
  Random& random_;
  const Log log_;
  const std::shared_ptr<jobs::EventGaps> gaps_;

  // The thread's own.
  std::unique_ptr<Feed> feed_;
  std::string store_id_;
  int lock_fd_ = -1;

  // Held shared by whoever reads the file, alone by who exchanges it.
  std::shared_mutex file_mutex_;
  std::mutex idle_mutex_;
  std::vector<std::unique_ptr<Database>> idle_;  // connections for reading

  mutable std::mutex mutex_;
  std::condition_variable thread_wakes_;
  std::condition_variable progress_;
  bool stopping_ = false;
  bool woken_ = true;
  // Who wants to see everything up to now takes a number. The thread notes how far the log went
  // when it began a look, and answers the numbers taken before that look when the view has come so
  // far: however fast the log grows meanwhile, and whether or not it is ever at its end.
  uint64_t asked_ = 0;
  uint64_t answered_ = 0;
  struct Goal {
    uint64_t asked = 0;  // numbers up to this
    uint64_t event = 0;
  };
  std::optional<Goal> goal_;
  std::map<uint64_t, std::function<void()>> demands_;  // not met yet, by number
  uint64_t rebuilds_asked_ = 0;
  uint64_t rebuilds_done_ = 0;
  Result<int64_t> last_rebuild_ = int64_t{0};
  bool open_ = false;  // the file has been a whole view once
  uint64_t position_ = 0;
  std::optional<Error> trouble_;  // why the last look failed

  store::Subscription wake_;
  std::thread thread_;
};

}  // namespace cairn::view
