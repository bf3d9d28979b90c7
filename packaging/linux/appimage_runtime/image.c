/* The packed folder behind this program: mounted through FUSE, or unpacked. */
#define _GNU_SOURCE
#include "runtime.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <squashfuse/ll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct mounted {
    struct fuse_session *session;
    sqfs_ll *files;
};

/* The image begins where the program ends: behind its table of sections. */
size_t image_offset(void) {
    Elf64_Ehdr head;
    int file = open(OWN_FILE, O_RDONLY | O_CLOEXEC);
    ssize_t count = file < 0 ? -1 : read(file, &head, sizeof head);
    close(file);
    if (count != (ssize_t)sizeof head)
        return 0;
    return head.e_shoff + (size_t)head.e_shentsize * head.e_shnum;
}

static void say_nothing(enum fuse_log_level level, const char *words, va_list values) {
    (void)level, (void)words, (void)values;
}

struct mounted *mount_image(const char *folder) {
    static struct mounted mounted;
    const struct fuse_lowlevel_ops answers = {
        .getattr = sqfs_ll_op_getattr,
        .opendir = sqfs_ll_op_opendir,
        .releasedir = sqfs_ll_op_releasedir,
        .readdir = sqfs_ll_op_readdir,
        .lookup = sqfs_ll_op_lookup,
        .open = sqfs_ll_op_open,
        .create = sqfs_ll_op_create,
        .release = sqfs_ll_op_release,
        .read = sqfs_ll_op_read,
        .readlink = sqfs_ll_op_readlink,
        .listxattr = sqfs_ll_op_listxattr,
        .getxattr = sqfs_ll_op_getxattr,
        .forget = sqfs_ll_op_forget,
        .statfs = stfs_ll_op_statfs,
    };
    char *words[] = {"appimage", "-oro,nosuid,nodev,fsname=Desktop_Agent.AppImage,subtype=appimage"};
    struct fuse_args arguments = FUSE_ARGS_INIT(2, words);

    /* fusermount3 gives back only what it finds listed there. */
    if (geteuid() != 0 && access("/etc/mtab", R_OK) != 0)
        return NULL;
    fuse_set_log_func(say_nothing);
    mounted.files = sqfs_ll_open(OWN_FILE, image_offset());
    if (!mounted.files)
        return NULL;
    mounted.session = fuse_session_new(&arguments, &answers, sizeof answers, mounted.files);
    if (mounted.session && fuse_session_mount(mounted.session, folder) == 0)
        return &mounted;
    return NULL;
}

void serve_image(struct mounted *mounted, int app, const char *folder) {
    struct fuse_buf asked = {.mem = NULL};
    struct pollfd waited[] = {{.fd = fuse_session_fd(mounted->session), .events = POLLIN},
                              {.fd = app, .events = POLLIN}};
    while (!fuse_session_exited(mounted->session)) {
        if (poll(waited, 2, -1) < 0 && errno != EINTR)
            break;
        if (waited[1].revents) {
            /* Out of sight at once; what still reads from it is served to its end. */
            detach_mount(folder);
            waited[1].fd = -1;
            waited[1].revents = 0;
        }
        if (waited[0].revents) {
            int count = fuse_session_receive_buf(mounted->session, &asked);
            if (count > 0)
                fuse_session_process_buf(mounted->session, &asked);
            else if (count != -EINTR && count != -EAGAIN)
                break;
        }
    }
    if (waited[1].fd >= 0)
        detach_mount(folder);
}

/* Root may do it itself; everybody else asks the program that mounted it. */
void detach_mount(const char *folder) {
    char *words[] = {"fusermount3", "-u", "-q", "-z", "--", (char *)folder, NULL};
    pid_t asked;
    if (umount2(folder, MNT_DETACH) == 0 || errno == EINVAL || errno == ENOENT)
        return;
    /* As libfuse finds it to mount: who starts the app may look for programs elsewhere. */
    if (posix_spawn(&asked, "/usr/bin/fusermount3", NULL, NULL, words, environ) == 0 ||
        posix_spawnp(&asked, words[0], NULL, NULL, words, environ) == 0)
        waitpid(asked, NULL, 0);
}

/* Without room a write is cut short, and only the next one says why. */
static bool write_whole(int file, const char *part, size_t size) {
    while (size > 0) {
        ssize_t count = write(file, part, size);
        if (count < 0 && errno != EINTR)
            return false;
        part += count > 0 ? count : 0;
        size -= count > 0 ? (size_t)count : 0;
    }
    return true;
}

static bool unpack_file(sqfs *files, sqfs_inode *inode, const char *target) {
    static char part[1 << 17];
    int file = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    uint64_t at = 0, size = inode->xtra.reg.file_size;
    bool is_well = file >= 0;
    while (is_well && at < size) {
        sqfs_off_t count = sizeof part;
        is_well = sqfs_read_range(files, inode, (sqfs_off_t)at, &count, part) == SQFS_OK &&
                  count > 0 && write_whole(file, part, (size_t)count);
        at += (uint64_t)count;
    }
    is_well = is_well && fchmod(file, inode->base.mode & 0755) == 0;
    return (file < 0 || close(file) == 0) && is_well;
}

static bool unpack_link(sqfs *files, sqfs_inode *inode, const char *target) {
    char words[PATH_MAX];
    size_t size = sizeof words;
    if (sqfs_readlink(files, inode, words, &size) != SQFS_OK)
        return false;
    unlink(target);
    return symlink(words, target) == 0;
}

static bool unpack_entry(sqfs *files, sqfs_dir_entry *entry, const char *target) {
    sqfs_inode inode;
    if (sqfs_inode_get(files, &inode, sqfs_dentry_inode(entry)) != SQFS_OK)
        return false;
    switch (sqfs_dentry_mode(entry)) {
    case S_IFDIR:
        return mkdir(target, 0755) == 0 || errno == EEXIST;
    case S_IFREG:
        return unpack_file(files, &inode, target);
    case S_IFLNK:
        return unpack_link(files, &inode, target);
    default:
        return false;
    }
}

bool unpack_image(const char *folder) {
    sqfs files;
    sqfs_traverse walk;
    sqfs_err fault = SQFS_OK;
    char target[PATH_MAX];
    errno = 0; /* what can't be read of the image sets none, and one of before would mislead */
    bool is_well = sqfs_open_image(&files, OWN_FILE, image_offset()) == SQFS_OK &&
                   sqfs_traverse_open(&walk, &files, sqfs_inode_root(&files)) == SQFS_OK;
    while (is_well && sqfs_traverse_next(&walk, &fault)) {
        int size = snprintf(target, sizeof target, "%s/%s", folder, walk.path);
        is_well = size > 0 && (size_t)size < sizeof target;
        if (is_well && !walk.dir_end)
            is_well = unpack_entry(&files, &walk.entry, target);
    }
    return is_well && fault == SQFS_OK;
}
