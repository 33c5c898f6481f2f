// What `ringback doctor` and `ringback verify` have found: one sentence a check.

import type { Screen } from "./command.ts";

export interface Finding {
	check:
		| "settings"
		| "database"
		| "schema"
		| "listen"
		| "timeouts"
		| "connections"
		| "transactions"
		| "vacuum"
		| "partitions"
		| "network"
		| "chores"
		| "processes"
		| "queue"
		| "disk"
		| "backup"
		| "delivery"
		| "archive"
		| "clock"
		| "dns"
		| "mail"
		| "addresses"
		| "public-url"
		// Of verify alone.
		| "file"
		| "checksums"
		| "pages"
		| "contents"
		| "ledger"
		| "key";
	state: "ok" | "warning" | "problem";
	detail: string;
}

export function ok(check: Finding["check"], detail: string): Finding {
	return { check, state: "ok", detail };
}

export function warning(check: Finding["check"], detail: string): Finding {
	return { check, state: "warning", detail };
}

export function problem(check: Finding["check"], detail: string): Finding {
	return { check, state: "problem", detail };
}

export function messageOf(error: unknown): string {
	// When several addresses failed, the messages are in `errors`.
	if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
	return error instanceof Error ? error.message : String(error);
}

export function sayFinding(screen: Screen, finding: Finding, asJson: boolean): void {
	if (asJson) {
		screen.out(JSON.stringify(finding));
		return;
	}
	const sign = { ok: "ok     ", warning: "WARNING", problem: "PROBLEM" }[finding.state];
	screen.out(`${sign}  ${finding.check.padEnd(12)} ${finding.detail}`);
}
