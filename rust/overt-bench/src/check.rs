//! Whether the texts are what they must be.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::report::WrongText;
use crate::template::Template;

/// Distinct texts are counted up to this.
const DISTINCT_LIMIT: usize = 100_000;

/// Compares every answer's texts.
#[derive(Debug)]
pub(crate) struct Checker {
    expect: Option<Template>,
    /// All bodies are equal, so all texts must be.
    same: bool,
    /// The first answer's texts.
    reference: Option<Vec<Vec<u8>>>,
    distinct: HashSet<u64>,
    expected: Vec<u8>,
    pub(crate) checked: u64,
    pub(crate) wrong: u64,
    pub(crate) first_wrong: Option<WrongText>,
}

impl Checker {
    pub(crate) fn new(expect: Option<Template>, same: bool) -> Self {
        Self {
            expect,
            same,
            reference: None,
            distinct: HashSet::new(),
            expected: Vec::new(),
            checked: 0,
            wrong: 0,
            first_wrong: None,
        }
    }

    /// Looks at the texts of request `i`, one a choice.
    pub(crate) fn check(&mut self, i: u64, texts: &[Vec<u8>]) {
        if self.distinct.len() < DISTINCT_LIMIT {
            let mut hasher = DefaultHasher::new();
            texts.hash(&mut hasher);
            self.distinct.insert(hasher.finish());
        }
        let wrong = if let Some(expect) = &self.expect {
            self.expected.clear();
            expect.render(i, &mut self.expected);
            texts.iter().find(|text| **text != self.expected).map(|text| (&self.expected, text))
        } else if self.same {
            let reference = self.reference.get_or_insert_with(|| texts.to_vec());
            reference.iter().zip(texts).find(|(expected, text)| expected != text)
        } else {
            return;
        };
        self.checked += 1;
        if let Some((expected, got)) = wrong {
            self.wrong += 1;
            if self.first_wrong.is_none() {
                let show = |text: &[u8]| {
                    String::from_utf8_lossy(&text[..text.len().min(2000)]).into_owned()
                };
                self.first_wrong =
                    Some(WrongText { request: i, expected: show(expected), got: show(got) });
            }
        }
    }

    /// How many different answers there were.
    pub(crate) fn distinct(&self) -> u64 {
        self.distinct.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
        texts.iter().map(|text| text.as_bytes().to_vec()).collect()
    }

    #[test]
    fn expected_texts_may_name_the_request() {
        let mut checker = Checker::new(Some(Template::new("answer {i}")), false);
        checker.check(3, &texts(&["answer 3", "answer 3"]));
        checker.check(4, &texts(&["answer 4", "answer 3"]));
        checker.check(5, &texts(&["answer"]));
        assert_eq!((checker.checked, checker.wrong, checker.distinct()), (3, 2, 3));
        let wrong = checker.first_wrong.unwrap();
        assert_eq!(
            (wrong.request, wrong.expected.as_str(), wrong.got.as_str()),
            (4, "answer 4", "answer 3")
        );
    }

    #[test]
    fn equal_bodies_have_equal_texts_choice_by_choice() {
        let mut checker = Checker::new(None, true);
        for got in [["a", "b"], ["a", "b"], ["b", "a"]] {
            checker.check(0, &texts(&got));
        }
        assert_eq!((checker.checked, checker.wrong, checker.distinct()), (3, 1, 2));
    }

    #[test]
    fn different_bodies_are_not_compared() {
        let mut checker = Checker::new(None, false);
        checker.check(0, &texts(&["a"]));
        checker.check(1, &texts(&["b"]));
        assert_eq!((checker.checked, checker.wrong, checker.distinct()), (0, 0, 2));
    }
}
