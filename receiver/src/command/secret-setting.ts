// A setting that holds a secret: as it stands in the environment, or in the file that NAME_FILE names. Neither value
// is ever quoted: somebody may have written the secret itself for the path.

import { readFileSync } from "node:fs";
import type { Environment } from "./surroundings.ts";

export type SecretSetting = {
	/** Empty where there is none, or none that can be read. */
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
