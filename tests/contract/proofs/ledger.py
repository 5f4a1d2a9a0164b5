"""What was proven in this run."""

from dataclasses import dataclass, field

from contract.proofs.registry import Key, declared


@dataclass
class Ledger:
    """Counts of one run."""

    proven: set[Key] = field(default_factory=set)
    undeclared: int = 0
    """Undeclared fields that were sent."""
    silent: list[str] = field(default_factory=list)
    """Those of them that were accepted silently."""

    def lines(self) -> list[str]:
        """For people."""
        if not self.proven and not self.undeclared:
            return []
        return [
            f"fields proven {len(self.proven)} / declared {len(declared())}",
            f"undeclared fields accepted silently: {len(self.silent)} of {self.undeclared}",
        ]


LEDGER = Ledger()
