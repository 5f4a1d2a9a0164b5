//! The tree.

/// A literal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Const {
    None,
    Bool(bool),
    /// Decimal digits.
    Int(u128),
    Float(f64),
    Str(String),
}

#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) line: u32,
    /// Nodes on the longest way down.
    pub(crate) depth: u16,
    pub(crate) node: Node,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    NotIn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Neg,
    Pos,
}

#[derive(Debug)]
pub(crate) enum Node {
    Const(Const),
    Name(String),
    Tuple(Vec<Expr>),
    List(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
    Attr(Box<Expr>, String),
    Item(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, [Option<Box<Expr>>; 3]),
    Call(Box<Expr>, Args),
    /// Without a value where a block's text is filtered.
    Filter(Option<Box<Expr>>, String, Args),
    Test(Box<Expr>, String, Args),
    Unary(Unary, Box<Expr>),
    /// Operators of one level, from the left.
    Math(Box<Expr>, Vec<(Op, Expr)>),
    Concat(Vec<Expr>),
    Compare(Box<Expr>, Vec<(Op, Expr)>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    /// `value if test else other`.
    Cond {
        test: Box<Expr>,
        value: Box<Expr>,
        other: Option<Box<Expr>>,
    },
}

#[derive(Debug, Default)]
pub(crate) struct Args {
    pub(crate) positional: Vec<Expr>,
    pub(crate) named: Vec<(String, Expr)>,
    /// `*args`.
    pub(crate) rest: Option<Box<Expr>>,
    /// `**kwargs`.
    pub(crate) rest_named: Option<Box<Expr>>,
}

impl Args {
    /// Every expression among them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Expr> {
        self.positional
            .iter()
            .chain(self.named.iter().map(|(_, value)| value))
            .chain(self.rest.as_deref())
            .chain(self.rest_named.as_deref())
    }
}

/// What an assignment fills.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Name(String),
    /// `namespace.attribute`.
    Attr(String, String),
    Tuple(Vec<Target>),
}

impl Target {
    /// The variables that it sets.
    pub(crate) fn names<'a>(&'a self, into: &mut Vec<&'a str>) {
        match self {
            Self::Name(name) => into.push(name),
            Self::Attr(..) => {}
            Self::Tuple(items) => items.iter().for_each(|item| item.names(into)),
        }
    }
}

/// Parameters of a macro or of a call block.
#[derive(Debug, Default)]
pub(crate) struct Signature {
    pub(crate) names: Vec<String>,
    /// Of the last names.
    pub(crate) defaults: Vec<Expr>,
}

impl Signature {
    /// Index of the first name that has a default.
    pub(crate) fn first_default(&self) -> usize {
        self.names.len() - self.defaults.len()
    }
}

#[derive(Debug)]
pub(crate) struct Stmt {
    pub(crate) line: u32,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Text(String),
    Print(Expr),
    /// Tests with their bodies, then the body of `else`.
    If(Vec<(Expr, Vec<Stmt>)>, Vec<Stmt>),
    For(Box<For>),
    Set(Target, Expr),
    SetBlock(Target, Option<Expr>, Vec<Stmt>),
    With(Vec<(Target, Expr)>, Vec<Stmt>),
    Macro(String, Signature, Vec<Stmt>),
    /// The call, the parameters of its body, the body.
    CallBlock(Expr, Signature, Vec<Stmt>),
    FilterBlock(Expr, Vec<Stmt>),
    /// A scope: `generation`, `autoescape false`.
    Scope(Vec<Stmt>),
    Block(String, Vec<Stmt>),
    /// `include`, `import`, `extends`: the template, and the names that it would bind.
    Load(Expr, Vec<String>),
    Break,
    Continue,
}

#[derive(Debug)]
pub(crate) struct For {
    pub(crate) target: Target,
    pub(crate) iterated: Expr,
    pub(crate) test: Option<Expr>,
    pub(crate) recursive: bool,
    pub(crate) body: Vec<Stmt>,
    pub(crate) otherwise: Vec<Stmt>,
}
