// How many requests are let out at once, within the caps. While this process is the bottleneck, more of them in
// flight only cost: in one run a request over 256 connections took 57 µs of processor time, over 64 connections
// 33, and opening a connection costs a handshake. While the shops are the bottleneck, more in flight is what
// helps. So the window looks at how busy the process is: it halves when busy and doubles when not.

const LEAST_WINDOW = 64;
/** The event loop is hardly ever idle above this: requests then wait for us, not for the shops. */
const BUSY_SHARE = 0.85;
/** How often it is looked at while something waits for room. Longer than 64 handshakes take: during them the
 * process idles and would open ever more. From 64 to 512 takes three looks. */
export const PACE_MS = 250;

export class Pace {
	readonly #leastWindow: number;
	readonly #mostWindow: number;
	#window: number;

	/** `overall` is the cap on requests in flight: the window never grows beyond it. */
	constructor(overall: number) {
		this.#mostWindow = overall;
		this.#leastWindow = Math.min(LEAST_WINDOW, overall);
		this.#window = this.#leastWindow;
	}

	hasRoom(inFlight: number): boolean {
		return inFlight < this.#window;
	}

	/** To be called after something has waited for room: `busyShare` is of the time since the last call. */
	adjust(busyShare: number): void {
		const wanted = busyShare > BUSY_SHARE ? this.#window / 2 : this.#window * 2;
		this.#window = Math.min(this.#mostWindow, Math.max(this.#leastWindow, Math.floor(wanted)));
	}
}
