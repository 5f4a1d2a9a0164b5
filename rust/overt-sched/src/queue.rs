//! The waiting queue's order: starved sequences, then priority, then those that ran before, then fair share (least
//! served key, least served user inside it), then arrival.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::share::{Payer, Shares};

/// A waiting sequence, as the queue sees it. Nothing of it changes while it is queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its place among the scheduler's sequences.
    pub(crate) index: u32,
    /// When it began to wait, in microseconds.
    pub(crate) since: u64,
    /// Counts sequences as they came.
    pub(crate) arrival: u64,
    pub(crate) priority: i32,
    pub(crate) payer: Payer,
    /// It ran before: it goes to the front of its priority.
    pub(crate) resumed: bool,
}

/// Accounts with waiting sequences, ordered by service. Service only grows while an account is active, so the order
/// may hold old amounts: the first is put right when it is looked at.
#[derive(Debug, Default)]
struct Ranking {
    order: BTreeSet<(u64, u64, u32)>,
    places: FxHashMap<u32, (u64, u64)>,
}

impl Ranking {
    fn put(&mut self, account: u32, served: u64, arrival: u64) {
        self.take(account);
        self.places.insert(account, (served, arrival));
        self.order.insert((served, arrival, account));
    }

    fn take(&mut self, account: u32) {
        if let Some((served, arrival)) = self.places.remove(&account) {
            self.order.remove(&(served, arrival, account));
        }
    }

    fn first(&mut self, served: impl Fn(u32) -> u64) -> Option<u32> {
        loop {
            let &(ranked, arrival, account) = self.order.first()?;
            let now = served(account);
            if now == ranked {
                return Some(account);
            }
            self.put(account, now, arrival);
        }
    }
}

/// Waiting sequences of one key, in one priority.
#[derive(Debug, Default)]
struct KeyLine {
    arrivals: BTreeSet<u64>,
    users: FxHashMap<u32, BTreeMap<u64, u32>>,
    ranking: Ranking,
}

/// Waiting sequences of one priority.
#[derive(Debug, Default)]
struct Class {
    resumed: BTreeMap<u64, u32>,
    keys: FxHashMap<u32, KeyLine>,
    ranking: Ranking,
}

impl Class {
    fn push(&mut self, entry: Entry, shares: &Shares) {
        let Payer { key, user } = entry.payer;
        let line = self.keys.entry(key).or_default();
        line.arrivals.insert(entry.arrival);
        line.users.entry(user).or_default().insert(entry.arrival, entry.index);
        self.rank(entry.payer, shares);
    }

    fn remove(&mut self, entry: Entry, shares: &Shares) {
        let Payer { key, user } = entry.payer;
        if let Some(line) = self.keys.get_mut(&key) {
            line.arrivals.remove(&entry.arrival);
            if let Some(waiting) = line.users.get_mut(&user) {
                waiting.remove(&entry.arrival);
            }
        }
        self.rank(entry.payer, shares);
    }

    /// Puts a key and a user where their first waiting sequences belong, or away if they have none.
    fn rank(&mut self, Payer { key, user }: Payer, shares: &Shares) {
        let Some(line) = self.keys.get_mut(&key) else { return };
        match line.users.get(&user).and_then(|waiting| waiting.keys().next()) {
            Some(&arrival) => line.ranking.put(user, shares.user_served(key, user), arrival),
            None => {
                line.users.remove(&user);
                line.ranking.take(user);
            }
        }
        match line.arrivals.first() {
            Some(&arrival) => self.ranking.put(key, shares.key_served(key), arrival),
            None => {
                self.keys.remove(&key);
                self.ranking.take(key);
            }
        }
    }

    fn head(&mut self, shares: &Shares) -> Option<u32> {
        if let Some(&index) = self.resumed.values().next() {
            return Some(index);
        }
        let key = self.ranking.first(|key| shares.key_served(key))?;
        let line = self.keys.get_mut(&key)?;
        let user = line.ranking.first(|user| shares.user_served(key, user))?;
        line.users.get(&user)?.values().next().copied()
    }

    fn is_empty(&self) -> bool {
        self.resumed.is_empty() && self.keys.is_empty()
    }
}

/// All sequences that wait for a slot and could take one.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    ages: BTreeSet<(u64, u64, u32)>,
    classes: BTreeMap<i32, Class>,
}

