#include "house/verify.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace cairn::house {
namespace {

namespace json = boost::json;

std::string ResultLine(std::string_view layer, const Verification& verification) {
  json::array problems;
  for (const std::string& problem : verification.problems()) problems.emplace_back(problem);
  return json::serialize(json::object{{"layer", layer},
                                      {"rows", verification.rows()},
                                      {"sound", verification.sound()},
                                      {"problems", std::move(problems)},
                                      {"more_problems", verification.more_problems()}});
}

}  // namespace

void Verification::Problem(std::string sentence) {
  if (problems_.size() == kMaxProblems) {
    ++more_problems_;
  } else {
    problems_.push_back(std::move(sentence));
  }
}

bool Verification::Read(uint64_t rows) {
  rows_ += rows;
  if (rows_ >= next_report_) {
    next_report_ = rows_ + kReportRows;
    abandoned_ = abandoned_ || (progress_ && !progress_(rows_));
  }
  return !abandoned_;
}

Result<bool> VerifyAll(store::Store& store, const std::vector<LayerCheck>& checks,
                       const std::function<bool(std::string line)>& tell) {
  bool sound = true;
  uint64_t rows = 0;
  for (const LayerCheck& check : checks) {
    Verification verification([&](uint64_t read) {
      return tell(json::serialize(json::object{{"layer", check.layer}, {"rows", read}}));
    });
    CAIRN_RETURN_IF_ERROR(check.run(store, verification));
    if (verification.abandoned() || !tell(ResultLine(check.layer, verification))) return false;
    sound = sound && verification.sound();
    rows += verification.rows();
  }
  tell(json::serialize(json::object{{"sound", sound}, {"rows", rows}}));
  return sound;
}

}  // namespace cairn::house
