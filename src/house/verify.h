#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/store.h"

// Each layer can check its invariants: that the rows it owns say the same about each other.
// `cairn verify` and GET /v1/admin/verify run the checks of all layers.
namespace cairn::house {

// What a check has found, and how far it is. Used by one thread.
class Verification {
 public:
  static constexpr size_t kMaxProblems = 100;  // kept; further ones are only counted
  static constexpr uint64_t kReportRows = 100'000;

  // Called about every kReportRows rows. Returns whether to go on.
  using Progress = std::function<bool(uint64_t rows)>;

  Verification() = default;
  explicit Verification(Progress progress) : progress_(std::move(progress)) {}

  // One sentence that names the row or the key it is about.
  void Problem(std::string sentence);
  // Further problems whose sentences nobody has kept.
  void CountProblems(int64_t more) { more_problems_ += more; }
  // `rows` more were read. False once nobody wants the answer any more: the check then returns
  // soon, with whatever it has.
  [[nodiscard]] bool Read(uint64_t rows = 1);

  bool sound() const { return problems_.empty(); }
  bool abandoned() const { return abandoned_; }
  uint64_t rows() const { return rows_; }
  const std::vector<std::string>& problems() const { return problems_; }
  int64_t more_problems() const { return more_problems_; }

 private:
  Progress progress_;
  uint64_t rows_ = 0;
  uint64_t next_report_ = kReportRows;
  bool abandoned_ = false;
  std::vector<std::string> problems_;
  int64_t more_problems_ = 0;
};

// Reads all rows of a layer, as of one moment. Called on a thread that may wait, while the store is
// in use. An Error means that the store could not be read; what is wrong with the rows goes into
// `verification`.
using VerifyFunction = std::function<Result<void>(store::Store& store, Verification& verification)>;

struct LayerCheck {
  std::string_view layer;
  VerifyFunction run;
};

// Runs the checks one after the other. Each line is told as soon as it is known; a line is one JSON
// object without a line break:
//
//   {"layer":"data","rows":100000}                                  still reading
//   {"layer":"data","rows":123456,"sound":true,"problems":[],"more_problems":0}
//   {"sound":true,"rows":345678}                                    the last one
//
// `tell` returns whether to go on. An Error is the store's; the lines told so far stand.
Result<bool> VerifyAll(store::Store& store, const std::vector<LayerCheck>& checks,
                       const std::function<bool(std::string line)>& tell);

}  // namespace cairn::house
