/* A GPU that computes nothing: the CUDA runtime, cuBLAS, cuDNN, cuRAND and the driver in one library, for machines without a GPU.

   The real CUDA provider of ONNX Runtime makes sessions and runs whole batches on it. Memory of the device is memory of the host,
   copies are copies, kernels are not launched, and every call is counted by its name. So it shows graphs, launches, copies, plans,
   threads and crashes, and neither speed nor numbers: what comes back to the host is 1/3 in fp32, so that win, draw and loss are legal.
   The counts are in the file that FAKE_CUDA_LOG names, up to date however the process ends: number, bytes, name.

   FAKE_CUDA_CAPABILITY is the compute capability times ten, 90 unless said otherwise, FAKE_CUDA_DEVICES the number of devices and
   FAKE_CUDA_MEMORY_MB the memory of all. FAKE_CUDA_PLAN_US and FAKE_CUDA_RUN_US are the microseconds that a plan of a convolution and
   a wait for the device take, FAKE_CUDA_LAUNCH_US those of a launch. A device takes FAKE_CUDA_LATENCY_US and
   FAKE_CUDA_NS_PER_POSITION for a batch as it was filled up, one batch at a time.

   The FAKE_CUDA_LAUNCH_FAILS_AT-th launch fails as a real one does: every later call too, or FAKE_CUDA_FAIL_FOR calls. The
   FAKE_CUDA_MALLOC_FAILS_AT-th allocation is refused, and FAKE_CUDA_MALLOC_FAILS in all. From the FAKE_CUDA_HANGS_AT-th on,
   FAKE_CUDA_HANGS waits hang for FAKE_CUDA_HANG_S seconds. FAKE_CUDA_DRIVER_ERROR is what the driver says at the start.

   Structures of NVIDIA are written by their offsets as of CUDA 13. `tests/gpu/main.rs` builds it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <time.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_NAMES 4096
#define MOST_KERNELS 65536
#define MOST_BLOCKS 65536

typedef struct { unsigned x, y, z; } Size;
enum Place { UNKNOWN, PINNED, DEVICE };
enum { THIRD = 0x3eaaaaab }; /* 1/3 in fp32 */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { char name[160]; long calls, bytes; } counts[MOST_NAMES];
static struct { const void *function; const char *name; } kernels[MOST_KERNELS];
static struct { char *start; size_t size; enum Place place; } blocks[MOST_BLOCKS];
static int names, registered, allocated;

static long total, launches, syncs, mallocs; /* of all devices */
static int broken;                              /* the sticky error */
static __thread int current, last_error;
static int number(const char *variable, int otherwise) {
  const char *value = getenv(variable);
  return value ? atoi(value) : otherwise;
}

static void wait_for(const char *variable) {
  int us = number(variable, 0);
  if (us) usleep(us);
}

/* A line of fixed length, behind those of the processes before. */
static void write_count(int i) {
  static int file = -1;
  static off_t start;
  char line[sizeof counts->name + 44];
  const char *path = getenv("FAKE_CUDA_LOG");
  if (file < 0) {
    file = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    start = lseek(file, 0, SEEK_END);
  }
  int length = snprintf(line, sizeof line, "%020ld %020ld %-*s\n", counts[i].calls, counts[i].bytes, (int)sizeof counts->name, counts[i].name);
  if (file >= 0 && pwrite(file, line, length, start + (off_t)i * length) != length) abort();
}

static void count(const char *name, long bytes) {
  int i = 0;
  pthread_mutex_lock(&lock);
  while (i < names && strcmp(counts[i].name, name)) i++;
  if (i == names && names < MOST_NAMES) snprintf(counts[names++].name, sizeof counts->name, "%s", name);
  if (i < names) counts[i].calls++, counts[i].bytes += bytes, write_count(i);
  pthread_mutex_unlock(&lock);
}

/* Faults. */

