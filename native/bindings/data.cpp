// xtrellis._native.data: sparse rows from text and back; answers as text.
#include <nanobind/nanobind.h>

#include "arrays.hpp"
#include "data/answers.hpp"
#include "data/rows.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace xtrellis;

namespace {

data::Strings strings(const In<std::uint8_t>& text, const In<Offset>& offsets) {
    return {reinterpret_cast<const char*>(text.data()), offsets.size() ? offsets.data() : nullptr};
}

}  // namespace

NB_MODULE(data, m) {
    m.def(
        "format_answers",
        [](int shape, In2<Id> labels, In2<float> scores, In<float> chances, In<std::uint8_t> names,
           In<Offset> name_offsets, In<std::uint8_t> before, In<Offset> before_offsets, In<std::uint8_t> after,
           In<Offset> after_offsets) {
            std::string out;
            {
                nb::gil_scoped_release release;
                out = data::format_answers(static_cast<data::Shape>(shape), labels.data(), scores.data(),
                                           chances.size() ? chances.data() : nullptr,
                                           static_cast<Offset>(labels.shape(0)), static_cast<Offset>(labels.shape(1)),
                                           strings(names, name_offsets), strings(before, before_offsets),
                                           strings(after, after_offsets));
            }
            return nb::bytes(out.data(), out.size());
        },
        "shape"_a, "labels"_a.noconvert(), "scores"_a.noconvert(), "chances"_a.noconvert(), "names"_a.noconvert(),
        "name_offsets"_a.noconvert(), "before"_a.noconvert(), "before_offsets"_a.noconvert(), "after"_a.noconvert(),
        "after_offsets"_a.noconvert());
    m.def(
        "parse_rows",
        [](In<std::uint8_t> text, bool labelled, bool comments, std::int64_t n_labels, std::int64_t n_features,
           std::int64_t base) {
            data::Rows rows;
            {
                nb::gil_scoped_release release;
                rows = data::parse_rows({reinterpret_cast<const char*>(text.data()), text.size()},
                                        {labelled, comments, n_labels, n_features, base});
            }
            return nb::make_tuple(to_numpy(std::move(rows.label_offsets)), to_numpy(std::move(rows.labels)),
                                  to_numpy(std::move(rows.offsets)), to_numpy(std::move(rows.features)),
                                  to_numpy(std::move(rows.values)), rows.lines, rows.duplicate_labels,
                                  static_cast<int>(rows.fault), rows.where, rows.number);
        },
        "text"_a.noconvert(), "labelled"_a, "comments"_a, "n_labels"_a, "n_features"_a, "base"_a);
    m.def(
        "format_rows",
        [](In<Offset> label_offsets, In<Id> labels, In<float> label_values, In<Offset> offsets, In<Id> features,
           In<float> values, bool labelled, std::int64_t base, Offset begin, Offset end) {
            std::string out;
            {
                nb::gil_scoped_release release;
                out = data::format_rows(csr(label_offsets, labels, label_values, 0), csr(offsets, features, values, 0),
                                        labelled, base, begin, end);
            }
            return nb::bytes(out.data(), out.size());
        },
        "label_offsets"_a.noconvert(), "labels"_a.noconvert(), "label_values"_a.noconvert(), "offsets"_a.noconvert(),
        "features"_a.noconvert(), "values"_a.noconvert(), "labelled"_a, "base"_a, "begin"_a, "end"_a);
}