impl Queue {
    pub(crate) fn push(&mut self, entry: Entry, shares: &Shares) {
        self.ages.insert((entry.since, entry.arrival, entry.index));
        let class = self.classes.entry(entry.priority).or_default();
        if entry.resumed {
            class.resumed.insert(entry.arrival, entry.index);
        } else {
            class.push(entry, shares);
        }
    }

    /// Takes out an entry, given as it was pushed.
    pub(crate) fn remove(&mut self, entry: Entry, shares: &Shares) {
        self.ages.remove(&(entry.since, entry.arrival, entry.index));
        let Some(class) = self.classes.get_mut(&entry.priority) else { return };
        if entry.resumed {
            class.resumed.remove(&entry.arrival);
        } else {
            class.remove(entry, shares);
        }
        if class.is_empty() {
            self.classes.remove(&entry.priority);
        }
    }

    /// The sequence that goes next, and whether that is because it starved.
    pub(crate) fn head(
        &mut self,
        now: u64,
        starvation: u64,
        shares: &Shares,
    ) -> Option<(u32, bool)> {
        let &(since, _, oldest) = self.ages.first()?;
        if now.saturating_sub(since) > starvation {
            return Some((oldest, true));
        }
        let class = self.classes.values_mut().next()?;
        Some((class.head(shares)?, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Line {
        queue: Queue,
        shares: Shares,
        entries: Vec<Entry>,
    }

    impl Line {
        fn new() -> Self {
            Self { queue: Queue::default(), shares: Shares::default(), entries: Vec::new() }
        }

        fn add(&mut self, since: u64, priority: i32, key: u64, user: u64, resumed: bool) {
            let index = self.entries.len() as u32;
            let payer = self.shares.enter(key, user);
            let entry = Entry { index, since, arrival: u64::from(index), priority, payer, resumed };
            self.entries.push(entry);
            self.queue.push(entry, &self.shares);
        }

        /// Takes everything in order, charging each sequence `cost` tokens.
        fn drain(&mut self, now: u64, starvation: u64, cost: u32) -> Vec<u32> {
            let mut order = Vec::new();
            while let Some((index, _)) = self.queue.head(now, starvation, &self.shares) {
                let entry = self.entries[index as usize];
                self.queue.remove(entry, &self.shares);
                self.shares.charge(entry.payer, cost);
                order.push(index);
            }
            assert!(self.queue.ages.is_empty() && self.queue.classes.is_empty());
            order
        }
    }

    #[test]
    fn equal_claims_go_by_arrival() {
        let mut line = Line::new();
        for _ in 0..4 {
            line.add(0, 0, 1, 1, false);
        }
        assert_eq!(line.drain(0, 100, 10), [0, 1, 2, 3]);
    }

    #[test]
    fn lower_priority_numbers_go_first_and_those_that_ran_before_lead_their_priority() {
        let mut line = Line::new();
        line.add(0, 1, 1, 1, false);
        line.add(0, 0, 1, 1, false);
        line.add(0, 1, 1, 1, true);
        line.add(0, -5, 1, 1, false);
        assert_eq!(line.drain(0, 100, 10), [3, 1, 2, 0]);
    }

    #[test]
    fn the_starved_go_first_whatever_their_priority_the_oldest_before_the_others() {
        let mut line = Line::new();
        line.add(50, 9, 1, 1, false);
        line.add(10, 9, 1, 1, false);
        line.add(120, 0, 1, 1, false);
        assert_eq!(line.drain(150, 100, 10), [1, 2, 0]);
        assert_eq!(line.queue.head(0, 0, &line.shares), None);
    }

    #[test]
    fn keys_take_turns_and_a_key_gains_nothing_by_users() {
        let mut line = Line::new();
        for user in 0..4 {
            line.add(0, 0, 1, user, false);
        }
        line.add(0, 0, 2, 0, false);
        line.add(0, 0, 2, 0, false);
        assert_eq!(line.drain(0, 100, 10), [0, 4, 1, 5, 2, 3]);
    }

    #[test]
    fn users_of_a_key_take_turns() {
        let mut line = Line::new();
        for user in [7, 7, 7, 8, 8] {
            line.add(0, 0, 1, user, false);
        }
        assert_eq!(line.drain(0, 100, 10), [0, 3, 1, 4, 2]);
    }

    #[test]
    fn service_while_waiting_moves_a_key_back() {
        let mut line = Line::new();
        line.add(0, 0, 1, 1, false);
        line.add(0, 0, 2, 1, false);
        line.shares.charge(line.entries[0].payer, 5);
        assert_eq!(line.queue.head(0, 100, &line.shares), Some((1, false)));
    }
}