static int fault(void) {
  /* An error of a kernel is sticky: every later call returns it, until FAKE_CUDA_FAIL_FOR calls have failed (0 = for good). */
  static long failed;
  if (!broken) return 0;
  long most = number("FAKE_CUDA_FAIL_FOR", 0);
  if (most && __atomic_add_fetch(&failed, 1, __ATOMIC_RELAXED) > most) { broken = 0; return 0; }
  count("calls that failed", 0);
  return last_error = broken;
}
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
static void spin(int us) { double end = now() + 1e-6 * us; while (now() < end); }
static void launched_one(void) {
  long n = __atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED), at = number("FAKE_CUDA_LAUNCH_FAILS_AT", 0);
  if (at && n == at) broken = number("FAKE_CUDA_LAUNCH_ERROR", 719);
  int us = number("FAKE_CUDA_LAUNCH_US", 0);
  if (us) spin(us);
}

/* Streams that capture. */
static struct { void *stream; long calls; } capturing[64];
static int captures;
static int is_capturing(void *stream) { for (int i = 0; i < captures; i++) if (capturing[i].stream == stream) return 1; return 0; }
static void not_in_capture(const char *what) { if (captures) { char n[99]; snprintf(n, 99, "ILLEGAL IN A GLOBAL CAPTURE %s", what); count(n, 0); } }

/* A handle of something that needs no memory. */
static int handle(void **out) {
  static long last = 0x100000;
  *out = (void *)__atomic_add_fetch(&last, 16, __ATOMIC_RELAXED);
  return 0;
}

/* Memory. */

static int allocate(void **out, size_t size, enum Place place) {
  if (fault()) return broken;
  if (place == DEVICE) {
    long n = __atomic_add_fetch(&mallocs, 1, __ATOMIC_RELAXED), at = number("FAKE_CUDA_MALLOC_FAILS_AT", 0), many = number("FAKE_CUDA_MALLOC_FAILS", 1);
    long most = (long)number("FAKE_CUDA_MEMORY_MB", 80 << 10) << 20;
    if ((at && n >= at && n < at + many) || total + (long)size > most) { count("cudaMalloc refused", size); return last_error = 2; }
    not_in_capture("cudaMalloc");
    __atomic_add_fetch(&total, size, __ATOMIC_RELAXED);
  }
  *out = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
  if (!*out) return 2;
  pthread_mutex_lock(&lock);
  if (allocated < MOST_BLOCKS) {
    blocks[allocated].start = *out;
    blocks[allocated].size = size;
    blocks[allocated++].place = place;
  }
  pthread_mutex_unlock(&lock);
  return 0;
}

static int release(void *start) {
  pthread_mutex_lock(&lock);
  for (int i = allocated - 1; i >= 0; i--)
    if (blocks[i].start == start) {
      if (blocks[i].place == DEVICE) __atomic_sub_fetch(&total, blocks[i].size, __ATOMIC_RELAXED);
      blocks[i] = blocks[--allocated];
      break;
    }
  pthread_mutex_unlock(&lock);
  free(start);
  return 0;
}

static enum Place place_of(const void *address) {
  enum Place place = UNKNOWN;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < allocated; i++)
    if ((char *)address >= blocks[i].start && (char *)address < blocks[i].start + blocks[i].size) place = blocks[i].place;
  pthread_mutex_unlock(&lock);
  return place;
}

int cudaMalloc(void **out, size_t size) { count("cudaMalloc", size); return allocate(out, size, DEVICE); }
int cudaMallocFromPoolAsync(void **out, size_t size, void *pool, void *stream) { return cudaMalloc(out, size); }
int cudaMallocHost(void **out, size_t size) { count("cudaMallocHost", size); return allocate(out, size, PINNED); }
int cudaHostAlloc(void **out, size_t size, unsigned flags) { return cudaMallocHost(out, size); }
int cudaFree(void *start) { count("cudaFree", 0); return release(start); }
int cudaFreeAsync(void *start, void *stream) { return cudaFree(start); }
int cudaFreeHost(void *start) { count("cudaFreeHost", 0); return release(start); }
int cudaMemGetInfo(size_t *free, size_t *all) { *all = (size_t)number("FAKE_CUDA_MEMORY_MB", 80 << 10) << 20; *free = *all - total; return 0; }

