//! Ways out that a shell can go.

/// Name and script. `$O` is outside, `$W` the workspace, `$SECRETS`, `$SECRET_FILE` and `$STATE` are hidden,
/// `$VICTIM` is a process outside.
pub(super) const ALL: &[(&str, &str)] = &[
    // Files outside.
    ("write a new file", "echo x > $O/new"),
    ("append", "echo x >> $O/victim"),
    ("truncate", ": > $O/victim; truncate -s 0 $O/victim"),
    ("delete", "rm -f $O/victim; unlink $O/victim"),
    ("delete a folder", "rm -rf $O"),
    ("rename", "mv $O/victim $O/moved"),
    ("move out", "echo x > x; mv x $O/x"),
    ("move in", "mv $O/victim ."),
    ("make a folder", "mkdir $O/folder"),
    ("make a pipe", "mkfifo $O/pipe"),
    ("make a link", "ln -s /etc/passwd $O/link"),
    ("hard link in, then write", "ln $O/victim hard && echo x >> hard"),
    ("hard link out", "echo x > x; ln x $O/x"),
    ("write through a link", "echo x > link/new; echo x >> link/victim"),
    ("write through a new link", "ln -s $O/victim l; echo x > l; ln -s $O/fresh m; echo x > m"),
    ("copy over", "cp /etc/hostname $O/victim; install /etc/hostname $O/victim"),
    ("edit in place", "sed -i s/was/is/ $O/victim"),
    ("write by dd", "dd if=/dev/zero of=$O/victim bs=1 count=1 conv=notrunc"),
    ("change a mode", "chmod 777 $O/victim; chmod 4777 $O/victim"),
    ("change a mode through a link", "chmod 777 link/victim; chmod -R 777 link/"),
    ("change an owner", "chown 12345 $O/victim; chgrp 12345 $O/victim"),
    ("change a time", "touch -d 2001-01-01 $O/victim; touch $O/victim"),
    ("set an attribute", "setfattr -n user.x -v y $O/victim; chattr +i $O/victim"),
    ("up and out", "echo x > ../out/new; cd ..; echo x > new"),
    ("through /proc/self", "echo x > /proc/self/root$O/new; echo x > /proc/self/cwd/../out/new"),
    (
        "through the warden",
        "echo x > /proc/1/root$O/new; echo x > /proc/1/cwd/x; readlink /proc/1/fd/* && echo ESCAPED; (: < /proc/1/fd/3) && echo ESCAPED",
    ),
    (
        "swap a folder for a link",
        "mkdir d; for i in {1..200}; do (echo x > d/new) 2>/dev/null & \
        { mv d e; ln -s $O d; rm -f d; mv e d; } 2>/dev/null; done; wait",
    ),
    (
        "unpack with dots",
        "mkdir -p t/a; echo x > t/new; tar -C t/a -cPf t.tar ../new; cd t/a; tar -xPf ../../t.tar -C $O",
    ),
    ("git outside", "git -C $O init; git init $O/repo"),
    (
        "write home and system",
        "for f in /etc/haft-x /usr/haft-x /root/haft-x /var/haft-x /haft-x /opt/haft-x /home/haft-x; do \
        (echo x > $f) && echo ESCAPED $f; done 2>/dev/null",
    ),
    (
        "write devices",
        "for f in /dev/sda /dev/vda /dev/mem /dev/kmsg /dev/console /dev/port; do [ -e $f ] && echo ESCAPED $f; done",
    ),
    ("make a node", "mknod disk b 254 0 && echo ESCAPED; mknod $O/null c 1 3"),
    (
        "write the kernel",
        "(echo '|/bin/false' > /proc/sys/kernel/core_pattern) && echo ESCAPED; \
        (echo b > /proc/sysrq-trigger) && echo ESCAPED; (echo h > /proc/sys/kernel/hostname) && echo ESCAPED",
    ),
    (
        "write sys",
        "(echo 1 > /sys/kernel/mm/ksm/run) 2>/dev/null && echo ESCAPED; mkdir /sys/fs/cgroup/haft-x && echo ESCAPED",
    ),
    (
        "cgroups",
        "for c in /sys/fs/cgroup/*/cgroup.procs /sys/fs/cgroup/cgroup.procs; do (echo $$ > $c) 2>/dev/null && echo ESCAPED; done",
    ),
    // Secrets.
    ("read a secret", "cat $SECRET_FILE; head $SECRETS/key; cat $STATE/db; cat .env"),
    ("list secrets", "ls $SECRETS && echo ESCAPED; ls $STATE && echo ESCAPED"),
    ("find secrets", "find $TOP -name key -exec cat {} +; grep -r the-secret $TOP"),
    (
        "secret through a link",
        "cat secret-link; cp secret-link copy; cat copy; readlink -f secret-link | xargs cat",
    ),
    (
        "hard link to a secret",
        "ln $SECRET_FILE s && cat s; ln .env e && cat e; ln -L secret-link t && cat t",
    ),
    (
        "secret through /proc",
        "cat /proc/self/root$SECRET_FILE /proc/1/root$SECRET_FILE /proc/self/cwd/../secret-file",
    ),
    ("rename the mask", "mv .env e; cat e; rm -f .env; cat .env; mv $SECRETS x; cat x/key"),
    ("chmod the mask", "chmod 777 $SECRETS $SECRET_FILE .env; cat $SECRET_FILE .env $SECRETS/key"),
    (
        "mount off the mask",
        "umount $SECRETS; umount -l $SECRETS; umount .env; cat $SECRETS/key .env",
    ),
    (
        "tar the secrets",
        "tar cf - $TOP 2>/dev/null | strings | grep the-secret; tar cf - . | grep -a the-secret",
    ),
    (
        "secret of the runtime",
        "cat /proc/$RUNTIME/environ /proc/$VICTIM/environ /proc/1/environ | tr '\\0' '\\n'",
    ),
    (
        "memory of others",
        "cat /proc/$VICTIM/maps /proc/$RUNTIME/maps /proc/1/maps && echo ESCAPED; \
        dd if=/proc/1/mem bs=1 count=1 skip=4194304 2>/dev/null && echo ESCAPED",
    ),
    (
        "write a secret",
        "echo x > $SECRET_FILE; echo x > .env; echo x > $STATE/db; touch $STATE/new; rm -rf $STATE",
    ),
    // What is protected inside the workspace.
    (
        "write git config",
        "echo x >> .git/config; git config core.hooksPath /x; git config --file .git/config a.b c",
    ),
    (
        "replace git config",
        "echo x > c; mv -f c .git/config; cp c .git/config; ln -sf c .git/config; rm -f .git/config",
    ),
    (
        "write hooks",
        "echo x > .git/hooks/pre-commit; rm -f .git/hooks/sample; echo x >> .git/hooks/sample",
    ),
    (
        "replace hooks",
        "mv .git/hooks h; rm -rf .git/hooks; mkdir -p .git/hooks; echo x > .git/hooks/post-checkout; ln -sfn /x .git/hooks",
    ),
    (
        "rename the parent",
        "mv .git g; mkdir -p .git/hooks; echo x > .git/config; echo x > .git/hooks/pre-commit",
    ),
    (
        "rename the grandparent",
        "mv deep d; mkdir -p deep/er; echo x > deep/er/config; mv deep/er deep/e; mkdir deep/er; echo x > deep/er/config",
    ),
    (
        "delete the parent",
        "rm -rf .git deep; mkdir -p .git/hooks deep/er; echo x > .git/config; echo x > deep/er/config",
    ),
    ("rename the workspace", "cd ..; mv work w && echo ESCAPED; mkdir x; mv x work"),
    (
        "make what is missing",
        "echo x > haft.toml; mkdir -p .haft; echo x > .haft/config; touch .haft/x",
    ),
    (
        "make it otherwise",
        "ln -s /etc/passwd haft.toml; ln -sf x .haft/y; mkdir haft.toml; mkfifo haft.toml; cp -f /etc/hostname haft.toml",
    ),
    (
        "move it there",
        "echo x > x; mv -f x haft.toml; mv -T x .haft; mkdir y; mv -T y .haft; rm -rf .haft haft.toml; echo x > haft.toml",
    ),
    (
        "write a protected link",
        "echo x >> linked.toml; rm -f linked.toml; echo x > linked.toml; mv linked.toml l",
    ),
    (
        "mode of what is protected",
        "chmod 777 .git/config .git/hooks haft.toml .haft; touch -d 2001-01-01 .git/config",
    ),
    // Processes.
    (
        "kill a process outside",
        "kill -9 $VICTIM; kill -STOP $VICTIM; kill -9 $RUNTIME; kill -9 -- -1",
    ),
    (
        "see processes outside",
        "[ -e /proc/$VICTIM ] && grep -q sleep /proc/$VICTIM/comm && echo ESCAPED; \
        ps ax | grep -c . | { read n; [ $n -gt 12 ] && echo ESCAPED $n; }",
    ),
    ("kill the warden", "kill -9 1; kill -STOP 1; kill -TERM 1; sleep 0.05"),
    (
        "limits of others",
        "prlimit --pid $VICTIM --nofile=1:1; prlimit --pid 1 --nofile=1:1 && echo ESCAPED; renice -n 5 -p $VICTIM",
    ),
    // Rights.
    (
        "mount",
        "mount -t tmpfs none /mnt && echo ESCAPED; mount --bind $O . && echo ESCAPED; mount -o remount,rw / && echo ESCAPED",
    ),
    (
        "unmount",
        "umount /tmp && echo ESCAPED; umount -l /proc && echo ESCAPED; umount / && echo ESCAPED",
    ),
    (
        "a user namespace",
        "unshare -Ur true && echo ESCAPED; unshare -m true && echo ESCAPED; unshare -n true && echo ESCAPED",
    ),
    (
        "enter a namespace",
        "nsenter -t 1 -m true && echo ESCAPED; nsenter --mount=/proc/1/ns/mnt true && echo ESCAPED",
    ),
    ("change root", "chroot / true && echo ESCAPED"),
    (
        "become root",
        "sudo -n true && echo ESCAPED; su -c true root < /dev/null && [ $(id -u) != 0 ] && echo ESCAPED",
    ),
    (
        "set-user-id in the workspace",
        "cp /bin/true t && chmod u+s t && [ -u t ] && echo ESCAPED; chmod g+s t && [ -g t ] && echo ESCAPED; \
        install -m 4755 /bin/true u; [ -u u ] && echo ESCAPED",
    ),
    (
        "capabilities",
        "grep -E 'Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | grep -v 0000000000000000 && echo ESCAPED",
    ),
    (
        "new privileges",
        "grep -q 'NoNewPrivs:.*1' /proc/self/status || echo ESCAPED; grep -q 'Seccomp:.*2' /proc/self/status || echo ESCAPED",
    ),
    ("file capabilities", "cp /bin/true c; setcap cap_sys_admin+ep c && echo ESCAPED"),
    (
        "schedule for later",
        "echo true | at now && echo ESCAPED; (echo '* * * * * true' | crontab -) 2>/dev/null && echo ESCAPED; systemd-run true && echo ESCAPED",
    ),
    (
        "daemons",
        "docker ps && echo ESCAPED; [ -S /run/docker.sock ] && echo ESCAPED; ls -A /run | grep -v current-system && echo ESCAPED",
    ),
    // Network.
    ("tcp by bash", "(echo x > /dev/tcp/127.0.0.1/$TCP) && echo ESCAPED"),
    ("udp by bash", "echo x > /dev/udp/127.0.0.1/$UDP"),
    (
        "the world",
        "(timeout 2 bash -c 'echo x > /dev/tcp/1.1.1.1/80') && echo ESCAPED; getent hosts example.com && echo ESCAPED",
    ),
    (
        "routes",
        "[ $(wc -l < /proc/net/route) -gt 1 ] && echo ESCAPED; grep -v -e lo: -e '|' /proc/net/dev && echo ESCAPED",
    ),
    (
        "sockets by tools",
        "curl -m 2 -s http://127.0.0.1:$TCP && echo ESCAPED; nc -w 1 127.0.0.1 $TCP < /dev/null && echo ESCAPED; curl -m 2 -s --unix-socket $O/socket http://x && echo ESCAPED",
    ),
    (
        "the machine through the proxy",
        "for h in 127.0.0.1 localhost localhost. 127.1 0x7f.1 2130706433 [::1] [::ffff:127.0.0.1] 0.0.0.0; do \
        curl -m 2 -sf --noproxy '' http://$h:$TCP && echo ESCAPED $h; \
        curl -m 2 -sf --noproxy '' -p http://$h:$TCP && echo ESCAPED $h; done",
    ),
    (
        "the machine through the proxy, by hand",
        "u=${HTTP_PROXY#http://}; a=$(printf %s \"${u%@*}\" | base64 -w0); \
        for h in 127.0.0.1 localhost [::ffff:127.0.0.1] 0.0.0.0 127.1; do exec 3<>/dev/tcp/127.0.0.1/${u##*:}; \
        printf 'CONNECT %s:%s HTTP/1.1\\r\\nProxy-Authorization: Basic %s\\r\\n\\r\\nx' $h $TCP $a >&3; \
        timeout 2 head -n 1 <&3 | grep ' 200 ' && echo ESCAPED; exec 3>&-; done",
    ),
    (
        "files of networks",
        "readlink /proc/*/fd/* 2>/dev/null | grep -e net: -e user: && echo ESCAPED; \
        for n in /proc/1/ns/net /proc/self/ns/net /proc/self/ns/user; do nsenter --net=$n true && echo ESCAPED; \
        nsenter --user=$n true && echo ESCAPED; done",
    ),
    (
        "change the shared network",
        "ip link set lo down && echo ESCAPED; ip link add x type dummy && echo ESCAPED; \
        ip addr add 10.9.8.7/8 dev lo && echo ESCAPED; ip route add default dev lo && echo ESCAPED; \
        (echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start) && echo ESCAPED",
    ),
    // Limits and terminals.
    ("core files", "[ $(ulimit -Hc) = 0 ] || echo ESCAPED"),
    ("a terminal", "(: > /dev/tty) 2>/dev/null && echo ESCAPED; tty && echo ESCAPED"),
    (
        "other terminals",
        "for t in /dev/pts/[0-9]*; do (echo x > $t) && echo ESCAPED $t; done 2>/dev/null",
    ),
    (
        "shared memory",
        "ls -A /dev/shm /tmp /var/tmp | grep -v -e ^/ -e '^$' -e \"^$(echo $TOP | cut -d/ -f3)$\" -e \"^$(echo $BUILT | cut -d/ -f3)$\" && echo ESCAPED; ipcs -m | grep 0x && echo ESCAPED",
    ),
];
