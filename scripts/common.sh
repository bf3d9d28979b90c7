# Sourced by the scripts beside it: the project's root, its Python, and how to fail.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
VENV=$root/.venv
case $(uname -s) in
    MINGW* | MSYS* | CYGWIN*) BIN=$VENV/Scripts ;;
    *) BIN=$VENV/bin ;;
esac
PYTHON=$BIN/python

die() {
    echo "$*" >&2
    exit 1
}

# The paint of a test or a picture needs no screen; a person's own choice stays.
offscreen() {
    QT_QPA_PLATFORM=${QT_QPA_PLATFORM:-offscreen}
    export QT_QPA_PLATFORM
}
