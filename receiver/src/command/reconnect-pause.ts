// How long to wait before the stream is asked for again.

const firstPauseMs = 250;
/** A developer who restarts the service waits no longer than this for the next event. */
const longestPauseMs = 10_000;

/** Whoever was connected for as long may come back at once: that is no way to be asked again and again. */
const steadyAfterMs = 5_000;

export function isSteady(connectedMs: number): boolean {
	return connectedMs >= steadyAfterMs;
}

/** None after a connection that was steady. */
export function reconnectPauseMs(failures: number): number {
	return failures === 0 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1));
}
