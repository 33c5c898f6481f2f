// The programme's terms for clicks, read from the service from time to time.

import type { Client } from "../client/create-client.ts";

export type ClickTerms = {
	/** Name of the query parameter with the click ID. */
	readonly parameter: string;
	/** Number of days for which a click counts. */
	readonly days: number;
};

/** Longest window in days that a programme can have. */
export const mostDays = 365;
/** Form of a parameter that can also be the name of a cookie. */
const parameterForm = /^[A-Za-z0-9_-]{1,32}$/;
/** Time in milliseconds after which the terms are read again. */
const freshMs = 3_600_000;
/** Time in milliseconds after which the terms are read again if that failed. */
const retryMs = 60_000;

/**
 * Returns a function that returns the newest known terms. The returned function never waits. If the terms are
 * old, it starts to read them, and returns the terms that it has.
 */
export function followProgramme(
	client: Pick<Client, "programme">,
	first: ClickTerms,
	nowMs: () => number = () => performance.now(),
): () => ClickTerms {
	let terms = first;
	let readAgainAtMs = Number.NEGATIVE_INFINITY;

	/** Reads the terms. Never rejects. After a failure the known terms stay in use and are read again soon. */
	async function refresh(): Promise<void> {
		const result = await client.programme().catch(() => undefined);
		const found = result?.ok === true ? result.programme : undefined;
		if (found === undefined || !isParameter(found.clickParameter) || !isWindow(found.clickDays)) {
			readAgainAtMs = nowMs() + retryMs;
			return;
		}
		terms = { parameter: found.clickParameter, days: found.clickDays };
	}

	const readTerms = () => {
		if (nowMs() >= readAgainAtMs) {
			readAgainAtMs = nowMs() + freshMs;
			void refresh();
		}
		return terms;
	};
	// The terms are read now, so that they are known when the first page is opened.
	readTerms();
	return readTerms;
}

export function isParameter(value: unknown): value is string {
	return typeof value === "string" && parameterForm.test(value);
}

export function isWindow(days: unknown): boolean {
	return Number.isInteger(days) && Number(days) >= 1 && Number(days) <= mostDays;
}
