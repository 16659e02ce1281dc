//! Evaluates licence expressions (SPDX specification, annex D) against a list of allowed licences.
//!
//! `OR` needs one allowed side, `AND` both; `X WITH exception` must be allowed as a whole. The old `MIT/Apache-2.0` of
//! crates.io means `OR`. Any other syntax is not allowed.

/// Returns whether allowed licences satisfy the expression; `None` if it cannot be parsed.
pub fn is_allowed(expression: &str, allowed: &dyn Fn(&str) -> bool) -> Option<bool> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser { rest: &tokens, allowed };
    let verdict = parser.any()?;
    parser.rest.is_empty().then_some(verdict)
}

struct Parser<'a> {
    rest: &'a [&'a str],
    allowed: &'a dyn Fn(&str) -> bool,
}

impl<'a> Parser<'a> {
    fn any(&mut self) -> Option<bool> {
        let mut verdict = self.all()?;
        while self.take("OR") {
            verdict |= self.all()?;
        }
        Some(verdict)
    }

    fn all(&mut self) -> Option<bool> {
        let mut verdict = self.one()?;
        while self.take("AND") {
            verdict &= self.one()?;
        }
        Some(verdict)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let verdict = self.any()?;
            return self.take(")").then_some(verdict);
        }
        let name = self.name()?;
        if !self.take("WITH") {
            return Some((self.allowed)(name));
        }
        let exception = self.name()?;
        Some((self.allowed)(&format!("{name} WITH {exception}")))
    }

    fn name(&mut self) -> Option<&'a str> {
        let (first, rest) = self.rest.split_first()?;
        if matches!(*first, "AND" | "OR" | "WITH" | "(" | ")") {
            return None;
        }
        self.rest = rest;
        Some(first)
    }

    fn take(&mut self, word: &str) -> bool {
        match self.rest.split_first() {
            Some((first, rest)) if *first == word => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(expression: &str) -> Option<bool> {
        is_allowed(expression, &|name| ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].contains(&name))
    }

    #[test]
    fn or_needs_one_and_needs_both() {
        assert_eq!(verdict("MIT OR GPL-3.0"), Some(true));
        assert_eq!(verdict("MIT/Apache-2.0"), Some(true));
        assert_eq!(verdict("MIT AND GPL-3.0"), Some(false));
        assert_eq!(verdict("(GPL-3.0 OR MIT) AND Zlib"), Some(true));
        assert_eq!(verdict("GPL-3.0 OR MIT AND Apache-2.0"), Some(false));
    }

    #[test]
    fn an_exception_is_part_of_the_name() {
        assert_eq!(verdict("Apache-2.0 WITH LLVM-exception"), Some(true));
        assert_eq!(verdict("MIT WITH LLVM-exception"), Some(false));
    }

    #[test]
    fn nonsense_is_not_understood() {
        for expression in ["", "MIT OR", "(MIT", "MIT Zlib", "AND MIT", "MIT)"] {
            assert_eq!(verdict(expression), None, "{expression}");
        }
    }
}
