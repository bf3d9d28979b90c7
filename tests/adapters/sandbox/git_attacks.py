"""Ways to have git run a program the next time that a person asks for the state of a folder.

Each is a script for the shell, run in a repository with one tracked file. `$P` is the program,
`$BODY` its text, `$BARE` what makes a folder with a repository's files a work tree as well.
"""

from __future__ import annotations

from dataclasses import dataclass

# An index that is not fresh: looking at the state writes it, which runs a hook.
_STALE = "sleep 0.01; touch tracked"
_MONITOR = '[core]\\n\\tfsmonitor = %s\\n" "$P"'
BARE = "\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = %s\\n"
_EVIL = f'git init -q evil && printf "{_MONITOR} >> evil/.git/config'


@dataclass(frozen=True, slots=True)
class Attack:
    """What the person has (`before`), what a command does, and the folder then looked at."""

    name: str
    script: str
    before: str = "true"
    where: str = "."


ATTACKS = (
    Attack("write the settings", f'printf "{_MONITOR} >> .git/config'),
    Attack("let git write the settings", 'git config core.fsmonitor "$P"'),
    Attack(
        "replace the settings",
        f'cp .git/config new && printf "{_MONITOR} >> new && mv -f new .git/config',
    ),
    Attack(
        "settings of the work tree",
        f'printf "{_MONITOR} > .git/config.worktree',
        before="git config extensions.worktreeConfig true",
    ),
    Attack(
        "a common folder elsewhere",
        f"{_EVIL} && cp -r .git/objects .git/refs evil/.git/ && echo ../evil/.git > .git/commondir",
    ),
    Attack("move the repository away", f"{_EVIL} && mv .git old && mv evil/.git .git"),
    Attack("delete the repository", f"{_EVIL} && rm -rf .git; mv -T evil/.git .git"),
    Attack("point elsewhere", f"{_EVIL} && mv .git old; echo 'gitdir: evil/.git' > .git"),
    Attack("link elsewhere", f"{_EVIL} && mv .git old; ln -s evil/.git .git"),
    Attack(
        "break the repository, be one",
        f"rm -f .git/HEAD; mkdir -p objects refs; echo 'ref: refs/heads/main' > HEAD;"
        f' printf "{_MONITOR} > config; printf "$BARE" "$PWD" >> config',
    ),
    Attack(
        "a filter",
        "printf 'tracked filter=x\\n' > .gitattributes; git config filter.x.clean \"$P\";"
        " echo two > tracked",
    ),
    Attack(
        "a hook",
        'printf "$BODY" > .git/hooks/post-index-change;'
        f" chmod +x .git/hooks/post-index-change; {_STALE}",
    ),
    Attack(
        "hooks where there were none",
        'mkdir .git/hooks; printf "$BODY" > .git/hooks/post-index-change;'
        f" chmod +x .git/hooks/post-index-change; {_STALE}",
        before="rm -rf .git/hooks",
    ),
    Attack(
        "other hooks",
        'mv .git/hooks .git/old; mkdir .git/hooks; printf "$BODY" > .git/hooks/post-index-change;'
        f" chmod +x .git/hooks/post-index-change; {_STALE}",
    ),
    Attack(
        "a hook in a folder that the settings name",
        f'printf "$BODY" > scripts/post-index-change; chmod +x scripts/post-index-change; {_STALE}',
        before="mkdir scripts; git config core.hooksPath scripts",
    ),
    Attack(
        "a folder of hooks that was only named",
        'mkdir scripts; printf "$BODY" > scripts/post-index-change;'
        f" chmod +x scripts/post-index-change; {_STALE}",
        before="git config core.hooksPath scripts",
    ),
    Attack(
        "settings that the settings include",
        f'printf "{_MONITOR} >> settings',
        before="touch settings; git config include.path ../settings",
    ),
    Attack(
        "included settings that were missing",
        f'printf "{_MONITOR} >> settings',
        before="git config include.path ../settings",
    ),
    Attack(
        "the settings of a nested repository",
        f'printf "{_MONITOR} >> nested/.git/config',
        before="git init -q nested && git -C nested -c user.name=P -c user.email=p@x commit -q"
        " --allow-empty -m n && git add nested 2>/dev/null",
    ),
    Attack(
        "another nested repository in its place",
        f"{_EVIL} && mv nested old; mkdir nested; mv evil/.git nested/.git",
        before="git init -q nested && git -C nested -c user.name=P -c user.email=p@x commit -q"
        " --allow-empty -m n && git add nested 2>/dev/null",
    ),
    Attack(
        "a nested repository that the index names",
        f"{_EVIL} && git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),evil",
    ),
    Attack("a new repository", _EVIL, where="evil"),
    Attack(
        "a new repository with a hook",
        "git init -q evil && echo x > evil/x && git -C evil add x && mkdir -p evil/.git/hooks &&"
        ' printf "$BODY" > evil/.git/hooks/post-index-change &&'
        " chmod +x evil/.git/hooks/post-index-change && sleep 0.01 && touch evil/x",
        where="evil",
    ),
    Attack(
        "a new repository that can't be listed", f"{_EVIL} && chmod 311 evil/.git", where="evil"
    ),
    Attack(
        "a new repository in folders that can't be listed",
        f"mkdir -p evil && cd evil && {_EVIL} && chmod 311 evil . ",
        where="evil/evil",
    ),
    Attack(
        "a new repository with hooks that can't be listed",
        "git init -q evil && echo x > evil/x && git -C evil add x && mkdir -p evil/.git/hooks &&"
        ' printf "$BODY" > evil/.git/hooks/post-index-change &&'
        " chmod +x evil/.git/hooks/post-index-change && sleep 0.01 && touch evil/x &&"
        " chmod 311 evil/.git/hooks",
        where="evil",
    ),
    Attack(
        "a folder that is a repository",
        "mkdir -p evil/objects evil/refs; echo 'ref: refs/heads/main' > evil/HEAD;"
        f' printf "{_MONITOR} > evil/config;'
        ' printf "$BARE" "$PWD/evil" >> evil/config',
        where="evil",
    ),
    Attack(
        "a new repository in a folder whose time is put back",
        f"{_EVIL} && touch -d @1000000000 evil",
        before="mkdir evil && touch -d @1000000000 evil && sleep 0.1",
        where="evil",
    ),
    Attack(
        "a folder that is a repository with its files elsewhere",
        "mkdir -p evil/rest/objects evil/rest/refs; echo 'ref: refs/heads/main' > evil/HEAD;"
        " echo rest > evil/commondir;"
        " git config -f evil/rest/config core.repositoryformatversion 1;"
        " git config -f evil/rest/config extensions.worktreeConfig true;"
        f' printf "{_MONITOR} > evil/config.worktree;'
        ' printf "$BARE" "$PWD/evil" >> evil/config.worktree',
        where="evil",
    ),
    Attack(
        "the settings of a submodule",
        f'printf "{_MONITOR} >> .git/modules/sub/config',
        before="git init -q ../source; git -C ../source -c user.name=P -c user.email=p@x commit -q"
        " --allow-empty -m s; git -c protocol.file.allow=always submodule --quiet add"
        ' "$(cd ../source; pwd)" sub',
    ),
    Attack(
        "another pointer of a submodule",
        f"{_EVIL}; rm -f sub/.git; echo 'gitdir: ../evil/.git' > sub/.git",
        before="git init -q ../source; git -C ../source -c user.name=P -c user.email=p@x commit -q"
        " --allow-empty -m s; git -c protocol.file.allow=always submodule --quiet add"
        ' "$(cd ../source; pwd)" sub',
    ),
    Attack(
        "a linked work tree with another common folder",
        f"{_EVIL}; cp -r .git/objects .git/refs evil/.git/; git worktree add -q tree 2>/dev/null;"
        " echo ../../../evil/.git > .git/worktrees/tree/commondir",
        where="tree",
    ),
)