static __thread long batch_of_thread;
static double device_free[8]; /* when the device is done with what it has */
/* A device that takes FAKE_CUDA_LATENCY_US and FAKE_CUDA_NS_PER_POSITION for a batch as it was filled up, one batch at a time. */
static void compute(void) {
  long n = batch_of_thread, us = number("FAKE_CUDA_LATENCY_US", 0), ns = number("FAKE_CUDA_NS_PER_POSITION", 0);
  char name[40];
  if (!n) return;
  batch_of_thread = 0;
  snprintf(name, 40, "batch of %ld", n), count(name, n);
  count("positions", n);
  if (!us && !ns) return;
  pthread_mutex_lock(&lock);
  double start = now(), begin = start > device_free[current] ? start : device_free[current];
  double end = device_free[current] = begin + 1e-6 * us + 1e-9 * ns * n;
  pthread_mutex_unlock(&lock);
  double wait = end - now();
  if (wait > 0) usleep((useconds_t)(1e6 * wait));
}

static int copy(const char *how, void *to, const void *from, size_t size, int kind) {
  if (fault()) return broken;
  static const char *const ways[] = {"H2H", "H2D", "D2H", "D2D", "any"};
  const void *host = kind == 1 ? from : to;
  char name[64];
  snprintf(name, sizeof name, "copy %s %s %s", how, ways[kind & 3], place_of(host) == PINNED ? "pinned" : "pageable");
  count(name, size);
  if (kind == 2) batch_of_thread = size / 3716 > batch_of_thread ? size / 3716 : batch_of_thread;
  if (kind == 2)
    for (size_t i = 0; i < size / 4; i++) ((uint32_t *)to)[i] = THIRD;
  else
    memcpy(to, from, size);
  return 0;
}

static int is_capturing(void *stream);
int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream) {
  /* It would be read again at each launch, when something else is there. */
  if (kind == 1 && is_capturing(stream)) count("ILLEGAL copy from the host in a graph", size);
  return copy(stream > (void *)2 ? "async" : "async-default", to, from, size, kind);
}
int cudaMemcpy(void *to, const void *from, size_t size, int kind) { return copy("sync", to, from, size, kind); }
int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset, int kind) { memset(to, 0, size); return 0; }
int cudaMemset(void *to, int value, size_t size) { count("cudaMemset", size); memset(to, value, size); return 0; }
int cudaMemsetAsync(void *to, int value, size_t size, void *stream) { return cudaMemset(to, value, size); }

int cudaPointerGetAttributes(char *out, const void *address) {
  enum Place place = place_of(address);
  memset(out, 0, 88);
  memcpy(out, &place, 4);
  memcpy(out + 8, &address, 8);
  if (place == PINNED) memcpy(out + 16, &address, 8);
  return 0;
}

/* The device. */

int cudaGetDeviceCount(int *out) { *out = number("FAKE_CUDA_DEVICES", 1); return last_error = number("FAKE_CUDA_DRIVER_ERROR", 0); }
int cudaGetLastError(void) { int e = last_error; last_error = 0; return broken ? broken : e; }
int cudaPeekAtLastError(void) { return broken ? broken : last_error; }
int cudaSetDevice(int device) { char n[40]; if (number("FAKE_CUDA_DRIVER_ERROR", 0)) return number("FAKE_CUDA_DRIVER_ERROR", 0); if (device >= number("FAKE_CUDA_DEVICES", 1)) return 101; current = device; snprintf(n, 40, "cudaSetDevice %d", device); count(n, 0); return fault(); }
int cudaDeviceSynchronize(void) { return fault(); }
int cuDeviceGetCount(int *out) { return cudaGetDeviceCount(out); }
int cudaGetDevice(int *out) { *out = current; return number("FAKE_CUDA_DRIVER_ERROR", 0); }
int cudaDriverGetVersion(int *out) { *out = 13000; return 0; }
int cudaRuntimeGetVersion(int *out) { *out = 13000; return 0; }
const char *cudaGetErrorName(int error) { return "fake"; }
const char *cudaGetErrorString(int error) {
  switch (error) {
    case 2: return "out of memory";
    case 35: return "CUDA driver version is insufficient for CUDA runtime version";
    case 100: return "no CUDA-capable device is detected";
    case 101: return "invalid device ordinal";
    case 46: return "all CUDA-capable devices are busy or unavailable";
    case 209: return "no kernel image is available for execution on the device";
    case 700: return "an illegal memory access was encountered";
    case 719: return "unspecified launch failure";
    case 702: return "the launch timed out and was terminated";
    case 999: return "unknown error";
  }
  return "fake";
}
const char *cublasGetStatusName(int status) { return "fake"; }
const char *cublasGetStatusString(int status) { return "fake"; }
const char *cudnnGetErrorString(int status) { return "fake"; }

