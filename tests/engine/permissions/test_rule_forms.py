"""What an allowing rule may speak of: nothing that runs another program, writes or sends."""

from __future__ import annotations

import pytest

from desktop_agent.engine.permissions.shell.classify import (
    covering,
    covers,
    is_quoted_otherwise,
    offers,
    words_of,
)
from desktop_agent.engine.permissions.shell.parse import parse

# Each of these runs a program, writes or sends, and must be asked about for itself.
DANGEROUS = r"""
mypy --timing-stats=a
mypy --line-checking-stats a
mypy --cache-map a b c
arch -x86_64 ./x
ruff check @options
ruff format a.py @options
mypy @options
python -m mypy @options
pytest @options
python -m pytest tests @options
go test -test.cpuprofile=main.go
go test ./... --test.outputdir=x
sort -o a b
sort -oa b
sort b -o a
sort --output=a b
sort --compress-program=./x b
sort --compress-program ./x b
uniq a b
tree -o a
find . -exec ./x
find . -delete
find . -fprintf a x
date -s 2020-01-01
file -C -m a
diff --to-file=a b -l
rg --pre ./x foo
rg --hostname-bin ./x foo
sed -i s/a/b/ x
sed 1w/tmp/x a
sed -n '1e ./x' a
sed p a
printf -v 'a[$(id)]' x
awk 1 a
python x.py
python3 x.py
python3.11 x.py
python2.7 x.py
python3.11 -c 1
python3.11 -m http.server
pypy3 x.py
lua x.lua
luajit x.lua
node x.js
node20 x.js
deno run x
ruby3.2 x.rb
perl5.36 -e 1
php8.2 x.php
Rscript x
tclsh x
guile x
java -jar x
tar xf a.tar
tar cf a.tar --checkpoint-action=exec=x b
zip -T a b
7z x a
vim a
vi a
nvim a
emacs a
ed a
less a
more a
man ls
nano a
socat - TCP:a:1
nc a 1
ncat a 1
telnet a
ssh a
scp a b:
rsync a b
sftp a
ftp a
curl a
wget a
strace ls
ltrace ls
gdb a
perf record ls
parallel ls
xargs ls
env ls
nice ls
timeout 5 ls
nohup ls
setsid ls
watch ls
script a
screen ls
tmux new
systemd-run ls
systemctl start a
at now
batch
crontab a
busybox ls
chroot a
unshare ls
nsenter ls
flock a ls
sudo ls
su
doas ls
bash x
sh x
zsh x
fish x
dash x
eval ls
exec ls
source a
trap ls EXIT
make install
make -f x test
make SHELL=./x test
just deploy x
cmake -P x
ninja x
docker run x
podman run x
kubectl delete x
npx x
npm install x
npm exec x
npm publish
npm test --script-shell=./x
npm run build --script-shell ./x
pip install x
uv run x
uvx x
cargo run
cargo install x
cargo build --config x
go run x
go build -o /x
go test -exec ./x
go test --exec=./x
go vet -vettool=x
gcc a.c
git config core.fsmonitor ./x
git config user.name x
git push
git push origin main
git pull
git fetch
git clone x
git checkout x
git rebase x
git bisect run x
git submodule update
git filter-branch x
git -c core.fsmonitor=./x status
git diff --output=a
git diff --ext-diff
git log --output=a
git log --textconv
git show --outpu=a
git grep -O./x foo
git commit --edit
pytest --basetemp=/x
pytest --pastebin=all
pytest -p x
pytest -qpx
pytest -o cache_dir=/x
pytest --rootdir /x
pytest --pdbcls=x:y
ruff check --output-file=a
ruff check --config x
mypy --python-executable ./x
mypy --python-exec ./x
rm a
mv a b
cp a b
ln -s a b
dd if=a of=b
tee a
chmod +x a
touch a
mkdir a
truncate -s 0 a
split a
csplit a 1
xxd a b
install a b
patch a
mail x
gpg a
openssl s_client a
""".strip().splitlines()


@pytest.mark.parametrize("command", DANGEROUS)
def test_no_rule_is_offered_for_what_runs_writes_or_sends(command: str) -> None:
    assert offers(command) == ()


