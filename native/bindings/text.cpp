// xtrellis._native.text: counting, building, transforming and explaining. Arrays come checked by xtrellis.text.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>

#include <algorithm>

#include "bindings/arrays.hpp"
#include "text/build.hpp"
#include "text/counter.hpp"
#include "text/forms.hpp"
#include "text/grow.hpp"
#include "text/transform.hpp"

using namespace xtrellis;
using namespace xtrellis::text;
using namespace nb::literals;

namespace {

const Byte* data_of(const nb::bytes& blob) { return reinterpret_cast<const Byte*>(blob.c_str()); }

nb::tuple to_python(Rows&& rows) {
    return nb::make_tuple(to_numpy(std::move(rows.offsets)), to_numpy(std::move(rows.ids)),
                          to_numpy(std::move(rows.values)));
}

// Holds on to the arrays that its view points into.
class MappedVocabulary {
public:
    MappedVocabulary(In<Byte> name_text, In<Offset> name_offsets, In<Byte> word_text, In<Offset> word_offsets,
                     In<std::uint64_t> word_table, In<Id> word_features, In2<std::uint32_t> gram_table,
                     In<std::uint64_t> piece_table, Id first_piece, In<float> idf)
        : bytes_{name_text, word_text}, offsets_{name_offsets, word_offsets}, tables_{word_table, piece_table},
          features_(word_features), grams_(gram_table), idf_(idf) {
        view_.words = {word_text.data(), word_offsets.data(), word_table.data(), word_table.size() - 1};
        view_.word_features = word_features.data();
        view_.grams = reinterpret_cast<const GramSlot*>(gram_table.data());
        view_.gram_mask = gram_table.shape(0) - 1;
        view_.pieces = {name_text.data(), name_offsets.data() + first_piece, piece_table.data(),
                        piece_table.size() - 1};
        view_.first_piece = first_piece;
        view_.idf = idf.data();
        known_ = {view_, static_cast<std::uint32_t>(word_features.size()), static_cast<Id>(idf.size())};
    }

    const Known& known() const { return known_; }

    nb::tuple transform(nb::bytes blob, In<Offset> offsets, const Settings& settings) const {
        Rows rows;
        {
            nb::gil_scoped_release release;
            rows = text::transform(data_of(blob), offsets.data(), static_cast<Offset>(offsets.size()) - 1, view_,
                                   settings);
        }
        return to_python(std::move(rows));
    }

    nb::tuple transform_one(nb::bytes blob, const Settings& settings) const {
        Rows rows;
        {
            nb::gil_scoped_release release;
            const Offset offsets[2] = {0, static_cast<Offset>(blob.size())};
            rows = text::transform(data_of(blob), offsets, 1, view_, settings);
        }
        return to_python(std::move(rows));
    }

