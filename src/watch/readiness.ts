// Checks whether the database can be used, for `/readyz`, `/health` and the metric `ringback_ready`. A
// database that answers but refuses writes, such as a standby, cannot be used.
//
//   usable ─▶ a check fails ─▶ unusable ─▶ a check succeeds ─▶ recovering ─▶ no check fails for two seconds ─▶ usable
//                                 ▲                                │
//                                 └────────── a check fails ◀──────┘

import { SECOND_MS } from "#core/domain/time.ts";
import type { Clock, Log } from "#core/ports.ts";
import type { Store } from "#core/store/store.ts";
import { isReadOnly } from "#core/store/unavailable.ts";

/** State of the database, as `/health` shows it to the operator. */
export type DatabaseState =
	| "answers"
	| "does not answer"
	| "is read-only"
	/** The database answers again, but not for long enough to be trusted. */
	| "answers again";

export interface Readiness {
	/** Checks the database with a query. Concurrent callers share one query. */
	check(): Promise<DatabaseState>;
	/**
	 * Returns a result that is at most a second old. However often strangers request `/readyz`, they cause only
	 * one query a second.
	 */
	checkLately(): Promise<DatabaseState>;
	last(): DatabaseState;
	nextCheckMs(): number;
}

export interface ReadinessDeps {
	store: Pick<Store, "acceptsWrites">;
	clock: Pick<Clock, "after" | "monotonicMs">;
	log: Log;
	/** Called when a database that had failed counts as usable again. */
	onUsable?: () => void;
}

/**
 * Time within which the database must answer a check. Load balancers wait only a few seconds for the answer
 * of `/readyz`.
 */
const READY_TIMEOUT_MS = 2 * SECOND_MS;
/**
 * Time without a failed check after which a database that had failed counts as usable again. If the database
 * server has too few connections, some checks fail and others succeed. Without this time, load balancers
 * would remove the process and add it again each time.
 */
export const STEADY_MS = 2 * SECOND_MS;
/**
 * Time between two checks of the background loop. It is also the maximum age of the metric `ringback_ready`
 * if nobody requests `/readyz`.
 */
const CHECK_INTERVAL_MS = 5 * SECOND_MS;
const CHECK_AGAIN_MS = SECOND_MS;
const MAX_AGE_MS = SECOND_MS;

export function createReadiness({ store, clock, log, onUsable }: ReadinessDeps): Readiness {
	let state: DatabaseState = "answers";
	/** Time of the last failed check, or null if no check has failed since the database was last usable. */
	let failedAtMs: number | null = null;
	let checking: Promise<DatabaseState> | null = null;
	/** Monotonic time at which the last finished check began, or null before the first check. */
	let checkedAtMs: number | null = null;

	async function ask(): Promise<DatabaseState> {
		try {
			note((await inTime(clock, store.acceptsWrites())) ? "answers" : "is read-only");
		} catch (error) {
			note(isReadOnly(error) ? "is read-only" : "does not answer", error);
		}
		return state;
	}

	function note(found: "answers" | "does not answer" | "is read-only", error?: unknown): void {
		const before = state;
		const nowMs = clock.monotonicMs();
		if (found !== "answers") {
			failedAtMs = nowMs;
			state = found;
			const about = error === undefined ? {} : { err: error };
			if (before !== found) log.warn(about, `not ready: the database ${found}`);
			return;
		}
		const isSteady = failedAtMs === null || nowMs - failedAtMs >= STEADY_MS;
		state = isSteady ? "answers" : "answers again";
		if (isSteady) failedAtMs = null;
		if (!isSteady || before === "answers") return;
		log.info({}, "the database can be used again");
		onUsable?.();
	}

	function check(): Promise<DatabaseState> {
		const beganAtMs = clock.monotonicMs();
		checking ??= ask().finally(() => {
			checking = null;
			checkedAtMs = beganAtMs;
		});
		return checking;
	}

	return {
		check,
		checkLately() {
			const isFresh = checkedAtMs !== null && clock.monotonicMs() - checkedAtMs < MAX_AGE_MS;
			return isFresh ? Promise.resolve(state) : check();
		},
		last: () => state,
		nextCheckMs: () => (state === "answers" ? CHECK_INTERVAL_MS : CHECK_AGAIN_MS),
	};
}

function inTime<Value>(clock: Pick<Clock, "after">, answer: Promise<Value>): Promise<Value> {
	const timeout = Promise.withResolvers<Value>();
	const cancel = clock.after(READY_TIMEOUT_MS, () =>
		timeout.reject(new Error("no answer within two seconds")),
	);
	return Promise.race([answer, timeout.promise]).finally(cancel);
}
