//! jinja2's filters, by name.

mod attributes;
mod numbers;
mod pretty;
mod select;
mod sequence;
mod text;
mod web;
mod wrap;

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, State};

use crate::arguments::take;
use crate::error::invalid;
use crate::json;

/// One use of a filter.
pub(crate) struct Call<'a, 't, 'e> {
    pub(crate) state: &'a mut State<'t, 'e>,
    /// What it is put behind.
    pub(crate) value: &'a Value,
    /// By position.
    pub(crate) args: &'a [Value],
    /// By name.
    pub(crate) kwargs: Kwargs,
}

/// A filter's state, its value and its arguments.
type Read<'a, 't, 'e, const N: usize> = (&'a mut State<'t, 'e>, &'a Value, [Option<Value>; N]);

impl<'a, 't, 'e> Call<'a, 't, 'e> {
    /// The arguments in the order of `names`; None counts as absent.
    pub(crate) fn arguments<const N: usize>(
        self,
        names: [&str; N],
    ) -> Result<Read<'a, 't, 'e, N>, Error> {
        let (state, value, values) = self.given(names)?;
        Ok((state, value, values.map(|value| value.filter(|value| !value.is_none()))))
    }

    /// As [`arguments`](Self::arguments), with None kept.
    fn given<const N: usize>(self, names: [&str; N]) -> Result<Read<'a, 't, 'e, N>, Error> {
        let values = take(self.args, &self.kwargs, names, 0)?;
        Ok((self.state, self.value, values))
    }
}

pub(crate) type Filter = fn(Call) -> Result<Value, Error>;

/// Every filter that jinja2 has.
pub(crate) const FILTERS: [(&str, Filter); 54] = [
    ("abs", numbers::abs),
    ("attr", attributes::attr),
    ("batch", sequence::batch),
    ("capitalize", text::capitalize),
    ("center", text::center),
    ("count", sequence::length),
    ("d", text::default),
    ("default", text::default),
    ("dictsort", sequence::dictsort),
    ("e", web::escape),
    ("escape", web::escape),
    ("filesizeformat", numbers::filesizeformat),
    ("first", sequence::first),
    ("float", numbers::float),
    ("forceescape", web::forceescape),
    ("format", text::format),
    ("groupby", sequence::groupby),
    ("indent", text::indent),
    ("int", numbers::int),
    ("items", sequence::items),
    ("join", text::join),
    ("last", sequence::last),
    ("length", sequence::length),
    ("list", sequence::list),
    ("lower", text::lower),
    ("map", select::map),
    ("max", numbers::max),
    ("min", numbers::min),
    ("pprint", pretty::pprint),
    ("random", sequence::random),
    ("reject", select::reject),
    ("rejectattr", select::rejectattr),
    ("replace", text::replace),
    ("reverse", sequence::reverse),
    ("round", numbers::round),
    ("safe", web::safe),
    ("select", select::select),
    ("selectattr", select::selectattr),
    ("slice", sequence::slice),
    ("sort", sequence::sort),
    ("string", text::string),
    ("striptags", web::striptags),
    ("sum", numbers::sum),
    ("title", text::title),
    ("tojson", json::tojson),
    ("trim", text::trim),
    ("truncate", text::truncate),
    ("unique", sequence::unique),
    ("upper", text::upper),
    ("urlencode", web::urlencode),
    ("urlize", web::urlize),
    ("wordcount", text::wordcount),
    ("wordwrap", wrap::wordwrap),
    ("xmlattr", web::xmlattr),
];

/// The filter of a name.
pub(crate) fn find(name: &str) -> Option<Filter> {
    FILTERS.iter().find(|(other, _)| *other == name).map(|(_, filter)| *filter)
}

/// The argument that must be given.
fn required(value: Option<Value>, filter: &str, name: &str) -> Result<Value, Error> {
    value.ok_or_else(|| invalid(format!("{filter}: the argument {name} is missing")))
}
