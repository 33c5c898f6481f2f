// A pause that a signal can end.

/** Resolves after the pause or when the signal is aborted. The caller must check the signal. */
export function pauseFor(pauseMs: number, signal: AbortSignal | undefined): Promise<void> {
	return new Promise((resolve) => {
		const end = (): void => {
			clearTimeout(timer);
			signal?.removeEventListener("abort", end);
			resolve();
		};
		const timer = setTimeout(end, pauseMs);
		signal?.addEventListener("abort", end, { once: true });
		// The signal may have been aborted before the listener was added.
		if (signal?.aborted) end();
	});
}
