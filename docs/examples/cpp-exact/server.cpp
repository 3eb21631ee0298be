// Exact search as a program: compares every row, or every row that holds a query's tags. It speaks the protocol of
// docs/wire.md, which explains each message and file below. Everything is here but the standard library.
//
//     g++ -std=c++17 -O3 -march=native -pthread -o server server.cpp

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using std::size_t;

// ---------------------------------------------------------------- JSON, as much of it as the messages hold

struct Json {
    bool given = true;  // false: null
    double number = 0;
    std::string text;
    std::vector<std::string> keys;  // of an object; empty for a list
    std::vector<Json> items;        // the values of an object or a list

    const Json* find(const std::string& key) const {
        const auto place = std::find(keys.begin(), keys.end(), key);
        return place == keys.end() ? nullptr : &items[place - keys.begin()];
    }
    const Json& operator[](const std::string& key) const {
        if (const Json* found = find(key)) return *found;
        throw std::runtime_error("the message has no key " + key);
    }
    int64_t whole() const { return static_cast<int64_t>(number); }
};

class Parser {
public:
    explicit Parser(const std::string& line) : at_(line.c_str()) {}  // ends with a 0, which no value begins with

    Json value() {
        Json found;
        const char first = next();
        if (first == '{' || first == '[') {
            const char last = first == '{' ? '}' : ']';
            for (++at_; next() != last; next() == ',' ? ++at_ : at_) {
                if (first == '{') {
                    found.keys.push_back(string());
                    expect(':');
                }
                found.items.push_back(value());
            }
            ++at_;
        } else if (first == '"') {
            found.text = string();
        } else if (first == 't' || first == 'f' || first == 'n') {
            found.given = first != 'n';
            found.number = first == 't';
            while (*at_ >= 'a' && *at_ <= 'z') ++at_;
        } else {
            char* end = nullptr;
            found.number = std::strtod(at_, &end);
            if (end == at_) throw std::runtime_error("a message that is no JSON");
            at_ = end;
        }
        return found;
    }

private:
    const char* at_;

    char next() {
        while (*at_ == ' ' || *at_ == '\t' || *at_ == '\r') ++at_;
        return *at_;
    }
    void expect(char wanted) {
        if (next() != wanted) throw std::runtime_error("a message that is no JSON");
        ++at_;
    }
    std::string string() {
        std::string found;
        for (expect('"'); *at_ != '"'; ++at_) {
            if (*at_ == 0) throw std::runtime_error("a text without an end");
            if (*at_ != '\\') {
                found += *at_;
                continue;
            }
            switch (*++at_) {
                case 'n': found += '\n'; break;
                case 't': found += '\t'; break;
                case 'r': found += '\r'; break;
                case 'b': found += '\b'; break;
                case 'f': found += '\f'; break;
                case 'u': utf8(found); break;
                default: found += *at_;
            }
        }
        ++at_;
        return found;
    }
    uint32_t four() {  // the digits after \u; leaves the place at the last of them
        const std::string digits(at_ + 1, 4);
        at_ += 4;
        return static_cast<uint32_t>(std::stoul(digits, nullptr, 16));
    }
    void utf8(std::string& into) {
        uint32_t code = four();
        if (code >= 0xD800 && code < 0xDC00) {  // the first half of a character
            at_ += 2;
            code = 0x10000 + ((code - 0xD800) << 10) + (four() - 0xDC00);
        }
        if (code < 0x80) {
            into += static_cast<char>(code);
            return;
        }
        const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        into += static_cast<char>((0xFF00 >> (more + 1) & 0xFF) | code >> 6 * more);
        for (int part = more - 1; part >= 0; --part) into += static_cast<char>(0x80 | (code >> 6 * part & 0x3F));
    }
};

std::string quoted(const std::string& text) {
    std::string found = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') found += '\\';
        found += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return found + "\"";
}

// ---------------------------------------------------------------- the socket: one message a line

