#include "data/rows.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "data/numbers.hpp"

namespace xtrellis::data {
namespace {

class Parser {
public:
    Parser(std::span<const char> text, const RowLayout& layout)
        : begin_(text.data()), p_(begin_), end_(begin_ + text.size()), layout_(layout) {
        // Every feature has its colon, so this is room enough, and counting bytes is much cheaper than growing.
        const auto colons = static_cast<std::size_t>(std::count(p_, end_, ':'));
        rows_.features.reserve(colons);
        rows_.values.reserve(colons);
    }

    Rows run() {
        if (p_ != end_ && end_[-1] != '\n') {
            fail(Fault::unfinished, end_, 0);
            return std::move(rows_);
        }
        while (p_ != end_ && line()) ++rows_.lines;
        return std::move(rows_);
    }

private:
    bool fail(Fault fault, const char* where, std::int64_t number) {
        rows_.fault = fault;
        rows_.where = where - begin_;
        rows_.number = number;
        return false;
    }

    bool at_comment() const { return layout_.comments && *p_ == '#'; }
    bool at_end_of_field() const { return *p_ == '\n' || is_blank(*p_) || at_comment(); }

    bool line() {
        if (at_comment()) {
            skip_line();
            return true;
        }
        const auto first_label = rows_.labels.size();
        const auto first_feature = rows_.features.size();
        bool good = true;
        if (layout_.labelled && !at_end_of_field()) {
            // The first field is labels, unless a colon behind its first number shows that the row has none.
            const char* start = p_;
            if (is_digit(*p_)) parse_index(p_);
            if (p_ == start || *p_ != ':') {
                p_ = start;
                good = labels();
            } else {
                p_ = start;
            }
        }
        if (!good || !features() || !close_features(first_feature)) return false;
        close_labels(first_label);
        return true;
    }

    bool labels() {
        for (;; ++p_) {
            const char* start = p_;
            if (!is_digit(*p_)) return fail(Fault::label_junk, start, 0);
            const auto label = parse_index(p_);
            if (label >= static_cast<std::uint64_t>(layout_.labels)) {
                return fail(Fault::label_range, start, clipped(label));
            }
            if (*p_ != ',' && !at_end_of_field()) return fail(Fault::label_junk, start, 0);
            rows_.labels.push_back(static_cast<Id>(label));
            if (*p_ != ',') return true;
        }
    }

    bool features() {
        for (;;) {
            while (is_blank(*p_)) ++p_;
            if (*p_ == '\n') {
                ++p_;
                return true;
            }
            if (at_comment()) {
                skip_line();
                return true;
            }
            const char* start = p_;
            if (!is_digit(*p_)) return fail(Fault::feature_junk, start, 0);
            const auto index = parse_index(p_);
            if (*p_ != ':') return fail(Fault::feature_junk, start, 0);
            const auto feature = index - static_cast<std::uint64_t>(layout_.base);  // below base wraps to huge
            if (feature >= static_cast<std::uint64_t>(layout_.features)) {
                return fail(Fault::feature_range, start, clipped(index));
            }
            ++p_;
            float value = 0;
            const auto outcome = parse_float(p_, value);
            if (outcome == Number::out_of_range) return fail(Fault::value_range, start, clipped(index));
            if (outcome == Number::junk || !at_end_of_field()) return fail(Fault::value_junk, start, clipped(index));
            rows_.features.push_back(static_cast<Id>(feature));
            rows_.values.push_back(value);
        }
    }

    static std::int64_t clipped(std::uint64_t index) {
        return static_cast<std::int64_t>(std::min<std::uint64_t>(index, INT64_MAX));
    }

    void skip_line() {
        while (*p_ != '\n') ++p_;
        ++p_;
    }

    bool close_features(std::size_t first) {
        auto& ids = rows_.features;
        bool rising = true;
        for (auto i = first + 1; i < ids.size(); ++i) rising &= ids[i - 1] < ids[i];
        if (!rising) {
            row_.clear();
            for (auto i = first; i < ids.size(); ++i) row_.emplace_back(ids[i], rows_.values[i]);
            std::sort(row_.begin(), row_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
            for (std::size_t i = 0; i < row_.size(); ++i) {
                if (i && row_[i].first == row_[i - 1].first) {
                    return fail(Fault::feature_duplicate, p_ - 1, row_[i].first + layout_.base);
                }
                ids[first + i] = row_[i].first;
                rows_.values[first + i] = row_[i].second;
            }
        }
        rows_.offsets.push_back(static_cast<Offset>(ids.size()));
        return true;
    }

    void close_labels(std::size_t first) {
        auto& ids = rows_.labels;
        const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(first);
        if (!std::is_sorted(begin, ids.end())) std::sort(begin, ids.end());
        const auto last = std::unique(begin, ids.end());
        rows_.duplicate_labels += ids.end() - last;
        ids.erase(last, ids.end());
        rows_.label_offsets.push_back(static_cast<Offset>(ids.size()));
    }

    const char* begin_;
    const char* p_;
    const char* end_;
    RowLayout layout_;
    Rows rows_;
    std::vector<std::pair<Id, float>> row_;
};

template <class T>
void append(std::string& out, T value) {
    char digits[32];
    const auto written = std::to_chars(digits, digits + sizeof digits, value);
    out.append(digits, written.ptr);
}

}  // namespace

Rows parse_rows(std::span<const char> text, const RowLayout& layout) { return Parser(text, layout).run(); }

std::string format_rows(const Csr& labels, const Csr& features, bool labelled, std::int64_t base, Offset begin,
                        Offset end) {
    std::string out;
    for (auto row = begin; row < end; ++row) {
        if (labelled) {
            const auto ids = labels[row].ids;
            for (std::size_t i = 0; i < ids.size(); ++i) {
                if (i) out.push_back(',');
                append(out, ids[i]);
            }
            out.push_back(' ');  // also where there is no label: the leading blank says so
        }
        const auto [ids, values] = features[row];
        for (std::size_t i = 0; i < ids.size(); ++i) {
            if (i) out.push_back(' ');
            append(out, static_cast<std::int64_t>(ids[i]) + base);
            out.push_back(':');
            append(out, values[i]);
        }
        out.push_back('\n');
    }
    return out;
}

}  // namespace xtrellis::data
