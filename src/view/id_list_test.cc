#include "view/id_list.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/temp_directory.h"

namespace cairn::view {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class IdListTest : public ::testing::Test {
 protected:
  IdListTest() {
    Result<Database> opened = Database::Open(dir_ / "view", OpenMode::kReadWrite);
    view_ = std::make_unique<Database>(std::move(*opened));
    Execute("CREATE TABLE jobs (id TEXT PRIMARY KEY, queue TEXT)");
    Execute("CREATE INDEX by_queue ON jobs (queue)");
  }
  void Execute(const std::string& sql) {
    const Result<void> done = view_->Execute(sql);
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  Result<IdList> Make(const IdList::Bounds& bounds, bool go_on = true) {
    return IdList::Make(*view_, Condition("queue = ?", {std::string("q")}), bounds, dir_ / "list",
                        [&] { return go_on; });
  }

  cairn::testing::TempDirectory dir_;
  std::unique_ptr<Database> view_;
};

TEST_F(IdListTest, HasTheIdsOfOneMomentInOrder) {
  Execute("INSERT INTO jobs VALUES ('c','q'), ('a','q'), ('x','r'), ('b','q'), ('d','q')");
  Result<IdList> list = Make({.after = "", .until = "~"});
  ASSERT_TRUE(list.ok()) << list.error().message;
  // Whatever becomes of them, and of the view.
  Execute("UPDATE jobs SET queue = 'r' WHERE id < 'c'; INSERT INTO jobs VALUES ('aa', 'q')");
  view_.reset();
  EXPECT_THAT(*list->Next("", 3), ElementsAre("a", "b", "c"));
  EXPECT_THAT(*list->Next("c", 3), ElementsAre("d"));
  EXPECT_THAT(*list->Next("d", 3), IsEmpty());
  EXPECT_THAT(*list->Next("b", 1), ElementsAre("c"));
}

TEST_F(IdListTest, HasThoseWithinItsBounds) {
  Execute("INSERT INTO jobs VALUES ('a','q'), ('b','q'), ('c','q'), ('d','q')");
  Result<IdList> list = Make({.after = "a", .until = "c"});
  ASSERT_TRUE(list.ok());
  EXPECT_THAT(*list->Next("", 10), ElementsAre("b", "c"));
}

// What one job of a bulk action costs does not depend on how many there are. (When each step asked
// the view, it sorted all that were left.)
TEST_F(IdListTest, AJobCostsTheSameInALargeListAsInASmallOne) {
  const auto work_per_job = [&](int64_t jobs) -> double {
    Execute("DELETE FROM jobs");
    Execute(fmt::format(
        "INSERT INTO jobs WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
        "{0}) SELECT printf('job_%08d', {0} - i), iif(i % 2, 'q', 'r') FROM n",
        2 * jobs));
    Result<IdList> list = Make({.after = "", .until = "~"});
    EXPECT_TRUE(list.ok());
    int64_t found = 0;
    for (std::string after;;) {
      const Result<std::vector<std::string>> ids = list->Next(after, 200);
      EXPECT_TRUE(ids.ok());
      if (ids->empty()) break;
      found += static_cast<int64_t>(ids->size());
      after = ids->back();
    }
    EXPECT_EQ(found, jobs);
    return static_cast<double>(list->work()) / static_cast<double>(jobs);
  };
  const double small = work_per_job(1'000);
  EXPECT_GT(small, 1);
  EXPECT_LT(work_per_job(32'000), 1.2 * small);
}

TEST_F(IdListTest, LeavesNoFileBehind) {
  Execute(
      "INSERT INTO jobs WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
      "20000) SELECT printf('job_%08d', 20001 - i), 'q' FROM n");
  const Result<IdList> list = Make({.after = "", .until = "~"});
  ASSERT_TRUE(list.ok());
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("list")) << entry.path();
  }
  const Result<IdList> stopped = Make({.after = "", .until = "~"}, /*go_on=*/false);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace cairn::view
