// Measures how long this process was blocked, either by a busy machine, which is no defect, or by its own computing,
// which an attack must not be able to cause.

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
		/** The longest time in which nothing else could run. */
		get longestMs() {
			// A caller that asks right after a stall may come before the tick that records it.
			return isStopped ? longestMs : Math.max(longestMs, performance.now() - lastMs - TICK_MS);
		},
		/** The most processor time spent within one such time. */
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
