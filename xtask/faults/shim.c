// Makes system calls fail by a plan, for the fault suite: loaded into a program by LD_PRELOAD.
//
// STRILE_FAULT         rules, separated by `;`: CALL:WHEN:ACTION[:ARGUMENT]
//   CALL     read write fsync truncate rename unlink thread alloc
//   WHEN     `*` every call, `N` the N-th, `N+` the N-th and all later ones, `%N` every N-th
//   ACTION   short (at most ARGUMENT bytes), kill (before the call), killed (after it), or an error: eintr eio enospc
//            eagain enomem; of reads also cut (the file is truncated to ARGUMENT bytes first) and swap (its bytes are
//            replaced in place by those of the file ARGUMENT first)
// STRILE_FAULT_PATH    only calls on files whose path contains this
// STRILE_FAULT_LARGE   allocations of fewer bytes are left alone; 1 MiB where it is not set
// STRILE_FAULT_LOG     a file to which each counted call appends a line: its name and path
//
// Calls are counted per kind, over all threads. `strile_fault(rules)` replaces the rules while a program runs. Programs that make system calls without libc are not seen:
// copy_file_range and renameat2 of rustix are among those.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READ, WRITE, FSYNC, TRUNCATE, RENAME, UNLINK, THREAD, ALLOC, CALLS };
static const char* const NAMES[CALLS] = {"read", "write", "fsync", "truncate", "rename", "unlink", "thread", "alloc"};
enum { NONE, SHORT, KILL, KILLED, FAIL, CUT, SWAP };

struct rule {
  int call, from, every, only, action, error;
  long number;
  const char* text;
};

static struct rule rules[16];
static int rule_count = 0;
static atomic_int counts[CALLS];
static const char* path_part = NULL;
static size_t large = 1 << 20;
static int log_to = -1;
static atomic_int ready = 0;

static int named(const char* name, const char* const* names, int count) {
  for (int i = 0; i < count; i++) {
    if (strcmp(name, names[i]) == 0) return i;
  }
  fprintf(stderr, "shim: no call or action is named `%s`\n", name);
  _exit(99);
}

static void parse(char* text) {
  static const char* const actions[] = {"short", "kill", "killed", "cut", "swap", "eintr", "eio", "enospc", "eagain", "enomem"};
  static const int kinds[] = {SHORT, KILL, KILLED, CUT, SWAP, FAIL, FAIL, FAIL, FAIL, FAIL};
  static const int errors[] = {0, 0, 0, 0, 0, EINTR, EIO, ENOSPC, EAGAIN, ENOMEM};
  char* rest = NULL;
  for (char* item = strtok_r(text, ";", &rest); item && rule_count < 16; item = strtok_r(NULL, ";", &rest)) {
    struct rule* rule = &rules[rule_count];
    char* part = NULL;
    rule->call = named(strtok_r(item, ":", &part), NAMES, CALLS);
    const char* when = strtok_r(NULL, ":", &part);
    int action = named(strtok_r(NULL, ":", &part), actions, 10);
    const char* argument = strtok_r(NULL, ":", &part);
    rule->action = kinds[action];
    rule->error = errors[action];
    rule->text = argument;
    rule->number = argument ? atol(argument) : 0;
    rule->from = 1;
    if (when[0] == '%') {
      rule->every = atoi(when + 1);
    } else if (when[0] != '*') {
      rule->from = atoi(when);
      rule->only = when[strlen(when) - 1] != '+';
    }
    rule_count++;
  }
}

__attribute__((constructor)) static void begin(void) {
  path_part = getenv("STRILE_FAULT_PATH");
  const char* text = getenv("STRILE_FAULT_LARGE");
  if (text) large = strtoul(text, NULL, 10);
  text = getenv("STRILE_FAULT_LOG");
  if (text) log_to = syscall(SYS_open, text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  text = getenv("STRILE_FAULT");
  if (text) parse(strdup(text));
  // What this process starts is left alone.
  unsetenv("LD_PRELOAD");
  atomic_store(&ready, 1);
}

// Replaces the rules, for a program that wants its faults later than its start; counts begin anew.
__attribute__((visibility("default"))) void strile_fault(const char* text) {
  atomic_store(&ready, 0);
  rule_count = 0;
  memset(rules, 0, sizeof rules);
  for (int i = 0; i < CALLS; i++) atomic_store(&counts[i], 0);
  parse(strdup(text));
  atomic_store(&ready, 1);
}

static int concerns(int fd, char* path, size_t room) {
  char link[64];
  path[0] = 0;
  if (fd >= 0) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlink, link, path, room - 1);
    path[length > 0 ? length : 0] = 0;
  }
  return !path_part || strstr(path, path_part) != NULL;
}

// The rule for this call, if there is one. Every call that could have one is counted.
static const struct rule* met(int call, const char* path) {
  if (!atomic_load(&ready)) return NULL;
  int nth = atomic_fetch_add(&counts[call], 1) + 1;
  if (log_to >= 0) {
    char line[4200];
    int length = snprintf(line, sizeof line, "%s %s\n", NAMES[call], path);
    syscall(SYS_write, log_to, line, length);
  }
  for (int i = 0; i < rule_count; i++) {
    const struct rule* rule = &rules[i];
    if (rule->call != call || nth < rule->from) continue;
    if (rule->only && nth != rule->from) continue;
    if (rule->every && nth % rule->every) continue;
    if (rule->action == SHORT) continue;
    if (rule->action == KILL) raise(SIGKILL);
    return rule;
  }
  return NULL;
}

