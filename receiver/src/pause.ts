// A pause that a signal can end.

/** Resolves after the pause or at the signal. The caller checks the signal. */
export function pauseFor(pauseMs: number, signal: AbortSignal | undefined): Promise<void> {
	return new Promise((resolve) => {
		const end = (): void => {
			clearTimeout(timer);
			signal?.removeEventListener("abort", end);
			resolve();
		};
		const timer = setTimeout(end, pauseMs);
		signal?.addEventListener("abort", end, { once: true });
		// The signal may have fired before there was a listener.
		if (signal?.aborted) end();
	});
}