int cudaGetDeviceProperties(char *out, int device) {
  int capability = number("FAKE_CUDA_CAPABILITY", 90);
  size_t memory = (size_t)number("FAKE_CUDA_MEMORY_MB", 80 << 10) << 20;
  const struct { int offset, value; } facts[] = {
      {296, 49152}, {304, 65536}, {308, 32},   {320, 1024}, {324, 1024},   {328, 1024},     {332, 64},      {336, 2147483647}, {340, 65535},
      {344, 65535}, {360, capability / 10},    {364, capability % 10},     {384, 132},      {560, 1},       {588, 1},          {596, 50 << 20},
      {604, 2048},  {624, 233472},             {632, 65536},               {672, 232448}};
  memset(out, 0, 1008);
  sprintf(out, "Fake GPU %d", device);
  memcpy(out + 288, &memory, 8);
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) memcpy(out + facts[i].offset, &facts[i].value, 4);
  return 0;
}

int cudaDeviceGetAttribute(int *out, int attribute, int device) {
  int capability = number("FAKE_CUDA_CAPABILITY", 90);
  switch (attribute) {
    case 1: *out = 1024; break;
    case 8: *out = 49152; break;
    case 10: *out = 32; break;
    case 16: *out = 132; break;
    case 39: *out = 2048; break;
    case 75: *out = capability / 10; break;
    case 76: *out = capability % 10; break;
    case 81: *out = 233472; break;
    case 97: *out = 232448; break;
    case 115: *out = 1; break;
    default: *out = 0;
  }
  return 0;
}

/* Streams, events, graphs. */

int cudaStreamCreateWithFlags(void **out, unsigned flags) { count("cudaStreamCreate", 0); return handle(out); }
int cudaStreamCreate(void **out) { return cudaStreamCreateWithFlags(out, 0); }
int cudaStreamIsCapturing(void *stream, int *out) { *out = is_capturing(stream); return 0; }
int cudaStreamBeginCapture(void *stream, int mode) {
  char n[60]; snprintf(n, 60, "cudaStreamBeginCapture mode %d", mode); count(n, 0);
  if (captures < 64) capturing[captures++].stream = stream;
  return 0;
}
/* What a graph computes may lie in pinned memory, from which nothing is copied. */
static void fill_pinned(void) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < allocated; i++)
    if (blocks[i].place == PINNED)
      for (size_t j = 0; j < blocks[i].size / 4; j++) ((uint32_t *)blocks[i].start)[j] = THIRD;
  pthread_mutex_unlock(&lock);
}
int cudaGraphLaunch(void *graph, void *stream) {
  count("cudaGraphLaunch", 0);
  if (is_capturing(stream)) count("ILLEGAL cudaGraphLaunch in capture", 0);
  launched_one();
  fill_pinned();
  return fault();
}
int cudaStreamSynchronize(void *stream) {
  count(stream ? "cudaStreamSynchronize" : "cudaStreamSynchronize default", 0);
  not_in_capture("cudaStreamSynchronize");
  if (stream) {
    long n = __atomic_add_fetch(&syncs, 1, __ATOMIC_RELAXED), at = number("FAKE_CUDA_HANGS_AT", 0);
    wait_for("FAKE_CUDA_RUN_US");
    compute();
    if (at && n >= at && n < at + number("FAKE_CUDA_HANGS", 1)) { count("hung", 0); usleep(1000000l * number("FAKE_CUDA_HANG_S", 60)); }
  }
  return fault();
}
int cudaStreamEndCapture(void *stream, void **out) {
  count("cudaStreamEndCapture", 0);
  for (int i = 0; i < captures; i++) if (capturing[i].stream == stream) capturing[i] = capturing[--captures];
  return handle(out);
}
int cudaEventCreateWithFlags(void **out, unsigned flags) { return handle(out); }
int cudaEventCreate(void **out) { return handle(out); }
int cudaEventElapsedTime(float *out, void *from, void *to) { *out = 0.01f; return 0; }
int cudaGraphInstantiate(void **out, void *graph, unsigned long flags) { return handle(out); }
int cudaMemPoolCreate(void **out, void *properties) { return handle(out); }
int cudaMemPoolGetAttribute(void *pool, int attribute, void *out) { memset(out, 0, 8); return 0; }

