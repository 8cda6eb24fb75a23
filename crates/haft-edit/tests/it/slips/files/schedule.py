"""Plans jobs over the days of a week."""

from dataclasses import dataclass, field
from typing import Iterable, Optional


@dataclass
class Job:
    name: str
    hours: float
    tags: set[str] = field(default_factory=set)

    def fits(self, free: float) -> bool:
        return self.hours <= free


class Week:
    DAYS = ("mon", "tue", "wed", "thu", "fri")

    def __init__(self, hours_per_day: float = 8.0):
        self.free = {day: hours_per_day for day in self.DAYS}
        self.plan: dict[str, list[Job]] = {day: [] for day in self.DAYS}

    def place(self, job: Job) -> Optional[str]:
        for day, free in self.free.items():
            if job.fits(free):
                self.plan[day].append(job)
                self.free[day] = free - job.hours
                return day
        return None

    def place_all(self, jobs: Iterable[Job]) -> list[Job]:
        left = []
        for job in sorted(jobs, key=lambda job: -job.hours):
            if self.place(job) is None:
                left.append(job)
            else:
                print(f"placed {job.name!r}")
        return left

    def report(self) -> str:
        lines = []
        for day in self.DAYS:
            names = ", ".join(job.name for job in self.plan[day])
            lines.append(f"{day}: {names or '-'}")
        return "\n".join(lines)


def main() -> int:
    week = Week()
    try:
        left = week.place_all([Job("review", 3), Job("build", 6, {"slow"})])
    except ValueError as error:
        print("cannot plan:", error)
        return 1
    finally:
        print(week.report())
    return len(left)


if __name__ == "__main__":
    raise SystemExit(main())
