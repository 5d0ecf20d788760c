// Calls that fail on demand: a library to preload (LD_PRELOAD) into a program under test. Environment:
//
//   FAULT_CALL      the kind of call: write, open, close, fsync, rename, mkdir, truncate, mmap, stat,
//                   read, lock, remove, pipe, thread, malloc, new
//   FAULT_AT        which of them fails, from 1 on; 0: none, they are only counted
//   FAULT_FOR       how many fail from there on (1)
//   FAULT_ERRNO     the number of the error (of write also "short": half of the bytes are taken)
//   FAULT_PROGRAM   the name of the program that is meant, of those that inherit the environment
//   FAULT_COUNT     a file that gets the number of calls when the program exits
//   FAULT_PLACE     instead of FAULT_AT: the first call from this place fails, as FAULT_PLACES names them
//   FAULT_PLACES    a file that gets the places that called, a line each, when the program exits
//
// A place is a call with what called it, kFrames functions deep: calls from one place fail alike.
// Calls are counted from the start of main() on, over all threads. What the C library does within
// itself (the write() of a buffered stream) is not seen; the calls of the program on streams are.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace {

enum class Call : unsigned char {
  write,
  open,
  close,
  fsync,
  rename,
  mkdir,
  truncate,
  mmap,
  stat,
  read,
  lock,
  remove,
  pipe,
  thread,
  malloc,
  allocate,
  none
};
constexpr const char* kNames[] = {"write",    "open",   "close",  "fsync", "rename", "mkdir",
                                  "truncate", "mmap",   "stat",   "read",  "lock",   "remove",
                                  "pipe",     "thread", "malloc", "new"};

// Set before main() is entered, read afterwards.
std::atomic<bool> counting{false};
std::atomic<long> calls{0};
Call wanted = Call::none;
long first = 0, last = 0;
int error_number = EIO;
bool takes_half = false;

constexpr int kFrames = 6;
std::uint64_t wanted_place = 0;  // 0: none
std::atomic<bool> place_failed{false};

/// The places that have called, in their order: a table without allocations.
struct Places {
  static constexpr std::size_t kMost = 1 << 16;
  std::mutex lock;
  bool wanted = false;
  std::size_t number = 0;
  std::uint64_t ordered[kMost], table[2 * kMost];

  void add(std::uint64_t place) {
    const std::lock_guard<std::mutex> alone(lock);
    std::size_t at = place % (2 * kMost);
    while (table[at] != 0 && table[at] != place) at = (at + 1) % (2 * kMost);
    if (table[at] == place || number == kMost) return;
    table[at] = ordered[number++] = place;
  }
} places;

const char* variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

void read_environment() {
  const char* program = variable("FAULT_PROGRAM");
  if (*program != '\0' && std::strcmp(program, program_invocation_short_name) != 0) return;
  const char* name = variable("FAULT_CALL");
  const auto* found = std::find_if(std::begin(kNames), std::end(kNames),
                                   [&](const char* one) { return std::strcmp(one, name) == 0; });
  if (found == std::end(kNames)) return;
  wanted = static_cast<Call>(found - std::begin(kNames));
  first = std::atol(variable("FAULT_AT"));
  last = first + std::max(1L, std::atol(variable("FAULT_FOR"))) - 1;
  takes_half = std::strcmp(variable("FAULT_ERRNO"), "short") == 0;
  if (const int number = std::atoi(variable("FAULT_ERRNO")); number != 0) error_number = number;
  wanted_place = std::strtoull(variable("FAULT_PLACE"), nullptr, 16);
  places.wanted = *variable("FAULT_PLACES") != '\0';
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // the first time it loads a library
  counting = true;
}

/// The functions that are being called, by where they stand in their library or program: the same in every
/// process, wherever these are loaded. Not 0.
__attribute__((noinline)) std::uint64_t place_of_this_call() {
  void* frames[kFrames + 2];
  const int number = ::backtrace(frames, kFrames + 2);
  std::uint64_t place = 14695981039346656037U;  // FNV-1a
  for (int i = 2; i < number; ++i) {            // without this function and fails()
    dl_find_object found;
    const bool known = ::_dl_find_object(frames[i], &found) == 0;
    const auto begin = known ? reinterpret_cast<std::uintptr_t>(found.dlfo_map_start) : 0;
    place = (place ^ (reinterpret_cast<std::uintptr_t>(frames[i]) - begin)) * 1099511628211U;
  }
  return std::max<std::uint64_t>(place, 1);
}