/* Kernels. */

void **__cudaRegisterFatBinary(void *binary) { static void *none[4]; return none; }
void __cudaRegisterFatBinaryEnd(void **binary) {}
void __cudaUnregisterFatBinary(void **binary) {}
void __cudaRegisterVar(void **b, char *h, char *a, const char *n, int e, size_t s, int c, int g) {}
void __cudaRegisterFunction(void **binary, const char *function, char *d, const char *name, int l, void *t, void *b, void *c, void *e, int *w) {
  if (registered < MOST_KERNELS) kernels[registered].function = function, kernels[registered++].name = name;
}

static __thread struct { Size grid, block; size_t shared; void *stream; } launch;

unsigned __cudaPushCallConfiguration(Size grid, Size block, size_t shared, void *stream) {
  launch.grid = grid, launch.block = block, launch.shared = shared, launch.stream = stream;
  return 0;
}
int __cudaPopCallConfiguration(Size *grid, Size *block, size_t *shared, void **stream) {
  *grid = launch.grid, *block = launch.block, *shared = launch.shared, *stream = launch.stream;
  return 0;
}

static int launched(const void *function) {
  if (fault()) return broken;
  launched_one();
  { char n[40]; snprintf(n, 40, "kernels on device %d", current); count(n, 0); }
  char name[160];
  int i = registered;
  while (i > 0 && kernels[i - 1].function != function) i--;
  snprintf(name, sizeof name, "kernel %s", i ? kernels[i - 1].name : "of a library");
  count(name, 0);
  count("kernels", 0);
  return 0;
}

int cudaLaunchKernel(const void *function, Size g, Size b, void **a, size_t s, void *stream) { return launched(function); }
int __cudaLaunchKernel(const void *function, Size g, Size b, void **a, size_t s, void *stream) { return launched(function); }
int cudaLaunchCooperativeKernel(const void *function, Size g, Size b, void **a, size_t s, void *stream) { return launched(function); }
int cudaLaunchKernelExC(const void *configuration, const void *function, void **arguments) { return launched(function); }
int __cudaGetKernel(const void **out, const void *function) { *out = function; return 0; }
int cudaLibraryLoadData(void **out, const void *c, void *a, void *b, unsigned n, void *d, void *e, unsigned m) { return handle(out); }
int cudaLibraryGetKernel(const void **out, void *library, const char *name) { *out = name; return 0; }
int cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned version, unsigned long flags, int *status) {
  *out = NULL;
  if (status) *status = 1;
  return 0;
}
int cudaFuncGetAttributes(char *out, const void *function) {
  const struct { int offset, value; } facts[] = {{24, 1024}, {28, 32}, {32, 90}, {36, 90}};
  memset(out, 0, 144);
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) memcpy(out + facts[i].offset, &facts[i].value, 4);
  return 0;
}
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *out, const void *f, int b, size_t s, unsigned l) { *out = 2; return 0; }

/* cuBLAS. */