// How many of `count` bytes a call may move.
static size_t shortened(int call, size_t count) {
  for (int i = 0; i < rule_count; i++) {
    if (rules[i].call == call && rules[i].action == SHORT && count > (size_t)rules[i].number) return rules[i].number;
  }
  return count;
}

static void cut(const char* path, long length) {
  int fd = syscall(SYS_open, path, O_WRONLY);
  if (fd >= 0) {
    syscall(SYS_ftruncate, fd, length);
    syscall(SYS_close, fd);
  }
}

static void swap(const char* path, const char* with) {
  static char bytes[1 << 16];
  int from = syscall(SYS_open, with, O_RDONLY), to = syscall(SYS_open, path, O_WRONLY);
  for (ssize_t got; from >= 0 && to >= 0 && (got = syscall(SYS_read, from, bytes, sizeof bytes)) > 0;) {
    syscall(SYS_write, to, bytes, got);
  }
  if (from >= 0) syscall(SYS_close, from);
  if (to >= 0) syscall(SYS_close, to);
}

// Runs a call on a file with what the rules say about it.
#define ON_FILE(call, fd, count, made)                                \
  do {                                                                \
    char path[4096];                                                  \
    if (!atomic_load(&ready) || !concerns(fd, path, sizeof path)) {   \
      return made;                                                    \
    }                                                                 \
    const struct rule* rule = met(call, path);                        \
    if (rule && rule->action == FAIL) {                               \
      errno = rule->error;                                            \
      return -1;                                                      \
    }                                                                 \
    if (rule && rule->action == CUT) cut(path, rule->number);         \
    if (rule && rule->action == SWAP) swap(path, rule->text);         \
    count = shortened(call, count);                                   \
    ssize_t result = made;                                            \
    if (rule && rule->action == KILLED) raise(SIGKILL);               \
    return result;                                                    \
  } while (0)

ssize_t read(int fd, void* to, size_t count) { ON_FILE(READ, fd, count, syscall(SYS_read, fd, to, count)); }
ssize_t pread64(int fd, void* to, size_t count, off64_t at) {
  ON_FILE(READ, fd, count, syscall(SYS_pread64, fd, to, count, at));
}
ssize_t pread(int fd, void* to, size_t count, off_t at) { return pread64(fd, to, count, at); }
ssize_t write(int fd, const void* from, size_t count) {
  ON_FILE(WRITE, fd, count, syscall(SYS_write, fd, from, count));
}
ssize_t pwrite64(int fd, const void* from, size_t count, off64_t at) {
  ON_FILE(WRITE, fd, count, syscall(SYS_pwrite64, fd, from, count, at));
}
ssize_t pwrite(int fd, const void* from, size_t count, off_t at) { return pwrite64(fd, from, count, at); }
// The first part alone, which is a short count.
ssize_t readv(int fd, const struct iovec* parts, int count) {
  if (count < 1) return syscall(SYS_readv, fd, parts, count);
  return read(fd, parts[0].iov_base, parts[0].iov_len);
}
ssize_t writev(int fd, const struct iovec* parts, int count) {
  if (count < 1) return syscall(SYS_writev, fd, parts, count);
  return write(fd, parts[0].iov_base, parts[0].iov_len);
}
int fsync(int fd) {
  size_t none = 0;
  ON_FILE(FSYNC, fd, none, syscall(SYS_fsync, fd));
}
int fdatasync(int fd) {
  size_t none = 0;
  ON_FILE(FSYNC, fd, none, syscall(SYS_fdatasync, fd));
}
int ftruncate64(int fd, off64_t length) {
  size_t none = 0;
  ON_FILE(TRUNCATE, fd, none, syscall(SYS_ftruncate, fd, length));
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

#define ON_PATH(call, path, made)                                     \
  do {                                                                \
    if (path_part && !strstr(path, path_part)) return made;           \
    const struct rule* rule = met(call, path);                        \
    if (rule && rule->action == FAIL) {                               \
      errno = rule->error;                                            \
      return -1;                                                      \
    }                                                                 \
    int result = made;                                                \
    if (rule && rule->action == KILLED) raise(SIGKILL);               \
    return result;                                                    \
  } while (0)

int rename(const char* from, const char* to) { ON_PATH(RENAME, to, syscall(SYS_rename, from, to)); }
int unlink(const char* path) { ON_PATH(UNLINK, path, syscall(SYS_unlink, path)); }

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* with) {
  static int (*next)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) = NULL;
  if (!next) next = (int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))dlsym(RTLD_NEXT, "pthread_create");
  const struct rule* rule = met(THREAD, "");
  if (rule && rule->action == FAIL) return rule->error;
  return next(thread, attributes, run, with);
}

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static int refused(size_t size) {
  if (size < large || (rule_count == 0 && log_to < 0)) return 0;
  char words[32];
  snprintf(words, sizeof words, "%zu", size);
  const struct rule* rule = met(ALLOC, words);
  return rule && rule->action == FAIL;
}

void* malloc(size_t size) {
  if (refused(size)) return errno = ENOMEM, NULL;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  if (refused(count * size)) return errno = ENOMEM, NULL;
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  if (refused(size)) return errno = ENOMEM, NULL;
  return __libc_realloc(old, size);
}
int posix_memalign(void** to, size_t alignment, size_t size) {
  if (refused(size)) return ENOMEM;
  *to = __libc_memalign(alignment, size);
  return *to ? 0 : ENOMEM;
}
void* aligned_alloc(size_t alignment, size_t size) {
  if (refused(size)) return errno = ENOMEM, NULL;
  return __libc_memalign(alignment, size);
}
