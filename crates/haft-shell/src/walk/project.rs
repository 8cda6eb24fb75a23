//! What a project runs by a name: modules of Python, and scripts of a package.

use super::Walk;
use super::value::Field;
use crate::effect::Standing;
use crate::syntax::Span;

/// Modules of Python that do what their name says, and no more than `python` was allowed for.
const MODULES: [&str; 21] = [
    "pytest",
    "unittest",
    "json.tool",
    "venv",
    "black",
    "ruff",
    "mypy",
    "flake8",
    "isort",
    "coverage",
    "build",
    "compileall",
    "py_compile",
    "tox",
    "nox",
    "pylint",
    "pyflakes",
    "tabnanny",
    "sphinx",
    "mkdocs",
    "pre_commit",
];

/// What scripts of a project are called by everyone.
const SCRIPTS: [&str; 22] = [
    "build",
    "test",
    "tests",
    "lint",
    "start",
    "dev",
    "format",
    "fmt",
    "check",
    "typecheck",
    "types",
    "tsc",
    "clean",
    "docs",
    "ci",
    "compile",
    "coverage",
    "e2e",
    "preview",
    "serve",
    "watch",
    "unit",
];

impl Walk<'_> {
    pub(super) fn module(&mut self, module: &Field, span: Span) {
        match module.literal() {
            Some(name) if MODULES.contains(&name) => {}
            Some(name) => {
                self.note_run(&[Field::text(name)], Standing::Asked, span);
                self.doubt(format!("what the module `{name}` runs is not worked out"), span);
            }
            None => self.doubt("which module is run is not known", span),
        }
    }

    pub(super) fn project_script(&mut self, script: &Field, span: Span) {
        match script.literal() {
            Some(name) if SCRIPTS.contains(&name.split([':', '-']).next().unwrap_or(name)) => {}
            Some(name) => {
                self.note_run(
                    &[Field::text(&format!("package.json#{name}"))],
                    Standing::Asked,
                    span,
                );
                self.doubt(
                    format!("what the project's script `{name}` runs is not worked out"),
                    span,
                );
            }
            None => self.doubt("which script of the project is run is not known", span),
        }
    }
}
