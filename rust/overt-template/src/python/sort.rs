//! A stable sort whose comparison may fail, and need not be an order: `nan` is in none.

use minijinja::Error;

/// Sorts by `before`, which says whether its first comes before its second; stops at its first error.
pub(crate) fn sort<T>(
    mut items: Vec<T>,
    before: &mut impl FnMut(&T, &T) -> Result<bool, Error>,
) -> Result<Vec<T>, Error> {
    if items.len() < 2 {
        return Ok(items);
    }
    let right = items.split_off(items.len() / 2);
    let mut left = sort(items, before)?.into_iter().peekable();
    let mut right = sort(right, before)?.into_iter().peekable();
    let mut merged = Vec::with_capacity(left.len() + right.len());
    while let (Some(first), Some(second)) = (left.peek(), right.peek()) {
        let next = if before(second, first)? { right.next() } else { left.next() };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use super::sort;

    #[test]
    fn equal_items_keep_their_places() {
        let items: Vec<(u32, u32)> = (0..1000).map(|at| (at * 7919 % 13, at)).collect();
        let mut expected = items.clone();
        expected.sort_by_key(|item| item.0);
        assert_eq!(sort(items, &mut |a, b| Ok(a.0 < b.0)).unwrap(), expected);
    }
}
