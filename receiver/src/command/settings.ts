// Reads the programme and the service of a command from options and environment. All problems are reported at
// once, each with its solution. No message quotes a value, because it may be a secret in the wrong place.

import { brandForm, findSecretFault, isFilled } from "../option-checks.ts";
import { parseOrigin } from "../origin.ts";
import { splitSecrets } from "../secrets.ts";
import { readSecretSetting } from "./secret-setting.ts";
import type { Environment } from "./surroundings.ts";
import type { OptionSpec } from "./usage.ts";

export type Settings = {
	/** Base URL of the service, without a trailing slash. */
	readonly url: string;
	readonly apiKey: string;
	/** The programme's signing secrets. The first one signs, and each of them may verify a callback. */
	readonly secret: readonly [string, ...string[]];
	readonly brand: string;
};

export type ReadSettings =
	| { readonly ok: true; readonly settings: Settings }
	| { readonly ok: false; readonly problems: readonly string[] };

export const urlOption: OptionSpec = {
	type: "string",
	value: "URL",
	help: "the service's address; RINGBACK_URL if not given",
};

export const settingsNote = `Settings from the environment: RINGBACK_URL (the service's address), RINGBACK_API_KEY and
RINGBACK_SIGNING_SECRET (both are shown when a key is issued on the Integration page; or the path
of a file that holds it, in RINGBACK_API_KEY_FILE and RINGBACK_SIGNING_SECRET_FILE), and
RINGBACK_BRAND if the network's headers are not X-Service-…. While the secret is being replaced,
RINGBACK_SIGNING_SECRET may be NEW,OLD: the first one signs.`;

export function readSettings(environment: Environment, givenUrl: string | undefined): ReadSettings {
	const problems: string[] = [];
	const read = (name: string, sentence: string): string => {
		const value = environment[name]?.trim() ?? "";
		if (value === "") problems.push(`${name} is not set: ${sentence}`);
		return value;
	};
	const readSecret = (name: string, sentence: string): string => {
		const { value, problem } = readSecretSetting(environment, name);
		if (problem !== undefined) problems.push(problem);
		else if (value === "") problems.push(`${name} is not set: ${sentence}`);
		return value;
	};
	const urlName = givenUrl === undefined ? "RINGBACK_URL" : "--url";
	const address =
		givenUrl ?? read("RINGBACK_URL", "the service's address, such as https://ringback.example (or --url).");
	const apiKey = readSecret("RINGBACK_API_KEY", "the programme's API key, rbk_…, from the Integration page.");
	const secretText = readSecret(
		"RINGBACK_SIGNING_SECRET",
		"the programme's signing secret, rbs_…, shown with its first API key.",
	);
	const brand = environment["RINGBACK_BRAND"]?.trim() || "Service";
	const url = parseOrigin(address);
	if (address !== "" && !url.ok) {
		problems.push(
			`${urlName} must be the service's address without a path, such as https://ringback.example.`,
		);
	}
	const secrets = splitSecrets(secretText);
	const [firstSecret, ...otherSecrets] = secrets;
	const secretFault = secrets.map(findSecretFault).find(isFilled);
	if (apiKey.startsWith("rbs_") || secrets.some((secret) => secret.startsWith("rbk_"))) {
		problems.push("RINGBACK_API_KEY and RINGBACK_SIGNING_SECRET are swapped: the key starts with rbk_.");
	} else if (apiKey !== "" && !/^[!-~]+$/.test(apiKey)) {
		problems.push("RINGBACK_API_KEY must be the key as it was shown, rbk_…");
	} else if (secretFault !== undefined) {
		problems.push(`In RINGBACK_SIGNING_SECRET, a ${secretFault}`);
	} else if (secretText !== "" && firstSecret === undefined) {
		problems.push("RINGBACK_SIGNING_SECRET has commas and no secret between them.");
	}
	if (!brandForm.test(brand)) {
		problems.push("RINGBACK_BRAND must be letters, digits or hyphens, such as Acme.");
	}
	if (!url.ok || firstSecret === undefined || problems.length > 0) return { ok: false, problems };
	return { ok: true, settings: { url: url.origin, apiKey, secret: [firstSecret, ...otherSecrets], brand } };
}
