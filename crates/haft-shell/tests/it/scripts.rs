//! Makes random scripts out of all the syntax there is.

/// A source of chance that is the same for the same seed.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// Programs that only write down that they ran. `beta` fails.
pub(crate) const MARKERS: [&str; 5] = ["alpha", "beta", "gamma", "delta", "canary"];

/// A script of the given seed. One in four is damaged on purpose.
pub(crate) fn script(seed: u64) -> String {
    let mut chance = Chance::new(seed);
    let mut text = list(&mut chance, 3);
    match chance.below(8) {
        0 => text = damaged(&mut chance, &text),
        1 => text = folded(&mut chance, &text),
        _ => {}
    }
    text
}

/// Puts something strange somewhere, or takes something away.
fn damaged(chance: &mut Chance, text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=chance.below(2) {
        let at = chance.below(chars.len() + 1);
        let strange = [
            "\\\n", "\\", "'", "\"", "`", "$", "(", ")", "{", "}", ";", "&", "|", "<", ">", "#",
            "\n", " ", "!", "=", "[", "]", "$(", "<<", "((", "))", "~", "\t", "*", "$'", "${",
            "esac", " in ", "<<x\n", "&>", ";;", "\r",
        ];
        match chance.below(3) {
            0 if at < chars.len() => {
                chars.remove(at);
            }
            _ => {
                let strange = chance.pick(&strange);
                chars.splice(at..at, strange.chars());
            }
        }
    }
    chars.into_iter().collect()
}

/// Breaks lines by backslashes.
fn folded(chance: &mut Chance, text: &str) -> String {
    let mut folded = String::new();
    for character in text.chars() {
        if chance.below(12) == 0 {
            folded.push_str("\\\n");
        }
        folded.push(character);
    }
    folded
}

fn list(chance: &mut Chance, depth: usize) -> String {
    let count = 1 + chance.below(3);
    let mut text = String::new();
    for index in 0..count {
        if index > 0 {
            text.push_str(chance.pick(&[
                "; ",
                "\n",
                " && ",
                " || ",
                " | ",
                " & ",
                ";\n",
                " |& ",
                "\n\n# note )\n",
            ]));
        }
        text.push_str(&command(chance, depth));
    }
    text
}

fn command(chance: &mut Chance, depth: usize) -> String {
    if depth == 0 {
        return simple(chance, 0);
    }
    let inner = depth - 1;
    match chance.below(36) {
        0 => format!("{{ {}; }}", list(chance, inner)),
        1 => format!("( {} )", list(chance, inner)),
        2 => format!(
            "if {}; then {}; else {}; fi",
            list(chance, inner),
            list(chance, inner),
            list(chance, inner)
        ),
        3 => format!("while beta; do {}; break; done", list(chance, inner)),
        4 => format!("until alpha; do {}; break; done", list(chance, inner)),
        5 => {
            let name = chance.pick(&["x", "y", "f"]);
            format!(
                "for {name} in {} {}; do {}; done",
                word(chance, inner),
                word(chance, inner),
                list(chance, inner)
            )
        }
        6 => format!(
            "case {} in a|alpha) {};; (*) {};; esac",
            word(chance, inner),
            list(chance, inner),
            list(chance, inner)
        ),
        7 => {
            let name = chance.pick(&["f", "g", "alpha"]);
            format!("{name}() {{ {}; }}; {name} {}", list(chance, inner), word(chance, inner))
        }
        8 => format!("! {}", command(chance, inner)),
        9 => format!("time {}", command(chance, inner)),
        10 => format!("[[ {} == {} ]]", word(chance, inner), word(chance, inner)),
        11 => format!(
            "[[ -n {} && 1 -lt {} ]]",
            word(chance, inner),
            chance.pick(&["2", "$x", "y", "$((1+1))", "'a[$(canary)]'"])
        ),
        12 => format!("(( {} ))", arithmetic(chance, inner)),
        13 => format!("for ((i=0;i<2;i++)); do {}; done", list(chance, inner)),
        14 => format!(
            "{} <<{}\n{}\n{}\n{}",
            simple(chance, inner),
            "EOF",
            document(chance, inner),
            "EOF",
            simple(chance, 0)
        ),
        15 => format!("{} <<'EOF'\n$(canary) `canary`\nEOF\n:", simple(chance, inner)),
        16 => format!("cat <<-EOF\n\t{}\n\tEOF\n{}", document(chance, inner), simple(chance, 0)),
        17 => assignment(chance, inner),
        18 => format!("eval '{}'", plain(chance)),
        19 => format!("eval {}", plain_word(chance)),
        20 => format!("sh -c '{}'", plain(chance)),
        21 => format!("bash -c \"{}\"", plain(chance)),
        22 => builtin(chance, inner),
        23 => format!("{} {}", wrapper(chance), simple(chance, 0)),
        24 => format!("{} > >({})", simple(chance, 0), list(chance, 0)),
        25 => format!("coproc {{ {}; }}", list(chance, 0)),
        26 => format!("function g {{ {}; }}; g", list(chance, inner)),
        27 => format!(
            "x={}; {} $x",
            plain_word(chance),
            chance.pick(&["$x", "\"$x\"", "eval", "alpha", "${x}", "$x$y"])
        ),
        _ => simple(chance, inner),
    }
}

