// What a command gets from its caller: the environment, the screen and the stop signal.

export type Environment = Readonly<Record<string, string | undefined>>;

export type Screen = {
	out(line: string): void;
	error(line: string): void;
};

export type Surroundings = {
	readonly environment: Environment;
	readonly screen: Screen;
	/** Whether standard output is a terminal. Only people get colours. */
	readonly isTerminal: boolean;
	/** Aborted by Ctrl-C and similar signals. */
	readonly stopSignal: AbortSignal;
};

/** Exit codes: 1 if something failed, 2 for wrong usage, as shells expect. */
export const exitCode = { ok: 0, failed: 1, usage: 2 } as const;
