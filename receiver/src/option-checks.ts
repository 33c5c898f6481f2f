// Checks of options that receiver, client and signing share. An option that they refuse is a mistake in the
// shop's code or environment. No message quotes a value, because it may be a secret in the wrong place.

/** Form of the brand in header names, `X-<Brand>-Signature`. The service accepts the same form. */
export const brandForm = /^[A-Za-z][A-Za-z0-9-]{0,30}$/;

/** Form of the signing secrets that the service issues. */
const issuedForm = /^rbs_[0-9a-f]{64}$/;
/** Form of shorter secrets, such as `rbs_fake`, which shops use in their tests. */
const testForm = /^rbs_[A-Za-z0-9_-]{1,31}$/;

/** Longest delay in milliseconds that timers support, 24.8 days. They run a longer one at once. */
export const longestMs = 2_147_483_647;

export function demand(isRight: boolean, sentence: string): asserts isRight {
	if (!isRight) throw new TypeError(sentence);
}

export function demandBrand(brand: unknown): asserts brand is string {
	demand(
		typeof brand === "string" && brandForm.test(brand),
		"brand must be letters, digits or hyphens, 31 at most, and start with a letter, such as Acme.",
	);
}

/** Refuses a value that is not a whole number from 1 to `most`. */
export function demandWhole(name: string, value: unknown, most: number): asserts value is number {
	const isWithin = typeof value === "number" && Number.isSafeInteger(value) && value > 0 && value <= most;
	demand(isWithin, `${name} must be a whole number from 1 to ${most}.`);
}

export function isFilled(value: unknown): value is string {
	return typeof value === "string" && value !== "";
}

/**
 * Returns the reason why the value cannot be a signing secret, or undefined if it can. The reason is reported
 * when the program starts. At the first callback, it would only appear as a wrong signature without a reason.
 */
export function findSecretFault(secret: string): string | undefined {
	// The white space is usually the line feed at the end of a file or of a copied line.
	if (secret.trim() !== secret) return "secret has white space around it: give it exactly as it was shown.";
	if (/[\r\n]/.test(secret)) {
		return "secret has a line break in it: give each secret as it was shown, several with a comma between them.";
	}
	if (secret.startsWith("rbk_")) return "secret is an API key, rbk_…: give the signing secret, rbs_…";
	// The text has something besides the secret, such as quotation marks or a second secret, or the end of the
	// secret is missing.
	if (secret.includes("rbs_") && !issuedForm.test(secret) && !testForm.test(secret)) {
		return "secret is not rbs_ and 64 hexadecimal digits: give it exactly as it was shown, several with a comma between them.";
	}
	return undefined;
}