/// Whether this call is one that fails.
bool fails(Call call) {
  if (!counting || call != wanted) return false;
  const long number = ++calls;
  bool chosen = first != 0 && number >= first && number <= last;
  if (wanted_place != 0 && !place_failed && place_of_this_call() == wanted_place)
    chosen = !place_failed.exchange(true);
  if (places.wanted) places.add(place_of_this_call());
  if (!chosen) return false;
  errno = error_number;
  return true;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

int (*program_main)(int, char**, char**) = nullptr;

int counted_main(int argc, char** argv, char** environment) {
  read_environment();
  return program_main(argc, argv, environment);
}

struct TellsCount {
  ~TellsCount() {
    counting = false;
    if (wanted == Call::none) return;
    if (std::FILE* out = opened("FAULT_COUNT")) {
      std::fprintf(out, "%ld\n", calls.load());
      std::fclose(out);
    }
    if (std::FILE* out = opened("FAULT_PLACES")) {
      for (std::size_t i = 0; i < places.number; ++i)
        std::fprintf(out, "%016lx\n", places.ordered[i]);
      std::fclose(out);
    }
  }
  static std::FILE* opened(const char* name) {
    const char* file = variable(name);
    return *file == '\0' ? nullptr : std::fopen(file, "w");
  }
} tells_count;

/// The function behind one that is replaced here.
#define BEHIND(name) static const auto behind = next<decltype(&name)>(#name)

void* allocated(std::size_t bytes, std::size_t alignment) {
  if (fails(Call::allocate)) {
    if (const std::new_handler handler = std::get_new_handler()) handler();
    throw std::bad_alloc();
  }
  void* memory = alignment == 0 ? std::malloc(std::max<std::size_t>(bytes, 1))
                                : std::aligned_alloc(
                                      alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// The C library's own names, among them those of large files, which are the same on 64 bits.
// NOLINTBEGIN
extern "C" {

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(),
                      void (*fini)(), void (*rtld_fini)(), void* stack_end) {
  using Start =
      int (*)(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  program_main = main;
  return next<Start>("__libc_start_main")(counted_main, argc, argv, init, fini, rtld_fini,
                                          stack_end);
}

ssize_t write(int file, const void* data, size_t bytes) {
  BEHIND(write);
  if (fails(Call::write)) {
    if (!takes_half) return -1;
    bytes = (bytes + 1) / 2;
  }
  return behind(file, data, bytes);
}

ssize_t pwrite(int file, const void* data, size_t bytes, off_t at) {
  BEHIND(pwrite);
  if (fails(Call::write)) {
    if (!takes_half) return -1;
    bytes = (bytes + 1) / 2;
  }
  return behind(file, data, bytes, at);
}
ssize_t pwrite64(int file, const void* data, size_t bytes, off_t at) {
  return pwrite(file, data, bytes, at);
}

ssize_t writev(int file, const iovec* parts, int count) {
  BEHIND(writev);
  if (fails(Call::write)) {
    if (!takes_half) return -1;
    count = (count + 1) / 2;
  }
  return behind(file, parts, count);
}

size_t fwrite(const void* data, size_t size, size_t count, FILE* file) {
  BEHIND(fwrite);
  return fails(Call::write) && !takes_half ? 0 : behind(data, size, count, file);
}

int fflush(FILE* file) {
  BEHIND(fflush);
  return fails(Call::write) && !takes_half ? EOF : behind(file);
}

int open(const char* path, int flags, ...) {
  BEHIND(open);
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return fails(Call::open) ? -1 : behind(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return open(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  BEHIND(openat);
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return fails(Call::open) ? -1 : behind(folder, path, flags, mode);
}

FILE* fopen(const char* path, const char* mode) {
  BEHIND(fopen);
  return fails(Call::open) ? nullptr : behind(path, mode);
}
FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }

int close(int file) {
  BEHIND(close);
  const bool failed = fails(Call::close);
  const int why = errno, status = behind(file);
  if (failed) errno = why;
  return failed ? -1 : status;
}

int fclose(FILE* file) {
  BEHIND(fclose);
  const bool failed = fails(Call::close);
  const int why = errno, status = behind(file);
  if (failed) errno = why;
  return failed ? EOF : status;
}

int fsync(int file) {
  BEHIND(fsync);
  return fails(Call::fsync) ? -1 : behind(file);
}

int rename(const char* from, const char* to) noexcept {
  BEHIND(rename);
  return fails(Call::rename) ? -1 : behind(from, to);
}
int renameat2(int a, const char* from, int b, const char* to, unsigned flags) noexcept {
  BEHIND(renameat2);
  return fails(Call::rename) ? -1 : behind(a, from, b, to, flags);
}

int mkdir(const char* path, mode_t mode) noexcept {
  BEHIND(mkdir);
  return fails(Call::mkdir) ? -1 : behind(path, mode);
}

int ftruncate(int file, off_t bytes) noexcept {
  BEHIND(ftruncate);
  return fails(Call::truncate) ? -1 : behind(file, bytes);
}
int ftruncate64(int file, off_t bytes) noexcept { return ftruncate(file, bytes); }
int truncate(const char* path, off_t bytes) noexcept {
  BEHIND(truncate);
  return fails(Call::truncate) ? -1 : behind(path, bytes);
}
int truncate64(const char* path, off_t bytes) noexcept { return truncate(path, bytes); }

void* mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  BEHIND(mmap);
  return fails(Call::mmap) ? MAP_FAILED : behind(at, bytes, protection, flags, file, offset);
}
void* mmap64(void* at, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  return mmap(at, bytes, protection, flags, file, offset);
}

int stat(const char* path, struct stat* out) noexcept {
  static const auto behind = next<int (*)(const char*, struct stat*)>("stat");
  return fails(Call::stat) ? -1 : behind(path, out);
}
int lstat(const char* path, struct stat* out) noexcept {
  static const auto behind = next<int (*)(const char*, struct stat*)>("lstat");
  return fails(Call::stat) ? -1 : behind(path, out);
}
int fstat(int file, struct stat* out) noexcept {
  static const auto behind = next<int (*)(int, struct stat*)>("fstat");
  return fails(Call::stat) ? -1 : behind(file, out);
}
int stat64(const char* path, struct stat64* out) noexcept {
  return stat(path, reinterpret_cast<struct stat*>(out));
}
int lstat64(const char* path, struct stat64* out) noexcept {
  return lstat(path, reinterpret_cast<struct stat*>(out));
}
int fstat64(int file, struct stat64* out) noexcept {
  return fstat(file, reinterpret_cast<struct stat*>(out));
}

ssize_t read(int file, void* out, size_t bytes) {
  BEHIND(read);
  if (fails(Call::read)) {
    if (!takes_half) return -1;
    bytes = (bytes + 1) / 2;
  }
  return behind(file, out, bytes);
}
ssize_t pread(int file, void* out, size_t bytes, off_t at) {
  BEHIND(pread);
  if (fails(Call::read)) {
    if (!takes_half) return -1;
    bytes = (bytes + 1) / 2;
  }
  return behind(file, out, bytes, at);
}
ssize_t pread64(int file, void* out, size_t bytes, off_t at) { return pread(file, out, bytes, at); }

int flock(int file, int operation) noexcept {
  BEHIND(flock);
  return fails(Call::lock) ? -1 : behind(file, operation);
}

int unlink(const char* path) noexcept {
  BEHIND(unlink);
  return fails(Call::remove) ? -1 : behind(path);
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  BEHIND(unlinkat);
  return fails(Call::remove) ? -1 : behind(folder, path, flags);
}
int rmdir(const char* path) noexcept {
  BEHIND(rmdir);
  return fails(Call::remove) ? -1 : behind(path);
}
int remove(const char* path) noexcept {
  BEHIND(remove);
  return fails(Call::remove) ? -1 : behind(path);
}

int pipe2(int ends[2], int flags) noexcept {
  BEHIND(pipe2);
  return fails(Call::pipe) ? -1 : behind(ends, flags);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) noexcept {
  BEHIND(pthread_create);
  return fails(Call::thread) ? EAGAIN : behind(thread, attributes, body, argument);
}

// dlsym() may allocate, so the C library's second names are called.
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) noexcept { return fails(Call::malloc) ? nullptr : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) noexcept {
  return fails(Call::malloc) ? nullptr : __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) noexcept {
  return fails(Call::malloc) ? nullptr : __libc_realloc(memory, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return fails(Call::malloc) ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, size_t alignment, size_t bytes) noexcept {
  if (fails(Call::malloc)) return ENOMEM;
  *out = __libc_memalign(alignment, bytes);
  return *out == nullptr ? ENOMEM : 0;
}

}  // extern "C"

void* operator new(std::size_t bytes) { return allocated(bytes, 0); }
void* operator new[](std::size_t bytes) { return allocated(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocated(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocated(bytes, static_cast<std::size_t>(alignment));
}
// NOLINTEND