class Wire {
public:
    explicit Wire(const char* path) : socket_(socket(AF_UNIX, SOCK_STREAM, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::snprintf(address.sun_path, sizeof address.sun_path, "%s", path ? path : "");
        if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address))
            throw std::runtime_error("cannot connect to the socket of ANN_BENCH_SOCKET");
    }
    bool receive(std::string& line) {  // false: the judge has hung up
        size_t end;
        while ((end = pending_.find('\n')) == std::string::npos) {
            char room[65536];
            const ssize_t size = read(socket_, room, sizeof room);
            if (size <= 0) return false;
            pending_.append(room, size);
        }
        line = pending_.substr(0, end);
        pending_.erase(0, end + 1);
        return true;
    }
    void send(const std::string& message) {
        const std::string line = message + "\n";
        for (size_t done = 0; done < line.size();) {
            const ssize_t size = write(socket_, line.data() + done, line.size() - done);
            if (size <= 0) std::exit(1);
            done += size;
        }
    }

private:
    int socket_;
    std::string pending_;
};

// ---------------------------------------------------------------- arrays in files

class File {  // a whole file, mapped as long as this lives
public:
    File(const std::string& path, bool writable) : file(open(path.c_str(), writable ? O_RDWR : O_RDONLY)) {
        struct stat status;
        if (file < 0 || fstat(file, &status)) throw std::runtime_error("cannot open " + path);
        size_ = status.st_size;
        const int use = writable ? PROT_READ | PROT_WRITE : PROT_READ;
        if (size_) bytes_ = static_cast<char*>(mmap(nullptr, size_, use, MAP_SHARED, file, 0));
        if (bytes_ == MAP_FAILED) throw std::bad_alloc();
    }
    File(const File&) = delete;
    ~File() {
        if (bytes_) munmap(bytes_, size_);
        close(file);
    }
    char* at(int64_t offset) const { return bytes_ + offset; }

    const int file;

private:
    size_t size_ = 0;
    char* bytes_ = nullptr;
};

struct Array {  // what {"path", "dtype", "shape", "offset"} describes
    explicit Array(const Json& place, bool writable = false)
        : dtype(place["dtype"].text), offset(place["offset"].whole()),
          file(std::make_shared<File>(place["path"].text, writable)) {
        for (const Json& length : place["shape"].items) shape.push_back(length.whole());
    }
    template <class T> T* as() const { return reinterpret_cast<T*>(file->at(offset)); }
    int64_t whole(int64_t i) const { return dtype == "int64" ? as<int64_t>()[i] : as<int32_t>()[i]; }

    std::string dtype;
    int64_t offset;
    std::vector<int64_t> shape;
    std::shared_ptr<File> file;
};

struct Tags {  // row i holds indices[indptr[i]] to indices[indptr[i + 1] - 1]; the values mean nothing
    explicit Tags(const Json& place)
        : indptr(place["csr"]["indptr"]), indices(place["csr"]["indices"]),
          vocabulary(place["shape"].items[1].whole()) {}
    Array indptr, indices;
    int64_t vocabulary;
};

// ---------------------------------------------------------------- distances: plain loops that compilers turn into AVX

// Sums of bytes are whole: the same in whatever order a compiler adds them; 16,384 terms of them fit into 32 bits.
template <class T, class Term> double summed(const T* a, const T* b, int64_t dim, Term term) {
    int64_t sum = 0;
    for (int64_t start = 0; start < dim; start += 1 << 14) {
        const int64_t stop = std::min<int64_t>(dim, start + (1 << 14));
        int32_t part = 0;
        for (int64_t i = start; i < stop; ++i) part += term(int32_t(a[i]), int32_t(b[i]));
        sum += part;
    }
    return static_cast<double>(sum);
}
// Those of floats are not, so that their order is written down: 16 sums, side by side, in double.
template <class Term> double summed(const float* a, const float* b, int64_t dim, Term term) {
    double lanes[16] = {};
    int64_t i = 0;
    for (; i + 16 <= dim; i += 16)
        for (int64_t j = 0; j < 16; ++j) lanes[j] += term(double(a[i + j]), double(b[i + j]));
    for (; i < dim; ++i) lanes[i % 16] += term(double(a[i]), double(b[i]));
    return std::accumulate(lanes, lanes + 16, 0.0);
}
template <class T> double product(const T* a, const T* b, int64_t dim) {
    return summed(a, b, dim, [](auto x, auto y) { return x * y; });
}
template <class T> double squares(const T* a, const T* b, int64_t dim) {
    return summed(a, b, dim, [](auto x, auto y) { return (x - y) * (x - y); });
}

