// Notices when this machine's clock and the database server's drift apart, at start and from time to time: leases are by
// the clock, and processes whose clocks differ send the same callbacks.

import { MINUTE_MS } from "../domain/time.ts";
import { findClockWarnings } from "../domain/warning.ts";
import type { Clock, Log } from "../ports.ts";
import { measureClockOffset } from "../store/server-clock.ts";
import type { Store } from "../store/store.ts";

export interface ClockWatch {
	/** As last measured, above zero when our clock is ahead; null on SQLite, and until the database has answered once. */
	readonly offsetMs: number | null;
	stop(): Promise<void>;
}

/** One short statement. Clocks drift by milliseconds in that time, unless somebody sets them. */
export const CLOCK_LOOK_INTERVAL_MS = MINUTE_MS;

/** Has looked once when it resolves. */
export async function watchClock(deps: {
	store: Pick<Store, "kind" | "db">;
	clock: Clock;
	log: Log;
}): Promise<ClockWatch> {
	const { store, clock, log } = deps;
	let offsetMs: number | null = null;
	let isOff = false;
	let isStopping = false;
	let cancel = (): void => undefined;

	async function look(): Promise<void> {
		try {
			offsetMs = await measureClockOffset(store, clock);
			isOff = tell(log, offsetMs, isOff);
		} catch {
			// A database that does not answer is noticed by everybody else.
		}
		if (!isStopping && store.kind !== "sqlite") {
			cancel = clock.after(CLOCK_LOOK_INTERVAL_MS, () => {
				looking = look();
			});
		}
	}

	let looking = look();
	await looking;
	return {
		get offsetMs() {
			return offsetMs;
		},
		async stop() {
			isStopping = true;
			cancel();
			await looking;
		},
	};
}

/** Once when it begins and once when it is over. */
function tell(log: Log, offsetMs: number | null, wasOff: boolean): boolean {
	const [found] = findClockWarnings(offsetMs);
	if (found === undefined) {
		if (wasOff) log.info({ offsetMs }, "the clock agrees with the database server's again");
		return false;
	}
	if (!wasOff) log.warn({ kind: found.kind, offsetMs }, `${found.title}. ${found.text}`);
	return true;
}
