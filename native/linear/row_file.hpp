// The rows of a large node in a file: written once, in order, and read again whenever the solver visits one.
#pragma once

#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/row_reader.hpp"
#include "core/spill.hpp"
#include "linear/solve.hpp"

namespace xtrellis::linear {

class RowFile {
public:
    RowFile() {
        const std::lock_guard lock(spills().mutex);
        folder_ = spills().folder;
        file_ = unnamed_file(folder_);
    }
    RowFile(const RowFile&) = delete;
    RowFile& operator=(const RowFile&) = delete;
    ~RowFile() {
#if defined(__linux__)
        if (file_ >= 0) close(file_);
#endif
    }

    // A row's ids and, behind them, its values: both come back in one reading.
    void append(std::span<const Id> ids, std::span<const float> values) {
        const std::size_t at = waiting_.size();
        waiting_.resize(at + 2 * 4 * ids.size());
        if (ids.empty()) return;
        std::memcpy(waiting_.data() + at, ids.data(), 4 * ids.size());
        std::memcpy(waiting_.data() + at + 4 * ids.size(), values.data(), 4 * values.size());
        if (waiting_.size() >= together) flush();
    }

    void finish() {
        flush();
        std::vector<char>().swap(waiting_);
    }

    // Entries begin .. end, which are those of one row; good until the next call.
    Fetched fetch(Offset begin, Offset end) {
        const auto count = static_cast<std::size_t>(end - begin);
        if (row_.size() < 2 * count) row_.resize(2 * count);
        read_file(file_, row_.data(), 8 * count, 8 * begin);
        return {row_.data(), reinterpret_cast<const float*>(row_.data() + count)};
    }

private:
    static constexpr std::size_t together = std::size_t{1} << 18;

    void flush() {
#if defined(__linux__)
        for (std::size_t done = 0; done < waiting_.size();) {
            const auto written = write(file_, waiting_.data() + done, waiting_.size() - done);
            if (written <= 0) throw std::runtime_error("cannot put arrays into " + folder_ + " (no room)");
            done += static_cast<std::size_t>(written);
        }
#endif
        waiting_.clear();
    }

    int file_ = -1;
    std::string folder_;
    std::vector<char> waiting_;
    std::vector<Id> row_;
};

inline Fetched fetch_row(void* file, std::int64_t begin, std::int64_t end) {
    return static_cast<RowFile*>(file)->fetch(begin, end);
}

}  // namespace xtrellis::linear
