// Why a batch of lines was not stored, as a job keeps it for its page: which lines, and what a person can make of it. The
// error itself is in the service's log.

import * as z from "zod";
import { isDatabaseUnavailable } from "../store/unavailable.ts";
import type { ImportRow } from "./import-kind.ts";

const FAILURE = z.object({
	/** `database`: it was out of reach, too busy or out of room. `unexpected`: nothing that was foreseen. */
	cause: z.enum(["database", "unexpected"]),
	firstLine: z.number(),
	lastLine: z.number(),
	atMs: z.number(),
});

export type BatchFailure = z.infer<typeof FAILURE>;

export function writeFailure(error: unknown, rows: readonly ImportRow[], atMs: number): string {
	return JSON.stringify({
		cause: isDatabaseUnavailable(error) ? "database" : "unexpected",
		firstLine: rows[0]?.line ?? 0,
		lastLine: rows.at(-1)?.line ?? 0,
		atMs,
	} satisfies BatchFailure);
}

export function readFailure(json: string): BatchFailure {
	return FAILURE.parse(JSON.parse(json));
}
