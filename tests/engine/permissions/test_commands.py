"""Commands: what is let through unasked is harmless for sure, and what is never run is known."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from desktop_agent.engine.permissions.protected_files import is_protected, is_secret
from desktop_agent.engine.permissions.shell.classify import (
    covers,
    is_forbidden,
    mentions,
    plain_script,
    refusals,
    split_parts,
)
from desktop_agent.engine.permissions.shell.looking import Reading, parts_of
from tests.helpers.patience import HANG_S


def readings_of(command: str) -> list[tuple[Reading, ...]]:
    """Return what its words say that each part reads, and where it may run."""
    script = plain_script(command)
    return [part.readings for part in parts_of(script)] if script else []


def is_read_only(command: str) -> bool:
    """Whether its words alone prove it: what depends on the disk is tried in test_proof.py."""
    parts = readings_of(command)
    looks = [reading.look for readings in parts for reading in readings]
    depends = any(
        look.trees or look.git or look.needs_binary or any(p.startswith("/") for p in look.paths)
        for look in looks
    )
    return bool(parts) and all(parts) and not depends


def paths_read(command: str) -> tuple[str, ...]:
    return tuple(
        str(reading.start / path)
        for readings in readings_of(command)
        for reading in readings
        for path in reading.look.paths
    )


BASH = shutil.which("bash") or "/bin/bash"

HARMLESS = """
ls
ls -la
ls -la src
ls -lah --color=never src tests
ls --all
ls 'a folder'
ls "a folder"
ls -1 src/deep/er
cat a.txt
cat -n a.txt b.txt
cat "with space.txt"
cat ünï.txt
cat a.txt 2>/dev/null
cat a.txt 2>&1
cat a.txt >/dev/null
cat a.txt &>/dev/null
cat a.txt | cat -
cat a.txt | head
cat a.txt | head -n 5
cat a.txt | head -5 | tail -n +2
cat a.txt | sort | uniq -c | sort -rn
cat a.txt | tr a b
cat a.txt | cut -d , -f 2
cat a.txt | wc -l
head -c 100 a.bin
head --lines=5 a.txt
tail -n 20 a.txt
tail -20 a.txt
wc -l a.txt b.txt
pwd
pwd -P
echo hi
echo 'a $(b) `c` > d'
echo "it's"
echo -n x
echo a; echo b
echo
date
date -u
date +%Y-%m-%d
date '+%H:%M'
whoami
id
id -u
uname -a
uptime
nproc
file a.bin
file -b a.bin
stat a.txt
stat -c %s a.txt
du -sh .
du -sh src
du -h -d 1 .
du --max-depth=1 .
df -h
df -h .
tree
tree -L 2
tree -a -L 2 src
tree -I node_modules
which python3
which -a git
basename src/a.py
dirname src/a.py
sort a.txt
sort -t, -k2 a.txt
uniq a.txt
cut -f1 a.tsv
nl a.txt
tac a.txt
rev a.txt
grep foo a.txt
grep -n foo a.txt
grep -in 'foo bar' a.txt b.txt
grep -c foo a.txt
grep -A 3 -B 2 foo a.txt
grep -E 'a|b' a.txt
grep -n 'def .*(' a.py
cmp a b
sha256sum a.bin
md5sum a.bin
sed -n 1,5p a.txt
sed -n '10,20p' a.txt
sed -n '$p' a.txt
find .
find . -name '*.py'
find src -type f -name '*.py' -maxdepth 3
find . -type d -not -path './node_modules/*'
find . -size +100k
cd src && ls
cd src && cat a.txt | head
ls && pwd
ls || echo none
ls; pwd
true
false || true
cd src
cd src || ls
which ls -a
grep -P x a
printf x
test -f a
type ls
ls --
ls a -l
cat a -n
""".strip().splitlines()

NOT_PROVEN = r"""
rm a
rm -rf build
mv a b
cp a b
touch a
mkdir a
ln -s / a
chmod +x a
tee a
dd if=a of=b
pytest
python x.py
python -c 1
python --version
node -v
make
npm test
git status
git log
git diff
git show
git branch
git -c core.pager=x log
git log --output=x
git --exec-path=. status
curl x
wget x
ssh x
nc x
bash
sh -c ls
bash -c ls
eval ls
exec ls
source a
. a
env
env ls
env FOO=1 ls
printenv
sudo ls
xargs ls
timeout 5 ls
nohup ls
time ls
nice ls
watch ls
command ls
builtin echo hi
FOO=1 ls
LD_PRELOAD=x.so ls
PATH=. ls
A=1
ls > a
ls >> a
ls >| a
ls 2> a
ls &> a
ls >& a
ls <> a
ls > /dev/sda
ls > "/dev/null"x
ls > /dev/nullx
ls &>''2>&1
ls &>"2">&1
ls >2>&1
ls > ; cat a
ls >
ls > > a
ls 1>a 2>/dev/null
cat < a
cat <<EOF
cat <<< a
cat <(ls)
ls >(cat)
ls $(pwd)
ls `pwd`
ls $HOME
ls ${HOME}
ls "$HOME"
ls "$(pwd)"
ls "`pwd`"
echo $((1+1))
echo $'a'
echo "a\"b"
echo a\ b
l\s
\ls
ls *
ls *.py
ls ?
ls [a]
ls {a,b}
ls ~
ls ~root
cat ~/x
ls !x
echo "!x"
! ls
(ls)
{ ls; }
ls &
ls & rm a
ls && rm a
ls || rm a
ls; rm a
ls | rm a
ls |& rm a
ls | tee a
ls | xargs rm
ls | sh
ls
rm a
if true; then rm a; fi
for i in a; do rm a; done
while true; do ls; done
ls() { rm a; }
function ls { rm a; }
alias ls=rm
ls # comment
# comment
ls /
ls /etc
cat /etc/passwd
cat ../a
cat a/../../b
cat ..
ls ..
cd .. && ls
cd / && ls
cd && ls
cd -
cd src; rm a
cd a b && ls
cd src && cd .. && ls
cat .env
cat .ENV
cat .env.local
cat prod.env
cat src/.env
cat .ssh/id_rsa
cat id_rsa
cat server.key
cat cert.pem
cat credentials.json
cat .npmrc
cat .netrc
cat .aws/credentials
head .env
grep KEY .env
sort .env
wc .env
cd .ssh && ls
ls -L a
ls -H a
ls --dereference
ls --hyperlink=x/y
ls -Z
ls --time-style=+/x
ls -I x
cat --unknown
cat -f a
head -f a
tail -f a
tail -F a
tail --follow a
tail --pid=1 a
wc --files0-from=a
date -s x
date --set=x
date 010100002030
date -f a
date -r a
uname --help
hostname x
file -m a b
file -C
file -f a
file -z a
stat -L a
stat --cached=never a
du -L a
du --files0-from=a
tree -o a
tree -R
tree -l
tree -H x
tree --fromfile a
sort -o a b
sort -oa b
sort --output=a b
sort -ro a b
sort --compress-program=x a
sort -T x a
sort --files0-from=a
uniq a b
uniq -f 1 a b
tr -x a b
grep -r foo .
grep -R foo .
grep -f a b
grep -rn foo
grep --include=*.py foo
grep --file=a b
grep -d recurse foo .
grep foo /etc/passwd
grep foo ../x
egrep x a
rg foo
rg --pre x foo
ag foo
diff a b
diff -r a b
cmp a /etc/passwd
sed -i s/a/b/ x
sed s/a/b/ x
sed -n w x
sed -n '1w x' a
sed -n 'e' a
sed -n 1p -i a
sed -ni 1p a
sed -n -f x a
sed --in-place 1p a
sed -n '1,5p;w x' a
awk 1 a
perl -e 1
find . -delete
find . -exec rm a
find . -execdir rm a
find . -ok rm a
find . -fprint a
find . -fls a
find -L . -name a
find / -name a
find .. -name a
find . -newer /etc/passwd
find . -unknown
find . -name
less a
more a
vi a
man ls
top
ps aux
kill 1
crontab -l
docker ps
systemctl status
mount
history
jobs
wait
read x
printf -v PATH x
printf -v 'a[$(id)]' x
test -v a
test 1 -eq 1
pushd src
pushd src && ls
popd; ls
cd src | ls
ls | cd src
cd src & ls
cd src && ls &
cd -P src && ls
cd 'src' extra && ls
cd src 2>/dev/null/x && ls
export PATH=x; ls
set -e; ls
alias ls=rm; ls
hash -p /x ls; ls
jq -n env
jq -n '$ENV'
jq 'import "a" as $x; .' a
jq -f a b
jq --slurpfile a b . c
rg -L foo
rg -z foo
rg -f a
rg --hostname-bin x foo
grep -R x .
git -c core.fsmonitor=x status
git -C x status
git diff --output=x
git diff --ext-diff
git diff HEAD~1
git diff --cached
git log -p
git log --author -5 --output=x
git log --format=%G?
git show
git show HEAD:.env
git show --stat deadbeef
git branch x
git branch -D x
git tag x
git remote add x y
git stash
git fetch
git pull
git push
git config -l
git grep -O x
cargo --version
yarn --version
go version
[ -f a ]
[[ -f a ]]
export A=1
unset PATH
set -e
trap x EXIT
ulimit -c 0
umask 0
hash -r
/bin/ls
./ls
src/ls
bin/cat a
ls -- -a
echo hi > a
echo "unterminated
echo 'unterminated
ls "
ls $
ls )
ls (
ls ;;
; ls
| ls
&& ls
ls | | cat
ls 'a
ls a:b
ls C:x
cat ""
ls ''
²>/dev/null ls
é=1 ls
ls	-x$y
""".strip("\n").splitlines()

EXTRA = [
    "",
    " ",
    "\n",
    "ls\nrm a",
    "ls\r\nrm a",
    "ls\rrm a",
    "ls \\\nrm",
    "ls\x00",
    "ls\x1b[2J",
    "ls\u2028rm a",
    "ls\u00a0-l",
    "ls\u2003a",
    "ls\u200b",
    "ls \u202e a",
    "cat <<EOF\nEOF\nrm a",
    "echo # '\nrm -rf x\n#'",
    "echo a#'\nrm x #'",
    "ls " + "a" * 20_000,
    "cat .\u200benv",
    "cat ．env",
    "ls -\u200bL a",
]


@pytest.mark.parametrize("command", HARMLESS)
def test_a_command_that_only_looks_is_not_asked_about(command: str) -> None:
    assert is_read_only(command)


UNPROVEN = [line for line in NOT_PROVEN if line and line not in {"ls"}] + EXTRA


@pytest.mark.parametrize("command", UNPROVEN)
def test_a_command_that_might_do_more_is_asked_about(command: str) -> None:
    assert not is_read_only(command)


def test_the_tables_are_large_enough_to_mean_something() -> None:
    assert len(UNPROVEN) > 250
    assert len(HARMLESS) > 90


_fragments = st.sampled_from(
    ["ls", "cat", "echo", "-la", "-n", "a.txt", "src/a", "'", '"', " ", " ", " ", "|", "||", "&&",
     ";", "&", "\n", ">", "<", "2>&1", "/dev/null", "$x", "$(rm a)", "`rm a`", "\\", "#", "*", "~",
     "..", "/", "=", "A=1", "(", ")", "{", "}", "!", "head", "-5", "rm", "x", "é", "\t", "-o",
     "\u00a0", "\u3000", "\r", "\x0b", "\\\n", "$'", "<<EOF\n", "EOF\n", "|&", ";;", "if ", "fi",
     "time ", "function ", "() ", "[[ ", "@(", "?", "[", "]", "^", "%", ",", "<(", "&>", "''"]
)  # fmt: skip


@given(st.lists(_fragments, max_size=9).map("".join), st.sampled_from(["", "echo ", "ls "]))
@settings(max_examples=400)
def test_what_is_let_through_runs_nothing_else(tmp_path_factory, rest: str, start: str) -> None:
    """Asked of a real shell that finds no program: whatever else it looks for would show."""
    command = start + rest
    if not (is_read_only(command) or covers("echo", command) or covers("ls", command)):
        return
    folder = tmp_path_factory.getbasetemp() / "shell"
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    for name in ("ls", "cat", "head"):
        (folder / "bin" / name).write_text("#!/bin/sh\n")
        (folder / "bin" / name).chmod(0o755)
    ran = subprocess.run(
        [BASH, "--noprofile", "--norc", "-c", command],
        cwd=folder,
        env={"PATH": str(folder / "bin")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=HANG_S,
        check=False,
    )
    assert b"not found" not in ran.stderr
    assert [path.name for path in folder.iterdir()] == ["bin"]


@pytest.mark.parametrize("blank", ["\u00a0", "\u2003", "\u3000", "\u1680", "\x1c"])
@pytest.mark.parametrize("joint", [";", "|", "&&", "||", "\n", "&"])
def test_a_space_that_is_none_to_the_shell_is_a_command(joint: str, blank: str) -> None:
    assert not is_read_only(f"ls {joint}{blank}")
    assert not covers("ls", f"ls {joint}{blank}")


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("cat a b", ("a", "b")),
        ("cd src && cat a", ("src", "src/a")),
        ("grep -n 'x y' a", ("a",)),
        ("ls", ()),
        ("find src -name x", ("src",)),
        ("cat a | sort -u", ("a",)),
        ("sed -n 1p a", ("a",)),
        ("stat -c %s a", ("a",)),
    ],
)
def test_the_paths_that_are_read_are_known(command: str, paths: tuple[str, ...]) -> None:
    assert paths_read(command) == paths


@pytest.mark.parametrize(
    ("command", "folders"),
    [
        ("cat n", {"."}),
        ("cd a && cat n", {"a"}),
        ("cd a; cat n", {".", "a"}),
        ("cd a\ncat n", {".", "a"}),
        ("cd a || cat n", {"."}),
        ("cd a && true ; cat n", {".", "a"}),
        ("cd a && true || cat n", {".", "a"}),
        ("true || cd a && cat n", {".", "a"}),
        ("cd a && cd b && cat n", {"a/b"}),
        ("cd a && cd b ; cat n", {".", "a", "a/b"}),
        ("cd a && ls | cat n", {"a"}),
        ("cd a && ls\ncat n", {".", "a"}),
    ],
)
def test_a_folder_that_could_not_be_entered_is_reckoned_with(
    command: str, folders: set[str]
) -> None:
    last = readings_of(command)[-1]
    assert {str(reading.start) for reading in last} == folders


def test_many_folders_are_given_up_and_not_counted_out() -> None:
    many = "; ".join(f"cd d{number}" for number in range(500))
    assert not is_read_only(many)
    assert not is_read_only(f"{many}; cat n")


COVERED = [
    ("pytest", "pytest"),
    ("pytest", "pytest -q tests/a.py"),
    ("pytest", "pytest -q 2>&1"),
    ("pytest", "pytest 'a b'"),
    ("pytest", "pytest tests/*.py"),
    ("pytest", "pytest a && pytest b"),
    ("pytest", "pytest a; pytest b"),
    ("pytest", "pytest a | pytest b"),
    ("pytest", "pytest a\npytest b"),
    ("npm test", "npm test"),
    ("npm test", "npm test -- --watch"),
    ("git commit", "git commit -m 'a; b'"),
    ("python -m pytest", "python -m pytest -x"),
]


@pytest.mark.parametrize(("pattern", "command"), COVERED)
def test_a_rule_covers_what_starts_with_its_words(pattern: str, command: str) -> None:
    assert covers(pattern, command)


UNCOVERED = [
    *r"""
pytestx
py
xpytest
./pytest
bin/pytest
"pytest -q"
'pytest x'
pytest; rm a
pytest && rm a
pytest || rm a
pytest | tee a
pytest & rm a
pytest $(rm a)
pytest `rm a`
pytest "$(rm a)"
pytest "`rm a`"
pytest $HOME
pytest ${X}
pytest <(rm a)
pytest > a
pytest >> a
pytest 2> a
pytest &> a
pytest < a
pytest <<EOF
A=1 pytest
PATH=. pytest
LD_PRELOAD=x pytest
env pytest
sudo pytest
timeout 5 pytest
sh -c pytest
bash -c 'pytest'
(pytest)
{ pytest; }
! pytest
if pytest; then rm a; fi
pytest() { rm a; }
pytest \; rm a
py\test
pytest # x
pytest "unterminated
pytest 'unterminated
pytest )
pytest $'x'
pytest !!
echo pytest
cd x && pytest
time pytest
exec pytest
""".strip().splitlines(),
    "pytest\nrm a",
    "pytest\r\nrm a",
    "pytest # '\nrm -rf x\n#'",
    "pytest \\\nrm",
    "pytest\x00",
    "pytest\xa0-q",
    "pytest\u2028rm a",
    "",
    "pytest |& rm a",
    "pytest ;; rm",
    "pytest a#'\nrm x #'",
    "pytest " + "x" * 20000,
]


@pytest.mark.parametrize("command", UNCOVERED)
def test_a_rule_does_not_cover_what_hides_something(command: str) -> None:
    assert not covers("pytest", command)


def test_an_empty_pattern_covers_no_command() -> None:
    assert not covers("", "ls")
    assert not covers("  ", "ls")
    assert not covers("npm test", "npm")
    assert not covers("npm test", "npm run test")


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("ls", ("ls",)),
        ("a; b && c || d | e & f\ng", ("a", "b", "c", "d", "e", "f", "g")),
        ("echo 'a; b'", ("echo 'a; b'",)),
        ("sudo rm x", ("sudo rm x", "rm x")),
        ("sudo -u me rm x", ("sudo -u me rm x", "rm x")),
        ("env A=1 rm x", ("env A=1 rm x", "rm x")),
        ("timeout -s KILL 5 rm x", ("timeout -s KILL 5 rm x", "rm x")),
        ("ls | xargs -n 1 rm -f", ("ls", "xargs -n 1 rm -f", "rm -f")),
        ("sh -c 'rm x; ls'", ("sh -c 'rm x; ls'", "rm x", "ls")),
        ("bash -o pipefail -c 'rm x'", ("bash -o pipefail -c 'rm x'", "rm x")),
        ("echo $(rm x)", ("echo $(rm x)", "rm x")),
        ("echo `rm x`", ("echo `rm x`", "rm x")),
        ('echo "$(rm x)"', ('echo "$(rm x)"', "rm x")),
        ("(rm x)", ("(rm x)", "rm x")),
        ("find . -exec rm x ';'", ("find . -exec rm x ';'", "rm x ';'")),
        ("cat <<EOF\nrm x\nEOF\nls", ("cat <<EOF", "ls")),
        ("echo 'open", ("echo 'open",)),
        ("", ("",)),
    ],
)
def test_a_command_is_shown_in_its_parts(command: str, parts: tuple[str, ...]) -> None:
    assert split_parts(command) == parts


@given(st.text(max_size=60))
@settings(max_examples=500)
def test_no_text_breaks_the_reading(command: str) -> None:
    assert isinstance(split_parts(command), tuple)
    is_forbidden(command)
    is_read_only(command)
    covers("ls", command)


@pytest.mark.parametrize(
    "command",
    ["rm x", "sudo rm x", "A=1 rm x", "ls; rm x", "echo $(rm x)", "sh -c 'rm x'", "/bin/rm x",
     "xargs rm", "rm $(x)", "rm > a", "(rm x)", "if true; then rm x; fi", "! rm x",
     "find . -exec rm {} ;", "timeout 5 rm x", "nohup rm x &", "rm 'open", "f() { rm x; }; f",
     "function f { rm x; }", "coproc X { rm x; }", "case a in a) rm x;; esac", "trap 'rm x' EXIT",
     "case a in b) ls;; a) rm x;; esac", "trap -- 'rm x' EXIT", "bash -c -- 'rm x'",
     "bash -c -e 'rm x'", "bash -c -o pipefail 'rm x'", "bash -c 'A=1 rm x'", "bash <<< 'rm x'",
     "bash <<EOF\nrm x\nEOF", "sh <<'EOF'\nls\nrm x\nEOF\nls", "cat <<EOF\n$(rm x)\nEOF",
     "cat <<EOF\n$(rm x)",
     "cat <<A <<B\na\nA\n`rm x`\nB", "env -S 'rm x'", "env -iS'rm x' y", "env -vS rm x",
     "env --split-string='rm x'", "sudo --user me rm x", "timeout --signal KILL 5 rm x",
     "xargs --max-args 1 rm", "arch -x86_64 rm x",
     "env --chdir y rm x", "time -f %e rm x", "rm.exe x", "RM x"],
)  # fmt: skip
def test_a_rule_that_refuses_sees_through_disguises(command: str) -> None:
    assert mentions("rm", command)


@pytest.mark.parametrize(
    "command",
    [
        "git -C x push",
        "git -c a=b push",
        "git --no-pager push o",
        "/usr/bin/git push",
        "git --attr-source HEAD push",
        "git --config-env a=HOME push",
    ],
)
def test_a_rule_that_refuses_a_subcommand_sees_it_behind_options(command: str) -> None:
    assert mentions("git push", command)


def test_what_a_refusing_rule_may_speak_of_is_every_part() -> None:
    assert refusals("git push origin && /bin/rm -rf x") == ("git push", "git", "rm")
    assert refusals("sudo curl http://x") == ("sudo curl", "sudo", "curl")
    assert refusals("'a b' c") == ()


def test_a_rule_that_refuses_speaks_of_commands_only() -> None:
    assert not mentions("rm", "echo rm")
    assert not mentions("rm", "echo 'a; rm x'")
    assert not mentions("rm", "rmdir x")
    assert not mentions("rm", "cat <<'EOF'\n$(rm x)\nEOF")
    assert not mentions("rm", "cat <<EOF\nrm x\nEOF")
    assert not mentions("rm", "echo { rm x }")
    assert not mentions("rm", "bash -c 'ls' rm")
    assert mentions("cargo publish", "cargo +nightly publish")


NEVER = r"""
rm -rf /
rm -fr /
rm -r -f /
rm -rf //
rm -rf /.
rm -rf /*
rm -rf "/"
rm -rf '/'
rm -rf -- /
rm --recursive --force /
rm -rf --no-preserve-root /
rm -rf / x
rm -rf x /
rm -rf ~
rm -rf ~/
rm -rf ~/*
rm -rf $HOME
rm -rf "$HOME"
rm -rf ${HOME}/
rm -rf /home
rm -rf /etc
rm -rf /usr/
rm -rf /var/*
rm -rf /../
rm -Rf /
sudo rm -rf /
sudo -u root rm -rf /
env A=1 rm -rf /
A=1 rm -rf /
/bin/rm -rf /
ls; rm -rf /
ls && rm -rf /
ls || rm -rf /
ls & rm -rf /
echo $(rm -rf /)
echo "$(rm -rf /)"
echo `rm -rf /`
sh -c 'rm -rf /'
bash -lc "rm -rf /"
bash -c "bash -c 'rm -rf /'"
eval rm -rf /
timeout 5 rm -rf /
xargs rm -rf /
(rm -rf /)
if true; then rm -rf /; fi
rm -rf / > /dev/null
f() { rm -rf /; }; f
function f { rm -rf ~; }; f
case x in x) rm -rf /;; esac
trap "rm -rf /" EXIT
bash -c -- "rm -rf /"
bash <<< "rm -rf /"
env -S "rm -rf /"
sudo --user root rm -rf /
find / -delete
:(){ :|:& };:
:(){ :|: & };:
bomb() { bomb | bomb & }; bomb
mkfs /dev/sda1
mkfs.ext4 /dev/sda1
sudo mkfs.ext4 x
/sbin/mkfs.xfs x
dd if=/dev/zero of=/dev/sda
dd of=/dev/nvme0n1 if=x
sudo dd if=x of=/dev/mmcblk0
cat x > /dev/sda
echo x >/dev/sdb1
echo x >> /dev/vda
cp x /dev/sda
tee /dev/sda
x | tee /dev/nvme0n1
shred /dev/sda
wipefs -a /dev/sda
blkdiscard /dev/nvme0n1
chmod -R 777 /
chown -R me /
echo x > /dev/mem
""".strip().splitlines()


@pytest.mark.parametrize("command", NEVER)
def test_what_nobody_means_is_never_run(command: str) -> None:
    assert is_forbidden(command)


MEANT = [
    *r"""
rm -rf build
rm -rf ./build
rm -rf node_modules dist
rm -rf /tmp/x
rm -rf /home/me/project/build
rm -rf ~/project/build
rm -rf *
rm x
rm /x
ls /
echo 'rm -rf /'
echo "rm -rf /"
grep 'mkfs' notes.txt
git commit -m 'rm -rf / is bad'
dd if=/dev/zero of=disk.img
cat /dev/null > x
echo x > /dev/null
echo x > /dev/stderr
cp /dev/null x
find . -delete
find / -name x
chmod -R 755 .
chmod 777 /x
python mkfs.py
man mkfs
f() { g | h & }; f
cat > notes.md <<EOF
""".strip().splitlines(),
    "cat > notes.md <<'EOF'\nrm -rf /\nEOF",
]


@pytest.mark.parametrize("command", MEANT)
def test_what_people_do_mean_is_left_to_the_rules(command: str) -> None:
    assert is_forbidden(command) is None


@pytest.mark.parametrize(
    "path",
    [".git/config", ".git/hooks/pre-commit", "sub/.git/HEAD", ".GIT/config", ".Git/hooks/x",
     "repo.git/hooks/x", ".bashrc", ".zshrc", ".profile", "x/.bashrc", ".ssh/config", ".SSH/id",
     "id_rsa", ".env", ".ENV", ".env.local", "prod.env", ".envrc", ".netrc", ".npmrc", "a.pem",
     "server.key", "credentials.json", ".aws/credentials", ".vscode/tasks.json",
     ".VSCode/Tasks.json", ".idea/workspace.xml", ".husky/pre-commit", ".gitmodules",
     ".devcontainer/devcontainer.json", ".git\u200b/config", ".env.", ".env ", "．env",
     ".config/desktop-agent/settings.json", ".claude/settings.json", "sitecustomize.py"],
)  # fmt: skip
def test_files_that_run_or_hold_secrets_are_always_asked_about(path: str) -> None:
    assert is_protected(path)


@pytest.mark.parametrize(
    "path",
    ["a.py", "src/a.py", ".gitignore", ".gitattributes", ".github/ISSUE_TEMPLATE.md", "env.py",
     ".env.example", "environment.yml", "keys.md", "docs/git.md", "vscode/notes.md", "a.git.md",
     "README.md", "Makefile"],
)  # fmt: skip
def test_plain_files_are_not_asked_about_for_their_names(path: str) -> None:
    assert not is_protected(path)


def test_reading_asks_about_secrets_only() -> None:
    assert is_secret(".env")
    assert is_secret("deep/.ssh/known_hosts")
    assert not is_secret(".vscode/settings.json")
    assert not is_secret(".git/config")
    assert not is_secret(Path("src/a.py"))
