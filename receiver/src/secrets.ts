// The signing secrets of a programme in the forms that receiver, client and commands take. While a secret is
// being replaced there are two of them. Any of them may verify a callback, and the first one signs requests.

import { demand, findSecretFault, isFilled } from "./option-checks.ts";

/**
 * One secret, or several. A text may have several secrets with commas between them, as in
 * `RINGBACK_SIGNING_SECRET=NEW,OLD`.
 */
export type Secrets = string | readonly string[] | undefined;

/**
 * The secrets, or a function that returns them. The function is called for every request, so that a replaced
 * secret takes effect without a restart.
 */
export type SecretSource = Secrets | (() => Secrets | Promise<Secrets>);

const noSecret = "secret is empty: give the programme's signing secret, or a function that finds it.";

/** Splits texts at their commas and leaves out empty parts. */
export function splitSecrets(given: Secrets): string[] {
	return [given].flat().flatMap((text) => (isFilled(text) ? text.split(",").filter(isFilled) : []));
}

/** Returns the secrets. Throws if there is none, or if one of them cannot be a signing secret. */
export function readSecrets(given: Secrets): readonly string[] {
	const secrets = splitSecrets(given);
	demand(secrets.length > 0, noSecret);
	const fault = secrets.map(findSecretFault).find(isFilled);
	demand(fault === undefined, fault ?? "");
	return secrets;
}

/**
 * Returns a function that finds the secrets. Secrets that are given directly are checked now, and the result
 * of a function is checked at each call.
 */
export function readSecretSource(source: SecretSource): () => Promise<readonly string[]> {
	if (typeof source === "function") return async () => readSecrets(await source());
	const secrets = readSecrets(source);
	return async () => secrets;
}