// ---------------------------------------------------------------- the index

using Found = std::pair<double, int64_t>;  // distance (smaller is nearer) and id

class Best {  // the k nearest so far, the farthest of them on top; without k: all that are nearer than the radius
public:
    Best(size_t k, double radius) : k_(k), bound_(radius) {}
    void offer(double distance, int64_t id) {
        if (!(distance < bound_)) return;
        found_.emplace_back(distance, id);
        if (!k_) return;
        std::push_heap(found_.begin(), found_.end());
        if (found_.size() > k_) {
            std::pop_heap(found_.begin(), found_.end());
            found_.pop_back();
        }
        if (found_.size() == k_) bound_ = found_.front().first;  // rows come in order: of equals, the first stay
    }
    std::vector<Found> sorted() {
        std::sort(found_.begin(), found_.end());
        return std::move(found_);
    }

private:
    size_t k_;
    double bound_;
    std::vector<Found> found_;
};

class Index {
public:
    std::atomic<int64_t> compared{0};

    explicit Index(const Json& common)
        : metric_(common["metric"].text), dtype_(common["dtype"].text), dim_(common["dim"].whole()),
          threads_(common["threads"].whole()) {}

    void build(const Array& base, const Tags* tags, int64_t first, int64_t last) {
        base_ = std::make_unique<Array>(base);
        first_ = first;
        rows_ = last - first;
        if (dtype_ == "float32") measure<float>();
        else if (dtype_ == "uint8") measure<uint8_t>();
        else if (dtype_ == "int8") measure<int8_t>();
        else throw std::runtime_error("cannot search vectors of " + dtype_);
        if (tags) list(*tags);
    }

    // The nearest rows of each query; with k = 0 all that are within the radius.
    std::vector<std::vector<Found>> search(const Array& queries, const Tags* tags, size_t k, double radius) {
        if (queries.dtype != dtype_) throw std::runtime_error("queries of " + queries.dtype + ", rows of " + dtype_);
        if (dtype_ == "float32") return search<float>(queries, tags, k, radius);
        if (dtype_ == "uint8") return search<uint8_t>(queries, tags, k, radius);
        return search<int8_t>(queries, tags, k, radius);
    }

private:
    static constexpr int64_t kGroup = 16, kBlock = 256;  // queries that share a block of rows while it is in the cache

    const std::string metric_, dtype_;
    const int64_t dim_, threads_;
    int64_t first_ = 0, rows_ = 0;
    std::unique_ptr<Array> base_;
    std::vector<double> lengths_;
    std::vector<int64_t> starts_;  // the rows of tag t, ascending: holders_[starts_[t]] to holders_[starts_[t + 1] - 1]
    std::vector<int32_t> holders_;

    template <class T> const T* row(int64_t id) const { return base_->as<const T>() + (first_ + id) * dim_; }

    template <class T> void measure() {
        if (metric_ != "angular") return;
        lengths_.resize(rows_);
        each((rows_ + kBlock - 1) / kBlock, [&](int64_t block) {
            for (int64_t id = block * kBlock; id < std::min(rows_, (block + 1) * kBlock); ++id)
                lengths_[id] = std::sqrt(product(row<T>(id), row<T>(id), dim_));
        });
    }

    void list(const Tags& tags) {
        const auto of_row = [&](int64_t id, auto take) {
            for (int64_t i = tags.indptr.whole(first_ + id); i < tags.indptr.whole(first_ + id + 1); ++i)
                take(tags.indices.whole(i));
        };
        starts_.assign(tags.vocabulary + 1, 0);
        for (int64_t id = 0; id < rows_; ++id) of_row(id, [&](int64_t tag) { ++starts_[tag + 1]; });
        std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
        holders_.resize(starts_.back());
        std::vector<int64_t> next(starts_.begin(), starts_.end() - 1);
        for (int64_t id = 0; id < rows_; ++id)
            of_row(id, [&](int64_t tag) { holders_[next[tag]++] = static_cast<int32_t>(id); });
    }

