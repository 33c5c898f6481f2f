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

/** Settings of `listen` for a partner, who has an API token and no key. */
export type PartnerSettings = Omit<Settings, "apiKey"> & { readonly token: string };
export type ListenSettings = Settings | PartnerSettings;

export type ReadSettings<Read = Settings> =
	| { readonly ok: true; readonly settings: Read }
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

export const partnerNote = `A partner sets RINGBACK_TOKEN (an API token, from the page API) instead of RINGBACK_API_KEY, and its own
RINGBACK_SIGNING_SECRET (from the Callbacks page).`;

export function readSettings(environment: Environment, givenUrl: string | undefined): ReadSettings {
	const read = readAccess(environment, givenUrl, shopCredential);
	if (!read.ok) return read;
	const { credential: apiKey, ...access } = read.access;
	return { ok: true, settings: { ...access, apiKey } };
}

/** Reads the settings of `listen`, which is a partner's if an API token is set. */
export function readListenSettings(
	environment: Environment,
	givenUrl: string | undefined,
): ReadSettings<ListenSettings> {
	const isSet = (name: string) => [name, `${name}_FILE`].some((each) => isFilled(environment[each]?.trim()));
	if (!isSet(partnerCredential.name)) return readSettings(environment, givenUrl);
	if (isSet(shopCredential.name)) {
		const problem = `${partnerCredential.name} and ${shopCredential.name} are both set. A partner uses the token, and a shop uses the key. Remove the other one.`;
		return { ok: false, problems: [problem] };
	}
	const read = readAccess(environment, givenUrl, partnerCredential);
	if (!read.ok) return read;
	const { credential: token, ...access } = read.access;
	return { ok: true, settings: { ...access, token } };
}

/** The setting that says who calls, with the words about it. */
type CredentialSetting = {
	readonly name: "RINGBACK_API_KEY" | "RINGBACK_TOKEN";
	readonly noun: "key" | "token";
	readonly prefix: string;
	/** Sentence that says where to find it. */
	readonly source: string;
	/** Sentence that says where to find the signing secret. */
	readonly secretSource: string;
};

const shopCredential: CredentialSetting = {
	name: "RINGBACK_API_KEY",
	noun: "key",
	prefix: "rbk_",
	source: "the programme's API key, rbk_…, from the Integration page.",
	secretSource: "the programme's signing secret, rbs_…, shown with its first API key.",
};
const partnerCredential: CredentialSetting = {
	name: "RINGBACK_TOKEN",
	noun: "token",
	prefix: "rbp_",
	source: "the partner's API token, rbp_…, from the page API.",
	secretSource: "the partner's signing secret, rbs_…, from the Callbacks page.",
};

type Access = Omit<Settings, "apiKey"> & { readonly credential: string };
type ReadAccess =
	| { readonly ok: true; readonly access: Access }
	| { readonly ok: false; readonly problems: readonly string[] };

function readAccess(
	environment: Environment,
	givenUrl: string | undefined,
	{ name, noun, prefix, source, secretSource }: CredentialSetting,
): ReadAccess {
	const problems: string[] = [];
	const read = (setting: string, sentence: string): string => {
		const value = environment[setting]?.trim() ?? "";
		if (value === "") problems.push(`${setting} is not set: ${sentence}`);
		return value;
	};
	const readSecret = (setting: string, sentence: string): string => {
		const { value, problem } = readSecretSetting(environment, setting);
		if (problem !== undefined) problems.push(problem);
		else if (value === "") problems.push(`${setting} is not set: ${sentence}`);
		return value;
	};
	const urlName = givenUrl === undefined ? "RINGBACK_URL" : "--url";
	const address =
		givenUrl ?? read("RINGBACK_URL", "the service's address, such as https://ringback.example (or --url).");
	const credential = readSecret(name, source);
	const secretText = readSecret("RINGBACK_SIGNING_SECRET", secretSource);
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
	if (credential.startsWith("rbs_") || secrets.some((secret) => secret.startsWith(prefix))) {
		problems.push(`${name} and RINGBACK_SIGNING_SECRET are swapped: the ${noun} starts with ${prefix}.`);
	} else if (credential !== "" && !/^[!-~]+$/.test(credential)) {
		problems.push(`${name} must be the ${noun} as it was shown, ${prefix}…`);
	} else if (secretFault !== undefined) {
		problems.push(`In RINGBACK_SIGNING_SECRET, a ${secretFault}`);
	} else if (secretText !== "" && firstSecret === undefined) {
		problems.push("RINGBACK_SIGNING_SECRET has commas and no secret between them.");
	}
	if (!brandForm.test(brand)) {
		problems.push("RINGBACK_BRAND must be letters, digits or hyphens, such as Acme.");
	}
	if (!url.ok || firstSecret === undefined || problems.length > 0) return { ok: false, problems };
	return { ok: true, access: { url: url.origin, credential, secret: [firstSecret, ...otherSecrets], brand } };
}
