// How many requests are let out at once, within the caps. While this process is the bottleneck, more of them in
// flight only cost: in one run a request over 256 connections took 57 µs of processor time, over 64 connections
// 33, and opening a connection costs a handshake. While the shops are the bottleneck, more in flight is what
// helps. So the allowance looks at how busy the process is: it halves when busy and doubles when not.
//
// Being busy is how a drain at full speed looks. Being late is something else: each request needs us several times
// within its five seconds (connected, TLS, written), and a loop that comes round too seldom loses it. The allowance then
// goes below 64 at once, and comes back a few at a time.

import type { Clock, Load } from "../ports.ts";
import { Alarm } from "./alarm.ts";

const LEAST_ALLOWANCE = 64;
/** While we are late: what a lane may have. Never none, because nobody else sends what is in our hands. */
const LATE_ALLOWANCE = 8;
/** From 8 back to 64 takes seven looks, about two seconds. */
const STEP_BACK = 8;
/** The event loop is hardly ever idle above this: requests then wait for us, not for the shops. */
const BUSY_SHARE = 0.85;
/** A new connection needs the loop about four times: late by so much each time, a quarter of its deadline is gone. */
const LATE_MS = 300;
/** A fifth of the deadline. Where not one answer was quicker, and we are busy, it is not the shops. */
const SLOW_ANSWER_MS = 1_000;
/** Whatever is in flight for longer waits for its shop. Otherwise one that hangs would fill the smallest allowance. */
const YOUNG_MS = 1_000;

interface PaceDeps {
	clock: Clock;
	load: Load;
	/** The cap on requests in flight: the allowance never grows beyond it. */
	mostInFlight: number;
}

interface UnderWay {
	/** By the monotonic clock. */
	readonly startedAtMs: number;
}

/** What there was since the last look. */
export interface PaceReading {
	busyShare: number;
	/** For how long the event loop was late. */
	lateMs: number;
	/** The quickest answer; null when there was none. */
	quickestMs: number | null;
	/** Something was ready to go out and there was no room. */
	hasWaited: boolean;
}

/** How many may be in flight after such a look. */
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

/** How often it is looked at while requests are in flight. Longer than 64 handshakes take: during them the
 * process idles and would open ever more. From 64 to 512 takes three looks. */
const LOOK_MS = 250;

/** Looks at this process's load while requests are in flight. `onLook` is called after each look: there may be room. */
export class Pace {
	readonly #deps: PaceDeps;
	/** When each of them began. */
	readonly #inFlight = new Set<UnderWay>();
	readonly #alarm: Alarm;
	#allowance: number;
	#isStopped = false;
	#lateBeforeMs = 0;
	#quickestMs: number | null = null;
	#hasWaited = false;

	constructor(deps: PaceDeps, onLook: () => void) {
		this.#deps = deps;
		this.#allowance = this.#least;
		this.#alarm = new Alarm(deps.clock, () => {
			this.#allowance = nextAllowance(this.#allowance, this.#takeReading(), deps.mostInFlight);
			if (this.#inFlight.size > 0 && !this.#isStopped) this.#alarm.ringWithin(LOOK_MS);
			onLook();
		});
	}

	get #least(): number {
		return Math.min(LEAST_ALLOWANCE, this.#deps.mostInFlight);
	}

	/** Below the least allowance only what is young counts. */
	hasRoom(): boolean {
		const underWay = this.#inFlight.size;
		if (underWay >= Math.max(this.#allowance, this.#least)) return false;
		if (this.#allowance >= this.#least || underWay < this.#allowance) return true;
		const oldMs = this.#deps.clock.monotonicMs() - YOUNG_MS;
		let young = 0;
		for (const { startedAtMs } of this.#inFlight) if (startedAtMs > oldMs) young++;
		return young < this.#allowance;
	}

	/** Something is ready to go out and finds no room. */
	noteWait(): void {
		this.#hasWaited = true;
	}

	begin(): UnderWay {
		if (!this.#alarm.isSet && !this.#isStopped) {
			// Only time from now on counts.
			this.#takeReading();
			this.#alarm.ringWithin(LOOK_MS);
		}
		const underWay = { startedAtMs: this.#deps.clock.monotonicMs() };
		this.#inFlight.add(underWay);
		return underWay;
	}

	/** Returns how long it took. */
	end(underWay: UnderWay, isAnswered: boolean): number {
		this.#inFlight.delete(underWay);
		const tookMs = Math.round(this.#deps.clock.monotonicMs() - underWay.startedAtMs);
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