    // The rows that hold all of these tags, from the shortest list on.
    std::vector<int32_t> matching(std::vector<int64_t> tags) const {
        const auto vocabulary = static_cast<int64_t>(starts_.size()) - 1;
        if (std::any_of(tags.begin(), tags.end(), [&](int64_t tag) { return tag >= vocabulary; })) return {};
        const auto length = [&](int64_t tag) { return starts_[tag + 1] - starts_[tag]; };
        std::sort(tags.begin(), tags.end(), [&](int64_t a, int64_t b) { return length(a) < length(b); });
        const auto begin = [&](int64_t tag) { return holders_.begin() + starts_[tag]; };
        std::vector<int32_t> found(begin(tags[0]), begin(tags[0] + 1));
        found.erase(std::unique(found.begin(), found.end()), found.end());  // a row may hold a tag twice
        for (size_t t = 1; t < tags.size(); ++t) {
            auto at = begin(tags[t]);
            const auto end = begin(tags[t] + 1);
            const auto lacks = [&](int32_t id) { return (at = std::lower_bound(at, end, id)) == end || *at != id; };
            found.erase(std::remove_if(found.begin(), found.end(), lacks), found.end());
        }
        return found;
    }

    template <class T> double distance(const T* query, double length, int64_t id) const {
        if (metric_ == "euclidean") return squares(query, row<T>(id), dim_);
        const double inner = product(query, row<T>(id), dim_);
        if (metric_ == "ip") return -inner;
        const double lengths = length * lengths_[id];
        return lengths > 0 ? 1 - inner / lengths : 1;
    }

    template <class T>
    std::vector<std::vector<Found>> search(const Array& queries, const Tags* tags, size_t k, double radius) {
        const int64_t count = queries.shape[0];
        const T* vectors = queries.as<const T>();
        std::vector<std::vector<Found>> answers(count);
        each((count + kGroup - 1) / kGroup, [&](int64_t group) {
            const int64_t start = group * kGroup, stop = std::min(count, start + kGroup);
            std::vector<int64_t> everywhere;  // the queries of this group that ask all rows
            std::vector<Best> best(stop - start, Best(k, metric_ == "ip" && !k ? -radius : radius));
            std::vector<double> length(stop - start);
            for (int64_t q = start; q < stop; ++q) {
                const T* query = vectors + q * dim_;
                length[q - start] = std::sqrt(product(query, query, dim_));
                std::vector<int64_t> wanted;
                for (int64_t i = tags ? tags->indptr.whole(q) : 0; tags && i < tags->indptr.whole(q + 1); ++i)
                    wanted.push_back(tags->indices.whole(i));
                if (wanted.empty()) {
                    everywhere.push_back(q);
                    continue;
                }
                const std::vector<int32_t> ids = matching(wanted);
                for (const int32_t id : ids) best[q - start].offer(distance(query, length[q - start], id), id);
                compared += static_cast<int64_t>(ids.size());
            }
            for (int64_t block = 0; block < rows_ && !everywhere.empty(); block += kBlock)
                for (const int64_t q : everywhere)
                    for (int64_t id = block; id < std::min(rows_, block + kBlock); ++id)
                        best[q - start].offer(distance(vectors + q * dim_, length[q - start], id), id);
            compared += rows_ * static_cast<int64_t>(everywhere.size());
            for (int64_t q = start; q < stop; ++q) answers[q] = best[q - start].sorted();
        });
        return answers;
    }

    // Calls work(0) to work(count - 1), in as many threads as were given; what one of them throws is thrown here.
    void each(int64_t count, const std::function<void(int64_t)>& work) const {
        std::atomic<int64_t> next{0};
        std::exception_ptr failure;
        std::mutex lock;
        const auto run = [&] {
            try {
                for (int64_t i; (i = next++) < count;) work(i);
            } catch (...) {
                const std::lock_guard<std::mutex> held(lock);
                failure = std::current_exception();
                next = count;
            }
        };
        std::vector<std::thread> others;
        for (int64_t t = 1; t < std::min(threads_, count); ++t) others.emplace_back(run);
        run();
        for (std::thread& other : others) other.join();
        if (failure) std::rethrow_exception(failure);
    }
};

// ---------------------------------------------------------------- messages

using Work = std::function<void()>;

std::unique_ptr<Tags> tags_of(const Json& place) { return place.given ? std::make_unique<Tags>(place) : nullptr; }

