// A program that starts others and is broken off by hand.

/** It still exits, and does not just vanish: what it started hears of that and ends too. */
export function endInOrder(): void {
	for (const [signal, code] of [
		["SIGINT", 130],
		["SIGTERM", 143],
	] as const) {
		process.once(signal, () => process.exit(code));
	}
}
