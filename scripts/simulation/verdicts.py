"""Nothing is kept from the model without a reason: it was refused, or processes died of it."""

from runtime.model.threads import Commit
from runtime.ports import Mark
from scripts.simulation.violation import require

_REFUSED = ("model_refused", "too_long")


class Verdicts:
    """Hears of marks and refusals as they happen, and judges every commit that withholds something.

    A process whose mark stands counts as dead for whoever finds it: it died, or its time is over. It counts once.
    """

    def __init__(self, deaths: int) -> None:
        self._deaths = deaths
        self._marked: dict[tuple[str, str], set[str]] = {}
        self._found: dict[tuple[str, str], dict[tuple[str, str], set[str]]] = {}
        self._refused: set[str] = set()
        self._writer: dict[tuple[str, str], str] = {}
        self._without_store: set[str] = set()

    def looked(self, process: str, thread_id: str) -> None:
        """Remember what this process found: whoever lives on may clear a mark later."""
        self._found[(process, thread_id)] = {subject: set(names) for subject, names in self._marked.items()}

    def marked(self, process: str, thread_id: str, mark: Mark | None) -> None:
        if mark is not None:
            subject = (thread_id, mark.subject)
            self._writer[subject] = process
            self._marked[subject] = self._found.get((process, thread_id), {}).get(subject, set()) | {process}
            return
        for subject in [subject for subject in self._marked if subject[0] == thread_id]:
            del self._marked[subject]
            del self._writer[subject]

    def could_not_mark(self, process: str) -> None:
        self._without_store.add(process)

    def ended_alive(self, process: str) -> None:
        """Check that nobody will take this process for a dead one."""
        if process not in self._without_store:
            standing = [subject for subject, writer in self._writer.items() if writer == process]
            require(not standing, "who ends alive clears its mark", f"{process}: {standing}")

    def refused(self, process: str) -> None:
        self._refused.add(process)

    def judge(self, process: str, commit: Commit) -> None:
        """Judge what a process is about to commit, by what it knows now: it may land later, or never."""
        withheld = {entry.withheld for entry in commit.entries if entry.withheld}
        codes = withheld | ({commit.withheld_code} if commit.withheld and commit.withheld_code else set())
        at = f"{commit.row.thread_id} at version {commit.row.version}: {codes}"
        if codes:
            require(len(commit.consumed) <= 1, "one message at a time is withheld", at)
        for code in codes:
            if code in _REFUSED:
                require(process in self._refused, "only what was refused is withheld as refused", at)
            else:
                found = self._found.get((process, commit.row.thread_id), {})
                subjects = [f"message:{key.type}:{key.message_id}" for key in commit.consumed]
                deaths = max((len(found.get((commit.row.thread_id, subject), ())) for subject in subjects), default=0)
                alone = not commit.entries or not commit.withheld
                require(alone, "what processes died of is withheld alone", at)
                require(deaths >= self._deaths, "only what processes died of is withheld as such", f"{at}: {deaths}")
