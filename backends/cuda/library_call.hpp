// Calls of the CUDA library as data: kept, compared with earlier ones, issued again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <tuple>
#include <typeinfo>
#include <utility>
#include <vector>

#include "backends/cuda/library.hpp"

namespace orrery::cuda {

/// What two equal calls have in common; varying numbers are not compared.
template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}
inline bool same(const OrreryVarying&, const OrreryVarying&) { return true; }
inline bool same(const OrreryMatrix& a, const OrreryMatrix& b) {
  return a.data == b.data && a.rows == b.rows && a.cols == b.cols && a.ld == b.ld &&
         a.dtype == b.dtype;
}
inline bool same(const OrreryDropout& a, const OrreryDropout& b) {
  return a.p == b.p && a.seed == b.seed && a.layer == b.layer && a.row_ids == b.row_ids &&
         a.col0 == b.col0;
}

/// The address of an argument on the device, to distinguish calls quickly; null for other
/// arguments.
template <class T>
const void* address_in(const T&) {
  return nullptr;
}
template <class T>
const void* address_in(T* const& pointer) {
  return pointer;
}
inline const void* address_in(const OrreryMatrix& matrix) { return matrix.data; }

/// The number of a varying argument; null if none varies.
template <class T>
OrreryVarying* varying_in(T&) {
  return nullptr;
}
inline OrreryVarying* varying_in(OrreryVarying& number) { return &number; }
inline OrreryVarying* varying_in(OrreryDropout& dropout) { return &dropout.epoch; }

/// One call that works on a stream.
class LibraryCall {
 public:
  /// `name` is used if the call fails. `pattern`: the number of its sparse pattern, because the
  /// address of a freed one may come again; 0: none.
  template <class... P, class... A>
  LibraryCall(std::string_view name, std::uint64_t pattern, int (*function)(OrreryStream*, P...),
              A... arguments)
      : call_(std::make_shared<Of<P...>>(name, pattern, function, static_cast<P>(arguments)...)) {}

  /// Errors    as require()
  void issue(OrreryStream* stream) const { call_->issue(stream); }
  /// The same function with the same arguments, except for varying numbers.
  bool same_as(const LibraryCall& other) const {
    return typeid(*call_) == typeid(*other.call_) && call_->same_as(*other.call_);
  }
  /// Equal for calls that are the same.
  std::size_t hash() const { return call_->hash(); }
  /// The varying numbers, to be read or bound to their place on the device.
  std::vector<OrreryVarying*> varying() const { return call_->varying(); }

 private:
  struct Any {
    virtual ~Any() = default;
    virtual void issue(OrreryStream* stream) const = 0;
    virtual bool same_as(const Any& other) const = 0;
    virtual std::size_t hash() const = 0;
    virtual std::vector<OrreryVarying*> varying() = 0;
  };

  template <class... P>
  struct Of final : Any {
    using Function = int (*)(OrreryStream*, P...);
    Of(std::string_view called, std::uint64_t uses, Function does, P... with)
        : name(called), pattern(uses), function(does), arguments(with...) {}

    void issue(OrreryStream* stream) const override {
      std::apply([&](const P&... with) { require(function(stream, with...), name); }, arguments);
    }
    bool same_as(const Any& other) const override {
      const auto& that = static_cast<const Of&>(other);
      return function == that.function && pattern == that.pattern &&
             same_arguments(that, std::index_sequence_for<P...>{});
    }
    std::size_t hash() const override {
      std::size_t hash = pattern;
      const auto add = [&](const void* address) {
        hash = hash * 31 + std::hash<const void*>{}(address);
      };
      std::apply([&](const P&... with) { (add(address_in(with)), ...); }, arguments);
      return hash;
    }
    std::vector<OrreryVarying*> varying() override {
      std::vector<OrreryVarying*> numbers;
      const auto add = [&](OrreryVarying* number) {
        if (number != nullptr) numbers.push_back(number);
      };
      std::apply([&](P&... with) { (add(varying_in(with)), ...); }, arguments);
      return numbers;
    }
    template <std::size_t... i>
    bool same_arguments(const Of& that, std::index_sequence<i...>) const {
      return (same(std::get<i>(arguments), std::get<i>(that.arguments)) && ...);
    }

    std::string_view name;
    std::uint64_t pattern;
    Function function;
    std::tuple<P...> arguments;
  };

  std::shared_ptr<Any> call_;
};

}  // namespace orrery::cuda
