// Ends programs in order that start other processes and may be interrupted with Ctrl-C.

/** Handles signals with a normal exit, so that exit handlers stop the child processes. */
export function endInOrder(): void {
	for (const [signal, code] of [
		["SIGINT", 130],
		["SIGTERM", 143],
	] as const) {
		process.once(signal, () => process.exit(code));
	}
}
