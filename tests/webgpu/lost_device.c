/* A Vulkan loader that loses the device: it passes everything on to the real loader, whose path REAL_VULKAN names, until
   the file that LOSE_DEVICE names exists; from then on all work that is submitted is refused. */

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEVICE_LOST = -4 };

typedef void (*function)(void);
typedef function (*lookup)(void *, const char *);
typedef int (*submit)(void *, unsigned, const void *, void *);

static submit real_submit, real_submit2;
static lookup real_instance_lookup, real_device_lookup;

static int is_lost(void) {
    const char *file = getenv("LOSE_DEVICE");
    return file && access(file, F_OK) == 0;
}

static int our_submit(void *queue, unsigned count, const void *infos, void *fence) {
    return is_lost() ? DEVICE_LOST : real_submit(queue, count, infos, fence);
}

static int our_submit2(void *queue, unsigned count, const void *infos, void *fence) {
    return is_lost() ? DEVICE_LOST : real_submit2(queue, count, infos, fence);
}

static function replaced(const char *name, function real, lookup *device_lookup);

static function our_device_lookup(void *device, const char *name) {
    return replaced(name, real_device_lookup(device, name), NULL);
}

static function replaced(const char *name, function real, lookup *device_lookup) {
    if (!real) {
        return real;
    }
    if (!strcmp(name, "vkQueueSubmit")) {
        real_submit = (submit)real;
        return (function)our_submit;
    }
    if (!strcmp(name, "vkQueueSubmit2") || !strcmp(name, "vkQueueSubmit2KHR")) {
        real_submit2 = (submit)real;
        return (function)our_submit2;
    }
    if (device_lookup && !strcmp(name, "vkGetDeviceProcAddr")) {
        *device_lookup = (lookup)real;
        return (function)our_device_lookup;
    }
    return real;
}

__attribute__((visibility("default"))) function vkGetInstanceProcAddr(void *instance, const char *name) {
    if (!real_instance_lookup) {
        void *loader = dlopen(getenv("REAL_VULKAN"), RTLD_NOW | RTLD_LOCAL);
        real_instance_lookup = (lookup)dlsym(loader, "vkGetInstanceProcAddr");
    }
    return replaced(name, real_instance_lookup(instance, name), &real_device_lookup);
}
