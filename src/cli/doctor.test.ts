import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import type { ChoreRecord } from "../domain/chore.ts";
import type { ProcessRecord } from "../domain/process.ts";
import { HOUR_MS, MINUTE_MS } from "../domain/time.ts";
import { examineChores } from "./doctor.ts";

const NOW_MS = Date.UTC(2026, 0, 2, 12);
const ago = (minutes: number): number => NOW_MS - minutes * MINUTE_MS;
const WORKER: ProcessRecord = {
	instance: "0a1b2c3d",
	host: "here",
	role: "all",
	version: "1.0.0",
	startedAtMs: ago(60),
	seenAtMs: NOW_MS,
	engine: null,
	mailFailure: null,
};

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
	equal(examineChores([], [], NOW_MS)[0]?.state, "ok");
	const records = [chore("approvals"), chore("nonces", { failures: 2, error: "Not yet late." })];
	deepEqual(examineChores(records, [WORKER], NOW_MS), [
		{ check: "chores", state: "ok", detail: "all are done on time" },
	]);
	deepEqual(examineChores(records, [{ ...WORKER, seenAtMs: ago(2) }], NOW_MS), [
		{ check: "chores", state: "ok", detail: "none is late yet; they go on once a worker runs" },
	]);
});

test("a chore that fails is named, with since when, its last success, its last error and what to do", () => {
	const retention = chore("retention", {
		lastSuccessMs: ago(11 * 60),
		lastFailureMs: ago(10),
		failures: 11,
		error: "No space left.",
	});
	deepEqual(examineChores([chore("approvals"), retention], [], NOW_MS), [
		{
			check: "chores",
			state: "warning",
			detail:
				"retention is late since 2026-01-02T11:00:00.000Z. Records past the retention time are not being removed. It last succeeded at 2026-01-02T01:00:00.000Z and failed 11 times since. The last failure says: No space left. See the log of the process.",
		},
	]);
});

test("one that nobody does is told with what to look for", () => {
	const records = [chore("approvals", { lastSuccessMs: ago(3) }), chore("nonces")];
	const [finding] = examineChores(records, [WORKER], NOW_MS);
	match(
		finding?.detail ?? "",
		/^approvals is late since 2026-01-02T11:59:00.000Z\..* No worker does it, or it hangs: /,
	);
});

test("all that nobody does is one line with what to do, and what fails has its own", () => {
	const records = [
		chore("approvals", { lastSuccessMs: ago(3) }),
		chore("expiries", { lastSuccessMs: ago(4) }),
		chore("limits", { lastSuccessMs: ago(40), lastFailureMs: ago(5), failures: 3, error: "No." }),
		chore("retention", { lastSuccessMs: ago(60) }),
	];
	const [left, failing, ...others] = examineChores(records, [{ ...WORKER, role: "web" }], NOW_MS);
	match(
		left?.detail ?? "",
		/^approvals, expiries are late, the first since 2026-01-02T11:58:00.000Z\. The last success was at 2026-01-02T11:57:00.000Z\. No worker runs\. They are done once you start one: `ringback serve`/,
	);
	match(failing?.detail ?? "", /^limits is late since /);
	deepEqual(others, []);
	const [hanging] = examineChores(records, [WORKER], NOW_MS);
	match(hanging?.detail ?? "", /A worker runs: unless it has just started, they hang\. Read its log\.$/);
	const [one] = examineChores([chore("approvals", { lastSuccessMs: ago(3) })], [], NOW_MS);
	match(one?.detail ?? "", /^approvals is late since .* No worker runs\./);
});

test("of chores that never succeeded no time is told", () => {
	const never = { lastSuccessMs: null, sinceMs: ago(30) };
	const [finding] = examineChores([chore("approvals", never), chore("expiries", never)], [], NOW_MS);
	match(finding?.detail ?? "", /No run has ever succeeded\./);
});
