// Checks that the options of receiver, client and signature share. What they refuse can only be a slip in the shop's
// own code or environment. No sentence quotes a value: it may be a secret in the wrong place.

/** The word in header names, `X-<Brand>-Signature`, as the service itself takes it. */
export const brandForm = /^[A-Za-z][A-Za-z0-9-]{0,30}$/;

export function demand(isRight: boolean, sentence: string): asserts isRight {
	if (!isRight) throw new TypeError(sentence);
}

export function demandBrand(brand: unknown): asserts brand is string {
	demand(
		typeof brand === "string" && brandForm.test(brand),
		"brand must be letters, digits or hyphens, 31 at most, and start with a letter, such as Acme.",
	);
}

export function isFilled(value: unknown): value is string {
	return typeof value === "string" && value !== "";
}

/**
 * What is no signing secret, though it stands in its place; undefined when it may be one. Told when a program starts:
 * at the first delivery it would be a wrong signature, and that tells nobody why.
 */
export function findSecretFault(secret: string): string | undefined {
	// Mostly the line feed at the end of a file or of a copied line.
	if (secret.trim() !== secret) return "secret has white space around it: give it exactly as it was shown.";
	if (secret.startsWith("rbk_")) return "secret is an API key, rbk_…: give the signing secret, rbs_…";
	return undefined;
}