void write_nearest(const std::vector<std::vector<Found>>& answers, const Array& into) {
    const int64_t k = into.shape[1];
    for (size_t q = 0; q < answers.size(); ++q)
        for (int64_t i = 0; i < k; ++i)
            into.as<int64_t>()[q * k + i] = i < static_cast<int64_t>(answers[q].size()) ? answers[q][i].second : -1;
}

void write_within(const std::vector<std::vector<Found>>& answers, const Array& offsets) {
    std::vector<int64_t> ids;
    offsets.as<int64_t>()[0] = 0;
    for (size_t q = 0; q < answers.size(); ++q) {
        for (const Found& one : answers[q]) ids.push_back(one.second ^ INT64_MIN);
        offsets.as<int64_t>()[q + 1] = static_cast<int64_t>(ids.size());
    }
    const char* bytes = reinterpret_cast<const char*>(ids.data());
    int64_t place = offsets.offset + 8 * offsets.shape[0];
    for (size_t left = 8 * ids.size(); left > 0;) {
        const ssize_t size = pwrite(offsets.file->file, bytes, left, place);
        if (size <= 0) throw std::runtime_error("no room for the answers");
        bytes += size, place += size, left -= size;
    }
}

// What is to be done at `go`; all files are open and mapped before.
Work timed(Index& index, const Json& message) {
    const std::string& type = message["type"].text;
    if (type == "build") {
        const auto base = std::make_shared<Array>(message["base"]);
        const std::shared_ptr<Tags> tags = tags_of(message["tags"]);
        const int64_t first = message["rows"].items[0].whole(), last = message["rows"].items[1].whole();
        return [=, &index] { index.build(*base, tags.get(), first, last); };
    }
    if (type == "search") {
        const auto queries = std::make_shared<Array>(message["queries"]);
        const std::shared_ptr<Tags> tags = tags_of(message["query_tags"]);
        const auto answers = std::make_shared<Array>(message["answers"], true);
        if (const Json* radius = message.find("radius")) {
            const double within = radius->number;
            return [=, &index] { write_within(index.search(*queries, tags.get(), 0, within), *answers); };
        }
        const auto k = static_cast<size_t>(message["k"].whole());
        return [=, &index] { write_nearest(index.search(*queries, tags.get(), k, INFINITY), *answers); };
    }
    throw std::runtime_error(type + " is not supported");
}

void answer(Wire& wire, std::unique_ptr<Index>& index, const Json& message) {
    const std::string& type = message["type"].text;
    const std::string seq = "\"seq\":" + std::to_string(message["seq"].whole());
    const std::string done = "{\"type\":\"done\"," + seq;
    try {
        if (!index && type != "create") throw std::runtime_error(type + " before create");
        if (type == "create") {
            index = std::make_unique<Index>(message["common"]);  // in the place of another, where there is one
            wire.send(done + "}");
        } else if (type == "set") {
            wire.send(done + "}");
        } else if (type == "stats") {
            wire.send(done + ",\"stats\":{\"compared\":" + std::to_string(index->compared) + "}}");
        } else if (type == "save" || type == "load") {
            wire.send(done + ",\"supported\":false}");
        } else {
            const Work work = timed(*index, message);
            wire.send("{\"type\":\"ready\"," + seq + "}");
            std::string line;
            if (!wire.receive(line)) return;
            const std::string token = Parser(line).value()["token"].text;
            work();
            wire.send(done + ",\"token\":" + quoted(token) + "}");
        }
    } catch (const std::bad_alloc&) {
        wire.send("{\"type\":\"error\"," + seq + ",\"kind\":\"memory\",\"text\":\"no memory is left\"}");
    } catch (const std::exception& error) {
        wire.send("{\"type\":\"error\"," + seq + ",\"kind\":\"exception\",\"text\":" + quoted(error.what()) + "}");
    }
}

int main() {
    try {
        Wire wire(std::getenv("ANN_BENCH_SOCKET"));
        wire.send("{\"type\":\"hello\",\"protocol\":1}");
        std::unique_ptr<Index> index;
        for (std::string line; wire.receive(line);) {
            const Json message = Parser(line).value();
            if (message["type"].text == "quit") return 0;
            answer(wire, index, message);
        }
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
