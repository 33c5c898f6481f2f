// How long this process was held up: by the machine, which is nobody's fault here, or by its own computing,
// which an attack must not be able to cause.

export interface StallWatch {
	/** The longest time in which nothing else could run. */
	readonly longestMs: number;
	/** The most processor time spent within one such time. */
	readonly longestBusyMs: number;
	stop(): void;
}

const TICK_MS = 10;

export function watchStalls(): StallWatch {
	let longestMs = 0;
	let longestBusyMs = 0;
	let lastMs = performance.now();
	let lastBusyMs = readBusyMs();
	const timer = setInterval(() => {
		const nowMs = performance.now();
		const nowBusyMs = readBusyMs();
		longestMs = Math.max(longestMs, nowMs - lastMs - TICK_MS);
		longestBusyMs = Math.max(longestBusyMs, nowBusyMs - lastBusyMs);
		lastMs = nowMs;
		lastBusyMs = nowBusyMs;
	}, TICK_MS);
	return {
		get longestMs() {
			return longestMs;
		},
		get longestBusyMs() {
			return longestBusyMs;
		},
		stop: () => clearInterval(timer),
	};
}

function readBusyMs(): number {
	const { user, system } = process.cpuUsage();
	return (user + system) / 1_000;
}
