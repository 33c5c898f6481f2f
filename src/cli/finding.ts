// What `ringback doctor` and `ringback verify` have found: one sentence a check.

import type { Screen } from "./command.ts";

export interface Finding {
	/** What was looked at, in a word. */
	check: string;
	state: "ok" | "warning" | "problem";
	detail: string;
}

export function ok(check: string, detail: string): Finding {
	return { check, state: "ok", detail };
}

export function warning(check: string, detail: string): Finding {
	return { check, state: "warning", detail };
}

export function problem(check: string, detail: string): Finding {
	return { check, state: "problem", detail };
}

export function sayFinding(screen: Screen, finding: Finding, asJson: boolean): void {
	if (asJson) {
		screen.out(JSON.stringify(finding));
		return;
	}
	const sign = { ok: "ok     ", warning: "WARNING", problem: "PROBLEM" }[finding.state];
	screen.out(`${sign}  ${finding.check.padEnd(12)} ${finding.detail}`);
}
