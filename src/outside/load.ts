// How busy this process is: the share of time its event loop had something to do.

/** Each call answers for the time since the one before. */
export function createBusyShare(): () => number {
	let last = performance.eventLoopUtilization();
	return () => {
		const present = performance.eventLoopUtilization();
		const { utilization } = performance.eventLoopUtilization(present, last);
		last = present;
		return utilization;
	};
}