# Rules made before, for whole programs, and those the card offers now.
MADE = sorted({command.split()[0] for command in DANGEROUS} | {
    "git config", "git push", "git diff", "git log", "git commit", "npm test", "npm run build",
    "make test", "go build", "go test", "cargo build", "ruff check", "python3.11 -m", "tar xf",
    "pytest", "mypy", "sort", "find .", "sort a", "sed -n",
})  # fmt: skip


@pytest.mark.parametrize("command", DANGEROUS)
def test_no_rule_that_was_made_covers_it(command: str) -> None:
    words = command.split()
    assert [made for made in MADE if made.split() != words and covers(made, command)] == []


@pytest.mark.parametrize(
    ("command", "patterns"),
    [
        ("grep -rn foo /x", ("grep",)),
        ("sort -u a", ("sort",)),
        ("pytest -q", ("pytest",)),
        ("pytest tests", ("pytest tests", "pytest")),
        ("python3.12 -m pytest", ("python3.12 -m pytest",)),
        ("git add -A && git commit -m x", ("git add", "git commit")),
        ("cargo test && rm x", ()),
        ("npm run build -- --watch", ("npm run build",)),
        ("make test", ("make test",)),
    ],
)
def test_what_is_offered_is_narrow(command: str, patterns: tuple[str, ...]) -> None:
    assert offers(command) == patterns


@pytest.mark.parametrize(
    "command",
    ["sort *", "pytest *", "pytest ?", "pytest [a]", "sort {-o,a}", "pytest -*", "p* x", "ls *"],
)
def test_a_name_that_could_be_an_option_is_not_covered(command: str) -> None:
    assert not any(covers(rule, command) for rule in ("sort", "pytest", "p*", "ls"))


def test_parts_are_allowed_each_by_its_own_rule() -> None:
    both = ("git add", "git commit")
    assert covering(both, "git add -A && git commit -m x") == (0, 1)
    assert covering(both, "git add -A && git commit -m x && git push") == ()
    assert covering(both, "git add -A && $(x)") == ()
    assert covering(("pytest",), "pytest -q 2>&1 | tail -20", proven=(1,)) == (0,)
    assert covering(("pytest",), "pytest -q 2>&1 | tail -20") == ()


@pytest.mark.parametrize(
    "command",
    ["cat cr{edentials,x}.json", "echo @{a=rm x}", "cat a{1..9}", "grep x {a,b}", "cat x@{a,b}"],
)
def test_braces_are_not_covered(command: str) -> None:
    assert not any(covers(rule, command) for rule in ("cat", "echo", "grep"))


def test_a_state_that_git_remembers_is_covered() -> None:
    for command in ("git log HEAD@{1}", "git log 'a{b,c}'", "git log @{u}..HEAD", "git log HEAD~3"):
        assert covers("git log", command), command


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m @'\n' \"\n'@; rm x #\"",
        'git commit -m @"\n\' "\n"@; rm x #\'',
        "git log --% '\nrm x #'",
        "echo \u2018a; rm x\u2019",
    ],
)
def test_what_powershell_reads_otherwise_is_known(command: str) -> None:
    """Here they are quoted, there they end before `rm`."""
    assert is_quoted_otherwise(command)
    assert not is_quoted_otherwise("git commit -m 'a' --author \"x\"")


def test_a_backslash_is_a_part_of_a_path_in_powershell_and_a_backtick_escapes() -> None:
    command = 'rm "sub\\"; Set-Content .vscode\\tasks.json ..\\a .e`nv > C:\\x; a `\n  b'
    script = parse(command, is_powershell=True)
    assert script.is_whole
    assert [simple.words for simple in script.commands] == [
        ["rm", "sub\\"],
        ["Set-Content", ".vscode\\tasks.json", "..\\a", ".env"],
        ["a", "b"],
    ]
    assert script.commands[1].targets == ["C:\\x"]
    # What is escaped, or may be, is covered by no rule.
    assert all("escape" in simple.features for simple in script.commands[1:])


@pytest.mark.parametrize("shell", ["cmd /c", "cmd.exe /q /C", "powershell -NoProfile -Command"])
def test_what_a_shell_of_windows_is_given_to_run_is_read(shell: str) -> None:
    assert ["del", "../x"] in [simple.words for simple in words_of(f"{shell} 'del ../x'")]
