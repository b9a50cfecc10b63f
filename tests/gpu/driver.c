/* A driver of NVIDIA that fails: a libcuda.so.1 for tests of messages on machines without a GPU (tests/gpu/stub).
   STUB_CUDA_ERROR: the code that cuInit returns, such as 100 (no device), 35 (driver too old), 2 (no memory), 999 (unknown).
   STUB_CUDA_VERSION: the CUDA version of the driver times 1000, such as 13020 for 13.2. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

static int number(const char *name, int otherwise) {
  const char *value = getenv(name);
  return value ? atoi(value) : otherwise;
}

static int code(void) { return number("STUB_CUDA_ERROR", 100); }

/* What the libraries ask for after cuInit must not succeed. */
static int fails(void) { return code() ? code() : 999; }

int cuInit(unsigned flags) {
  (void)flags;
  return code();
}

int cuDriverGetVersion(int *version) {
  *version = number("STUB_CUDA_VERSION", 13020);
  return 0;
}

int cuDeviceGetCount(int *count) {
  *count = 0;
  return code();
}

int cuGetErrorString(int error, const char **text) {
  (void)error;
  *text = "stub";
  return 0;
}

int cuGetErrorName(int error, const char **text) { return cuGetErrorString(error, text); }

int cuGetProcAddress_v2(const char *symbol, void **function, int version, unsigned long flags, int *status) {
  Dl_info info;
  (void)version;
  (void)flags;
  *function = dlsym(RTLD_DEFAULT, symbol);
  if (!*function || !dladdr(*function, &info)) *function = (void *)fails;
  if (status) *status = 0;
  return 0;
}

int cuGetProcAddress(const char *symbol, void **function, int version, unsigned long flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, 0);
}

#define FAILS(name) \
  int name(void) { return fails(); }
#ifndef LACKS_A_FUNCTION
FAILS(cuTensorMapEncodeTiled)
#endif
FAILS(cuTensorMapEncodeIm2col)
FAILS(cuModuleUnload)
FAILS(cuModuleLoadData)
FAILS(cuModuleGetFunction)
FAILS(cuDeviceGet)
FAILS(cuDeviceGetName)
FAILS(cuDeviceGetAttribute)
