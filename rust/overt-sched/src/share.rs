//! Who was served how much: API keys, and the users inside each key.

use rustc_hash::FxHashMap;

/// Idle accounts whose past service is remembered, at most.
const REMEMBERED: usize = 4096;

#[derive(Debug, Clone, Copy)]
struct Account {
    /// Tokens, on the scale that all accounts of a ledger share.
    served: u64,
    /// Live sequences.
    live: u32,
}

/// Accounts of one level. An account that becomes active starts no lower than the least served active one: being
/// new, or having been away, earns nothing.
#[derive(Debug, Default)]
struct Ledger {
    accounts: Vec<Account>,
    names: FxHashMap<u64, u32>,
    vacant: Vec<u32>,
    active: usize,
    /// Number of accounts at which idle ones are looked through.
    sweep_at: usize,
}

impl Ledger {
    fn enter(&mut self, name: u64) -> u32 {
        let index = self.names.get(&name).copied().unwrap_or_else(|| self.open(name));
        if self.accounts[index as usize].live == 0 {
            let floor = self.floor();
            let account = &mut self.accounts[index as usize];
            account.served = account.served.max(floor);
            self.active += 1;
            self.forget(index, floor);
        }
        self.accounts[index as usize].live += 1;
        index
    }

    fn leave(&mut self, index: u32) {
        let account = &mut self.accounts[index as usize];
        account.live -= 1;
        if account.live > 0 {
            return;
        }
        self.active -= 1;
        if self.active == 0 {
            // With nobody left there is nobody to be fair to.
            self.accounts.clear();
            self.names.clear();
            self.vacant.clear();
        }
    }

    fn open(&mut self, name: u64) -> u32 {
        let account = Account { served: 0, live: 0 };
        let index = self.vacant.pop().unwrap_or(self.accounts.len() as u32);
        match self.accounts.get_mut(index as usize) {
            Some(place) => *place = account,
            None => self.accounts.push(account),
        }
        self.names.insert(name, index);
        index
    }

    fn floor(&self) -> u64 {
        let active = self.accounts.iter().filter(|account| account.live > 0);
        active.map(|account| account.served).min().unwrap_or(0)
    }

    /// Drops idle accounts that have nothing to make up for, and all but `keep` when there are too many.
    fn forget(&mut self, keep: u32, floor: u64) {
        if self.names.len() < self.sweep_at {
            return;
        }
        let crowded = self.names.len() - self.active > REMEMBERED;
        let (accounts, vacant) = (&self.accounts, &mut self.vacant);
        self.names.retain(|_, &mut index| {
            let account = &accounts[index as usize];
            let kept = index == keep || account.live > 0 || (account.served > floor && !crowded);
            if !kept {
                vacant.push(index);
            }
            kept
        });
        self.sweep_at = 2 * self.names.len().max(32);
    }
}

/// Both levels.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    keys: Ledger,
    /// By the key's place in `keys`.
    users: Vec<Ledger>,
}

/// Where a sequence is charged: places of its key, and of its user inside the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Payer {
    pub(crate) key: u32,
    pub(crate) user: u32,
}

impl Shares {
    /// Opens or joins the accounts of a new sequence.
    pub(crate) fn enter(&mut self, key: u64, user: u64) -> Payer {
        let key = self.keys.enter(key);
        if self.users.len() <= key as usize {
            self.users.resize_with(key as usize + 1, Ledger::default);
        }
        let user = self.users[key as usize].enter(user);
        Payer { key, user }
    }

    /// A sequence is gone.
    pub(crate) fn leave(&mut self, payer: Payer) {
        self.users[payer.key as usize].leave(payer.user);
        self.keys.leave(payer.key);
    }

    /// Charges tokens to both levels.
    pub(crate) fn charge(&mut self, payer: Payer, tokens: u32) {
        self.keys.accounts[payer.key as usize].served += u64::from(tokens);
        self.users[payer.key as usize].accounts[payer.user as usize].served += u64::from(tokens);
    }

    pub(crate) fn key_served(&self, key: u32) -> u64 {
        self.keys.accounts[key as usize].served
    }

    pub(crate) fn user_served(&self, key: u32, user: u32) -> u64 {
        self.users[key as usize].accounts[user as usize].served
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_starts_at_the_least_served_active_one() {
        let mut shares = Shares::default();
        let (first, second) = (shares.enter(1, 0), shares.enter(2, 0));
        shares.charge(first, 100);
        shares.charge(second, 40);
        let third = shares.enter(3, 0);
        assert_eq!(shares.key_served(third.key), 40);
    }

    #[test]
    fn a_returning_key_keeps_what_it_was_served() {
        let mut shares = Shares::default();
        let (first, second) = (shares.enter(1, 0), shares.enter(2, 0));
        shares.charge(first, 100);
        shares.charge(second, 40);
        shares.leave(first);
        let again = shares.enter(1, 0);
        assert_eq!(shares.key_served(again.key), 100);
        // Until others have caught up with it.
        shares.leave(again);
        shares.charge(second, 200);
        let again = shares.enter(1, 0);
        assert_eq!(shares.key_served(again.key), 240);
    }

    #[test]
    fn users_are_accounts_inside_their_key() {
        let mut shares = Shares::default();
        let (one, other) = (shares.enter(1, 8), shares.enter(1, 9));
        assert_eq!(one.key, other.key);
        shares.charge(one, 10);
        shares.charge(other, 5);
        assert_eq!(shares.key_served(one.key), 15);
        assert_eq!(shares.user_served(one.key, other.user), 5);
        let elsewhere = shares.enter(2, 8);
        assert_eq!(shares.key_served(elsewhere.key), 15);
        assert_eq!(shares.user_served(elsewhere.key, elsewhere.user), 0);
    }

    #[test]
    fn idle_accounts_do_not_pile_up() {
        let mut ledger = Ledger::default();
        let stays = ledger.enter(u64::MAX);
        for name in 0..20_000 {
            let index = ledger.enter(name);
            ledger.accounts[index as usize].served += 1;
            ledger.leave(index);
        }
        // Looked through whenever their number doubles.
        assert!(ledger.names.len() <= 2 * REMEMBERED + 2, "{}", ledger.names.len());
        assert_eq!(ledger.names.get(&u64::MAX), Some(&stays));
        ledger.leave(stays);
        assert!(ledger.accounts.is_empty() && ledger.names.is_empty());
    }
}
