/* Starts the app in this AppImage: mounts it, or unpacks it where nothing can be mounted.

   The process that was started becomes the app. A second one, the keeper, answers for the mount
   and clears up when the app has ended, however it ended. */
#define _GNU_SOURCE
#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTION "--appimage-"
#define NO_START 127

static const char help[] =
    "An AppImage runs without being installed. Its own options:\n"
    "  --appimage-extract           unpack it into the folder squashfs-root\n"
    "  --appimage-extract-and-run   unpack it for this start in place of mounting it\n"
    "  --appimage-mount             mount it, and say where, until this is ended\n"
    "  --appimage-offset            say where in the file the packed folder begins\n"
    "  --appimage-version           say what runs it\n"
    "  --appimage-help              say this\n"
    "Without FUSE it is unpacked by itself. TMPDIR names the folder for both.\n";

static bool is_set(const char *name) {
    const char *value = getenv(name);
    return value && value[0] && strcmp(value, "0") != 0;
}

/* Says nothing more to a terminal or a pipe, which may be waiting for its last writer. */
static void fall_silent(void) {
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int file = 0; file < 3; file++)
        dup2(nothing, file);
}

/* A file of ours must not come to stand where output is expected, if a start closed those. */
static void fill_standard_files(void) {
    int file;
    do
        file = open("/dev/null", O_RDWR);
    while (file >= 0 && file < 3);
    if (file >= 3)
        close(file);
}

static void keep(const struct place *place, int app, int ready, bool may_mount) {
    static const int deaf_to[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
    struct mounted *mounted = NULL;
    bool is_well = true;

    setsid();
    prctl(PR_SET_NAME, "appimage-keeper");
    for (size_t i = 0; i < sizeof deaf_to / sizeof *deaf_to; i++)
        signal(deaf_to[i], SIG_IGN);
    fall_silent();
    if (chdir("/") == 0 && may_mount)
        mounted = mount_image(place->app);
    if (!mounted)
        is_well = unpack_image(place->app);
    int told = is_well ? 0 : errno ? errno : EIO;
    if (write(ready, &told, sizeof told) != (ssize_t)sizeof told)
        is_well = false;
    close(ready);
    struct pollfd waited = {.fd = app, .events = POLLIN};
    if (mounted)
        serve_image(mounted, app, place->app);
    else
        while (is_well && poll(&waited, 1, -1) < 0 && errno == EINTR)
            ;
    remove_place(place);
}

/* Returns 0 when the app's files are in place, or what went wrong. */
static int start_keeper(const struct place *place, bool may_mount) {
    int ready[2], told = EIO;
    int app = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (app < 0 || pipe2(ready, O_CLOEXEC) != 0)
        return errno;
    pid_t between = fork();
    if (between < 0)
        return errno;
    if (between == 0) {
        /* Not the app's own child: it knows nothing of it, and need not wait for it. */
        pid_t keeper = fork();
        if (keeper == 0) {
            close(ready[0]);
            keep(place, app, ready[1], may_mount);
        }
        _exit(keeper < 0);
    }
    close(app);
    close(ready[1]);
    waitpid(between, NULL, 0);
    if (read(ready[0], &told, sizeof told) != (ssize_t)sizeof told)
        told = EIO;
    close(ready[0]);
    return told;
}

static int extract(void) {
    if ((mkdir("squashfs-root", 0755) != 0 && errno != EEXIST) || !unpack_image("squashfs-root")) {
        perror("squashfs-root");
        return 1;
    }
    puts("squashfs-root");
    return 0;
}

/* Does what an option of the runtime says; -1 where there is none that ends here. */
static int obey(const char *option) {
    if (strcmp(option, "extract") == 0)
        return extract();
    if (strcmp(option, "help") == 0)
        return fputs(help, stdout) < 0;
    if (strcmp(option, "offset") == 0)
        return printf("%zu\n", image_offset()) < 0;
    if (strcmp(option, "version") == 0)
        return puts("Desktop Agent's own AppImage runtime, in place of the official one") < 0;
    if (strcmp(option, "extract-and-run") == 0 || strcmp(option, "mount") == 0)
        return -1;
    fprintf(stderr, "There is no option " OPTION "%s; see " OPTION "help.\n", option);
    return 2;
}

static void tell_app(const struct place *place, const char *file, const char *name) {
    char here[PATH_MAX];
    setenv("APPIMAGE", file, 1);
    setenv("APPDIR", place->app, 1);
    setenv("ARGV0", name, 1);
    if (getcwd(here, sizeof here))
        setenv("OWD", here, 1);
}

int main(int count, char **words) {
    struct place place;
    char file[PATH_MAX], program[PATH_MAX + sizeof "/AppRun"];
    const char *option = "";
    fill_standard_files();
    if (count > 1 && strncmp(words[1], OPTION, strlen(OPTION)) == 0) {
        option = words[1] + strlen(OPTION);
        int done = obey(option);
        if (done >= 0)
            return done;
    }
    sweep_places();
    bool may_mount = strcmp(option, "extract-and-run") != 0 && !is_set("APPIMAGE_EXTRACT_AND_RUN");
    int fault = make_place(&place) ? start_keeper(&place, may_mount) : errno;
    if (fault || !realpath(OWN_FILE, file)) {
        fprintf(stderr, "The app could not be unpacked: %s. TMPDIR can name another folder.\n",
                strerror(fault ? fault : errno));
        return NO_START;
    }
    if (strcmp(option, "mount") == 0) {
        puts(place.app);
        fflush(stdout);
        for (;;)
            pause();
    }
    if (*option) {
        words[1] = words[0];
        words++;
    }
    tell_app(&place, file, words[0]);
    /* The app holds the lock as well: its files stay, even when the keeper is killed. */
    fcntl(place.lock, F_SETFD, 0);
    snprintf(program, sizeof program, "%s/AppRun", place.app);
    execv(program, words);
    perror(program);
    return NO_START;
}
