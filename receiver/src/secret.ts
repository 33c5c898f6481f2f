// What is no signing secret, though it stands in its place. Told when a program starts: at the first delivery it
// would be a wrong signature, and that tells nobody why.

/** A sentence that does not quote it, or undefined when it may be one. */
export function findSecretFault(secret: string): string | undefined {
	// Mostly the line feed at the end of a file or of a copied line.
	if (secret.trim() !== secret) return "secret has white space around it: give it exactly as it was shown.";
	if (secret.startsWith("rbk_")) return "secret is an API key, rbk_…: give the signing secret, rbs_…";
	return undefined;
}