static int product(void) { if (fault()) return 13; launched_one(); count("products", 0); return 0; }
int cublasCreate_v2(void **out) { return handle(out); }
int cublasGetMathMode(void *handle, int *out) { *out = 0; return 0; }
int cublasGemmEx(void) { return product(); }
int cublasGemmStridedBatchedEx(void) { return product(); }
int cublasGemmBatchedEx(void) { return product(); }
int cublasLtMatmul(void) { return product(); }
int cublasLtCreate(void **out) { return handle(out); }
int cublasLtMatmulDescCreate(void **out) { return handle(out); }
int cublasLtMatmulPreferenceCreate(void **out) { return handle(out); }
int cublasLtMatrixLayoutCreate(void **out) { return handle(out); }
int cublasLtMatrixTransformDescCreate(void **out) { return handle(out); }
int cublasLtMatmulAlgoGetHeuristic(void *h, void *d, void *a, void *b, void *c, void *e, void *p, int wanted, char *out, int *found) {
  memset(out, 0, 96);
  *found = 1;
  return 0;
}

/* cuDNN. A descriptor of its backend is the number of its type. */

enum { EXECUTION_PLAN = 5 };
enum { ENGINE_BEHAVIOURS = 302, ENGINE_LAYOUT = 304, AS_INT64 = 3, AS_DESCRIPTOR = 15 };

size_t cudnnGetVersion(void) { return 92801; }
size_t cudnnGetCudartVersion(void) { return 13000; }
void cudnnGetLastErrorString(char *out, size_t size) { if (size) *out = 0; }
int cudnnGetStream(void *handle, void **out) { *out = NULL; return 0; }
int cudnnGetReductionWorkspaceSize(void *h, void *r, void *a, void *c, size_t *out) { *out = 0; return 0; }
int cudnnGetReductionIndicesSize(void *h, void *r, void *a, void *c, size_t *out) { *out = 0; return 0; }
int cudnnDropoutGetStatesSize(void *handle, size_t *out) { *out = 0; return 0; }
int cudnnBackendCreateDescriptor(int type, int **out) { *out = malloc(sizeof type); **out = type; return 0; }
int cudnnBackendDestroyDescriptor(int *descriptor) { free(descriptor); return 0; }
int cudnnBackendFinalize(const int *descriptor) {
  if (*descriptor == EXECUTION_PLAN) count("plans", 0), wait_for("FAKE_CUDA_PLAN_US");
  return 0;
}
int cudnnBackendExecute(void) { if (fault()) return 5000; launched_one(); count("convolutions", 0); return 0; }
int cudnnBackendGetAttribute(int *descriptor, int attribute, int type, int64_t wanted, int64_t *found, void *out) {
  int has_one = type == AS_DESCRIPTOR ? attribute != ENGINE_BEHAVIOURS : attribute == ENGINE_LAYOUT || type == AS_INT64;
  if (found) *found = has_one;
  if (out && type != AS_DESCRIPTOR && attribute == ENGINE_LAYOUT) memset(out, 0, 4);
  else if (out && type == AS_INT64 && wanted) memset(out, 0, 8);
  return 0;
}

#define CREATES(what) int cudnnCreate##what(void **out) { return handle(out); }
CREATES() CREATES(TensorDescriptor) CREATES(ActivationDescriptor) CREATES(ConvolutionDescriptor) CREATES(FilterDescriptor)
CREATES(PoolingDescriptor) CREATES(ReduceTensorDescriptor) CREATES(DropoutDescriptor) CREATES(LRNDescriptor) CREATES(RNNDescriptor)
CREATES(RNNDataDescriptor)

#define COMPUTES(name) int name(void) { count(#name, 0); count("operations of cuDNN", 0); return 0; }
COMPUTES(cudnnActivationForward) COMPUTES(cudnnAddTensor) COMPUTES(cudnnBatchNormalizationForwardInference)
COMPUTES(cudnnConvolutionBiasActivationForward) COMPUTES(cudnnConvolutionForward) COMPUTES(cudnnPoolingForward)
COMPUTES(cudnnReduceTensor) COMPUTES(cudnnSoftmaxForward)

