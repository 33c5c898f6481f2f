// Measures how long this process was blocked. A busy machine may block the process, which is no defect. Its own
// computing may block it, too, and an attack must not be able to cause that.

export type StallWatch = ReturnType<typeof watchStalls>;

const TICK_MS = 10;

export function watchStalls() {
	let longestMs = 0;
	let longestBusyMs = 0;
	let lastMs = performance.now();
	let lastBusyMs = readBusyMs();
	let isStopped = false;
	const look = () => {
		const nowMs = performance.now();
		const nowBusyMs = readBusyMs();
		longestMs = Math.max(longestMs, nowMs - lastMs - TICK_MS);
		longestBusyMs = Math.max(longestBusyMs, nowBusyMs - lastBusyMs);
		lastMs = nowMs;
		lastBusyMs = nowBusyMs;
	};
	const timer = setInterval(look, TICK_MS);
	return {
		/** Returns the longest time for which nothing else could run in this process. */
		get longestMs() {
			// A caller may ask right after a stall, before the timer has recorded it, so the current stall is
			// included.
			return isStopped ? longestMs : Math.max(longestMs, performance.now() - lastMs - TICK_MS);
		},
		/** Returns the most processor time that this process used in one stall. */
		get longestBusyMs() {
			return longestBusyMs;
		},
		stop() {
			if (!isStopped) look();
			isStopped = true;
			clearInterval(timer);
		},
	};
}

function readBusyMs(): number {
	const { user, system } = process.cpuUsage();
	return (user + system) / 1_000;
}
