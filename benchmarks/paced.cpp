// Requests at a constant rate, each timed from when it was due: a client that is itself not late.
//
//     c++ -O2 -std=c++20 -o paced paced.cpp
//     paced PORT RATE SECONDS CONNECTIONS < bodies (one a line)    writes percentiles as a line of JSON
//
// One thread. A request that is due goes out on a connection that has none under way; if all have one, it waits, and
// the waiting counts (without that, a stalled server would be asked less and look quick). `late` is how much later than
// due requests went out though a connection was free: what of the waiting is the client's own.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

[[noreturn]] void fail(const std::string& why) {
    std::cerr << why << "\n";
    std::exit(1);
}

struct Connection {
    int file = -1;
    double due = 0;
    std::string got;
};

// The bytes of an answer that is whole, else 0.
std::size_t whole(const std::string& got) {
    const auto end = got.find("\r\n\r\n");
    if (end == std::string::npos) return 0;
    if (got.compare(0, 13, "HTTP/1.1 200 ") != 0) fail(got.substr(0, end));
    const auto at = got.find("content-length: ");
    if (at == std::string::npos || at > end) fail("an answer without content-length");
    const std::size_t size = end + 4 + std::strtoul(got.c_str() + at + 16, nullptr, 10);
    return got.size() >= size ? size : 0;
}

int connect_to(int port) {
    const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(file, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) fail("cannot connect");
    return file;
}

double part(const std::vector<double>& sorted, double share) {
    return 1000 *
           sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) fail("usage: paced PORT RATE SECONDS CONNECTIONS < bodies");
    const int port = std::atoi(argv[1]);
    const double rate = std::atof(argv[2]), seconds = std::atof(argv[3]);
    const auto n_connections = static_cast<std::size_t>(std::atoi(argv[4]));
    std::vector<std::string> requests;
    for (std::string body; std::getline(std::cin, body);) {
        requests.push_back(
            "POST /tag HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
            std::to_string(body.size()) + "\r\n\r\n" + body);
    }
    if (requests.empty() || rate <= 0 || n_connections == 0) fail("nothing to ask");
    const int poll = epoll_create1(0);
    std::vector<Connection> all(n_connections);
    std::vector<Connection*> idle;
    for (auto& one : all) {
        one.file = connect_to(port);
        epoll_event wanted{.events = EPOLLIN, .data = {.ptr = &one}};
        epoll_ctl(poll, EPOLL_CTL_ADD, one.file, &wanted);
        idle.push_back(&one);
    }
    const auto n = static_cast<std::size_t>(rate * seconds);
    std::vector<double> spent, late;
    spent.reserve(n);
    const double begun = now();
    double free_since = begun;
    std::size_t sent = 0;
    char buffer[1 << 16];
    while (spent.size() < n) {
        while (sent < n && !idle.empty()) {
            const double due = begun + static_cast<double>(sent) / rate, at = now();
            if (at < due) break;
            Connection* one = idle.back();
            idle.pop_back();
            one->due = due;
            late.push_back(at - std::max(due, free_since));
            const auto& request = requests[sent++ % requests.size()];
            if (write(one->file, request.data(), request.size()) != static_cast<ssize_t>(request.size()))
                fail("cannot send");
        }
        const double next = sent < n && !idle.empty() ? begun + static_cast<double>(sent) / rate - now() : 0.01;
        epoll_event events[64];
        timespec wait{.tv_sec = 0, .tv_nsec = static_cast<long>(1e9 * std::clamp(next, 0.0, 0.01))};
        const int found = epoll_pwait2(poll, events, 64, &wait, nullptr);
        for (int i = 0; i < found; ++i) {
            auto* one = static_cast<Connection*>(events[i].data.ptr);
            const ssize_t size = read(one->file, buffer, sizeof buffer);
            if (size <= 0) fail("the server has closed a connection");
            one->got.append(buffer, static_cast<std::size_t>(size));
            if (whole(one->got) == 0) continue;
            one->got.clear();
            spent.push_back(now() - one->due);
            if (idle.empty()) free_since = now();
            idle.push_back(one);
        }
    }
    std::sort(spent.begin(), spent.end());
    std::sort(late.begin(), late.end());
    std::printf(
        "{\"rate\": %g, \"p50_ms\": %.4f, \"p90_ms\": %.4f, \"p99_ms\": %.4f, \"p999_ms\": %.4f, \"most_ms\": %.4f, "
        "\"late_p99_ms\": %.4f}\n",
        rate, part(spent, 0.5), part(spent, 0.9), part(spent, 0.99), part(spent, 0.999), 1000 * spent.back(),
        part(late, 0.99));
}
