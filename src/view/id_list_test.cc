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