    // `wanted` has a byte for each feature, or none at all.
    nb::tuple explain(nb::bytes blob, const Settings& settings, In<Byte> wanted) const {
        Places places;
        {
            nb::gil_scoped_release release;
            places = text::explain(data_of(blob), data_of(blob) + blob.size(), view_, settings,
                                   wanted.size() ? wanted.data() : nullptr);
        }
        return nb::make_tuple(to_numpy(std::move(places.begins)), to_numpy(std::move(places.ends)),
                              to_numpy(std::move(places.features)));
    }

private:
    In<Byte> bytes_[2];
    In<Offset> offsets_[2];
    In<std::uint64_t> tables_[2];
    In<Id> features_;
    In2<std::uint32_t> grams_;
    In<float> idf_;
    Vocabulary view_;
    Known known_;
};

nb::tuple add(Counter& counter, nb::bytes blob, In<Offset> offsets, bool keep_rows) {
    CountedRows rows;
    {
        nb::gil_scoped_release release;
        rows = counter.add(data_of(blob), offsets.data(), static_cast<Offset>(offsets.size()) - 1, keep_rows);
    }
    return nb::make_tuple(to_numpy(std::move(rows.offsets)), to_numpy(std::move(rows.counts)));
}

nb::tuple merge(Counter& counter, const Counter& other) {
    Renumbering numbers;
    {
        nb::gil_scoped_release release;
        numbers = counter.merge(other);
    }
    return nb::make_tuple(to_numpy(std::move(numbers.grams)), to_numpy(std::move(numbers.pieces)));
}

nb::dict to_python(Built&& built) {
    nb::dict out;
    out["name_text"] = to_numpy(std::move(built.name_text));
    out["name_offsets"] = to_numpy(std::move(built.name_offsets));
    out["word_text"] = to_numpy(std::move(built.word_text));
    out["word_offsets"] = to_numpy(std::move(built.word_offsets));
    out["word_table"] = to_numpy(std::move(built.word_table));
    out["word_features"] = to_numpy(std::move(built.word_features));
    out["gram_table"] = to_numpy(std::move(built.gram_table));
    out["piece_table"] = to_numpy(std::move(built.piece_table));
    out["rows"] = to_numpy(std::move(built.rows));
    out["gram_features"] = to_numpy(std::move(built.gram_features));
    out["piece_features"] = to_numpy(std::move(built.piece_features));
    out["first_piece"] = built.first_piece;
    return out;
}

nb::dict build_vocabulary(const Counter& counter, double least_rows, double most_rows, std::uint64_t most_features) {
    Built built;
    {
        nb::gil_scoped_release release;
        built = build(counter, {least_rows, most_rows, most_features});
    }
    return to_python(std::move(built));
}

nb::dict grow_vocabulary(const MappedVocabulary& vocabulary, const Counter& counter, double least_rows,
                         double most_rows) {
    Built built;
    {
        nb::gil_scoped_release release;
        built = grow(vocabulary.known(), counter, {least_rows, most_rows});
    }
    return to_python(std::move(built));
}

// `gone` has a byte for each feature.
nb::tuple prune_vocabulary(const MappedVocabulary& vocabulary, In<Byte> gone) {
    Pruned pruned;
    {
        nb::gil_scoped_release release;
        pruned = prune(vocabulary.known(), gone.data());
    }
    return nb::make_tuple(to_numpy(std::move(pruned.needed)), to_numpy(std::move(pruned.word_features)),
                          to_numpy(std::move(pruned.gram_table)));
}

auto string_table_of(In<Byte> text, In<Offset> offsets, In<Byte> kept) {
    Roomy<std::uint64_t> table;
    {
        nb::gil_scoped_release release;
        table = string_table(text.data(), offsets.data(), kept.data(), kept.size());
    }
    return to_numpy(std::move(table));
}

nb::tuple weigh_rows(In<Offset> offsets, In<std::uint64_t> counts, In<Id> gram_features, In<Id> piece_features,
                     In<float> idf, const Settings& settings) {
    Rows rows;
    {
        nb::gil_scoped_release release;
        rows = weigh(offsets.data(), static_cast<Offset>(offsets.size()) - 1, counts.data(), gram_features.data(),
                     piece_features.data(), idf.data(), settings);
    }
    return to_python(std::move(rows));
}

void add_forms(Forms& forms, nb::bytes words, In<Offset> word_offsets, nb::bytes changed, In<Offset> offsets) {
    nb::gil_scoped_release release;
    forms.add(data_of(words), word_offsets.data(), data_of(changed), offsets.data(), word_offsets.size() - 1);
}

nb::tuple unknown_words(const Forms& forms, nb::bytes blob, In<Offset> offsets, Settings settings) {
    Joined found;
    {
        nb::gil_scoped_release release;
        settings.forms.reset();
        found = forms.unknown(data_of(blob), offsets.data(), static_cast<Offset>(offsets.size()) - 1, settings);
    }
    return nb::make_tuple(to_numpy(std::move(found.text)), to_numpy(std::move(found.offsets)));
}

// True for letters of scripts that are written without spaces between words.
bool is_unspaced(Point point) { return point < point_count && class_of(point_classes(), point) == Class::unspaced; }

std::size_t unstable_run_of(nb::bytes blob, std::size_t enough) {
    nb::gil_scoped_release release;
    return unstable_run(data_of(blob), data_of(blob) + blob.size(), enough);
}

// For the checks of a stored vocabulary: how many slots are taken, and the largest number in one (-1: none).
std::pair<std::int64_t, std::int64_t> string_table_extent(In<std::uint64_t> table) {
    std::int64_t taken = 0;
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i < table.size(); ++i) {
        const auto slot = table.data()[i];
        const bool used = slot != StringIndex::empty;
        taken += used;
        largest = std::max(largest, used ? (slot & 0xFFFFFFFFu) + 1 : 0);
    }
    return {taken, static_cast<std::int64_t>(largest) - 1};
}