fn builtin(chance: &mut Chance, depth: usize) -> String {
    let name = chance.pick(&["x", "'a[$(canary)]'", "y", "$x", "a[0]"]);
    match chance.below(14) {
        0 => format!("test -v {name}"),
        1 => format!("printf -v {name} %s v"),
        2 => format!("read {name} <<< {}", word(chance, depth)),
        3 => format!("let {name}=1"),
        4 => format!("declare -i {name}={}", word(chance, depth)),
        5 => format!("export y={}", word(chance, depth)),
        6 => format!("unset {name}"),
        7 => format!("set -- {}", plain_word(chance)),
        8 => "\"$@\"".to_owned(),
        9 => format!("[ {} -eq 1 ]", word(chance, depth)),
        10 => format!("exec {}", plain(chance)),
        11 => format!("declare {name}={}", word(chance, depth)),
        12 => format!("cd {}", chance.pick(&[".", "..", "sub", "$x"])),
        _ => format!("trap '{}' EXIT", plain(chance)),
    }
}

fn wrapper(chance: &mut Chance) -> &'static str {
    chance.pick(&[
        "env",
        "env FOO=1",
        "env -i",
        "env -u X",
        "nice",
        "nice -n 5",
        "timeout 5",
        "timeout -k 1 5",
        "nohup",
        "command",
        "builtin",
        "command --",
        "exec",
        "xargs",
        "xargs -n 1",
        "stdbuf -o0",
        "env -S",
        "find . -maxdepth 0 -exec",
        "time -p",
        "!",
        "command -v",
        "env --",
        "timeout --signal=KILL 5",
    ])
}

/// A command that stands in quotes of both kinds.
fn plain(chance: &mut Chance) -> String {
    let marker = chance.pick(&MARKERS);
    match chance.below(6) {
        0 => format!("{marker}; {}", chance.pick(&MARKERS)),
        1 => format!("{marker} $(canary)"),
        2 => format!("{marker} $x"),
        3 => format!("x=gamma; {marker}"),
        _ => format!("{marker} a"),
    }
}

fn plain_word(chance: &mut Chance) -> &'static str {
    chance.pick(&[
        "alpha",
        "beta",
        "'gamma x'",
        "\"delta\"",
        "1",
        "a",
        "'a b'",
        "''",
        "'*'",
        "'$(canary)'",
    ])
}

fn assignment(chance: &mut Chance, depth: usize) -> String {
    let name = chance.pick(&["x", "y", "a[0]", "x+", "f"]);
    match chance.below(5) {
        0 => format!("{name}=({} {})", word(chance, depth), word(chance, depth))
            .replace("a[0]=(", "a=("),
        1 => format!("{name}={} {}", word(chance, depth), simple(chance, 0)),
        _ => format!("{name}={}", word(chance, depth)),
    }
}

fn arithmetic(chance: &mut Chance, depth: usize) -> String {
    match chance.below(20) {
        0 => "1 + 2".to_owned(),
        1 => "x + 1".to_owned(),
        2 => "y = 3".to_owned(),
        3 => format!("$({}) + 1", list(chance, depth)),
        4 => "a[$(canary)]".to_owned(),
        5 => "$x * 2".to_owned(),
        6 => "i++".to_owned(),
        _ => "(1 << 2) | 3".to_owned(),
    }
}

fn document(chance: &mut Chance, depth: usize) -> String {
    match chance.below(6) {
        0 => format!("text $({}) more", list(chance, depth)),
        1 => format!("`{}`", simple(chance, 0).replace('`', "")),
        2 => "${x:-$(canary)} \"quoted\" 'single' \\$(beta)".to_owned(),
        3 => format!("$(( {} ))", arithmetic(chance, depth)),
        _ => "plain # text (here".to_owned(),
    }
}

