"""Keeps track of what is in stock."""

import json
import logging
from dataclasses import dataclass, field
from pathlib import Path

logger = logging.getLogger(__name__)


@dataclass
class Item:
    name: str
    quantity: int = 0
    tags: list[str] = field(default_factory=list)

    def is_low(self, threshold: int = 5) -> bool:
        return self.quantity < threshold


class Inventory:
    """All items, by name."""

    def __init__(self, path: Path):
        self.path = path
        self.items: dict[str, Item] = {}

    def load(self) -> None:
        # A missing file is an empty inventory.
        if not self.path.exists():
            logger.info("no inventory at %s", self.path)
            return
        with self.path.open() as handle:
            data = json.load(handle)
        for entry in data["items"]:
            item = Item(entry["name"], entry.get("quantity", 0), entry.get("tags", []))
            self.items[item.name] = item

    def save(self) -> None:
        data = {"items": [vars(item) for item in self.items.values()]}
        self.path.write_text(json.dumps(data, indent=2))

    def add(self, name: str, quantity: int = 1) -> Item:
        item = self.items.setdefault(name, Item(name))
        item.quantity += quantity
        logger.debug("added %d of %s", quantity, name)
        return item

    def remove(self, name: str, quantity: int = 1) -> Item:
        item = self.items.get(name)
        if item is None:
            raise KeyError(f"unknown item: {name}")
        if item.quantity < quantity:
            raise ValueError(f"only {item.quantity} of {name} left")
        item.quantity -= quantity
        return item

    def report(self):
        for name in sorted(self.items):
            item = self.items[name]
            marker = "!" if item.is_low() else " "
            print(f"{marker} {name:20} {item.quantity:5}")


def main(argv):
    inventory = Inventory(Path(argv[1]))
    inventory.load()

    # Everything after the file name is a command.
    for command in argv[2:]:
        action, _, name = command.partition(":")
        if action == "add":
            inventory.add(name)
        elif action == "remove":
            inventory.remove(name)
        else:
            print("unknown command", action)

    inventory.save()
