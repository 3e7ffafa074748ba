// Output and exceptions of the host.
#pragma once
#include "bicrl/strings.h"

namespace std {

struct ostream {
  template <class T>
  ostream& operator<<(const T&);
  ostream& operator<<(ostream& (*)(ostream&));
  ostream& flush();
  long precision(long);
};
struct istream {};
extern ostream cout, cerr, clog;
ostream& endl(ostream&);
ostream& flush(ostream&);
ostream& fixed(ostream&);
ostream& hex(ostream&);
int setprecision(int);
int setw(int);
struct stringstream : ostream {
  constexpr stringstream() = default;
  stringstream(const string&);
  string str() const;
  void str(const string&);
};
using ostringstream = stringstream;
using istringstream = stringstream;

struct exception {
  constexpr exception() = default;
  const char* what() const noexcept;
};
#define BICRL_EXCEPTION(name, base) \
  struct name : base {              \
    constexpr name() = default;     \
    explicit name(const char*);     \
    explicit name(const string&);   \
  };
BICRL_EXCEPTION(runtime_error, exception)
BICRL_EXCEPTION(logic_error, exception)
BICRL_EXCEPTION(invalid_argument, logic_error)
BICRL_EXCEPTION(domain_error, logic_error)
BICRL_EXCEPTION(length_error, logic_error)
BICRL_EXCEPTION(out_of_range, logic_error)
BICRL_EXCEPTION(range_error, runtime_error)
BICRL_EXCEPTION(overflow_error, runtime_error)
BICRL_EXCEPTION(bad_alloc, exception)
#undef BICRL_EXCEPTION

}  // namespace std

struct FILE;
extern FILE* const bicrl_file;
#define stderr bicrl_file
#define stdout bicrl_file
int fprintf(FILE*, const char*, ...);
int snprintf(char*, size_t, const char*, ...);
int sprintf(char*, const char*, ...);
int fflush(FILE*);
int puts(const char*);
namespace std {
using ::fflush;
using ::fprintf;
using ::puts;
using ::snprintf;
}  // namespace std
