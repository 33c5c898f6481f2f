// The surroundings of a command, which its caller provides: the environment, the screen and the stop signal.

export type Environment = Readonly<Record<string, string | undefined>>;

export type Screen = {
	out(line: string): void;
	error(line: string): void;
};

export type Surroundings = {
	readonly environment: Environment;
	readonly screen: Screen;
	/** True if standard output is a terminal. Colours are used only then. */
	readonly isTerminal: boolean;
	/** Signal that is aborted by Ctrl-C and similar signals. */
	readonly stopSignal: AbortSignal;
};

/** Exit codes. 1 means that something failed, and 2 means wrong usage, as is usual in shells. */
export const exitCode = { ok: 0, failed: 1, usage: 2 } as const;
