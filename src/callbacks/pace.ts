// How many requests are let out at once, within the caps. While this process is the bottleneck, more of them in
// flight only cost: in one run a request over 256 connections took 57 µs of processor time, over 64 connections
// 33, and opening a connection costs a handshake. While the shops are the bottleneck, more in flight is what
// helps. So the allowance looks at how busy the process is: it halves when busy and doubles when not.
//
// Being busy is how a drain at full speed looks. Being late is something else: each request needs us several times
// within its five seconds (connected, TLS, written), and a loop that comes round too seldom loses it. The allowance then
// goes below 64 at once, and comes back a few at a time.

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

export class Pace {
	readonly #lateAllowance: number;
	readonly #leastAllowance: number;
	readonly #mostAllowance: number;
	#allowance: number;

	/** `overall` is the cap on requests in flight: the allowance never grows beyond it. */
	constructor(overall: number) {
		this.#mostAllowance = overall;
		this.#leastAllowance = Math.min(LEAST_ALLOWANCE, overall);
		this.#lateAllowance = Math.min(LATE_ALLOWANCE, overall);
		this.#allowance = this.#leastAllowance;
	}

	hasRoom(underWay: ReadonlySet<{ startedAtMs: number }>, nowMs: number): boolean {
		if (underWay.size >= Math.max(this.#allowance, this.#leastAllowance)) return false;
		if (this.#allowance >= this.#leastAllowance || underWay.size < this.#allowance) return true;
		let young = 0;
		for (const { startedAtMs } of underWay) if (nowMs - startedAtMs < YOUNG_MS) young++;
		return young < this.#allowance;
	}

	adjust(reading: PaceReading): void {
		const wanted = Math.floor(this.#judge(reading));
		this.#allowance = Math.min(this.#mostAllowance, Math.max(this.#lateAllowance, wanted));
	}

	#judge({ busyShare, lateMs, quickestMs, hasWaited }: PaceReading): number {
		const allowance = this.#allowance;
		const least = this.#leastAllowance;
		const isBusy = busyShare > BUSY_SHARE;
		const isSlow = isBusy && quickestMs !== null && quickestMs > SLOW_ANSWER_MS;
		if (lateMs > LATE_MS || isSlow) return Math.min(allowance, least) / 2;
		if (!hasWaited) return allowance;
		if (allowance < least) return Math.min(least, allowance + STEP_BACK);
		return isBusy ? Math.max(least, allowance / 2) : allowance * 2;
	}
}
