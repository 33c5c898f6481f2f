// Reads settings and keeps what is wrong with them, all of it. What each may be is in the other config files.

import { readFileSync } from "node:fs";

export type Environment = Readonly<Record<string, string | undefined>>;

export const ON_OR_OFF = ["on", "off"] as const;

export class SettingReader {
	readonly problems: string[] = [];
	/** Of every setting that was asked for, whether or not it is set. */
	readonly names = new Set<string>();
	readonly #environment: Environment;

	constructor(environment: Environment) {
		this.#environment = environment;
	}

	problem(name: string, sentence: string): void {
		this.problems.push(`${name} ${sentence}`);
	}

	/** An empty value counts as absent: that is how compose files unset things. */
	text(name: string): string | undefined {
		this.names.add(name);
		const value = this.#environment[name]?.trim();
		return value === "" ? undefined : value;
	}

	/**
	 * Of a setting that holds a secret: as it stands there, or what is in the file that `<name>_FILE` names, which is how
	 * supervisors hand secrets over. Neither value is ever repeated: somebody may have written the secret itself for the
	 * path.
	 */
	secret(name: string): string | undefined {
		const text = this.text(name);
		const path = this.text(`${name}_FILE`);
		if (path === undefined) return text;
		if (text === undefined) return this.#readFile(`${name}_FILE`, path);
		this.problem(`${name}_FILE`, `and ${name} are both set. Keep one of them.`);
		return text;
	}

	/** Whether it is set at all, also where its file turned out to be of no use. */
	hasSecret(name: string): boolean {
		return this.text(name) !== undefined || this.text(`${name}_FILE`) !== undefined;
	}

	/** Of everything in the environment that has a value, ours or not. */
	get setNames(): readonly string[] {
		return Object.keys(this.#environment).filter((name) => (this.#environment[name] ?? "").trim() !== "");
	}

	#readFile(name: string, path: string): string | undefined {
		const cure =
			"It must be the path of a file that this account can read, with the value in it and nothing else.";
		try {
			// Editors and `echo` end a file with a line break.
			const text = readFileSync(path, "utf8").replace(/\r?\n$/, "");
			if (text.trim() !== "") return text;
			this.problem(name, `names a file that is empty. ${cure}`);
		} catch (error) {
			const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
			this.problem(name, `names no file that can be read (${code}). ${cure}`);
		}
		return undefined;
	}

	integer(name: string, fallback: number, least: number, most: number): number {
		const text = this.text(name);
		if (text === undefined) return fallback;
		const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
		if (value >= least && value <= most) return value;
		this.problem(name, `must be a whole number from ${least} to ${most}, not "${text}".`);
		return fallback;
	}

	/** Null when it is not set. */
	optionalInteger(name: string, least: number, most: number): number | null {
		return this.text(name) === undefined ? null : this.integer(name, least, least, most);
	}

	choice<Value extends string>(name: string, values: readonly Value[], fallback: Value): Value {
		const text = this.text(name);
		if (text === undefined) return fallback;
		const value = values.find((known) => known === text);
		if (value === undefined) this.problem(name, `must be one of ${values.join(", ")}, not "${text}".`);
		return value ?? fallback;
	}
}
