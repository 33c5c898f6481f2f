// What `ringback doctor` has found: one sentence a check.

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
		| "archive"
		| "clock"
		| "dns"
		| "mail"
		| "addresses"
		| "public-url";
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
