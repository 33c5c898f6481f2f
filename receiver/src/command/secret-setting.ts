// Reads a secret from the environment or from the file that NAME_FILE names. No message quotes either of
// them, because somebody may have entered the secret instead of the path.

import { readFileSync } from "node:fs";
import type { Environment } from "./surroundings.ts";

export type SecretSetting = {
	/** The secret, or an empty text if it is missing or cannot be read. */
	readonly value: string;
	readonly problem?: string;
};

export function readSecretSetting(environment: Environment, name: string): SecretSetting {
	const value = environment[name]?.trim() ?? "";
	const path = environment[`${name}_FILE`]?.trim() ?? "";
	if (path === "") return { value };
	if (value !== "") return { value, problem: `${name}_FILE and ${name} are both set. Keep one of them.` };
	try {
		const text = readFileSync(path, "utf8").trim();
		return text === "" ? { value: "", problem: `${name}_FILE names a file that is empty.` } : { value: text };
	} catch {
		return {
			value: "",
			problem: `${name}_FILE names no file that can be read. It must be the path of a file with the value in it.`,
		};
	}
}
