import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import type { ChoreRecord } from "../domain/chore.ts";
import { HOUR_MS, MINUTE_MS } from "../domain/time.ts";
import { examineChores } from "./doctor-chores.ts";

const NOW_MS = Date.UTC(2026, 0, 2, 12);
const ago = (minutes: number): number => NOW_MS - minutes * MINUTE_MS;

function chore(name: ChoreRecord["name"], change: Partial<ChoreRecord> = {}): ChoreRecord {
	return {
		name,
		sinceMs: NOW_MS - 30 * HOUR_MS,
		lastSuccessMs: ago(1),
		workingAtMs: null,
		lastFailureMs: null,
		failures: 0,
		error: null,
		...change,
	};
}

test("chores that get done, or have not begun, are fine", () => {
	equal(examineChores([], NOW_MS)[0]?.state, "ok");
	const records = [chore("approvals"), chore("nonces", { failures: 2, error: "Not yet late." })];
	deepEqual(examineChores(records, NOW_MS), [
		{ check: "chores", state: "ok", detail: "all are done on time" },
	]);
});

test("a chore that fails is named, with since when, its last success, its last error and what to do", () => {
	const archive = chore("archive", {
		lastSuccessMs: ago(11 * 60),
		lastFailureMs: ago(10),
		failures: 11,
		error: "No space left.",
	});
	deepEqual(examineChores([chore("approvals"), archive], NOW_MS), [
		{
			check: "chores",
			state: "warning",
			detail:
				"archive is late since 2026-01-02T11:00:00.000Z. Old conversions and audit entries are not being archived and removed. It last succeeded at 2026-01-02T01:00:00.000Z and failed 11 times since. The last failure says: No space left. See the log of the process.",
		},
	]);
});

test("one that nobody does is told with what to look for", () => {
	const [finding] = examineChores([chore("approvals", { lastSuccessMs: ago(3) }), chore("nonces")], NOW_MS);
	match(
		finding?.detail ?? "",
		/^approvals is late since 2026-01-02T11:59:00.000Z\..* No worker does it, or it hangs: /,
	);
});

test("where no worker runs, all that is late is one line, and what fails has its own", () => {
	const records = [
		chore("approvals", { lastSuccessMs: ago(3) }),
		chore("expiries", { lastSuccessMs: ago(4) }),
		chore("limits", { lastSuccessMs: ago(40), lastFailureMs: ago(5), failures: 3, error: "No." }),
		chore("retention", { lastSuccessMs: ago(60) }),
	];
	const [left, failing, ...others] = examineChores(records, NOW_MS);
	match(
		left?.detail ?? "",
		/^approvals, expiries are late, the first since 2026-01-02T11:58:00.000Z\. The last of them succeeded at 2026-01-02T11:57:00.000Z\. No worker/,
	);
	match(failing?.detail ?? "", /^limits is late since /);
	deepEqual(others, []);
});

test("of chores that never succeeded no time is told", () => {
	const never = { lastSuccessMs: null, sinceMs: ago(30) };
	const [finding] = examineChores([chore("approvals", never), chore("expiries", never)], NOW_MS);
	match(finding?.detail ?? "", /None has ever succeeded\./);
});