/* What else the provider of ONNX Runtime 1.31 wants: `nm -D --undefined-only` lists it. */
#define SUCCEEDS(name) int name(void) { return 0; }
SUCCEEDS(cuInit) SUCCEEDS(cuTensorMapEncodeTiled) SUCCEEDS(cublasDestroy_v2) SUCCEEDS(cublasDgeam) SUCCEEDS(cublasDgemmBatched)
SUCCEEDS(cublasDgemmStridedBatched) SUCCEEDS(cublasDgemm_v2) SUCCEEDS(cublasDgetrfBatched) SUCCEEDS(cublasDgetriBatched)
SUCCEEDS(cublasLtDestroy) SUCCEEDS(cublasLtMatmulAlgoConfigSetAttribute) SUCCEEDS(cublasLtMatmulAlgoInit)
SUCCEEDS(cublasLtMatmulDescDestroy) SUCCEEDS(cublasLtMatmulDescSetAttribute) SUCCEEDS(cublasLtMatmulPreferenceDestroy)
SUCCEEDS(cublasLtMatmulPreferenceSetAttribute) SUCCEEDS(cublasLtMatrixLayoutDestroy) SUCCEEDS(cublasLtMatrixLayoutSetAttribute)
SUCCEEDS(cublasLtMatrixTransform) SUCCEEDS(cublasLtMatrixTransformDescDestroy) SUCCEEDS(cublasScopy_v2)
SUCCEEDS(cublasSetStream_v2) SUCCEEDS(cublasSgeam) SUCCEEDS(cublasSgemmBatched)
SUCCEEDS(cublasSgemmStridedBatched) SUCCEEDS(cublasSgemm_v2) SUCCEEDS(cublasSgetrfBatched) SUCCEEDS(cublasSgetriBatched)
SUCCEEDS(cublasSscal_v2) SUCCEEDS(cudaEventDestroy) SUCCEEDS(cudaEventRecord)
SUCCEEDS(cudaEventRecordWithFlags) SUCCEEDS(cudaEventSynchronize) SUCCEEDS(cudaFuncSetAttribute)
SUCCEEDS(cudaGraphDestroy) SUCCEEDS(cudaGraphExecDestroy) SUCCEEDS(cudaKernelSetAttributeForDevice)
SUCCEEDS(cudaLaunchHostFunc) SUCCEEDS(cudaLibraryUnload) SUCCEEDS(cudaMemPoolDestroy) SUCCEEDS(cudaMemPoolSetAttribute)
SUCCEEDS(cudaMemPoolTrimTo) SUCCEEDS(cudaMemcpy2DAsync) 
SUCCEEDS(cudaStreamDestroy) SUCCEEDS(cudaStreamWaitEvent) SUCCEEDS(cudnnBackendInitialize)
SUCCEEDS(cudnnBackendSetAttribute) SUCCEEDS(cudnnDestroy) SUCCEEDS(cudnnDestroyActivationDescriptor)
SUCCEEDS(cudnnDestroyConvolutionDescriptor) SUCCEEDS(cudnnDestroyDropoutDescriptor) SUCCEEDS(cudnnDestroyFilterDescriptor)
SUCCEEDS(cudnnDestroyLRNDescriptor) SUCCEEDS(cudnnDestroyPoolingDescriptor) SUCCEEDS(cudnnDestroyRNNDataDescriptor)
SUCCEEDS(cudnnDestroyRNNDescriptor) SUCCEEDS(cudnnDestroyReduceTensorDescriptor) SUCCEEDS(cudnnDestroyTensorDescriptor)
SUCCEEDS(cudnnSetActivationDescriptor) SUCCEEDS(cudnnSetConvolutionGroupCount) SUCCEEDS(cudnnSetConvolutionMathType)
SUCCEEDS(cudnnSetConvolutionNdDescriptor) SUCCEEDS(cudnnSetFilterNdDescriptor) SUCCEEDS(cudnnSetPoolingNdDescriptor)
SUCCEEDS(cudnnSetReduceTensorDescriptor) SUCCEEDS(cudnnSetStream) SUCCEEDS(cudnnSetTensor4dDescriptor)
SUCCEEDS(cudnnSetTensor4dDescriptorEx) SUCCEEDS(cudnnSetTensorNdDescriptor) SUCCEEDS(cudnnSetTensorNdDescriptorEx)
int cublasSetMathMode(void *handle, int mode) { char n[40]; snprintf(n, 40, "cublasSetMathMode %d", mode); count(n, 0); return 0; }