std::pair<std::int64_t, std::int64_t> gram_table_extent(In2<std::uint32_t> table) {
    std::int64_t taken = 0;
    std::uint32_t largest = 0;
    const auto* slots = reinterpret_cast<const GramSlot*>(table.data());
    for (std::size_t i = 0; i < table.shape(0); ++i) {
        taken += slots[i].prefix != none;
        largest = std::max(largest, slots[i].feature + 1);  // `none` wraps to 0
    }
    return {taken, std::int64_t{largest} - 1};
}

}  // namespace

NB_MODULE(text, m) {
    m.attr("unicode_version") = tables_version();

    nb::class_<Settings>(m, "Settings")
        .def(
            "__init__",
            [](Settings* self, std::size_t ngrams, std::size_t char_shortest, std::size_t char_longest,
               std::size_t min_points, bool lowercase, bool fold_accents, bool sublinear_tf, bool idf, bool normalize,
               bool any_script, std::shared_ptr<Forms> forms) {
                new (self) Settings{ngrams,       char_shortest, char_longest, min_points, lowercase, fold_accents,
                                    sublinear_tf, idf,           normalize,    any_script, forms};
            },
            nb::kw_only(), "ngrams"_a, "char_shortest"_a, "char_longest"_a, "min_points"_a, "lowercase"_a,
            "fold_accents"_a, "sublinear_tf"_a, "idf"_a, "normalize"_a, "any_script"_a = true,
            "forms"_a.none() = nb::none());

    nb::class_<Forms>(m, "Forms")
        .def(nb::init<>())
        .def("add", &add_forms, "words"_a, "word_offsets"_a.noconvert(), "forms"_a, "form_offsets"_a.noconvert())
        .def("unknown", &unknown_words, "blob"_a, "offsets"_a.noconvert(), "settings"_a)
        .def("__len__", &Forms::size, nb::call_guard<nb::gil_scoped_release>());

    nb::class_<Counter>(m, "Counter")
        .def(nb::init<const Settings&>(), "settings"_a)
        .def("add", &add, "blob"_a, "offsets"_a.noconvert(), "keep_rows"_a)
        .def("merge", &merge, "other"_a)
        .def("build", &build_vocabulary, "least_rows"_a, "most_rows"_a, "most_features"_a);

    nb::class_<MappedVocabulary>(m, "Vocabulary")
        .def(nb::init<In<Byte>, In<Offset>, In<Byte>, In<Offset>, In<std::uint64_t>, In<Id>, In2<std::uint32_t>,
                      In<std::uint64_t>, Id, In<float>>(),
             nb::kw_only(), "name_text"_a.noconvert(), "name_offsets"_a.noconvert(), "word_text"_a.noconvert(),
             "word_offsets"_a.noconvert(), "word_table"_a.noconvert(), "word_features"_a.noconvert(),
             "gram_table"_a.noconvert(), "piece_table"_a.noconvert(), "first_piece"_a, "idf"_a.noconvert())
        .def("transform", &MappedVocabulary::transform, "blob"_a, "offsets"_a.noconvert(), "settings"_a)
        .def("transform_one", &MappedVocabulary::transform_one, "blob"_a, "settings"_a)
        .def("explain", &MappedVocabulary::explain, "blob"_a, "settings"_a, "wanted"_a.noconvert());

    m.def("grow", &grow_vocabulary, "vocabulary"_a, "counter"_a, "least_rows"_a, "most_rows"_a);
    m.def("prune", &prune_vocabulary, "vocabulary"_a, "gone"_a.noconvert());
    m.def("string_table", &string_table_of, "text"_a.noconvert(), "offsets"_a.noconvert(), "kept"_a.noconvert());
    m.def("is_unspaced", &is_unspaced, "point"_a);
    m.def("unstable_run", &unstable_run_of, "blob"_a, "enough"_a);
    m.def("weigh", &weigh_rows, "offsets"_a.noconvert(), "counts"_a.noconvert(), "gram_features"_a.noconvert(),
          "piece_features"_a.noconvert(), "idf"_a.noconvert(), "settings"_a);
    m.def("string_table_extent", &string_table_extent, "table"_a.noconvert(), nb::call_guard<nb::gil_scoped_release>());
    m.def("gram_table_extent", &gram_table_extent, "table"_a.noconvert(), nb::call_guard<nb::gil_scoped_release>());
}
