#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "base/check.h"
#include "base/result.h"

// Why an operation was refused, in words that a program can compare. A refusal is an Error whose
// message begins with the reason's name:
//
//   LEASE_LOST you no longer hold the lease of job_…
//
// That word is the first of a RESP error, and the `code` of an HTTP answer in the form of its API
// (doors/http/error_form.h). A layer has an enum of reasons and a table with one row for each.
namespace cairn {

template <typename Reason>
struct ReasonRow {
  Reason reason;
  std::string_view name;  // "LEASE_LOST"
  ErrorCode code;
  int http_status;
  std::string_view meaning;    // for the documentation
  bool names_subject = false;  // the word behind the name is what was refused: a seat
};

// A refusal taken apart. The texts are parts of the error's message and of its reason's row.
struct Refusal {
  std::string_view reason;
  int http_status;
  std::string_view subject;  // empty: its reason names none
  std::string_view text;     // the message without the reason's name
};

// The reasons of one layer. The rows outlive it. Used from any thread.
template <typename Reason>
class RefusalTable {
 public:
  using Row = ReasonRow<Reason>;

  constexpr explicit RefusalTable(std::span<const Row> rows) : rows_(rows) {}

  std::span<const Row> rows() const { return rows_; }
  const Row& RowOf(Reason reason) const {
    const auto row = std::ranges::find(rows_, reason, &Row::reason);
    CAIRN_CHECK(row != rows_.end(), "reason {}", static_cast<int>(reason));
    return *row;
  }
  // Null for an error that is not a refusal of this layer, which is not an error here.
  const Row* Find(const Error& error) const {
    const auto row = std::ranges::find(rows_, FirstWord(error.message), &Row::name);
    return row == rows_.end() || row->code != error.code ? nullptr : &*row;
  }

  Error Refuse(Reason reason, std::string_view text) const {
    const Row& row = RowOf(reason);
    return {row.code, fmt::format("{} {}", row.name, text)};
  }

  // nullopt for an error that is not a refusal of this layer.
  std::optional<Refusal> Read(const Error& error) const {
    const Row* const row = Find(error);
    if (row == nullptr) return std::nullopt;
    std::string_view text = error.message;
    text.remove_prefix(std::min(row->name.size() + 1, text.size()));
    return Refusal{row->name, row->http_status,
                   row->names_subject ? FirstWord(text) : std::string_view(), text};
  }
  // The message without the reason's name; the whole message of any other error.
  std::string_view TextOf(const Error& error) const {
    const std::optional<Refusal> refusal = Read(error);
    return refusal ? refusal->text : std::string_view(error.message);
  }

 private:
  static std::string_view FirstWord(std::string_view text) {
    return text.substr(0, text.find(' '));
  }

  std::span<const Row> rows_;
};

}  // namespace cairn
