// What a command has around it: the environment, the screen and the stop signal. Handed over by whoever starts it.

export type Environment = Readonly<Record<string, string | undefined>>;

export type Screen = {
	out(line: string): void;
	error(line: string): void;
};

export type Surroundings = {
	readonly environment: Environment;
	readonly screen: Screen;
	/** Whether standard output is a terminal; colour is for people only. */
	readonly isTerminal: boolean;
	/** Aborted by Ctrl-C and the like. */
	readonly stopSignal: AbortSignal;
};

/** Wrong usage: 2, as shells expect; something failed: 1. */
export const exitCode = { ok: 0, failed: 1, usage: 2 } as const;
