//! The elements of HTML, by what becomes of them.

use html5ever::tokenizer::Tag;

/// What becomes of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It is dropped with all that is in it.
    Unseen,
    /// Its text is the page's title.
    Title,
    /// It only separates what is in it from what is around it.
    Wrapper,
    /// A block that is kept, under this name.
    Block(&'static str),
    /// A part of a table, under this name.
    Table(&'static str),
    /// What is said about a table.
    Caption,
    /// A part of a sentence that is kept, under this name.
    Inline(&'static str),
    /// It has no content and no end.
    Void(&'static str),
    /// It stands above the line, which text shows by a sign.
    Raised,
    /// A choice of a form.
    Option,
    /// Its tags are dropped, what is in it stays.
    Through,
}

/// What becomes of the element `name`.
pub(super) fn role(name: &str) -> Role {
    match name {
        "script" | "style" | "template" | "svg" | "noscript" | "iframe" | "object" | "embed"
        | "canvas" | "audio" | "video" | "noembed" | "noframes" | "datalist" | "meter"
        | "progress" => Role::Unseen,
        "title" => Role::Title,
        "div" | "section" | "article" | "main" | "header" | "footer" | "nav" | "aside" | "body"
        | "html" | "head" | "form" | "fieldset" | "center" | "figure" | "figcaption"
        | "details" | "summary" | "address" | "hgroup" | "search" | "dialog" | "legend"
        | "menu" | "select" | "textarea" | "button" | "frameset" | "marquee" | "optgroup" => {
            Role::Wrapper
        }
        "p" | "dt" | "dd" => Role::Block("p"),
        "h1" => Role::Block("h1"),
        "h2" => Role::Block("h2"),
        "h3" => Role::Block("h3"),
        "h4" => Role::Block("h4"),
        "h5" => Role::Block("h5"),
        "h6" => Role::Block("h6"),
        "ul" | "dir" => Role::Block("ul"),
        "ol" => Role::Block("ol"),
        "li" => Role::Block("li"),
        "pre" | "listing" | "xmp" | "plaintext" => Role::Block("pre"),
        "blockquote" => Role::Block("blockquote"),
        "table" => Role::Table("table"),
        "thead" => Role::Table("thead"),
        "tbody" | "tfoot" => Role::Table("tbody"),
        "tr" => Role::Table("tr"),
        "td" => Role::Table("td"),
        "th" => Role::Table("th"),
        "caption" => Role::Caption,
        "a" => Role::Inline("a"),
        "strong" | "b" => Role::Inline("strong"),
        "em" | "i" | "cite" | "dfn" | "var" => Role::Inline("em"),
        "code" | "kbd" | "samp" | "tt" => Role::Inline("code"),
        "del" | "s" | "strike" => Role::Inline("del"),
        "sup" => Role::Raised,
        "br" => Role::Void("br"),
        "hr" => Role::Void("hr"),
        "img" => Role::Void("img"),
        "input" => Role::Void("input"),
        "base" => Role::Void("base"),
        "wbr" | "area" | "col" | "link" | "meta" | "source" | "track" | "param" | "basefont"
        | "bgsound" | "frame" | "keygen" => Role::Void(""),
        "option" => Role::Option,
        _ => Role::Through,
    }
}

/// Elements that end by themselves where the next of their kind begins.
pub(super) fn ends_by_itself(name: &str) -> bool {
    matches!(name, "p" | "li" | "td" | "th" | "tr" | "dt" | "dd" | "option")
}

/// Parts of a page that are not what it is about.
pub(super) fn is_shell(name: &str) -> bool {
    matches!(name, "nav" | "header" | "footer" | "aside" | "form" | "button" | "dialog" | "menu")
}

/// Values of `role` that say the same.
pub(super) fn is_shell_role(role: &str) -> bool {
    matches!(
        role,
        "navigation" | "banner" | "contentinfo" | "search" | "complementary" | "dialog" | "menu"
    )
}

/// Words in the class or id of a wrapper that say the same.
const SHELL_WORDS: [&str; 26] = [
    "nav",
    "navbar",
    "navigation",
    "menu",
    "sidebar",
    "breadcrumb",
    "breadcrumbs",
    "footer",
    "cookie",
    "cookies",
    "consent",
    "banner",
    "advert",
    "advertisement",
    "ads",
    "share",
    "sharing",
    "social",
    "related",
    "newsletter",
    "comments",
    "popup",
    "modal",
    "promo",
    "sponsor",
    "skip",
];

/// Whether a class or id says that the element is not what the page is about.
pub(super) fn has_shell_word(text: &str) -> bool {
    text.split(|letter: char| !letter.is_ascii_alphanumeric())
        .any(|word| SHELL_WORDS.iter().any(|shell| word.eq_ignore_ascii_case(shell)))
}

/// Whether it is a part of a sentence.
pub(super) fn is_inline(name: &str) -> bool {
    matches!(name, "a" | "strong" | "em" | "code" | "del")
}

/// Whether it is a heading.
pub(super) fn is_heading(name: &str) -> bool {
    matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
}

/// The value of an attribute.
pub(super) fn attribute<'t>(tag: &'t Tag, name: &str) -> Option<&'t str> {
    let found = tag.attrs.iter().find(|attribute| &*attribute.name.local == name)?;
    Some(&*found.value)
}

/// Whether an attribute is there.
pub(super) fn has(tag: &Tag, name: &str) -> bool {
    attribute(tag, name).is_some()
}
