/* The runtime of an AppImage of type 2: the program in front of the packed folder. */
#ifndef RUNTIME_H
#define RUNTIME_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Where this start keeps the app: a private folder, locked as long as it is in use. */
struct place {
    char folder[PATH_MAX / 2];
    char app[PATH_MAX]; /* the mount point, or the unpacked files */
    int lock;
};

/* place.c */
bool make_place(struct place *place);
void remove_place(const struct place *place);
void sweep_places(void);

/* image.c */
#define OWN_FILE "/proc/self/exe"
size_t image_offset(void);
bool unpack_image(const char *folder);
struct mounted *mount_image(const char *folder);
/* Answers what is read from the mount until the process behind `app` ends and all is closed. */
void serve_image(struct mounted *mounted, int app, const char *folder);
void detach_mount(const char *folder);

#endif
