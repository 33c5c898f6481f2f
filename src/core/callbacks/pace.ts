// Adapts the number of requests that may be in flight, called the allowance, to the load of this process. The
// allowance halves while the process is busy and doubles while it is not. If the process is late, the allowance drops
// at once and recovers a few requests at a time.

import type { Clock, Load } from "../ports.ts";
import { Alarm } from "./alarm.ts";

const LEAST_ALLOWANCE = 64;
/**
 * Minimum allowance while the process is late, equal to the cap of one receiver. The allowance never falls to zero,
 * because no other process sends these deliveries.
 */
const LATE_ALLOWANCE = 8;
/**
 * Amount by which the allowance grows at each measurement once the process is no longer late. From 8 back to
 * 64 takes about two seconds.
 */
const STEP_BACK = 8;
/**
 * Share of busy time above which the event loop is hardly ever idle. Requests then wait for this process and not for
 * the receivers, so more of them in flight only cost more. In one run a request took 57 µs of processor time over 256
 * connections and 33 µs over 64, and opening a connection costs a handshake. A process that sends at full speed is
 * busy, which is fine.
 */
const BUSY_SHARE = 0.85;
/**
 * Delay of the event loop above which the process counts as late. A request fails if the loop is too late for it. A new
 * connection needs the loop about four times, so a quarter of the deadline is lost if the loop is late by this much
 * each time.
 */
const LATE_MS = 300;
/**
 * Answer time above which a busy process counts as late, a fifth of the deadline. If even the fastest answer took
 * longer than this while the process was busy, the slowness is ours and not the receivers'.
 */
const SLOW_ANSWER_MS = 1_000;
/**
 * Age at which a request in flight no longer counts towards the minimum allowance. At this age the request waits for
 * its receiver, and a receiver that hangs must not use up the allowance.
 */
const YOUNG_MS = 1_000;

interface PaceDeps {
	clock: Clock;
	load: Load;
	/** Upper limit of the allowance. */
	mostInFlight: number;
}

interface RequestInFlight {
	/** Monotonic time at which the request began. */
	readonly startedAtMs: number;
}

/** Measurement of the process since the previous one. */
export interface PaceReading {
	busyShare: number;
	/** Delay of the event loop. */
	lateMs: number;
	/** Duration of the quickest answered request, or null if no request was answered. */
	quickestMs: number | null;
	/** Whether a delivery had to wait because the allowance was used up. */
	hasWaited: boolean;
}

export function nextAllowance(
	allowance: number,
	{ busyShare, lateMs, quickestMs, hasWaited }: PaceReading,
	overall: number,
): number {
	const least = Math.min(LEAST_ALLOWANCE, overall);
	const isBusy = busyShare > BUSY_SHARE;
	const isSlow = isBusy && quickestMs !== null && quickestMs > SLOW_ANSWER_MS;
	if (lateMs > LATE_MS || isSlow)
		return Math.max(Math.min(LATE_ALLOWANCE, overall), Math.floor(Math.min(allowance, least) / 2));
	if (!hasWaited) return allowance;
	if (allowance < least) return Math.min(least, allowance + STEP_BACK);
	return isBusy ? Math.max(least, Math.floor(allowance / 2)) : Math.min(overall, allowance * 2);
}

/**
 * Time between two measurements while requests are in flight. A measurement must last longer than 64 handshakes take,
 * because the process idles during handshakes and would otherwise open ever more connections. The allowance goes from
 * 64 to 512 in three measurements.
 */
const MEASURE_EVERY_MS = 250;

/**
 * Measures the load of this process while requests are in flight. It calls `onMeasured` after each measurement,
 * because there may be room for more requests then.
 */
export class Pace {
	readonly #deps: PaceDeps;
	readonly #inFlight = new Set<RequestInFlight>();
	readonly #alarm: Alarm;
	#allowance: number;
	#isStopped = false;
	#lateBeforeMs = 0;
	#quickestMs: number | null = null;
	#hasWaited = false;

	constructor(deps: PaceDeps, onMeasured: () => void) {
		this.#deps = deps;
		this.#allowance = this.#least;
		this.#alarm = new Alarm(deps.clock, () => {
			this.#allowance = nextAllowance(this.#allowance, this.#takeReading(), deps.mostInFlight);
			if (this.#inFlight.size > 0 && !this.#isStopped) this.#alarm.ringWithin(MEASURE_EVERY_MS);
			onMeasured();
		});
	}

	get #least(): number {
		return Math.min(LEAST_ALLOWANCE, this.#deps.mostInFlight);
	}

	/**
	 * Returns whether another request may be sent. While the process is late, only requests that began within the last
	 * second count.
	 */
	hasRoom(): boolean {
		const inFlight = this.#inFlight.size;
		if (inFlight >= Math.max(this.#allowance, this.#least)) return false;
		if (this.#allowance >= this.#least || inFlight < this.#allowance) return true;
		const oldMs = this.#deps.clock.monotonicMs() - YOUNG_MS;
		let young = 0;
		for (const { startedAtMs } of this.#inFlight) if (startedAtMs > oldMs) young++;
		return young < this.#allowance;
	}

	/** Records that a delivery had to wait because there was no room. */
	noteWait(): void {
		this.#hasWaited = true;
	}

	/** Records the start of a request. The caller must pass the returned value to `end`. */
	begin(): RequestInFlight {
		if (!this.#alarm.isSet && !this.#isStopped) {
			// The earlier measurements are discarded, because the process was idle then.
			this.#takeReading();
			this.#alarm.ringWithin(MEASURE_EVERY_MS);
		}
		const request = { startedAtMs: this.#deps.clock.monotonicMs() };
		this.#inFlight.add(request);
		return request;
	}

	/** Records the end of a request. Returns the duration of the request. */
	end(request: RequestInFlight, isAnswered: boolean): number {
		this.#inFlight.delete(request);
		const tookMs = Math.round(this.#deps.clock.monotonicMs() - request.startedAtMs);
		if (isAnswered) this.#quickestMs = Math.min(this.#quickestMs ?? tookMs, tookMs);
		return tookMs;
	}

	stop(): void {
		this.#isStopped = true;
		this.#alarm.cancel();
	}

	#takeReading(): PaceReading {
		const { load } = this.#deps;
		const lateMs = load.lateMs() - this.#lateBeforeMs;
		const [quickestMs, hasWaited] = [this.#quickestMs, this.#hasWaited];
		this.#lateBeforeMs += lateMs;
		this.#quickestMs = null;
		this.#hasWaited = false;
		return { busyShare: load.busyShare(), lateMs, quickestMs, hasWaited };
	}
}
