#include "doors/http/html.h"

#include <gtest/gtest.h>

namespace cairn::doors {
namespace {

TEST(HtmlTest, EscapesWhatCouldBeMarkup) {
  EXPECT_EQ(EscapeHtml("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(EscapeHtml("&lt;"), "&amp;lt;");
  EXPECT_EQ(EscapeHtml("größer"), "größer");
  EXPECT_EQ(EscapeHtml(""), "");
}

TEST(HtmlTest, PartsAreEscapedUnlessTheyAreHtml) {
  EXPECT_EQ(HtmlOf("<b>{}</b>{}", {"<i>", Html{"<i>x</i>"}}).text, "<b>&lt;i&gt;</b><i>x</i>");
  EXPECT_EQ(HtmlOf("<p>", {}).text, "<p>");
}

TEST(HtmlTest, BracesInAPartAreNoPlaceForThePartAfterIt) {
  EXPECT_EQ(HtmlOf("{}-{}", {"{}", "a"}).text, "{}-a");
}

TEST(HtmlTest, BackticksInASentenceMakeCode) {
  EXPECT_EQ(Prose("At most `a<b` in `c`.").text, "At most <code>a&lt;b</code> in <code>c</code>.");
  EXPECT_EQ(Prose("One ` alone & no more.").text, "One ` alone &amp; no more.");
}

}  // namespace
}  // namespace cairn::doors
