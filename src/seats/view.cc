#include "seats/view.h"

#include <fmt/format.h>

#include "base/json_text.h"
#include "seats/time_text.h"

namespace cairn::seats {
namespace {

void AppendName(std::string_view name, std::string& out) {
  if (out.back() != '{') out.push_back(',');
  out.push_back('"');
  out.append(name).append("\":");
}

void AppendText(std::string_view name, std::string_view value, std::string& out) {
  AppendName(name, out);
  AppendJsonString(value, out);
}

void AppendNumber(std::string_view name, int64_t value, std::string& out) {
  AppendName(name, out);
  AppendInteger(value, out);
}

void AppendTime(std::string_view name, Timestamp value, std::string& out) {
  AppendText(name, FormatTime(value), out);
}

}  // namespace

void AppendInteger(int64_t value, std::string& out) {
  const fmt::format_int digits(value);
  out.append(digits.data(), digits.size());
}

void AppendCounts(const Counts& counts, std::string& out) {
  out.push_back('{');
  AppendNumber("available", counts.available, out);
  AppendNumber("reserved", counts.reserved, out);
  AppendNumber("sold", counts.sold, out);
  AppendNumber("blocked", counts.blocked(), out);
  AppendNumber("total", counts.total, out);
  out.push_back('}');
}

void AppendStrings(const std::vector<std::string>& strings, std::string& out) {
  out.push_back('[');
  for (const std::string& text : strings) {
    if (out.back() != '[') out.push_back(',');
    AppendJsonString(text, out);
  }
  out.push_back(']');
}

std::string CountsJson(const Counts& section, const Counts& event) {
  std::string out = R"({"section_stats":)";
  AppendCounts(section, out);
  out += R"(,"event_stats":)";
  AppendCounts(event, out);
  return out + "}";
}

std::string ChangeJson(const Event& event, const Section& section, const Change& change,
                       Timestamp now) {
  std::string out = "{";
  AppendText("change", change.what, out);
  AppendText("section", section.id, out);
  AppendText("state", StateName(change.state), out);
  AppendName("seats", out);
  AppendStrings(change.seats, out);
  AppendName("section_stats", out);
  AppendCounts(section.counts, out);
  AppendName("event_stats", out);
  AppendCounts(event.counts(), out);
  AppendTime("at", now, out);
  out.push_back('}');
  return out;
}

std::string BookingJson(const Booking& booking, Timestamp now) {
  std::string out = "{";
  AppendText("id", booking.id, out);
  AppendText("event_id", booking.event, out);
  AppendText("section", booking.section, out);
  AppendText("mode", ModeName(booking.mode), out);
  AppendText("status", StatusName(booking.StatusAt(now)), out);
  AppendNumber("quantity", booking.quantity, out);
  AppendName("seats", out);
  AppendStrings(booking.seats, out);
  AppendNumber("total_price", booking.total_price, out);
  if (!booking.buyer.empty()) AppendText("buyer", booking.buyer, out);
  AppendTime("created_at", booking.created_at, out);
  AppendTime("updated_at", booking.updated_at, out);
  AppendTime("expires_at", booking.expires_at, out);
  if (booking.paid_at) AppendTime("paid_at", *booking.paid_at, out);
  if (booking.extended_by) AppendNumber("extended_by", *booking.extended_by, out);
  if (!booking.error_message.empty()) AppendText("error_message", booking.error_message, out);
  out.push_back('}');
  return out;
}

std::string AnswerJson(const Booking& booking, const Counts& section, const Counts& event,
                       Timestamp now) {
  std::string out = "{";
  AppendName("booking", out);
  out += BookingJson(booking, now);
  AppendName("section_stats", out);
  AppendCounts(section, out);
  AppendName("event_stats", out);
  AppendCounts(event, out);
  out.push_back('}');
  return out;
}

}  // namespace cairn::seats
