// Waiting that a signal can end.

/** Resolves either way: whoever waited looks at the signal. */
export function pauseFor(pauseMs: number, signal: AbortSignal | undefined): Promise<void> {
	return new Promise((resolve) => {
		const end = (): void => {
			clearTimeout(timer);
			signal?.removeEventListener("abort", end);
			resolve();
		};
		const timer = setTimeout(end, pauseMs);
		signal?.addEventListener("abort", end, { once: true });
		// It may have come before there was a listener.
		if (signal?.aborted) end();
	});
}