fn name(chance: &mut Chance) -> String {
    let marker = chance.pick(&MARKERS);
    let (head, tail) = marker.split_at(2);
    match chance.below(80) {
        0 => format!("'{marker}'"),
        1 => format!("\"{marker}\""),
        2 => format!("{head}'{tail}'"),
        3 => format!("\\{marker}"),
        4 => format!("{head}\\{tail}"),
        5 => format!("$'{marker}'"),
        6 => format!("{head}$x{tail}"),
        7 => format!("{{{marker},b}}"),
        8 => format!("$(echo {marker})"),
        9 => format!("`echo {marker}`"),
        10 => format!("{head}\"\"{tail}"),
        11 => format!("$'\\x{:x}'{}", u32::from(marker.chars().next().unwrap()), &marker[1..]),
        12 => format!("{head}?{}", &tail[1..]),
        13 => "$x".to_owned(),
        14 => "f".to_owned(),
        15 => "g".to_owned(),
        16 => format!("{head}\\\n{tail}"),
        17 => format!("./{marker}"),
        _ => marker.to_owned(),
    }
}

fn simple(chance: &mut Chance, depth: usize) -> String {
    let mut text = String::new();
    if chance.below(8) == 0 {
        text.push_str(chance.pick(&["x=1 ", "FOO=bar ", "x=$(canary) ", "x='a b' y=2 ", "a=1 "]));
    }
    if chance.below(10) == 0 {
        text.push_str(chance.pick(&["2>/dev/null ", ">out ", "</dev/null ", "&>out ", "2>&1 "]));
    }
    text.push_str(&name(chance));
    for _ in 0..chance.below(3) {
        text.push(' ');
        text.push_str(&word(chance, depth));
    }
    if chance.below(6) == 0 {
        text.push_str(chance.pick(&[
            " >out",
            " 2>&1",
            " >>out",
            " <<<x",
            " <<< \"$(canary)\"",
            " >|out",
            " 2>out",
            " &>out",
            " <>out",
            " {v}>out",
            " > \"$(canary; echo out)\"",
        ]));
    }
    text
}

fn word(chance: &mut Chance, depth: usize) -> String {
    let nested = depth > 0;
    match chance.below(48) {
        0 if nested => format!("$({})", list(chance, depth - 1)),
        1 if nested => format!("\"$({})\"", list(chance, depth - 1)),
        2 => format!("`{}`", simple(chance, 0).replace('`', "")),
        3 => format!("\"`{}`\"", chance.pick(&MARKERS)),
        4 if nested => format!("<({})", list(chance, depth - 1)),
        5 if nested => format!("${{x:-{}}}", word(chance, depth - 1)),
        6 if nested => format!("\"${{y:-$({})}}\"", list(chance, depth - 1)),
        7 if nested => format!("${{x:={}}}", word(chance, depth - 1)),
        8 => format!("$(( {} ))", arithmetic(chance, 0)),
        9 => format!("{{a,{}}}", chance.pick(&["b", "c d", "'e'", "$(canary)"])),
        10 => "$x".to_owned(),
        11 => "\"$x\"".to_owned(),
        12 => "${x}".to_owned(),
        13 => "${#x}".to_owned(),
        14 => chance
            .pick(&[
                "${x@P}",
                "${!x}",
                "${x%a}",
                "${x//a/b}",
                "${x:0:1}",
                "${a[0]}",
                "${a[@]}",
                "\"${x#*a}\"",
            ])
            .to_owned(),
        15 => "'single $(canary)'".to_owned(),
        16 => "\"double \\$(canary) \\\" x\"".to_owned(),
        17 => "$'ansi\\n\\'x'".to_owned(),
        18 => chance
            .pick(&[
                "*", "a*b", "?", "[a-c]x", "~", "~/x", "-n", "--", "#x", "a#b", "=", "a=b", "!",
                "{", "}", "{}",
            ])
            .to_owned(),
        19 => {
            chance.pick(&["\\;", "\\$x", "\\`", "\\\\", "a\\ b", "\\\"", "\\#", "\\\n"]).to_owned()
        }
        20 if nested => format!("$( ( {} ) )", list(chance, depth - 1)),
        21 => "$(case x in x) gamma;; esac)".to_owned(),
        22 => "$(# note )\ndelta)".to_owned(),
        23 if nested => format!("$(cat <<E\n{}\nE\n)", document(chance, depth - 1)),
        24 => chance
            .pick(&["if", "then", "done", "fi", "in", "time", "function", "[[", "do"])
            .to_owned(),
        _ => chance
            .pick(&["a", "b", "1", "word", "x.y", "alpha", "0", "''", "\"\"", "'a b'"])
            .to_owned(),
    }
}
