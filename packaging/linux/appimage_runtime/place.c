/* Private folders in the folder for temporary files, and what a killed start left of its own. */
#define _GNU_SOURCE
#include "runtime.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX ".mount_desktop-agent-"
#define TRIES 5

static const char *temporary_folder(void) {
    const char *named = getenv("TMPDIR");
    return named && named[0] == '/' ? named : "/tmp";
}

/* Opens the folder if it is ours, still there, and used by nobody else. */
static int lock_folder(const char *folder) {
    struct stat here, there;
    int lock = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (lock < 0)
        return -1;
    if (flock(lock, LOCK_EX | LOCK_NB) == 0 && fstat(lock, &here) == 0 &&
        here.st_uid == geteuid() && (here.st_mode & 0777) == 0700 && lstat(folder, &there) == 0 &&
        here.st_ino == there.st_ino && here.st_dev == there.st_dev)
        return lock;
    close(lock);
    return -1;
}

static bool name_places(struct place *place, const char *folder, const char *name) {
    int first = snprintf(place->folder, sizeof place->folder, "%s/%s", folder, name);
    int second = snprintf(place->app, sizeof place->app, "%s/app", place->folder);
    return first > 0 && (size_t)first < sizeof place->folder && second > 0;
}

bool make_place(struct place *place) {
    for (int tried = 0; tried < TRIES; tried++) {
        if (!name_places(place, temporary_folder(), PREFIX "XXXXXX") || !mkdtemp(place->folder))
            return false;
        name_places(place, temporary_folder(), strrchr(place->folder, '/') + 1);
        /* Another start that sweeps may hold it just now, and take it away. */
        place->lock = lock_folder(place->folder);
        if (place->lock >= 0)
            return mkdir(place->app, 0700) == 0;
    }
    errno = EAGAIN;
    return false;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *walk) {
    (void)about, (void)kind, (void)walk;
    remove(path);
    return 0;
}

void remove_place(const struct place *place) {
    nftw(place->folder, remove_one, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

void sweep_places(void) {
    const char *folder = temporary_folder();
    DIR *all = opendir(folder);
    struct dirent *entry;
    while (all && (entry = readdir(all))) {
        struct place found;
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 ||
            !name_places(&found, folder, entry->d_name))
            continue;
        found.lock = lock_folder(found.folder);
        if (found.lock < 0)
            continue;
        struct stat outer, inner;
        /* Something is mounted there, for which nobody answers any more. */
        if (fstat(found.lock, &outer) == 0 &&
            (stat(found.app, &inner) == 0 ? inner.st_dev != outer.st_dev : errno == ENOTCONN))
            detach_mount(found.app);
        remove_place(&found);
        close(found.lock);
    }
    if (all)
        closedir(all);
}
